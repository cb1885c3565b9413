// The small files of version 1 as they were written once (tests/data/v1 and v1.1): both spellings
// must load for ever, and mean the same.
#include <gtest/gtest.h>

#include "base/utf8.h"
#include "format/frozen_file.h"
#include "format/importance_file.h"
#include "format/importance_part_file.h"
#include "format/small_file_test.h"

namespace sti {
namespace {

using test::Frozen;

// Binary and JSON parse to one value, whose spellings are the frozen bytes again.
template <typename Value>
void ExpectFrozen(const std::string& name,
                  Result<Value> (*parse)(std::span<const uint8_t>, const std::string&),
                  std::vector<uint8_t> (*encode)(const Value&),
                  std::string (*to_json)(const Value&)) {
  std::string binary = Frozen(name);
  std::string json = Frozen(name + ".json");
  for (const std::string& spelling : {binary, json}) {
    auto value = parse(AsBytes(spelling), name);
    ASSERT_TRUE(value.ok()) << value.error().Message();
    EXPECT_EQ(to_json(*value), json);
    std::vector<uint8_t> encoded = encode(*value);
    EXPECT_EQ(std::string(encoded.begin(), encoded.end()), binary);
  }
  test::ExpectDamageIsFound({binary.begin(), binary.end()}, [&](auto bytes) -> Status {
    auto value = parse(bytes, "a.file");
    return value.ok() ? Status() : Status(value.error());
  });
}

TEST(FrozenSmallFiles, ImportanceLoads) {
  ExpectFrozen<Importance>("v1/tiny.importance", ParseImportance, EncodeImportance,
                           ImportanceToJson);
}

TEST(FrozenSmallFiles, ImportanceWithSubmodelsAndGainsLoads) {
  ExpectFrozen<Importance>("v1.1/tiny.importance", ParseImportance, EncodeImportance,
                           ImportanceToJson);
  const auto value = ParseImportance(AsBytes(Frozen("v1.1/tiny.importance")), "tiny");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->submodels.size(), 12U);
  EXPECT_EQ(value->gain_bits, (std::vector<uint32_t>{3, 4, 5, 6, 32}));
  EXPECT_EQ(value->gains.size(), 20U);
}

TEST(FrozenSmallFiles, ImportanceWithErrorsAndAnEstimateLoads) {
  ExpectFrozen<Importance>("v1.2/tiny.importance", ParseImportance, EncodeImportance,
                           ImportanceToJson);
  const auto value = ParseImportance(AsBytes(Frozen("v1.2/tiny.importance")), "tiny");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->data.Hex(), "00112233445566778899aabbccddeeff");
  EXPECT_EQ(value->errors, (std::vector<double>{0.125, 0.0625, 0.03125, 0}));
  EXPECT_EQ(value->estimate, "first-order");
}

TEST(FrozenSmallFiles, ImportanceWithAnOrderLoads) {
  ExpectFrozen<Importance>("v1.3/tiny.importance", ParseImportance, EncodeImportance,
                           ImportanceToJson);
  const auto value = ParseImportance(AsBytes(Frozen("v1.3/tiny.importance")), "tiny");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->order.heads, (std::vector<uint32_t>{1, 0, 0, 1}));
  EXPECT_EQ(value->order.neurons, (std::vector<uint32_t>{3, 2, 1, 0, 0, 2, 1, 3}));
  EXPECT_EQ(value->order.depth_layers, (std::vector<std::vector<uint32_t>>{{1}, {0, 1}}));
}

TEST(FrozenSmallFiles, ImportanceWithTheUseOfWordsLoads) {
  ExpectFrozen<Importance>("v1.4/tiny.importance", ParseImportance, EncodeImportance,
                           ImportanceToJson);
  const auto value = ParseImportance(AsBytes(Frozen("v1.4/tiny.importance")), "tiny");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->word_use.words, (std::vector<uint32_t>{2, 3, 7}));
  const std::vector<RowReads> reads = {
      {16, 0, 0.75, 1}, {16, 3, 0.5, 0.75}, {32, 0, 0.875, 0.9375}};
  EXPECT_EQ(value->word_use.reads, reads);
}

TEST(FrozenSmallFiles, ImportanceWithCascadesLoads) {
  ExpectFrozen<Importance>("v1.5/tiny.importance", ParseImportance, EncodeImportance,
                           ImportanceToJson);
  const auto value = ParseImportance(AsBytes(Frozen("v1.5/tiny.importance")), "tiny");
  ASSERT_TRUE(value.ok());
  ASSERT_EQ(value->cascade_levels.size(), 3U);
  const CascadeLevelScore last = {2, 2, 32, 1, 0.875, 0.25, 0.125, 0.03125, 0.015625};
  EXPECT_EQ(value->cascade_levels[2], last);
  ASSERT_EQ(value->cascades.size(), 2U);
  const CascadeScore triple = {
      {0, 1, 2}, 0.5, {{1, std::nullopt, {0.5, 0.75}, {0, 0, 1}, {0, 0, 1}, 1, {0.875, 0.75}}}};
  EXPECT_EQ(value->cascades[1], triple);
  EXPECT_EQ(value->cascades[0].cuts[1].slope, 8.0);
  EXPECT_FALSE(value->cascades[0].cuts[0].slope.has_value());
}

TEST(FrozenSmallFiles, ImportanceWithErrorsOfCascadesLoads) {
  ExpectFrozen<Importance>("v1.6/tiny.importance", ParseImportance, EncodeImportance,
                           ImportanceToJson);
  const auto value = ParseImportance(AsBytes(Frozen("v1.6/tiny.importance")), "tiny");
  ASSERT_TRUE(value.ok());
  ASSERT_EQ(value->cascades.size(), 2U);
  EXPECT_EQ(value->cascades[0].cuts[0].difference_error, 0.03125);
  EXPECT_EQ(value->cascades[0].cuts[1].difference_error, 0.0625);
  EXPECT_EQ(value->cascades[1].cuts[0].difference_error, 0);
}

TEST(FrozenSmallFiles, ImportanceWithRoomsForRowsLoads) {
  ExpectFrozen<Importance>("v1.7/tiny.importance", ParseImportance, EncodeImportance,
                           ImportanceToJson);
  const auto value = ParseImportance(AsBytes(Frozen("v1.7/tiny.importance")), "tiny");
  ASSERT_TRUE(value.ok());
  const std::vector<RowReads> reads = {{16, 0, 0.75, 1, {{32, 0.625, 0.875}, {64, 0.5, 0.75}}},
                                       {16, 3, 0.5, 0.75, {{32, 0.25, 0.5}}},
                                       {32, 0, 0.875, 0.9375}};
  EXPECT_EQ(value->word_use.reads, reads);
}

TEST(FrozenSmallFiles, PartOfAnImportanceLoads) {
  const std::string bytes = Frozen("v1/tiny.part");
  const auto part = ParseImportancePart(AsBytes(bytes), "tiny.part");
  ASSERT_TRUE(part.ok()) << part.error().Message();
  const auto encoded = EncodeImportancePart(*part);
  EXPECT_EQ(std::string(encoded.begin(), encoded.end()), bytes);
  EXPECT_EQ(part->part, 2U);
  EXPECT_EQ(part->parts, 3U);
  EXPECT_EQ(part->begin, 3U);
  EXPECT_EQ(part->end, 7U);
  EXPECT_EQ(part->job.units, 13U);
  EXPECT_EQ(part->job.examples, 4U);
  EXPECT_EQ(part->job.submodels.size(), 12U);
  ASSERT_EQ(part->tallies.size(), 33U);
  EXPECT_EQ(part->tallies[0].examples, 0U) << "the base is in the first part";
  EXPECT_EQ(part->tallies[11].examples, 4U);
}

TEST(FrozenSmallFiles, ProfileOfPassesOfSeveralInputsLoads) {
  ExpectFrozen<DeviceProfile>("v1.5/tiny.profile", ParseProfile, EncodeProfile, ProfileToJson);
  const auto value = ParseProfile(AsBytes(Frozen("v1.5/tiny.profile")), "tiny");
  ASSERT_TRUE(value.ok());
  ASSERT_EQ(value->batches.size(), 1U);
  EXPECT_EQ(value->batches[0].batch, 4U);
  ASSERT_EQ(value->batches[0].compute.size(), value->compute.size());
  EXPECT_EQ(value->batches[0].compute[0].layer_us, 3 * value->compute[0].layer_us);
  EXPECT_EQ(value->batches[0].fixed[0].embed_us, 4 * value->fixed[0].embed_us);
}

TEST(FrozenSmallFiles, ImportanceOfAModelThatEmbedsLoads) {
  ExpectFrozen<Importance>("v1.8/sentences.importance", ParseImportance, EncodeImportance,
                           ImportanceToJson);
  const auto value = ParseImportance(AsBytes(Frozen("v1.8/sentences.importance")), "sentences");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->metric, Metric::kSpearman);
  EXPECT_EQ(value->examples, 4U);
  EXPECT_EQ(value->baseline, 0.10540925533894598);
  EXPECT_EQ(value->scores[1], -value->baseline) << "two pairs have changed places";
  EXPECT_TRUE(value->losses.empty());
  ASSERT_EQ(value->submodels.size(), 12U);
  EXPECT_EQ(value->submodels[0].accuracy, 1 - value->submodels[0].loss);
}

TEST(FrozenSmallFiles, ImportanceOfTokenLabelsLoads) {
  ExpectFrozen<Importance>("v1.9/tokens.importance", ParseImportance, EncodeImportance,
                           ImportanceToJson);
  const auto value = ParseImportance(AsBytes(Frozen("v1.9/tokens.importance")), "tokens");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->metric, Metric::kF1);
  EXPECT_EQ(value->examples, 3U);
  EXPECT_GT(value->baseline, 0);
  EXPECT_LT(value->baseline, 1);
  EXPECT_EQ(value->losses.size(), 4U);
  EXPECT_FALSE(value->submodels.empty());
}

// Reads a frozen part, and expects that it would be written so again.
Result<ImportancePart> FrozenPart(const std::string& name) {
  const std::string bytes = Frozen(name);
  auto part = ParseImportancePart(AsBytes(bytes), name);
  if (!part.ok()) return part;
  const auto encoded = EncodeImportancePart(*part);
  EXPECT_EQ(std::string(encoded.begin(), encoded.end()), bytes);
  return part;
}

TEST(FrozenSmallFiles, PartOfAnImportanceOfTokenLabelsLoads) {
  const auto part = FrozenPart("v1.4/tokens.part");
  ASSERT_TRUE(part.ok()) << part.error().Message();
  EXPECT_EQ(part->job.metric, Metric::kF1);
  EXPECT_TRUE(part->job.of_spans);
  EXPECT_GT(SumOf(part->tallies[0], SpanSum::kBoth), 0U);
}

TEST(FrozenSmallFiles, PartOfAnImportanceOfPairsLoads) {
  const auto part = FrozenPart("v1.3/sentences.part");
  ASSERT_TRUE(part.ok()) << part.error().Message();
  EXPECT_EQ(part->job.metric, Metric::kSpearman);
  EXPECT_EQ(part->job.scores, (std::vector<double>{4.5, 0.5, 3.25, 0.5}));
  ASSERT_EQ(part->tallies.size(), 5U);
  EXPECT_EQ(part->tallies[0].cosines.size(), 4U);
  EXPECT_EQ(part->tallies[1].cosines.size(), 4U);
  EXPECT_TRUE(part->tallies[4].cosines.empty()) << "that of the second part";
}

}  // namespace
}  // namespace sti
