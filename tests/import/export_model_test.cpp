#include "import/export_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <filesystem>

#include "format/shard_codec.h"
#include "import/shard_model.h"
#include "shard/weight_order.h"
#include "support/expect.h"
#include "support/temp_folder.h"
#include "support/test_container.h"
#include "types/plan.h"

namespace sti {
namespace {

class ExportModelTest : public ::testing::TestWithParam<DataType> {
 protected:
  void SetUp() override {
    TinyModelOptions model;
    model.hidden = 52;  // ragged panels
    model.ffn = 100;
    model.data_type = GetParam();
    ASSERT_TRUE(Succeeded(WriteTinyContainer(container_, model, {})));
  }
  [[nodiscard]] Result<ModelFolder> Exported(uint32_t bits) const {
    STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(container_));
    ExportOptions options;
    options.bits = bits;
    const std::string dir = folder_.path() + "/out" + std::to_string(bits);
    STI_RETURN_IF_ERROR(ExportModel(file, options, dir));
    return ModelFolder::Open(dir);
  }
  [[nodiscard]] Result<ModelFolder> Source() const {
    return ModelFolder::Open(container_ + ".model");
  }

  TempFolder folder_;
  std::string container_ = folder_.path() + "/a.sti";
};

void ExpectSameTensors(const ModelFolder& a, const ModelFolder& b, Home home, uint32_t layer = 0) {
  for (const TensorSpec& tensor : TensorsAt(home)) {
    const TensorView& left = a.Tensor(tensor.role, layer);
    const TensorView& right = b.Tensor(tensor.role, layer);
    const std::string name = NameOf(tensor.role, layer, a.family());
    EXPECT_EQ(left.type, right.type) << name;
    EXPECT_EQ(left.shape, right.shape) << name;
    EXPECT_TRUE(std::ranges::equal(left.bytes, right.bytes)) << name;
  }
}

void ExpectSameButLayers(const ModelFolder& a, const ModelFolder& b) {
  for (const Home home : {Home::kRows, Home::kEmbedding, Home::kHead})
    ExpectSameTensors(a, b, home);
}

TEST_P(ExportModelTest, FullFidelityIsTheSourceBitForBit) {
  const auto source = Source();
  const auto exported = Exported(kFullBits);
  ASSERT_TRUE(Succeeded(source));
  ASSERT_TRUE(Succeeded(exported));
  ExpectSameButLayers(*source, *exported);
  for (uint32_t layer = 0; layer < 2; ++layer) {
    for (const Home home : {Home::kShard, Home::kLayer}) {
      ExpectSameTensors(*source, *exported, home, layer);
    }
  }
  EXPECT_EQ(source->vocabulary_text(), exported->vocabulary_text());
  // Config included: it is the same model.
  EXPECT_EQ(ModelDigest(*source, CodebookKind::kScaledTree),
            ModelDigest(*exported, CodebookKind::kScaledTree));
}

// Against what the encoder's own parts decode to, each weight where the definition puts it.
TEST_P(ExportModelTest, FewerBitsAreWhatAReaderSees) {
  const auto source = Source();
  ASSERT_TRUE(Succeeded(source));
  const ModelInfo& info = source->info();
  for (uint32_t bits = 2; bits <= 6; ++bits) {
    const auto exported = Exported(bits);
    ASSERT_TRUE(Succeeded(exported));
    ExpectSameButLayers(*source, *exported);
    const auto layer = EncodeLayer(*source, 1, CodebookKind::kScaledTree,
                                   SelectAll(info.shape, ShardOptions{}.bits));
    ASSERT_TRUE(Succeeded(layer));
    std::vector<float> flat;
    for (const TensorSpec& spec : TensorsAt(Home::kShard)) {
      const TensorView& tensor = exported->Tensor(spec.role, 1);
      ASSERT_EQ(tensor.type, DataType::kF32);
      for (uint64_t i = 0; i < tensor.count(); ++i) flat.push_back(LoadElement(tensor, i));
    }
    for (uint32_t slice = 0; slice < info.shape.width; ++slice) {
      std::vector<AlignedBuffer> buffers;
      PerPart<std::span<const uint8_t>> parts;
      for (const PartKind i : kPartKinds) {
        const auto& bytes = layer->shards[slice].parts[i];
        buffers.emplace_back(bytes.size());
        std::copy(bytes.begin(), bytes.end(), buffers.back().data());
        parts[i] = buffers.back().span();
      }
      const auto view = ViewShard(info, layer->codebook, bits, parts, "a");
      ASSERT_TRUE(Succeeded(view));
      const auto weights = DecodeShard(*view, info.shape);
      const auto order = WeightOrder(info.shape, slice);
      for (size_t i = 0; i < order.size(); ++i) {
        ASSERT_EQ(std::bit_cast<uint32_t>(flat[order[i]]), std::bit_cast<uint32_t>(weights[i]));
      }
    }
  }
}

TEST_P(ExportModelTest, RefusesWhatItMayNotReplaceAndBitsThatAreNotThere) {
  auto file = ContainerFile::Open(container_);
  ASSERT_TRUE(Succeeded(file));
  const Status taken = ExportModel(*file, {}, container_ + ".model");
  EXPECT_TRUE(FailedWith(taken, ErrorKind::kUsage, "exists already; name a new folder"));
  ShardOptions few;
  few.bits = {2, 3};
  const std::string small = folder_.path() + "/small.sti";
  ASSERT_TRUE(Succeeded(WriteTinyContainer(small, {}, few)));
  auto two = ContainerFile::Open(small);
  ASSERT_TRUE(Succeeded(two));
  ExportOptions options;
  options.bits = 4;
  EXPECT_TRUE(FailedWith(ExportModel(*two, options, folder_.path() + "/out"),
                         ErrorKind::kInfeasible, "does not offer 4 bits"));
}

TEST_P(ExportModelTest, DamageLeavesNoFolder) {
  auto file = ContainerFile::Open(container_);
  ASSERT_TRUE(Succeeded(file));
  const PartLocation& base = file->index().shard({1, 1}).parts[PartKind::kBase];
  ASSERT_TRUE(DamageByte(container_, base.offset + 99, 4).ok());
  ExportOptions options;
  options.bits = 3;
  const std::string dir = folder_.path() + "/out";
  EXPECT_TRUE(FailedWith(ExportModel(*file, options, dir), ErrorKind::kDamaged,
                         "layer 1 slice 1 base is damaged"));
  size_t left = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    left += entry.path().filename().string().starts_with("out") ? 1 : 0;
  }
  EXPECT_EQ(left, 0U);
}

INSTANTIATE_TEST_SUITE_P(Types, ExportModelTest,
                         ::testing::Values(DataType::kF32, DataType::kF16, DataType::kBF16),
                         NameOfType);

}  // namespace
}  // namespace sti
