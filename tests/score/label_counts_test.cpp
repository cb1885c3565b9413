// Published values: the examples of scikit-learn's documentation of f1_score and confusion_matrix.
#include "score/label_counts.h"

#include <gtest/gtest.h>

namespace sti {
namespace {

LabelCounts Count(const std::vector<uint32_t>& truth, const std::vector<uint32_t>& given) {
  LabelCounts counts;
  for (size_t i = 0; i < truth.size(); ++i) {
    counts.Add(std::span(&truth[i], 1), std::span(&given[i], 1));
  }
  return counts;
}

TEST(LabelCounts, F1AsPublished) {
  const LabelCounts counts = Count({0, 1, 2, 0, 1, 2}, {0, 2, 1, 0, 0, 1});
  EXPECT_NEAR(counts.MacroF1(), 0.26666666666666666, 1e-15);
  EXPECT_NEAR(counts.F1(0), 0.8, 1e-15);
  EXPECT_EQ(counts.F1(1), 0);
  EXPECT_EQ(counts.labels()[0].examples, 2U);
  EXPECT_EQ(counts.labels()[0].given, 3U);
  EXPECT_EQ(counts.labels()[0].right, 2U);
}

TEST(LabelCounts, ConfusionAsPublished) {
  const LabelCounts counts = Count({2, 0, 2, 2, 0, 1}, {0, 0, 2, 2, 0, 2});
  const std::map<std::pair<uint32_t, uint32_t>, uint64_t> expected = {
      {{0, 0}, 2}, {{1, 2}, 1}, {{2, 0}, 1}, {{2, 2}, 2}};
  EXPECT_EQ(counts.confusion(), expected);
}

TEST(LabelCounts, LabelsThatDoNotOccurCountForNothing) {
  const LabelCounts counts = Count({1, 5}, {1, 5});
  EXPECT_EQ(counts.MacroF1(), 1);
  EXPECT_FALSE(counts.labels()[0].occurs());
  EXPECT_EQ(counts.F1(0), 0);
  EXPECT_EQ(counts.F1(70'000), 0);
  EXPECT_EQ(LabelCounts().MacroF1(), 0);
}

TEST(LabelCounts, SetsOfLabels) {
  LabelCounts counts;
  const std::vector<uint32_t> none;
  const std::vector<uint32_t> two = {0, 2};
  const std::vector<uint32_t> one = {2};
  counts.Add(two, one);
  counts.Add(none, two);
  counts.Add(one, none);
  // Label 0: in one truth, given once, never right. Label 2: in two, given twice, right once.
  EXPECT_EQ(counts.F1(0), 0);
  EXPECT_EQ(counts.F1(2), 0.5);
  EXPECT_EQ(counts.MacroF1(), 0.25);
  EXPECT_TRUE(counts.confusion().empty());
}

TEST(LabelCounts, AnExampleWithoutAnAnswerLowersTheRecall) {
  LabelCounts counts = Count({0, 0, 1}, {0, 0, 1});
  const std::vector<uint32_t> truth = {1, 3};
  counts.AddUnanswered(truth);
  EXPECT_EQ(counts.labels()[1].examples, 2U);
  EXPECT_EQ(counts.labels()[1].given, 1U);
  EXPECT_EQ(counts.labels()[1].unanswered, 1U);
  EXPECT_EQ(counts.labels()[0].unanswered, 0U);
  EXPECT_NEAR(counts.F1(1), 2.0 / 3, 1e-15);
  EXPECT_EQ(counts.F1(3), 0);
  EXPECT_NEAR(counts.MacroF1(), (1 + 2.0 / 3 + 0) / 3, 1e-15);
  EXPECT_EQ(counts.confusion().size(), 2U) << "nobody gave it a label";
}

}  // namespace
}  // namespace sti
