// The resident parts of a model: small, needed by every run, and so in memory while it is open.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "io/container_file.h"
#include "model/layer_parameters.h"

namespace sti {

/// The parameters that stay in memory while a model is open: all but shards, embedding rows and
/// vocabulary.
struct ResidentModel {
  EmbeddingParameters embedding;
  std::vector<LayerParameters> layers;  ///< [N]; empty where not asked for
  HeadParameters head;
  bool has_head = false;  ///< `head` is there, or the model's head has no parameters

  [[nodiscard]] uint64_t bytes() const;
  /// Returns what a part adds to bytes() once it is taken; 0 for text, which is not taken here.
  static uint64_t BytesFor(const ResidentLocation& part, const ModelShape& shape);
  [[nodiscard]] bool HasLayer(uint32_t layer) const { return !layers[layer].begin()->empty(); }

  /// Gives back the parameters of all layers but these, which ascend.
  void KeepLayers(std::span<const uint32_t> kept);
  /// Returns the layers whose parameters are there, ascending.
  [[nodiscard]] std::vector<uint32_t> Layers() const;

  /// Take a part's stored bytes, checked against their checksum; `file` is for messages.
  [[nodiscard]] Status SetEmbedding(const ContainerIndex& index, std::span<const uint8_t> stored,
                                    const std::string& file);
  [[nodiscard]] Status SetLayer(const ContainerIndex& index, uint32_t layer,
                                std::span<const uint8_t> stored, const std::string& file);
  [[nodiscard]] Status SetHead(const ContainerIndex& index, std::span<const uint8_t> stored,
                               const std::string& file);
};

/// Reads and checks the resident parts; per-layer ones only for `layers` (original indexes).
Result<ResidentModel> LoadResidentModel(ContainerFile& file, std::span<const uint32_t> layers);

}  // namespace sti
