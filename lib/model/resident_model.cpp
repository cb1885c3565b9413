#include "model/resident_model.h"

#include <utility>

#include "format/resident_codec.h"

namespace sti {
namespace {

using Tensors = std::vector<std::vector<float>>;

Result<Tensors> LoadTensors(ContainerFile& file, ResidentKind kind, uint32_t layer) {
  STI_ASSIGN_OR_RETURN(std::vector<uint8_t> raw, file.ReadResident(kind, layer));
  return SplitResident(file.index().Resident(kind, layer), file.index().info.shape, raw,
                       file.name() + ": " + ResidentName(kind, layer));
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

uint64_t ResidentModel::bytes() const {
  uint64_t total =
      BytesIn({&type_rows, &embedding_norm.weight, &embedding_norm.bias, &head.pooler_weight,
               &head.pooler_bias, &head.classifier_weight, &head.classifier_bias});
  for (const LayerParameters& l : layers) {
    total += BytesIn({&l.query_bias, &l.key_bias, &l.value_bias, &l.output_bias,
                      &l.attention_norm_weight, &l.attention_norm_bias, &l.ffn1_bias, &l.ffn2_bias,
                      &l.output_norm_weight, &l.output_norm_bias});
  }
  return total;
}

Result<ResidentModel> LoadResidentModel(ContainerFile& file, std::span<const uint32_t> layers) {
  ResidentModel model;
  STI_ASSIGN_OR_RETURN(Tensors embedding, LoadTensors(file, ResidentKind::kEmbedding, 0));
  model.type_rows = std::move(embedding[0]);
  model.embedding_norm = {std::move(embedding[1]), std::move(embedding[2])};
  model.layers.resize(file.index().info.shape.layers);
  for (uint32_t layer : layers) {
    STI_ASSIGN_OR_RETURN(Tensors tensors, LoadTensors(file, ResidentKind::kLayer, layer));
    model.layers[layer] = TakeLayer(std::move(tensors));
  }
  STI_ASSIGN_OR_RETURN(Tensors head, LoadTensors(file, ResidentKind::kHead, 0));
  model.head = {std::move(head[0]), std::move(head[1]), std::move(head[2]), std::move(head[3])};
  return model;
}

}  // namespace sti
