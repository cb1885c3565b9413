#include "api/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "api/shard_memory.h"
#include "base/remedy.h"
#include "base/thread_pool.h"
#include "io/block_reader.h"
#include "io/container_file.h"
#include "model/memory.h"
#include "model/transformer.h"
#include "pipeline/io_share.h"
#include "pipeline/whole_plan.h"
#include "support/expect.h"
#include "support/plans.h"
#include "support/temp_folder.h"
#include "support/test_container.h"
#include "text/model_tokenizer.h"
#include "text/tokenizer.h"

namespace sti {
namespace {

class SessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    TinyModelOptions model;
    model.layers = 3;
    ASSERT_TRUE(Succeeded(WriteTinyContainer(path_, model)));
  }

  [[nodiscard]] ContainerFile File() const {
    auto file = ContainerFile::Open(path_);
    EXPECT_TRUE(Succeeded(file));
    return std::move(file).value();
  }
  [[nodiscard]] Plan WholeAt(uint32_t bits) const {
    WholePlanOptions whole;
    whole.bits = bits;
    auto plan = MakeWholePlan(File().index(), whole);
    EXPECT_TRUE(Succeeded(plan));
    return std::move(plan).value();
  }
  [[nodiscard]] std::unique_ptr<Session> Open(const Plan& plan,
                                              const SessionOptions& options = {}) const {
    auto session = Session::Open(File(), plan, options);
    EXPECT_TRUE(Succeeded(session));
    return std::move(session).value();
  }
  static Answer Ask(Session& session, const std::string& text) {
    Answer answer;
    const auto encoding = session.Encode(text);
    EXPECT_TRUE(Succeeded(encoding));
    EXPECT_TRUE(Succeeded(session.Ask(*encoding, Clock::now(), &answer)));
    return answer;
  }

  TempFolder folder_;
  std::string path_ = folder_.File("a.sti");
};

TEST_F(SessionTest, AnswersWithTheModelsOwnNumbers) {
  const auto session = Open(WholeAt(6));
  const Answer answer = Ask(*session, "a b c");
  const auto encoding = session->Encode("a b c");
  const auto pipeline = Pipeline::Create(File(), WholeAt(6), {});
  ASSERT_TRUE(Succeeded(pipeline));
  const auto run = RunTokens(**pipeline, encoding->ids, encoding->types);
  ASSERT_TRUE(Succeeded(run));
  EXPECT_EQ(answer.run.values, run->values);
  EXPECT_NEAR(std::accumulate(answer.labels().scores.begin(), answer.labels().scores.end(), 0.0),
              1.0, 1e-6);
  const auto best = std::max_element(answer.run.values.begin(), answer.run.values.end());
  EXPECT_EQ(answer.labels().label, best - answer.run.values.begin());
  EXPECT_EQ(answer.tokens, encoding->ids.size());
  EXPECT_EQ(answer.deadline_met, std::nullopt) << "no target";
  EXPECT_EQ(answer.plan, &session->plan());
}

TEST_F(SessionTest, CountsTurnsUntilTheEngagementEnds) {
  const auto session = Open(WholeAt(4));
  EXPECT_EQ(Ask(*session, "a").turn, 1U);
  session->SkipTurn();
  EXPECT_EQ(Ask(*session, "b").turn, 3U);
  ASSERT_TRUE(Succeeded(session->EndEngagement()));
  EXPECT_EQ(Ask(*session, "a").turn, 1U);
}

// A session's turns are its pipeline's, whatever begins an engagement anew.
TEST_F(SessionTest, CountsTurnsAnewWithAnotherClocksVariants) {
  Plan plan = WholeAt(2);
  plan.freq = 2'000'000;
  plan.turns.resize(3);
  for (uint32_t turn = 0; turn < 3; ++turn) plan.turns[turn].bits = WholeAt(2 + turn).bits;
  plan.variants = {WholeAt(6)};
  plan.variants[0].freq = 1'000'000;
  SessionOptions options;
  options.clock_khz = 2'000'000;
  const auto session = Open(plan, options);
  const auto expect_turn = [&](uint32_t turn) {
    const Answer answer = Ask(*session, "a b");
    EXPECT_EQ(answer.turn, turn);
    EXPECT_EQ(answer.run.turn, turn);
  };
  expect_turn(1);
  expect_turn(2);
  EXPECT_EQ(session->SetClock(2'100'000).value(), false);
  expect_turn(3);
  EXPECT_EQ(session->SetClock(1'000'000).value(), true);
  EXPECT_EQ(Ask(*session, "a b").turn, 1U) << "under the variant";
  EXPECT_EQ(session->SetClock(2'000'000).value(), true);
  expect_turn(1);
  expect_turn(2);
  ASSERT_TRUE(Succeeded(session->SetPlan(plan)));
  expect_turn(1);
  expect_turn(2);
  ASSERT_TRUE(Succeeded(session->EndEngagement()));
  expect_turn(1);
}

TEST_F(SessionTest, GoesOnUnderAnotherPlanAndBuffer) {
  const auto session = Open(WholeAt(2));
  const std::vector<float> coarse = Ask(*session, "a b").run.values;
  ASSERT_TRUE(Succeeded(session->SetPlan(WholeAt(6))));
  const Answer fine = Ask(*session, "a b");
  EXPECT_NE(fine.run.values, coarse);
  EXPECT_EQ(fine.turn, 1U);
  ASSERT_TRUE(Succeeded(session->SetBuffer(uint64_t{1} << 30)));
  EXPECT_GT(session->status().preload_bytes, 0U);
  const Answer held = Ask(*session, "a b");
  EXPECT_EQ(held.run.values, fine.run.values);
  EXPECT_LT(held.run.bytes_read, fine.run.bytes_read);
}

TEST_F(SessionTest, AWokenSessionGivesTheSameAnswer) {
  const auto session = Open(WholeAt(5));
  const std::vector<float> expected = Ask(*session, "c d").run.values;
  ASSERT_TRUE(Succeeded(session->Wake()));
  EXPECT_EQ(Ask(*session, "c d").run.values, expected);
}

TEST_F(SessionTest, TheFirstAnswerOfAColdPlanCountsFromTheStart) {
  Plan plan = WholeAt(3);
  plan.cold = true;
  plan.target_us = 60e6;
  SessionOptions options;
  options.lazy = true;
  options.started = Clock::now() - Microseconds(120e6);
  const auto session = Open(plan, options);
  const Answer first = Ask(*session, "a");
  EXPECT_TRUE(first.cold);
  EXPECT_GE(first.latency_us, 120e6);
  EXPECT_EQ(first.deadline_met, false);
  const Answer second = Ask(*session, "a");
  EXPECT_FALSE(second.cold);
  EXPECT_EQ(second.deadline_met, true);
  EXPECT_EQ(second.run.values, first.run.values);
}

// A plan may be read again before the first text comes. Under --on-late degrade a text that seemed
// late from the start on had the fewest bits.
TEST_F(SessionTest, AnotherPlanBeforeTheFirstTextIsNoColdStart) {
  Plan cold = WholeAt(2);
  cold.cold = true;
  Plan warm = WholeAt(6);
  warm.target_us = 1800e6;
  warm.times.emplace().layer_io_us.assign(warm.layers.size(), 0);
  SessionOptions options;
  options.started = Clock::now() - std::chrono::hours(1);
  const auto session = Open(cold, options);
  ASSERT_TRUE(Succeeded(session->SetPlan(warm)));
  const Answer first = Ask(*session, "a b c");
  EXPECT_FALSE(first.cold);
  EXPECT_EQ(first.deadline_met, true) << "it does not count from the start";
  EXPECT_LT(first.latency_us, 1800e6);

  const auto again = Open(cold, options);
  ASSERT_TRUE(Succeeded(again->SetPlan(cold)));
  EXPECT_TRUE(Ask(*again, "a b c").cold) << "a cold plan in the place of another";
}

TEST_F(SessionTest, ACascadeAnswersWithTheLevelThatIsSure) {
  Plan level = WholeAt(3);
  RunUniformly(std::vector<uint32_t>{0, 1}, 1, 3, &level);
  const Plan whole = WholeAt(5);
  const auto open = [&](const CascadeRule& rule) {
    Plan plan = whole;
    plan.cascade = {.levels = {{.plan = level, .temperature = 1, .rule = rule}},
                    .temperature = 2,
                    .return_share = {0.5},
                    .path_us = {100, 300}};
    return Open(plan);
  };
  const Answer small = Ask(*Open(level), "a b c");
  const Answer large = Ask(*Open(whole), "a b c");
  EXPECT_EQ(small.cascade, std::nullopt);
  const auto returns = open({.cutoff = 0});
  const Answer early = Ask(*returns, "a b c");
  EXPECT_EQ(early.run.values, small.run.values);
  EXPECT_EQ(early.labels().scores, small.labels().scores);
  EXPECT_EQ(early.labels().label, small.labels().label);
  EXPECT_EQ(early.cascade->level, 1U);
  EXPECT_EQ(early.plan->layers, level.layers);
  EXPECT_EQ(early.predicted_path_us, 100);
  EXPECT_EQ(Ask(*returns, "b").turn, 2U);
  const auto goes_on = open({.cutoff = 1});
  const Answer last = Ask(*goes_on, "a b c");
  EXPECT_EQ(last.run.values, large.run.values);
  EXPECT_EQ(last.labels().scores, large.labels().scores) << "at no temperature";
  EXPECT_EQ(last.logits(), last.run.values);
  EXPECT_EQ(last.cascade->level, 2U);
  EXPECT_EQ(last.cascade->returned, Returned::kFinal);
  EXPECT_EQ(last.plan, &goes_on->plan());
  EXPECT_EQ(last.predicted_path_us, 300);
  EXPECT_EQ(last.bytes_read(), last.run.bytes_read + last.cascade->before()[0].run.bytes_read);
  EXPECT_GE(last.latency_us, last.run.latency_us + last.cascade->before()[0].run.latency_us);
  const auto together = open({.cutoff = 1, .ensemble_weight = 0});
  const Answer ensemble = Ask(*together, "a b c");
  EXPECT_EQ(ensemble.run.values, large.run.values);
  EXPECT_EQ(ensemble.labels().label, small.labels().label) << "the last level has no weight";
  for (size_t i = 0; i < small.labels().scores.size(); ++i)
    EXPECT_NEAR(ensemble.labels().scores[i], small.labels().scores[i], 1e-6);
  std::vector<float> again = ensemble.logits();
  Probabilities(Problem::kSingleLabel, again);
  for (size_t i = 0; i < again.size(); ++i)
    EXPECT_NEAR(again[i], ensemble.labels().scores[i], 1e-6);
  ASSERT_TRUE(Succeeded(together->SetPlan(whole)));
  EXPECT_EQ(Ask(*together, "a b c").cascade, std::nullopt);
}

TEST_F(SessionTest, ALaterLevelGetsTheTextWithoutTheWordsOfLittleAttention) {
  Plan level = WholeAt(3);
  RunUniformly(std::vector<uint32_t>{0, 1}, 1, 3, &level);
  Plan plan = WholeAt(5);
  plan.cascade = {.levels = {{.plan = level, .rule = {.cutoff = 1, .prune_alpha = 1}}},
                  .return_share = {0.5}};
  const std::vector<std::string> words{"a", "movie", "was", "not", "very", "good"};
  const auto text_of = [&](const std::vector<bool>& kept) {
    std::string text;
    for (size_t i = 0; i < words.size(); ++i) text += kept[i] ? words[i] + " " : "";
    return text;
  };
  const auto session = Open(plan);
  const std::string text = text_of(std::vector<bool>(words.size(), true));
  const Answer answer = Ask(*session, text);
  // The attention that the first level gives, each word being one token behind [CLS].
  const auto first = Open(level);
  const auto encoding = first->Encode(text);
  ASSERT_EQ(encoding->ids.size(), words.size() + 2);
  PassOutput output;
  output.wants_attention = true;
  RunReport report;
  const auto pipeline = Pipeline::Create(File(), level, {});
  ASSERT_TRUE(Succeeded(pipeline));
  ASSERT_TRUE(Succeeded(
      (*pipeline)->Run({TokenInput{encoding->ids, encoding->types}, {}}, {}, &output, &report)));
  const std::vector<bool> tokens = KeptTokens(output.attention, encoding->words, 1);
  const std::vector<bool> kept(tokens.begin() + 1, tokens.end() - 1);
  const auto left_out = static_cast<uint32_t>(std::count(kept.begin(), kept.end(), false));
  ASSERT_GT(left_out, 0U);
  ASSERT_LT(left_out, words.size());
  EXPECT_EQ(answer.cascade->words_pruned, left_out);
  EXPECT_EQ(answer.tokens, words.size() + 2);
  EXPECT_EQ(answer.run.values, Ask(*Open(WholeAt(5)), text_of(kept)).run.values);
  EXPECT_NE(answer.run.values, Ask(*Open(WholeAt(5)), text).run.values);
  // Ids alone have no words, and all of them go on.
  Encoding ids = *encoding;
  ids.words.clear();
  Answer unpruned;
  ASSERT_TRUE(Succeeded(session->Ask(ids, Clock::now(), &unpruned)));
  EXPECT_EQ(unpruned.cascade->words_pruned, 0U);
  EXPECT_EQ(unpruned.run.values, Ask(*Open(WholeAt(5)), text).run.values);
}

TEST_F(SessionTest, ACascadeIsBoundedByItsOwnBytes) {
  Plan level = WholeAt(5);
  RunUniformly(std::vector<uint32_t>{0, 1}, 2, 5, &level);
  Plan plan = WholeAt(5);
  plan.cascade = {.levels = {{.plan = level, .rule = {.cutoff = 1}}}, .return_share = {0.5}};
  auto file = File();
  const auto tokenizer = LoadTokenizer(file);
  ASSERT_TRUE(Succeeded(tokenizer));
  const OwnMemory memory{.tokenizer_bytes = tokenizer->memory_bytes()};
  const MemoryNeed need = NeedOf(file.index(), plan, memory);
  const MemoryNeed alone = NeedOf(file.index(), WholeAt(5), memory);
  const ShardCatalog catalog = CatalogOf(file.index());
  uint64_t handed_on = 0;
  for (uint32_t layer = 0; layer < 2; ++layer) {
    for (uint32_t slice = 0; slice < 2; ++slice) handed_on += *catalog.BytesOf({{layer, slice}, 5});
  }
  EXPECT_EQ(need.before_shards, alone.before_shards + handed_on);
  EXPECT_LT(need.streamed, alone.streamed) << "the last level finds shards in memory";
  EXPECT_EQ(need.layer, alone.layer) << "but of its last layer none";
  SessionOptions options;
  options.own_bytes = need.before_shards + need.layer;
  const auto session = Open(plan, options);
  EXPECT_LE(session->memory_bytes(), *options.own_bytes);
  EXPECT_EQ(Ask(*session, "a b").run.values, Ask(*Open(plan), "a b").run.values);
  EXPECT_LE(session->memory_bytes(), *options.own_bytes);
}

TEST_F(SessionTest, DegradingNeedsATargetAndTimes) {
  SessionOptions options;
  options.late = Late::kDegrade;
  EXPECT_TRUE(FailedWith(Session::Open(File(), WholeAt(6), options), ErrorKind::kUsage,
                         "a target and the times"));
  Plan plan = WholeAt(6);
  plan.target_us = 60e6;
  plan.times = PlanTimes{};
  plan.times->layer_io_us.assign(plan.layers.size(), 1);
  plan.cascade = {.levels = {{.plan = WholeAt(3)}}, .return_share = {0.5}};
  EXPECT_TRUE(FailedWith(Session::Open(File(), plan, options), ErrorKind::kUsage,
                         "a target and the times"));
  plan.cascade->levels[0].plan.times = plan.times;
  EXPECT_TRUE(Succeeded(Session::Open(File(), plan, options)));
}

TEST_F(SessionTest, OwnBytesBoundTheModelsMemory) {
  const Plan plan = WholeAt(6);
  auto file = File();
  const auto tokenizer = LoadTokenizer(file);
  ASSERT_TRUE(Succeeded(tokenizer));
  const WorkingTerms terms{.kernel = KernelFor({}), .extent = {plan.length, plan.width}};
  const uint64_t before_shards =
      tokenizer->memory_bytes() + ResidentBytes(file.index()) + WorkingBytes(file.index(), terms);
  SessionOptions options;
  options.own_bytes = before_shards;
  EXPECT_TRUE(FailedWith(Session::Open(File(), plan, options), ErrorKind::kInfeasible,
                         "with its first shards"));
  const uint64_t layer = uint64_t{200} << 10;  // more than a layer of the tiny model
  options.own_bytes = before_shards + layer;
  const auto session = Open(plan, options);
  EXPECT_LE(session->status().staging_bytes, layer);
  EXPECT_EQ(Ask(*session, "a b").run.values, Ask(*Open(plan), "a b").run.values);
  // A plan that was made for this much keeps room for a layer, whatever this process holds.
  OwnMemory planned{.bytes = 1, .planned_for = before_shards + layer, .tokenizer_bytes = 0};
  const auto least = StagingBytes(file.index(), plan, planned);
  ASSERT_TRUE(Succeeded(least));
  EXPECT_GT(*least, 0U);
  // And no more than the plan gives its shards, whose estimate counts code that is not loaded yet.
  Plan estimated = plan;
  estimated.staging_bytes = 2 * *least;
  estimated.predicted_peak_bytes = planned.planned_for - 1000;
  OwnMemory ample = planned;
  ample.bytes = before_shards + layer;
  EXPECT_EQ(StagingBytes(file.index(), estimated, ample).value(), 2 * *least + 1000);
  estimated.staging_bytes = UINT64_MAX;  // as a forged plan may say
  EXPECT_GT(StagingBytes(file.index(), estimated, ample).value(), 2 * *least + 1000);
  // But no room for a model that alone takes more, whatever its plan predicts.
  planned.planned_for = before_shards - tokenizer->memory_bytes();
  EXPECT_TRUE(FailedWith(StagingBytes(file.index(), plan, planned), ErrorKind::kInfeasible,
                         "with its first shards", Remedy::kMoreMemory));
}

// Fallbacks of variants stay in memory beside the plan's own.
TEST_F(SessionTest, OwnBytesHoldTheFallbacksOfAllVariants) {
  constexpr double kMargin_us = 60e6;
  const auto guaranteed = [&](uint32_t length, std::vector<uint32_t> layers) {
    Plan plan = Timed(WholeAt(3), 1000);
    plan.length = length;
    plan.target_us = 2 * kMargin_us;
    plan.fallback = FallbackOf(std::move(layers), 1, 2, kMargin_us);
    return plan;
  };
  const Plan alone = guaranteed(32, {0});
  Plan plan = alone;
  plan.variants = {guaranteed(8, {1, 2})};
  auto file = File();
  const auto tokenizer = LoadTokenizer(file);
  ASSERT_TRUE(Succeeded(tokenizer));
  const OwnMemory memory{.tokenizer_bytes = tokenizer->memory_bytes()};
  const MemoryNeed need = NeedOf(file.index(), plan, memory);
  const std::vector<ShardAtBits> of_variant{{{1, 0}, 2}, {{2, 0}, 2}};
  EXPECT_EQ(need.before_shards, NeedOf(file.index(), alone, memory).before_shards +
                                    CatalogOf(file.index()).BytesOfAll(of_variant));
  SessionOptions options;
  options.late = Late::kDegrade;
  options.own_bytes = need.before_shards + need.layer;
  const auto session = Open(plan, options);
  EXPECT_LE(session->memory_bytes(), *options.own_bytes);
  for (const std::string text : {"a b", "a b c d a b c d a b c d"}) {
    EXPECT_EQ(Ask(*session, text).run.values, Ask(*Open(WholeAt(3)), text).run.values);
    EXPECT_LE(session->memory_bytes(), *options.own_bytes);
  }
}

TEST_F(SessionTest, TellsWhereThePlanCountsOnAnotherMachine) {
  Plan plan = WholeAt(6);
  plan.read_path = "tape";
  plan.wake_us = 250e3;
  std::vector<Notice> notices;
  SessionOptions options;
  options.notices = [&](const Notice& notice) { notices.push_back(notice); };
  const auto session = Open(plan, options);
  const auto told = [&](Notice::Kind kind) {
    return std::find_if(notices.begin(), notices.end(),
                        [&](const Notice& notice) { return notice.kind == kind; });
  };
  ASSERT_NE(told(Notice::Kind::kOtherReadPath), notices.end());
  EXPECT_EQ(told(Notice::Kind::kOtherReadPath)->planned, "tape");
  ASSERT_NE(told(Notice::Kind::kLeadTime), notices.end());
  EXPECT_EQ(told(Notice::Kind::kLeadTime)->time_us, 250e3);
  ASSERT_NE(told(Notice::Kind::kRunning), notices.end());
  EXPECT_EQ(told(Notice::Kind::kRunning)->kernel, session->status().kernel.name);
}

TEST_F(SessionTest, TwoSessionsShareCoresAndFlash) {
  const std::vector<float> expected[2] = {Ask(*Open(WholeAt(6)), "a b c").run.values,
                                          Ask(*Open(WholeAt(3)), "a b c").run.values};
  ThreadPool cores(2);
  IoShare io(uint64_t{1} << 20);
  SessionOptions options;
  options.cores = &cores;
  options.io = &io;
  const std::unique_ptr<Session> sessions[2] = {Open(WholeAt(6), options),
                                                Open(WholeAt(3), options)};
  std::vector<float> logits[2];
  std::thread askers[2];
  for (int i = 0; i < 2; ++i) {
    askers[i] = std::thread([&, i] {
      for (int round = 0; round < 20; ++round) logits[i] = Ask(*sessions[i], "a b c").run.values;
    });
  }
  for (std::thread& asker : askers) asker.join();
  EXPECT_EQ(logits[0], expected[0]);
  EXPECT_EQ(logits[1], expected[1]);
}

// Each input may take any part of a plan, and each level may be the last that there is time for.
TEST(CanDegrade, WhereEveryPartOfAPlanHasTimes) {
  Plan timed;
  timed.target_us = 1;
  timed.times.emplace();
  EXPECT_TRUE(CanDegrade(timed));
  for (const bool target : {false, true}) {
    Plan other = timed;
    if (target)
      other.target_us.reset();
    else
      other.times.reset();
    EXPECT_FALSE(CanDegrade(other));
    Plan with_variants = timed;
    with_variants.variants = {timed, timed};
    EXPECT_TRUE(CanDegrade(with_variants));
    with_variants.variants[1] = other;
    EXPECT_FALSE(CanDegrade(with_variants));
    Plan with_levels = timed;
    with_levels.cascade.emplace().levels = {{.plan = timed}, {.plan = timed}};
    EXPECT_TRUE(CanDegrade(with_levels));
    with_levels.cascade->levels[1].plan = other;
    EXPECT_EQ(CanDegrade(with_levels), target) << "the target is the plan's";
  }
}

}  // namespace
}  // namespace sti
