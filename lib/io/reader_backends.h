// The two BlockReaders, for block_reader.cpp only.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "io/block_reader.h"

namespace sti {

/// An open file descriptor.
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

struct OpenedFile {
  /// Its descriptor twice.
  [[nodiscard]] Result<OpenedFile> Duplicate() const;

  FileHandle handle;
  std::string name;
  uint64_t bytes = 0;
};

Result<std::unique_ptr<BlockReader>> MakeUringReader(OpenedFile file, uint32_t depth);
Result<std::unique_ptr<BlockReader>> MakeThreadReader(OpenedFile file, uint32_t depth,
                                                      ReadPath path);

/// The errors of a read, in the words of this room.
Error ReadError(const std::string& name, int error_number);
/// Makes the error of a read or an open past the page cache: EINVAL means that the file system has
/// no such thing.
Error DirectReadError(const std::string& name, int error_number);
/// Makes the error of a read that got no byte at `offset`.
Error EndOfFileError(const OpenedFile& file, uint64_t offset);

}  // namespace sti
