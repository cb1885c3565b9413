// Writing a folder so that a reader sees nothing or the whole of it, never a part.
#pragma once

#include <string>

#include "base/result.h"
#include "base/temporary.h"

namespace sti {

/// A temporary folder beside `path` that becomes `path` on Commit, or what a symbolic link there
/// leads to. Dropped without Commit, it is removed with all that is in it. What killed processes
/// left beside `path` goes when another is made. One thread at a time.
class AtomicFolder {
 public:
  /// UsageError if `path` exists and is not an empty folder: what is there is never replaced.
  static Result<AtomicFolder> Create(const std::string& path);
  AtomicFolder(AtomicFolder&& other) noexcept;
  AtomicFolder& operator=(AtomicFolder&& other) noexcept;
  ~AtomicFolder();

  /// Where to write meanwhile.
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
