#include "pipeline/pipeline.h"

#include <numeric>

#include "base/aligned_buffer.h"
#include "io/block_reader.h"
#include "io/container_file.h"
#include "model/embedding_rows.h"
#include "pipeline_world.h"
#include "types/plan.h"

namespace sti {
namespace {

TEST_F(PipelineTest, EqualsTheModelComputedFromMemory) {
  for (const Plan& plan : {WholeAt(2), WholeAt(6), WholeAt(kFullBits), Mixed()}) {
    EXPECT_EQ(Logits(plan), DirectLogits(path_, plan));
  }
  EXPECT_NE(Logits(WholeAt(2)), Logits(WholeAt(6)));
}

TEST_F(PipelineTest, PreloadingChangesNoBitOfTheResult) {
  for (const Plan& plan : {WholeAt(4), Mixed()}) {
    const auto expected = Logits(plan);
    const size_t shards = plan.layers.size() * plan.width;
    for (size_t count = 1; count <= shards; ++count) {
      EXPECT_EQ(Logits(WithPreload(plan, count)), expected) << count;
    }
  }
}

TEST_F(PipelineTest, SmallStagingChangesNoBitOfTheResult) {
  const Plan plan = Mixed();
  const auto expected = Logits(plan);
  const auto whole = Make(plan);
  ASSERT_TRUE(Succeeded(whole));
  size_t feasible = 0;
  for (uint64_t bytes = kBlockBytes; bytes <= (*whole)->status().staging_bytes;
       bytes += kBlockBytes) {
    PipelineOptions options;
    options.staging_bytes = bytes;
    auto pipeline = Make(plan, options);
    if (!pipeline.ok()) {
      EXPECT_TRUE(FailedWith(pipeline, ErrorKind::kInfeasible, "one layer of the plan needs"));
      EXPECT_EQ(feasible, 0U) << "a larger arena is not enough where a smaller one was";
      continue;
    }
    ++feasible;
    EXPECT_LE((*pipeline)->status().staging_bytes, bytes);
    for (int turn = 0; turn < 3; ++turn) {
      const auto result = RunTokens(**pipeline, kTextIds, kTextTypes);
      ASSERT_TRUE(Succeeded(result));
      EXPECT_EQ(result->values, expected) << bytes;
    }
  }
  EXPECT_GT(feasible, 3U);
}

TEST_F(PipelineTest, EveryReadPathGivesTheSameResult) {
  const Plan plan = Mixed();
  const auto expected = Logits(plan);
  size_t tried = 0;
  for (const ReadPath path : {ReadPath::kUring, ReadPath::kThreads, ReadPath::kBuffered}) {
    auto file = ContainerFile::Open(path_, path);
    if (!file.ok()) {
      EXPECT_TRUE(FailedWith(file, ErrorKind::kMachine)) << "forbidden here, not broken";
      continue;
    }
    ++tried;
    EXPECT_EQ(Logits(plan, {}, path), expected) << ReadPathName(path);
  }
  EXPECT_GE(tried, 1U) << "buffered reads work everywhere";
}

TEST_F(PipelineTest, ThreadsChangeNoBitOfTheResult) {
  const Plan plan = Mixed();
  const auto expected = Logits(plan);
  for (const uint32_t threads : {2U, 3U, 5U}) {
    PipelineOptions options;
    options.threads = threads;
    EXPECT_EQ(Logits(plan, options), expected) << threads;
  }
}

TEST_F(PipelineTest, RunsAfterEachOtherDoNotTouch) {
  PipelineOptions options;
  options.threads = 2;
  auto pipeline = Make(WithPreload(Mixed(), 4), options);
  ASSERT_TRUE(Succeeded(pipeline));
  const Ids short_ids{2, 3};
  const auto first = RunTokens(**pipeline, kTextIds, kTextTypes);
  ASSERT_TRUE(Succeeded(first));
  const auto other = RunTokens(**pipeline, short_ids, Ids(2, 0));
  ASSERT_TRUE(Succeeded(other));
  EXPECT_NE(other->values, first->values);
  const EmbeddingReads rows = PlanEmbeddingReads(index_, kTextIds, 9);
  for (int turn = 0; turn < 20; ++turn) {
    const auto again = RunTokens(**pipeline, kTextIds, kTextTypes);
    ASSERT_TRUE(Succeeded(again));
    EXPECT_EQ(again->values, first->values);
    EXPECT_EQ(again->bytes_read, first->bytes_read - rows.bytes) << "rows are kept, not shards";
  }
}

TEST_F(PipelineTest, PreloadedBytesAreNotReadAgain) {
  const ShardCatalog catalog = CatalogOf(index_);
  const Plan plan = WholeAt(5);
  const auto reads = PlanEmbeddingReads(index_, kTextIds, 9);
  for (const size_t count : {0U, 1U, 7U, 20U}) {
    const Plan some = WithPreload(plan, count);
    uint64_t preload_limit = 0;
    for (const ShardAtBits& shard : some.preload) preload_limit += *catalog.BytesOf(shard);
    uint64_t all = 0;
    for (size_t shard = 0; shard < 20; ++shard) all += catalog.read_bytes[shard * 6 + 3];
    auto pipeline = Make(some);
    ASSERT_TRUE(Succeeded(pipeline));
    EXPECT_LE((*pipeline)->status().preload_bytes, preload_limit);
    EXPECT_EQ((*pipeline)->status().preload_bytes == 0, count == 0);
    const auto result = RunTokens(**pipeline, kTextIds, kTextTypes);
    ASSERT_TRUE(Succeeded(result));
    EXPECT_LE(result->bytes_read, all - preload_limit + reads.bytes);
    EXPECT_EQ(result->bytes_read, (*pipeline)->status().staging_bytes + reads.bytes);
    EXPECT_EQ((*pipeline)->status().staging_bytes == 0, count == 20);
  }
}

TEST_F(PipelineTest, TracesEveryLayerInOrder) {
  const Plan plan = Mixed();
  auto pipeline = Make(plan);
  ASSERT_TRUE(Succeeded(pipeline));
  const auto result = RunTokens(**pipeline, kTextIds, kTextTypes);
  ASSERT_TRUE(Succeeded(result));
  ASSERT_EQ(result->layers.size(), plan.layers.size());
  double before = result->embeddings_us;
  EXPECT_GE(before, result->embeddings_io_us);
  for (size_t k = 0; k < result->layers.size(); ++k) {
    const LayerTrace& trace = result->layers[k];
    EXPECT_EQ(trace.layer, plan.layers[k]);
    EXPECT_LE(before, trace.start_us);
    EXPECT_LE(trace.io_ready_us, trace.start_us);
    EXPECT_LE(trace.start_us, trace.end_us);
    before = trace.end_us;
  }
  EXPECT_LE(before, result->latency_us);
  EXPECT_GE(result->stall_us, 0);
  EXPECT_LE(result->stall_us, result->latency_us);
}

TEST_F(PipelineTest, ThePlainBackendAgrees) {
  PipelineOptions options;
  options.arithmetic.backend = Backend::kOpenBlas;
  auto pipeline = Make(Mixed(), options);
  if (!pipeline.ok() && pipeline.error().kind == ErrorKind::kMachine) {
    GTEST_SKIP() << pipeline.error().Message();
  }
  ASSERT_TRUE(Succeeded(pipeline));
  const auto plain = RunTokens(**pipeline, kTextIds, kTextTypes);
  ASSERT_TRUE(Succeeded(plain));
  const auto native = Logits(Mixed());
  for (size_t i = 0; i < native.size(); ++i) EXPECT_NEAR(plain->values[i], native[i], 1e-4);
}

}  // namespace
}  // namespace sti
