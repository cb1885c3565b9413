#include "format/container_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "support/expect.h"
#include "support/temp_folder.h"
#include "support/test_container.h"
#include "types/plan.h"

namespace sti {
namespace {

using Edit = std::function<void(ContainerIndex&)>;

class ContainerIndexTest : public ::testing::Test {
 protected:
  void SetUp() override { Use({}, {}); }

  // A dry run: an index as it would be written, and no file.
  void Use(const TinyModelOptions& model, const ShardOptions& options) {
    const TempFolder folder;
    ASSERT_TRUE(WriteTinyModel(folder.path(), model).ok());
    const auto source = ModelFolder::Open(folder.path());
    ASSERT_TRUE(Succeeded(source));
    const auto report = ShardModel(*source, options, "");
    ASSERT_TRUE(Succeeded(report));
    index_ = report->index;
    file_bytes_ = report->file_bytes;
    index_end_ = 64 + EncodeContainerIndex(index_).size();
  }

  [[nodiscard]] Result<ContainerIndex> Parse(std::span<const uint8_t> bytes) const {
    // FlatBuffers wants the alignment that the file gives.
    AlignedBuffer aligned(bytes.size());
    std::copy(bytes.begin(), bytes.end(), aligned.data());
    return ParseContainerIndex(aligned.span(), file_bytes_, index_end_, "a.sti");
  }
  [[nodiscard]] Result<ContainerIndex> ParseEdited(const Edit& edit) const {
    ContainerIndex edited = index_;
    edit(edited);
    return Parse(EncodeContainerIndex(edited));
  }
  void ExpectRefused(const std::string& words, const Edit& edit) const {
    const auto parsed = ParseEdited(edit);
    EXPECT_TRUE(FailedWith(parsed, ErrorKind::kDamaged, "a.sti: index: ")) << words;
    EXPECT_TRUE(FailedWith(parsed, ErrorKind::kDamaged, words));
  }

  ContainerIndex index_;
  uint64_t file_bytes_ = 0;
  uint64_t index_end_ = 0;
};

void ExpectSamePart(const PartLocation& a, const PartLocation& b) {
  EXPECT_EQ(a.offset, b.offset);
  EXPECT_EQ(a.length, b.length);
  EXPECT_EQ(a.checksum, b.checksum);
}

void ExpectSameInfo(const ModelInfo& a, const ModelInfo& b) {
  EXPECT_EQ(a.shape, b.shape);
  EXPECT_EQ(a.data_type, b.data_type);
  EXPECT_EQ(a.activation, b.activation);
  EXPECT_EQ(a.layer_norm_eps, b.layer_norm_eps);
  EXPECT_EQ(a.labels, b.labels);
  EXPECT_EQ(a.depth_layers, b.depth_layers);
  EXPECT_EQ(a.min_depth, b.min_depth);
  EXPECT_EQ(a.min_width, b.min_width);
  EXPECT_EQ(a.elastic, b.elastic);
  EXPECT_EQ(a.tokenizer.lowercase, b.tokenizer.lowercase);
  EXPECT_EQ(a.tokenizer.unknown_id, b.tokenizer.unknown_id);
  EXPECT_EQ(a.tokenizer.cls_id, b.tokenizer.cls_id);
  EXPECT_EQ(a.tokenizer.sep_id, b.tokenizer.sep_id);
  EXPECT_EQ(a.tokenizer.pad_id, b.tokenizer.pad_id);
}

TEST_F(ContainerIndexTest, RoundTrip) {
  const auto parsed = Parse(EncodeContainerIndex(index_));
  ASSERT_TRUE(Succeeded(parsed));
  EXPECT_EQ(parsed->model, index_.model);
  ExpectSameInfo(parsed->info, index_.info);
  EXPECT_EQ(parsed->codebook, index_.codebook);
  EXPECT_EQ(parsed->layout, index_.layout);
  EXPECT_EQ(parsed->unicode, index_.unicode);
  EXPECT_EQ(parsed->bits, index_.bits);
  for (size_t layer = 0; layer < index_.centroids.size(); ++layer) {
    EXPECT_EQ(parsed->centroids[layer].centroids, index_.centroids[layer].centroids);
    EXPECT_EQ(parsed->centroids[layer].scales, index_.centroids[layer].scales);
    EXPECT_EQ(parsed->centroids[layer].scales.size(), 6U * index_.info.shape.hidden);
  }
  ASSERT_EQ(parsed->shards.size(), index_.shards.size());
  for (size_t i = 0; i < index_.shards.size(); ++i) {
    for (const PartKind k : kPartKinds) {
      ExpectSamePart(parsed->shards[i].parts[k], index_.shards[i].parts[k]);
    }
  }
  ASSERT_EQ(parsed->resident.size(), index_.resident.size());
  for (size_t i = 0; i < index_.resident.size(); ++i) {
    ExpectSamePart(parsed->resident[i].part, index_.resident[i].part);
    EXPECT_EQ(parsed->resident[i].raw_length, index_.resident[i].raw_length);
    EXPECT_EQ(parsed->resident[i].kind, index_.resident[i].kind);
  }
  EXPECT_EQ(parsed->words.offset, index_.words.offset);
  EXPECT_EQ(parsed->positions.row_bytes, index_.positions.row_bytes);
}

TEST_F(ContainerIndexTest, CodedRowsRoundTrip) {
  ShardOptions coded;
  coded.rows = RowCoding::kEightBit;
  Use({}, coded);
  const auto parsed = Parse(EncodeContainerIndex(index_));
  ASSERT_TRUE(Succeeded(parsed));
  EXPECT_EQ(parsed->words.coding, RowCoding::kEightBit);
  EXPECT_EQ(parsed->words.row_bytes, index_.words.row_bytes);
  EXPECT_EQ(parsed->positions.coding, RowCoding::kExact);
}

TEST_F(ContainerIndexTest, SameIndexSameBytes) {
  const auto bytes = EncodeContainerIndex(index_);
  EXPECT_EQ(EncodeContainerIndex(index_), bytes);
  const auto parsed = Parse(bytes);
  ASSERT_TRUE(Succeeded(parsed));
  EXPECT_EQ(EncodeContainerIndex(*parsed), bytes);
}

// The checksum finds accidents before this; here each byte is what a hostile writer put there. What
// still parses must describe parts inside the file.
TEST_F(ContainerIndexTest, AnyChangedByteIsRefusedOrHarmless) {
  const auto bytes = EncodeContainerIndex(index_);
  size_t refused = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const uint8_t mask : {uint8_t{0x01}, uint8_t{0x80}, uint8_t{0xFF}}) {
      auto damaged = bytes;
      damaged[i] ^= mask;
      const auto parsed = Parse(damaged);
      if (!parsed.ok()) {
        ASSERT_TRUE(FailedWith(parsed, ErrorKind::kDamaged, "a.sti: ")) << i;
        ++refused;
        continue;
      }
      for (const ShardLocation& shard : parsed->shards) {
        for (const PartLocation& part : shard.parts) {
          ASSERT_TRUE(RangeFits(part.offset, part.length, file_bytes_)) << i;
        }
      }
      ASSERT_EQ(CatalogOf(*parsed).read_bytes.size(), parsed->shards.size() * parsed->bits.size());
    }
  }
  EXPECT_GT(refused, bytes.size() / 4);
}

TEST_F(ContainerIndexTest, EveryTruncationIsRefused) {
  const auto bytes = EncodeContainerIndex(index_);
  for (size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_TRUE(FailedWith(Parse(std::span(bytes).first(size)), ErrorKind::kDamaged)) << size;
  }
}

TEST_F(ContainerIndexTest, OverlapsAreRefused) {
  ExpectRefused("overlap", [](ContainerIndex& i) {
    i.shards[1].parts[PartKind::kPlane4].offset = i.shards[1].parts[PartKind::kPlane3].offset;
  });
  ExpectRefused("overlap", [](ContainerIndex& i) { i.resident[0].part.offset = 0; });
  ExpectRefused("overlap",
                [&](ContainerIndex& i) { i.resident[0].part.offset = (index_end_ - 1) / 64 * 64; });
  ExpectRefused("overlap", [](ContainerIndex& i) { i.positions.offset = i.words.offset + 64; });
}

TEST_F(ContainerIndexTest, PartsOutsideTheFileAreRefused) {
  ExpectRefused("outside the file", [&](ContainerIndex& i) {
    i.shards[3].parts[PartKind::kFull].offset = file_bytes_;
  });
  ExpectRefused("outside the file", [](ContainerIndex& i) {
    i.shards[3].parts[PartKind::kFull].offset = UINT64_MAX / 64 * 64;
  });
  ExpectRefused("", [](ContainerIndex& i) { i.words.offset = UINT64_MAX - 8; });
  ExpectRefused("outside the file",
                [](ContainerIndex& i) { i.resident[2].part.offset = uint64_t{1} << 63; });
}

TEST_F(ContainerIndexTest, HolesAndTailsAreRefused) {
  const auto bytes = EncodeContainerIndex(index_);
  file_bytes_ += kBlockBytes;
  EXPECT_TRUE(FailedWith(Parse(bytes), ErrorKind::kDamaged, "bytes behind the last part"));
  ExpectRefused("a hole", [](ContainerIndex& i) {
    for (ShardLocation& shard : i.shards) {
      for (PartLocation& part : shard.parts) part.offset += kBlockBytes;
    }
  });
}

TEST_F(ContainerIndexTest, WrongLengthsAreRefused) {
  for (const PartKind part : kPartKinds) {
    for (const int64_t change : {-64, 64}) {
      ExpectRefused(
          part == PartKind::kBase && change > 0 ? "" : "of a wrong size", [&](ContainerIndex& i) {
            i.shards[0].parts[part].length = static_cast<uint64_t>(
                static_cast<int64_t>(
                    part == PartKind::kBase && change < 0 ? 128 : i.shards[0].parts[part].length) +
                change);
          });
    }
  }
  ExpectRefused("of a wrong size",
                [](ContainerIndex& i) { i.shards[2].parts[PartKind::kPlane3].offset += 8; });
  ExpectRefused("resident part", [](ContainerIndex& i) { i.resident[1].part.length = 0; });
  ExpectRefused("resident part", [](ContainerIndex& i) {
    i.resident[1].raw_length = uint64_t{1} << 33;
    i.resident[1].compression = Compression::kZstd;
  });
  ExpectRefused("embedding table", [](ContainerIndex& i) { ++i.words.rows; });
  ExpectRefused("embedding table", [](ContainerIndex& i) { --i.positions.columns; });
  ExpectRefused("embedding table", [](ContainerIndex& i) { i.words.row_bytes += 4; });
}

// The size of a resident part follows from the shape: nothing else may make a reader take memory.
TEST_F(ContainerIndexTest, ResidentPartsThatClaimAnotherSizeThanTheShapeAreRefused) {
  for (size_t part = 0; part < 4; ++part) {
    ExpectRefused("resident part", [&](ContainerIndex& i) {
      i.resident[part].raw_length = uint64_t{1} << 31;
      i.resident[part].compression = Compression::kZstd;
    });
  }
}

TEST_F(ContainerIndexTest, OfferedBitsMustBeThere) {
  ExpectRefused("lacks a plane",
                [](ContainerIndex& i) { i.shards[1].parts[PartKind::kPlane5] = {}; });
  ExpectRefused("lacks a plane",
                [](ContainerIndex& i) { i.shards[0].parts[PartKind::kFull] = {}; });
  for (const std::vector<uint32_t>& bits :
       {std::vector<uint32_t>{}, {1, 2}, {2, 7}, {3, 2}, {2, 2}, {2, 16}, {0}}) {
    ExpectRefused("bitwidths", [&](ContainerIndex& i) { i.bits = bits; });
  }
}

TEST_F(ContainerIndexTest, APartialContainerSaysSo) {
  const auto partial = ParseEdited([](ContainerIndex& i) { i.partial = true; });
  ASSERT_TRUE(Succeeded(partial));
  EXPECT_TRUE(partial->partial);
  const auto whole = Parse(EncodeContainerIndex(index_));
  ASSERT_TRUE(Succeeded(whole));
  EXPECT_FALSE(whole->partial);
}

TEST_F(ContainerIndexTest, FewerBitsThanStoredAreFine) {
  const auto parsed = ParseEdited([](ContainerIndex& i) { i.bits = {2, 4}; });
  ASSERT_TRUE(Succeeded(parsed));
  EXPECT_TRUE(parsed->Offers(4));
  EXPECT_FALSE(parsed->Offers(6));
}

TEST_F(ContainerIndexTest, ShapesOutsideTheLimitsAreRefused) {
  const std::vector<std::function<uint32_t&(ModelShape&)>> fields = {
      [](ModelShape& s) -> uint32_t& { return s.layers; },
      [](ModelShape& s) -> uint32_t& { return s.width; },
      [](ModelShape& s) -> uint32_t& { return s.hidden; },
      [](ModelShape& s) -> uint32_t& { return s.ffn; },
      [](ModelShape& s) -> uint32_t& { return s.vocabulary; },
      [](ModelShape& s) -> uint32_t& { return s.max_positions; },
      [](ModelShape& s) -> uint32_t& { return s.token_types; },
      [](ModelShape& s) -> uint32_t& { return s.labels; }};
  for (const auto& field : fields) {
    for (const uint32_t wrong : {0U, 1U << 23, 0xFFFFFFFFU}) {
      ExpectRefused("outside the limits", [&](ContainerIndex& index) {
        field(index.info.shape) = wrong;
        index.shards.clear();  // a width of 0 cannot be encoded with them
      });
    }
    EXPECT_FALSE(ParseEdited([&](ContainerIndex& i) { ++field(i.info.shape); }).ok());
  }
}

TEST_F(ContainerIndexTest, BadMetadataIsRefused) {
  ExpectRefused("depth map", [](ContainerIndex& i) { i.info.depth_layers.pop_back(); });
  ExpectRefused("depth map", [](ContainerIndex& i) { i.info.depth_layers[1] = {1, 0}; });
  ExpectRefused("depth map", [](ContainerIndex& i) { i.info.depth_layers[1] = {1, 2}; });
  ExpectRefused("depth map", [](ContainerIndex& i) { i.info.depth_layers[1] = {1, 1}; });
  ExpectRefused("labels", [](ContainerIndex& i) { i.info.labels.pop_back(); });
  ExpectRefused("min_depth", [](ContainerIndex& i) { i.info.min_depth = 3; });
  ExpectRefused("min_width", [](ContainerIndex& i) { i.info.min_width = 0; });
  ExpectRefused("min_width", [](ContainerIndex& i) { i.info.min_width = 3; });
  ExpectRefused("norm eps", [](ContainerIndex& i) { i.info.layer_norm_eps = -1; });
  ExpectRefused("special token", [](ContainerIndex& i) { i.info.tokenizer.sep_id = 1000; });
  ExpectRefused("does not know",
                [](ContainerIndex& i) { i.codebook = static_cast<CodebookKind>(9); });
  ExpectRefused("does not know", [](ContainerIndex& i) { i.layout = static_cast<Layout>(2); });
  ExpectRefused("number of centroids",
                [](ContainerIndex& i) { i.centroids[1].centroids[6].pop_back(); });
  ExpectRefused("scales", [](ContainerIndex& i) { i.centroids[0].scales.pop_back(); });
  ExpectRefused("scales", [](ContainerIndex& i) { i.centroids[1].scales.clear(); });
  for (const float scale : {0.0F, -1.0F, INFINITY, NAN, 1e-40F}) {
    ExpectRefused("a scale that", [&](ContainerIndex& i) { i.centroids[1].scales[7] = scale; });
  }
}

// cls and sep need a row each.
TEST_F(ContainerIndexTest, OnePositionIsNoRoomForAnyInput) {
  ExpectRefused("no room for the shortest input",
                [](ContainerIndex& i) { i.info.shape.max_positions = 1; });
  ExpectRefused("embedding table", [](ContainerIndex& i) { i.info.shape.max_positions = 2; });
}

// They are printed, and stand for answers: in UTF-8, in one line, each its own.
TEST_F(ContainerIndexTest, TextsThatMayNotBePrintedAreRefused) {
  EXPECT_TRUE(Succeeded(ParseEdited([](ContainerIndex& i) {
    i.info.labels = {"caf\xC3\xA9", "\xEF\xBF\xBD", "a b"};
    i.unicode = std::string(64, '~');
  })));
  const std::vector<std::pair<std::string, std::string>> labels = {
      {"", "label 1 is empty"},
      {"a\nb", "label 1 is not UTF-8"},
      {"\x1b[31m", "label 1 is not UTF-8"},
      {"\x7F", "label 1 is not UTF-8"},
      {"\xC2\x9B", "label 1 is not UTF-8"},
      {"\xFF", "label 1 is not UTF-8"},
      {"a\xE2\x82", "label 1 is not UTF-8"},
      {"label_0", "label 1 is that of label 0 again"}};
  for (const auto& [label, problem] : labels) {
    ExpectRefused(problem, [&](ContainerIndex& i) { i.info.labels[1] = label; });
  }
  for (const std::string& unicode :
       {std::string("15\xFF"), std::string("15\x1b[0m"), std::string(65, '1')}) {
    ExpectRefused("unicode is not", [&](ContainerIndex& i) { i.unicode = unicode; });
  }
}

// The fields of 1.1: pooler and problem change the head's kind, byte-level BPE adds a part.
TEST_F(ContainerIndexTest, ArchitecturesRoundTripAndAreChecked) {
  const auto parsed = ParseEdited([](ContainerIndex& i) {
    i.info.architecture = Architecture::kDistilBert;
    i.info.pooler = PoolerActivation::kRelu;
    i.info.problem = Problem::kMultiLabel;
    i.resident[3].kind = ResidentKind::kStatedHead;
  });
  ASSERT_TRUE(Succeeded(parsed));
  EXPECT_EQ(parsed->info.architecture, Architecture::kDistilBert);
  EXPECT_EQ(parsed->info.pooler, PoolerActivation::kRelu);
  EXPECT_EQ(parsed->info.problem, Problem::kMultiLabel);
  EXPECT_EQ(parsed->info.tokenizer.second_type, 0U);
  EXPECT_EQ(&parsed->Resident(ResidentKind::kHead), &parsed->resident[3]);
  // A head that 1.0 would compute otherwise must not look like one of 1.0, nor the other way.
  ExpectRefused("resident part", [](ContainerIndex& i) { i.info.problem = Problem::kMultiLabel; });
  ExpectRefused("resident part",
                [](ContainerIndex& i) { i.resident[3].kind = ResidentKind::kStatedHead; });
  ExpectRefused("does not know",
                [](ContainerIndex& i) { i.info.architecture = static_cast<Architecture>(200); });
  ExpectRefused("does not know",
                [](ContainerIndex& i) { i.info.pooler = static_cast<PoolerActivation>(4); });
  ExpectRefused("does not know",
                [](ContainerIndex& i) { i.info.problem = static_cast<Problem>(2); });
  ExpectRefused("does not know",
                [](ContainerIndex& i) { i.info.tokenizer.kind = static_cast<TokenizerKind>(2); });
}

// A reader of 1.2 must not take such a model's inputs for those of others.
TEST_F(ContainerIndexTest, InputsRoundTripAndAreChecked) {
  const auto stated = [](const Edit& edit) {
    return [edit](ContainerIndex& i) {
      edit(i);
      i.resident.back().kind = ResidentKind::kStatedVocabulary;
    };
  };
  const auto parsed = ParseEdited(stated([](ContainerIndex& i) {
    i.info.tokenizer.max_length = 5;
    i.info.tokenizer.cuts_begin = true;
    i.info.tokenizer.second_type = 0;
  }));
  ASSERT_TRUE(Succeeded(parsed));
  EXPECT_EQ(parsed->info.max_length(), 5U);
  EXPECT_TRUE(parsed->info.tokenizer.cuts_begin);
  EXPECT_EQ(parsed->info.tokenizer.second_type, 0U);
  EXPECT_EQ(&parsed->Resident(ResidentKind::kVocabulary), &parsed->resident.back());
  EXPECT_EQ(LeastMinorFor(parsed->info), 3);
  EXPECT_EQ(LeastMinorFor(index_.info), 2);
  EXPECT_TRUE(Succeeded(ParseEdited(stated([](ContainerIndex&) {}))));
  const Edit edits[] = {[](ContainerIndex& i) { i.info.tokenizer.max_length = 5; },
                        [](ContainerIndex& i) { i.info.tokenizer.cuts_begin = true; },
                        [](ContainerIndex& i) { i.info.tokenizer.second_type = 0; }};
  for (const Edit& edit : edits) ExpectRefused("resident part", edit);
  ExpectRefused("no room", stated([](ContainerIndex& i) { i.info.tokenizer.max_length = 1; }));
  ExpectRefused("max_length above the positions",
                stated([](ContainerIndex& i) { i.info.tokenizer.max_length = 33; }));
}

TEST_F(ContainerIndexTest, ByteBpeHasMergesAndMayOffsetPositions) {
  const auto with_offset = [](uint32_t offset) {
    return [offset](ContainerIndex& i) {
      i.info.architecture = Architecture::kRoberta;
      i.info.position_offset = offset;
    };
  };
  ExpectRefused("position_offset", with_offset(2));  // WordPiece: 1.0 would not know of it
  index_.info.tokenizer.kind = TokenizerKind::kByteBpe;
  index_.info.tokenizer.add_prefix_space = true;
  ExpectRefused("resident parts missing", [](ContainerIndex&) {});
  ResidentLocation merges = index_.resident.back();  // an empty range behind all others
  merges.kind = ResidentKind::kMerges;
  merges.part = index_.resident.back().part;
  index_.resident.back().part.length -= 1;
  index_.resident.back().compression = Compression::kZstd;
  merges.part.offset += merges.part.length - 1;
  merges.part.length = 1;
  merges.raw_length = 1;
  merges.compression = Compression::kNone;
  index_.resident.push_back(merges);
  index_end_ = 64 + EncodeContainerIndex(index_).size();
  const auto parsed = ParseEdited(with_offset(2));
  ASSERT_TRUE(Succeeded(parsed));
  EXPECT_EQ(parsed->info.tokenizer.kind, TokenizerKind::kByteBpe);
  EXPECT_TRUE(parsed->info.tokenizer.add_prefix_space);
  EXPECT_EQ(parsed->info.position_offset, 2U);
  EXPECT_EQ(parsed->info.max_length(), parsed->info.shape.max_positions - 2);
  // Tokens that take no position are among every input where the padding token's id is theirs.
  EXPECT_EQ(index_.info.tokenizer.cls_id, 2U);
  ModelInfo info = parsed->info;
  info.position_offset = info.tokenizer.pad_id + 1;
  EXPECT_EQ(ResidentKinds(info)[4], ResidentKind::kVocabulary);
  info.position_offset = info.tokenizer.cls_id + 1;
  EXPECT_EQ(ResidentKinds(info)[4], ResidentKind::kStatedVocabulary);
  EXPECT_EQ(parsed->Resident(ResidentKind::kMerges).part.length, 1U);
  const uint32_t positions = index_.info.shape.max_positions;
  EXPECT_TRUE(Succeeded(ParseEdited(with_offset(positions - 2))));
  for (const uint32_t offset : {positions - 1, positions, 0xFFFFFFFFU}) {
    ExpectRefused("no room for the shortest input", with_offset(offset));
  }
  ExpectRefused("resident part", [](ContainerIndex& i) {
    i.resident.back().raw_length = (uint64_t{64} << 20) + 1;
    i.resident.back().compression = Compression::kZstd;
  });
}

TEST_F(ContainerIndexTest, CatalogCountsWholeBlocks) {
  for (const Layout layout : {Layout::kShard, Layout::kPlane}) {
    ShardOptions options;
    options.layout = layout;
    Use({}, options);
    const ShardCatalog catalog = CatalogOf(index_);
    EXPECT_EQ(catalog.bits, index_.bits);
    ASSERT_EQ(catalog.read_bytes.size(), index_.shards.size() * index_.bits.size());
    size_t at = 0;
    for (const ShardLocation& shard : index_.shards) {
      for (const uint32_t bits : index_.bits) {
        std::vector<bool> blocks(file_bytes_ / kBlockBytes, false);
        for (const PartLocation& part : PartsFor(shard, bits)) {
          for (uint64_t b = part.offset / kBlockBytes; b * kBlockBytes < part.offset + part.length;
               ++b) {
            blocks[b] = true;
          }
        }
        const auto count = static_cast<uint64_t>(std::count(blocks.begin(), blocks.end(), true));
        EXPECT_EQ(catalog.read_bytes[at++], count * kBlockBytes);
      }
    }
  }
}

TEST_F(ContainerIndexTest, ShapeDigestKnowsWhatTimesDependOn) {
  const Digest digest = ShapeDigest(index_.info);
  ModelInfo retrained = index_.info;
  retrained.labels[0] = "other";
  retrained.layer_norm_eps = 1e-6;
  EXPECT_EQ(ShapeDigest(retrained), digest);
  ModelInfo deeper = index_.info;
  ++deeper.shape.layers;
  EXPECT_NE(ShapeDigest(deeper), digest);
  ModelInfo wider = index_.info;
  wider.data_type = DataType::kF32;
  EXPECT_NE(ShapeDigest(wider), digest);
}

TEST(ShardPartName, NamesLayerSliceAndPart) {
  EXPECT_EQ(ShardPartName({3, 5}, PartKind::kBase), "layer 3 slice 5 base");
  EXPECT_EQ(ShardPartName({3, 5}, PartKind::kPlane4), "layer 3 slice 5 plane 4");
  EXPECT_EQ(ShardPartName({0, 1}, PartKind::kFull), "layer 0 slice 1 full fidelity");
  EXPECT_EQ(ResidentName(ResidentKind::kLayer, 2), "layer 2 parameters");
  EXPECT_EQ(ResidentName(ResidentKind::kHead, 0), "head parameters");
}

}  // namespace
}  // namespace sti
