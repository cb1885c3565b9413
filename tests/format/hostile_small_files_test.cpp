// Small files whose numbers claim more than the file holds, or whose lists and tables are one many
// times: refused before memory is taken for them.
#include <gtest/gtest.h>

#include <numeric>

#include "base/json.h"
#include "base/little_endian.h"
#include "base/remedy.h"
#include "base/utf8.h"
#include "format/framed_file.h"
#include "format/importance_file.h"
#include "format/importance_part_file.h"
#include "format/plan_file.h"
#include "format/profile_file.h"
#include "hostile_sizes.h"
#include "importance_generated.h"
#include "importance_part_generated.h"
#include "plan_generated.h"
#include "profile_generated.h"
#include "shared_lists.h"
#include "support/expect.h"
#include "support/memory_meter.h"

namespace sti {
namespace {

// Variants that all name one table, which names one list of 16 MB for all its lists.
TEST(HostilePlan, TablesThatShareOneList) {
  flatbuffers::FlatBufferBuilder builder;
  const auto model = builder.CreateVector(Bin(16, 1));
  const auto text = builder.CreateString(std::string(16 * kMiB, 'x'));
  const auto layers = builder.CreateVector(std::vector<uint32_t>(4 * kMiB, 1));
  const auto plan_of = [&](auto strategy, auto list, auto variants) {
    fb::PlanBuilder plan(builder);
    plan.add_model(model);
    plan.add_length(8);
    plan.add_width(1);
    plan.add_strategy(strategy);
    plan.add_layers(list);
    plan.add_variants(variants);
    return plan.Finish();
  };
  using Plans = std::vector<flatbuffers::Offset<fb::Plan>>;
  const auto none = builder.CreateVector(Plans{});
  const auto small = builder.CreateString("sti");
  const auto one = builder.CreateVector(std::vector<uint32_t>(1, 1));
  for (const bool long_text : {true, false}) {
    const auto variant = long_text ? plan_of(text, one, none) : plan_of(small, layers, none);
    const auto variants = builder.CreateVector(Plans(64, variant));
    builder.Finish(plan_of(small, one, variants));
    const Bin file = WrapFrame(kPlanMagic, {builder.GetBufferPointer(), builder.GetSize()});
    const MemoryMeter meter;
    EXPECT_TRUE(FailedWith(ParsePlan(file, "a.plan"), ErrorKind::kDamaged, "a.plan: variants: "));
    EXPECT_LT(meter.peak_bytes(), file.size() + kMiB);
  }
}

// 64 turns that all name one table of 256 K shards.
TEST(HostilePlan, TurnsThatShareOneTable) {
  constexpr size_t kRows = 1024;
  constexpr uint32_t kWidth = 256;
  flatbuffers::FlatBufferBuilder builder;
  const auto model = builder.CreateVector(Bin(16, 1));
  std::vector<uint32_t> numbers(kRows);
  std::iota(numbers.begin(), numbers.end(), 0U);
  const auto layers = builder.CreateVector(numbers);
  const auto slices = builder.CreateVector(numbers.data(), kWidth);
  const auto twos = builder.CreateVector(std::vector<uint32_t>(kWidth, 2));
  const auto row = fb::CreatePlanRow(builder, slices, twos);
  const auto rows = builder.CreateVector(std::vector(kRows, row));
  const auto bits = builder.CreateVector(std::vector<uint32_t>(kRows * kWidth, 2));
  const auto turn = fb::CreatePlanTurn(builder, bits);
  const auto turns = builder.CreateVector(std::vector(64, turn));
  for (const bool shared_rows : {true, false}) {
    fb::PlanBuilder plan(builder);
    plan.add_model(model);
    plan.add_length(8);
    plan.add_width(kWidth);
    plan.add_layers(layers);
    if (shared_rows) plan.add_rows(rows);
    plan.add_turns(turns);
    builder.Finish(plan.Finish());
    const Bin file = WrapFrame(kPlanMagic, {builder.GetBufferPointer(), builder.GetSize()});
    const MemoryMeter meter;
    EXPECT_TRUE(FailedWith(ParsePlan(file, "a.plan"), ErrorKind::kDamaged,
                           "a.plan: its lists hold more than the file"));
    EXPECT_LT(meter.peak_bytes(), 4 * file.size());
  }
}

using test::Builder;
using test::Framed;
using test::Repeated;

/// An importance of 2 x 2 shards whose `cascades` are one table of `cuts` cuts, many times.
Bin CascadesThatShareOneTable(size_t cascades, size_t cuts) {
  Builder builder;
  const auto model = Repeated<uint8_t>(builder, 16, 1);
  const auto metric = builder.CreateString("accuracy");
  const auto scores = Repeated(builder, 4, 0.5);
  const auto levels = builder.CreateVector(std::vector<uint32_t>{0, 1});
  const auto lists = [&](size_t per_cut, double number) {
    return Repeated(builder, per_cut * cuts, number);
  };
  const auto cutoffs = lists(1, 1.0), slopes = lists(1, 0.0), weights = lists(1, 1.0),
             shares = lists(2, 0.5), accuracies = lists(2, 0.5), accuracy = lists(1, 0.5),
             words_left = lists(1, 1.0), errors = lists(1, 0.0);
  const auto cascade = fb::CreateCascadeScore(builder, levels, 0, cutoffs, slopes, weights, shares,
                                              accuracies, accuracy, words_left, errors);
  const auto list = builder.CreateVector(std::vector(cascades, cascade));
  const auto level = [&](uint32_t width) {
    return fb::CreateCascadeLevelScore(builder, 1, width, 2, 0.5, 1);
  };
  const auto both = builder.CreateVector(std::vector{level(1), level(2)});
  fb::ImportanceBuilder importance(builder);
  importance.add_model(model);
  importance.add_metric(metric);
  importance.add_layers(2);
  importance.add_width(2);
  importance.add_scores(scores);
  importance.add_cascade_levels(both);
  importance.add_cascades(list);
  builder.Finish(importance.Finish());
  return Framed(kImportanceMagic, builder);
}

// 460 kB that were all the memory there is, and 76 kB inside all limits that were half a gigabyte.
TEST(HostileImportance, CascadesThatShareOneTable) {
  EXPECT_TRUE(Succeeded(ParseImportance(CascadesThatShareOneTable(1, 256), "a")));
  const struct {
    size_t cascades, cuts;
    const char* words;
  } files[] = {{100'000, 256, "a: cascades has more than 4096 entries"},
               {4096, 256, "a: its lists hold more than the file"},
               {1, 257, "a: cascades holds one that has not 1 to 256 cuts"},
               {2, 256, "a: its lists hold more than the file"}};
  for (const auto& [cascades, cuts, words] : files) {
    const Bin file = CascadesThatShareOneTable(cascades, cuts);
    const MemoryMeter meter;
    EXPECT_TRUE(FailedWith(ParseImportance(file, "a"), ErrorKind::kDamaged, words));
    EXPECT_LT(meter.peak_bytes(), file.size() + kMiB / 4) << words;
  }
}

/// Sets the fields of an importance or of a part whose lists of row reads, with more entries than
/// may be, are all one.
template <typename Table>
Bin UseOfWordsThatSharesLists(std::string_view magic) {
  Builder builder;
  const auto model = Repeated<uint8_t>(builder, 16, 1);
  const auto metric = builder.CreateString("accuracy");
  const auto numbers = Repeated<uint32_t>(builder, kMiB, 1);
  const auto shares = Repeated(builder, 2 * kMiB, 0.5);
  Table table(builder);
  table.add_model(model);
  table.add_metric(metric);
  table.add_layers(2);
  table.add_width(2);
  table.add_words(numbers);
  table.add_row_lengths(numbers);
  table.add_row_words(numbers);
  table.add_row_shares(shares);
  table.add_row_p99_shares(shares);
  builder.Finish(table.Finish());
  return Framed(magic, builder);
}

TEST(HostileImportance, WordsWithoutEnd) {
  const Bin whole = UseOfWordsThatSharesLists<fb::ImportanceBuilder>(kImportanceMagic);
  const Bin part = UseOfWordsThatSharesLists<fb::ImportancePartBuilder>(kImportancePartMagic);
  constexpr const char* kWords = "a: words or row_reads has more than 4096 entries";
  const MemoryMeter meter;
  EXPECT_TRUE(FailedWith(ParseImportance(whole, "a"), ErrorKind::kDamaged, kWords));
  EXPECT_TRUE(FailedWith(ParseImportancePart(part, "a"), ErrorKind::kDamaged, kWords));
  EXPECT_LT(meter.peak_bytes(), whole.size() + kMiB);
}

// The seven lists of tallies of as many shards as there may be: two that are seven.
TEST(HostileImportance, TalliesThatShareOneList) {
  const Bin file = test::PartOfTwoLists(1024);
  const MemoryMeter meter;
  EXPECT_TRUE(FailedWith(ParseImportancePart(file, "a"), ErrorKind::kDamaged,
                         "a: its lists hold more than the file"));
  EXPECT_LT(meter.peak_bytes(), 2 * file.size() + kMiB);
}

// A list of layers that are one table, 900,000 times.
TEST(HostileProfile, LayersWithoutEnd) {
  Builder builder;
  const auto layer = fb::CreateComputeSample(builder, 8, 1, 10);
  const auto io = builder.CreateVector(std::vector{fb::CreateIoSample(builder, 4096, 0, 10)});
  const auto layers = builder.CreateVector(std::vector(900'000, layer));
  builder.Finish(fb::CreateProfile(builder, 0, io, layers));
  const Bin file = Framed(kProfileMagic, builder);
  const MemoryMeter meter;
  EXPECT_TRUE(FailedWith(ParseProfile(file, "a"), ErrorKind::kDamaged,
                         "a: compute has more than 65536 entries"));
  EXPECT_LT(meter.peak_bytes(), file.size() + kMiB / 4);
}

// Four texts of 4 MiB that are one.
TEST(HostileProfile, TextsThatAreShared) {
  Builder builder;
  const auto layers = builder.CreateVector(std::vector{fb::CreateComputeSample(builder, 8, 1, 10)});
  const auto io = builder.CreateVector(std::vector{fb::CreateIoSample(builder, 4096, 0, 10)});
  const auto text = builder.CreateString(std::string(4 * kMiB, 'x'));
  builder.Finish(fb::CreateProfile(builder, 0, io, layers, 0, 1, text, text, text, text));
  const Bin file = Framed(kProfileMagic, builder);
  const MemoryMeter meter;
  EXPECT_TRUE(FailedWith(ParseProfile(file, "a"), ErrorKind::kDamaged, "bytes of printable ASCII"));
  EXPECT_LT(meter.peak_bytes(), file.size() + kMiB / 4);
}

TEST(HostileFrame, ClaimsBeyondTheFile) {
  Bin file = WrapFrame(kPlanMagic, Bin(100, 0));
  for (const uint64_t claim : {uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 39, uint64_t{61}}) {
    StoreLittle<uint64_t>(&file[16], claim);
    StoreLittle<uint64_t>(&file[32], Checksum(std::span<const uint8_t>(file).first(32)));
    const MemoryMeter meter;
    EXPECT_TRUE(FailedWith(ParsePlan(file, "a.plan"), ErrorKind::kDamaged,
                           "the payload is not as long as the header says"));
    EXPECT_LT(meter.peak_bytes(), 4096U);
  }
}

std::string Nested(const std::string& key, size_t depth) {
  return "{\"" + key + "\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
}

// Lists without end in a plan: 8 MiB of text that would take 300.
TEST(HostileJson, ValuesWithoutEnd) {
  std::string plan = "{\"layers\":[[]";
  while (plan.size() < 8 * kMiB) plan += ",[]";
  plan += "]}";
  const MemoryMeter meter;
  EXPECT_TRUE(FailedWith(ParsePlan(AsBytes(plan), "a"), ErrorKind::kDamaged,
                         "a: JSON whose values take too much memory", Remedy::kUseBinaryForm));
  EXPECT_LT(meter.peak_bytes(), kMaxJsonMemory + kMiB);
}

TEST(HostileJson, NestedAHundredThousandDeep) {
  for (const size_t depth : {size_t{64}, size_t{100'000}, size_t{30'000'000}}) {
    const MemoryMeter meter;
    const std::string plan = Nested("layers", depth);
    const std::string profile = Nested("io", depth);
    const std::string importance = Nested("scores", depth);
    const uint64_t texts = meter.peak_bytes();
    constexpr const char* kWords = ": JSON nested too deep";
    EXPECT_TRUE(FailedWith(ParsePlan(AsBytes(plan), "a"), ErrorKind::kDamaged, kWords));
    EXPECT_TRUE(FailedWith(ParseProfile(AsBytes(profile), "a"), ErrorKind::kDamaged, kWords));
    EXPECT_TRUE(FailedWith(ParseImportance(AsBytes(importance), "a"), ErrorKind::kDamaged, kWords));
    EXPECT_LT(meter.peak_bytes(), texts + kMiB);
  }
  // Within the limit it is another error; brackets in a text do not count.
  EXPECT_TRUE(
      FailedWith(ParsePlan(AsBytes(Nested("layers", 63)), "a"), ErrorKind::kDamaged, "is missing"));
  const std::string text = "{\"strategy\":\"\\\"" + std::string(1000, '[') + "\"}";
  EXPECT_TRUE(FailedWith(ParsePlan(AsBytes(text), "a"), ErrorKind::kDamaged, "is missing"));
}

TEST(HostileJson, NumbersThatAreNone) {
  for (const char* number : {"1e999", "-1e999", "1e-400x", "NaN", "18446744073709551616", "-1",
                             "1.5", "99999999999999999999999999999999999999"}) {
    const std::string text = "{\"length\":" + std::string(number) + "}";
    EXPECT_TRUE(FailedWith(ParsePlan(AsBytes(text), "a"), ErrorKind::kDamaged, "a: ")) << number;
  }
  for (const char* number : {"1e999", "-1e999", "NaN"}) {
    const std::string text =
        "{\"io\":[{\"bits\":2,\"load_us\":" + std::string(number) + "}],\"compute\":[]}";
    EXPECT_TRUE(FailedWith(ParseProfile(AsBytes(text), "a"), ErrorKind::kDamaged, "a: ")) << number;
  }
}

}  // namespace
}  // namespace sti
