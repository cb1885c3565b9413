// Writing a file so that a reader sees the old one or the whole new one, never a part.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace sti {

/// A temporary beside `path` that replaces it on Commit. Dropped without Commit, it is removed and
/// `path` stays as it was. One thread at a time, but WriteAt of disjoint ranges may run together.
class AtomicFile {
 public:
  static Result<AtomicFile> Create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile();

  [[nodiscard]] Status WriteAt(uint64_t offset, std::span<const uint8_t> data);
  /// Flushes to the device, renames over `path`. The object is spent afterwards.
  [[nodiscard]] Status Commit();

 private:
  AtomicFile() = default;
  void Discard();

  int fd_ = -1;
  std::string path_;
  std::string temporary_;
};

/// `data` to `path` through an AtomicFile.
Status WriteFileAtomically(const std::string& path, std::span<const uint8_t> data);

/// The first bytes of a file: `count`, or all if it has fewer.
Result<std::string> ReadFilePrefix(const std::string& path, size_t count);

/// The whole of a file of at most `limit` bytes; a larger one is a DataError.
Result<std::string> ReadWholeFile(const std::string& path, uint64_t limit);

}  // namespace sti
