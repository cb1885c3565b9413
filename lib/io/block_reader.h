// Reads of whole blocks from one file, several in flight.
//
// Two ways to the device hide behind one interface: io_uring, and a few threads that call pread for
// where io_uring is forbidden (containers, Android). Both read past the page cache (O_DIRECT) where
// the file system can; squashfs refuses the flag, overlayfs may accept it and fail the read. So the
// way is chosen by really reading.
//
// A stream is an open file of a reader. Every reader begins with one; it can hold several of the
// same file, for systems that grant each open file a part of the device only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/block_source.h"
#include "types/limits.h"

namespace sti {

enum class ReadPath : uint8_t { kAuto, kUring, kThreads, kBuffered };

/// Returns the name of a read path in files and options: "auto", "uring", "threads" or "buffered".
const char* ReadPathName(ReadPath path);

/// Offset, length and buffer are multiples of kBlockBytes; the range lies inside the file.
struct ReadRequest {
  uint64_t offset = 0;
  std::span<uint8_t> buffer;
  uint64_t tag = 0;  ///< the caller's own; comes back from Wait
  /// The stream that it goes through, below streams(); nothing: one with the fewest in flight.
  std::optional<uint32_t> stream = std::nullopt;
};

/// Requests for ranges that have an offset, a length and a place in `arena`.
template <typename Range>
std::vector<ReadRequest> RequestsFor(std::span<const Range> ranges, std::span<uint8_t> arena) {
  std::vector<ReadRequest> requests;
  requests.reserve(ranges.size());
  for (const Range& range : ranges) {
    requests.push_back({range.offset, arena.subspan(range.place, range.length), 0});
  }
  return requests;
}

/// One thread at a time. A buffer belongs to the reader from Submit until Wait returns its tag, or
/// until the reader is destroyed.
class BlockReader {
 public:
  static constexpr uint32_t kDefaultDepth = 8;
  static constexpr uint32_t kMostDepth = 16;  ///< that a plan may ask for
  static constexpr uint32_t kMostStreams = kMaxReadStreams;

  virtual ~BlockReader() = default;
  BlockReader(const BlockReader&) = delete;
  BlockReader& operator=(const BlockReader&) = delete;

  /// Enqueues a read, started by the next Wait at the latest; at most depth() may be in flight.
  [[nodiscard]] virtual Status Submit(const ReadRequest& request) = 0;
  /// Blocks until some read is complete and returns its tag. Short reads and interruptions have
  /// been requeued; an end of file inside a request is kDamaged, a device error kReadFailed.
  [[nodiscard]] virtual Result<uint64_t> Wait() = 0;

  /// Takes the hint that most reads will land in `memory`, which then stays in place until the
  /// reader is destroyed or told otherwise (an empty span: none). It cannot fail: where the system
  /// takes no notice, reads work as before. Where it does, the pages become resident and stay so.
  /// Nothing is in flight.
  virtual void ExpectReadsInto(std::span<uint8_t> memory) { (void)memory; }

  /// Opens the file anew until it has `wanted` streams, at most kMostStreams, or closes what it has
  /// beyond them. Fewer are held where the file cannot be opened so often: streams() says how many,
  /// and stream_refusal() why. Where each read in flight takes a thread, depth() is as much for
  /// each stream as it was for the first, up to kMostDepth. Nothing is in flight.
  virtual void HoldStreams(uint32_t wanted) { (void)wanted; }

  /// Returns a second reader of the open file, by the same way, with one stream; the two share
  /// nothing else.
  [[nodiscard]] virtual Result<std::unique_ptr<BlockReader>> Clone() const = 0;

  [[nodiscard]] uint32_t depth() const { return depth_; }
  [[nodiscard]] uint32_t in_flight() const { return in_flight_; }
  [[nodiscard]] uint32_t streams() const { return streams_; }
  /// Returns why there are fewer streams than were wanted last, for a person; empty if there are
  /// not.
  [[nodiscard]] const std::string& stream_refusal() const { return stream_refusal_; }
  [[nodiscard]] uint64_t file_bytes() const { return file_bytes_; }
  /// Returns whether a container may end before file_bytes(), as on a block device.
  [[nodiscard]] bool has_more_room() const { return has_more_room_; }
  /// Returns what more readers can be opened on; null of a reader that was not opened on one.
  [[nodiscard]] const BlockSourcePtr& source() const { return source_; }
  [[nodiscard]] ReadPath path() const { return path_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Returns why kAuto took no earlier way, for a person: "io_uring is not permitted here
  /// (Operation not permitted)", several separated by "; ". Empty if the first worked or one was
  /// insisted on.
  [[nodiscard]] const std::string& fallback_reason() const { return fallback_reason_; }

  /// Reads all `requests`, as many in flight as depth() allows, and waits for them; tags do not
  /// matter. Nothing else may be in flight. After an error too, no buffer is in use any more.
  [[nodiscard]] Status ReadAll(std::span<const ReadRequest> requests);
  /// Does what ReadAll does for one range.
  [[nodiscard]] Status Read(uint64_t offset, std::span<uint8_t> buffer);

 protected:
  BlockReader() = default;
  /// Says what the opened source says: name, bytes and where they are.
  void DescribeAs(const OpenedSource& opened);
  /// Says all that `inner` says, which this reader reads through.
  void DescribeAs(const BlockReader& inner);

  friend Result<std::unique_ptr<BlockReader>> OpenBlockReader(const BlockSourcePtr& source,
                                                              ReadPath wanted, uint32_t depth);

  BlockSourcePtr source_;
  std::string name_;
  std::string fallback_reason_;
  uint64_t file_bytes_ = 0;
  bool has_more_room_ = false;
  uint32_t depth_ = kDefaultDepth;
  uint32_t in_flight_ = 0;
  uint32_t streams_ = 1;
  std::string stream_refusal_;
  ReadPath path_ = ReadPath::kBuffered;
};

/// Opens a source for reading. kAuto takes the first of uring, threads, buffered that really reads
/// a block; another value insists on that one.
Result<std::unique_ptr<BlockReader>> OpenBlockReader(const BlockSourcePtr& source,
                                                     ReadPath wanted = ReadPath::kAuto,
                                                     uint32_t depth = BlockReader::kDefaultDepth);
/// Opens the file at `path` for reading.
Result<std::unique_ptr<BlockReader>> OpenBlockReader(const std::string& path,
                                                     ReadPath wanted = ReadPath::kAuto,
                                                     uint32_t depth = BlockReader::kDefaultDepth);

}  // namespace sti
