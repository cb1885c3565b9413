// Which columns of a data file are read: those of GLUE's sets by their names, others as the caller
// chooses, and never fewer texts than the file has.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/remedy.h"
#include "text/dataset.h"

namespace sti {
namespace {

const std::vector<std::string> kColumnLabels = {"entailment", "not_entailment", "2"};

Result<std::vector<Example>> ParseColumns(std::string_view content,
                                          const ColumnChoice& columns = {},
                                          bool labels_required = true) {
  return ParseDataset(content, "dev.tsv",
                      {kColumnLabels, Problem::kSingleLabel, labels_required, columns});
}

std::string TextOfFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Expects one example with these texts and the label 1.
void ExpectExample(std::string_view content, const std::string& text,
                   const std::optional<std::string>& pair, const ColumnChoice& columns = {}) {
  SCOPED_TRACE(content.substr(0, content.find('\n')));
  const auto rows = ParseColumns(content, columns);
  ASSERT_TRUE(rows.ok()) << rows.error().Message();
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ((*rows)[0].text, text);
  EXPECT_EQ((*rows)[0].pair, pair);
  EXPECT_EQ((*rows)[0].label, 1U);
}

// Expects a DataError that says `message` and to name the columns.
void ExpectUnnamed(std::string_view content, const std::string& message,
                   const ColumnChoice& columns = {}) {
  const auto rows = ParseColumns(content, columns);
  ASSERT_FALSE(rows.ok()) << content;
  EXPECT_EQ(rows.error().kind, ErrorKind::kDamaged);
  EXPECT_EQ(rows.error().Message(), message);
  EXPECT_EQ(rows.error().remedy, Remedy::kNameColumns) << message;
}

TEST(DatasetColumns, ThoseOfGlue) {
  const std::optional<std::string> alone;
  ExpectExample("sentence\tlabel\nhide new secretions \t1\n", "hide new secretions ", alone);
  ExpectExample("index\tsentence1\tsentence2\tlabel\n0\tNo ban.\tA ban.\tnot_entailment\n",
                "No ban.", "A ban.");
  ExpectExample(
      "\xEF\xBB\xBFQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n"
      "1\t702876\t702977\tAmrozi called him \"the witness\", so\tReferring to him\r\n",
      "Amrozi called him \"the witness\", so", "Referring to him");
  ExpectExample(
      "index\tquestion\tsentence\tlabel\n0\tWhen did it end?\tIt ended then.\tnot_entailment\n",
      "When did it end?", "It ended then.");
  ExpectExample(
      "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"
      "133273\t213221\t213222\tHow is it?\tHow was it?\t1\n",
      "How is it?", "How was it?");
  ExpectExample(
      "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\t"
      "sentence1_parse\tsentence2_parse\tsentence1\tsentence2\tlabel1\tgold_label\n"
      "0\t31193\t31193n\tgovernment\t( Conceptually ( cream skimming ) )\t( Product geography )\t"
      "(ROOT (S (NP cream)))\t(ROOT (NP Product))\tConceptually cream skimming\t"
      "Product and geography\tentailment\tnot_entailment\n",
      "Conceptually cream skimming", "Product and geography");
  ExpectExample("sentence1\tlabel\nNo ban.\t1\n", "No ban.", alone);
  ExpectExample("premise,hypothesis,label,idx\nIt rains.,It is wet.,1,0\n", "It rains.",
                "It is wet.");
}

TEST(DatasetColumns, SetsOfGlueAsPublished) {
  const std::string folder = std::string(STI_SOURCE_DIR) + "/../shared/data/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  const std::pair<const char*, size_t> pairs[] = {{"RTE/dev.tsv", 277}, {"RTE/train.tsv", 2490}};
  for (const auto& [file, count] : pairs) {
    const auto rows = ParseColumns(TextOfFile(folder + file));
    ASSERT_TRUE(rows.ok()) << rows.error().Message();
    EXPECT_EQ(rows->size(), count);
    for (const Example& row : *rows) ASSERT_TRUE(row.pair && row.label);
  }
  const auto rows = ParseColumns(TextOfFile(folder + "SST-2/train.tsv"));
  ASSERT_TRUE(rows.ok()) << rows.error().Message();
  EXPECT_EQ(rows->size(), 67349U);
}

TEST(DatasetColumns, TestSetsOfGlueHaveNoLabels) {
  const auto rows = ParseColumns("index\tquestion\tsentence\n0\tWho is it?\tIt is I.\n", {}, false);
  ASSERT_TRUE(rows.ok()) << rows.error().Message();
  EXPECT_EQ((*rows)[0].pair, "It is I.");
  ExpectUnnamed("index\tquestion\tsentence\n0\tWho is it?\tIt is I.\n",
                "dev.tsv:1: no label; labels are needed here");
}

TEST(DatasetColumns, ScoresToPredictAreRefused) {
  const std::string sts =
      "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore\n"
      "0\tmain-captions\tMSRvid\t2012test\t0000\tnone\tnone\tA man.\tA boy.\t5.000\n";
  const auto rows = ParseColumns(sts);
  ASSERT_FALSE(rows.ok());
  EXPECT_EQ(rows.error().Message(),
            "dev.tsv:1: \"score\" is a number to predict, and regression is not supported; "
            "give a set with labels");
}

TEST(DatasetColumns, ColaHasNoHeader) {
  const std::string cola = "gj04\t1\t\tOur friends won't buy this analysis.\n";
  ExpectUnnamed(cola,
                "dev.tsv:1: no text such as \"sentence\" or \"text\" among \"gj04\", \"1\", \"\", "
                "\"Our friends won't buy this analysis.\"");
  ExpectUnnamed("a;b;c;d\n1;2;3;4\n",
                "dev.tsv:1: no text such as \"sentence\" or \"text\" among \"a;b;c;d\"");
  ExpectExample(cola, "Our friends won't buy this analysis.", {}, {"4", "", "2"});
  ExpectExample("[so it is]\t1\n", "[so it is]", {}, {"1", "", "2"});
  ExpectExample("{name} said hi\t1\n", "{name} said hi", {}, {"1", "", "2"});
  ExpectExample("  {\"a\": 1} b\t1\n", "  {\"a\": 1} b", {}, {"1", "", "2"});
  ExpectExample("{\"a\": 1}\t1\n", "{\"a\": 1}", {}, {"1", "", "2"});
  ExpectExample("1,\"a, b\",c\n", "a, b", "c", {"2", "3", "1"});
  ExpectUnnamed(cola, "dev.tsv:1: no column 5, the first line has 4", {"5", "", "2"});
  ExpectUnnamed(cola, "dev.tsv:1: no column 0, the first line has 4", {"4", "", "0"});
  ExpectUnnamed(cola, "dev.tsv:1: no column 99999999999999999999, the first line has 4",
                {"99999999999999999999", "", "2"});
  ExpectUnnamed(cola, "dev.tsv:1: no label; labels are needed here", {"4", "", ""});
}

TEST(DatasetColumns, ThoseThatAreChosen) {
  const std::string table = "title\tsentence\tlabel\tstars\nA film\tgood one\t0\t1\n";
  ExpectExample(table, "A film", {}, {"title", "", "stars"});
  ExpectExample(table, "A film", "good one", {"title", "sentence", "stars"});
  ExpectExample("{\"title\": \"A film\", \"about\": \"good one\", \"stars\": 1}", "A film",
                "good one", {"title", "about", "stars"});
  ExpectExample("sentence\tlabel\tstars\ngood one\t0\t1\n", "good one", {}, {"", "", "stars"});
  ExpectUnnamed(table, "dev.tsv:1: no column is called \"review\"", {"review", "", ""});
  ExpectUnnamed("{\"text\": \"a\", \"label\": 1}\n{\"text\": \"a\", \"label\": null}\n",
                "dev.tsv:2: no column is called \"label\"", {"text", "", "label"});
  const auto numbers = ParseColumns("{\"1\": \"a\", \"2\": 1}", {"1", "", "2"});
  ASSERT_FALSE(numbers.ok());
  EXPECT_EQ(numbers.error().Message(),
            "dev.tsv: JSON Lines has keys and no numbered columns; give the keys");
}

TEST(DatasetColumns, NoTextIsLeftOutWithoutAWord) {
  ExpectUnnamed("sentence\tcontext\tlabel\nso it is\twhat came before\t1\n",
                "dev.tsv:1: nothing would read the text in \"context\"");
  ExpectUnnamed("sentence\tcontext\tlabel\nso it is\t\t1\nso\twhat came before\t1\n",
                "dev.tsv:1: nothing would read the text in \"context\"");
  ExpectUnnamed("sentence\tcontext\tlabel\nso it is\t\u5728\u8fd9\u4e4b\u524d\t1\n",
                "dev.tsv:1: nothing would read the text in \"context\"");
  ExpectUnnamed("text\tquestion\tlabel\nso\twhy\t1\n",
                "dev.tsv:1: nothing would read the text in \"question\"");
  ExpectUnnamed("{\"text\": \"a\", \"label\": 1}\n{\"text\": \"a\", \"n\": \"b c\", \"label\": 1}",
                "dev.tsv:2: nothing would read the text in \"n\"");
  ExpectExample("id\tsentence\tday\tlabel\nuser-7\tso it is\t2026-01-02 10:00\t1\n", "so it is",
                {});
  ExpectExample("{\"text\": \"a\", \"label\": 1, \"words\": [\"b c\"], \"more\": {\"d\": \"e f\"}}",
                "a", {});
}

TEST(DatasetColumns, TextIsLookedForInAHundredRows) {
  const auto table = [](int rows_before) {
    std::string content = "sentence\tnote\tlabel\n";
    for (int i = 0; i < rows_before; ++i) content += "so\t\t1\n";
    return content + "so\twhat came before\t1\n";
  };
  ExpectUnnamed(table(99), "dev.tsv:1: nothing would read the text in \"note\"");
  EXPECT_TRUE(ParseColumns(table(100)).ok());
}

TEST(DatasetColumns, AmbiguousNames) {
  ExpectUnnamed("sentence\tlabel\tgold_label\na\t1\t1\n",
                "dev.tsv:1: labels in \"label\" and in \"gold_label\"");
  ExpectUnnamed("sentence\tsentence\tlabel\na\tb\t1\n",
                "dev.tsv:1: two columns are called \"sentence\"");
  ExpectExample("sentence\tlabel\tgold_label\na\t1\t0\n", "a", {}, {"", "", "label"});
}

TEST(DatasetColumns, ChoicesThatMakeNoSense) {
  EXPECT_TRUE(CheckColumnChoice({}).ok());
  EXPECT_TRUE(CheckColumnChoice({"text", "", "2nd"}).ok());
  EXPECT_TRUE(CheckColumnChoice({"4", "3", "2"}).ok());
  const ColumnChoice wrong[] = {{"", "b", ""},  {"a", "a", ""}, {"a", "", "a"}, {"a", "b", "b"},
                                {"4", "", "b"}, {"a", "", "4"}, {"", "", "4"},  {"4", "b", "2"}};
  for (const ColumnChoice& choice : wrong) {
    const Status status = CheckColumnChoice(choice);
    ASSERT_FALSE(status.ok()) << choice.text << "," << choice.pair << "," << choice.label;
    EXPECT_EQ(status.error().kind, ErrorKind::kUsage);
    EXPECT_EQ(ParseColumns("a\tb\n", choice).error().kind, ErrorKind::kUsage);
  }
}

TEST(DatasetRows, DigestNamesTextsPairsAndLabels) {
  const auto digest = [](std::string_view content,
                         std::vector<std::string> labels = kColumnLabels) {
    const auto rows = ParseDataset(content, "f", {.labels = labels});
    EXPECT_TRUE(rows.ok());
    return DigestOfRows(*rows, labels).Hex();
  };
  const std::string same = digest("text\tpair\tlabel\na\tb\t1\nc\td\t2\n");
  EXPECT_EQ(digest("id,text,pair,label\n7,a,b,not_entailment\n8,c,d,2\n"), same);
  EXPECT_EQ(digest("text\tpair\tlabel\na\tb\tnot_entailment\nc\td\t2\n",
                   {"2", "entailment", "not_entailment"}),
            same);
  for (const char* other :
       {"text\tpair\tlabel\na\tb\t1\n", "text\tpair\tlabel\nc\td\t2\na\tb\t1\n",
        "text\tpair\tlabel\na\tb\t0\nc\td\t2\n", "text\tpair\tlabel\nab\t\t1\nc\td\t2\n",
        "text\tpair\tlabel\nx\tb\t1\nc\td\t2\n", "text\tpair\tlabel\na\tx\t1\nc\td\t2\n",
        "text\tpair\tlabel\na\tb\t1\nc\tx\t2\n", "text\tlabel\na\t1\nc\t2\n"}) {
    EXPECT_NE(digest(other), same) << other;
  }
  EXPECT_NE(digest("text\tlabel\na\t1\n"), digest("text\tpair\tlabel\na\t\t1\n"));
}

Result<std::vector<Example>> ParseScores(std::string_view content,
                                         const ColumnChoice& columns = {}) {
  return ParseDataset(content, "sts.tsv", {.columns = columns, .scores = true});
}

TEST(DatasetScores, ArePairsWithNumbers) {
  const struct {
    std::string_view content;
    ColumnChoice columns;
  } cases[] = {
      {"index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore\n"
       "0\tmain\tMSRvid\t2012\t1\tnone\tnone\tA man.\tA plane.\t3.25\n",
       {}},
      {"sentence1,sentence2,similarity_score\nA man.,A plane.,3.25\n", {}},
      {R"({"sentence1": "A man.", "sentence2": "A plane.", "label": 3.25, "idx": 1})", {}},
      {R"({"text": "A man.", "pair": "A plane.", "score": "3.25"})", {}},
      {"A man.\tA plane.\t3.25\n", {"1", "2", "3"}},
      {"a\tb\thow alike\tscore\nA man.\tA plane.\t3.25\t9\n", {"a", "b", "how alike"}},
  };
  for (const auto& one : cases) {
    const auto rows = ParseScores(one.content, one.columns);
    ASSERT_TRUE(rows.ok()) << rows.error().Message();
    ASSERT_EQ(rows->size(), 1U);
    EXPECT_EQ((*rows)[0].text, "A man.");
    EXPECT_EQ((*rows)[0].pair, "A plane.");
    EXPECT_EQ((*rows)[0].score, 3.25);
    EXPECT_FALSE((*rows)[0].Truth());
  }
  const auto whole = ParseScores(R"({"text": "a", "pair": "b", "score": -5})");
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ((*whole)[0].score, -5);
}

TEST(DatasetScores, OnlyPairsWithOneFiniteNumberEach) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"text\tscore\na\t1\n",
       "sts.tsv:1: no second text; pairs of texts with scores are needed here"},
      {"text\tpair\na\tb\n", "sts.tsv:1: no score; pairs of texts with scores are needed here"},
      {"text\tpair\tscore\tlabel\na\tb\t1\t1\n", "sts.tsv:1: scores in \"score\" and in \"label\""},
      {"text\tpair\tscore\na\tb\t1\na\tb\t\n", "sts.tsv:3: the score is missing"},
      {"text\tpair\tscore\na\tb\t1 of 5\n", "sts.tsv:2: the score is no number: \"1 of 5\""},
      {"text\tpair\tscore\na\tb\tnan\n", "sts.tsv:2: the score is no number: \"nan\""},
      {"text\tpair\tscore\na\tb\t-inf\n", "sts.tsv:2: the score is no number: \"-inf\""},
      {R"({"text": "a", "pair": "b", "score": true})", "sts.tsv:1: the score is missing"},
      {R"({"text": "a", "pair": "b", "score": [1]})", "sts.tsv:1: the score is missing"},
  };
  for (const auto& [content, message] : cases) {
    const auto rows = ParseScores(content);
    ASSERT_FALSE(rows.ok()) << content;
    EXPECT_EQ(rows.error().kind, ErrorKind::kDamaged);
    EXPECT_EQ(rows.error().Message(), message);
  }
  const auto numbered = ParseScores("a\tb\t1\n", {"1", "2", ""});
  ASSERT_FALSE(numbered.ok());
  EXPECT_EQ(numbered.error().Message(),
            "sts.tsv:1: no score; pairs of texts with scores are needed here");
}

TEST(DatasetScores, AreNamedByTheDigestOfRows) {
  const auto digest = [](std::string_view content) {
    return DigestOfRows(ParseScores(content).value(), {});
  };
  EXPECT_NE(digest(R"({"text": "a", "pair": "b", "score": 1})"),
            digest(R"({"text": "a", "pair": "b", "score": 1.5})"));
}

}  // namespace
}  // namespace sti
