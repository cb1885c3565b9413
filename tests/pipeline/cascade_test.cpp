// Runs of a cascade's levels: each gives what it gives alone, no part is read twice for one input,
// and between inputs the buffer holds what the first level preloads.
#include <cmath>

#include "cascade_world.h"
#include "io/block_reader.h"
#include "pipeline/routes.h"
#include "schedule/load_schedule.h"
#include "support/fault_reader.h"
#include "support/forged_container.h"
#include "support/hanging_reader.h"

namespace sti {
namespace {

class CascadeTest : public CascadeWorld {};

TEST_F(CascadeTest, EachLevelGivesWhatItsPlanGivesAlone) {
  for (const size_t held : {size_t{0}, size_t{3}, size_t{6}}) {
    for (uint32_t answers = 0; answers < 3; ++answers) {
      Plan plan = Three(kAllGoOn, held);
      if (answers < 2) plan.cascade->levels[answers].rule = kNoneGoesOn;
      auto pipeline = Make(plan);
      ASSERT_TRUE(Succeeded(pipeline));
      for (int input = 0; input < 3; ++input) {
        const Outcome outcome = Ask(**pipeline);
        EXPECT_EQ(outcome.report.level, answers + 1);
        EXPECT_EQ(outcome.report.returned, answers < 2 ? Returned::kEarly : Returned::kFinal);
        ASSERT_EQ(outcome.report.before().size(), answers);
        for (uint32_t level = 0; level < answers; ++level) {
          const CascadeLevelRun& before = outcome.report.before()[level];
          EXPECT_EQ(before.run.values, Logits(LevelAlone(plan, level))) << level;
          EXPECT_EQ(before.plan, &PlanOf((*pipeline)->plan(), CascadeRoute(plan, level)));
        }
        EXPECT_EQ(outcome.run.values, Logits(LevelAlone(plan, answers)));
        EXPECT_EQ(outcome.report.confidence, Confidence(outcome.run.values, 1));
        EXPECT_TRUE(outcome.report.together.empty());
        EXPECT_EQ((*pipeline)->status().preload_bytes,
                  BytesOf(plan.cascade->levels[0].plan.preload));
      }
    }
  }
}

TEST_F(CascadeTest, NoPartIsReadTwiceForOneInput) {
  for (const size_t held : {size_t{0}, size_t{4}}) {
    const Plan plan = Three(kAllGoOn, held);
    Parts wanted = PartsOfLevels(plan, 3);
    Remove(plan.cascade->levels[0].plan.preload, &wanted);
    auto pipeline = Make(plan);
    ASSERT_TRUE(Succeeded(pipeline));
    for (int input = 0; input < 3; ++input) {
      const Outcome outcome = Ask(**pipeline);
      EXPECT_EQ(PartsRead(outcome.report, *outcome.schedule), wanted);
      uint64_t bytes = 0;
      for (const CascadeLevelRun& level : outcome.report.before())
        bytes += level.schedule->read_bytes;
      bytes += outcome.schedule->read_bytes;
      const uint64_t rows = outcome.report.BytesReadBefore() + outcome.run.bytes_read - bytes;
      EXPECT_EQ(rows > 0, input == 0) << "embedding rows stay in memory";
      EXPECT_GT(outcome.report.before()[1].run.bytes_read, 0U);
      EXPECT_GT(outcome.run.bytes_read, 0U);
    }
  }
}

TEST_F(CascadeTest, ALevelThatRunsFewerBitsThanTheOneBeforeReadsNothing) {
  const Plan plan = Cascade({Uniform({0, 1, 3}, 4, 6)}, Uniform({1, 3}, 3, 4), kAllGoOn);
  auto pipeline = Make(plan);
  ASSERT_TRUE(Succeeded(pipeline));
  const Outcome outcome = Ask(**pipeline);
  EXPECT_EQ(outcome.run.bytes_read, 0U);
  EXPECT_EQ(outcome.run.values, Logits(LevelAlone(plan, 1)));
  EXPECT_EQ((*pipeline)->status().preload_bytes, 0U);
}

TEST_F(CascadeTest, WhatIsHandedOnIsWhatLaterLevelsRunToo) {
  const Plan plan = Three(kAllGoOn);
  const auto first = HandedOn(plan, 0);
  // Planes of layers 0 and 2, at the 3 bits that there are.
  std::vector<ShardAtBits> expected;
  for (const uint32_t layer : {0, 2}) {
    for (uint32_t slice = 0; slice < 3; ++slice) expected.push_back({{layer, slice}, 3});
  }
  EXPECT_EQ(first, expected);
  const auto second = HandedOn(plan, 1);
  expected.clear();
  for (const uint32_t layer : {0, 2}) {
    for (uint32_t slice = 0; slice < 4; ++slice) expected.push_back({{layer, slice}, 4});
  }
  // Layer 3 has one slice at full fidelity, to which planes are of no use.
  expected.push_back({{3, 0}, 32});
  expected.push_back({{3, 2}, 3});
  expected.push_back({{3, 3}, 2});
  EXPECT_EQ(second, expected);
  EXPECT_TRUE(HandedOn(plan, 2).empty());
  // A shard may be held both ways.
  Plan both = Cascade({Uniform({0}, 1, 32), Uniform({0}, 1, 4)}, Uniform({0}, 1, 32), kAllGoOn);
  EXPECT_EQ(HandedOn(both, 1), (std::vector<ShardAtBits>{{{0, 0}, 32}}));
  both.cascade->levels[1].plan.bits.At(0, 0) = 32;
  EXPECT_EQ(HandedOn(both, 0), (std::vector<ShardAtBits>{{{0, 0}, 32}}));
}

TEST_F(CascadeTest, ALevelCountsOnReadingWhatItsPlanOrTheOneBeforeSays) {
  Plan plan = Three(kAllGoOn);
  plan.words = {1, 2, 3};
  std::vector<CascadeLevel>& levels = plan.cascade->levels;
  levels[0].upgrade_bytes = 500;
  levels[0].plan.parameter_bytes = 1000;
  levels[0].plan.preload_bytes = 430;  // 400 of shards, and three rows
  levels[1].plan.parameter_bytes = 3000;
  const RouteId first = CascadeRoute(plan, 0);
  EXPECT_EQ(PlannedReads(plan, first, 10), 600U);
  EXPECT_EQ(PlannedReads(plan, CascadeRoute(plan, 1), 10), 500U);
  levels[0].plan.preload_bytes = 20;  // of a plan from elsewhere
  EXPECT_EQ(PlannedReads(plan, first, 10), 1000U);
  levels[0].plan.preload_bytes = 5000;
  EXPECT_EQ(PlannedReads(plan, first, 10), 0U);
}

TEST_F(CascadeTest, PlanesAndFullFidelityOfAShardStayBesideEachOther) {
  const Plan plan = Cascade({WithPreload(Uniform({0, 2}, 4, 4), 2), Uniform({0, 2}, 4, 32)},
                            Uniform({0, 2, 4}, 4, 32), kAllGoOn);
  auto pipeline = Make(plan);
  ASSERT_TRUE(Succeeded(pipeline));
  for (int input = 0; input < 2; ++input) {
    const Outcome outcome = Ask(**pipeline);
    EXPECT_EQ(outcome.report.before()[0].run.values, Logits(LevelAlone(plan, 0)));
    EXPECT_EQ(outcome.report.before()[1].run.values, Logits(LevelAlone(plan, 1)));
    EXPECT_EQ(outcome.run.values, Logits(LevelAlone(plan, 2)));
    EXPECT_EQ((*pipeline)->status().preload_bytes, BytesOf(plan.cascade->levels[0].plan.preload));
  }
}

TEST_F(CascadeTest, ABoundedArenaThreadsAndLazyLoadingChangeNothing) {
  const Plan plan = Three(kAllGoOn);
  auto whole = Make(plan);
  ASSERT_TRUE(Succeeded(whole));
  const Outcome expected = Ask(**whole);
  PipelineOptions small;
  small.staging_bytes = 20 * kBlockBytes;
  small.threads = 3;
  PipelineOptions lazy;
  lazy.lazy = true;
  for (const PipelineOptions& options : {small, lazy}) {
    auto pipeline = Make(plan, options);
    ASSERT_TRUE(Succeeded(pipeline));
    for (int input = 0; input < 3; ++input) {
      const Outcome outcome = Ask(**pipeline);
      EXPECT_EQ(outcome.run.values, expected.run.values);
      for (size_t level = 0; level < 2; ++level) {
        EXPECT_EQ(outcome.report.before()[level].run.values,
                  expected.report.before()[level].run.values);
      }
      EXPECT_EQ((*pipeline)->status().preload_bytes, BytesOf(plan.cascade->levels[0].plan.preload));
    }
  }
}

TEST_F(CascadeTest, RoomIsMadeAheadForWhatLevelsRead) {
  const Plan plan = Three(kAllGoOn);
  auto pipeline = Make(plan);
  ASSERT_TRUE(Succeeded(pipeline));
  const uint64_t staging = (*pipeline)->status().staging_bytes;
  const uint64_t working = (*pipeline)->status().working_bytes;
  const uint64_t resident = (*pipeline)->status().resident_bytes;
  (void)Ask(**pipeline);
  EXPECT_EQ((*pipeline)->status().staging_bytes, staging);
  EXPECT_EQ((*pipeline)->status().working_bytes, working);
  EXPECT_EQ((*pipeline)->status().resident_bytes, resident);
  // Beside what stays, a level reads less than its plan alone.
  Plan alone = LevelAlone(plan, 2);
  auto last = Make(alone);
  ASSERT_TRUE(Succeeded(last));
  EXPECT_LT(staging, (*last)->status().staging_bytes);
}

TEST_F(CascadeTest, AWokenPipelineReadsForTheFirstLevel) {
  const Plan plan = Three(kNoneGoesOn);
  auto pipeline = Make(plan);
  ASSERT_TRUE(Succeeded(pipeline));
  ASSERT_TRUE(Succeeded((*pipeline)->Wake()));
  EXPECT_EQ((*pipeline)->status().lane, LaneState::kWoken);
  const Outcome outcome = Ask(**pipeline);
  EXPECT_EQ(outcome.run.values, Logits(LevelAlone(plan, 0)));
  Parts read;
  AddParts(*outcome.schedule, &read);
  EXPECT_EQ(read.size(), PartsOf(LevelAlone(plan, 0)).size() - 3 * 2) << "base and plane 3";
  EXPECT_EQ((*pipeline)->status().preload_bytes, BytesOf(plan.cascade->levels[0].plan.preload));
}

TEST_F(CascadeTest, TheBufferCanBeBoundedAndRestsAndThePlanExchanged) {
  const Plan plan = Three(kAllGoOn);
  const std::vector<float> expected = Logits(LevelAlone(plan, 2));
  auto pipeline = Make(plan);
  ASSERT_TRUE(Succeeded(pipeline));
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{5} * kBlockBytes, uint64_t{1} << 30}) {
    ASSERT_TRUE(Succeeded((*pipeline)->ResizePreload(bytes)));
    const uint64_t held = (*pipeline)->status().preload_bytes;
    EXPECT_LE(held, bytes);
    const Outcome outcome = Ask(**pipeline);
    EXPECT_EQ(outcome.run.values, expected) << bytes;
    EXPECT_EQ((*pipeline)->status().preload_bytes, held);
  }
  EXPECT_EQ(Ask(**pipeline).report.before()[0].run.bytes_read, 0U) << "all of the first level";
  ASSERT_TRUE(Succeeded((*pipeline)->ResizePreload(std::nullopt)));
  ASSERT_TRUE(Succeeded((*pipeline)->Rest()));
  EXPECT_EQ(Ask(**pipeline).run.values, expected);
  const Plan other = WithPreload(Mixed(), 3);
  ASSERT_TRUE(Succeeded((*pipeline)->SetPlan(other)));
  const auto alone = RunTokens(**pipeline, kTextIds, kTextTypes);
  ASSERT_TRUE(Succeeded(alone));
  EXPECT_EQ(alone->values, Logits(other));
  EXPECT_EQ((*pipeline)->status().preload_bytes, BytesOf(other.preload));
  ASSERT_TRUE(Succeeded((*pipeline)->SetPlan(plan)));
  EXPECT_EQ(Ask(**pipeline).run.values, expected);
  EXPECT_EQ((*pipeline)->status().preload_bytes, BytesOf(plan.cascade->levels[0].plan.preload));
}

TEST_F(CascadeTest, WithoutARouteThePlanItselfRuns) {
  const Plan plan = Three(kAllGoOn);
  auto pipeline = Make(plan);
  ASSERT_TRUE(Succeeded(pipeline));
  const auto run = RunTokens(**pipeline, kTextIds, kTextTypes);
  ASSERT_TRUE(Succeeded(run));
  EXPECT_EQ(run->values, Logits(LevelAlone(plan, 2)));
  RunTerms beyond;
  beyond.route = RouteId{3};
  RunResult result;
  EXPECT_TRUE(FailedWith(RunTokens(**pipeline, kTextIds, kTextTypes, beyond, &result),
                         ErrorKind::kUsage, "no such variant"));
}

TEST_F(CascadeTest, AReadThatFailsFailsTheInputAndLeavesTheNextAlone) {
  const Plan plan = Three(kAllGoOn);
  auto inner = OpenBlockReader(path_, ReadPath::kAuto);
  ASSERT_TRUE(Succeeded(inner));
  auto faults = std::make_unique<FaultReader>(std::move(*inner));
  FaultReader* const reader = faults.get();
  auto pipeline = MakeOver(std::move(faults), plan);
  ASSERT_TRUE(Succeeded(pipeline));
  const std::vector<float> expected = Ask(**pipeline).run.values;
  // Layer 1 is the last level's alone: its label is asked for, and no other stands in its place.
  const ShardLocation& shard = index_.shard({1, 0});
  reader->Inject({.offset = shard.parts[PartKind::kBase].offset, .length = 1});
  RunResult run;
  CascadeReport report;
  EXPECT_TRUE(
      FailedWith(RunCascade(**pipeline, Text(), {}, 0, &run, &report), ErrorKind::kReadFailed));
  EXPECT_EQ((*pipeline)->status().preload_bytes, BytesOf(plan.cascade->levels[0].plan.preload));
  reader->Heal();
  EXPECT_EQ(Ask(**pipeline).run.values, expected);
}

TEST_F(CascadeTest, LogitsThatAreNoNumbersNeverReturnEarly) {
  ForgedContainer forged(TinyModelOptions{.layers = 3});
  for (Codebook& codebook : forged.index().centroids) codebook.centroids[6].assign(64, 3e38F);
  WholePlanOptions options;
  options.bits = 3;
  auto whole = MakeWholePlan(forged.index(), options);
  ASSERT_TRUE(Succeeded(whole));
  Plan sound = *whole;
  Plan broken = *whole;
  RunUniformly(std::vector<uint32_t>{0, 1}, 1, 3, &sound);
  RunUniformly(std::vector<uint32_t>{0, 1}, 1, 6, &broken);
  for (const bool first_is_broken : {true, false}) {
    for (const CascadeRule& rule : {kAllGoOn, kNoneGoesOn}) {
      if (!first_is_broken && rule == kNoneGoesOn) continue;
      const Plan plan = first_is_broken ? Cascade({WithPreload(broken, 1)}, sound, rule)
                                        : Cascade({WithPreload(sound, 1)}, broken, rule);
      auto file = forged.Open();
      ASSERT_TRUE(Succeeded(file));
      Plan of_model = plan;
      of_model.model = of_model.cascade->levels[0].plan.model = file->index().model;
      auto pipeline = Pipeline::Create(std::move(*file), of_model, {});
      ASSERT_TRUE(Succeeded(pipeline));
      const uint64_t held = (*pipeline)->status().preload_bytes;
      RunResult run;
      CascadeReport report;
      const Status status = RunCascade(**pipeline, Text(), {}, 0, &run, &report);
      ASSERT_TRUE(FailedWith(status, ErrorKind::kDamaged, "overflow"));
      EXPECT_EQ(status.error().source, Source::kInput);
      EXPECT_EQ((*pipeline)->status().preload_bytes, held);
    }
  }
}

class LateCascade : public CascadeWorld {
 protected:
  /// The cascade of Three, whose levels' layers take so long.
  [[nodiscard]] Plan Timed3(const CascadeRule& rule, double first_us, double later_us) const {
    Plan plan = Timed(Three(rule), later_us);
    plan.cascade->levels[0].plan = Timed(plan.cascade->levels[0].plan, first_us);
    plan.cascade->levels[1].plan = Timed(plan.cascade->levels[1].plan, later_us);
    return plan;
  }
  static RunTerms Within(double time_us) {
    RunTerms terms;
    terms.degrade_for_us = time_us;
    return terms;
  }
  static constexpr double kLong_us = 600e6;  // longer than any test
};

TEST_F(LateCascade, WithTimeToSpareNothingIsLeftOut) {
  const Plan plan = Timed3(kAllGoOn, 1, 1);
  auto pipeline = Make(plan);
  ASSERT_TRUE(Succeeded(pipeline));
  const Outcome outcome = Ask(**pipeline, Within(kLong_us));
  EXPECT_EQ(outcome.report.level, 3U);
  EXPECT_EQ(outcome.report.returned, Returned::kFinal);
  EXPECT_EQ(outcome.run.values, Logits(LevelAlone(plan, 2)));
  EXPECT_TRUE(outcome.run.degraded.empty());
}

TEST_F(LateCascade, WithoutTimeForTheNextLevelTheLabelAtHandStands) {
  const Plan plan = Timed3(kAllGoOn, 1, kLong_us);
  auto pipeline = Make(plan);
  ASSERT_TRUE(Succeeded(pipeline));
  for (int input = 0; input < 2; ++input) {
    const Outcome outcome = Ask(**pipeline, Within(kLong_us));
    EXPECT_EQ(outcome.report.level, 1U);
    EXPECT_EQ(outcome.report.returned, Returned::kDeadline);
    EXPECT_EQ(outcome.run.values, Logits(LevelAlone(plan, 0)));
    EXPECT_EQ((*pipeline)->status().preload_bytes, BytesOf(plan.cascade->levels[0].plan.preload));
  }
  EXPECT_EQ(Ask(**pipeline).report.level, 3U) << "who may be late goes on";
}

TEST_F(LateCascade, TheNextLevelsReadsAreExpectedToComeAsThoseBefore) {
  // By their plans later levels would wait for reads longer than there is time.
  Plan plan = Timed3(kAllGoOn, 1, 1);
  plan.times->layer_io_us.assign(plan.layers.size(), kLong_us);
  for (CascadeLevel& level : plan.cascade->levels) level.upgrade_bytes = kBlockBytes;
  PlanCore& middle = plan.cascade->levels[1].plan;
  middle.times->layer_io_us.assign(middle.layers.size(), kLong_us);
  auto pipeline = Make(plan);
  ASSERT_TRUE(Succeeded(pipeline));
  const Outcome outcome = Ask(**pipeline, Within(kLong_us));
  EXPECT_EQ(outcome.report.returned, Returned::kFinal);
  EXPECT_EQ(outcome.run.values, Logits(LevelAlone(plan, 2)));
}

TEST_F(LateCascade, ADegradedLevelAnswersOnlyWithoutTimeForTheNext) {
  // No time at all: the first level runs what it cannot do without, and is not believed.
  const Plan plan = Timed3(kNoneGoesOn, 1, kLong_us);
  auto pipeline = Make(plan);
  ASSERT_TRUE(Succeeded(pipeline));
  const Outcome outcome = Ask(**pipeline, Within(0));
  EXPECT_EQ(outcome.report.level, 1U);
  ASSERT_FALSE(outcome.run.degraded.empty());
  EXPECT_EQ(outcome.report.returned, Returned::kDeadline);
  EXPECT_EQ(outcome.run.values,
            DirectLogits(path_, Degraded(LevelAlone(plan, 0), outcome.run.degraded)));
  ASSERT_TRUE(Succeeded((*pipeline)->LoadAhead()));  // once its reads have come
  EXPECT_EQ((*pipeline)->status().preload_bytes, BytesOf(plan.cascade->levels[0].plan.preload));
}

TEST_F(LateCascade, ReadsThatHangDoNotHoldTheLabelUp) {
  // The first level has all of its shards but one, whose read does not come.
  Plan plan = Timed3(kAllGoOn, 1, 1);
  plan.cascade->levels[0].plan = WithPreload(plan.cascade->levels[0].plan, 5);
  Door door;
  auto inner = OpenBlockReader(path_);
  ASSERT_TRUE(Succeeded(inner));
  auto pipeline = MakeOver(std::make_unique<HangingReader>(std::move(*inner), door), plan);
  ASSERT_TRUE(Succeeded(pipeline));
  EXPECT_EQ(Ask(**pipeline).report.level, 3U);
  door.Close();
  constexpr double kShort_us = 50e3;
  const Outcome outcome = Ask(**pipeline, Within(kShort_us));
  EXPECT_EQ(outcome.report.level, 1U);
  EXPECT_EQ(outcome.report.returned, Returned::kDeadline);
  ASSERT_FALSE(outcome.run.degraded.empty());
  EXPECT_EQ(outcome.run.values,
            DirectLogits(path_, Degraded(LevelAlone(plan, 0), outcome.run.degraded)));
  door.Open();
  EXPECT_EQ(Ask(**pipeline).run.values, Logits(LevelAlone(plan, 2)));
  EXPECT_EQ((*pipeline)->status().preload_bytes, BytesOf(plan.cascade->levels[0].plan.preload));
}

TEST_F(LateCascade, EachLevelIsComparedWithItsOwnTimes) {
  const auto of_length = [](auto plan) {
    plan.length = static_cast<uint32_t>(kTextIds.size());
    return plan;
  };
  for (const bool first_is_sure : {true, false}) {
    Plan plan = of_length(Timed3(kAllGoOn, kLong_us, 1e-3));
    plan.cascade->levels.pop_back();
    plan.cascade->return_share.pop_back();
    plan.cascade->levels[0].rule = first_is_sure ? kNoneGoesOn : kAllGoOn;
    PlanCore& first = plan.cascade->levels[0].plan;
    first = of_length(Timed(first, kLong_us, kLong_us));
    auto pipeline = Make(plan);
    ASSERT_TRUE(Succeeded(pipeline));
    for (size_t input = 0; input < DriftWatch::kRuns; ++input) (void)Ask(**pipeline);
    EXPECT_EQ((*pipeline)->drift().TakeWarning().has_value(), !first_is_sure);
    const size_t runs = DriftWatch::kRuns * (first_is_sure ? 1 : 2);
    EXPECT_EQ((*pipeline)->drift().runs(), runs);
  }
}

// A later level finds planes of those before it in memory, and is planned as if it did not: its
// reads say nothing, be they ever so slow or quick.
TEST_F(LateCascade, ReadsOfTheFirstLevelAloneTellOfSlowFlash) {
  constexpr double kNoTime_us = 1e-3;
  const auto io_ratio = [&](const CascadeRule& rule, double first_us, double later_us) {
    Plan plan = Three(rule, 0);
    const auto planned = [](auto& level, double io_us) {
      level = Timed(std::move(level), kLong_us, io_us);
      level.length = static_cast<uint32_t>(kTextIds.size());
    };
    planned(plan.cascade->levels[0].plan, first_us);
    planned(plan.cascade->levels[1].plan, later_us);
    planned(plan, later_us);
    auto pipeline = Make(plan);
    EXPECT_TRUE(Succeeded(pipeline));
    for (size_t input = 0; input < DriftWatch::kRuns; ++input) (void)Ask(**pipeline);
    const std::optional<Drift> drift = (*pipeline)->drift().Now();
    EXPECT_TRUE(drift.has_value());
    return drift ? drift->io_ratio : 0;
  };
  for (const CascadeRule& rule : {kNoneGoesOn, kAllGoOn}) {
    for (const double later_us : {kNoTime_us, kLong_us}) {
      EXPECT_LT(io_ratio(rule, kLong_us, later_us), 1);
      EXPECT_GT(io_ratio(rule, kNoTime_us, later_us), 1);
    }
  }
}

}  // namespace
}  // namespace sti
