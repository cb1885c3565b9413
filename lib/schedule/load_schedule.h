// A schedule: which blocks a run reads, in which order, and where they land. A part is what can be
// read and checked alone; a group is what one layer, or the head, waits for. A read moves whole
// blocks with one or several parts.
//
// Adjacent parts merge into one read. Where refinements may be left out, it is cut again: blocks
// with something that the group cannot be computed without are read apart from those with
// refinements alone, and no block is read twice. What only one layer needs lands in the arena, a
// ring in load order: a read may start once the groups (layers) whose bytes it overwrites are
// computed, so read-ahead is bounded by the arena and a shard is freed after its layer (STI 5.5).
// A part that is to stay lands where its owner wants it, the buffer. All of it is known before the
// first byte is read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/container_index.h"
#include "shard/parts.h"
#include "shard/view.h"
#include "types/bits.h"
#include "types/limits.h"
#include "types/shard_id.h"

namespace sti {

/// One shard at the bits that a run computes it with.
struct ShardRequest {
  ShardId id;
  uint32_t bits = 0;
  uint32_t group = 0;  ///< position of the layer in the submodel; ascending over a list
};

/// The memory that a read lands in.
enum class Landing : uint8_t { kArena, kBuffer };

/// Rows of words, from one on.
struct WordRange {
  uint32_t first = 0;
  uint32_t count = 0;
};

/// A part that a run reads: one of a shard, the parameters of a layer or of the head, or rows of
/// words that the head multiplies with, whose checksums are their own.
struct ScheduledPart {
  PartLocation part;
  uint64_t place = 0;              ///< offset of its first byte in the arena or the buffer
  std::optional<PartKind> kind;    ///< kind of a shard's part; nothing for a resident part
  uint32_t request = 0;            ///< index of the shard's request; 0 for a resident part
  std::optional<uint32_t> layer;   ///< layer of a resident part; nothing: the head's
  std::optional<WordRange> words;  ///< rows of words; nothing: it is another part
  uint32_t group = 0;
  Landing landing = Landing::kArena;
  bool refinement = false;  ///< a group can be computed without it
  uint32_t reads = 1;       ///< reads that bring a piece of it; several only of a refinement
  /// The place in the buffer that a part in the arena is copied to once it is checked; -1: none.
  int64_t copy_place = -1;
};

/// One read of whole blocks.
struct ScheduledRead {
  uint64_t offset = 0;  ///< multiple of kBlockBytes, as are length and place
  uint64_t length = 0;
  uint64_t place = 0;
  uint32_t group = 0;
  uint32_t after = 0;  ///< groups that must be computed before this read may start
  uint32_t first_part = 0;
  uint32_t parts = 0;  ///< that it brings, or of which it brings a piece
  Landing landing = Landing::kArena;
  bool refinement = false;  ///< its blocks hold refinements alone
};

/// Bounds on a schedule's reads and memory.
struct ScheduleLimits {
  /// Most bytes of arena; 0: as many as let every read start at once.
  uint64_t arena_bytes = 0;
  /// Bytes up to which neighbours merge into one read.
  uint64_t read_bytes = kDefaultReadBytes;
  /// Whether the arena grows where one group needs more; otherwise that is an error.
  bool grow = false;
  /// The default of `read_bytes`. Larger reads gain nothing on any flash measured, delay the first
  /// shard of a layer, and waste more of the ring where they do not fit its end.
  static constexpr uint64_t kDefaultReadBytes = kUsualReadBytes;
  /// The least bytes of a piece of a large read. A device may want smaller ones, but a lane that
  /// shares its core with computation begins the next only every few milliseconds.
  static constexpr uint64_t kLeastPieceBytes = uint64_t{128} << 10;
  friend bool operator==(const ScheduleLimits&, const ScheduleLimits&) = default;
};

/// Holds the reads of one run, in order. Immutable once built; safe to share.
struct LoadSchedule {
  std::vector<ShardRequest> requests;
  std::vector<ScheduledRead> reads;  ///< groups ascending, in order of the file in a group
  std::vector<ScheduledPart> parts;
  /// [requests] The index in `parts` of each of the shard's parts that is read.
  std::vector<PerPart<std::optional<uint32_t>>> places;
  uint64_t arena_bytes = 0;
  uint64_t read_bytes = 0;  ///< all reads, padding included
  /// A part, and what shares blocks with it, is one read however large it is; a lane makes it in
  /// pieces of this size, in whole blocks. With a few of them in flight the device stays busy.
  uint64_t piece_bytes = ScheduleLimits::kDefaultReadBytes;

  /// Returns the parts that a read brings, or of which it brings a piece.
  [[nodiscard]] std::span<const ScheduledPart> PartsOf(const ScheduledRead& read) const {
    return std::span(parts).subspan(read.first_part, read.parts);
  }
};

/// Schedules reads for `parts`, by ascending group, those of `requests` by ascending request.
/// InfeasibleError if one group needs more arena than there may be.
Result<LoadSchedule> ScheduleParts(std::span<const ShardRequest> requests,
                                   std::span<const ScheduledPart> parts,
                                   const ScheduleLimits& limits);

/// Schedules reads of all parts of `requests`, by ascending group, bits offered by the index, into
/// the arena.
Result<LoadSchedule> BuildLoadSchedule(const ContainerIndex& index,
                                       std::span<const ShardRequest> requests,
                                       const ScheduleLimits& limits = {});

/// Checks the checksum of a part, not one of words, that lies whole in `memory`, the arena or the
/// buffer as its landing says.
Status CheckScheduledPart(const LoadSchedule& schedule, const ScheduledPart& part,
                          std::span<const uint8_t> memory, const std::string& file);

/// The parts of one shard that a buffer holds, and the place of each in it.
struct HeldParts {
  PartSet held;
  PerPart<uint64_t> places;
};

/// The memory that parts are in: what a run reads lies in the arena or the buffer.
struct PartMemory {
  std::span<const uint8_t> arena;
  std::span<const uint8_t> buffer;
};

/// Views the shard of `requests[request]` at `bits`: each of its parts is held, or was read and
/// checked. `file` is for messages.
Result<ShardView> ViewScheduledShard(const ContainerIndex& index, const LoadSchedule& schedule,
                                     size_t request, uint32_t bits, const HeldParts& held,
                                     const PartMemory& memory, const std::string& file);

}  // namespace sti
