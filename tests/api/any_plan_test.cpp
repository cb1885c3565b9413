// A session that goes on under plans drawn at random, with the memory of one answer used again,
// beside a fresh session and a fresh answer under each.
#include "any_plan.h"

#include "api/session.h"
#include "api/shard_memory.h"
#include "format/container_writer.h"
#include "support/fault_reader.h"
#include "support/temp_folder.h"
#include "support/test_container.h"
#include "text/model_tokenizer.h"
#include "text/tokenizer.h"
#include "types/plan_check.h"

namespace sti {
namespace {

class AnyPlans : public ::testing::Test {
 protected:
  void SetUp() override {
    TinyModelOptions model;
    model.layers = 4;
    model.hidden = 64;
    model.ffn = 128;
    auto report = WriteTinyContainer(path_, model);
    ASSERT_TRUE(Succeeded(report));
    index_ = report->index;
  }

  std::unique_ptr<Session> Open(const Plan& plan, const SessionOptions& options = {}) {
    auto sound = OpenBlockReader(path_);
    EXPECT_TRUE(Succeeded(sound));
    auto reader = std::make_unique<FaultReader>(std::move(*sound));
    auto file = ContainerFile::Open(std::move(reader));
    EXPECT_TRUE(Succeeded(file));
    auto session = Session::Open(std::move(*file), plan, options);
    EXPECT_TRUE(Succeeded(session));
    return session.ok() ? std::move(*session) : nullptr;
  }
  std::string AnyText() {
    static const std::vector<std::string> words{"a", "movie", "was", "not", "very", "good", "b"};
    std::string text;
    for (uint64_t count = 1 + random_.Below(9); count > 0; --count)
      text += words[random_.Below(words.size())] + " ";
    return text;
  }
  static void Ask(Session& session, const std::string& text, Answer* answer) {
    const auto encoding = session.Encode(text);
    ASSERT_TRUE(Succeeded(encoding));
    ASSERT_TRUE(Succeeded(session.Ask(*encoding, Clock::now(), answer)));
  }

  TempFolder folder_;
  std::string path_ = folder_.File("a.sti");
  ContainerIndex index_;
  TestRandom random_{60};
};

/// Expects all that does not hang on time, or on rows that stay from earlier texts.
void ExpectSame(const Answer& again, const Answer& fresh) {
  EXPECT_EQ(again.run.values, fresh.run.values);
  EXPECT_EQ(again.run.turn, fresh.run.turn);
  EXPECT_EQ(again.run.layers.size(), fresh.run.layers.size());
  EXPECT_EQ(again.run.degraded.size(), fresh.run.degraded.size());
  EXPECT_EQ(again.run.fallback.has_value(), fresh.run.fallback.has_value());
  EXPECT_EQ(again.plan->layers, fresh.plan->layers);
  EXPECT_EQ(again.plan->length, fresh.plan->length);
  EXPECT_EQ(again.labels().scores, fresh.labels().scores);
  EXPECT_EQ(again.logits(), fresh.logits());
  EXPECT_EQ(again.ranking(), fresh.ranking());
  EXPECT_EQ(again.labels().label, fresh.labels().label);
  EXPECT_EQ(again.labels().labels, fresh.labels().labels);
  EXPECT_EQ(again.tokens, fresh.tokens);
  EXPECT_EQ(again.truncated, fresh.truncated);
  EXPECT_EQ(again.target_us, fresh.target_us);
  EXPECT_EQ(again.predicted_path_us, fresh.predicted_path_us);
  EXPECT_EQ(again.deadline_met, fresh.deadline_met);
  EXPECT_EQ(again.turn, fresh.turn);
  EXPECT_EQ(again.cold, fresh.cold);
  ASSERT_EQ(again.cascade.has_value(), fresh.cascade.has_value());
  if (!again.cascade) return;
  EXPECT_EQ(again.cascade->level, fresh.cascade->level);
  EXPECT_EQ(again.cascade->confidence, fresh.cascade->confidence);
  EXPECT_EQ(again.cascade->returned, fresh.cascade->returned);
  EXPECT_EQ(again.cascade->words_pruned, fresh.cascade->words_pruned);
  EXPECT_EQ(again.cascade->together, fresh.cascade->together);
  for (size_t level = 0; level < fresh.cascade->before().size(); ++level)
    EXPECT_EQ(again.cascade->before()[level].run.values, fresh.cascade->before()[level].run.values);
}

TEST_F(AnyPlans, AnAnswerHasNothingOfTheOnesBeforeIt) {
  constexpr int kPlans = 100;
  AnyPlan any(index_, random_);
  SessionOptions options;
  options.late = Late::kDegrade;
  // Plans that can be degraded, so that some inputs are answered by a fallback.
  const auto draw = [&] {
    Plan plan = any.Draw();
    plan.target_us = 600e6;
    for (PlanCore& variant : plan.variants) variant.target_us = 600e6;
    return plan;
  };
  auto walked = Open(draw(), options);
  Answer again;
  int cascades = 0;
  int fell_back = 0;
  for (int number = 0; number < kPlans; ++number) {
    const Plan plan = draw();
    ASSERT_TRUE(Succeeded(walked->SetPlan(plan)));
    const auto fresh = Open(plan, options);
    for (uint64_t asks = 1 + random_.Below(3); asks > 0; --asks) {
      const std::string text = AnyText();
      Answer expected;
      ASSERT_NO_FATAL_FAILURE(Ask(*walked, text, &again));
      ASSERT_NO_FATAL_FAILURE(Ask(*fresh, text, &expected));
      ASSERT_NO_FATAL_FAILURE(ExpectSame(again, expected));
      ASSERT_FALSE(HasFailure()) << "plan " << number << ", " << text;
      cascades += again.cascade ? 1 : 0;
    }
    // A lane that is set aside takes the reader with the faults along.
    auto* const faults = dynamic_cast<FaultReader*>(walked->status().reader);
    if (faults == nullptr) walked = Open(plan, options);
    if (faults == nullptr || !plan.fallback) continue;
    faults->Inject({.kind = FaultKind::kError, .times = Fault::kAlways});
    ASSERT_NO_FATAL_FAILURE(Ask(*walked, AnyText(), &again));
    fell_back += again.run.fallback || !again.run.degraded.empty() ? 1 : 0;
    faults->Heal();
  }
  EXPECT_GT(cascades, kPlans / 5);
  EXPECT_GT(fell_back, kPlans / 30);
}

// A container that is made for a plan holds all that the plan, its turns, its variants, its
// fallbacks and the levels of its cascade run and keep.
TEST_F(AnyPlans, AreServedByContainersThatAreMadeForThem) {
  AnyPlan any(index_, random_);
  for (int number = 0; number < 1000; ++number) {
    const Plan plan = any.Draw();
    const PartSelection parts = SelectForPlans(index_.info.shape, {&plan, 1});
    PlanBounds bounds;
    bounds.model = plan.model;
    bounds.holds = [&](const ShardAtBits& shard) {
      return parts[size_t{shard.id.layer} * index_.info.shape.width + shard.id.slice].Has(
          PartSet::For(shard.bits));
    };
    const auto fault = FindPlanFault(plan, bounds);
    ASSERT_FALSE(fault) << "plan " << number << ": " << fault->text();
  }
}

// A preloaded shard comes through the arena too, where nothing is streamed: a shard at full
// fidelity.
constexpr uint64_t kShardBytes = 32 << 10;

// The least bound that a plan's session opens under holds through its turns, other lengths and the
// end of the engagement; so does one that holds for two plans, of which the session has either.
TEST_F(AnyPlans, KeepWithinTheBytesThatTheyNeed) {
  constexpr int kPlans = 100;
  AnyPlan any(index_, random_);
  auto file = ContainerFile::Open(path_);
  ASSERT_TRUE(Succeeded(file));
  const auto tokenizer = LoadTokenizer(*file);
  ASSERT_TRUE(Succeeded(tokenizer));
  const OwnMemory memory{.tokenizer_bytes = tokenizer->memory_bytes()};
  const auto least = [&](const Plan& plan) {
    const MemoryNeed need = NeedOf(index_, plan, memory);
    return need.before_shards + std::max(need.layer, kShardBytes);
  };
  for (int number = 0; number < kPlans; ++number) {
    const Plan plans[] = {any.Draw(), any.Draw()};
    SessionOptions options;
    options.own_bytes =
        random_.Below(2) == 0 ? least(plans[0]) : std::max(least(plans[0]), least(plans[1]));
    const bool both = *options.own_bytes >= std::max(least(plans[0]), least(plans[1]));
    const auto bounded = Open(plans[0], options);
    const auto unbounded = Open(plans[0]);
    ASSERT_NE(bounded, nullptr);
    for (const Plan& plan : plans) {
      if (&plan != plans) {
        if (!both) break;
        ASSERT_TRUE(Succeeded(bounded->SetPlan(plan)));
        ASSERT_TRUE(Succeeded(unbounded->SetPlan(plan)));
      }
      for (int ask = 0; ask < 4; ++ask) {
        EXPECT_LE(bounded->memory_bytes(), *options.own_bytes) << ask;
        const std::string text = AnyText();
        Answer answer;
        Answer expected;
        ASSERT_NO_FATAL_FAILURE(Ask(*bounded, text, &answer));
        ASSERT_NO_FATAL_FAILURE(Ask(*unbounded, text, &expected));
        ASSERT_NO_FATAL_FAILURE(ExpectSame(answer, expected));
        EXPECT_LE(bounded->memory_bytes(), *options.own_bytes) << ask;
        if (random_.Below(4) > 0) continue;
        ASSERT_TRUE(Succeeded(bounded->EndEngagement()));
        ASSERT_TRUE(Succeeded(unbounded->EndEngagement()));
      }
      ASSERT_FALSE(HasFailure()) << "plan " << number << (plan.cascade ? ", a cascade" : "")
                                 << (plan.turns.empty() ? "" : ", turns")
                                 << (plan.variants.empty() ? "" : ", variants")
                                 << (plan.fallback ? ", a fallback" : "");
    }
  }
}

// A plan that was made for the bound has the staging that it counts on, whether a session opens
// under it or goes on; one that was made for another has what is left.
TEST_F(AnyPlans, HaveTheStagingThatASessionOpensWith) {
  AnyPlan any(index_, random_);
  auto file = ContainerFile::Open(path_);
  ASSERT_TRUE(Succeeded(file));
  const auto tokenizer = LoadTokenizer(*file);
  ASSERT_TRUE(Succeeded(tokenizer));
  int differ = 0;
  for (int number = 0; number < 60; ++number) {
    Plan plans[] = {any.Draw(), any.Draw()};
    uint64_t bytes = 0;
    for (Plan& plan : plans) {
      const MemoryNeed need = NeedOf(index_, plan, {.tokenizer_bytes = tokenizer->memory_bytes()});
      plan.staging_bytes = (1 + random_.Below(20)) * kBlockBytes;
      bytes = std::max(bytes, need.before_shards + std::max(need.layer, kShardBytes));
    }
    bytes += random_.Below(100) * kBlockBytes;
    for (Plan& plan : plans) plan.predicted_peak_bytes = bytes - random_.Below(bytes / 16);
    uint64_t staging[2];
    for (const bool planned : {false, true}) {
      SessionOptions options;
      options.own_bytes = bytes;
      const auto walked = Open(plans[0], options);
      options.planned_for_bytes = planned ? bytes : 0;
      const auto fresh = Open(plans[1], options);
      ASSERT_TRUE(Succeeded(walked->SetPlan(plans[1], options.planned_for_bytes)));
      staging[planned] = fresh->status().staging_bytes;
      ASSERT_EQ(walked->status().staging_bytes, staging[planned]) << "plan " << number;
    }
    differ += staging[0] == staging[1] ? 0 : 1;
  }
  EXPECT_GT(differ, 10);
}

}  // namespace
}  // namespace sti
