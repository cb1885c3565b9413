#include "model/resident_model.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "format/resident_codec.h"
#include "kernels/decode.h"
#include "network/tensors.h"

namespace sti {
namespace {

// Widens the values from number `first` on to their places; the tensor gets its size with its
// first.
void Widen(std::span<const uint8_t> values, DataType type, uint64_t first, uint64_t size,
           std::vector<float>* tensor) {
  tensor->resize(size);
  WidenWeights(values.data(), type, values.size() / BytesOf(type), tensor->data() + first);
}

// Reads the resident part at `location` to the parameters of its home, and what is held as it is
// stored to `stored_matrix`, which a home without such a tensor does not have.
template <Home kHome>
Status ReadParameters(const ContainerIndex& index, const ResidentLocation& location,
                      std::span<const uint8_t> stored, const std::string& name,
                      Parameters<kHome>* parameters, StoredMatrix* stored_matrix = nullptr) {
  const ModelShape& shape = index.info.shape;
  const uint64_t width = BytesOf(location.type);
  return ReadTensors(location, shape, stored, name,
                     [&](TensorRole role, uint64_t first, std::span<const uint8_t> values) {
                       const TensorSpec& tensor = SpecOf(role);
                       const uint64_t size = SizeOf(tensor, shape).count();
                       if (tensor.held == Held::kAsFloats) {
                         Widen(values, location.type, first, size, &(*parameters)[role]);
                         return Status();
                       }
                       stored_matrix->type = location.type;
                       stored_matrix->bytes.resize(size * width);
                       std::ranges::copy(values, stored_matrix->bytes.begin() +
                                                     static_cast<std::ptrdiff_t>(first * width));
                       return Status();
                     });
}

std::string NameIn(const std::string& file, ResidentKind kind, uint32_t layer = 0) {
  return file + ": " + ResidentName(kind, layer);
}

template <Home kHome>
uint64_t BytesIn(const Parameters<kHome>& parameters) {
  uint64_t values = 0;
  for (const std::vector<float>& tensor : parameters) values += tensor.size();
  return values * sizeof(float);
}

}  // namespace

ResidentModel ResidentModel::For(const ModelInfo& info, const NetworkEnds& ends) {
  ResidentModel model;
  model.layers.resize(info.shape.layers);
  model.has_head = !ends.head || !HasHeadPart(info);
  model.has_words = !ends.head || !info.continues_texts();
  return model;
}

void ResidentModel::KeepLayers(std::span<const uint32_t> kept) {
  for (uint32_t layer = 0; layer < layers.size(); ++layer) {
    if (!std::ranges::binary_search(kept, layer)) layers[layer] = {};
  }
}

void ResidentModel::SetWords(const RowTable& table, uint32_t first,
                             std::span<const uint8_t> stored) {
  const uint64_t row_bytes = table.row_bytes;
  if (words.size() == 0) words = AlignedBuffer(table.rows * row_bytes);
  std::ranges::copy(stored, words.data() + first * row_bytes);
  has_words = first + stored.size() / row_bytes == table.rows;
}

void ResidentModel::ForgetWords() {
  if (words.size() == 0) return;
  words = {};
  has_words = false;
}

std::vector<uint32_t> ResidentModel::Layers() const {
  std::vector<uint32_t> there;
  for (uint32_t layer = 0; layer < layers.size(); ++layer) {
    if (HasLayer(layer)) there.push_back(layer);
  }
  return there;
}

uint64_t ResidentModel::bytes() const {
  uint64_t total =
      BytesIn(embedding) + BytesIn(head.floats) + head.pooler_weight.bytes.size() + words.size();
  for (const LayerParameters& layer : layers) total += BytesIn(layer);
  return total;
}

uint64_t ResidentModel::BytesFor(const ResidentLocation& part, const ModelShape& shape) {
  if (IsText(part.kind)) return 0;
  uint64_t bytes = 0;
  for (const TensorSpec& tensor : TensorsAt(HomeOf(part.kind))) {
    const bool as_stored = tensor.held == Held::kAsStored;
    bytes += SizeOf(tensor, shape).count() * (as_stored ? BytesOf(part.type) : sizeof(float));
  }
  return bytes;
}

Status ResidentModel::SetEmbedding(const ContainerIndex& index, std::span<const uint8_t> stored,
                                   const std::string& file) {
  EmbeddingParameters read;
  STI_RETURN_IF_ERROR(ReadParameters(index, index.Resident(ResidentKind::kEmbedding), stored,
                                     NameIn(file, ResidentKind::kEmbedding), &read));
  embedding = std::move(read);
  return {};
}

Status ResidentModel::SetLayer(const ContainerIndex& index, uint32_t layer,
                               std::span<const uint8_t> stored, const std::string& file) {
  LayerParameters read;
  STI_RETURN_IF_ERROR(ReadParameters(index, index.Resident(ResidentKind::kLayer, layer), stored,
                                     NameIn(file, ResidentKind::kLayer, layer), &read));
  layers[layer] = std::move(read);
  return {};
}

Status ResidentModel::SetHead(const ContainerIndex& index, std::span<const uint8_t> stored,
                              const std::string& file) {
  HeadParameters read;
  STI_RETURN_IF_ERROR(ReadParameters(index, index.Resident(ResidentKind::kHead), stored,
                                     NameIn(file, ResidentKind::kHead), &read.floats,
                                     &read.pooler_weight));
  head = std::move(read);
  has_head = true;
  return {};
}

Result<ResidentModel> LoadResidentModel(ContainerFile& file, std::span<const uint32_t> layers,
                                        const NetworkEnds& ends) {
  const ContainerIndex& index = file.index();
  const auto read = [&](ResidentKind kind, uint32_t layer) {
    return file.ReadPart(index.Resident(kind, layer).part, ResidentName(kind, layer));
  };
  const auto bytes = [&](const LoadedRange& range, ResidentKind kind, uint32_t layer) {
    return range.Bytes(index.Resident(kind, layer).part);
  };
  ResidentModel model = ResidentModel::For(index.info, ends);
  LoadedRange range;
  if (ends.text && HasEmbeddingPart(index.info)) {
    STI_ASSIGN_OR_RETURN(range, read(ResidentKind::kEmbedding, 0));
    STI_RETURN_IF_ERROR(
        model.SetEmbedding(index, bytes(range, ResidentKind::kEmbedding, 0), file.name()));
  }
  for (uint32_t layer : layers) {
    STI_ASSIGN_OR_RETURN(range, read(ResidentKind::kLayer, layer));
    STI_RETURN_IF_ERROR(
        model.SetLayer(index, layer, bytes(range, ResidentKind::kLayer, layer), file.name()));
  }
  if (model.has_head) return model;
  STI_ASSIGN_OR_RETURN(range, read(ResidentKind::kHead, 0));
  STI_RETURN_IF_ERROR(model.SetHead(index, bytes(range, ResidentKind::kHead, 0), file.name()));
  return model;
}

}  // namespace sti
