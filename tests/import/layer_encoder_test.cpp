#include "import/layer_encoder.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "base/aligned_buffer.h"
#include "format/shard_codec.h"
#include "quant/hidden_scales.h"
#include "quant/quantize.h"
#include "shard/weight_order.h"
#include "support/expect.h"
#include "support/temp_folder.h"
#include "support/test_container.h"
#include "types/plan.h"

namespace sti {
namespace {

// The layer as one flat array, through the importer's own element access.
std::vector<float> FlatLayer(const ModelFolder& folder, uint32_t layer) {
  std::vector<float> weights;
  for (const TensorRole role :
       {TensorRole::kQueryWeight, TensorRole::kKeyWeight, TensorRole::kValueWeight,
        TensorRole::kOutputWeight, TensorRole::kFfn1Weight, TensorRole::kFfn2Weight}) {
    const TensorView& tensor = folder.Tensor(role, layer);
    for (uint64_t i = 0; i < tensor.count(); ++i) weights.push_back(LoadElement(tensor, i));
  }
  return weights;
}

// Returns what a reader decodes from one encoded shard.
std::vector<float> Decode(const ModelInfo& info, const EncodedLayer& layer, uint32_t slice,
                          uint32_t bits) {
  std::vector<AlignedBuffer> buffers;
  PerPart<std::span<const uint8_t>> parts;
  for (const PartKind i : kPartKinds) {
    const auto& bytes = layer.shards[slice].parts[i];
    buffers.emplace_back(bytes.size());
    if (!bytes.empty()) std::memcpy(buffers.back().data(), bytes.data(), bytes.size());
    parts[i] = buffers.back().span();
  }
  const auto view = ViewShard(info, layer.codebook, bits, parts, "a");
  EXPECT_TRUE(Succeeded(view));
  return DecodeShard(*view, info.shape);
}

// The scale of each weight of a layer, by the definition.
std::vector<float> ScaleOfEach(const std::vector<float>& scales, const ModelShape& shape) {
  std::vector<float> each;
  for (uint32_t m = 0; m < 6; ++m) {
    const bool by_row = m == 3 || m == 5;
    const uint32_t rows = m == 4 ? shape.ffn : shape.hidden;
    const uint32_t columns = m == 5 ? shape.ffn : shape.hidden;
    for (uint32_t row = 0; row < rows; ++row) {
      for (uint32_t column = 0; column < columns; ++column) {
        each.push_back(scales[m * shape.hidden + (by_row ? row : column)]);
      }
    }
  }
  return each;
}

class LayerEncoderTest : public ::testing::TestWithParam<DataType> {
 protected:
  void SetUp() override {
    TinyModelOptions options;
    options.hidden = 52;  // ragged panels
    options.ffn = 100;
    options.data_type = GetParam();
    ASSERT_TRUE(WriteTinyModel(folder_.path(), options).ok());
    auto source = ModelFolder::Open(folder_.path());
    ASSERT_TRUE(Succeeded(source));
    source_ = std::make_unique<ModelFolder>(std::move(source).value());
  }

  [[nodiscard]] Result<EncodedLayer> Encode(uint32_t layer, CodebookKind codebook,
                                            std::vector<uint32_t> bits) const {
    return EncodeLayer(*source_, layer, codebook, SelectAll(source_->info().shape, bits));
  }

  TempFolder folder_;
  std::unique_ptr<ModelFolder> source_;
};

TEST_P(LayerEncoderTest, FullFidelityIsTheSourceBitForBit) {
  const auto layer = Encode(1, CodebookKind::kScaledTree, {2, 3, 4, 5, 6, 32});
  ASSERT_TRUE(Succeeded(layer));
  const auto flat = FlatLayer(*source_, 1);
  for (uint32_t slice = 0; slice < 2; ++slice) {
    const auto order = WeightOrder(source_->info().shape, slice);
    const auto weights = Decode(source_->info(), *layer, slice, kFullBits);
    for (size_t i = 0; i < order.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(weights[i]), std::bit_cast<uint32_t>(flat[order[i]]));
    }
  }
}

TEST_P(LayerEncoderTest, EveryWeightIsItsCentroidOrAnExactOutlier) {
  for (const CodebookKind kind :
       {CodebookKind::kGobo, CodebookKind::kTree, CodebookKind::kScaledTree}) {
    const ModelShape& shape = source_->info().shape;
    const auto layer = Encode(0, kind, {2, 3, 4, 5, 6, 32});
    ASSERT_TRUE(Succeeded(layer));
    const auto flat = FlatLayer(*source_, 0);
    std::vector<float> scales(size_t{6} * shape.hidden, 1.0F);
    auto divided = flat;
    if (kind == CodebookKind::kScaledTree) {
      scales = FitHiddenScales(flat, shape);
      DivideByHiddenScales(scales, shape, divided);
      EXPECT_EQ(layer->codebook.scales, scales);
    } else {
      EXPECT_TRUE(layer->codebook.scales.empty());
    }
    const std::vector<float> scale_of = ScaleOfEach(scales, shape);
    const QuantizedLayer expected = QuantizeLayer(divided, kind);
    EXPECT_EQ(layer->outliers, expected.outliers.size());
    EXPECT_GT(layer->outliers, 0U);
    EXPECT_EQ(layer->codebook.centroids, expected.codebook.centroids);
    std::vector<bool> outlier(flat.size(), false);
    for (const uint32_t i : expected.outliers) outlier[i] = true;
    for (uint32_t bits = 2; bits <= 6; ++bits) {
      for (uint32_t slice = 0; slice < 2; ++slice) {
        const auto order = WeightOrder(shape, slice);
        const auto weights = Decode(source_->info(), *layer, slice, bits);
        for (size_t i = 0; i < order.size(); ++i) {
          const uint32_t at = order[i];
          const uint32_t code = static_cast<uint32_t>(expected.codes[at]) >> (6 - bits);
          const float centroid = expected.codebook.centroids[bits][code] * scale_of[at];
          const float seen = outlier[at] ? flat[at] : centroid;
          ASSERT_EQ(weights[i], seen) << "bits " << bits << " weight " << at;
        }
      }
    }
  }
}

TEST_P(LayerEncoderTest, EncodesOnlyWhatTheBitsNeed) {
  const auto layer = Encode(0, CodebookKind::kGobo, {3, 4});
  ASSERT_TRUE(Succeeded(layer));
  for (const EncodedShard& shard : layer->shards) {
    for (const PartKind part : kPartKinds) {
      EXPECT_EQ(shard.parts[part].empty(), !PartSet::For(4).Has(part)) << BitsOf(part);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, LayerEncoderTest,
                         ::testing::Values(DataType::kF32, DataType::kF16, DataType::kBF16),
                         NameOfType);

}  // namespace
}  // namespace sti
