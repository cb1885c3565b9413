#include "importance/examples.h"

#include <gtest/gtest.h>

#include "support/expect.h"
#include "support/test_tokenizer.h"

namespace sti {
namespace {

std::vector<Example> Examples() {
  return {{"the movie is good", std::nullopt, 1},
          {"a film", "not bad", 0},
          {"", std::nullopt, std::nullopt},
          {"it was very very very very very very very bad", std::nullopt, 2},
          {"i play", std::nullopt, 1}};
}

TEST(BatchExamples, KeepsOrderAndBoundsOfSequences) {
  const Tokenizer tokenizer = TinyTokenizer();
  const auto examples = Examples();
  for (const uint32_t max_tokens : {1U, 8U, 13U, 1000U}) {
    const auto batches = BatchExamples(tokenizer, examples, Metric::kLoss, 8, max_tokens);
    size_t next = 0;
    for (const ExampleBatch& batch : batches) {
      ASSERT_EQ(batch.offsets.front(), 0U);
      ASSERT_EQ(batch.offsets.back(), batch.ids.size());
      ASSERT_EQ(batch.types.size(), batch.ids.size());
      ASSERT_EQ(batch.truths.size(), batch.batch().sequences());
      EXPECT_TRUE(batch.ids.size() <= max_tokens || batch.truths.size() == 1);
      for (uint32_t s = 0; s < batch.batch().sequences(); ++s, ++next) {
        const Example& example = examples[next];
        const Encoding expected = tokenizer.Encode(example.text, example.pair, 8);
        const std::vector<uint32_t> ids(batch.ids.begin() + batch.offsets[s],
                                        batch.ids.begin() + batch.offsets[s + 1]);
        const std::vector<uint32_t> types(batch.types.begin() + batch.offsets[s],
                                          batch.types.begin() + batch.offsets[s + 1]);
        EXPECT_EQ(ids, expected.ids);
        EXPECT_EQ(types, expected.types);
        EXPECT_EQ(batch.truths[s], example.Truth());
      }
    }
    EXPECT_EQ(next, examples.size());
  }
}

TEST(BatchExamples, FillsABatchBeforeTheNext) {
  const Tokenizer tokenizer = TinyTokenizer();
  EXPECT_EQ(BatchExamples(tokenizer, Examples(), Metric::kLoss, 8, 1000).size(), 1U);
  EXPECT_EQ(BatchExamples(tokenizer, Examples(), Metric::kLoss, 8, 1).size(), 5U);
  // 6 + 7 tokens, then 2 + 8, then 4.
  const auto batches = BatchExamples(tokenizer, Examples(), Metric::kLoss, 8, 13);
  ASSERT_EQ(batches.size(), 3U);
  EXPECT_EQ(batches[0].offsets, (std::vector<uint32_t>{0, 6, 13}));
  EXPECT_EQ(batches[1].offsets, (std::vector<uint32_t>{0, 2, 10}));
}

TEST(BatchExamples, NoExamplesNoBatches) {
  EXPECT_TRUE(BatchExamples(TinyTokenizer(), {}, Metric::kLoss, 8, 100).empty());
}

std::vector<uint32_t> Ids(const ExampleBatch& batch, uint32_t s) {
  return {batch.ids.begin() + batch.offsets[s], batch.ids.begin() + batch.offsets[s + 1]};
}

TEST(BatchExamples, WithoutTruthsWhereTheMetricUsesNone) {
  const auto batches = BatchExamples(TinyTokenizer(), Examples(), Metric::kKl, 8, 1000);
  for (const auto& truth : batches.at(0).truths) EXPECT_FALSE(truth);
}

// A model that embeds reads a pair as two texts.
TEST(BatchExamples, ByCosineEachTextIsAnExample) {
  const Tokenizer tokenizer = TinyTokenizer();
  const auto batches = BatchExamples(tokenizer, Examples(), Metric::kCosine, 8, 1000);
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_EQ(batches[0].examples(), 6U);
  EXPECT_EQ(Ids(batches[0], 1), tokenizer.Encode("a film", std::nullopt, 8).ids);
  EXPECT_EQ(Ids(batches[0], 2), tokenizer.Encode("not bad", std::nullopt, 8).ids);
  for (const auto& truth : batches[0].truths) EXPECT_FALSE(truth);
}

TEST(BatchExamples, BySpearmanPairsStayTogether) {
  const Tokenizer tokenizer = TinyTokenizer();
  std::vector<Example> pairs = {{"a film", "not bad", {}, {}, 4.5},
                                {"i play", "it was very bad", {}, {}, 0.25}};
  const auto together = BatchExamples(tokenizer, pairs, Metric::kSpearman, 8, 1000);
  ASSERT_EQ(together.size(), 1U);
  EXPECT_EQ(together[0].examples(), 2U);
  EXPECT_EQ(together[0].scores, (std::vector<double>{4.5, 0.25}));
  EXPECT_EQ(Ids(together[0], 3), tokenizer.Encode("it was very bad", std::nullopt, 8).ids);
  EXPECT_EQ(together[0].TokensOf(1), 4U + 6U);
  const LengthRange lengths = LengthsOf(together);
  EXPECT_EQ(lengths.shortest, 4U);
  EXPECT_EQ(lengths.longest, 10U) << "of a pair";
  // Room for one text more is none for a pair.
  const auto apart = BatchExamples(tokenizer, pairs, Metric::kSpearman, 8, 12);
  ASSERT_EQ(apart.size(), 2U);
  EXPECT_EQ(DigestOf(apart), DigestOf(together)) << "however they are divided";
  pairs[1].score = 0.5;
  EXPECT_NE(DigestOf(BatchExamples(tokenizer, pairs, Metric::kSpearman, 8, 1000)),
            DigestOf(together));
}

}  // namespace
}  // namespace sti
