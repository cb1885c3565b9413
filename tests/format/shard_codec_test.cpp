#include "format/shard_codec.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "base/half.h"
#include "base/little_endian.h"
#include "support/expect.h"
#include "support/random.h"
#include "support/test_container.h"
#include "types/plan.h"

namespace sti {
namespace {

// One shard of random codes, encoded, with its parts where a view may look at them.
class CodecShard {
 public:
  CodecShard(const ModelShape& shape, DataType type, uint64_t outlier_every) {
    info_.shape = shape;
    info_.data_type = type;
    TestRandom random(shape.hidden + outlier_every);
    codes_.resize(ShardWeights(shape));
    for (uint8_t& code : codes_) code = static_cast<uint8_t>(random.Below(64));
    for (uint64_t i = random.Below(3); i < codes_.size() && outlier_every != 0;
         i += 1 + random.Below(2 * outlier_every)) {
      AddOutlier(i, static_cast<float>(random.Normal()));
    }
    for (uint32_t bits = 2; bits <= 6; ++bits) {
      for (uint32_t j = 0; j < 1U << bits; ++j) {
        codebook_.centroids[bits].push_back(static_cast<float>(random.Normal()));
      }
    }
  }

  void AddOutlier(uint64_t position, float value) {
    uint32_t raw = std::bit_cast<uint32_t>(value);
    if (info_.data_type == DataType::kF16) raw = FloatToHalf(value);
    if (info_.data_type == DataType::kBF16) raw = FloatToBFloat(value);
    outliers_.push_back({static_cast<uint32_t>(position), raw});
  }

  void Encode() {
    Keep(PartKind::kBase, EncodeShardBase(codes_, outliers_, info_.data_type));
    for (uint32_t bits = 3; bits <= 6; ++bits) Keep(PartAt(bits), EncodeShardPlane(codes_, bits));
  }

  [[nodiscard]] Result<ShardView> View(uint32_t bits) const {
    PerPart<std::span<const uint8_t>> parts;
    for (const PartKind part : kPartKinds) parts[part] = stored_[part].span();
    return ViewShard(info_, codebook_, bits, parts, "a.sti: layer 1 slice 0");
  }

  [[nodiscard]] std::vector<float> Expected(uint32_t bits) const {
    std::vector<float> weights;
    for (const uint8_t code : codes_) {
      weights.push_back(codebook_.centroids[bits][static_cast<uint32_t>(code) >> (6 - bits)]);
    }
    for (const ShardOutlier& outlier : outliers_) {
      const auto half = static_cast<uint16_t>(outlier.raw);
      weights[outlier.position] = info_.data_type == DataType::kF32
                                      ? std::bit_cast<float>(outlier.raw)
                                  : info_.data_type == DataType::kF16 ? HalfToFloat(half)
                                                                      : BFloatToFloat(half);
    }
    return weights;
  }

  void ExpectRoundTrip() {
    Encode();
    for (uint32_t bits = 2; bits <= 6; ++bits) {
      const auto view = View(bits);
      ASSERT_TRUE(Succeeded(view));
      EXPECT_EQ(DecodeShard(*view, info_.shape), Expected(bits)) << bits << " bits";
    }
  }

  void GiveOutliersCode(uint8_t code) {
    for (const ShardOutlier& outlier : outliers_) codes_[outlier.position] = code;
  }

  void Keep(PartKind part, const std::vector<uint8_t>& bytes) {
    stored_[part] = AlignedBuffer(bytes.size());
    if (!bytes.empty()) std::memcpy(stored_[part].data(), bytes.data(), bytes.size());
  }

  [[nodiscard]] std::span<uint8_t> base() { return stored_[PartKind::kBase].span(); }
  [[nodiscard]] std::vector<uint8_t> BaseCopy() { return {base().begin(), base().end()}; }
  [[nodiscard]] size_t outliers() const { return outliers_.size(); }
  [[nodiscard]] const std::vector<uint8_t>& codes() const { return codes_; }

 private:
  ModelInfo info_;
  std::vector<uint8_t> codes_;
  std::vector<ShardOutlier> outliers_;
  Codebook codebook_;
  PerPart<AlignedBuffer> stored_;
};

ModelShape ShapeOf(uint32_t width, uint32_t hidden, uint32_t ffn) {
  ModelShape shape;
  shape.layers = 2;
  shape.width = width;
  shape.hidden = hidden;
  shape.ffn = ffn;
  return shape;
}

const ModelShape kSmall = ShapeOf(2, 8, 10);  // 4 * 8 * 4 + 2 * 8 * 5 = 208 weights
// 2 * 4 * 192 * 96 + 2 * 192 * 256 = 172,032: three blocks of outliers.
const ModelShape kLarge = ShapeOf(2, 192, 512);

TEST(ShardCodec, RoundTripInEveryTypeAndAtAllBits) {
  for (const DataType type : {DataType::kF32, DataType::kF16, DataType::kBF16}) {
    CodecShard(kSmall, type, 20).ExpectRoundTrip();
    CodecShard(ShapeOf(2, 52, 100), type, 100).ExpectRoundTrip();
  }
}

TEST(ShardCodec, RoundTripWithoutOutliers) {
  CodecShard shard(kSmall, DataType::kF16, 0);
  EXPECT_EQ(shard.outliers(), 0U);
  shard.ExpectRoundTrip();
}

TEST(ShardCodec, RoundTripWithOutliersInSeveralBlocks) {
  CodecShard shard(kLarge, DataType::kF16, 300);
  ASSERT_GT(ShardWeights(kLarge), 2U * 65536);
  shard.ExpectRoundTrip();
}

TEST(ShardCodec, OutliersMayStandAtTheEdgesOfBlocks) {
  CodecShard shard(kLarge, DataType::kF32, 0);
  for (const uint64_t position : {uint64_t{0}, uint64_t{65535}, uint64_t{65536}, uint64_t{131071},
                                  uint64_t{131072}, ShardWeights(kLarge) - 1}) {
    shard.AddOutlier(position, 100.0F + static_cast<float>(position));
  }
  shard.ExpectRoundTrip();
}

TEST(ShardCodec, ABlockMayHaveNoOutliers) {
  CodecShard shard(kLarge, DataType::kF16, 0);
  shard.AddOutlier(5, 2.0F);
  shard.AddOutlier(131080, 3.0F);
  shard.ExpectRoundTrip();
}

TEST(ShardCodec, AnOutliersCodeIsZeroInEachPlane) {
  CodecShard shard(kLarge, DataType::kF16, 300);
  const auto check = [&](uint8_t code, uint32_t bits) {
    shard.GiveOutliersCode(code);
    shard.Encode();
    const auto view = shard.View(bits);
    return view.ok() ? CheckOutlierCodes(*view, "a.sti: layer 1 slice 0") : Status(view.error());
  };
  EXPECT_TRUE(check(0, 6).ok());
  for (uint32_t plane = 0; plane < 6; ++plane) {
    const auto code = static_cast<uint8_t>(32U >> plane);
    for (uint32_t bits = 2; bits <= 6; ++bits) {
      EXPECT_EQ(check(code, bits).ok(), bits <= plane) << bits << " bits, plane " << plane;
    }
  }
}

TEST(ShardCodec, EveryWeightMayBeAnOutlier) {
  CodecShard shard(kSmall, DataType::kF32, 0);
  for (uint64_t i = 0; i < ShardWeights(kSmall); ++i) {
    shard.AddOutlier(i, static_cast<float>(i) - 50);
  }
  shard.ExpectRoundTrip();
}

TEST(ShardCodec, OutliersAreFinite) {
  for (const DataType type : {DataType::kF32, DataType::kF16, DataType::kBF16}) {
    for (const float odd : {NAN, INFINITY, -INFINITY}) {
      CodecShard shard(kLarge, type, 300);
      shard.AddOutlier(ShardWeights(kLarge) - 1, odd);
      shard.Encode();
      for (uint32_t bits = 2; bits <= 6; ++bits) {
        EXPECT_TRUE(FailedWith(shard.View(bits), ErrorKind::kDamaged,
                               "layer 1 slice 0: an outlier is not a finite number"));
      }
    }
  }
}

TEST(ShardCodec, PlanesArePaddedToTheirAlignment) {
  CodecShard shard(kSmall, DataType::kF16, 20);
  for (uint32_t bits = 3; bits <= 6; ++bits) {
    const auto plane = EncodeShardPlane(shard.codes(), bits);
    ASSERT_EQ(plane.size(), 64U);
    for (size_t i = 0; i < plane.size() * 8; ++i) {
      const uint32_t code = i < shard.codes().size() ? shard.codes()[i] : 0;
      EXPECT_EQ(plane[i / 8] >> (i % 8) & 1U, code >> (6 - bits) & 1U);
    }
  }
}

// Counts, block starts, outliers and two planes, each as aligned as the specification says.
TEST(ShardCodec, ABaseHasNoByteThatTheSpecificationDoesNotName) {
  const std::vector<uint8_t> codes(1000, 3);
  const std::vector<ShardOutlier> outliers = {{5, 1}, {9, 2}, {700, 3}};
  const uint64_t starts = 8 + 4 * 2;  // one block of outliers
  for (const auto& [type, value] : {std::pair(DataType::kF32, 4U), {DataType::kF16, 2U}}) {
    const uint64_t values = RoundUp(starts + 2 * outliers.size(), 4) + value * outliers.size();
    EXPECT_EQ(EncodeShardBase(codes, outliers, type).size(), RoundUp(values, 64) + 2 * 128);
  }
}

TEST(ShardCodec, FullFidelityIsSeenAsStored) {
  CodecShard shard(kSmall, DataType::kF32, 0);
  TestRandom random(1);
  const std::vector<float> weights = random.Normals(ShardWeights(kSmall), 1.0);
  std::vector<uint8_t> bytes(weights.size() * 4);
  std::memcpy(bytes.data(), weights.data(), bytes.size());
  shard.Keep(PartKind::kFull, bytes);
  const auto view = shard.View(kFullBits);
  ASSERT_TRUE(Succeeded(view));
  EXPECT_EQ(DecodeShard(*view, kSmall), weights);
}

class DamagedOutliers : public ::testing::Test {
 protected:
  DamagedOutliers() : shard_(kLarge, DataType::kF16, 300) { shard_.Encode(); }

  void ExpectRefused() {
    EXPECT_TRUE(
        FailedWith(shard_.View(2), ErrorKind::kDamaged, "layer 1 slice 0: outliers are damaged"));
  }
  void Store32(size_t at, uint32_t value) { StoreLittle<uint32_t>(&shard_.base()[at], value); }
  void Store16(size_t at, uint16_t value) { StoreLittle<uint16_t>(&shard_.base()[at], value); }
  [[nodiscard]] uint32_t Load32(size_t at) { return LoadLittle<uint32_t>(&shard_.base()[at]); }
  [[nodiscard]] uint16_t Load16(size_t at) { return LoadLittle<uint16_t>(&shard_.base()[at]); }

  CodecShard shard_;
  static constexpr size_t kStarts = 8;
  static constexpr size_t kLows = kStarts + 4 * 4;  // three blocks
};

TEST_F(DamagedOutliers, IsSoundUndamaged) {
  ASSERT_EQ(Load32(0), shard_.outliers());
  ASSERT_EQ(Load32(4), 3U);
  EXPECT_TRUE(Succeeded(shard_.View(2)));
}

TEST_F(DamagedOutliers, CountsThatDoNotFitThePart) {
  const uint32_t count = Load32(0);
  for (const uint32_t wrong : {0U, count + 200, 0xFFFFFFFFU, 0x80000000U, 1U << 20}) {
    Store32(0, wrong);
    ExpectRefused();
  }
}

TEST_F(DamagedOutliers, AnotherNumberOfBlocks) {
  for (const uint32_t wrong : {0U, 2U, 4U, 0xFFFFFFFFU}) {
    Store32(4, wrong);
    ExpectRefused();
  }
}

TEST_F(DamagedOutliers, BlockStartsThatDoNotAscendToTheCount) {
  for (const size_t at : {kStarts, kStarts + 12}) {
    const uint32_t right = Load32(at);
    for (const uint32_t wrong : {right + 1, right - 1, 0xFFFFFFFFU}) {
      Store32(at, wrong);
      ExpectRefused();
    }
    Store32(at, right);
  }
  Store32(kStarts + 4, Load32(0) + 1);
  ExpectRefused();
  Store32(kStarts + 4, Load32(kStarts + 8) + 1);
  ExpectRefused();
}

TEST_F(DamagedOutliers, PositionsThatDoNotAscend) {
  const uint16_t first = Load16(kLows);
  Store16(kLows + 2, first);
  ExpectRefused();
}

TEST_F(DamagedOutliers, APositionBehindTheLastWeight) {
  const size_t last = kLows + 2 * (shard_.outliers() - 1);
  const auto limit = static_cast<uint16_t>(ShardWeights(kLarge) - 131072);
  Store16(last, limit);
  ExpectRefused();
  Store16(last, static_cast<uint16_t>(limit - 1));
  EXPECT_TRUE(Succeeded(shard_.View(2)));
}

TEST_F(DamagedOutliers, PartsOfAnotherLength) {
  const std::vector<uint8_t> whole = shard_.BaseCopy();
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{7}, size_t{8}, whole.size() - 64, whole.size() - 1}) {
    shard_.Keep(PartKind::kBase, {whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)});
    ExpectRefused();
  }
  std::vector<uint8_t> longer = whole;
  longer.resize(whole.size() + 64);
  shard_.Keep(PartKind::kBase, longer);
  ExpectRefused();
}

}  // namespace
}  // namespace sti
