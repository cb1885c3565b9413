#include "text/dataset.h"

#include <gtest/gtest.h>

#include "support/text.h"

namespace sti {
namespace {

const std::vector<std::string> kLabels = {"negative", "positive", "0"};

Result<std::vector<Example>> Parse(std::string_view content, bool labels_required = true) {
  return ParseDataset(content, "dev.tsv", {.labels = kLabels, .labels_required = labels_required});
}

/// The message of the DataError that `content` gives.
std::string FailureOf(std::string_view content, bool labels_required = true) {
  const auto result = Parse(content, labels_required);
  EXPECT_FALSE(result.ok()) << content.substr(0, 100);
  if (result.ok()) return "";
  EXPECT_EQ(result.error().kind, ErrorKind::kDamaged);
  return result.error().Message();
}

TEST(Dataset, ReadsATable) {
  const auto rows = Parse("sentence\tlabel\ngood \"film\"\tpositive\r\nbad\t0\nworse\t1");
  ASSERT_TRUE(rows.ok()) << rows.error().Message();
  ASSERT_EQ(rows->size(), 3u);
  EXPECT_EQ((*rows)[0].text, "good \"film\"");
  EXPECT_EQ((*rows)[0].label, 1u);
  EXPECT_FALSE((*rows)[0].pair);
  EXPECT_EQ((*rows)[1].label, 2u) << "a name comes before an id";
  EXPECT_EQ((*rows)[2].label, 1u);
}

TEST(Dataset, ReadsPairsAndOtherColumns) {
  const auto rows = Parse("idx\tlabel\tsentence1\tsentence2\n7\tnegative\ta\tb\n");
  ASSERT_TRUE(rows.ok()) << rows.error().Message();
  EXPECT_EQ((*rows)[0].text, "a");
  EXPECT_EQ((*rows)[0].pair, "b");
  EXPECT_EQ((*rows)[0].label, 0u);
}

TEST(Dataset, LabelsMayBeLeftOut) {
  const auto bare = Parse("sentence\r\na\r\n\r\nb\r\n", false);
  ASSERT_TRUE(bare.ok()) << bare.error().Message();
  ASSERT_EQ(bare->size(), 3u);
  EXPECT_EQ((*bare)[1].text, "");
  EXPECT_FALSE((*bare)[0].label);
  EXPECT_FALSE((*Parse("sentence\tlabel\na\t\n", false))[0].label);
  EXPECT_FALSE((*Parse("{\"text\": \"a\", \"label\": null}", false))[0].label);
  EXPECT_TRUE(Contains(FailureOf("sentence\na\n"), "dev.tsv:1: "));
  EXPECT_TRUE(Contains(FailureOf("sentence\tlabel\na\t\n"), "dev.tsv:2: no label"));
  EXPECT_TRUE(Contains(FailureOf("{\"text\": \"a\"}"), "dev.tsv:1: no label"));
}

TEST(Dataset, ReadsJsonLines) {
  const auto rows = Parse(
      " \n{\"sentence\": \"a\\tb\", \"label\": \"positive\"}\r\n\n"
      "{\"sentence1\": \"c\", \"sentence2\": \"d\", \"label\": 1}\n"
      "{\"text\": \"e\", \"pair\": \"f\", \"label\": \"1\", \"more\": []}");
  ASSERT_TRUE(rows.ok()) << rows.error().Message();
  ASSERT_EQ(rows->size(), 3u);
  EXPECT_EQ((*rows)[0].text, "a\tb");
  EXPECT_FALSE((*rows)[0].pair);
  EXPECT_EQ((*rows)[1].pair, "d");
  EXPECT_EQ((*rows)[1].label, 1u);
  EXPECT_EQ((*rows)[2].text, "e");
  EXPECT_EQ((*rows)[2].pair, "f");
}

TEST(Dataset, NamesAnUnknownLabelAndTheKnownOnes) {
  const std::string message = FailureOf("sentence\tlabel\na\tpositive\nb\tneutral\n");
  EXPECT_TRUE(Contains(message, "dev.tsv:3: "));
  EXPECT_TRUE(Contains(message, "\"neutral\""));
  EXPECT_TRUE(Contains(message, "negative, positive, 0"));
  FailureOf("sentence\tlabel\na\t3\n");
  FailureOf("sentence\tlabel\na\t-1\n");
  FailureOf("sentence\tlabel\na\t1x\n");
  FailureOf("sentence\tlabel\na\t99999999999999999999\n");
  FailureOf("{\"text\": \"a\", \"label\": 1.5}");
  FailureOf("{\"text\": \"a\", \"label\": -1}");
  FailureOf("{\"text\": \"a\", \"label\": [1]}");
}

TEST(Dataset, AnUnknownLabelIsNoneWhereNoneIsNeeded) {
  const auto table = Parse("sentence\tlabel\na\tneutral\nb\t3\nc\tpositive\n", false);
  ASSERT_TRUE(table.ok()) << table.error().Message();
  EXPECT_FALSE((*table)[0].Truth());
  EXPECT_FALSE((*table)[1].Truth());
  EXPECT_EQ((*table)[2].label, 1u);
  for (const char* label : {"1.5", "-1", "[1]", "\"neutral\"", "{}"}) {
    const auto rows = Parse("{\"text\": \"a\", \"label\": " + std::string(label) + "}", false);
    ASSERT_TRUE(rows.ok()) << rows.error().Message();
    EXPECT_FALSE((*rows)[0].Truth()) << label;
  }
}

TEST(Dataset, NamesTheBrokenLine) {
  EXPECT_TRUE(Contains(FailureOf("sentence\tlabel\na\t1\nb\n"), "dev.tsv:3: 1 columns"));
  EXPECT_TRUE(Contains(FailureOf("sentence\tlabel\na\tb\t1\n"), "dev.tsv:2: 3 columns"));
  EXPECT_TRUE(Contains(FailureOf("{\"text\": \"a\", \"label\": 1}\n{\n"),
                       "dev.tsv:2: not well-formed JSON at byte 2"));
  EXPECT_TRUE(Contains(FailureOf("[{\"text\": \"a\", \"label\": 1}]"), "dev.tsv:1: not a JSON"));
  EXPECT_TRUE(Contains(FailureOf(R"({"text": "a", "label": 1, "text": "b"})"),
                       "dev.tsv:1: a key is there twice"));
  EXPECT_TRUE(Parse(R"({"text": "a", "label": 1, "more": {"text": "b"}})").ok());
  EXPECT_TRUE(Contains(FailureOf("{\"text\": 3, \"label\": 1}"), "text is not a string"));
  EXPECT_TRUE(Contains(FailureOf("{\"label\": 1}"), "no text"));
  EXPECT_TRUE(Contains(FailureOf("question\tlabel\na\t1\n"), "dev.tsv:1: no text"));
  EXPECT_TRUE(Contains(FailureOf("sentence2\tlabel\na\t1\n"), "dev.tsv:1: no text"));
}

TEST(Dataset, RefusesEmptySetsAndLongLines) {
  EXPECT_FALSE(Parse("").ok());
  EXPECT_TRUE(Contains(FailureOf("sentence\tlabel\n"), "no examples"));
  EXPECT_FALSE(Parse(" \n\n").ok());
  const std::string longest = "sentence\n" + std::string(kMaxDatasetLineBytes, 'a');
  EXPECT_TRUE(Parse(longest, false).ok());
  EXPECT_TRUE(Contains(FailureOf(longest + "a", false), "dev.tsv:2: "));
}

TEST(Dataset, RefusesJsonNestedTooDeep) {
  for (const size_t depth : {size_t{64}, size_t{100'000}, size_t{1'000'000}}) {
    const std::string content = R"({"text":"a","more":)" + std::string(depth, '[');
    const auto read = ParseDataset(content, "dev.jsonl", {.labels_required = false});
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().Message(), "dev.jsonl:1: JSON nested too deep; mend the line");
  }
}

// The parser takes a NUL byte for the end of the line.
TEST(Dataset, RefusesJsonWithANulByte) {
  const std::string content = std::string(R"({"text":"a"})") + '\0' + "garbage\n";
  const auto read = ParseDataset(content, "dev.jsonl", {.labels_required = false});
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().Message(),
            "dev.jsonl:1: a NUL byte, which JSON has nowhere; mend the line");
}

TEST(Dataset, SkipsAByteOrderMark) {
  EXPECT_TRUE(Parse("\xEF\xBB\xBFsentence\tlabel\na\t1\n").ok());
}

TEST(Dataset, SaysWhatAFileIsThatIsNoText) {
  EXPECT_EQ(FailureOf(std::string("\xFF\xFEs\0e\0", 6)), "dev.tsv: is UTF-16; save it as UTF-8");
  EXPECT_EQ(FailureOf(std::string("\xFE\xFF\0s\0e", 6)), "dev.tsv: is UTF-16; save it as UTF-8");
  EXPECT_TRUE(Contains(FailureOf("\x1F\x8B\x08"), "dev.tsv: is packed by gzip; unpack it"));
  EXPECT_TRUE(Contains(FailureOf("PK\x03\x04"), "a zip archive or a spreadsheet"));
}

// Windows-1252, in which a letter of a word would be lost without a word.
TEST(Dataset, WarnsOfTheFirstLineThatIsNotUtf8) {
  std::string said;
  const auto parse = [&](std::string_view content) {
    said.clear();
    DatasetRequest request{.labels = kLabels};
    request.log = [&](const LogLine& line) { said += line.what + "\n"; };
    EXPECT_TRUE(ParseDataset(content, "dev.tsv", request).ok());
    return said;
  };
  EXPECT_EQ(parse("sentence\tlabel\ntr\xC3\xA8s \xEF\xBF\xBD\t1\n"), "");
  EXPECT_EQ(parse("sentence\tlabel\na\t1\ntr\xE8s\t1\ntr\xE8s\t1\n"),
            "dev.tsv:3: not UTF-8, so letters are lost; save the file as UTF-8\n");
}

// A model of one label: 1 and 0 say whether it applies, and are no ids.
TEST(Dataset, OneLabelAppliesOrDoesNot) {
  const std::vector<std::string> labels = {"relevant"};
  const auto parse = [&](std::string_view content) {
    return ParseDataset(content, "dev.tsv", {labels, Problem::kMultiLabel, true});
  };
  const std::vector<uint32_t> yes = {0};
  const std::vector<uint32_t> no;
  const std::vector<std::vector<uint32_t>> expected = {yes, no, yes, no};
  for (const char* content :
       {"sentence\tlabel\na\t1\nb\t0\nc\trelevant\nd\t-\n",
        "{\"text\": \"a\", \"label\": 1}\n{\"text\": \"b\", \"label\": 0}\n"
        "{\"text\": \"c\", \"label\": [\"relevant\"]}\n{\"text\": \"d\", \"label\": []}\n"}) {
    const auto rows = parse(content);
    ASSERT_TRUE(rows.ok()) << rows.error().Message();
    ASSERT_EQ(rows->size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ((*rows)[i].labels, expected[i]) << i;
  }
  const auto graded = parse("sentence\tlabel\na\t0.35\n");
  ASSERT_FALSE(graded.ok());
  EXPECT_TRUE(Contains(graded.error().Message(),
                       "use relevant or 1 where it applies, and 0 or - where it does not"));
}

Result<std::vector<Example>> ParseSets(std::string_view content, bool labels_required = true) {
  const std::vector<std::string> labels = {"joy", "anger", "fear", "joy,mixed"};
  return ParseDataset(content, "dev.tsv", {labels, Problem::kMultiLabel, labels_required});
}

using Set = std::vector<uint32_t>;

TEST(MultiLabelDataset, ReadsSets) {
  const auto rows =
      ParseSets("sentence\tlabel\na\tfear,joy\nb\tanger\nc\t2, 0,fear\nd\t-\ne\tjoy,mixed\n");
  ASSERT_TRUE(rows.ok()) << rows.error().Message();
  const Set expected[] = {{0, 2}, {1}, {0, 2}, {}, {3}};
  for (size_t i = 0; i < rows->size(); ++i) {
    EXPECT_EQ((*rows)[i].labels, expected[i]) << i;
    EXPECT_EQ((*rows)[i].Truth(), expected[i]) << i;
    EXPECT_FALSE((*rows)[i].label);
  }
}

TEST(MultiLabelDataset, ReadsListsInJson) {
  const auto rows = ParseSets(
      "{\"text\": \"a\", \"label\": [\"fear\", 0]}\n{\"text\": \"b\", \"label\": []}\n"
      "{\"text\": \"c\", \"label\": \"joy, anger\"}\n{\"text\": \"d\", \"label\": 3}\n");
  ASSERT_TRUE(rows.ok()) << rows.error().Message();
  const Set expected[] = {{0, 2}, {}, {0, 1}, {3}};
  for (size_t i = 0; i < rows->size(); ++i) EXPECT_EQ((*rows)[i].labels, expected[i]) << i;
}

TEST(MultiLabelDataset, RefusesWhatIsNoSet) {
  const auto failure = [](std::string_view content, bool required = true) {
    const auto rows = ParseSets(content, required);
    return rows.ok() ? std::string() : rows.error().Message();
  };
  EXPECT_TRUE(Contains(failure("sentence\tlabel\na\tjoy,rage\n"), "dev.tsv:2: label \"rage\""));
  EXPECT_TRUE(Contains(failure("sentence\tlabel\na\tjoy,\n"), "dev.tsv:2: label \"\""));
  EXPECT_TRUE(Contains(failure("sentence\tlabel\na\t\n"), "no label"));
  EXPECT_TRUE(Contains(failure("{\"text\": \"a\", \"label\": [[]]}"), "neither a name nor an id"));
  EXPECT_TRUE(Contains(failure("{\"text\": \"a\", \"label\": [4]}"), "none of the model's"));
  EXPECT_FALSE(ParseSets("sentence\tlabel\na\t\n", false).value()[0].Truth());
  EXPECT_FALSE(ParseSets("sentence\tlabel\na\tjoy,rage\n", false).value()[0].Truth());
  EXPECT_FALSE(ParseSets("{\"text\": \"a\", \"label\": [0, 4]}", false).value()[0].Truth());
  // A list means several labels, which a model of one cannot have.
  EXPECT_TRUE(Contains(FailureOf("{\"text\": \"a\", \"label\": [\"0\"]}"), "neither a name"));
}

}  // namespace
}  // namespace sti
