// The use of words in an importance file: words, reads of embedding rows, and rooms for rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "format/framed_file.h"
#include "format/importance_file.h"
#include "format/importance_rules.h"
#include "format/small_file_test.h"
#include "support/expect.h"

namespace sti {
namespace {

Importance WithWords() {
  Importance importance;
  importance.model.bytes[0] = 1;
  importance.metric = Metric::kKl;
  importance.layers = importance.width = 1;
  importance.scores = {0.5};
  importance.word_use.words = {2, 3, 7};
  importance.word_use.reads = {{16, 0, 0.75, 1, {{32, 0.625, 0.875}, {64, 0.51, 0.76}}},
                               {16, 3, 0.5, 0.75, {{32, 0.25, 0.5}}},
                               {32, 0, 0.875, 0.9375}};
  return importance;
}

TEST(ImportanceWords, BothSpellingsHoldTheSame) {
  const Importance importance = WithWords();
  const auto binary = ParseImportance(EncodeImportance(importance), "a.file");
  ASSERT_TRUE(Succeeded(binary));
  EXPECT_EQ(binary->word_use, importance.word_use);
  const auto json = ParseImportance(AsBytes(ImportanceToJson(importance)), "a.file");
  ASSERT_TRUE(Succeeded(json));
  EXPECT_EQ(json->word_use, importance.word_use);
}

TEST(ImportanceWords, UsesThatCannotBeAreRefused) {
  using Use = WordUse;
  const struct {
    void (*spoil)(Use&);
    const char* words;
  } cases[] = {
      {[](Use& u) { u.words[1] = 2; }, "words has an entry twice"},
      {[](Use& u) { u.words[1] = 1U << 22; }, "words has an entry of 2^22 or more"},
      {[](Use& u) { u.reads[2].length = 0; }, "a length or a number of words that cannot be"},
      {[](Use& u) { u.reads[1].words = 4; }, "a length or a number of words that cannot be"},
      {[](Use& u) { std::swap(u.reads[0], u.reads[1]); }, "a length without an entry of 0"},
      {[](Use& u) { std::swap(u.reads[1], u.reads[2]); }, "is not sorted by length and words"},
      {[](Use& u) { u.reads[0].share = 1.5; }, "a share that is not from 0 to 1"},
      {[](Use& u) { u.reads[0].p99_share = -0.5; }, "a share that is not from 0 to 1"},
      {[](Use& u) { u.reads[0].rooms[0].tokens = 16; }, "rooms that do not ascend"},
      {[](Use& u) { u.reads[0].rooms[1].tokens = 32; }, "rooms that do not ascend"},
      {[](Use& u) { u.reads[0].rooms[1].tokens = UINT32_MAX; }, "or cannot be"},
      {[](Use& u) { u.reads[1].rooms[0].share = 1.5; }, "a room's share that is not"},
      {[](Use& u) { u.reads[1].rooms[0].p99_share = -0.5; }, "a room's share that is not"},
  };
  for (const auto& one : cases) {
    Importance importance = WithWords();
    one.spoil(importance.word_use);
    const std::string json = ImportanceToJson(importance);
    for (const Status& status : {test::StatusOf<ParseImportance>(EncodeImportance(importance)),
                                 test::StatusOf<ParseImportance>(AsBytes(json))}) {
      EXPECT_TRUE(FailedWith(status, ErrorKind::kDamaged, one.words));
    }
  }
  Importance importance = WithWords();
  importance.word_use.reads[1].rooms[0].share = std::nan("");
  EXPECT_TRUE(FailedWith(test::StatusOf<ParseImportance>(EncodeImportance(importance)),
                         ErrorKind::kDamaged, "a room's share that is not"));
}

// In the binary spelling rooms are four lists, each of which may be too short, and say which entry
// they are of.
TEST(ImportanceWords, ListsOfRoomsAgreeInLengthAndNameEntries) {
  const std::vector<uint8_t> whole = EncodeImportance(WithWords());
  const auto table = UnwrapFrame(kImportanceMagic, whole, "importance");
  ASSERT_TRUE(Succeeded(table));
  const auto spoilt = [&](const auto& numbers, const auto& change) {
    std::vector<uint8_t> payload = *table;
    std::vector<uint8_t> pattern(numbers.size() * sizeof(numbers[0]));
    std::memcpy(pattern.data(), numbers.data(), pattern.size());
    const auto found = std::search(payload.begin(), payload.end(), pattern.begin(), pattern.end());
    EXPECT_NE(found, payload.end());
    if (found != payload.end()) change(&*found);
    return test::StatusOf<ParseImportance>(WrapFrame(kImportanceMagic, payload));
  };
  const auto shorten = [](uint8_t* list) { --*(list - 4); };
  const auto refused = [](const Status& status) {
    return FailedWith(status, ErrorKind::kDamaged, "rooms of row_reads differ in length");
  };
  EXPECT_TRUE(refused(spoilt(std::array<uint32_t, 3>{0, 0, 1}, shorten)));
  EXPECT_TRUE(refused(spoilt(std::array<uint32_t, 3>{32, 64, 32}, shorten)));
  EXPECT_TRUE(refused(spoilt(std::array{0.625, 0.51, 0.25}, shorten)));
  EXPECT_TRUE(refused(spoilt(std::array{0.875, 0.76, 0.5}, shorten)));
  const auto name_no_entry = [](uint8_t* list) { list[8] = 3; };
  EXPECT_TRUE(FailedWith(spoilt(std::array<uint32_t, 3>{0, 0, 1}, name_no_entry),
                         ErrorKind::kDamaged, "a room of an entry that is not there"));
}

}  // namespace
}  // namespace sti
