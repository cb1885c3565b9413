// Plan files with stages, the fields of 1.9.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "format/plan_file.h"
#include "format/small_file_test.h"
#include "support/expect.h"
#include "types/limits.h"

namespace sti {
namespace {

Plan ExamplePlan() {
  Plan plan;
  plan.model.bytes[0] = 0xAB;
  plan.strategy = Strategy::kSti;
  plan.length = 64;
  plan.layers = {1, 4};
  plan.width = 2;
  plan.slices = {{0, 1}, {0, 1}};
  plan.bits = {{2, 6}, {32, 3}};
  plan.predicted_latency_us = 5000;
  plan.predicted_p99_us = 6000;
  return plan;
}

/// Returns a plan with the fields of 1.9.
Plan WithStages() {
  Plan plan = ExamplePlan();
  PlanStages& staged = plan.staged.emplace();
  staged.microbatch = 4;
  staged.period_us = 2500.5;
  staged.throughput_per_s = 1600.25;
  PlanStage& first = staged.stages.emplace_back();
  first.device = "pi-1";
  first.end = 1;
  first.preload = {{{1, 1}, 6}};
  first.preload_bytes = 36864;
  first.staging_bytes = 4096;
  first.predicted_peak_bytes = 99999;
  first.period_us = 2500.5;
  first.pass_us = 2000.25;
  first.transfer_us = 125.5;
  first.delay_us = 10;
  first.kernel.name = "avx2-fp32";
  first.read_path = "uring";
  first.read_bytes = 262144;
  first.read_depth = 4;
  first.threads = 2;
  first.cpus = "0-1";
  PlanStage& last = staged.stages.emplace_back();
  last.device = "pi-2";
  last.begin = 1;
  last.end = 2;
  return plan;
}

TEST(PlanFile, BothSpellingsHoldTheSameStages) {
  const Plan example = WithStages();
  const auto binary = EncodePlan(example);
  const std::string json = PlanToJson(example);
  for (const auto& parsed : {ParsePlan(binary, "a.file"), ParsePlan(AsBytes(json), "a.file")}) {
    ASSERT_TRUE(Succeeded(parsed));
    EXPECT_EQ(EncodePlan(*parsed), binary);
    EXPECT_EQ(PlanToJson(*parsed), json);
    EXPECT_EQ(DigestOfPlan(*parsed), DigestOfPlan(example));
    ASSERT_TRUE(parsed->staged);
    EXPECT_EQ(parsed->staged->stages[0].preload, example.staged->stages[0].preload);
    EXPECT_EQ(parsed->staged->Find("pi-2"), 1U);
    EXPECT_EQ(parsed->staged->Find("pi-3"), std::nullopt);
  }
}

TEST(PlanFile, StagesAreChecked) {
  const std::string json = PlanToJson(WithStages());
  const auto refused = [&](const char* from, const char* to, const char* words) {
    test::ExpectRefused(json, from, to, words, test::StatusOf<ParsePlan>);
  };
  refused("\"microbatch\": 4", "\"microbatch\": 0", "microbatch is not from 1 to 256");
  refused("\"microbatch\": 4", "\"microbatch\": 257", "microbatch is not from 1 to 256");
  refused("\"pi-2\"", "\"pi-1\"", "stages[1]: its device has a stage already");
  refused("\"pi-2\"", "\"pi 2\"", "stages[1]: device is not a name of a cluster's device");
  refused("\"pi-2\"", "\"auto\"", "stages[1]: device is not a name of a cluster's device");
  refused("\"begin\": 1", "\"begin\": 0", "stages[1]: its layers do not follow");
  refused("\"end\": 2", "\"end\": 3", "stages[1]: its layers do not follow");
  refused("\"end\": 2", "\"end\": 1", "stages[1]: its layers do not follow");
  refused("{\"layer\":1,\"slice\":1,\"bits\":6}", "{\"layer\":4,\"slice\":0,\"bits\":32}",
          "stages[0]: preload: layer 4 slice 0 at 32 bits is not what the stage runs");
  refused("\"transfer_us\": 125.5", "\"transfer_us\": -1", "transfer_us is negative");
  refused("\"wake_us\": 0.0", "\"wake_us\": 5.0", "a plan with stages has variants");
  refused("\"preload\": []", "\"preload\": [{\"layer\":1,\"slice\":0,\"bits\":2}]",
          "a plan with stages has variants");
  Plan plan = WithStages();
  plan.length = kMaxLength / 2;
  EXPECT_TRUE(FailedWith(ParsePlan(EncodePlan(plan), "a.plan"), ErrorKind::kDamaged,
                         "microbatch times length"));
  plan = WithStages();
  plan.staged->stages.pop_back();
  EXPECT_TRUE(FailedWith(ParsePlan(EncodePlan(plan), "a.plan"), ErrorKind::kDamaged,
                         "the stages do not run all layers"));
  Plan host = ExamplePlan();
  host.variants.push_back(ExamplePlan());
  host.variants[0].length = 128;
  nlohmann::json nested = nlohmann::json::parse(PlanToJson(host));
  nested["variants"][0]["stages"] = nlohmann::json::array();
  EXPECT_TRUE(
      FailedWith(ParsePlan(AsBytes(nested.dump()), "a.plan"), ErrorKind::kDamaged, "has stages"));
}

}  // namespace
}  // namespace sti
