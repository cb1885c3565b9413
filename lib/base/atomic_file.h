// A file or a folder written so that a reader sees the old one or the whole new one, never a part.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "base/temporary.h"

namespace sti {

/// A temporary that replaces `path` on Commit, with the permissions of what was there; of a
/// symbolic link the file that it leads to is replaced. Dropped without Commit, it is gone and
/// `path` stays as it was. What killed processes left beside `path` goes when another is made. One
/// thread at a time, but WriteAt of disjoint ranges may run together.
class AtomicFile {
 public:
  /// How a temporary is known until Commit. A file without a name is gone with its process, however
  /// that ends; not every file system has them.
  enum class Naming : uint8_t { kWithoutNameIfPossible, kNamed };

  static Result<AtomicFile> Create(const std::string& path,
                                   Naming naming = Naming::kWithoutNameIfPossible);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile();

  [[nodiscard]] Status WriteAt(uint64_t offset, std::span<const uint8_t> data);
  /// Flushes to the device, renames over `path`. The object is spent afterwards.
  [[nodiscard]] Status Commit();

 private:
  AtomicFile() = default;
  [[nodiscard]] bool OpenWithoutName();
  [[nodiscard]] Status OpenNamed();
  [[nodiscard]] Status GiveName();
  void Discard();

  int fd_ = -1;
  std::string path_;
  std::string temporary_;  ///< empty: the file has no name yet
  DoomedPath doomed_;      ///< that name
};

/// Returns why no file can be written to `path`, as far as that can be told before it is tried.
Status CheckCanWrite(const std::string& path);

/// Writes `data` to `path` through an AtomicFile.
Status WriteFileAtomically(const std::string& path, std::span<const uint8_t> data);

/// Returns the first `count` bytes of a file, or all if it has fewer.
Result<std::string> ReadFilePrefix(const std::string& path, size_t count);

/// Returns the whole of a file of at most `limit` bytes; DataError for a larger one. Of a text that
/// has more than `longest_line` bytes without a line feed only what was read until then: a stream
/// of zeros has no end, and whoever takes the text apart refuses such a line.
Result<std::string> ReadWholeFile(const std::string& path, uint64_t limit,
                                  uint64_t longest_line = UINT64_MAX);

/// A temporary folder beside `path` that becomes `path` on Commit, or what a symbolic link there
/// leads to. Dropped without Commit, it is removed with all that is in it. What killed processes
/// left beside `path` goes when another is made. One thread at a time.
class AtomicFolder {
 public:
  /// Makes the temporary folder. UsageError if `path` exists and is not an empty folder: what is
  /// there is never replaced.
  static Result<AtomicFolder> Create(const std::string& path);
  AtomicFolder(AtomicFolder&& other) noexcept;
  AtomicFolder& operator=(AtomicFolder&& other) noexcept;
  ~AtomicFolder();

  /// Returns the path of the temporary folder, which is written to meanwhile.
  [[nodiscard]] const std::string& temporary() const { return temporary_; }
  /// Renames to `path`. The object is spent afterwards.
  [[nodiscard]] Status Commit();

 private:
  AtomicFolder() = default;

  std::string path_;
  std::string temporary_;
  DoomedPath doomed_;  ///< that name
  int fd_ = -1;        ///< of the folder, for its lock
};

}  // namespace sti
