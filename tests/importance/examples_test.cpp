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
    const auto batches = BatchExamples(tokenizer, examples, 8, max_tokens);
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
  EXPECT_EQ(BatchExamples(tokenizer, Examples(), 8, 1000).size(), 1U);
  EXPECT_EQ(BatchExamples(tokenizer, Examples(), 8, 1).size(), 5U);
  // 6 + 7 tokens, then 2 + 8, then 4.
  const auto batches = BatchExamples(tokenizer, Examples(), 8, 13);
  ASSERT_EQ(batches.size(), 3U);
  EXPECT_EQ(batches[0].offsets, (std::vector<uint32_t>{0, 6, 13}));
  EXPECT_EQ(batches[1].offsets, (std::vector<uint32_t>{0, 2, 10}));
}

TEST(BatchExamples, NoExamplesNoBatches) {
  EXPECT_TRUE(BatchExamples(TinyTokenizer(), {}, 8, 100).empty());
}

}  // namespace
}  // namespace sti
