#include "import/layer_encoder.h"

#include <algorithm>
#include <cstring>

#include "base/little_endian.h"
#include "format/shard_codec.h"
#include "network/tensors.h"
#include "quant/hidden_scales.h"
#include "quant/quantize.h"
#include "shard/weight_order.h"
#include "types/bits.h"
#include "types/load_value.h"

namespace sti {
namespace {

// All weights of a layer as one array, in the order that quantisation and ties are defined by.
class LayerSource {
 public:
  static Result<LayerSource> Load(const ModelFolder& folder, uint32_t layer) {
    LayerSource source;
    source.type_ = folder.info().data_type;
    source.raw_.reserve(LayerWeights(folder.info().shape) * BytesOf(source.type_));
    for (const TensorSpec& spec : TensorsAt(Home::kShard)) {
      TensorView tensor = folder.Tensor(spec.role, layer);
      STI_RETURN_IF_ERROR(CheckFinite(tensor, folder.TensorPath(spec.role, layer)));
      source.raw_.insert(source.raw_.end(), tensor.bytes.begin(), tensor.bytes.end());
      ReleasePages(tensor);
    }
    return source;
  }

  [[nodiscard]] std::vector<float> Floats() const {
    std::vector<float> floats(raw_.size() / BytesOf(type_));
    for (size_t i = 0; i < floats.size(); ++i) {
      floats[i] = LoadValue(type_, &raw_[i * BytesOf(type_)]);
    }
    return floats;
  }

  [[nodiscard]] uint32_t Raw(uint32_t flat) const {
    if (type_ == DataType::kF32) return LoadLittle<uint32_t>(&raw_[size_t{flat} * 4]);
    return LoadLittle<uint16_t>(&raw_[size_t{flat} * 2]);
  }

  [[nodiscard]] std::vector<uint8_t> Gather(const std::vector<uint32_t>& order) const {
    size_t width = BytesOf(type_);
    std::vector<uint8_t> bytes(order.size() * width);
    for (size_t i = 0; i < order.size(); ++i) {
      std::memcpy(&bytes[i * width], &raw_[order[i] * width], width);
    }
    return bytes;
  }

  [[nodiscard]] DataType type() const { return type_; }

 private:
  std::vector<uint8_t> raw_;
  DataType type_ = DataType::kF32;
};

EncodedShard EncodeShard(const LayerSource& source, const QuantizedLayer& layer,
                         const std::vector<bool>& is_outlier, const std::vector<uint32_t>& order,
                         PartSet wanted) {
  EncodedShard shard;
  if (wanted.Has(PartKind::kBase)) {
    std::vector<uint8_t> codes(order.size());
    std::vector<ShardOutlier> outliers;
    for (size_t i = 0; i < order.size(); ++i) {
      codes[i] = layer.codes[order[i]];
      if (is_outlier[order[i]])
        outliers.push_back({static_cast<uint32_t>(i), source.Raw(order[i])});
    }
    shard.parts[PartKind::kBase] = EncodeShardBase(codes, outliers, source.type());
    for (uint32_t bits = kLeastBits + 1; bits <= kMostBits; ++bits) {
      if (wanted.Has(PartAt(bits))) shard.parts[PartAt(bits)] = EncodeShardPlane(codes, bits);
    }
  }
  if (wanted.Has(PartKind::kFull)) shard.parts[PartKind::kFull] = source.Gather(order);
  return shard;
}

QuantizedLayer Quantize(std::vector<float> weights, const ModelShape& shape, CodebookKind kind) {
  if (kind != CodebookKind::kScaledTree) return QuantizeLayer(weights, kind);
  std::vector<float> scales = FitHiddenScales(weights, shape);
  DivideByHiddenScales(scales, shape, weights);
  QuantizedLayer layer = QuantizeLayer(weights, kind);
  layer.codebook.scales = std::move(scales);
  return layer;
}

}  // namespace

Result<EncodedLayer> EncodeLayer(const ModelFolder& folder, uint32_t layer, CodebookKind codebook,
                                 const PartSelection& selection) {
  STI_ASSIGN_OR_RETURN(LayerSource source, LayerSource::Load(folder, layer));
  QuantizedLayer quantized = Quantize(source.Floats(), folder.info().shape, codebook);
  std::vector<bool> is_outlier(quantized.codes.size(), false);
  for (uint32_t flat : quantized.outliers) is_outlier[flat] = true;
  EncodedLayer encoded;
  encoded.outliers = quantized.outliers.size();
  const ModelShape& shape = folder.info().shape;
  for (uint32_t slice = 0; slice < shape.width; ++slice) {
    encoded.shards.push_back(EncodeShard(source, quantized, is_outlier, WeightOrder(shape, slice),
                                         selection[size_t{layer} * shape.width + slice]));
  }
  encoded.codebook = std::move(quantized.codebook);
  return encoded;
}

}  // namespace sti
