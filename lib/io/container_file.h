// Opens a shard container on disk: header and index are read and checked at once, parts on demand.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "format/container_index.h"
#include "format/resident_codec.h"
#include "io/block_reader.h"

namespace sti {

/// Holds the blocks around some parts, as they came from the file.
struct LoadedRange {
  uint64_t offset = 0;  ///< offset of the first block in the file
  AlignedBuffer blocks;
  [[nodiscard]] std::span<const uint8_t> Bytes(const PartLocation& part) const {
    return blocks.span().subspan(part.offset - offset, part.length);
  }
};

/// An open container. A part that fails its checksum is read once more before it is called damaged:
/// flash and its drivers tear bytes on their way too.
///
/// One thread at a time; index() may be read by any.
class ContainerFile {
 public:
  /// Opens the container at `path`, to be read through `wanted`; kAuto takes the best that works.
  static Result<ContainerFile> Open(const std::string& path, ReadPath wanted = ReadPath::kAuto);
  /// Opens the container in `source`, likewise.
  static Result<ContainerFile> Open(const BlockSourcePtr& source,
                                    ReadPath wanted = ReadPath::kAuto);
  /// Opens a container over any reader.
  static Result<ContainerFile> Open(std::unique_ptr<BlockReader> reader);

  [[nodiscard]] const ContainerIndex& index() const { return *index_; }
  [[nodiscard]] const std::string& name() const { return reader_->name(); }
  [[nodiscard]] BlockReader& reader() { return *reader_; }
  /// Returns what more readers of the container can be opened on (BlockReader::source).
  [[nodiscard]] const BlockSourcePtr& source() const { return reader_->source(); }
  /// Reads through `reader`, which is another reader of the same file, from now on, and returns the
  /// reader that was used until now.
  std::unique_ptr<BlockReader> ReplaceReader(std::unique_ptr<BlockReader> reader) {
    return std::exchange(reader_, std::move(reader));
  }
  [[nodiscard]] uint64_t index_bytes() const { return index_bytes_; }
  /// Returns the bytes that opening a container reads whose index has so many bytes.
  static uint64_t OpenReadBytes(uint64_t index_bytes);
  /// Returns an InfeasibleError if the container holds only what some plans read.
  [[nodiscard]] Status RequireWhole() const;
  /// Returns a ForeignError if the model takes images: what asks this reads texts.
  [[nodiscard]] Status RequireTexts() const;
  /// Returns a ForeignError if the model continues texts: what asks this is for answers to texts.
  [[nodiscard]] Status RefuseContinuing() const;
  /// Returns an InfeasibleError unless texts can be run on layers that take turns: the container
  /// has both ends of the network, and BitsOfWholeLayers.
  [[nodiscard]] Status RequireWholeLayers() const;

  /// Reads the blocks around a range, checksums unchecked.
  Result<LoadedRange> ReadRange(uint64_t offset, uint64_t length);
  /// Reads a part and checks its checksum; `what` names it in the error.
  Result<LoadedRange> ReadPart(const PartLocation& part, const std::string& what);
  /// Reads, checks and unpacks the vocabulary or the merges.
  Result<std::string> ReadText(ResidentKind kind);
  /// Reads and checks a resident part that is no text, and visits the values of its tensors
  /// (ReadTensors). `layer` is 0 for kinds that are not a layer's.
  [[nodiscard]] Status VisitTensors(ResidentKind kind, uint32_t layer, const TensorVisit& visit);
  /// Receives one row of a table, with its checksum behind it, and what checking it found.
  using RowVisit = std::function<Status(std::span<const uint8_t> row, const Status& checked)>;
  /// Visits all rows in order, reading 4 MiB at a time; ends at the first error of a read or of
  /// `visit`.
  [[nodiscard]] Status ForEachRow(const RowTable& table, const RowVisit& visit);

 private:
  ContainerFile() = default;
  Status ReadIndex();
  Status Fill(LoadedRange& range);

  std::unique_ptr<BlockReader> reader_;
  std::unique_ptr<ContainerIndex> index_;
  uint64_t index_bytes_ = 0;
};

}  // namespace sti
