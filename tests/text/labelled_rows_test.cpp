// Data sets whose labels are those that occur in them.
#include <gtest/gtest.h>

#include "support/expect.h"
#include "text/dataset.h"
#include "types/limits.h"

namespace sti {
namespace {

Result<LabelledRows> ParseRows(std::string_view content) {
  return ParseLabelledRows(content, "rows.tsv", {}, {});
}

TEST(LabelledRows, LabelsAscendHoweverRowsAreOrdered) {
  const auto rows = ParseRows("text\tlabel\nplay it\tplay\nwake me\talarm\nagain\tplay\n");
  ASSERT_TRUE(Succeeded(rows));
  EXPECT_EQ(rows->labels, (std::vector<std::string>{"alarm", "play"}));
  ASSERT_EQ(rows->examples.size(), 3U);
  EXPECT_EQ(rows->examples[0].text, "play it");
  EXPECT_EQ(rows->examples[0].label, 1U);
  EXPECT_EQ(rows->examples[1].label, 0U);
  EXPECT_EQ(rows->examples[2].label, 1U);
}

TEST(LabelledRows, NumbersAreNamesInEitherSpelling) {
  for (const char* content :
       {"text\tlabel\na\t10\nb\t9\n",
        "{\"text\": \"a\", \"label\": 10}\n{\"text\": \"b\", \"label\": 9}\n"}) {
    const auto rows = ParseRows(content);
    ASSERT_TRUE(Succeeded(rows));
    EXPECT_EQ(rows->labels, (std::vector<std::string>{"10", "9"}));
    EXPECT_EQ(rows->examples[1].label, 1U);
  }
}

TEST(LabelledRows, OneLabelIsALabel) {
  const auto rows = ParseRows("text\tlabel\na\tonly\n");
  ASSERT_TRUE(Succeeded(rows));
  EXPECT_EQ(rows->labels, (std::vector<std::string>{"only"}));
}

TEST(LabelledRows, WhatIsNoLabelIsNamedWithItsLine) {
  const struct {
    std::string content;
    const char* words;
  } cases[] = {
      {"", "rows.tsv: no examples; give at least one line of data"},
      {"text\tlabel\n", "rows.tsv: no examples"},
      {"text\na\n", "rows.tsv:1: no label; labels are needed here"},
      {"text\tlabel\na\tx\nb\t\n", "rows.tsv:3: no label; labels are needed here"},
      {"text\tlabel\na\t x\n", "rows.tsv:2: the label \" x\" begins or ends with a blank"},
      {"text\tlabel\na\tx \n", "rows.tsv:2: the label \"x \" begins or ends with a blank"},
      {"text\tlabel\na\t\x1b[2J\n", "rows.tsv:2: the label \"?[2J\" is not UTF-8 or has a control"},
      {"text\tlabel\na\t\xff\n", "rows.tsv:2: the label \"?\" is not UTF-8 or has a control"},
      {"{\"text\": \"a\", \"label\": [\"x\"]}\n",
       "rows.tsv:1: the label is neither a name nor a number"},
      {"{\"text\": \"a\", \"label\": true}\n",
       "rows.tsv:1: the label is neither a name nor a number"},
      {"{\"text\": \"a\"}\n", "rows.tsv:1: no label; labels are needed here"},
      {"text\tlabel\n" + std::string(kMaxDatasetLineBytes, 'a') + "\tx\n", "rows.tsv:2: "},
  };
  for (const auto& one : cases)
    EXPECT_TRUE(FailedWith(ParseRows(one.content), ErrorKind::kDamaged, one.words));
}

TEST(LabelledRows, ThereAreAtMostAsManyLabelsAsAModelHas) {
  std::string content = "text\tlabel\n";
  for (uint32_t label = 0; label < kMaxLabels; ++label)
    content += "a\t" + std::to_string(label) + "\n";
  const auto rows = ParseRows(content);
  ASSERT_TRUE(Succeeded(rows));
  EXPECT_EQ(rows->labels.size(), kMaxLabels);
  EXPECT_TRUE(FailedWith(ParseRows(content + "a\tmore\n"), ErrorKind::kDamaged,
                         "rows.tsv:65538: more than 65536 labels"));
}

}  // namespace
}  // namespace sti
