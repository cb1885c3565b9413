// A guarantee beside other features: passes of several sequences, other plans, a bounded arena.
#include <algorithm>
#include <numeric>
#include <vector>

#include "guarantee_world.h"

namespace sti {
namespace {

/// Several texts of one pass.
struct Batch {
  Ids ids;
  Ids types;
  Ids offsets{0};

  void Add(const Ids& of, const Ids& with) {
    ids.insert(ids.end(), of.begin(), of.end());
    types.insert(types.end(), with.begin(), with.end());
    offsets.push_back(static_cast<uint32_t>(ids.size()));
  }
  [[nodiscard]] Pass AsPass() const { return {TokenInput{ids, types}, offsets}; }
};

/// `World` is a fixture of guarantees.
template <typename World>
class BatchesOf : public World {
 protected:
  /// Any texts, together as long as the plan's.
  Batch AnyBatch(uint32_t sequences) {
    Batch batch;
    for (uint32_t left = kGuaranteedLength; sequences > 0; --sequences) {
      const uint32_t count =
          sequences == 1 ? left : 1 + static_cast<uint32_t>(random_.Below(left - sequences + 1));
      left -= count;
      Ids ids(count);
      Ids types(count);
      for (uint32_t& id : ids) {
        const uint64_t words = this->index_.info.shape.vocabulary;
        id = static_cast<uint32_t>(random_.Below(words));
      }
      for (uint32_t& type : types) type = static_cast<uint32_t>(random_.Below(2));
      batch.Add(ids, types);
    }
    return batch;
  }
  RunReport RunBatch(const Batch& batch, double deadline_us) {
    RunTerms terms;
    terms.degrade_for_us = deadline_us;
    RunReport report;
    EXPECT_TRUE(Succeeded(this->pipeline_->Run(batch.AsPass(), terms, &output_, &report)));
    return report;
  }
  /// Expects the logits that each sequence has alone under `plan`, as `logits_of` says.
  template <typename LogitsOf>
  void ExpectEachAsAlone(const Batch& batch, const LogitsOf& logits_of) {
    std::vector<float> expected;
    for (size_t s = 0; s + 1 < batch.offsets.size(); ++s) {
      const auto part = [&](const Ids& of) {
        return Ids(of.begin() + batch.offsets[s], of.begin() + batch.offsets[s + 1]);
      };
      const std::vector<float> logits = logits_of(part(batch.ids), part(batch.types));
      expected.insert(expected.end(), logits.begin(), logits.end());
    }
    EXPECT_EQ(output_.values, expected);
  }

  TestRandom random_{60};
  PassOutput output_;
};

using Batches = BatchesOf<Guarantees>;

TEST_F(Batches, EachSequenceFallsBackAsItDoesAlone) {
  const Plan plan = WithFallback(WholeAt(4), {0, 1, 2});
  DirectModel direct(path_);
  for (const bool known : {false, true}) {
    for (uint32_t sequences = 1; sequences <= 4; ++sequences) {
      Open(plan, {}, known);
      const Batch batch = AnyBatch(sequences);
      EXPECT_FALSE(RunBatch(batch, kQuiet_us).fallback);
      ExpectEachAsAlone(batch, [&](const Ids& ids, const Ids& types) {
        return direct.Logits(WholeAt(4), ids, types);
      });
      door_.Close();
      const RunReport report = RunBatch(batch, kDeadline_us);
      ASSERT_TRUE(report.fallback);
      ExpectEachAsAlone(batch, [&](const Ids& ids, const Ids& types) {
        return direct.Logits(Alone(plan), known ? ids : AsUnknown(ids), types);
      });
      const Ids as_unknown = AsUnknown(batch.ids);
      const auto unknown = std::inner_product(
          batch.ids.begin(), batch.ids.end(), as_unknown.begin(), 0U, std::plus<>(),
          [](uint32_t a, uint32_t b) { return a != b ? 1U : 0U; });
      EXPECT_EQ(report.fallback->rows_missing, known ? 0 : unknown);
      door_.Open();
      pipeline_.reset();
    }
  }
}

using BatchesOfFirstLayers = BatchesOf<GuaranteesOfFirstLayers>;

TEST_F(BatchesOfFirstLayers, EachSequenceGoesOnFromItsLayersAsItDoesAlone) {
  const Plan plan = WithFallback(WholeAt(32), {0, 1});
  DirectModel direct(path_);
  for (uint32_t sequences = 1; sequences <= 4; ++sequences) {
    Open(plan);
    StrikeLayer(faults_, index_, 3, 32);
    const Batch batch = AnyBatch(sequences);
    const RunReport report = RunBatch(batch, kQuiet_us);
    ASSERT_TRUE(report.fallback);
    EXPECT_EQ(report.fallback->layers_before, 3U);
    Plan ran = WholeAt(32);
    ran.layers.resize(3);
    ExpectEachAsAlone(batch, [&](const Ids& ids, const Ids& types) {
      return direct.Logits(Degraded(ran, report.degraded), ids, types);
    });
    pipeline_.reset();
  }
}

// A narrow fallback may be deeper than the plan, and of a depth map run any layers.
TEST_F(Guarantees, AFallbackHasTheLayersThatThePlanHasNot) {
  Plan plan = WholeAt(4);
  RunUniformly(std::vector<uint32_t>{0, 2}, 4, 4, &plan);
  plan = WithFallback(plan, {1, 3, 4});
  const auto unknown = UnknownByFallback(plan);
  for (const bool after_another : {false, true}) {
    Open(after_another ? WholeAt(2) : plan);
    if (after_another) {
      ASSERT_TRUE(Succeeded(pipeline_->SetPlan(plan)));
    }
    door_.Close();
    const RunResult result = RunOnce(kDeadline_us);
    ASSERT_TRUE(result.fallback);
    EXPECT_EQ(result.values, unknown);
    EXPECT_FALSE(RunOnceReadsComeAgain().fallback);
    pipeline_.reset();
  }
}

// Whatever plan was in force before, a fallback is that of the plan in force: its layers, its
// width, and rows for all the positions that its texts have.
TEST_F(Guarantees, AnotherPlansFallbackIsTheOneOfAModelOpenedUnderIt) {
  const auto any_text = [](uint32_t length) {
    Ids ids(length);
    std::iota(ids.begin(), ids.end(), 5U);
    return ids;
  };
  struct Step {
    uint32_t length;
    std::vector<uint32_t> layers;
    uint32_t width;
  };
  const std::vector<Step> steps = {{8, {0, 1}, 2},    {24, {0, 1, 2}, 2}, {8, {0, 1, 2, 3}, 1},
                                   {8, {1, 3, 4}, 4}, {32, {0}, 3},       {16, {0, 1, 2}, 2}};
  for (const bool by_clock : {false, true}) {
    for (const Step& step : steps) {
      Plan plan = WithFallback(WholeAt(4), step.layers, step.width);
      plan.length = step.length;
      if (pipeline_ == nullptr) {
        Open(plan);
      } else if (!by_clock) {
        ASSERT_TRUE(Succeeded(pipeline_->SetPlan(plan)));
      } else {
        Plan other = WithFallback(WholeAt(4), {0, 2}, 2);
        other.length = step.length / 2;
        plan.freq = 2000000;
        other.freq = 1000000;
        Plan main = other;
        main.variants = {plan};
        ASSERT_TRUE(Succeeded(pipeline_->SetClock(1000000)));
        ASSERT_TRUE(Succeeded(pipeline_->SetPlan(main)));
        ASSERT_TRUE(Succeeded(pipeline_->SetClock(2000000)));
      }
      const Ids text = any_text(step.length);
      door_.Close();
      const RunResult result = RunOnce(kDeadline_us, text);
      ASSERT_TRUE(result.fallback);
      EXPECT_EQ(result.values, UnknownByFallback(plan, text)) << step.length << by_clock;
      EXPECT_EQ(result.fallback->rows_missing, text.size());
      EXPECT_EQ(RunOnceReadsComeAgain(text).values,
                DirectModel(path_).Logits(WholeAt(4), text, TypesOf(text)));
    }
  }
}

}  // namespace
}  // namespace sti
