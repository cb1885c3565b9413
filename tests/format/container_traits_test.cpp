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

/// Makes a container as that of a model that embeds, which has no head.
ForgedContainer WithMeanPooling() {
  ForgedContainer forged;
  ContainerIndex& index = forged.index();
  index.resident.erase(index.resident.begin() + ResidentPlace(index.info, ResidentKind::kHead));
  index.info.labels.clear();
  index.info.shape.labels = 0;
  index.info.shape.has_pooler = false;
  index.info.pooler = PoolerActivation::kNone;
  index.info.head = {HeadOutput::kEmbedding, Pooling::kMean, true};
  return forged;
}

/// Returns how an encoded index of a model that embeds is read.
Result<ContainerIndex> Parsed(const ContainerIndex& index) {
  const std::vector<uint8_t> bytes = EncodeContainerIndex(index);
  AlignedBuffer aligned(bytes.size());
  std::copy(bytes.begin(), bytes.end(), aligned.data());
  // Where the head was is a hole, which is sound in a file of a later version.
  return ParseContainerIndex(aligned.span(), uint64_t{1} << 20, 64 + bytes.size(), "a.sti",
                             kContainerMinor + 1);
}

// A runner would look for parameters that such a container does not have.
TEST(ContainerHead, LabelsInputsByAPoolerOrByALastNorm) {
  ForgedContainer forged;
  forged.index().info.shape.has_pooler = false;
  forged.index().info.pooler = PoolerActivation::kNone;
  EXPECT_TRUE(FailedWith(Parsed(forged.index()), ErrorKind::kDamaged, "a head of other parts"));
  const auto file = ContainerFile::Open(STI_SOURCE_DIR "/tests/data/v1.8/vit.sti");
  ASSERT_TRUE(Succeeded(file));
  ContainerIndex with_pooler = file->index();
  with_pooler.info.pooler = PoolerActivation::kTanh;
  EXPECT_TRUE(FailedWith(Parsed(with_pooler), ErrorKind::kDamaged, "a head of other parts"));
  ContainerIndex of_tokens = file->index();
  of_tokens.info.head = HeadTraits::OfTokenLabels();
  EXPECT_TRUE(FailedWith(Parsed(of_tokens), ErrorKind::kDamaged, "a head of other parts"));
}

// Causal attention, the head that gives the next token and what goes with them come together.
TEST(ContainerHead, OfAModelThatContinuesTextsIsWhole) {
  const auto file = ContainerFile::Open(STI_SOURCE_DIR "/tests/data/v1.9/gpt2.sti");
  ASSERT_TRUE(Succeeded(file));
  EXPECT_EQ(LeastMinorFor(file->index()), 9);
  const auto same = Parsed(file->index());
  ASSERT_TRUE(Succeeded(same));
  EXPECT_EQ(same->info.head, file->index().info.head);
  const auto expect_refused = [&](const auto& change, const char* said) {
    ContainerIndex index = file->index();
    change(index.info);
    EXPECT_TRUE(FailedWith(Parsed(index), ErrorKind::kDamaged, said));
  };
  const char* head = "a head of other parts";
  expect_refused([](ModelInfo& info) { info.shape.causal = false; }, head);
  expect_refused([](ModelInfo& info) { info.head = HeadTraits(); }, "shape outside the limits");
  expect_refused([](ModelInfo& info) { info.head.pooling = Pooling::kFirst; }, head);
  expect_refused([](ModelInfo& info) { info.head.unit_length = true; }, head);
  expect_refused([](ModelInfo& info) { info.problem = Problem::kMultiLabel; }, head);
  expect_refused([](ModelInfo& info) { info.pooler = PoolerActivation::kTanh; }, head);
  expect_refused([](ModelInfo& info) { info.shape.norm_before = false; },
                 "shape outside the limits");
  expect_refused([](ModelInfo& info) { info.shape.token_types = 1; }, "shape outside the limits");
  expect_refused([](ModelInfo& info) { info.architecture = Architecture::kRoberta; },
                 "a network other than its architecture's");
  expect_refused([](ModelInfo& info) { info.position_offset = 2; }, "position_offset");
}

TEST(ContainerHead, OfAModelThatEmbedsRoundTrips) {
  const ForgedContainer forged = WithMeanPooling();
  EXPECT_EQ(LeastMinorFor(forged.index().info), 5);
  const auto parsed = Parsed(forged.index());
  ASSERT_TRUE(Succeeded(parsed));
  EXPECT_EQ(parsed->info.head, forged.index().info.head);
  EXPECT_FALSE(HasHeadPart(parsed->info));
  EXPECT_EQ(&parsed->Resident(ResidentKind::kVocabulary), &parsed->resident.back());
  for (const char* trait : {"sentence embedding", "mean pooling", "unit length"}) {
    const std::vector<uint8_t> bytes = EncodeContainerIndex(forged.index());
    const std::string_view name(trait);
    EXPECT_NE(std::search(bytes.begin(), bytes.end(), name.begin(), name.end()), bytes.end());
  }
}

TEST(ContainerHead, HasThePartsThatItSays) {
  const auto expect_refused = [](const auto& change) {
    ForgedContainer forged = WithMeanPooling();
    change(forged.index().info);
    EXPECT_TRUE(FailedWith(Parsed(forged.index()), ErrorKind::kDamaged, "a head of other parts"));
  };
  expect_refused([](ModelInfo& info) {
    info.labels = {"a"};
    info.shape.labels = 1;
  });
  expect_refused([](ModelInfo& info) { info.pooler = PoolerActivation::kTanh; });
  expect_refused([](ModelInfo& info) { info.problem = Problem::kMultiLabel; });
  // The encoder writes the fields of 1.5 where the head gives no labels alone.
  ForgedContainer forged = WithMeanPooling();
  forged.index().info.head = {};
  EXPECT_TRUE(FailedWith(Parsed(forged.index()), ErrorKind::kDamaged, "shape outside"));
}

/// Makes a container as that of a model that labels tokens, whose head has no pooler.
ForgedContainer WithTokenLabels() {
  ForgedContainer forged;
  ContainerIndex& index = forged.index();
  index.info.shape.has_pooler = false;
  index.info.pooler = PoolerActivation::kNone;
  index.info.head = HeadTraits::OfTokenLabels();
  ResidentLocation& head = index.resident[ResidentPlace(index.info, ResidentKind::kHead)];
  head.kind = ResidentKind::kStatedHead;
  head.raw_length = ValuesAt(Home::kHead, index.info.shape) * BytesOf(head.type);
  if (head.compression == Compression::kNone) head.part.length = head.raw_length;
  return forged;
}

TEST(ContainerHead, OfAModelThatLabelsTokensRoundTrips) {
  const ForgedContainer forged = WithTokenLabels();
  EXPECT_EQ(LeastMinorFor(forged.index().info), 6);
  const auto parsed = Parsed(forged.index());
  ASSERT_TRUE(Succeeded(parsed));
  EXPECT_EQ(parsed->info.head, HeadTraits::OfTokenLabels());
  EXPECT_EQ(parsed->info.labels, forged.index().info.labels);
  EXPECT_TRUE(HasHeadPart(parsed->info));
  const std::vector<uint8_t> bytes = EncodeContainerIndex(forged.index());
  const std::string_view trait = "token labels";
  EXPECT_NE(std::search(bytes.begin(), bytes.end(), trait.begin(), trait.end()), bytes.end());
}

TEST(ContainerHead, ThatLabelsTokensHasThePartsThatItSays) {
  const auto expect_refused = [](const auto& change) {
    ForgedContainer forged = WithTokenLabels();
    change(forged.index().info);
    EXPECT_TRUE(FailedWith(Parsed(forged.index()), ErrorKind::kDamaged, "a head of other parts"));
  };
  expect_refused([](ModelInfo& info) { info.pooler = PoolerActivation::kTanh; });
  expect_refused([](ModelInfo& info) { info.problem = Problem::kMultiLabel; });
  expect_refused([](ModelInfo& info) { info.head.pooling = Pooling::kFirst; });
  expect_refused([](ModelInfo& info) { info.head.unit_length = true; });
  expect_refused([](ModelInfo& info) {
    info.labels.clear();
    info.shape.labels = 0;
  });
  expect_refused([](ModelInfo& info) { info.head.output = HeadOutput::kEmbedding; });
}

TEST(ContainerHead, OfAnUnknownKindIsRefused) {
  for (const HeadTraits& head : {HeadTraits{static_cast<HeadOutput>(4), Pooling::kMean, true},
                                 HeadTraits{HeadOutput::kEmbedding, static_cast<Pooling>(5)}}) {
    ForgedContainer forged = WithMeanPooling();
    forged.index().info.head = head;
    EXPECT_TRUE(FailedWith(Parsed(forged.index()), ErrorKind::kDamaged, "head or pooling"));
  }
}

}  // namespace
}  // namespace sti
