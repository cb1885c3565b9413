// Rows that are held in memory, against rows that are read: sums are the same, whatever the ids.
#include "model/held_rows.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "import/shard_model.h"
#include "model/resident_model.h"
#include "support/expect.h"
#include "support/random.h"
#include "support/temp_folder.h"
#include "support/test_container.h"

namespace sti {
namespace {

class HeldRowsTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto folder = ModelFolder::Open(STI_SOURCE_DIR "/tests/data/" + GetParam());
    ASSERT_TRUE(Succeeded(folder));
    ASSERT_TRUE(Succeeded(ShardModel(*folder, {}, path_)));
    auto file = ContainerFile::Open(path_);
    ASSERT_TRUE(Succeeded(file));
    index_ = file->index();
    auto resident = LoadResidentModel(*file, {});
    ASSERT_TRUE(Succeeded(resident));
    types_ = resident->embedding[TensorRole::kTypeEmbeddings];
    bytes_ = FileBytes(path_);
  }
  [[nodiscard]] const uint8_t* Stored(const RowTable& table, uint32_t row) const {
    return &bytes_[table.offset + uint64_t{row} * table.row_bytes];
  }
  /// Ids of which every third stands for no text: padding is among them.
  std::vector<uint32_t> AnyIds(size_t count) {
    const std::vector<uint32_t> special = WordsOfNoText(index_.info.tokenizer);
    std::vector<uint32_t> ids;
    while (ids.size() < count) {
      ids.push_back(random_.Below(3) == 0
                        ? special[random_.Below(special.size())]
                        : static_cast<uint32_t>(random_.Below(index_.info.shape.vocabulary)));
    }
    return ids;
  }
  [[nodiscard]] std::vector<float> Read(const std::vector<uint32_t>& ids) const {
    std::vector<float> hidden(ids.size() * index_.info.shape.embedding_width());
    const auto stored = [this](const RowTable& table, uint32_t row) { return Stored(table, row); };
    const std::vector<uint32_t> types(ids.size());
    EXPECT_TRUE(
        Succeeded(SumEmbeddings(index_, stored, {ids, types, types_}, path_, hidden.data())));
    return hidden;
  }

  TempFolder folder_;
  std::string path_ = folder_.File("model.sti");
  ContainerIndex index_;
  std::vector<float> types_;
  std::vector<uint8_t> bytes_;
  TestRandom random_{3};
};

TEST_P(HeldRowsTest, SumsAreThoseOfRowsThatAreRead) {
  const auto stored = [this](const RowTable& table, uint32_t row) { return Stored(table, row); };
  const uint32_t unknown = index_.info.tokenizer.unknown_id;
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<uint32_t> ids = AnyIds(1 + random_.Below(index_.info.max_length()));
    std::set<uint32_t> held = {unknown};
    for (const uint32_t id : WordsOfNoText(index_.info.tokenizer)) held.insert(id);
    for (const uint32_t id : ids) {
      if (random_.Below(2) == 0) held.insert(id);
    }
    const HeldRows rows(index_, std::vector<uint32_t>(held.begin(), held.end()),
                        static_cast<uint32_t>(ids.size()), stored);
    const auto find = [&](const RowTable& table, uint32_t row) { return rows.Find(table, row); };
    const std::vector<uint32_t> types(ids.size());
    std::vector<float> hidden(ids.size() * index_.info.shape.embedding_width(), -1.0F);
    const uint32_t missing = SumRowsInMemory(index_, find, {ids, types, types_}, hidden.data());
    uint32_t unknown_words = 0;
    for (uint32_t& id : ids) {
      if (held.contains(id)) continue;
      id = unknown;
      ++unknown_words;
    }
    EXPECT_EQ(missing, unknown_words);
    EXPECT_EQ(hidden, Read(ids)) << trial;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, HeldRowsTest,
                         ::testing::Values("roberta-tiny", "distilbert-tiny", "electra-tiny"),
                         [](const auto& model) {
                           return model.param.substr(0, model.param.find('-'));
                         });

}  // namespace
}  // namespace sti
