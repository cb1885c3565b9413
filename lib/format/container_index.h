// The index of a shard container says what the model is and where every part of it lies.
//
// A part is what can be read alone: one plane of one shard, one resident part, one row of a row
// table. Readers find parts through the index and assume no order among them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "format/container_header.h"
#include "shard/parts.h"
#include "types/bits.h"
#include "types/model_info.h"
#include "types/shard_id.h"
#include "types/stage.h"

namespace sti {

/// Planes start at multiples of this within a shard's extent.
inline constexpr uint64_t kPlaneAlignment = 64;

/// Says where a part lies and what its bytes must hash to.
struct PartLocation {
  uint64_t offset = 0;
  uint64_t length = 0;    ///< bytes as stored; 0: absent
  uint64_t checksum = 0;  ///< XXH3-64 of the stored bytes
};

/// Whole blocks of a file, from `begin` to before `end`.
struct BlockRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  [[nodiscard]] uint64_t bytes() const { return end - begin; }
};

/// Returns the blocks that a part touches.
BlockRange BlocksAround(const PartLocation& part);

/// Says where the parts of a shard lie: those of 2 to 6 bits in one extent, or in the extents of a
/// layer's planes; full fidelity in an extent of its own.
struct ShardLocation {
  PerPart<PartLocation> parts;
};

enum class ResidentKind : uint8_t {
  kEmbedding = 0,         ///< what makes hidden rows of inputs, apart from rows read one by one
  kLayer = 1,             ///< biases and layer norms of one layer
  kHead = 2,              ///< last norm, pooler and classifier
  kVocabulary = 3,        ///< one token a line, in id order; none of a model of images
  kMerges = 4,            ///< one merge a line, in rank order; byte-level BPE only
  kStatedHead = 6,        ///< kHead whose `pooler` or `problem` is not 0; stands in its place
  kStatedVocabulary = 7,  ///< kVocabulary of a model whose inputs a reader of 1.2 gets wrong
};
enum class Compression : uint8_t { kNone = 0, kZstd = 1 };

/// A part that stays in memory while a model is open.
struct ResidentLocation {
  PartLocation part = {};
  uint64_t raw_length = 0;  ///< bytes after decompression
  uint32_t layer = 0;       ///< for kLayer
  ResidentKind kind = ResidentKind::kEmbedding;
  DataType type = DataType::kF32;
  Compression compression = Compression::kNone;
};

enum class RowTableKind : uint8_t { kWord = 0, kPosition = 1 };

/// How an embedding row's values are stored.
enum class RowCoding : uint8_t {
  kExact = 0,     ///< in the source's type
  kEightBit = 1,  ///< codes of 8 bits against the row's largest magnitude; format/row_codec.h
};

/// Embedding rows that are read one by one. Row r is `columns` stored values and then the low 32
/// bits of XXH3-64 over them, seeded with r: `row_bytes` at offset + r * row_bytes.
struct RowTable {
  uint64_t offset = 0;
  uint32_t rows = 0;
  uint32_t columns = 0;
  uint32_t row_bytes = 0;
  RowTableKind kind = RowTableKind::kWord;
  DataType type = DataType::kF32;  ///< element type of the source's values
  RowCoding coding = RowCoding::kExact;

  [[nodiscard]] uint64_t bytes() const { return uint64_t{rows} * row_bytes; }
};

enum class Layout : uint8_t { kShard = 0, kPlane = 1 };

/// Holds what the index of one container says.
struct ContainerIndex {
  /// Whether the file is of a newer minor version: there may be bytes that fields unknown to us
  /// describe.
  bool newer_minor = false;
  Digest model;
  ModelInfo info;
  CodebookKind codebook = CodebookKind::kGobo;
  Layout layout = Layout::kShard;
  std::string unicode;                     ///< version the vocabulary's ids were made for
  std::vector<uint32_t> bits;              ///< ascending; what a reader may ask for
  bool partial = false;                    ///< shards may lack parts that `bits` need
  std::vector<Codebook> centroids;         ///< [layers]
  std::vector<ShardLocation> shards;       ///< [layers * width]
  std::vector<ResidentLocation> resident;  ///< in the order of ResidentKinds
  RowTable words;
  RowTable positions;
  /// The part of the model that a container of one stage has; nothing: all. Other resident parts
  /// have no length, and without text, as in a model of images, the row tables no place.
  std::optional<StageExtent> stage;

  /// Returns whether the container has what makes hidden rows of a text: words and how to read
  /// them.
  [[nodiscard]] bool HasText() const { return info.has_text() && (!stage || stage->ends.text); }
  /// Returns whether the container has what a stage needs beside shards.
  [[nodiscard]] bool Serves(const StageExtent& wanted) const;
  [[nodiscard]] const ShardLocation& shard(ShardId id) const {
    return shards[size_t{id.layer} * info.shape.width + id.slice];
  }
  [[nodiscard]] const ResidentLocation& Resident(ResidentKind kind, uint32_t layer = 0) const;
  [[nodiscard]] bool Offers(uint32_t bits) const;
  /// Returns whether this shard can be read at these bits. It lies within the shape.
  [[nodiscard]] bool Holds(const ShardAtBits& wanted) const;
  /// Returns the layers, ascending, that the container has whole at `bits`: their parameters, and
  /// every slice. Without `partial` or a stage these are all, of bits that it offers.
  [[nodiscard]] std::vector<uint32_t> WholeLayersAt(uint32_t bits) const;
  /// Returns those of `bits` at which it has two whole layers, so that they can take turns; of a
  /// model of one layer that one.
  [[nodiscard]] std::vector<uint32_t> BitsOfWholeLayers() const;
};

/// Returns whether a resident part is of a stage's part of the model.
bool IsOfStage(ResidentKind kind, uint32_t layer, const StageExtent& stage);
inline bool IsOfStage(const ResidentLocation& part, const StageExtent& stage) {
  return IsOfStage(part.kind, part.layer, stage);
}

/// Returns whether a model has parameters in front of its layers beside rows: of types, norms,
/// images.
bool HasEmbeddingPart(const ModelInfo& info);

/// Returns whether a model's head has parameters; one that embeds has none.
bool HasHeadPart(const ModelInfo& info);

/// Returns the kinds of resident parts that a model has, in their order; kLayer once a layer.
std::vector<ResidentKind> ResidentKinds(const ModelInfo& info);

/// Returns whether a model's inputs are made otherwise than 1.2 could say: cut at another length
/// or at their begin, or of one token type where BERT has two.
bool StatesInputs(const ModelInfo& info);

/// Returns the minor version that a container of this model says: what 1.2 can say stays 1.2.
uint16_t LeastMinorFor(const ModelInfo& info);
/// Returns that of a container of a stage, or of all of the model.
uint16_t LeastMinorFor(const ContainerIndex& index);

/// Returns the index in ContainerIndex::resident of a resident part that the model has. kHead and
/// kStatedHead have one place.
size_t ResidentPlace(const ModelInfo& info, ResidentKind kind, uint32_t layer = 0);

/// Returns whether a resident part is text; the others are tensors.
constexpr bool IsText(ResidentKind kind) {
  return kind == ResidentKind::kVocabulary || kind == ResidentKind::kStatedVocabulary ||
         kind == ResidentKind::kMerges;
}

/// Encodes an index as a FlatBuffer; equal indexes have equal bytes.
std::vector<uint8_t> EncodeContainerIndex(const ContainerIndex& index);

/// Verifies the FlatBuffer, then every number in it: limits, ranges inside a file of `file_bytes`,
/// no overlap, and no hole of a block or more between parts unless `minor`, the header's, is newer
/// than ours. `name` is for messages.
Result<ContainerIndex> ParseContainerIndex(std::span<const uint8_t> bytes, uint64_t file_bytes,
                                           uint64_t index_end, const std::string& name,
                                           uint16_t minor = kContainerMinor);

/// Returns what is wrong with where the parts lie in a file of `file_bytes` whose index ends at
/// `index_end`; empty: all are in the file, none over another, and gaps are of alignment.
std::string ProblemOfPlaces(const ContainerIndex& index, uint64_t index_end, uint64_t file_bytes);

/// Returns the digest of a model's shape as a profile knows it: what IO and compute times depend
/// on.
Digest ShapeDigest(const ModelInfo& info);

/// Returns the sizes of all shards at all offered bits, as reads move them (whole blocks).
ShardCatalog CatalogOf(const ContainerIndex& index);

/// Returns the flash bytes that all shards take at 2 to 6 bits together, alignment of extents
/// counted.
uint64_t ProgressiveBytes(const ContainerIndex& index);

/// Returns ProgressiveBytes in bits a weight.
double ProgressiveBitsPerWeight(const ContainerIndex& index);

/// Returns the stored parts that make up a shard at `bits`, in file order when the layout is
/// kShard.
std::vector<PartLocation> PartsFor(const ShardLocation& shard, uint32_t bits);

/// Returns a DataError that names file and part unless `bytes` hash to the part's checksum.
Status CheckPart(const PartLocation& part, std::span<const uint8_t> bytes, const std::string& file,
                 const std::string& what);

/// Return the names of parts in messages: "layer 3 slice 5 base", "layer 3 slice 5 plane 4",
/// "layer 3 parameters".
std::string ShardPartName(ShardId id, PartKind part);
std::string ResidentName(ResidentKind kind, uint32_t layer);

}  // namespace sti
