#include <gtest/gtest.h>

#include "base/utf8.h"
#include "import/torch_file.h"
#include "support/expect.h"
#include "support/torch_writer.h"

namespace sti {
namespace {

std::string TextOf(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

const std::vector<ZipMember> kMembers = {{"a/b", "first"}, {"c", ""}, {"d", "third member"}};

TEST(ZipFile, FindsMembers) {
  for (const std::string& text : {ZipBytes(kMembers), ZipBytes(kMembers, true),
                                  "something in front, that nobody reads" + ZipBytes({})}) {
    const auto members = ReadZip(AsBytes(text));
    ASSERT_TRUE(Succeeded(members));
    if (members->empty()) continue;
    ASSERT_EQ(members->size(), 3u);
    for (const auto& [name, bytes] : kMembers) EXPECT_EQ(TextOf(members->at(name)), bytes);
  }
}

TEST(ZipFile, TakesACommentBehindItsEnd) {
  std::string text = ZipBytes(kMembers);
  text[text.size() - 2] = 3;
  EXPECT_TRUE(Refused(ReadZip(AsBytes(text)), "it has no end"));
  EXPECT_EQ(ReadZip(AsBytes(text + "abc"))->size(), 3u);
}

/// Returns the archive with `bytes` over what lies `at` bytes behind the last `magic`.
std::string Poked(std::string text, std::string_view magic, size_t at, std::string_view bytes) {
  return text.replace(text.rfind(magic) + at, bytes.size(), bytes);
}

TEST(ZipFile, RefusesWhatIsNotSound) {
  const std::string zip = ZipBytes(kMembers);
  const std::string zip64 = ZipBytes(kMembers, true);
  const std::string_view kEnd = "PK\5\6", kEntry = "PK\1\2", kLocal = "PK\3\4", kEnd64 = "PK\6\6",
                         kLocator = "PK\6\7";
  const std::pair<std::string, const char*> broken[] = {
      {"", "it has no end"},
      {std::string(100, 'x'), "it has no end"},
      {Poked(zip, kEnd, 16, "\xFF\xFF"), "its directory lies outside the file"},
      {Poked(zip, kEnd, 12, "\x09"), "an entry of its directory is missing"},
      {Poked(zip, kEnd, 10, "\x04"), "an entry of its directory is missing"},
      {Poked(zip, kEntry, 28, "\xFF"), "an entry of its directory is cut short"},
      {Poked(zip, kEntry, 24, "\x07"), "a stored member has two sizes"},
      {Poked(zip, kEntry, 20, "\xFF\xFF\xFF\x7F\xFF\xFF\xFF\x7F"),
       "a member lies outside the file"},
      {Poked(zip, kEntry, 42, "\x09"), "a member does not begin where it should"},
      {Poked(zip, kEntry, 42, "\xFF\xFF\xFF\x7F"), "a member does not begin where it should"},
      {Poked(zip, kLocal, 0, "x"), "a member does not begin where it should"},
      {Poked(zip, kLocal, 26, "\xFF\xFF"), "a member lies outside the file"},
      {Poked(zip64, kLocator, 8, "\x01"), "no end of 64 bits where it says"},
      {Poked(zip64, kLocator, 8, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"), "no end of 64 bits"},
      {Poked(zip64, kEnd64, 48, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"), "its directory lies outside"},
      {Poked(zip64, kEnd64, 32, "\xFF\xFF\xFF"), "it has more than 2^20 members"},
      {Poked(zip64, kEntry, 46 + 1 + 4 + 2, "\x17"), "a field of 64 bits is cut short"},
      {Poked(zip64, kEntry, 46 + 1 + 2, "\x1E"), "a member does not begin where it should"},
      {ZipBytes({{"a", "1"}, {"a", "1"}}), "a member stands twice"}};
  for (const auto& [text, words] : broken) {
    EXPECT_TRUE(Refused(ReadZip(AsBytes(text)), words)) << words;
  }
}

// Only what an entry has no room for stands in the field behind it.
TEST(ZipFile, ReadsOfTheFieldWhatTheEntryLacks) {
  std::string zip = ZipBytes(kMembers, true);
  const std::string bytes = {char(kMembers[2].second.size()), 0, 0, 0};
  const std::string offset = {char(zip.rfind("PK\3\4")), 0, 0, 0, 0, 0, 0, 0};
  zip = Poked(Poked(zip, "PK\1\2", 20, bytes + bytes), "PK\1\2", 46 + 1 + 4 + 4, offset);
  const auto members = ReadZip(AsBytes(zip));
  ASSERT_TRUE(Succeeded(members));
  EXPECT_EQ(TextOf(members->at("d")), kMembers[2].second);
}

TEST(ZipFile, RefusesWhatIsPacked) {
  for (const size_t at : {size_t{8}, size_t{10}}) {
    const std::string text = Poked(ZipBytes(kMembers), "PK\1\2", at, "\1");
    EXPECT_TRUE(
        FailedWith(ReadZip(AsBytes(text)), ErrorKind::kForeign, "member d is packed or encrypted"));
  }
}

TEST(ZipFile, EveryPrefixIsRefused) {
  for (const bool zip64 : {false, true}) {
    const std::string whole = ZipBytes(kMembers, zip64);
    for (size_t length = 0; length < whole.size(); ++length) {
      EXPECT_TRUE(Refused(ReadZip(AsBytes(std::string_view(whole).substr(0, length))))) << length;
    }
  }
}

}  // namespace
}  // namespace sti
