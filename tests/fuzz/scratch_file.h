// Bytes as a file, for parsers that take a path. In memory, so that a fuzzer stays quick.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "fuzz/targets.h"

namespace sti::fuzz {

/// A file with these bytes, gone with the object.
class ScratchFile {
 public:
  explicit ScratchFile(Input input) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    Require(fd_ >= 0 && ::ftruncate(fd_, static_cast<off_t>(input.size())) == 0,
            "a file in memory");
    if (input.empty()) return;
    Require(::pwrite(fd_, input.data(), input.size(), 0) == static_cast<ssize_t>(input.size()),
            "a file in memory");
  }
  ~ScratchFile() { ::close(fd_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

}  // namespace sti::fuzz
