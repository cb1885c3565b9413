#include "plan/memory.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "plan/world.h"

namespace sti {
namespace {

ModelShape BertBase() { return {12, 12, 768, 3072, 30522, 512, 2, 2}; }

TEST(Memory, WorkingBytesCountWhatTheTransformerLaysOut) {
  // A token at full width: the FFN's 3072 floats lie over Q, K and V; input and sums; one block and
  // two rows of 768 bytes.
  const uint64_t token = (3072 + 2 * 768) * 4 + 4096 + 2 * 768;
  const uint64_t token_scratch = (32 + 48) * 4;
  // Two decoded stretches, a panel of outliers with its masks, and a row of the pooler's weights.
  const uint64_t thread = 2 * 256 * 16 * 4 + 768 * (16 * 4 + 2) + 768 * 4;
  const uint64_t leading = 3072 * 16 * 4 + 768 * 4;  // and the pooler's output
  EXPECT_EQ(WorkingBytes(BertBase(), 1, 128, 12), 128 * (token + token_scratch) + thread + leading);
  EXPECT_EQ(WorkingBytes(BertBase(), 4, 128, 12),
            128 * (token + 4 * token_scratch) + 4 * thread + leading);
  EXPECT_EQ(WorkingBytes(BertBase(), 0, 128, 12), WorkingBytes(BertBase(), 1, 128, 12));
  EXPECT_EQ(WorkingBytes(BertBase(), 1, 1, 12) - WorkingBytes(BertBase(), 1, 1, 3),
            uint64_t{9} * 256 * (1 + 16) * 4)
      << "narrower layers have fewer neurons";
  // Where the FFN is small, Q, K and V decide.
  ModelShape shape = BertBase();
  shape.ffn = 768;
  EXPECT_EQ(WorkingBytes(shape, 1, 1, 12) - WorkingBytes(shape, 1, 1, 3), uint64_t{9} * 3 * 64 * 4);
}

TEST(Memory, BaseIsProcessResidentAndWorking) {
  const test::World world = test::Odroid();
  PlanInput input = world.input();
  input.resident_bytes = 1000;
  const uint64_t working = WorkingBytes(input.info.shape, 1, 64, 5);
  EXPECT_EQ(BaseBytes(input, 64, 5), (uint64_t{8} << 20) + 1000 + working) << "not measured";
  DeviceProfile measured = world.profile;
  measured.process_bytes = 7'000'000;
  measured.threads = 3;
  const PlanInput known{input.info, input.catalog, measured, nullptr, {}, {}, 1000};
  EXPECT_EQ(BaseBytes(known, 64, 5), 7'000'000 + 1000 + WorkingBytes(input.info.shape, 3, 64, 5));
}

TEST(Memory, APlanWithVariantsTakesTheLongestAndTheWidest) {
  const test::World world = test::Odroid();
  const PlanInput input = world.input();
  Plan plan;
  plan.length = 64;
  plan.width = 6;
  EXPECT_EQ(BaseBytes(input, plan), BaseBytes(input, 64, 6));
  Plan longer = plan;
  longer.length = 128;
  longer.width = 3;
  Plan wider = plan;
  wider.length = 16;
  wider.width = 12;
  plan.variants = {longer};
  EXPECT_EQ(BaseBytes(input, plan), BaseBytes(input, 128, 6));
  plan.variants = {longer, wider};
  EXPECT_EQ(BaseBytes(input, plan), BaseBytes(input, 128, 12));
}

TEST(Memory, HugeNumbersDoNotOverflow) {
  const ModelShape huge{1024, 1, 1u << 24, 1u << 24, 1, 1, 1, 1};
  const uint64_t most = WorkingBytes(huge, UINT32_MAX, UINT32_MAX, 1);
  EXPECT_GT(most, WorkingBytes(huge, 1, 1u << 20, 1));
  EXPECT_EQ(most, WorkingBytes(huge, 4096, 1u << 20, 1));
  EXPECT_EQ(AddSaturated(UINT64_MAX - 1, 2), UINT64_MAX);
  EXPECT_EQ(AddSaturated(UINT64_MAX - 2, 2), UINT64_MAX);
  EXPECT_EQ(AddSaturated(3, 4), 7u);
}

TEST(Memory, ShardsHaveWhatIsLeftOfTheLimit) {
  const test::World world = test::Odroid();
  const PlanInput input = world.input();
  PlanRequest request;
  EXPECT_EQ(ShardMemory(input, request, 64, 5), std::nullopt);
  request.memory_bytes = BaseBytes(input, 64, 5) + 4096;
  EXPECT_EQ(ShardMemory(input, request, 64, 5), 4096u);
  request.memory_bytes = 1;
  EXPECT_EQ(ShardMemory(input, request, 64, 5), 0u);
}

}  // namespace
}  // namespace sti
