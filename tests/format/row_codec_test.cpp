#include "format/row_codec.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "base/little_endian.h"
#include "support/expect.h"
#include "support/random.h"

namespace sti {
namespace {

RowTable Table(uint32_t columns, RowCoding coding) {
  RowTable table;
  table.rows = 10;
  table.columns = columns;
  table.coding = coding;
  table.row_bytes = RowBytes(columns, DataType::kF32, coding);
  return table;
}

std::vector<uint8_t> Stored(const RowTable& table, const std::vector<float>& values, uint32_t row) {
  std::vector<uint8_t> source(values.size() * 4);
  for (size_t i = 0; i < values.size(); ++i) {
    StoreLittle<uint32_t>(&source[i * 4], std::bit_cast<uint32_t>(values[i]));
  }
  std::vector<uint8_t> stored(table.row_bytes);
  EncodeRow(table, source, stored);
  SealRow(row, stored);
  return stored;
}

std::vector<float> Read(const RowTable& table, const std::vector<uint8_t>& stored) {
  std::vector<float> sum(table.columns, 0.0F);
  AddRow(table, stored, sum.data());
  return sum;
}

TEST(RowCodec, ExactRowsAreWhatTheyWere) {
  const RowTable table = Table(33, RowCoding::kExact);
  const auto values = TestRandom(1).Normals(33, 0.1);
  EXPECT_EQ(Read(table, Stored(table, values, 3)), values);
}

TEST(RowCodec, EightBitValuesAreWithinHalfAStep) {
  const RowTable table = Table(384, RowCoding::kEightBit);
  EXPECT_EQ(table.row_bytes, 384U + 4 + 4);
  auto values = TestRandom(2).Normals(384, 0.05);
  values[7] = 0.9F;  // rows have such
  values[8] = -0.9F;
  const auto seen = Read(table, Stored(table, values, 3));
  const float step = 0.9F / 128;
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(seen[i], values[i], step * 0.5001F) << i;
  }
}

// The first k bits of a code stand for the middle of a step that the finer steps lie in.
TEST(RowCodec, EightBitCodesNest) {
  const RowTable table = Table(200, RowCoding::kEightBit);
  const auto values = TestRandom(3).Normals(200, 1.0);
  const auto stored = Stored(table, values, 0);
  const float largest = LoadLittle<uint32_t>(&stored[200]) == 0
                            ? 0
                            : std::bit_cast<float>(LoadLittle<uint32_t>(&stored[200])) * 128;
  for (uint32_t bits = 2; bits <= 8; ++bits) {
    const float step = 2 * largest / static_cast<float>(1U << bits);
    for (size_t i = 0; i < values.size(); ++i) {
      const auto code = static_cast<float>(stored[i] >> (8 - bits));
      const float middle = (code + 0.5F - static_cast<float>(1U << (bits - 1))) * step;
      EXPECT_NEAR(middle, values[i], step * 0.5001F) << bits << " bits, value " << i;
    }
  }
}

TEST(RowCodec, RowsOfNothingAndOfExtremes) {
  const RowTable table = Table(4, RowCoding::kEightBit);
  const std::vector<float> zeros(4, 0.0F);
  EXPECT_EQ(Read(table, Stored(table, zeros, 0)), zeros);
  const std::vector<float> tiny(4, 1e-45F);  // a step too small for a float
  EXPECT_EQ(Read(table, Stored(table, tiny, 0)), zeros);
  const std::vector<float> huge{3.4e38F, -3.4e38F, 0, 1};
  for (const float value : Read(table, Stored(table, huge, 0))) EXPECT_TRUE(std::isfinite(value));
}

TEST(RowCodec, AStepIsAFiniteNumberOfAtLeastZero) {
  const RowTable table = Table(4, RowCoding::kEightBit);
  auto stored = Stored(table, {1, 2, 3, 4}, 5);
  const auto set = [&](float step) {
    StoreLittle<uint32_t>(&stored[4], std::bit_cast<uint32_t>(step));
    SealRow(5, stored);
  };
  for (const float step : {0.0F, 1e-45F, 2.6e36F}) {
    set(step);
    EXPECT_TRUE(CheckRow(table, 5, stored, "a").ok()) << step;
    EXPECT_TRUE(CheckRowValues(table, 5, stored, "a").ok()) << step;
  }
  for (const float step : {-1e-45F, -1.0F, NAN, INFINITY}) {
    set(step);
    EXPECT_TRUE(FailedWith(CheckRow(table, 5, stored, "a"), ErrorKind::kDamaged,
                           "a: word embedding row 5 has an impossible step"));
  }
  set(2.7e36F);  // the middle of its last step overflows
  EXPECT_TRUE(CheckRow(table, 5, stored, "a").ok());
  EXPECT_TRUE(FailedWith(CheckRowValues(table, 5, stored, "a"), ErrorKind::kDamaged,
                         "row 5 holds a number that is not finite"));
}

TEST(RowCodec, AnExactRowMayHoldWhatAVerifierFinds) {
  const RowTable table = Table(4, RowCoding::kExact);
  const auto stored = Stored(table, {1, 2, 3, INFINITY}, 5);
  EXPECT_TRUE(CheckRow(table, 5, stored, "a").ok());
  EXPECT_TRUE(FailedWith(CheckRowValues(table, 5, stored, "a"), ErrorKind::kDamaged, "not finite"));
}

TEST(RowCodec, AnotherRowsPlaceOrAChangedByteDoesNotPass) {
  for (const RowCoding coding : {RowCoding::kExact, RowCoding::kEightBit}) {
    const RowTable table = Table(16, coding);
    auto stored = Stored(table, TestRandom(4).Normals(16, 1.0), 5);
    EXPECT_TRUE(CheckRow(table, 5, stored, "a").ok());
    EXPECT_TRUE(FailedWith(CheckRow(table, 6, stored, "a"), ErrorKind::kDamaged,
                           "a: word embedding row 6 is damaged"));
    for (uint8_t& byte : stored) {
      byte ^= 0x10;
      EXPECT_FALSE(CheckRow(table, 5, stored, "a").ok());
      byte ^= 0x10;
    }
  }
}

}  // namespace
}  // namespace sti
