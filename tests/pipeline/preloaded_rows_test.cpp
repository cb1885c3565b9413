// Tests of plans that preload rows of words, and of what of them is read when.
#include <algorithm>

#include "faulty_pipeline.h"
#include "io/container_file.h"
#include "model/embedding_rows.h"

namespace sti {
namespace {

class PreloadedRows : public FaultyPipelineTest {
 protected:
  /// A plan that preloads all shards and these words' rows, so that a run reads rows alone.
  [[nodiscard]] Plan WithWords(const Ids& words) const {
    Plan plan = WithPreload(WholeAt(3), 100);
    plan.words = words;
    return plan;
  }
  void Open(const Plan& plan, bool lazy = false) {
    PipelineOptions options;
    options.lazy = lazy;
    FaultyPipelineTest::Open(plan, options);
    expected_ = DirectLogits(path_, plan);
  }
  /// Returns the bytes that a run of the usual text reads.
  uint64_t RunText() {
    const auto result = RunTokens(*pipeline_, kTextIds, kTextTypes);
    EXPECT_TRUE(Succeeded(result));
    if (!result.ok()) return 0;
    EXPECT_EQ(result->values, expected_);
    return result->bytes_read;
  }
  /// Bounds the buffer to where it holds rows and so many shards exactly, and to a byte less.
  void ExpectTheMostThatFits(const Plan& plan) {
    const ShardCatalog catalog = CatalogOf(index_);
    const uint64_t rows = RowBytes(plan.words.size());
    uint64_t less = 0;
    for (size_t count = 0; count <= plan.preload.size(); ++count) {
      const uint64_t exact = rows + catalog.BytesOfAll(WithPreload(plan, count).preload);
      ASSERT_TRUE(Succeeded(pipeline_->ResizePreload(exact)));
      EXPECT_EQ(pipeline_->status().preload_bytes, exact) << count;
      ASSERT_TRUE(Succeeded(pipeline_->ResizePreload(exact - 1)));
      EXPECT_EQ(pipeline_->status().preload_bytes, less) << count;
      less = exact;
    }
    ASSERT_TRUE(Succeeded(pipeline_->ResizePreload(0)));
    EXPECT_EQ(pipeline_->status().preload_bytes, 0);
  }
  [[nodiscard]] uint64_t RowBytes(size_t words) const { return words * index_.words.row_bytes; }

  Ids words_ = [] {
    Ids words = kTextIds;
    std::sort(words.begin(), words.end());
    return words;
  }();
  std::vector<float> expected_;
};

TEST_F(PreloadedRows, AreThereForTheFirstText) {
  Open(WithWords({}));
  const uint64_t shards = pipeline_->status().preload_bytes;
  EXPECT_GT(RunText(), 0);
  Open(WithWords(words_));
  EXPECT_EQ(pipeline_->status().preload_bytes, shards + RowBytes(words_.size()));
  EXPECT_EQ(RunText(), 0) << "rows of positions come with those of words";
  Open(WithWords({words_[0], words_[1]}));
  const Ids rest(words_.begin() + 2, words_.end());
  EXPECT_EQ(RunText(), PlanEmbeddingReads(index_, rest, 0).bytes);
}

TEST_F(PreloadedRows, StayWhereWorkingMemoryIsGivenBack) {
  Open(WithWords(words_));
  ASSERT_TRUE(Succeeded(pipeline_->Rest()));
  EXPECT_EQ(RunText(), PlanEmbeddingReads(index_, {}, static_cast<uint32_t>(kTextIds.size())).bytes)
      << "positions alone are read again";
  EXPECT_EQ(RunText(), 0);
}

TEST_F(PreloadedRows, GoLastWhereTheBufferShrinks) {
  Open(WithWords(words_));
  const uint64_t all = pipeline_->status().preload_bytes;
  ASSERT_TRUE(Succeeded(pipeline_->ResizePreload(RowBytes(words_.size()) + 100)));
  EXPECT_EQ(pipeline_->status().preload_bytes, RowBytes(words_.size()));
  ASSERT_TRUE(Succeeded(pipeline_->ResizePreload(RowBytes(words_.size()) - 1)));
  EXPECT_EQ(pipeline_->status().preload_bytes, 0);
  RunText();
  ASSERT_TRUE(Succeeded(pipeline_->ResizePreload(std::nullopt)));
  EXPECT_EQ(pipeline_->status().preload_bytes, all);
  EXPECT_EQ(RunText(), 0);
}

TEST_F(PreloadedRows, AndShardsFillOneBoundToTheLastByte) {
  Open(WithWords(words_));
  ExpectTheMostThatFits(pipeline_->plan());
}

// Rows of the plan in force stay while another is tried, and no longer.
TEST_F(PreloadedRows, AndShardsFillOneBoundAfterAPlanWhoseReadsFail) {
  const Plan plan = WithWords(words_);
  Plan other = WithPreload(WholeAt(6), 100);
  other.words = {1, 4, 6};
  Open(plan);
  faults_->Inject({.kind = FaultKind::kError});
  EXPECT_TRUE(FailedWith(pipeline_->SetPlan(other), ErrorKind::kReadFailed));
  faults_->Heal();
  ExpectTheMostThatFits(plan);
  RunText();
}

TEST_F(PreloadedRows, AndShardsKeepOneBoundThroughChangesOfPlan) {
  Open(WithWords(words_));
  for (const uint64_t bound : {uint64_t{0}, RowBytes(words_.size()) + 3 * kBlockBytes}) {
    ASSERT_TRUE(Succeeded(pipeline_->ResizePreload(bound)));
    const uint64_t held = pipeline_->status().preload_bytes;
    EXPECT_LE(held, bound);
    ASSERT_TRUE(Succeeded(pipeline_->SetPlan(WithWords(words_))));
    EXPECT_EQ(pipeline_->status().preload_bytes, held);
    RunText();
    EXPECT_EQ(pipeline_->status().preload_bytes, held);
  }
}

TEST_F(PreloadedRows, AreThoseOfAnotherPlanFromThenOn) {
  Open(WithWords({2, 3}));
  ASSERT_TRUE(Succeeded(pipeline_->SetPlan(WithWords(words_))));
  EXPECT_EQ(RunText(), 0);
  Plan beyond = WithWords({index_.info.shape.vocabulary});
  EXPECT_TRUE(
      FailedWith(pipeline_->SetPlan(beyond), ErrorKind::kForeign, "is outside the vocabulary"));
  EXPECT_EQ(RunText(), 0) << "the old plan stays in force";
}

TEST_F(PreloadedRows, OfALazyPipelineComeWithTheFirstTextThatHasThem) {
  Open(WithWords(words_), true);
  EXPECT_GT(RunText(), 0);
  EXPECT_EQ(RunText(), 0);
}

TEST_F(PreloadedRows, ThatAreDamagedAreNamedBeforeAnyText) {
  ASSERT_TRUE(DamageByte(path_, index_.words.offset + RowBytes(5) + 1).ok());
  auto file = ContainerFile::Open(path_);
  ASSERT_TRUE(Succeeded(file));
  EXPECT_TRUE(FailedWith(Pipeline::Create(std::move(*file), WithWords(words_), {}),
                         ErrorKind::kDamaged, "word embedding row 5 is damaged"));
}

}  // namespace
}  // namespace sti
