#include "model/embedding_rows.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "model/row_store.h"
#include "support/expect.h"
#include "support/temp_folder.h"
#include "support/test_container.h"

namespace sti {
namespace {

using Ids = std::vector<uint32_t>;

class EmbeddingRowsTest : public ::testing::TestWithParam<DataType> {
 protected:
  void SetUp() override {
    TinyModelOptions model;
    model.hidden = 48;
    model.extra_tokens = 500;  // several blocks of word rows
    model.max_positions = 64;
    model.data_type = GetParam();
    ASSERT_TRUE(Succeeded(WriteTinyContainer(path_, model)));
    auto folder = ModelFolder::Open(path_ + ".model");
    ASSERT_TRUE(Succeeded(folder));
    source_ = std::make_unique<ModelFolder>(std::move(folder).value());
    Open();
  }
  void Open() {
    auto file = ContainerFile::Open(path_);
    ASSERT_TRUE(Succeeded(file));
    file_ = std::make_unique<ContainerFile>(std::move(file).value());
    auto resident = LoadResidentModel(*file_, {});
    ASSERT_TRUE(Succeeded(resident));
    types_ = resident->embedding[TensorRole::kTypeEmbeddings];
  }

  [[nodiscard]] float Weight(TensorRole role, uint64_t row, uint64_t column) const {
    return LoadElement(source_->Tensor(role), row * 48 + column);
  }

  Result<std::vector<float>> Sum(const Ids& ids, const Ids& types) {
    const ContainerIndex& index = file_->index();
    const auto reads = PlanEmbeddingReads(index, ids, static_cast<uint32_t>(ids.size()));
    EXPECT_LE(reads.end, RowStore::RoomFor(index, static_cast<uint32_t>(ids.size())));
    AlignedBuffer blocks(reads.end);
    for (const EmbeddingReads::Range& range : reads.ranges) {
      STI_RETURN_IF_ERROR(
          file_->reader().Read(range.offset, blocks.span().subspan(range.place, range.length)));
    }
    std::vector<float> hidden(ids.size() * 48);
    STI_RETURN_IF_ERROR(
        SumEmbeddings(index, reads, blocks.span(), {ids, types, types_}, path_, hidden.data()));
    return hidden;
  }

  TempFolder folder_;
  std::string path_ = folder_.File("a.sti");
  std::unique_ptr<ModelFolder> source_;
  std::unique_ptr<ContainerFile> file_;
  std::vector<float> types_;
};

TEST_P(EmbeddingRowsTest, SumEqualsTheSourceTensors) {
  const Ids ids{2, 300, 7, 7, 546, 0, 3, 120};
  const Ids types{0, 0, 0, 0, 1, 1, 1, 0};
  const auto hidden = Sum(ids, types);
  ASSERT_TRUE(Succeeded(hidden));
  for (uint32_t p = 0; p < ids.size(); ++p) {
    for (uint32_t c = 0; c < 48; ++c) {
      const float expected = Weight(TensorRole::kWordEmbeddings, ids[p], c) +
                             Weight(TensorRole::kTypeEmbeddings, types[p], c) +
                             Weight(TensorRole::kPositionEmbeddings, p, c);
      ASSERT_EQ((*hidden)[p * 48 + c], expected) << p << " " << c;
    }
  }
}

TEST_P(EmbeddingRowsTest, ReadsWholeBlocksOfTheNeededRowsOnly) {
  const ContainerIndex& index = file_->index();
  const Ids ids{546, 0, 300, 301, 546};
  const auto reads = PlanEmbeddingReads(index, ids, 5);
  std::vector<bool> needed(uint64_t{1} << 12, false);
  auto need = [&](const RowTable& table, uint64_t row) {
    const uint64_t begin = table.offset + row * table.row_bytes;
    for (uint64_t b = begin / kBlockBytes; b * kBlockBytes < begin + table.row_bytes; ++b) {
      needed[b] = true;
    }
  };
  for (const uint32_t id : ids) need(index.words, id);
  for (uint32_t p = 0; p < 5; ++p) need(index.positions, p);
  std::vector<bool> landed(reads.end / kBlockBytes, false);
  uint64_t bytes = 0;
  uint64_t end = 0;
  for (const EmbeddingReads::Range& range : reads.ranges) {
    EXPECT_EQ((range.offset | range.length) % kBlockBytes, 0U);
    const bool tables_meet = range.offset == RoundDown(index.positions.offset, kBlockBytes);
    EXPECT_TRUE(end == 0 || range.offset > end || tables_meet) << "ranges touch";
    bytes += range.length;
    for (uint64_t at = range.place; at < range.place + range.length; at += kBlockBytes) {
      ASSERT_LT(at, reads.end);
      EXPECT_FALSE(landed[at / kBlockBytes]) << "two blocks land in one place";
      landed[at / kBlockBytes] = true;
    }
    end = range.offset + range.length;
    for (uint64_t at = range.offset; at < end; at += kBlockBytes) {
      EXPECT_TRUE(needed[at / kBlockBytes]);
      needed[at / kBlockBytes] = false;
    }
  }
  EXPECT_EQ(reads.bytes, bytes);
  EXPECT_EQ(std::count(needed.begin(), needed.end(), true), 0) << "a block is not read";
}

TEST_P(EmbeddingRowsTest, AFlippedByteInARowIsFoundByItsRow) {
  const RowTable words = file_->index().words;
  const RowTable positions = file_->index().positions;
  for (const uint32_t byte : {0U, words.row_bytes / 2, words.row_bytes - 1}) {
    const uint64_t at = words.offset + uint64_t{300} * words.row_bytes + byte;
    ASSERT_TRUE(DamageByte(path_, at).ok());
    EXPECT_TRUE(FailedWith(Sum({2, 300, 3}, {0, 0, 0}), ErrorKind::kDamaged,
                           "word embedding row 300 is damaged"));
    EXPECT_TRUE(Succeeded(Sum({2, 299, 301, 3}, {0, 0, 0, 0}))) << "other rows are whole";
    ASSERT_TRUE(DamageByte(path_, at).ok());
  }
  ASSERT_TRUE(DamageByte(path_, positions.offset + positions.row_bytes * 2 + 5).ok());
  EXPECT_TRUE(FailedWith(Sum({2, 7, 3}, {0, 0, 0}), ErrorKind::kDamaged,
                         "position embedding row 2 is damaged"));
  EXPECT_TRUE(Succeeded(Sum({2, 3}, {0, 0})));
}

// The checksum of a row is seeded with its number: a row in another's place is damage too.
TEST_P(EmbeddingRowsTest, ARowInAnothersPlaceIsFound) {
  const RowTable words = file_->index().words;
  const auto bytes = FileBytes(path_);
  for (uint32_t i = 0; i < words.row_bytes; ++i) {
    const uint64_t to = words.offset + uint64_t{7} * words.row_bytes + i;
    const uint8_t change = bytes[to] ^ bytes[to + words.row_bytes];
    ASSERT_TRUE(change == 0 || DamageByte(path_, to, change).ok());
  }
  EXPECT_TRUE(FailedWith(Sum({7}, {0}), ErrorKind::kDamaged, "word embedding row 7 is damaged"));
}

std::string NameOf(const ::testing::TestParamInfo<DataType>& info) {
  return info.param == DataType::kF32 ? "F32" : info.param == DataType::kF16 ? "F16" : "BF16";
}
INSTANTIATE_TEST_SUITE_P(Types, EmbeddingRowsTest,
                         ::testing::Values(DataType::kF32, DataType::kF16, DataType::kBF16),
                         NameOf);

}  // namespace
}  // namespace sti
