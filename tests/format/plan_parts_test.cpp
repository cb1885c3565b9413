// Files that say of a plan inside another, a variant or a level of a cascade, what only a whole
// plan can have. No value holds that, so these files are forged.
#include <flatbuffers/flatbuffers.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/utf8.h"
#include "format/framed_file.h"
#include "format/plan_file.h"
#include "format/small_file_test.h"
#include "plan_generated.h"
#include "support/expect.h"

namespace sti {
namespace {

/// A thing that a forger has a plan inside another say.
enum class Has : uint8_t { kNothing, kVariants, kTurns, kWords, kCascade };

/// Returns how a plan file is read whose only variant, or whose only level before the last, has
/// this: one, or `filled` false, an empty list.
Status ReadTables(bool in_level, Has has, bool filled = true) {
  flatbuffers::FlatBufferBuilder builder;
  const auto model = builder.CreateVector(test::Bin(16, 1));
  const auto layers = builder.CreateVector(std::vector<uint32_t>{0});
  const auto bits = builder.CreateVector(std::vector<uint32_t>{2});
  const auto rows = builder.CreateVector(std::vector{fb::CreatePlanRow(builder, layers, bits)});
  const auto plan_with = [&](uint32_t length, const auto& add) {
    fb::PlanBuilder plan(builder);
    plan.add_model(model);
    plan.add_length(length);
    plan.add_layers(layers);
    plan.add_width(1);
    plan.add_rows(rows);
    add(plan);
    return plan.Finish();
  };
  const auto cascade_of = [&](flatbuffers::Offset<fb::Plan> plan) {
    const auto level = fb::CreatePlanCascadeLevel(builder, plan);
    const auto levels = builder.CreateVector(std::vector{level});
    return fb::CreatePlanCascade(builder, levels, 1,
                                 builder.CreateVector(std::vector<double>{0.5}));
  };
  std::vector<flatbuffers::Offset<fb::Plan>> plans;
  std::vector<flatbuffers::Offset<fb::PlanTurn>> turns;
  std::vector<uint32_t> words;
  if (filled) plans.push_back(plan_with(8, [](auto&) {}));
  if (filled) turns.push_back(fb::CreatePlanTurn(builder, bits));
  if (filled) words.push_back(7);
  const auto plan_list = builder.CreateVector(plans);
  const auto turn_list = builder.CreateVector(turns);
  const auto word_list = builder.CreateVector(words);
  const auto cascade = cascade_of(plan_with(8, [](auto&) {}));
  const auto part = plan_with(in_level ? 8 : 4, [&](auto& plan) {
    if (has == Has::kVariants) plan.add_variants(plan_list);
    if (has == Has::kTurns) plan.add_turns(turn_list);
    if (has == Has::kWords) plan.add_words(word_list);
    if (has == Has::kCascade) plan.add_cascade(cascade);
  });
  const auto variants = builder.CreateVector(std::vector{part});
  const auto own_cascade = cascade_of(part);
  builder.Finish(plan_with(8, [&](auto& plan) {
    in_level ? plan.add_cascade(own_cascade) : plan.add_variants(variants);
  }));
  return test::StatusOf<ParsePlan>(
      WrapFrame(kPlanMagic, {builder.GetBufferPointer(), builder.GetSize()}));
}

/// Returns how the same is read in JSON.
Status ReadJson(bool in_level, Has has, bool filled = true) {
  const std::string fields = R"("model": "000102030405060708090a0b0c0d0e0f", "layers": [0],
      "width": 1, "slices": [[0]], "bits": [[2]], "length": )";
  const std::string plan = "{" + fields + "8}";
  const auto list = [&](const std::string& name, const std::string& entry) {
    return ", \"" + name + "\": [" + (filled ? entry : "") + "]";
  };
  const auto cascade_of = [](const std::string& level) {
    return R"(, "cascade": {"levels": [)" + level + R"(], "return_share": [0.5]})";
  };
  std::string said;
  if (has == Has::kVariants) said = list("variants", plan);
  if (has == Has::kTurns) said = list("turns", R"({"bits": [[2]]})");
  if (has == Has::kWords) said = list("words", "7");
  if (has == Has::kCascade) said = cascade_of("{" + fields + R"(8, "cutoff": 0.5})");
  const std::string part = in_level ? "{" + fields + R"(8, "cutoff": 0.5)" + said + "}"
                                    : "{" + fields + "4" + said + "}";
  return test::StatusOf<ParsePlan>(
      AsBytes("{" + fields + "8" +
              (in_level ? cascade_of(part) : R"(, "variants": [)" + part + "]") + "}"));
}

TEST(PlanParts, AVariantIsASubmodelAlone) {
  ASSERT_TRUE(Succeeded(ReadTables(false, Has::kNothing)));
  ASSERT_TRUE(Succeeded(ReadJson(false, Has::kNothing)));
  EXPECT_TRUE(FailedWith(ReadTables(false, Has::kVariants), ErrorKind::kDamaged,
                         "a variant has variants of its own"));
  EXPECT_TRUE(FailedWith(ReadJson(false, Has::kVariants), ErrorKind::kDamaged,
                         "variants[0]: variants[0]: a variant has variants of its own"));
  EXPECT_TRUE(
      FailedWith(ReadTables(false, Has::kTurns), ErrorKind::kDamaged, "a variant has turns"));
  EXPECT_TRUE(FailedWith(ReadJson(false, Has::kTurns), ErrorKind::kDamaged,
                         "variants[0]: a variant has turns"));
  for (const Status& status : {ReadTables(false, Has::kWords), ReadJson(false, Has::kWords)}) {
    EXPECT_TRUE(
        FailedWith(status, ErrorKind::kDamaged, "variants[0]: a variant has words of its own"));
  }
  for (const Status& status : {ReadTables(false, Has::kCascade), ReadJson(false, Has::kCascade)})
    EXPECT_TRUE(FailedWith(status, ErrorKind::kDamaged, "a variant has a cascade"));
}

TEST(PlanParts, ALevelIsASubmodelAlone) {
  ASSERT_TRUE(Succeeded(ReadTables(true, Has::kNothing)));
  ASSERT_TRUE(Succeeded(ReadJson(true, Has::kNothing)));
  for (const Has has : {Has::kVariants, Has::kTurns, Has::kCascade}) {
    EXPECT_TRUE(FailedWith(ReadTables(true, has), ErrorKind::kDamaged,
                           "cascade.levels[0]: a cascade level has variants, turns or a cascade of "
                           "its own"));
  }
  EXPECT_TRUE(FailedWith(ReadJson(true, Has::kVariants), ErrorKind::kDamaged,
                         "a cascade level has variants"));
  EXPECT_TRUE(FailedWith(ReadJson(true, Has::kCascade), ErrorKind::kDamaged,
                         "a cascade level has a cascade of its own"));
  for (const Status& status :
       {ReadTables(true, Has::kWords), ReadJson(true, Has::kWords), ReadJson(true, Has::kTurns)}) {
    EXPECT_TRUE(FailedWith(status, ErrorKind::kDamaged,
                           "cascade.levels[0]: a cascade level has variants, turns, words, a "
                           "fallback or a cascade of its own"));
  }
}

TEST(PlanParts, AnEmptyListIsAsIfItWereAbsent) {
  for (const bool in_level : {false, true}) {
    for (const Has has : {Has::kVariants, Has::kTurns, Has::kWords}) {
      EXPECT_TRUE(Succeeded(ReadTables(in_level, has, false)));
      EXPECT_TRUE(Succeeded(ReadJson(in_level, has, false)));
    }
  }
}

}  // namespace
}  // namespace sti
