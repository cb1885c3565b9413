#include "model/resident_model.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <vector>

#include "format/resident_codec.h"
#include "model/memory.h"
#include "support/expect.h"
#include "support/memory_meter.h"
#include "support/temp_folder.h"
#include "support/test_container.h"

namespace sti {
namespace {

std::vector<float> Values(const TensorView& tensor) {
  std::vector<float> values;
  for (uint64_t i = 0; i < tensor.count(); ++i) values.push_back(LoadElement(tensor, i));
  return values;
}

// A forged head that unpacks to 72 MiB from a few kilobytes: its shape says so, and it is held
// once.
TEST(ResidentModel, AHeadIsUnpackedIntoWhatBecomesOfIt) {
  ContainerIndex index;
  index.info.shape.hidden = 1536;
  index.info.shape.labels = 10000;
  index.resident.resize(ResidentKinds(index.info).size());
  ResidentLocation& head = index.resident[ResidentPlace(index.info, ResidentKind::kHead)];
  head.kind = ResidentKind::kHead;
  head.compression = Compression::kZstd;
  head.raw_length = ValuesAt(Home::kHead, index.info.shape) * sizeof(float);
  const std::vector<uint8_t> zeros(head.raw_length, 0);
  std::vector<uint8_t> stored(ZSTD_compressBound(zeros.size()));
  stored.resize(ZSTD_compress(stored.data(), stored.size(), zeros.data(), zeros.size(), 1));
  ASSERT_LT(stored.size(), 100000U);
  const MemoryMeter meter;
  ResidentModel model;
  ASSERT_TRUE(Succeeded(model.SetHead(index, stored, "a.sti")));
  const uint64_t held = ResidentModel::BytesFor(head, index.info.shape);
  EXPECT_EQ(model.bytes(), held);
  EXPECT_LT(meter.peak_bytes(), held + (uint64_t{1} << 20));
}

TEST(ResidentModel, EqualsTheSourceTensors) {
  for (const DataType type : {DataType::kF32, DataType::kF16, DataType::kBF16}) {
    const TempFolder folder;
    TinyModelOptions options;
    options.data_type = type;
    ASSERT_TRUE(Succeeded(WriteTinyContainer(folder.File("a.sti"), options)));
    const auto source = ModelFolder::Open(folder.File("a.sti.model"));
    ASSERT_TRUE(Succeeded(source));
    auto file = ContainerFile::Open(folder.File("a.sti"));
    ASSERT_TRUE(Succeeded(file));
    const uint32_t layers[] = {0, 1};
    const auto model = LoadResidentModel(*file, layers);
    ASSERT_TRUE(Succeeded(model));
    auto of = [&](TensorRole role, uint32_t layer = 0) {
      return Values(source->Tensor(role, layer));
    };
    EXPECT_EQ(model->embedding[TensorRole::kTypeEmbeddings], of(TensorRole::kTypeEmbeddings));
    EXPECT_EQ(model->embedding[TensorRole::kEmbeddingNormWeight],
              of(TensorRole::kEmbeddingNormWeight));
    EXPECT_EQ(model->embedding[TensorRole::kEmbeddingNormBias], of(TensorRole::kEmbeddingNormBias));
    const uint32_t d = file->index().info.shape.hidden;
    std::vector<float> pooler(size_t{d} * d);
    for (uint32_t row = 0; row < d; ++row) {
      model->head.pooler_weight.Row(row, d, &pooler[size_t{row} * d]);
    }
    EXPECT_EQ(pooler, of(TensorRole::kPoolerWeight));
    EXPECT_EQ(model->head.pooler_weight.bytes.size(), pooler.size() * BytesOf(type));
    EXPECT_EQ(model->head[TensorRole::kPoolerBias], of(TensorRole::kPoolerBias));
    EXPECT_EQ(model->head[TensorRole::kClassifierWeight], of(TensorRole::kClassifierWeight));
    EXPECT_EQ(model->head[TensorRole::kClassifierBias], of(TensorRole::kClassifierBias));
    for (const uint32_t layer : layers) {
      const LayerParameters& p = model->layers[layer];
      EXPECT_EQ(p[TensorRole::kQueryBias], of(TensorRole::kQueryBias, layer));
      EXPECT_EQ(p[TensorRole::kKeyBias], of(TensorRole::kKeyBias, layer));
      EXPECT_EQ(p[TensorRole::kValueBias], of(TensorRole::kValueBias, layer));
      EXPECT_EQ(p[TensorRole::kOutputBias], of(TensorRole::kOutputBias, layer));
      EXPECT_EQ(p[TensorRole::kAttentionNormWeight], of(TensorRole::kAttentionNormWeight, layer));
      EXPECT_EQ(p[TensorRole::kAttentionNormBias], of(TensorRole::kAttentionNormBias, layer));
      EXPECT_EQ(p[TensorRole::kFfn1Bias], of(TensorRole::kFfn1Bias, layer));
      EXPECT_EQ(p[TensorRole::kFfn2Bias], of(TensorRole::kFfn2Bias, layer));
      EXPECT_EQ(p[TensorRole::kOutputNormWeight], of(TensorRole::kOutputNormWeight, layer));
      EXPECT_EQ(p[TensorRole::kOutputNormBias], of(TensorRole::kOutputNormBias, layer));
    }
  }
}

TEST(ResidentModel, LoadsTheLayersAskedForAndCountsTheirBytes) {
  const TempFolder folder;
  ASSERT_TRUE(Succeeded(WriteTinyContainer(folder.File("a.sti"))));
  auto file = ContainerFile::Open(folder.File("a.sti"));
  ASSERT_TRUE(Succeeded(file));
  const uint32_t second[] = {1};
  const auto model = LoadResidentModel(*file, second);
  ASSERT_TRUE(Succeeded(model));
  ASSERT_EQ(model->layers.size(), 2U);
  EXPECT_TRUE(model->layers[0][TensorRole::kQueryBias].empty());
  EXPECT_EQ(model->layers[1][TensorRole::kQueryBias].size(), 32U);
  const uint64_t head = 32 + 3 * 32 + 3;
  const uint64_t pooler = 32 * 32;
  const uint64_t layer = 9 * 32 + 64;
  EXPECT_EQ(model->bytes(), (4 * 32 + head + layer) * sizeof(float) + pooler * sizeof(uint16_t));
}

// Plans count on what the index tells, since they do not open the model.
TEST(ResidentModel, TakesTheMemoryThatItsIndexTells) {
  for (const DataType type : {DataType::kF32, DataType::kF16, DataType::kBF16}) {
    const TempFolder folder;
    TinyModelOptions options;
    options.data_type = type;
    ASSERT_TRUE(Succeeded(WriteTinyContainer(folder.File("a.sti"), options)));
    auto file = ContainerFile::Open(folder.File("a.sti"));
    ASSERT_TRUE(Succeeded(file));
    const uint32_t layers[] = {0, 1};
    const auto model = LoadResidentModel(*file, layers);
    ASSERT_TRUE(Succeeded(model));
    const ContainerIndex& index = file->index();
    EXPECT_EQ(ResidentBytes(index), model->bytes()) << BytesOf(type) << " bytes a value";
  }
}

TEST(ResidentModel, AFlippedByteIsFoundByThePartsName) {
  const TempFolder folder;
  const std::string path = folder.File("a.sti");
  const auto report = WriteTinyContainer(path);
  ASSERT_TRUE(Succeeded(report));
  const std::pair<PartLocation, std::string> parts[] = {
      {report->index.Resident(ResidentKind::kEmbedding).part, "embedding parameters"},
      {report->index.Resident(ResidentKind::kLayer, 1).part, "layer 1 parameters"},
      {report->index.Resident(ResidentKind::kHead).part, "head parameters"}};
  const uint32_t layers[] = {0, 1};
  for (const auto& [part, name] : parts) {
    ASSERT_TRUE(DamageByte(path, part.offset + part.length / 2).ok());
    auto file = ContainerFile::Open(path);
    ASSERT_TRUE(Succeeded(file));
    EXPECT_TRUE(
        FailedWith(LoadResidentModel(*file, layers), ErrorKind::kDamaged, name + " is damaged"));
    ASSERT_TRUE(DamageByte(path, part.offset + part.length / 2).ok());
  }
}

}  // namespace
}  // namespace sti
