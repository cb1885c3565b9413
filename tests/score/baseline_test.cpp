// A baseline is read from what an evaluation printed, or from any bytes.

#include "score/baseline.h"

#include <gtest/gtest.h>

#include "base/remedy.h"
#include "score/evaluation.h"
#include "score/rows.h"

namespace sti {
namespace {

const std::string kDigest = "000102030405060708090a0b0c0d0e0f";

std::string Text(const std::string& examples, const std::string& digest, const std::string& bits) {
  return "{\"examples\": " + examples + ", \"rows_digest\": " + digest +
         ", \"correct_bits\": " + bits + "}";
}

void ExpectRefused(const std::string& text, const std::string& what) {
  const auto baseline = ParseBaseline(text);
  ASSERT_FALSE(baseline.ok()) << text.substr(0, 100);
  EXPECT_EQ(baseline.error().kind, ErrorKind::kDamaged);
  EXPECT_EQ(baseline.error().Message(), what);
  EXPECT_EQ(baseline.error().remedy, Remedy::kGiveEvaluation);
}

TEST(Baseline, OneBitARow) {
  EXPECT_EQ(RightToHex({}), "");
  EXPECT_EQ(RightToHex({true}), "8");
  EXPECT_EQ(RightToHex({false, false, true, true, false, true}), "34");
  EXPECT_EQ(RightToHex(std::vector<bool>(8, true)), "ff");
  for (size_t rows = 0; rows < 20; ++rows) {
    std::vector<bool> right;
    for (size_t i = 0; i < rows; ++i) right.push_back(i % 3 == 0);
    const auto read = ParseBaseline(
        Text(std::to_string(rows), "\"" + kDigest + "\"", "\"" + RightToHex(right) + "\""));
    ASSERT_TRUE(read.ok()) << read.error().Message();
    EXPECT_EQ(read->right, right);
    EXPECT_EQ(read->rows.Hex(), kDigest);
  }
}

TEST(Baseline, ReadsWhatAnEvaluationPrints) {
  Evaluation evaluation;
  evaluation.rows = *ParseDigest(kDigest);
  for (const bool right : {true, false, true}) Add(evaluation, {right, 1}, MakeRow(10));
  const ModelInfo info = MakeInfo({"rows_digest", "examples"});  // names that are also fields'
  const auto read = ParseBaseline(EvaluationToJson(evaluation, info));
  ASSERT_TRUE(read.ok()) << read.error().Message();
  EXPECT_EQ(read->right, evaluation.right);
  EXPECT_TRUE(CheckRows(*read, evaluation.rows, 3).ok());
}

TEST(Baseline, RefusesWhatIsNone) {
  const std::string digest = "\"" + kDigest + "\"";
  for (const char* text : {"", "[]", "7", "{", "{\"examples\": 1"}) {
    ExpectRefused(text, "no JSON object");
  }
  ExpectRefused("{}", "no \"examples\"");
  ExpectRefused("{\"more\": {\"examples\": 1}}", "no \"examples\"");
  ExpectRefused("{\"examples\": 1, \"accuracy\": 1.0}", "no \"rows_digest\"");
  ExpectRefused(Text("-1", digest, "\"8\""), "a field is of another type");
  ExpectRefused(Text("1.0", digest, "\"8\""), "a field is of another type");
  ExpectRefused(Text("1", "7", "\"8\""), "a field is of another type");
  ExpectRefused(Text("1", digest, "8"), "a field is of another type");
  ExpectRefused(Text("1", digest, "[8]"), "a field is of another type");
  ExpectRefused(Text("1", "\"ff\"", "\"8\""), "\"rows_digest\" is no digest");
  ExpectRefused(Text("1", digest, "\"\""), "\"correct_bits\" has not one bit an example");
  ExpectRefused(Text("5", digest, "\"8\""), "\"correct_bits\" has not one bit an example");
  ExpectRefused(Text("4", digest, "\"80\""), "\"correct_bits\" has not one bit an example");
  ExpectRefused(Text("18446744073709551615", digest, "\"\""),
                "\"correct_bits\" has not one bit an example");
  ExpectRefused(Text("3", digest, "\"1\""), "\"correct_bits\" has bits beyond its examples");
  ExpectRefused(Text("4", digest, "\"g\""), "\"correct_bits\" is not hexadecimal");
  ExpectRefused(std::string(100, '['), "JSON nested too deep");
  ExpectRefused("{}" + std::string(1, '\0') + "garbage",
                "not well-formed JSON, which has no NUL byte");
}

TEST(Baseline, OtherRowsAreForeign) {
  Baseline baseline{*ParseDigest(kDigest), {true, false}};
  EXPECT_TRUE(CheckRows(baseline, baseline.rows, 2).ok());
  const Status fewer = CheckRows(baseline, baseline.rows, 1);
  ASSERT_FALSE(fewer.ok());
  EXPECT_EQ(fewer.error().kind, ErrorKind::kForeign);
  const Status other = CheckRows(baseline, {}, 2);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().Message(),
            "was measured on 2 rows, 00010203…, and these are 2, 00000000…; "
            "measure a baseline on this data");
}

TEST(Baseline, ComparesRowByRow) {
  const Comparison compared = Compare({{}, {true, true, true, false, false, true}},
                                      {true, false, false, true, false, true});
  EXPECT_EQ(compared.right_before, 4U);
  EXPECT_EQ(compared.gained, 1U);
  EXPECT_EQ(compared.lost, 2U);
  EXPECT_EQ(compared.p_value, 1);
}

void ExpectInterval(uint64_t right, uint64_t examples, double low, double high) {
  const ShareInterval interval = WilsonInterval(right, examples);
  EXPECT_NEAR(interval.low, low, 0.00005) << right << " of " << examples;
  EXPECT_NEAR(interval.high, high, 0.00005) << right << " of " << examples;
}

TEST(WilsonInterval, PublishedValues) {
  ExpectInterval(81, 263, 0.2553, 0.3662);
  ExpectInterval(15, 148, 0.0624, 0.1605);
  ExpectInterval(0, 20, 0.0000, 0.1611);
  ExpectInterval(1, 29, 0.0061, 0.1718);
}

TEST(WilsonInterval, IsOneSidedAtTheEnds) {
  for (uint64_t examples = 1; examples < 40; ++examples) {  // some are rounded off the end
    EXPECT_EQ(WilsonInterval(0, examples).low, 0) << examples;
    EXPECT_EQ(WilsonInterval(examples, examples).high, 1) << examples;
  }
  EXPECT_NEAR(WilsonInterval(20, 20).low, 1 - WilsonInterval(0, 20).high, 1e-15);
  EXPECT_EQ(WilsonInterval(0, 0).low, 0);
  EXPECT_EQ(WilsonInterval(0, 0).high, 1);
}

TEST(McNemarExact, SmallCounts) {
  EXPECT_NEAR(McNemarExact(0, 0), 1, 1e-12);
  EXPECT_NEAR(McNemarExact(0, 5), 2.0 / 32, 1e-12);
  EXPECT_NEAR(McNemarExact(0, 6), 2.0 / 64, 1e-12);
  EXPECT_NEAR(McNemarExact(7, 1), 2.0 * (1 + 8) / 256, 1e-12);
  EXPECT_NEAR(McNemarExact(2, 12), 2.0 * (1 + 14 + 91) / 16384, 1e-12);
  EXPECT_NEAR(McNemarExact(3, 3), 1, 1e-12);
  EXPECT_NEAR(McNemarExact(4, 5), 1, 1e-12);
}

TEST(McNemarExact, LargeCounts) {
  EXPECT_NEAR(McNemarExact(121, 59) / 4.434449263755176e-06, 1, 1e-9);
  EXPECT_NEAR(McNemarExact(59, 121) / 4.434449263755176e-06, 1, 1e-9);
  EXPECT_NEAR(McNemarExact(900, 1000) / 0.02310884510890107, 1, 1e-9);
  EXPECT_NEAR(McNemarExact(5200, 4800) / 6.593515598672442e-05, 1, 1e-9);
  EXPECT_NEAR(McNemarExact(8'000'000, 8'000'000), 1, 1e-6);
  EXPECT_EQ(McNemarExact(0, 16'000'000), 0);
}

}  // namespace

}  // namespace sti
