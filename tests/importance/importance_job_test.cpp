#include "importance/importance_job.h"

#include <gtest/gtest.h>

#include "support/expect.h"
#include "support/random.h"
#include "support/temp_folder.h"
#include "support/test_container.h"

namespace sti {
namespace {

class WordUseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    TinyModelOptions model;
    model.hidden = 384;
    model.extra_tokens = 3000;
    model.max_positions = 64;
    const auto report = WriteTinyContainer(folder_.File("a.sti"), model);
    ASSERT_TRUE(Succeeded(report));
    index_ = report->index;
  }

  /// Texts of 12 tokens: one word that all have, one of four, and others that are hardly ever the
  /// same.
  [[nodiscard]] static ExampleBatch Texts(size_t count) {
    ExampleBatch batch;
    batch.offsets = {0};
    TestRandom random{3};
    for (size_t i = 0; i < count; ++i) {
      batch.ids.insert(batch.ids.end(), {2, 50, static_cast<uint32_t>(100 + random.Below(4))});
      while (batch.ids.size() < batch.offsets.back() + 11)
        batch.ids.push_back(static_cast<uint32_t>(200 + random.Below(2800)));
      batch.ids.push_back(3);
      batch.offsets.push_back(static_cast<uint32_t>(batch.ids.size()));
    }
    return batch;
  }

  /// More room keeps more rows, up to the longest texts that the model takes.
  static void ExpectRooms(const RowReads& reads) {
    std::vector<uint32_t> tokens;
    double share = reads.share;
    for (const RowRoom& room : reads.rooms) {
      tokens.push_back(room.tokens);
      EXPECT_LE(room.share, share);
      EXPECT_LE(room.p99_share, 1);
      share = room.share;
    }
    std::vector<uint32_t> longer;
    for (const uint32_t length : {32U, 64U}) {
      if (length > reads.length) longer.push_back(length);
    }
    EXPECT_EQ(tokens, longer) << reads.length;
    const bool finds_more = reads.length == 16 && reads.words == 0;
    EXPECT_TRUE(!finds_more || share < reads.share);
  }

  TempFolder folder_;
  ContainerIndex index_;
};

TEST_F(WordUseTest, NamesFrequentWordsAndWhatTheirRowsSave) {
  const ExampleBatch texts = Texts(400);
  const WordUse use = MeasureWordUse(index_, {&texts, 1});
  ASSERT_GE(use.words.size(), 7U);
  EXPECT_EQ(std::vector<uint32_t>(use.words.begin(), use.words.begin() + 3),
            (std::vector<uint32_t>{2, 3, 50}));
  for (size_t i = 3; i < 7; ++i) {
    EXPECT_GE(use.words[i], 100U);
    EXPECT_LT(use.words[i], 104U);
  }
  ASSERT_FALSE(use.reads.empty());
  uint32_t length = 0;
  double share = 1;
  for (const RowReads& reads : use.reads) {
    if (reads.length != length) {
      EXPECT_EQ(reads.words, 0U);
      share = 1;
    }
    length = reads.length;
    EXPECT_LE(length, 64U) << "the model takes no longer texts";
    EXPECT_LE(reads.words, use.words.size());
    EXPECT_GT(reads.share, 0);
    EXPECT_LE(reads.share, share) << "more rows in memory, less to read";
    EXPECT_LE(reads.p99_share, 1);
    share = reads.share;
    ExpectRooms(reads);
  }
  EXPECT_EQ(length, 64U);
}

TEST_F(WordUseTest, IsTheSameWhateverBatchesTheTextsAreIn) {
  const ExampleBatch all = Texts(60);
  std::vector<ExampleBatch> two(2);
  for (size_t i = 0; i < 2; ++i) {
    two[i].offsets = {0};
    for (uint32_t s = static_cast<uint32_t>(i) * 30; s < (i + 1) * 30; ++s) {
      two[i].ids.insert(two[i].ids.end(), all.ids.begin() + all.offsets[s],
                        all.ids.begin() + all.offsets[s + 1]);
      two[i].offsets.push_back(static_cast<uint32_t>(two[i].ids.size()));
    }
  }
  EXPECT_EQ(MeasureWordUse(index_, two), MeasureWordUse(index_, {&all, 1}));
}

TEST_F(WordUseTest, TooFewTextsSayNothing) {
  ExampleBatch one = Texts(1);
  EXPECT_TRUE(MeasureWordUse(index_, {&one, 1}).empty());
  EXPECT_TRUE(MeasureWordUse(index_, {}).empty());
}

}  // namespace
}  // namespace sti
