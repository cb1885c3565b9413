#include "format/framed_file.h"

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "format/small_file_test.h"

namespace sti {
namespace {

Status Unwrap(std::span<const uint8_t> file) {
  auto payload = UnwrapFrame(kPlanMagic, file, "a.file");
  return payload.ok() ? Status() : Status(payload.error());
}

TEST(FramedFile, RoundTrip) {
  const test::Bin payload = {1, 2, 3, 4, 5};
  const test::Bin file = WrapFrame(kPlanMagic, payload);
  EXPECT_EQ(file.size(), 45u);
  EXPECT_EQ(*UnwrapFrame(kPlanMagic, file, "a.file"), payload);
  EXPECT_TRUE(UnwrapFrame(kPlanMagic, WrapFrame(kPlanMagic, {}), "a.file")->empty());
  test::ExpectDamageIsFound(file, Unwrap);
}

TEST(FramedFile, HeaderIsWhatTheSpecSays) {
  const test::Bin file = WrapFrame(kProfileMagic, test::Bin{7});
  EXPECT_EQ(std::string(file.begin(), file.begin() + 8), std::string("STIPROF\0", 8));
  EXPECT_EQ(test::Bin(file.begin() + 8, file.begin() + 24),
            (test::Bin{1, 0, 0, 0, 40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(FramedFile, OtherKindsAndNewerVersionsAreNamed) {
  test::Bin file = WrapFrame(kProfileMagic, test::Bin{7});
  EXPECT_NE(Unwrap(file).error().Message().find("STIPLAN"), std::string::npos);
  file = WrapFrame(kPlanMagic, test::Bin{7});
  file[8] = 2;
  EXPECT_NE(Unwrap(file).error().Message().find("newer"), std::string::npos);
  file[8] = 0;  // which never was
  EXPECT_EQ(Unwrap(file).error().kind, ErrorKind::kDamaged);
  EXPECT_NE(Unwrap(file).error().Message().find("format version 0"), std::string::npos);
}

// A later minor version may have a longer header; today's reader skips what it does not know.
TEST(FramedFile, LongerHeaderOfALaterMinorIsRead) {
  const test::Bin payload = {9, 8, 7};
  test::Bin file = WrapFrame(kPlanMagic, payload);
  file.insert(file.begin() + 32, 8, 0xAB);
  file[10] = 1;
  file[12] = 48;
  const uint64_t sum = Checksum(std::span(file).first(40));
  for (int i = 0; i < 8; ++i) file[40 + i] = static_cast<uint8_t>(sum >> (8 * i));
  auto read = UnwrapFrame(kPlanMagic, file, "a.file");
  ASSERT_TRUE(read.ok()) << read.error().Message();
  EXPECT_EQ(*read, payload);
}

TEST(FramedFile, JsonIsToldByItsFirstByte) {
  EXPECT_TRUE(LooksLikeJson(AsBytes(" \n\t{")));
  EXPECT_FALSE(LooksLikeJson(AsBytes("STIPLAN")));
  EXPECT_FALSE(LooksLikeJson({}));
}

}  // namespace
}  // namespace sti
