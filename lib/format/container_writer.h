// Writes a shard container: all parts of its shards that its bitwidths need, or only what some
// plans read.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/result.h"
#include "format/container_index.h"
#include "types/plan.h"

namespace sti {

/// The parts that a container holds of each shard, [layers * width].
using PartSelection = std::vector<PartSet>;

/// Selects the parts that each of `bits` needs, of every shard.
PartSelection SelectAll(const ModelShape& shape, std::span<const uint32_t> bits);

/// Selects what the plans read, their turns and variants included. FindPlanFault finds no fault in
/// the plans within the shape.
PartSelection SelectForPlans(const ModelShape& shape, std::span<const Plan> plans);

/// Returns all bitwidths that the plans, their turns and variants use, ascending.
std::vector<uint32_t> BitsOfPlans(std::span<const Plan> plans);

/// The stored parts of one shard; an absent part is empty.
struct EncodedShard {
  PerPart<std::vector<uint8_t>> parts;
};

/// Returns row `index` of a table as in the source: its columns * BytesOf(type) bytes.
using RowSource = std::function<std::span<const uint8_t>(uint32_t index)>;

/// Writes a container: Create, then each resident part, row table and layer once, each in turn
/// behind the one before it, then Finish. Of a stage only what it runs is added. Nothing appears at
/// the path before Finish. Errors are those of writes. One thread at a time.
class ContainerWriter {
 public:
  /// Begins a container. `index` has info, codebook, layout, unicode, bits, partial and stage; the
  /// writer fills the rest. `selection` has the parts that AddLayer will bring. With an empty
  /// `path` the writer counts sizes and writes nothing.
  static Result<ContainerWriter> Create(const std::string& path, ContainerIndex index,
                                        const PartSelection& selection);

  /// Compresses and writes one resident part: `raw` is its values in `type`, or its text; `layer`
  /// is 0 but for kLayer. kHead is written as kStatedHead, and kVocabulary as kStatedVocabulary,
  /// where the model's info asks for that.
  [[nodiscard]] Status AddResident(ResidentKind kind, uint32_t layer, DataType type,
                                   std::span<const uint8_t> raw);
  /// Writes a row table, whose rows `source` gives in `type`, in order.
  [[nodiscard]] Status AddRows(RowTableKind kind, DataType type, RowCoding coding,
                               const RowSource& source);
  /// Writes the parts of a layer's `shards` [width] in the order of the index's layout.
  [[nodiscard]] Status AddLayer(uint32_t layer, const Codebook& codebook,
                                std::span<const EncodedShard> shards);
  /// Writes index and header, with the digest of the model, and has the file appear at its path.
  [[nodiscard]] Status Finish(const Digest& model);

  [[nodiscard]] uint64_t file_bytes() const { return end_; }
  [[nodiscard]] const ContainerIndex& index() const { return index_; }

 private:
  ContainerWriter() = default;
  Result<PartLocation> Append(std::span<const uint8_t> bytes, uint64_t alignment);
  [[nodiscard]] Status Put(uint64_t offset, std::span<const uint8_t> bytes);
  [[nodiscard]] Status AppendShardPart(uint32_t layer, uint32_t slice, PartKind part,
                                       const EncodedShard& shard, bool opens_extent);

  std::vector<AtomicFile> file_;  ///< one; none where only sizes are counted
  ContainerIndex index_;
  uint64_t index_room_ = 0;  ///< bytes left for the index behind the header
  uint64_t end_ = 0;         ///< end of the last part
};

}  // namespace sti
