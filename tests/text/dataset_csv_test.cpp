// Tables with commas and quotes, as RFC 4180 has them.
#include <gtest/gtest.h>

#include "text/dataset.h"

namespace sti {
namespace {

const DatasetRequest kRequest{.labels = {"no", "yes"}, .labels_required = false};

Result<std::vector<Example>> ParseCsv(std::string_view content,
                                      const std::string& name = "dev.csv") {
  return ParseDataset(content, name, kRequest);
}

// Expects that the file has these texts, and no more rows.
void ExpectTexts(std::string_view content, const std::vector<std::string>& texts) {
  const auto rows = ParseCsv(content);
  ASSERT_TRUE(rows.ok()) << rows.error().Message();
  std::vector<std::string> found;
  for (const Example& example : *rows) found.push_back(example.text);
  EXPECT_EQ(found, texts);
}

void ExpectRefused(std::string_view content, const std::string& message) {
  const auto rows = ParseCsv(content);
  ASSERT_FALSE(rows.ok()) << content.substr(0, 100);
  EXPECT_EQ(rows.error().kind, ErrorKind::kDamaged);
  EXPECT_EQ(rows.error().Message(), message);
}

TEST(Csv, QuotedFieldsHoldCommasLineFeedsAndQuotes) {
  ExpectTexts(
      "\"text\",label\r\n\"a, b\",1\r\n\"c\nd\r\ne\",0\r\n\"\"\"f\"\" g\",1\r\n\"\",0\r\nh i,yes",
      {"a, b", "c\nd\r\ne", "\"f\" g", "", "h i"});
  ExpectTexts("label,text\n1,\"a\"\"\"\n0,\"b\"\r\n0,\"c\"", {"a\"", "b", "c"});
  ExpectTexts("label,text\n1,a\r\n\r\n\n0,b\r", {"a", "b"});
  ExpectTexts("label,text\n1,\n0,\"b\"\r", {"", "b"});
}

TEST(Csv, LabelsComeWithTheirRows) {
  const auto rows = ParseCsv("text,label\n\"a,b\",yes\n\"c\nd\",0\n");
  ASSERT_TRUE(rows.ok()) << rows.error().Message();
  EXPECT_EQ((*rows)[0].label, 1U);
  EXPECT_EQ((*rows)[1].label, 0U);
}

TEST(Csv, TheFirstLineTellsTabsFromCommas) {
  const auto tabs = ParseCsv("text\tlabel\n\"a, b\tyes\n");
  ASSERT_TRUE(tabs.ok()) << tabs.error().Message();
  EXPECT_EQ((*tabs)[0].text, "\"a, b");
  EXPECT_EQ((*ParseCsv("text,label\n\"a\tb\",yes\n", "dev.tsv"))[0].text, "a\tb");
  EXPECT_EQ((*ParseCsv("text\n\"a, b\"\n"))[0].text, "a, b");
  EXPECT_EQ((*ParseCsv("text\n\"a, b\"\n", "dev.txt"))[0].text, "\"a, b\"");
}

TEST(Csv, BrokenQuotesAreNamedWithTheLineOfTheirRow) {
  ExpectRefused("text,label\na,1\n\"b\nc,1\n",
                "dev.csv:3: a field in quotes does not end; close its quote, or double a quote "
                "inside it");
  const std::string inside =
      "a quote inside a field; put the whole field in quotes, and double a quote inside it";
  ExpectRefused("text,label\n5\" disk,1\n", "dev.csv:2: " + inside);
  ExpectRefused("text,label\n\"c\nd\",1\n\"a\" b,1\n", "dev.csv:4: " + inside);
  ExpectRefused("text,label\n\"a\"\rb,1\n", "dev.csv:2: " + inside);
  ExpectRefused("text,label\na,1,2\n",
                "dev.csv:2: 3 columns, but the first line has 2; mend the line");
}

TEST(Csv, LongRowsAreRefused) {
  const std::string too_long = "the line is longer than 1 MiB; split or shorten it";
  const auto row = [](size_t bytes) { return "\"" + std::string(bytes - 2, 'a') + "\""; };
  for (const char* end : {"", "\n", "\r\n", "\r"}) {
    EXPECT_TRUE(ParseCsv("text\n" + row(kMaxDatasetLineBytes) + end).ok());
    ExpectRefused("text\n" + row(kMaxDatasetLineBytes + 1) + end, "dev.csv:2: " + too_long);
    ExpectRefused("text\n" + std::string(kMaxDatasetLineBytes + 1, 'a') + end,
                  "dev.csv:2: " + too_long);
    ExpectRefused("text\n" + row(kMaxDatasetLineBytes + 5) + end, "dev.csv:2: " + too_long);
  }
  // A quote that is never closed is looked for no further than a row may go.
  ExpectRefused("text\n\"" + std::string(3 * kMaxDatasetLineBytes, '\n'), "dev.csv:2: " + too_long);
}

TEST(Csv, ManyColumnsAreRefused) {
  for (const char* separator : {",", "\t"}) {
    std::string header = "text";
    std::string row = "a";
    for (int i = 1; i < 1024; ++i) {
      header += separator + std::to_string(i);
      row += separator;
    }
    EXPECT_TRUE(ParseCsv(header + "\n" + row + "\n").ok());
    ExpectRefused(header + separator + "\n", "dev.csv:1: more than 1024 columns; drop some");
    ExpectRefused(header + "\n" + row + separator, "dev.csv:2: more than 1024 columns; drop some");
  }
  std::string object = "{\"text\": \"a\"";
  for (int i = 0; i < 1024; ++i) object += ", \"" + std::to_string(i) + "\": 0";
  ExpectRefused(object + "}", "dev.csv:1: more than 1024 keys; drop some");
}

}  // namespace
}  // namespace sti
