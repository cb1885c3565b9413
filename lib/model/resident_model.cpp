#include "model/resident_model.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "format/resident_codec.h"
#include "kernels/decode.h"

namespace sti {
namespace {

using Tensors = std::vector<std::vector<float>>;

// Widens the values from number `first` on to their places; the tensor gets its size with its
// first.
void Widen(std::span<const uint8_t> values, DataType type, uint64_t first, uint64_t size,
           std::vector<float>* tensor) {
  tensor->resize(size);
  WidenWeights(values.data(), type, values.size() / BytesOf(type), tensor->data() + first);
}

Result<Tensors> WidenPart(const ContainerIndex& index, ResidentKind kind, uint32_t layer,
                          std::span<const uint8_t> stored, const std::string& file) {
  const ResidentLocation& location = index.Resident(kind, layer);
  const std::vector<uint64_t> sizes = ResidentTensorSizes(location.kind, index.info.shape);
  Tensors tensors(sizes.size());
  STI_RETURN_IF_ERROR(
      ReadTensors(location, index.info.shape, stored, file + ": " + ResidentName(kind, layer),
                  [&](size_t tensor, uint64_t first, std::span<const uint8_t> values) {
                    Widen(values, location.type, first, sizes[tensor], &tensors[tensor]);
                    return Status();
                  }));
  return tensors;
}

// In the order of ResidentTensorSizes.
LayerParameters TakeLayer(Tensors t) {
  return {std::move(t[0]), std::move(t[1]), std::move(t[2]), std::move(t[3]), std::move(t[4]),
          std::move(t[5]), std::move(t[6]), std::move(t[7]), std::move(t[8]), std::move(t[9])};
}

uint64_t BytesIn(std::initializer_list<const std::vector<float>*> vectors) {
  uint64_t values = 0;
  for (const auto* vector : vectors) values += vector->size();
  return values * sizeof(float);
}

}  // namespace

void ResidentModel::KeepLayers(std::span<const uint32_t> kept) {
  for (uint32_t layer = 0; layer < layers.size(); ++layer) {
    if (!std::ranges::binary_search(kept, layer)) layers[layer] = {};
  }
}

std::vector<uint32_t> ResidentModel::Layers() const {
  std::vector<uint32_t> there;
  for (uint32_t layer = 0; layer < layers.size(); ++layer) {
    if (HasLayer(layer)) there.push_back(layer);
  }
  return there;
}

uint64_t ResidentModel::bytes() const {
  uint64_t total = BytesIn({&type_rows, &embedding_norm.weight, &embedding_norm.bias,
                            &head.pooler_bias, &head.classifier_weight, &head.classifier_bias}) +
                   head.pooler_weight.bytes.size();
  for (const LayerParameters& l : layers) {
    total += BytesIn({&l.query_bias, &l.key_bias, &l.value_bias, &l.output_bias,
                      &l.attention_norm_weight, &l.attention_norm_bias, &l.ffn1_bias, &l.ffn2_bias,
                      &l.output_norm_weight, &l.output_norm_bias});
  }
  return total;
}

// Values become floats, but for the pooler's weights, which stay as they are stored.
uint64_t ResidentModel::BytesFor(const ResidentLocation& part, const ModelShape& shape) {
  const std::vector<uint64_t> sizes = ResidentTensorSizes(part.kind, shape);
  const uint64_t values = std::accumulate(sizes.begin(), sizes.end(), uint64_t{0});
  const bool head = part.kind == ResidentKind::kHead || part.kind == ResidentKind::kStatedHead;
  const uint64_t stored = head ? sizes.front() : 0;
  return stored * sti::BytesOf(part.type) + (values - stored) * sizeof(float);
}

Status ResidentModel::SetEmbedding(const ContainerIndex& index, std::span<const uint8_t> stored,
                                   const std::string& file) {
  STI_ASSIGN_OR_RETURN(Tensors tensors,
                       WidenPart(index, ResidentKind::kEmbedding, 0, stored, file));
  type_rows = std::move(tensors[0]);
  embedding_norm = {std::move(tensors[1]), std::move(tensors[2])};
  layers.resize(index.info.shape.layers);
  return {};
}

Status ResidentModel::SetLayer(const ContainerIndex& index, uint32_t layer,
                               std::span<const uint8_t> stored, const std::string& file) {
  STI_ASSIGN_OR_RETURN(Tensors tensors,
                       WidenPart(index, ResidentKind::kLayer, layer, stored, file));
  layers[layer] = TakeLayer(std::move(tensors));
  return {};
}

// The pooler's weights stay as they are stored.
Status ResidentModel::SetHead(const ContainerIndex& index, std::span<const uint8_t> stored,
                              const std::string& file) {
  const ResidentLocation& location = index.Resident(ResidentKind::kHead);
  const std::vector<uint64_t> sizes = ResidentTensorSizes(location.kind, index.info.shape);
  const uint64_t width = sti::BytesOf(location.type);
  HeadParameters read;
  read.pooler_weight.type = location.type;
  std::vector<float>* const widened[] = {nullptr, &read.pooler_bias, &read.classifier_weight,
                                         &read.classifier_bias};
  STI_RETURN_IF_ERROR(ReadTensors(
      location, index.info.shape, stored, file + ": " + ResidentName(ResidentKind::kHead, 0),
      [&](size_t tensor, uint64_t first, std::span<const uint8_t> values) {
        if (widened[tensor] != nullptr) {
          Widen(values, location.type, first, sizes[tensor], widened[tensor]);
          return Status();
        }
        read.pooler_weight.bytes.resize(sizes[tensor] * width);
        std::ranges::copy(
            values, read.pooler_weight.bytes.begin() + static_cast<std::ptrdiff_t>(first * width));
        return Status();
      }));
  head = std::move(read);
  return {};
}

Result<ResidentModel> LoadResidentModel(ContainerFile& file, std::span<const uint32_t> layers) {
  const ContainerIndex& index = file.index();
  const auto read = [&](ResidentKind kind, uint32_t layer) {
    return file.ReadPart(index.Resident(kind, layer).part, ResidentName(kind, layer));
  };
  const auto bytes = [&](const LoadedRange& range, ResidentKind kind, uint32_t layer) {
    return range.Bytes(index.Resident(kind, layer).part);
  };
  ResidentModel model;
  STI_ASSIGN_OR_RETURN(LoadedRange range, read(ResidentKind::kEmbedding, 0));
  STI_RETURN_IF_ERROR(
      model.SetEmbedding(index, bytes(range, ResidentKind::kEmbedding, 0), file.name()));
  for (uint32_t layer : layers) {
    STI_ASSIGN_OR_RETURN(range, read(ResidentKind::kLayer, layer));
    STI_RETURN_IF_ERROR(
        model.SetLayer(index, layer, bytes(range, ResidentKind::kLayer, layer), file.name()));
  }
  STI_ASSIGN_OR_RETURN(range, read(ResidentKind::kHead, 0));
  STI_RETURN_IF_ERROR(model.SetHead(index, bytes(range, ResidentKind::kHead, 0), file.name()));
  return model;
}

}  // namespace sti
