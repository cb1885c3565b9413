// The bytes of a container, by what they hold, counted here in another way: part by part from what
// the model's shape asks for.
#include "format/container_sizes.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "support/expect.h"
#include "support/temp_folder.h"
#include "support/test_container.h"

namespace sti {
namespace {

class Sizes : public ::testing::Test {
 protected:
  void Make(CodebookKind codebook) {
    ShardOptions options;
    options.codebook = codebook;
    auto report = WriteTinyContainer(path_, {}, options);
    ASSERT_TRUE(Succeeded(report));
    index_ = report->index;
    sizes_ = SizesOf(index_, FileBytes(path_).size());
  }

  TempFolder folder_;
  std::string path_ = folder_.File("a.sti");
  ContainerIndex index_;
  ContainerSizes sizes_;
};

TEST_F(Sizes, CodebooksAreCentroidsOfEachBitwidthAndScales) {
  for (const CodebookKind kind : {CodebookKind::kTree, CodebookKind::kScaledTree}) {
    Make(kind);
    uint64_t centroids = 0;
    for (const uint32_t bits : index_.bits) centroids += bits <= 6 ? uint64_t{1} << bits : 0;
    const uint64_t scales = kind == CodebookKind::kScaledTree ? 6 * index_.info.shape.hidden : 0;
    EXPECT_EQ(sizes_.codebooks, index_.info.shape.layers * (4 * centroids + 2 * scales));
  }
}

TEST_F(Sizes, OutliersAreWhatBasesHoldBesideTheirPlanes) {
  Make(CodebookKind::kTree);
  const uint64_t shards = index_.shards.size();
  uint64_t bases = 0;
  for (const ShardLocation& shard : index_.shards) bases += shard.parts[PartKind::kBase].length;
  const uint64_t plane = sizes_.planes[0] / shards;
  EXPECT_EQ(sizes_.top_planes, 2 * shards * plane);
  EXPECT_EQ(sizes_.outliers + sizes_.top_planes, bases);
  for (const uint64_t planes : sizes_.planes) EXPECT_EQ(planes, shards * plane);
}

TEST_F(Sizes, SeparateVersionsEachHaveCodesOutliersAndCentroids) {
  Make(CodebookKind::kTree);
  uint64_t separate = 0;
  for (uint64_t bits = 2; bits <= 6; ++bits) {
    separate += sizes_.weights * bits / 8 + sizes_.outliers;
    separate += index_.info.shape.layers * 4 * (uint64_t{1} << bits);
  }
  EXPECT_EQ(sizes_.separate, separate);
}

}  // namespace
}  // namespace sti
