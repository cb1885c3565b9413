#include "score/spans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "score/evaluation.h"

namespace sti {
namespace {

const std::vector<std::string> kLabels = {"O", "B-A", "I-A", "B-B", "I-B"};

/// A text of tokens, each of which is one byte and behind a space unless it continues a word.
class Spans : public ::testing::Test {
 protected:
  // Adds a token whose label has this probability, and all others the rest in equal parts.
  void Add(uint32_t label, float probability, bool continues = false) {
    const auto row = static_cast<uint32_t>(rows_.size() / kLabels.size());
    for (uint32_t i = 0; i < kLabels.size(); ++i)
      rows_.push_back(i == label ? probability : (1 - probability) / 4);
    if (!continues) ++at_;
    tokens_.push_back({row, {at_, at_ + 1}, continues});
    ++at_;
  }

  // "A 1-4 0.90": name, bytes and score of each.
  [[nodiscard]] std::string Found(Aggregation way) const {
    std::string text;
    for (const LabelledSpan& span : SpansOf(tags_, way, tokens_, rows_)) {
      char score[16];
      std::snprintf(score, sizeof(score), "%.3f", double{span.score});
      text += (text.empty() ? "" : ", ") + tags_.names()[span.name] + " " +
              std::to_string(span.bytes.begin) + "-" + std::to_string(span.bytes.end) + " " + score;
    }
    return text;
  }

  TagScheme tags_ = *TagScheme::Of(kLabels);
  std::vector<float> rows_;
  std::vector<TextToken> tokens_;
  uint32_t at_ = 0;
};

TEST_F(Spans, AreOfTokensOrJoined) {
  Add(1, 0.75F);
  Add(2, 0.25F + 0.375F);
  Add(0, 0.75F);
  Add(3, 0.5F);
  EXPECT_EQ(Found(Aggregation::kNone), "B-A 1-2 0.750, I-A 3-4 0.625, B-B 7-8 0.500");
  EXPECT_EQ(Found(Aggregation::kSimple), "A 1-4 0.688, B 7-8 0.500");
}

TEST_F(Spans, GiveAWordOneLabel) {
  Add(1, 0.5F);
  Add(4, 0.9F, true);
  Add(4, 0.6F, true);
  Add(2, 0.7F);
  EXPECT_EQ(Found(Aggregation::kSimple), "A 1-2 0.500, B 2-4 0.750, A 5-6 0.700");
  EXPECT_EQ(Found(Aggregation::kFirst), "A 1-6 0.600");
  EXPECT_EQ(Found(Aggregation::kMax), "B 1-4 0.900, A 5-6 0.700");
  EXPECT_EQ(Found(Aggregation::kAverage), "B 1-4 0.542, A 5-6 0.700");
}

TEST_F(Spans, OfEqualTokensTheFirstGivesTheLabel) {
  Add(1, 0.5F);
  Add(3, 0.5F, true);
  EXPECT_EQ(Found(Aggregation::kMax), "A 1-3 0.500");
}

TEST_F(Spans, AFirstTokenBeginsAWordWhateverItSays) {
  Add(1, 0.5F, true);
  Add(2, 0.5F, true);
  EXPECT_EQ(Found(Aggregation::kFirst), "A 0-2 0.500");
}

TEST_F(Spans, OfATextWithoutTokensThereAreNone) {
  for (const Aggregation way : {Aggregation::kNone, Aggregation::kSimple, Aggregation::kFirst,
                                Aggregation::kAverage, Aggregation::kMax}) {
    EXPECT_EQ(Found(way), "");
  }
}

TEST_F(Spans, RowsOfControlTokensAreLeftOut) {
  Add(0, 0.9F);
  Add(1, 0.5F);
  tokens_.erase(tokens_.begin());
  EXPECT_EQ(Found(Aggregation::kSimple), "A 3-4 0.500");
}

TEST_F(Spans, AWordOfTheDataHasTheLabelOfItsTokens) {
  Add(1, 0.5F);
  Add(4, 0.9F);
  Add(3, 0.6F);
  const auto label = [&](Aggregation way, uint32_t begin, uint32_t end) {
    return LabelOfWord(way, tokens_, rows_, tags_.size(), {begin, end});
  };
  EXPECT_EQ(label(Aggregation::kFirst, 0, 4), 1U);
  EXPECT_EQ(label(Aggregation::kSimple, 0, 4), 1U);
  EXPECT_EQ(label(Aggregation::kMax, 0, 4), 4U);
  EXPECT_EQ(label(Aggregation::kAverage, 0, 4), 4U);
  EXPECT_EQ(label(Aggregation::kFirst, 4, 9), 3U);
  EXPECT_EQ(label(Aggregation::kFirst, 6, 9), std::nullopt) << "no token begins there";
  EXPECT_EQ(label(Aggregation::kFirst, 0, 1), std::nullopt);
}

/// Returns the tags that a list of labels names.
std::vector<Tag> TagsOf(const TagScheme& scheme, const std::vector<std::string>& labels,
                        const std::vector<std::string>& row) {
  std::vector<Tag> tags;
  for (const std::string& label : row)
    tags.push_back(
        scheme[static_cast<uint32_t>(std::ranges::find(labels, label) - labels.begin())]);
  return tags;
}

// tests/data/README.md says what the reference is.
TEST(WordSpans, AndTheirScoresAreSeqevals) {
  std::ifstream lines(STI_SOURCE_DIR "/tests/data/word-spans.jsonl");
  std::string line;
  size_t count = 0;
  for (; std::getline(lines, line); ++count) {
    const auto json = nlohmann::json::parse(line);
    const std::vector<std::string> labels = json.at("labels");
    const auto scheme = TagScheme::Of(labels);
    ASSERT_TRUE(scheme.ok());
    Evaluation evaluation;
    evaluation.span_names = scheme->names();
    for (size_t text = 0; text < json.at("tags").size(); ++text) {
      const auto truth = WordSpansOf(TagsOf(*scheme, labels, json["tags"][text]));
      auto found = nlohmann::json::array();
      for (const WordSpan& span : truth)
        found.push_back({scheme->names()[span.kind], span.begin, span.end});
      EXPECT_EQ(found, json["spans"][text]) << line;
      evaluation.AddSpans(truth, WordSpansOf(TagsOf(*scheme, labels, json["given"][text])), {});
    }
    EXPECT_DOUBLE_EQ(evaluation.AllSpans().Precision(), json.at("precision")) << line;
    EXPECT_DOUBLE_EQ(evaluation.AllSpans().Recall(), json.at("recall"));
    EXPECT_DOUBLE_EQ(evaluation.quality(), json.at("f1"));
    EXPECT_NEAR(evaluation.labels.MacroF1(), json.at("macro_f1").get<double>(), 1e-12);
  }
  EXPECT_EQ(count, 40U);
}

}  // namespace
}  // namespace sti
