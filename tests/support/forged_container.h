// Containers as a forger makes them: any number in them changed, every checksum right. What they do
// to a reader no checksum prevents.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/container_index.h"
#include "import/shard_model.h"
#include "io/container_file.h"
#include "tiny_model.h"

namespace sti {

/// A container in memory, whose index and bytes a test changes before it is opened.
class ForgedContainer {
 public:
  /// Makes the container of a tiny model.
  explicit ForgedContainer(const TinyModelOptions& model = {}, const ShardOptions& options = {});
  /// Takes a sound container's bytes.
  explicit ForgedContainer(std::vector<uint8_t> bytes);

  [[nodiscard]] ContainerIndex& index() { return index_; }
  [[nodiscard]] const ContainerIndex& index() const { return index_; }
  /// Returns the stored bytes of a part or of a row, to be changed; empty if they lie outside the
  /// file.
  [[nodiscard]] std::span<uint8_t> Part(const PartLocation& part);
  [[nodiscard]] std::span<uint8_t> Row(const RowTable& table, uint32_t row);
  /// Puts another text, as it is, in the place of the vocabulary or the merges. What lies behind it
  /// moves by whole blocks, so that no hole is left. Does nothing if their place is outside the
  /// file.
  void SetText(ResidentKind kind, const std::string& text);

  /// Puts all checksums right, and returns the bytes of the file.
  [[nodiscard]] std::vector<uint8_t> Sealed();
  /// Seals and opens it, from memory; its name is "a.sti".
  [[nodiscard]] Result<ContainerFile> Open();

 private:
  void SealRows(const RowTable& table);
  [[nodiscard]] std::vector<uint64_t*> Offsets();

  ContainerIndex index_;
  std::vector<uint8_t> bytes_;
  uint64_t index_end_ = 0;  ///< of the index that was read
};

}  // namespace sti
