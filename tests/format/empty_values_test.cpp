// Zeros, and what is there and has nothing in it, as spec/frame.md says.
#include <gtest/gtest.h>

#include "base/utf8.h"
#include "format/framed_file.h"
#include "format/importance_file.h"
#include "format/plan_file.h"
#include "format/small_file_test.h"
#include "plan_generated.h"
#include "support/expect.h"

namespace sti {
namespace {

/// Returns how a plan in JSON is read that has these fields besides those that it needs.
Status PlanWith(const std::string& fields) {
  const std::string text = "{" + fields + (fields.empty() ? "" : ", ") +
                           R"("model": "000102030405060708090a0b0c0d0e0f", "length": 8,
      "layers": [0], "width": 1, "slices": [[0]], "bits": [[2]]})";
  return test::StatusOf<ParsePlan>(AsBytes(text));
}

Status ImportanceWith(const std::string& fields) {
  const std::string text = "{" + fields + R"(, "model": "000102030405060708090a0b0c0d0e0f",
      "metric": "loss", "layers": 1, "width": 1, "scores": [[0.5]]})";
  return test::StatusOf<ParseImportance>(AsBytes(text));
}

TEST(EmptyValues, AZeroMayHaveASign) {
  for (const char* zero : {"0", "-0", "-0.0", "-0e3", "0.0"})
    EXPECT_TRUE(Succeeded(PlanWith("\"turn_bytes\": " + std::string(zero)))) << zero;
  for (const char* other : {"-1", "-9223372036854775808", "-0.5"}) {
    EXPECT_TRUE(FailedWith(PlanWith("\"turn_bytes\": " + std::string(other)), ErrorKind::kDamaged,
                           "turn_bytes is not a whole number"))
        << other;
  }
}

TEST(EmptyValues, WhatHasANumberOfEntriesIsNeverEmpty) {
  EXPECT_TRUE(Succeeded(PlanWith("\"shape\": null, \"aib_us\": null")));
  EXPECT_TRUE(FailedWith(PlanWith("\"shape\": \"\""), ErrorKind::kDamaged,
                         "shape is not 32 hexadecimal digits"));
  EXPECT_TRUE(
      FailedWith(PlanWith("\"aib_us\": []"), ErrorKind::kDamaged, "aib_us is an empty list"));
  EXPECT_TRUE(
      FailedWith(ImportanceWith("\"losses\": []"), ErrorKind::kDamaged, "losses is an empty list"));
  EXPECT_TRUE(
      FailedWith(ImportanceWith("\"errors\": []"), ErrorKind::kDamaged, "errors is an empty list"));
}

TEST(EmptyValues, OthersAreAsIfTheyWereAbsent) {
  EXPECT_TRUE(Succeeded(PlanWith(R"("variants": [], "turns": [], "preload": [], "words": [],
      "kernel": "", "cpus": "", "strategy": "", "read_path": "")")));
  EXPECT_TRUE(Succeeded(ImportanceWith(R"("estimate": "", "submodels": [], "words": [],
      "row_reads": [], "levels": [], "cascades": [])")));
}

/// Adds the fields that a plan needs, and what `add` adds, which may use `none`, an empty list of
/// bytes, and `no_times`, one of doubles.
template <typename Add>
Status BinaryPlanWith(const Add& add) {
  flatbuffers::FlatBufferBuilder builder;
  const auto model = builder.CreateVector(test::Bin(16, 1));
  const auto none = builder.CreateVector(test::Bin(0));
  const auto no_times = builder.CreateVector(std::vector<double>());
  const auto layers = builder.CreateVector(std::vector<uint32_t>{0});
  const auto bits = builder.CreateVector(std::vector<uint32_t>{2});
  const auto rows = builder.CreateVector(std::vector{fb::CreatePlanRow(builder, layers, bits)});
  fb::PlanBuilder plan(builder);
  plan.add_model(model);
  plan.add_length(8);
  plan.add_layers(layers);
  plan.add_width(1);
  plan.add_rows(rows);
  add(plan, none, no_times);
  builder.Finish(plan.Finish());
  return test::StatusOf<ParsePlan>(
      WrapFrame(kPlanMagic, {builder.GetBufferPointer(), builder.GetSize()}));
}

TEST(EmptyValues, InTheBinarySpelling) {
  EXPECT_TRUE(Succeeded(BinaryPlanWith([](auto&, auto, auto) {})));
  EXPECT_TRUE(FailedWith(BinaryPlanWith([](auto& plan, auto none, auto) { plan.add_shape(none); }),
                         ErrorKind::kDamaged, "a digest is not 16 bytes long"));
  EXPECT_TRUE(FailedWith(BinaryPlanWith([](auto& plan, auto, auto none) { plan.add_aib_us(none); }),
                         ErrorKind::kDamaged, "aib_us does not have one entry a layer"));
}

}  // namespace
}  // namespace sti
