// The resident parts of a model are small and needed by every run, so they stay in memory while the
// model is open: its biases, norms and head, but neither shards, embedding rows nor vocabulary.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "io/container_file.h"
#include "model/layer_parameters.h"
#include "types/model_info.h"
#include "types/stage.h"

namespace sti {

/// Holds the parameters of the resident parts. Layers are counted as the model counts them, from 0
/// to N - 1. Const calls are thread-safe.
struct ResidentModel {
  EmbeddingParameters embedding;
  std::vector<LayerParameters> layers;  ///< [N]; a layer whose part is not held is empty
  HeadParameters head;
  bool has_head = false;  ///< `head` is there, or what is run needs no parameters of a head
  AlignedBuffer words;    ///< [vocabulary] rows of words as stored, where they stay for the head
  bool has_words = true;  ///< `words` is there, or what is run needs no rows of all words

  /// Returns the parameters of a model of which runs compute these ends: none yet.
  static ResidentModel For(const ModelInfo& info, const NetworkEnds& ends);

  /// Returns the memory that the parameters take, in bytes.
  [[nodiscard]] uint64_t bytes() const;
  /// Returns the bytes that one part takes in memory; 0 for vocabulary and merges, which a
  /// tokenizer holds.
  static uint64_t BytesFor(const ResidentLocation& part, const ModelShape& shape);
  [[nodiscard]] bool HasLayer(uint32_t layer) const { return !layers[layer].begin()->empty(); }

  /// Takes rows of words from `first` on, which the caller has verified, in place of those held
  /// before. They come in order; with the last, all are there.
  void SetWords(const RowTable& table, uint32_t first, std::span<const uint8_t> stored);
  /// Frees the rows of words.
  void ForgetWords();

  /// Frees the parameters of all layers that are not in `kept`, which ascends.
  void KeepLayers(std::span<const uint32_t> kept);
  /// Returns the layers whose parameters are held, ascending.
  [[nodiscard]] std::vector<uint32_t> Layers() const;

  /// Each of these three reads one part's parameters out of its stored bytes, whose checksum the
  /// caller has verified, in place of those held before. DataError naming `file` and the part if
  /// its size is not the shape's; then nothing changes.
  [[nodiscard]] Status SetEmbedding(const ContainerIndex& index, std::span<const uint8_t> stored,
                                    const std::string& file);
  [[nodiscard]] Status SetLayer(const ContainerIndex& index, uint32_t layer,
                                std::span<const uint8_t> stored, const std::string& file);
  [[nodiscard]] Status SetHead(const ContainerIndex& index, std::span<const uint8_t> stored,
                               const std::string& file);
};

/// Reads the parts of `layers` and of the ends of the network out of the file, and verifies their
/// checksums. Errors are those of ContainerFile::ReadPart.
Result<ResidentModel> LoadResidentModel(ContainerFile& file, std::span<const uint32_t> layers,
                                        const NetworkEnds& ends = {});

}  // namespace sti
