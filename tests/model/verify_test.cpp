#include "model/verify.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/little_endian.h"
#include "support/expect.h"
#include "support/forged_container.h"

namespace sti {
namespace {

std::vector<std::string> DamageOf(ForgedContainer& forged) {
  auto file = forged.Open();
  EXPECT_TRUE(Succeeded(file));
  if (!file.ok()) return {};
  const auto report = VerifyContainer(*file, {});
  EXPECT_TRUE(Succeeded(report));
  std::vector<std::string> lines;
  if (!report.ok()) return lines;
  for (const Error& damage : report->damaged) lines.push_back(damage.Message());
  return lines;
}

/// Expects that this and nothing else is found.
void ExpectFound(ForgedContainer& forged, const std::string& line) {
  EXPECT_EQ(DamageOf(forged), std::vector<std::string>{line});
}

/// The codes of layer 0 slice 0, whose outliers are one block.
class Codes {
 public:
  explicit Codes(ForgedContainer& forged) : forged_(forged) {}

  /// Stream index of the first outlier.
  [[nodiscard]] uint32_t FirstOutlier() {
    constexpr uint64_t kLows = 16;
    return LoadLittle<uint16_t>(&Bytes(PartKind::kBase)[kLows]);
  }
  /// Gives a weight's code the bit of plane `plane`, 1 being the most significant.
  void SetBit(uint32_t weight, uint32_t plane) {
    const auto bytes = Bytes(plane <= 2 ? PartKind::kBase : PartAt(plane));
    const uint64_t plane_bytes = Bytes(PartKind::kPlane3).size();
    const uint64_t begin = plane <= 2 ? bytes.size() - (3 - plane) * plane_bytes : 0;
    bytes[begin + weight / 8] |= static_cast<uint8_t>(1U << weight % 8);
  }

 private:
  [[nodiscard]] std::span<uint8_t> Bytes(PartKind part) {
    return forged_.Part(forged_.index().shard({0, 0}).parts[part]);
  }

  ForgedContainer& forged_;
};

TEST(Verify, FindsNothingInAWholeContainer) {
  ForgedContainer forged;
  EXPECT_TRUE(DamageOf(forged).empty());
}

TEST(Verify, AWeightsCodeMayBeAny) {
  ForgedContainer forged;
  Codes codes(forged);
  ASSERT_NE(codes.FirstOutlier(), 0U) << "weight 0 is no outlier here";
  codes.SetBit(0, 6);
  EXPECT_TRUE(DamageOf(forged).empty());
}

TEST(Verify, AnOutliersCodeIsZero) {
  for (uint32_t plane = 1; plane <= 6; ++plane) {
    ForgedContainer forged;
    Codes codes(forged);
    codes.SetBit(codes.FirstOutlier(), plane);
    ExpectFound(forged, "a.sti: layer 0 slice 0 base: an outlier's code is not 0");
  }
}

/// Infinity as the last of a list of 16-bit numbers that ends at `end`.
void Spoil(std::span<uint8_t> bytes, size_t end) { StoreLittle<uint16_t>(&bytes[end - 2], 0x7C00); }

TEST(Verify, FindsNumbersThatAreNotFinite) {
  {
    ForgedContainer forged;
    const auto base = forged.Part(forged.index().shard({1, 1}).parts[PartKind::kBase]);
    const uint64_t count = LoadLittle<uint32_t>(base.data());
    ASSERT_GT(count, 0U);
    Spoil(base, RoundUp(16 + 2 * count, 4) + 2 * count);
    ExpectFound(forged, "a.sti: layer 1 slice 1 base: an outlier is not a finite number");
  }
  {
    ForgedContainer forged;
    const auto full = forged.Part(forged.index().shard({0, 1}).parts[PartKind::kFull]);
    Spoil(full, full.size());
    ExpectFound(forged, "a.sti: layer 0 slice 1 full fidelity: a weight is not a finite number");
  }
  for (const auto& [kind, name] : {std::pair(ResidentKind::kEmbedding, "embedding parameters"),
                                   std::pair(ResidentKind::kLayer, "layer 0 parameters"),
                                   std::pair(ResidentKind::kHead, "head parameters")}) {
    ForgedContainer forged;
    const ResidentLocation& location = forged.index().Resident(kind);
    ASSERT_EQ(location.compression, Compression::kNone);
    Spoil(forged.Part(location.part), location.part.length);
    ExpectFound(forged, std::string("a.sti: ") + name + ": holds a number that is not finite");
  }
  {
    ForgedContainer forged;
    const RowTable& rows = forged.index().positions;
    Spoil(forged.Row(rows, 3), rows.row_bytes - 4);
    ExpectFound(forged, "a.sti: position embedding row 3 holds a number that is not finite");
  }
}

// The last is finite, and its largest value is not.
TEST(Verify, FindsImpossibleStepsOfRows) {
  ShardOptions coded;
  coded.rows = RowCoding::kEightBit;
  for (const auto& [step, problem] :
       {std::pair(-1.0F, "has an impossible step"), std::pair(NAN, "has an impossible step"),
        std::pair(INFINITY, "has an impossible step"),
        std::pair(3e38F, "holds a number that is not finite")}) {
    ForgedContainer forged({}, coded);
    const RowTable& rows = forged.index().words;
    StoreLittle<uint32_t>(&forged.Row(rows, 5)[rows.columns], std::bit_cast<uint32_t>(step));
    ExpectFound(forged, std::string("a.sti: word embedding row 5 ") + problem);
  }
}

}  // namespace
}  // namespace sti
