// Tests of a pipeline that rests between runs, and of what ends a rest: the next run alone.
#include <functional>
#include <string>
#include <vector>

#include "faulty_pipeline.h"

namespace sti {
namespace {

class Rests : public FaultyPipelineTest {
 protected:
  RunResult Run() {
    auto result = RunTokens(*pipeline_, kTextIds, kTextTypes);
    EXPECT_TRUE(Succeeded(result));
    return result.ok() ? *result : RunResult{};
  }
  /// Three turns, the later of which keep more, and variants for another clock.
  [[nodiscard]] Plan WithAll() const {
    Plan plan = WithPreload(WholeAt(2), 4);
    plan.turns.resize(3);
    for (uint32_t turn = 0; turn < 3; ++turn) {
      plan.turns[turn].bits = WholeAt(2 + turn).bits;
      plan.turns[turn].preload = WithPreload(WholeAt(turn < 2 ? 2 : 3), 4 + 4 * turn).preload;
    }
    plan.words = {2, 5, 7};
    plan.freq = 1800;
    plan.variants = {WholeAt(6)};
    plan.variants[0].freq = 900;
    return plan;
  }

  struct Call {
    const char* what;
    std::function<void()> make;
  };
  /// Makes a call whose reads fail.
  Call Refused(const char* what, const std::function<Status()>& call) {
    return {what, [this, call] {
              faults_->Inject({.kind = FaultKind::kError});
              EXPECT_TRUE(FailedWith(call(), ErrorKind::kReadFailed));
              faults_->Heal();
            }};
  }
  static Call Done(const char* what, const std::function<Status()>& call) {
    return {what, [call] { EXPECT_TRUE(Succeeded(call())); }};
  }
  /// All that may be asked of a pipeline and is no run, no lead and no other plan.
  std::vector<Call> Calls() {
    const auto less = [this] { return pipeline_->ResizePreload(0); };
    const auto more = [this] { return pipeline_->ResizePreload(1 << 20); };
    const auto as_planned = [this] { return pipeline_->ResizePreload({}); };
    return {
        Done("nothing", [] { return Status(); }),
        Done("another rest", [this] { return pipeline_->Rest(); }),
        Done("loading what is there", [this] { return pipeline_->LoadAhead(); }),
        Done("less is preloaded", less),
        Done("more is preloaded", more),
        Done("less, and as planned",
             [=]() -> Status {
               STI_RETURN_IF_ERROR(less());
               return as_planned();
             }),
        Done("less, and as planned with the runs",
             [=, this] {
               Status status = less();
               (void)pipeline_->ResizePreload(std::nullopt, Refill::kWithRuns);
               return status;
             }),
        Done("more, and as planned",
             [=]() -> Status {
               STI_RETURN_IF_ERROR(more());
               return as_planned();
             }),
        Refused("more cannot be loaded", more),
        Done("the engagement ends", [this] { return pipeline_->EndTurns(); }),
        Refused("another plan cannot be loaded",
                [this] { return pipeline_->SetPlan(WithPreload(WholeAt(6), 100)); }),
        Refused("another clock's variants cannot be loaded",
                [this]() -> Status {
                  const Result<bool> changed = pipeline_->SetClock(900);
                  return changed.ok() ? Status() : changed.error();
                }),
        {"another plan does not fit",
         [this] {
           Plan other = pipeline_->plan();
           other.model.bytes[0] ^= 1;
           EXPECT_FALSE(pipeline_->SetPlan(other).ok());
         }},
        Done("the same clock",
             [this]() -> Status {
               const Result<bool> changed = pipeline_->SetClock(1900);
               EXPECT_TRUE(changed.ok() && !*changed);
               return {};
             }),
        Done("the input ends",
             [this] {
               pipeline_->EndInput();
               return Status();
             }),
        Done("reads end", [this] { return pipeline_->FinishReads(); }),
    };
  }
};

TEST_F(Rests, GiveBackWhatOnlyRunsNeed) {
  Open(WithPreload(Mixed(), 5));
  const RunResult before = Run();
  const uint64_t working = pipeline_->status().working_bytes;
  const uint64_t staging = pipeline_->status().staging_bytes;
  const uint64_t held = pipeline_->status().preload_bytes;
  ASSERT_GT(working, 0);
  ASSERT_GT(staging, 0);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(Succeeded(pipeline_->Rest()));
    EXPECT_EQ(pipeline_->status().working_bytes, 0);
    EXPECT_EQ(pipeline_->status().staging_bytes, 0);
    EXPECT_EQ(pipeline_->status().preload_bytes, held);
  }
  EXPECT_EQ(Run().values, before.values);
  EXPECT_EQ(pipeline_->status().working_bytes, working);
  EXPECT_EQ(pipeline_->status().staging_bytes, staging);
  // A lead after a rest, and a rest that nobody waits for the end of.
  ASSERT_TRUE(Succeeded(pipeline_->Rest()));
  ASSERT_TRUE(Succeeded(pipeline_->Wake()));
  EXPECT_EQ(Run().values, before.values);
  ASSERT_TRUE(Succeeded(pipeline_->Wake()));
  ASSERT_TRUE(Succeeded(pipeline_->Rest()));
  EXPECT_EQ(Run().values, before.values);
}

// Arena and working memory come back with a run, whatever comes before it.
TEST_F(Rests, LastUntilTheNextRun) {
  const Plan plan = WithAll();
  PipelineOptions options;
  options.clock_khz = 1800;
  for (const Call& call : Calls()) {
    for (const int runs : {0, 1, 4}) {
      SCOPED_TRACE(std::string(call.what) + " after " + std::to_string(runs));
      Open(plan, options);
      for (int run = 0; run < runs; ++run) Run();
      const uint64_t working = pipeline_->status().working_bytes;
      ASSERT_TRUE(Succeeded(pipeline_->Rest()));
      call.make();
      EXPECT_EQ(pipeline_->status().working_bytes, 0);
      EXPECT_EQ(pipeline_->status().staging_bytes, 0);
      Run();
      EXPECT_EQ(pipeline_->status().working_bytes, working);
    }
  }
}

}  // namespace
}  // namespace sti
