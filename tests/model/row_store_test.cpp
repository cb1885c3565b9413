#include "model/row_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <set>

#include "support/expect.h"
#include "support/random.h"
#include "support/temp_folder.h"
#include "support/test_container.h"

namespace sti {
namespace {

using Ids = std::vector<uint32_t>;

TEST(RecentRows, KeepsTheLatestWordsAsAListSays) {
  constexpr size_t kSlots = 12;
  std::vector<RecentRows::Entry> entries(kSlots);
  RecentRows rows{entries};
  std::vector<uint32_t> words_at(kSlots);  // by slot, as `place` was told
  std::list<Ids> texts;                    // the latest first
  TestRandom random{7};
  for (int text = 0; text < 3000; ++text) {
    std::set<uint32_t> words;
    for (uint64_t i = random.Below(8) + 1; i > 0; --i)
      words.insert(static_cast<uint32_t>(random.Below(40)));
    Ids used(words.begin(), words.end());
    Ids missing;
    for (const uint32_t word : used) {
      if (!rows.SlotOf(word)) missing.push_back(word);
    }
    rows.Note(used, missing, kSlots, [&](uint32_t word, uint32_t slot) {
      ASSERT_LT(slot, kSlots);
      words_at[slot] = word;
    });
    texts.push_front(used);
    // The plain reference: words by their last text, as many as there are slots for.
    Ids latest;
    for (const Ids& past : texts) {
      for (const uint32_t word : past) {
        if (std::ranges::count(latest, word) == 0) latest.push_back(word);
      }
      // Where the words of a text no longer fit, some of them stay, since all are equally late.
      if (latest.size() > kSlots) break;
      for (const uint32_t word : latest) {
        const auto slot = rows.SlotOf(word);
        ASSERT_TRUE(slot) << "text " << text << ", word " << word;
        ASSERT_EQ(words_at[*slot], word);
      }
    }
    ASSERT_EQ(rows.size(), std::min(latest.size(), kSlots));
  }
}

TEST(RecentRows, ShrinkForgetsWhatLiesBeyond) {
  std::vector<RecentRows::Entry> entries(4);
  RecentRows rows{entries};
  const Ids words{3, 5, 8, 9};
  rows.Note(words, words, 4, [](uint32_t, uint32_t) {});
  rows.Shrink(2);
  EXPECT_EQ(rows.size(), 2);
  for (const uint32_t word : words) {
    EXPECT_LT(rows.SlotOf(word).value_or(0), 2);
  }
  // More words than slots: some of them are kept.
  rows.Note(Ids{1, 2, 4}, Ids{1, 2, 4}, 2, [](uint32_t, uint32_t slot) { EXPECT_LT(slot, 2); });
  EXPECT_EQ(rows.size(), 2);
  rows.Note(Ids{7}, Ids{7}, 0, [](uint32_t, uint32_t) { FAIL(); });
  EXPECT_EQ(rows.size(), 0);
}

class RowStoreTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kTokens = 6;
  void SetUp() override {
    TinyModelOptions model;
    model.hidden = 384;
    model.extra_tokens = 2000;
    model.max_positions = 64;
    ASSERT_TRUE(Succeeded(WriteTinyContainer(path_, model)));
    auto file = ContainerFile::Open(path_);
    ASSERT_TRUE(Succeeded(file));
    file_ = std::make_unique<ContainerFile>(std::move(file).value());
    auto resident = LoadResidentModel(*file_, {});
    ASSERT_TRUE(Succeeded(resident));
    types_ = resident->embedding[TensorRole::kTypeEmbeddings];
  }

  /// Sums a text's rows from the store, or from reads of its own where there is none.
  std::vector<float> Sum(const Ids& ids, RowStore* store) {
    const auto length = static_cast<uint32_t>(ids.size());
    const EmbeddingReads whole = PlanEmbeddingReads(index(), ids, length);
    const EmbeddingReads& reads = store != nullptr ? store->Plan(ids, length) : whole;
    AlignedBuffer own(whole.end);
    const auto blocks = store != nullptr ? store->blocks() : own.span();
    read_bytes_ = 0;
    for (const EmbeddingReads::Range& range : reads.ranges) {
      read_bytes_ += range.length;
      EXPECT_TRUE(
          Succeeded(file_->reader().Read(range.offset, blocks.subspan(range.place, range.length))));
    }
    std::vector<float> hidden(ids.size() * 384);
    const Ids types(ids.size(), 0);
    const Status summed =
        store != nullptr
            ? store->Sum({ids, types, types_}, path_, hidden.data())
            : SumEmbeddings(index(), reads, blocks, {ids, types, types_}, path_, hidden.data());
    EXPECT_TRUE(Succeeded(summed));
    if (store != nullptr) store->Keep();
    return hidden;
  }
  const ContainerIndex& index() { return file_->index(); }

  TempFolder folder_;
  std::string path_ = folder_.File("a.sti");
  std::unique_ptr<ContainerFile> file_;
  std::vector<float> types_;
  uint64_t read_bytes_ = 0;
};

TEST_F(RowStoreTest, GivesTheSumsOfRowsReadAnewWhateverIsKept) {
  RowStore store(index());
  store.Reserve(kTokens);
  TestRandom random{11};
  const auto vocabulary = index().info.shape.vocabulary;
  uint64_t saved = 0;
  for (int text = 0; text < 2000; ++text) {
    // Most words come again; some texts have only words that lie across two blocks, far apart.
    Ids ids(1 + random.Below(kTokens));
    const bool wide = random.Below(20) == 0;
    if (wide) ids.resize(kTokens);
    for (uint32_t& id : ids) {
      do {
        id = static_cast<uint32_t>(random.Below(wide || random.Below(4) == 0 ? vocabulary : 30));
      } while (wide &&
               (index().words.offset + uint64_t{id} * index().words.row_bytes) / kBlockBytes ==
                   (index().words.offset + uint64_t{id + 1} * index().words.row_bytes - 1) /
                       kBlockBytes);
    }
    const auto expected = Sum(ids, nullptr);
    const uint64_t whole = read_bytes_;
    ASSERT_EQ(Sum(ids, &store), expected) << "text " << text;
    EXPECT_LE(read_bytes_, whole);
    saved += whole - read_bytes_;
    if (random.Below(200) == 0) store.Forget();
    if (random.Below(200) == 0) {
      store.Release();
      store.Reserve(kTokens);
    }
  }
  EXPECT_GT(saved, 0);
}

TEST_F(RowStoreTest, ATextThatWasThereReadsNothing) {
  RowStore store(index());
  store.Reserve(kTokens);
  const Ids ids{2, 700, 7, 7, 3};
  Sum(ids, &store);
  EXPECT_GT(read_bytes_, 0);
  Sum(ids, &store);
  EXPECT_EQ(read_bytes_, 0);
  Sum({2, 7, 3}, &store);
  EXPECT_EQ(read_bytes_, 0) << "positions are those of a longer text";
  Sum({2, 1200, 3}, &store);
  EXPECT_EQ(read_bytes_, PlanEmbeddingReads(index(), Ids{1200}, 0).bytes);

  store.Forget();
  Sum(ids, &store);
  EXPECT_GT(read_bytes_, 0);
  RowStore forgetful(index(), false);
  forgetful.Reserve(kTokens);
  Sum(ids, &forgetful);
  const uint64_t bytes = read_bytes_;
  Sum(ids, &forgetful);
  EXPECT_EQ(read_bytes_, bytes);
}

}  // namespace
}  // namespace sti
