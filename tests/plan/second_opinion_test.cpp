// Every figure of a plan has a second opinion: the plans of random requests of all kinds say what
// slow, plain code says that shares nothing with the planner. STI_TEST_REQUESTS=100000 looks at so
// many plans, by hand.
#include "second_opinion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "plan/judge.h"
#include "second_world.h"

namespace sti::test {
namespace {

int RequestsToTry() {
  const char* count = std::getenv("STI_TEST_REQUESTS");
  return count == nullptr ? 6000 : std::max(1, std::atoi(count));
}

/// Makes the plan of a random request; of three, one in less memory than it would take.
Result<Plan> AnyPlan(Random& random, SecondWorld* drawn) {
  Result<Plan> plan = MakePlan(drawn->Input(), drawn->request);
  if (!plan.ok() || random.Below(3) != 0) return plan;
  const uint64_t peak = plan->predicted_peak_bytes;
  drawn->request.judging.memory_bytes =
      peak - std::min<uint64_t>(peak, uint64_t{4096} * random.Below(40));
  return MakePlan(drawn->Input(), drawn->request);
}

/// Says how a plan that was made is judged otherwise; empty if as it was made.
std::string JudgedOtherwise(const SecondWorld& drawn, const Plan& plan) {
  const Result<Verdicts> verdicts = JudgePlan(drawn.Input(), drawn.request.judging, plan);
  if (!verdicts.ok()) return "\n  judged: " + verdicts.error().Message();
  if (!plan.meets_target) return verdicts->problem().empty() ? "\n  judged to be in time" : "";
  std::string problem = verdicts->problem();
  const auto same = [&](const Verdict& verdict, const auto& one, const std::string& name) {
    const auto near = [](double a, double b) { return std::abs(a - b) < 1e-6; };
    if (verdict.latency_us != one.predicted_latency_us || verdict.p99_us != one.predicted_p99_us ||
        !std::ranges::equal(verdict.aib_us, one.aib_us, near))
      problem += name + " has other times";
  };
  same(verdicts->plan, plan, "plan");
  for (size_t i = 0; i < plan.variants.size(); ++i)
    same(verdicts->variants[i], plan.variants[i], "variant");
  for (size_t i = 0; i < plan.turns.size(); ++i) same(verdicts->turns[i], plan.turns[i], "turn");
  if (verdicts->plan.staging_bytes != plan.staging_bytes.value_or(0)) problem += "other staging";
  if (plan.cascade && verdicts->cascade->path_us != plan.cascade->path_us) problem += "other paths";
  return problem.empty() ? "" : "\n  judged: " + problem;
}

TEST(SecondOpinion, EveryFigureOfAPlanIsWhatTheDocumentsSay) {
  Random random(61);
  const int plans = RequestsToTry();
  std::map<Asked, int> made;
  int tried = 0;
  for (int done = 0; done < plans; ++tried) {
    ASSERT_LT(tried, 20 * plans + 1000) << "hardly a request has a plan";
    SecondWorld drawn(random);
    const Result<Plan> plan = AnyPlan(random, &drawn);
    if (!plan.ok()) {
      ASSERT_EQ(plan.error().kind, ErrorKind::kInfeasible)
          << drawn.Name() << ": " << plan.error().Message();
      continue;
    }
    ++done;
    ++made[drawn.asked];
    std::string differences;
    for (const std::string& line : FiguresThatDiffer(drawn.Input(), drawn.request, *plan))
      differences += "\n  " + line;
    differences += JudgedOtherwise(drawn, *plan);
    ASSERT_EQ(differences, "") << "request " << tried << ": " << drawn.Name();
  }
  EXPECT_EQ(made.size(), size_t(Asked::kCount));
  for (const auto& [asked, count] : made) EXPECT_GT(count, plans / 20) << int(asked);
}

}  // namespace
}  // namespace sti::test
