// Plan files as they were written once: both spellings must load for ever, and mean the same.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "format/frozen_file.h"
#include "format/plan_file.h"
#include "format/small_file_test.h"

namespace sti {
namespace {

using Json = nlohmann::json;
using test::ExpectHolds;
using test::Frozen;

class FrozenPlan : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Versions, FrozenPlan,
                         ::testing::Values("v1/tiny", "v1.1/tiny", "v1.2/tiny", "v1.2/cold",
                                           "v1.3/tiny", "v1.4/tiny", "v1.5/tiny", "v1.6/tiny",
                                           "v1.9/stages", "v1.10/gpt2", "v1.10/images",
                                           "v1.11/agents", "v1.11/stages"));

TEST_P(FrozenPlan, LoadsFromBothSpellings) {
  const std::string name = std::string(GetParam()) + ".plan";
  const std::string binary = Frozen(name);
  const std::string json = Frozen(name + ".json");
  const Json fields = Json::parse(json);
  for (const std::string& spelling : {binary, json}) {
    const auto value = ParsePlan(AsBytes(spelling), name);
    ASSERT_TRUE(value.ok()) << value.error().Message();
    ExpectHolds(Json::parse(PlanToJson(*value)), fields, "plan");
    const std::vector<uint8_t> encoded = EncodePlan(*value);
    EXPECT_EQ(std::string(encoded.begin(), encoded.end()), binary);
  }
  test::ExpectDamageIsFound({binary.begin(), binary.end()}, [](auto bytes) -> Status {
    const auto value = ParsePlan(bytes, "a.file");
    return value.ok() ? Status() : Status(value.error());
  });
}

TEST(FrozenPlan11, HoldsWhat11Brought) {
  const auto plan = ParsePlan(AsBytes(Frozen("v1.1/tiny.plan")), "tiny.plan");
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  EXPECT_EQ(plan->freq, 2400000u);
  EXPECT_EQ(plan->wake_us, 500.0);
  EXPECT_EQ(plan->quality.loss, 0.625);
  EXPECT_EQ(plan->turn_bytes, 20480u);
  ASSERT_EQ(plan->variants.size(), 2u);
  EXPECT_EQ(plan->variants[1].freq, 1200000u);
  ASSERT_EQ(plan->turns.size(), 3u);
  EXPECT_EQ(plan->turns[0].bits, plan->bits);
  EXPECT_EQ(plan->turns[2].bits, (Grid<uint32_t>{{4, 32}, {6, 6}}));
  EXPECT_EQ(plan->turns[1].preload[2], (ShardAtBits{1, 0, 5}));
  EXPECT_EQ(plan->turns[1].read_bytes, 8192u);
  EXPECT_EQ(plan->turns[1].quality.loss, 0.5);
  EXPECT_FALSE(plan->turns[1].quality.accuracy);
  EXPECT_EQ(plan->turns[2].aib_us, (std::vector<double>{90, 45}));
  EXPECT_FALSE(plan->times);
  EXPECT_EQ(plan->staging_bytes, std::nullopt);
}

TEST(FrozenPlan12, HoldsWhat12Brought) {
  const auto plan = ParsePlan(AsBytes(Frozen("v1.2/tiny.plan")), "tiny.plan");
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  ASSERT_TRUE(plan->times);
  EXPECT_EQ(plan->times->embed_io_us, 40.5);
  EXPECT_EQ(plan->times->layer_p99_us, 60.75);
  EXPECT_EQ(plan->times->layer_io_us, (std::vector<double>{0, 80.25}));
  EXPECT_EQ(plan->staging_bytes, 28672u);
  EXPECT_EQ(plan->read_bytes, 131072u);
  EXPECT_EQ(plan->read_depth, 8u);
  EXPECT_FALSE(plan->cold);
  ASSERT_EQ(plan->variants.size(), 2u);
  ASSERT_TRUE(plan->variants[0].times);
  EXPECT_EQ(plan->variants[0].times->stall_us, 12.5);
  EXPECT_FALSE(plan->variants[1].times);
}

TEST(FrozenPlan13, HoldsWhat13Brought) {
  const auto plan = ParsePlan(AsBytes(Frozen("v1.3/tiny.plan")), "tiny.plan");
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  ASSERT_TRUE(plan->times);
  EXPECT_EQ(plan->times->last_layer_us, 20.25);
  EXPECT_EQ(plan->times->last_layer_p99_us, 24.5);
  EXPECT_EQ(plan->times->LayerUs(0), 50.5);
  EXPECT_EQ(plan->times->LayerUs(1), 20.25);
  EXPECT_EQ(plan->variants[0].times->last_layer_us, 10.125);
  EXPECT_EQ(plan->variants[0].times->last_layer_p99_us, std::nullopt);
  const auto older = ParsePlan(AsBytes(Frozen("v1.2/tiny.plan")), "tiny.plan");
  ASSERT_TRUE(older.ok()) << older.error().Message();
  EXPECT_EQ(older->times->LayerUs(1), older->times->layer_us);
}

TEST(FrozenPlan14, HoldsWhat14Brought) {
  const auto plan = ParsePlan(AsBytes(Frozen("v1.4/tiny.plan")), "tiny.plan");
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  EXPECT_EQ(plan->threads, 3u);
  EXPECT_EQ(plan->cpus, "0,4-5");
  EXPECT_EQ(plan->quality.agreement, 0.9375);
  EXPECT_EQ(plan->turns[2].quality.agreement, 0.96875);
  EXPECT_EQ(plan->variants[0].quality.agreement, 0.5);
  const auto older = ParsePlan(AsBytes(Frozen("v1.3/tiny.plan")), "tiny.plan");
  ASSERT_TRUE(older.ok()) << older.error().Message();
  EXPECT_EQ(older->threads, std::nullopt);
  EXPECT_EQ(older->cpus, std::nullopt);
  EXPECT_FALSE(older->quality.agreement);
}

TEST(FrozenPlan15, HoldsWhat15Brought) {
  const auto plan = ParsePlan(AsBytes(Frozen("v1.5/tiny.plan")), "tiny.plan");
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  EXPECT_EQ(plan->words, (std::vector<uint32_t>{2, 3, 7}));
  EXPECT_EQ(plan->row_share, 0.5);
  EXPECT_EQ(plan->row_p99_share, 0.75);
  ASSERT_TRUE(plan->fallback);
  EXPECT_EQ(plan->fallback->layers, std::vector<uint32_t>{0});
  EXPECT_EQ(plan->fallback->width, 2u);
  EXPECT_EQ(plan->fallback->bits, 2u);
  EXPECT_EQ(plan->fallback->reserve_us(), 22.5 + 18.5 + 9.5 + 100);
  EXPECT_EQ(plan->fallback->cost_bits, 3);
  EXPECT_EQ(plan->fallback->quality.accuracy, 0.75);
  EXPECT_EQ(plan->fallback->quality.agreement, 0.8125);
  ASSERT_EQ(plan->variants.size(), 2u);
  EXPECT_EQ(plan->variants[1].fallback->bytes, 8192u);
  EXPECT_FALSE(plan->variants[1].fallback->quality.accuracy);
  const auto older = ParsePlan(AsBytes(Frozen("v1.4/tiny.plan")), "tiny.plan");
  ASSERT_TRUE(older.ok()) << older.error().Message();
  EXPECT_FALSE(older->fallback);
  EXPECT_TRUE(older->words.empty());
  EXPECT_EQ(older->row_share, 1);
}

TEST(FrozenPlan16, HoldsWhat16Brought) {
  const auto plan = ParsePlan(AsBytes(Frozen("v1.6/tiny.plan")), "tiny.plan");
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  ASSERT_TRUE(plan->cascade);
  const PlanCascade& cascade = *plan->cascade;
  ASSERT_EQ(cascade.levels.size(), 2u);
  EXPECT_EQ(cascade.levels[0].plan.layers, std::vector<uint32_t>{1});
  EXPECT_EQ(cascade.levels[0].plan.preload, (std::vector<ShardAtBits>{{1, 0, 3}}));
  EXPECT_EQ(cascade.levels[0].plan.model, plan->model);
  EXPECT_EQ(cascade.levels[0].temperature, 1.125);
  EXPECT_EQ(cascade.levels[0].rule, (CascadeRule{0.9375, std::nullopt, 0, 1}));
  EXPECT_EQ(cascade.levels[0].upgrade_bytes, 12288u);
  EXPECT_EQ(cascade.levels[1].rule, (CascadeRule{0.875, 8.0, 0.5, 0.5625}));
  EXPECT_EQ(cascade.temperature, 1.0625);
  EXPECT_EQ(cascade.return_share, (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(cascade.path_us, (std::vector<double>{110.25, 170.5, 330}));
  EXPECT_EQ(cascade.mean_us, 180.25);
  EXPECT_EQ(cascade.worst_path_us, 399.5);
  EXPECT_EQ(cascade.quality.accuracy, 0.890625);
  EXPECT_EQ(plan->Extent().width, 2u);
  const auto older = ParsePlan(AsBytes(Frozen("v1.5/tiny.plan")), "tiny.plan");
  ASSERT_TRUE(older.ok()) << older.error().Message();
  EXPECT_FALSE(older->cascade);
}

TEST(FrozenPlan17, HoldsWhat17Brought) {
  const auto plan = ParsePlan(AsBytes(Frozen("v1.7/sentences.plan")), "sentences.plan");
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  EXPECT_EQ(plan->quality.cosine, 0.9897228476076997);
  EXPECT_FALSE(plan->quality.spearman || plan->quality.accuracy || plan->quality.agreement);
  const auto older = ParsePlan(AsBytes(Frozen("v1.6/tiny.plan")), "tiny.plan");
  ASSERT_TRUE(older.ok()) << older.error().Message();
  EXPECT_FALSE(older->quality.cosine);
}

TEST(FrozenPlan18, HoldsTheF1OfAModelThatLabelsTokens) {
  const auto plan = ParsePlan(AsBytes(Frozen("v1.8/tokens.plan")), "tokens.plan");
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  ASSERT_TRUE(plan->quality.f1 && plan->fallback && plan->fallback->quality.f1);
  EXPECT_FALSE(plan->quality.accuracy || plan->quality.agreement);
  EXPECT_LE(*plan->fallback->quality.f1, *plan->quality.f1);
}

TEST(FrozenPlan19, HoldsTheStagesOfTwoDevices) {
  const auto plan = ParsePlan(AsBytes(Frozen("v1.9/stages.plan")), "stages.plan");
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  ASSERT_TRUE(plan->staged);
  EXPECT_EQ(plan->staged->microbatch, 4U);
  EXPECT_EQ(plan->staged->period_us, 1250.25);
  EXPECT_EQ(plan->staged->throughput_per_s, 3199.36);
  ASSERT_EQ(plan->staged->stages.size(), 2U);
  const PlanStage& first = plan->staged->stages[0];
  EXPECT_EQ(first.device, "pi-1");
  EXPECT_EQ(first.preload, (std::vector<ShardAtBits>{{{0, 1}, 32}}));
  EXPECT_EQ(first.transfer_us, 64.5);
  EXPECT_EQ(first.cpus, "0-1");
  EXPECT_EQ(plan->staged->stages[1].read_bytes, std::nullopt);
  const Plan last = CutStage(*plan, 1);
  EXPECT_EQ(last.layers, (std::vector<uint32_t>{1}));
  EXPECT_EQ(last.bits, (Grid<uint32_t>{{32, 4}}));
  EXPECT_FALSE(last.ends.text);
  EXPECT_TRUE(last.ends.head);
  const auto older = ParsePlan(AsBytes(Frozen("v1.8/tokens.plan")), "tokens.plan");
  ASSERT_TRUE(older.ok()) << older.error().Message();
  EXPECT_FALSE(older->staged);
}

TEST(FrozenPlan12, HoldsAColdStart) {
  const auto plan = ParsePlan(AsBytes(Frozen("v1.2/cold.plan")), "cold.plan");
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  EXPECT_TRUE(plan->cold);
  ASSERT_TRUE(plan->times);
  EXPECT_EQ(plan->times->start_us, 9000);
  EXPECT_EQ(plan->times->open_io_us, 1500.5);
  EXPECT_EQ(plan->times->layer_io_us, (std::vector<double>{120.5, 110.25}));
}

TEST(FrozenPlan110, HoldsAContextAndABatch) {
  const auto text = ParsePlan(AsBytes(Frozen("v1.10/gpt2.plan")), "gpt2.plan");
  ASSERT_TRUE(text.ok()) << text.error().Message();
  EXPECT_EQ(text->context, 60U);
  EXPECT_EQ(text->length, 32U);
  EXPECT_TRUE(text->keeps_vocabulary);
  ASSERT_EQ(text->variants.size(), 1U);
  EXPECT_EQ(text->variants[0].length, 1U);
  EXPECT_EQ(text->variants[0].context, 60U);
  EXPECT_TRUE(text->variants[0].keeps_vocabulary);
  ASSERT_TRUE(text->times && text->variants[0].times);
  EXPECT_EQ(text->times->head_io_us, 12.5);
  EXPECT_EQ(text->variants[0].times->head_io_us, 0);
  const auto images = ParsePlan(AsBytes(Frozen("v1.10/images.plan")), "images.plan");
  ASSERT_TRUE(images.ok()) << images.error().Message();
  EXPECT_EQ(images->microbatch, 4U);
  EXPECT_EQ(images->Extent().tokens, 40U);
  EXPECT_EQ(images->Extent().sequences, 4U);
  ASSERT_EQ(images->variants.size(), 1U);
  EXPECT_EQ(images->variants[0].microbatch, 1U);
  EXPECT_EQ(images->variants[0].length, images->length);
  EXPECT_FALSE(images->context || images->keeps_vocabulary);
  const auto older = ParsePlan(AsBytes(Frozen("v1.9/stages.plan")), "stages.plan");
  ASSERT_TRUE(older.ok()) << older.error().Message();
  EXPECT_EQ(older->microbatch, 1U);
  EXPECT_EQ(older->context, 0U);
}

TEST(FrozenPlan111, HoldsAgentsAndOpenFiles) {
  const auto plan = ParsePlan(AsBytes(Frozen("v1.11/agents.plan")), "agents.plan");
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  EXPECT_EQ(plan->strategy, Strategy::kPipeload);
  EXPECT_EQ(plan->agents, 3U);
  EXPECT_EQ(plan->read_streams, 4U);
  ASSERT_EQ(plan->variants.size(), 1U);
  EXPECT_EQ(plan->variants[0].agents, 3U);
  const auto stages = ParsePlan(AsBytes(Frozen("v1.11/stages.plan")), "stages.plan");
  ASSERT_TRUE(stages.ok()) << stages.error().Message();
  ASSERT_TRUE(stages->staged);
  EXPECT_EQ(stages->staged->stages[0].read_streams, 2U);
  EXPECT_FALSE(stages->staged->stages[1].read_streams);
  const auto older = ParsePlan(AsBytes(Frozen("v1.10/gpt2.plan")), "gpt2.plan");
  ASSERT_TRUE(older.ok()) << older.error().Message();
  EXPECT_EQ(older->agents, 0U);
  EXPECT_FALSE(older->read_streams);
}

}  // namespace
}  // namespace sti
