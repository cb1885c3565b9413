#include "format/importance_part_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "base/remedy.h"
#include "base/utf8.h"
#include "format/framed_file.h"
#include "format/importance_file.h"
#include "format/small_file_test.h"
#include "support/expect.h"
#include "support/memory_meter.h"

namespace sti {
namespace {

ImportancePart ExamplePart() {
  ImportancePart part;
  for (uint8_t i = 0; i < 16; ++i) {
    part.job.model.bytes[i] = i;
    part.job.data.bytes[i] = static_cast<uint8_t>(200 + i);
  }
  part.job.metric = Metric::kLoss;
  part.job.kernel = "native-avx512-fp32";
  part.job.layers = 2;
  part.job.width = 3;
  part.job.gains = true;
  part.job.examples = 872;
  part.job.units = 77;
  part.job.raised_bits = {6, 32};
  part.job.base_bits = 3;
  part.job.submodels = {{1, 2, 2}, {1, 2, 32}, {2, 3, 2}};
  part.part = 2;
  part.parts = 8;
  part.begin = 10;
  part.end = 15;
  part.due = 20;
  part.tallies.resize(16);
  for (uint64_t i = 0; i < part.tallies.size(); ++i) {
    part.tallies[i] = {40 + i, 20 + i, i, 1, {UINT64_MAX - i, UINT64_MAX}, {i, 2 * i}, {3 * i, 7}};
  }
  return part;
}

TEST(ImportancePartFile, ReadsWhatItWrites) {
  ImportancePart part = ExamplePart();
  for (int round = 0; round < 2; ++round) {
    const auto bytes = EncodeImportancePart(part);
    EXPECT_TRUE(IsImportancePart(bytes));
    const auto read = ParseImportancePart(bytes, "a.file");
    ASSERT_TRUE(Succeeded(read));
    EXPECT_EQ(read->job, part.job);
    EXPECT_EQ(read->tallies, part.tallies);
    EXPECT_EQ(EncodeImportancePart(*read), bytes);
    const std::string json = ImportancePartToJson(part);
    EXPECT_EQ(ImportancePartToJson(*read), json);
    EXPECT_EQ(json.find('\n'), json.size() - 1) << "a line";
    part.job.submodels.clear();
    part.tallies.resize(13);
  }
}

// A part by spearman, of which only some cells have been counted.
ImportancePart PartOfPairs() {
  ImportancePart part = ExamplePart();
  part.job.metric = Metric::kSpearman;
  part.job.examples = 3;
  part.job.scores = {0.1 + 0.2, -5, 1e300};
  for (size_t i = 0; i < part.tallies.size(); ++i) {
    part.tallies[i] = Tally();
    part.tallies[i].examples = i % 3;
    for (size_t e = 0; e < i % 3; ++e)
      part.tallies[i].cosines.push_back(kCosineUnits - static_cast<int32_t>(i * i * e));
  }
  part.tallies[2].cosines = {-kCosineUnits, kCosineUnits};
  return part;
}

TEST(ImportancePartFile, ReadsTheCosinesOfPairs) {
  const ImportancePart part = PartOfPairs();
  const auto read = ParseImportancePart(EncodeImportancePart(part), "a.file");
  ASSERT_TRUE(Succeeded(read));
  EXPECT_EQ(read->job, part.job);
  EXPECT_EQ(read->tallies, part.tallies);
}

// A way to spoil a part, and words of the refusal that follows.
struct Spoiled {
  void (*spoil)(ImportancePart&);
  std::string words;
};

void ExpectRefused(const ImportancePart& sound, std::span<const Spoiled> cases) {
  for (const Spoiled& one : cases) {
    ImportancePart part = sound;
    one.spoil(part);
    EXPECT_TRUE(FailedWith(ParseImportancePart(EncodeImportancePart(part), "a.file"),
                           ErrorKind::kDamaged, one.words));
  }
}

TEST(ImportancePartFile, CosinesOfOtherCellsAndScoresOfOtherPairsAreRefused) {
  const std::string scores = "scores is not one for each pair of spearman";
  const std::string cosines = "cosines is not one for each example of each cell";
  const Spoiled cases[] = {
      {[](ImportancePart& p) { p.job.scores.pop_back(); }, scores},
      {[](ImportancePart& p) { p.job.scores.clear(); }, scores},
      {[](ImportancePart& p) { p.job.metric = Metric::kCosine; }, scores},
      {[](ImportancePart& p) { p.job.scores[1] = INFINITY; }, "scores holds what is not a finite"},
      {[](ImportancePart& p) { p.tallies[1].cosines.clear(); }, cosines},
      {[](ImportancePart& p) { p.tallies[1].cosines.push_back(0); }, cosines},
      {[](ImportancePart& p) { p.tallies[15].cosines.push_back(0); }, cosines},
      {[](ImportancePart& p) { p.tallies[4].examples = 3; }, cosines},
      {[](ImportancePart& p) { ++p.tallies[2].cosines[1]; }, "cosines holds what is not -1 to 1"},
      {[](ImportancePart& p) { p.tallies[2].cosines[0] = INT32_MIN; }, "cosines holds what is not"},
  };
  ExpectRefused(PartOfPairs(), cases);
}

// A part of a model that labels tokens.
ImportancePart PartOfTokens(Metric metric) {
  ImportancePart part = ExamplePart();
  part.job.metric = metric;
  part.job.of_spans = true;
  for (size_t i = 0; i < part.tallies.size(); ++i) {
    for (size_t sum = 0; sum < kSpanSums; ++sum) part.tallies[i].spans[sum] = (10 + i) * (sum + 2);
    part.tallies[i].spans[0] = i;
  }
  return part;
}

TEST(ImportancePartFile, ReadsTheSumsOfSpans) {
  for (const Metric metric : {Metric::kF1, Metric::kLoss, Metric::kKl}) {
    const ImportancePart part = PartOfTokens(metric);
    const auto read = ParseImportancePart(EncodeImportancePart(part), "a.file");
    ASSERT_TRUE(Succeeded(read));
    EXPECT_EQ(read->job, part.job);
    EXPECT_EQ(read->tallies, part.tallies);
  }
}

TEST(ImportancePartFile, SumsOfSpansThatCannotBeAreRefused) {
  const std::string most = "a tally counts more spans than there can be";
  const Spoiled cases[] = {
      {[](ImportancePart& p) { p.job.of_spans = false; }, "spans is missing"},
      {[](ImportancePart& p) { p.job.metric = Metric::kAccuracy; }, "spans is there, and the"},
      {[](ImportancePart& p) { p.job.metric = Metric::kCosine; }, "spans is there, and the"},
      {[](ImportancePart& p) { p.tallies.pop_back(); }, "the tallies are not one for each cell"},
      {[](ImportancePart& p) { p.tallies[3].spans[0] = 100; }, most},
      {[](ImportancePart& p) { p.tallies[3].spans[8] = UINT64_MAX; }, most},
  };
  ExpectRefused(PartOfTokens(Metric::kF1), cases);
}

// Wherever it is hit. A changed magic makes it another file.
TEST(ImportancePartFile, DamageIsFound) {
  const auto bytes = EncodeImportancePart(ExamplePart());
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const uint8_t mask : {uint8_t{1}, uint8_t{0x80}}) {
      auto damaged = bytes;
      damaged[i] ^= mask;
      const Status status = test::StatusOf<ParseImportancePart>(damaged);
      ASSERT_TRUE(Refused(status)) << i;
    }
    ASSERT_FALSE(test::StatusOf<ParseImportancePart>(std::span(bytes).first(i)).ok()) << i;
  }
}

TEST(ImportancePartFile, WrongValuesAreNamed) {
  const struct {
    void (*spoil)(ImportancePart&);
    const char* words;
  } cases[] = {
      {[](ImportancePart& p) { p.job.model = {}; }, "model is missing"},
      {[](ImportancePart& p) { p.job.data = {}; }, "data is missing"},
      {[](ImportancePart& p) { p.job.kernel.clear(); }, "kernel is missing"},
      {[](ImportancePart& p) { p.job.metric = Metric{99}; }, "metric is not"},
      {[](ImportancePart& p) { p.job.layers = 0; }, "layers is not"},
      {[](ImportancePart& p) { p.job.layers = UINT32_MAX; }, "layers is not"},
      {[](ImportancePart& p) { p.job.width = 257; }, "width is not"},
      {[](ImportancePart& p) { p.job.examples = 0; }, "job_examples is not"},
      {[](ImportancePart& p) { p.job.examples = UINT64_MAX; }, "job_examples is not"},
      {[](ImportancePart& p) { p.job.raised_bits.clear(); }, "raised_bits is not"},
      {[](ImportancePart& p) { p.job.kernel = "\033[31m"; }, "kernel is not at most 64"},
      {[](ImportancePart& p) { p.job.base_bits = 0; }, "base_bits is not"},
      {[](ImportancePart& p) { p.job.base_bits = 6; }, "base_bits is not"},
      {[](ImportancePart& p) {
         p.job.raised_bits = {32, 6};
       },
       "raised_bits is not"},
      {[](ImportancePart& p) {
         p.job.raised_bits = {6, 7};
       },
       "raised_bits is not"},
      {[](ImportancePart& p) { p.job.raised_bits = {32}; }, "the tallies are not one for each"},
      {[](ImportancePart& p) { p.job.layers = 3; }, "the tallies are not one for each"},
      {[](ImportancePart& p) { p.job.submodels[0].depth = 3; }, "no such model has"},
      {[](ImportancePart& p) {
         p.job.submodels[2] = {1, 2, 32};
       },
       "is not sorted"},
      {[](ImportancePart& p) { p.part = 0; }, "part is not from 1 to parts"},
      {[](ImportancePart& p) { p.part = 9; }, "part is not from 1 to parts"},
      {[](ImportancePart& p) { p.begin = 16; }, "do not ascend"},
      {[](ImportancePart& p) { p.end = 21; }, "do not ascend"},
      {[](ImportancePart& p) { p.due = 78; }, "do not ascend"},
      {[](ImportancePart& p) { p.tallies.pop_back(); }, "the tallies are not one for each"},
      {[](ImportancePart& p) { p.tallies[3].examples = 873; }, "more than there are"},
      {[](ImportancePart& p) { p.tallies[3].right = 44; }, "more than there are"},
      {[](ImportancePart& p) { p.tallies[3].gained = 24; }, "more than there are"},
      {[](ImportancePart& p) { p.tallies[3].lost = UINT64_MAX; }, "more than there are"},
  };
  for (const auto& one : cases) {
    ImportancePart part = ExamplePart();
    one.spoil(part);
    const MemoryMeter meter;
    EXPECT_TRUE(FailedWith(ParseImportancePart(EncodeImportancePart(part), "a.file"),
                           ErrorKind::kDamaged, one.words));
    EXPECT_LT(meter.peak_bytes(), uint64_t{1} << 20) << one.words;
  }
}

TEST(ImportancePartFile, OthersAreRefusedByName) {
  EXPECT_TRUE(FailedWith(ParseImportancePart(AsBytes("{}"), "a.file"), ErrorKind::kForeign,
                         "is no part of an importance", Remedy::kGiveParts));
  EXPECT_TRUE(FailedWith(ParseImportancePart(WrapFrame(kImportanceMagic, {}), "a.file"),
                         ErrorKind::kForeign, "is no part of an importance"));
  EXPECT_TRUE(FailedWith(ParseImportance(EncodeImportancePart(ExamplePart()), "a.file"),
                         ErrorKind::kForeign, "a.file: is part 2/8 of an importance",
                         Remedy::kJoinParts));
}

}  // namespace
}  // namespace sti
