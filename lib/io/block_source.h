// The source of a container's bytes: a file by its path, a part of a descriptor that somebody else
// has opened (a file inside an archive, a block device), or a callback (encrypted storage). Any
// number of readers can be opened on one source.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sti {

/// Reads up to buffer.size() bytes at `offset` into `buffer`. Returns their number, 0 at the end,
/// or a negative number if the read failed. Called by threads of the library, several at a time.
using ReadAt = std::function<int64_t(uint64_t offset, std::span<uint8_t> buffer)>;

/// Owns an open file descriptor.
class FileHandle {
 public:
  FileHandle() = default;
  explicit FileHandle(int fd) : fd_(fd) {}
  ~FileHandle();
  FileHandle(FileHandle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileHandle& operator=(FileHandle&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_ = -1;
};

class BlockSource;

/// An open source: `bytes` bytes that begin at byte `begin` of a descriptor, or that a callback
/// gives.
struct OpenedSource {
  /// Returns the same bytes, read through another descriptor of the same file.
  [[nodiscard]] OpenedSource Through(FileHandle other) const;
  /// Returns a second one with a descriptor of its own.
  [[nodiscard]] Result<OpenedSource> Duplicate() const;
  /// Returns a second one that has opened the same file anew, by the same way: what a system grants
  /// each open file, the two do not share. A callback cannot be opened, nor can a file where /proc
  /// is not mounted or descriptors have run out (kMachine).
  [[nodiscard]] Result<OpenedSource> OpenAnew() const;
  /// Reads some bytes at `offset` of the source. Returns their number, 0 at its end, or the negated
  /// number of an error.
  [[nodiscard]] int64_t ReadSome(uint64_t offset, std::span<uint8_t> buffer) const;
  /// Reads as ReadSome does what lies in the page cache, without waiting: it returns -EAGAIN where
  /// none of it does, -EOPNOTSUPP where the source cannot tell.
  [[nodiscard]] int64_t ReadCached(uint64_t offset, std::span<uint8_t> buffer) const;
  /// Returns the offset at which the source ends now; it may have been cut since it was opened.
  [[nodiscard]] uint64_t End() const;

  FileHandle handle;
  std::string name;
  uint64_t begin = 0;
  uint64_t bytes = 0;
  bool has_more_room = false;                 ///< a container in it may be shorter than `bytes`
  std::shared_ptr<const BlockSource> origin;  ///< what it was opened from
  std::shared_ptr<const ReadAt> callback;     ///< null where there is a descriptor
};

/// The open files that a reader reads through, all of the same file: a system may grant each of
/// them its own part of the device. Holds one open source or more, and counts the reads in flight
/// of each. Not thread-safe; a source stays where it is while nothing is held or let go.
class Streams {
 public:
  explicit Streams(OpenedSource first) { open_.push_back({std::move(first), 0}); }

  /// Opens the first anew, or closes the last, until there are `wanted`, at least one. Returns why
  /// there are fewer; empty if there are not. Nothing is in flight.
  std::string Hold(uint32_t wanted);

  [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(open_.size()); }
  [[nodiscard]] const OpenedSource& first() const { return open_.front().source; }
  [[nodiscard]] const OpenedSource& operator[](uint32_t stream) const {
    return open_[stream].source;
  }

  /// Counts one more read in flight through `stream`, below count(), or else through the first of
  /// those that have the fewest. Returns which it is.
  uint32_t Begin(std::optional<uint32_t> stream);
  /// Counts one less.
  void End(uint32_t stream) { --open_[stream].in_flight; }

 private:
  struct Stream {
    OpenedSource source;
    uint32_t in_flight = 0;
  };
  std::vector<Stream> open_;
};

/// A source that can be opened. Thread-safe.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  BlockSource(const BlockSource&) = delete;
  BlockSource& operator=(const BlockSource&) = delete;

  /// Opens the source; `direct`: for reads past the page cache, which not every source has
  /// (kMachine).
  [[nodiscard]] virtual Result<OpenedSource> Open(bool direct) const = 0;

 protected:
  BlockSource() = default;
};
using BlockSourcePtr = std::shared_ptr<const BlockSource>;

/// Returns the regular file or block device at `path`.
BlockSourcePtr FileSource(std::string path);
/// Returns `bytes` bytes at `offset` of what `fd` has open for reading; 0 bytes: all from there on.
/// `fd` is duplicated and can be closed afterwards. From an offset that is a multiple of
/// kBlockBytes reads go past the page cache, where the system lets the file be opened again; else
/// through it.
Result<BlockSourcePtr> DescriptorSource(int fd, uint64_t offset, uint64_t bytes);
/// Returns a source of `bytes` bytes that `read_at` reads.
BlockSourcePtr CallbackSource(ReadAt read_at, uint64_t bytes);

/// Return the errors of a read, in the words of this room.
Error ReadError(const std::string& name, int error_number);
/// Makes the error of a read or an open past the page cache: EINVAL means that the file system has
/// no such thing.
Error DirectReadError(const std::string& name, int error_number);
/// Makes the error of a read that got no byte at `offset`.
Error EndOfFileError(const OpenedSource& source, uint64_t offset);

}  // namespace sti
