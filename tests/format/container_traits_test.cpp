// Traits of a network in a container: fields of 1.4, which a reader refuses by name.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "format/container_index.h"
#include "support/expect.h"
#include "support/forged_container.h"
#include "types/limits.h"

namespace sti {
namespace {

constexpr std::string_view kTrait = "pooler gelu";

ForgedContainer WithGeluPooler() {
  ForgedContainer forged;
  ContainerIndex& index = forged.index();
  index.info.pooler = PoolerActivation::kGelu;
  index.resident[ResidentPlace(index.info, ResidentKind::kHead)].kind = ResidentKind::kStatedHead;
  return forged;
}

/// Returns the encoded index with one character of the trait's name changed to `other`.
std::vector<uint8_t> Renamed(const ContainerIndex& index, char other) {
  std::vector<uint8_t> bytes = EncodeContainerIndex(index);
  const auto at = std::search(bytes.begin(), bytes.end(), kTrait.begin(), kTrait.end());
  EXPECT_NE(at, bytes.end());
  if (at != bytes.end()) *at = static_cast<uint8_t>(other);
  return bytes;
}

TEST(ContainerTraits, ANetworkThatEarlierVersionsCouldSayHasNone) {
  ForgedContainer forged;
  EXPECT_EQ(LeastMinorFor(forged.index().info), 2);
  const std::vector<uint8_t> bytes = EncodeContainerIndex(forged.index());
  forged.index().info.pooler = PoolerActivation::kGelu;
  EXPECT_EQ(LeastMinorFor(forged.index().info), 4);
  EXPECT_GT(EncodeContainerIndex(forged.index()).size(), bytes.size());
}

TEST(ContainerTraits, RoundTrip) {
  const auto file = WithGeluPooler().Open();
  ASSERT_TRUE(Succeeded(file));
  EXPECT_EQ(file->index().info.pooler, PoolerActivation::kGelu);
  EXPECT_FALSE(file->index().info.shape.embedding.has_value());
}

TEST(ContainerTraits, AnUnknownOneIsRefusedByName) {
  const ForgedContainer forged = WithGeluPooler();
  const auto parse = [&](char first) {
    const std::vector<uint8_t> bytes = Renamed(forged.index(), first);
    AlignedBuffer aligned(bytes.size());
    std::copy(bytes.begin(), bytes.end(), aligned.data());
    return ParseContainerIndex(aligned.span(), uint64_t{1} << 20, 64 + bytes.size(), "a.sti");
  };
  EXPECT_TRUE(FailedWith(parse('c'), ErrorKind::kDamaged,
                         "the trait \"cooler gelu\", which this tool does not know"));
  EXPECT_TRUE(FailedWith(parse('\n'), ErrorKind::kDamaged, "without a plain name"));
}

TEST(ContainerTraits, AWidthOfEmbeddingsIsChecked) {
  ForgedContainer forged;
  const uint32_t hidden = forged.index().info.shape.hidden;
  for (const uint32_t width : {hidden, kMaxHidden + 1}) {
    forged.index().info.shape.embedding = width;
    EXPECT_TRUE(FailedWith(forged.Open(), ErrorKind::kDamaged, "a.sti: index: embedding"));
  }
  // The tables and parts are those of other rows.
  forged.index().info.shape.embedding = hidden / 2;
  EXPECT_TRUE(FailedWith(forged.Open(), ErrorKind::kDamaged, "resident part"));
}

}  // namespace
}  // namespace sti
