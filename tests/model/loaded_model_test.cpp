#include "model/loaded_model.h"

#include <gtest/gtest.h>

#include "support/expect.h"
#include "support/temp_folder.h"
#include "support/test_container.h"
#include "types/plan.h"

namespace sti {
namespace {

class LoadedModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto report = WriteTinyContainer(path_);
    ASSERT_TRUE(Succeeded(report));
    index_ = report->index;
  }
  Result<LoadedModel> Load(const std::vector<uint32_t>& bits, LoadedExtent extent = {}) {
    STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(path_));
    return LoadedModel::Load(std::move(file), bits, extent);
  }

  TempFolder folder_;
  std::string path_ = folder_.File("a.sti");
  ContainerIndex index_;
};

TEST_F(LoadedModelTest, HoldsEveryShardAtTheBitsAskedFor) {
  const auto model = Load({2, 6, kFullBits});
  ASSERT_TRUE(Succeeded(model));
  const ModelShape& shape = index_.info.shape;
  for (uint32_t layer = 0; layer < shape.layers; ++layer) {
    for (uint32_t slice = 0; slice < shape.width; ++slice) {
      const auto exact = DecodeShard(model->View(layer, slice, kFullBits), shape);
      double last = 1e9;
      for (const uint32_t bits : {2U, 6U}) {
        const ShardView& view = model->View(layer, slice, bits);
        EXPECT_EQ(view.bits, bits);
        const auto weights = DecodeShard(view, shape);
        double error = 0;
        for (size_t i = 0; i < weights.size(); ++i) {
          error += (weights[i] - exact[i]) * (weights[i] - exact[i]);
        }
        EXPECT_LT(error, last / 10) << "more bits, less error";
        EXPECT_GT(error, 0);
        last = error;
      }
    }
  }
}

TEST_F(LoadedModelTest, HoldsNoMoreThanTheExtentAskedFor) {
  const ModelShape& shape = index_.info.shape;
  const auto all = Load({2, 6});
  ASSERT_TRUE(Succeeded(all));
  EXPECT_EQ(all->layers(), shape.layers);
  EXPECT_EQ(all->width(), shape.width);
  const auto some = Load({2, 6}, {1, shape.width + 1});
  ASSERT_TRUE(Succeeded(some));
  EXPECT_EQ(some->layers(), 1U);
  EXPECT_EQ(some->width(), shape.width) << "there are no more";
  const auto one = Load({2, 6}, {0, 1});
  ASSERT_TRUE(Succeeded(one));
  EXPECT_EQ(one->width(), 1U);
  for (uint32_t layer = 0; layer < shape.layers; ++layer) {
    EXPECT_EQ(DecodeShard(one->View(layer, 0, 6), shape),
              DecodeShard(all->View(layer, 0, 6), shape));
  }
  // Shards beyond are not even read.
  ASSERT_TRUE(DamageByte(path_, index_.shard({1, 1}).parts[PartKind::kPlane6].offset).ok());
  EXPECT_TRUE(Succeeded(Load({6}, {1, 0})));
  EXPECT_TRUE(Succeeded(Load({6}, {0, 1})));
  EXPECT_FALSE(Load({6}).ok());
}

TEST_F(LoadedModelTest, ADamagedShardIsFoundByName) {
  ASSERT_TRUE(DamageByte(path_, index_.shard({1, 1}).parts[PartKind::kPlane6].offset).ok());
  EXPECT_TRUE(FailedWith(Load({6}), ErrorKind::kDamaged, "layer 1 slice 1 plane 6 is damaged"));
  EXPECT_TRUE(Succeeded(Load({2, 5}))) << "a plane that is not read does not matter";
}

// A batch gives each sequence what it gets alone.
TEST_F(LoadedModelTest, EmbedsABatchLikeItsSequences) {
  auto model = Load({2});
  ASSERT_TRUE(Succeeded(model));
  ThreadPool pool(1);
  auto transformer = Transformer::Create(index_.info, pool, {Backend::kNative});
  ASSERT_TRUE(Succeeded(transformer));
  const std::vector<uint32_t> ids{2, 7, 8, 3, 2, 11, 3};
  const std::vector<uint32_t> types{0, 0, 1, 1, 0, 0, 0};
  const std::vector<uint32_t> offsets{0, 4, 7};
  std::vector<float> together(7 * 32);
  ASSERT_TRUE(Succeeded(model->Embed(**transformer, {offsets}, ids, types, together.data())));
  for (size_t s = 0; s < 2; ++s) {
    const uint32_t first = offsets[s];
    const uint32_t count = offsets[s + 1] - first;
    const std::vector<uint32_t> alone_offsets{0, count};
    std::vector<float> alone(count * 32);
    ASSERT_TRUE(
        Succeeded(model->Embed(**transformer, {alone_offsets}, std::span(ids).subspan(first, count),
                               std::span(types).subspan(first, count), alone.data())));
    EXPECT_EQ(alone, std::vector<float>(together.begin() + first * 32,
                                        together.begin() + (first + count) * 32));
  }
}

}  // namespace
}  // namespace sti
