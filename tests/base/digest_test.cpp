#include "base/digest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/expect.h"

namespace sti {
namespace {

Digest DigestOf(const std::vector<std::string>& texts) {
  Digester digester;
  for (const std::string& text : texts) digester.Add(std::string_view(text));
  return digester.Finish();
}

Digest Counting() {
  Digest digest;
  for (size_t i = 0; i < 16; ++i) digest.bytes[i] = static_cast<uint8_t>(i * 16 + 15 - i);
  return digest;
}

TEST(Digest, HexRoundTrip) {
  const Digest digest = Counting();
  EXPECT_EQ(digest.Hex(), "0f1e2d3c4b5a69788796a5b4c3d2e1f0");
  const auto parsed = ParseDigest(digest.Hex());
  ASSERT_TRUE(Succeeded(parsed));
  EXPECT_EQ(*parsed, digest);
  EXPECT_EQ(digest.Prefix(), "0f1e2d3c…");
}

TEST(Digest, ParseRefusesWhatIsNotHex) {
  const std::string hex = Counting().Hex();
  EXPECT_TRUE(FailedWith(ParseDigest(""), ErrorKind::kDamaged, "32 hexadecimal digits"));
  EXPECT_TRUE(FailedWith(ParseDigest(hex.substr(1)), ErrorKind::kDamaged));
  EXPECT_TRUE(FailedWith(ParseDigest(hex + "0"), ErrorKind::kDamaged));
  for (size_t i = 0; i < hex.size(); ++i) {
    std::string wrong = hex;
    wrong[i] = 'g';
    EXPECT_TRUE(FailedWith(ParseDigest(wrong), ErrorKind::kDamaged));
  }
}

TEST(Digest, EmptyMeansAllZero) {
  EXPECT_TRUE(Digest{}.empty());
  EXPECT_FALSE(DigestOf({}).empty());
}

TEST(Digest, TextIsPrefixedByItsLength) {
  EXPECT_NE(DigestOf({"a", "bc"}), DigestOf({"ab", "c"}));
  EXPECT_NE(DigestOf({""}), DigestOf({"", ""}));
  EXPECT_EQ(DigestOf({"a", "bc"}), DigestOf({"a", "bc"}));
}

TEST(Digest, BytesAddUpWhateverThePieces) {
  const std::vector<uint8_t> bytes{1, 2, 3, 4, 5, 6, 7, 8, 9};
  Digester whole;
  whole.Add(std::span<const uint8_t>(bytes));
  Digester pieces;
  pieces.Add(std::span<const uint8_t>(bytes).first(4));
  pieces.Add(std::span<const uint8_t>(bytes).subspan(4));
  EXPECT_EQ(whole.Finish(), pieces.Finish());
}

TEST(Digest, NumbersAreEightLittleEndianBytes) {
  Digester number;
  number.AddNumber(0x0807060504030201U);
  const std::vector<uint8_t> bytes{1, 2, 3, 4, 5, 6, 7, 8};
  Digester raw;
  raw.Add(std::span<const uint8_t>(bytes));
  EXPECT_EQ(number.Finish(), raw.Finish());
}

// XXH3's own test values: the algorithm in files may never change.
TEST(Digest, IsXxh3) {
  EXPECT_EQ(Checksum({}), 0x2D06800538D394C2U);
  EXPECT_EQ(Digester().Finish().Hex(), "99aa06d3014798d86001c324468d497f");
}

TEST(Checksum, DependsOnEveryByteAndOnTheSeed) {
  std::vector<uint8_t> bytes(1000, 7);
  const uint64_t sum = Checksum(bytes);
  EXPECT_NE(Checksum(bytes, 1), sum);
  for (size_t i = 0; i < bytes.size(); i += 37) {
    bytes[i] ^= 1;
    EXPECT_NE(Checksum(bytes), sum) << i;
    bytes[i] ^= 1;
  }
  EXPECT_EQ(Checksum(bytes), sum);
}

}  // namespace
}  // namespace sti
