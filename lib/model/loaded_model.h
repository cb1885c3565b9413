// A model with its shards in memory at chosen bitwidths: for measuring, not for small devices.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "io/container_file.h"
#include "model/resident_model.h"
#include "model/transformer.h"
#include "schedule/load_schedule.h"
#include "shard/view.h"
#include "shard/weight_order.h"

namespace sti {

/// Says which shards of a model are loaded: those of the first `width` slices of the first `layers`
/// layers. 0, and more than the model has, means all.
struct LoadedExtent {
  uint32_t layers = 0;
  uint32_t width = 0;
  /// Whether a container will do that holds only what some plans read: of its layers those count
  /// that it has whole, at each of the bits (ContainerIndex::WholeLayersAt).
  bool held_ones = false;
};

/// Const calls are thread-safe; Embed is not.
class LoadedModel {
 public:
  /// Reads the shards within `extent` at each of `bits`, which the container offers, and all
  /// resident parts that it has. Errors are those of reads and of checksums, and of
  /// ContainerFile::RequireWhole.
  static Result<LoadedModel> Load(ContainerFile file, std::span<const uint32_t> bits,
                                  LoadedExtent extent = {});

  [[nodiscard]] const ContainerIndex& index() const { return file_.index(); }
  [[nodiscard]] ContainerFile& file() { return file_; }
  [[nodiscard]] const ResidentModel& resident() const { return resident_; }
  /// Returns the layers that were loaded at one of the bitwidths, ascending.
  [[nodiscard]] std::span<const uint32_t> LayersAt(uint32_t bits) const { return At(bits).layers; }
  /// The extent that was asked for: the numbers, never 0, of layers and of slices in each.
  [[nodiscard]] uint32_t layers() const { return extent_.layers; }
  [[nodiscard]] uint32_t width() const { return extent_.width; }
  /// Returns a shard of one of those layers at one of the bitwidths that were loaded.
  [[nodiscard]] const ShardView& View(uint32_t layer, uint32_t slice, uint32_t bits) const;

  /// Writes the input of layer 0 to `hidden` [tokens, d]: the embeddings of the sequences of
  /// `batch`, whose `ids` and `types` are [tokens], with the embedding layer norm. Reads the rows
  /// from the file. Errors are those of reads and of checksums.
  [[nodiscard]] Status Embed(Transformer& transformer, const Batch& batch,
                             std::span<const uint32_t> ids, std::span<const uint32_t> types,
                             float* hidden);

 private:
  explicit LoadedModel(ContainerFile file) : file_(std::move(file)) {}
  [[nodiscard]] Status LoadBits(uint32_t bits);
  struct AtBits {
    uint32_t bits;
    std::vector<uint32_t> layers;  // ascending
    AlignedBuffer arena;
    std::vector<ShardView> views;  // [layers * width]
  };
  [[nodiscard]] const AtBits& At(uint32_t bits) const;

  ContainerFile file_;
  LoadedExtent extent_;
  ResidentModel resident_;
  std::vector<AtBits> loaded_;
};

}  // namespace sti
