#include "base/atomic_folder.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace sti {
namespace {

namespace fs = std::filesystem;

std::string WithoutLastSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

Result<AtomicFolder> AtomicFolder::Create(const std::string& path) {
  AtomicFolder folder;
  folder.path_ = WithoutLastSlash(path);
  std::error_code error;
  if (fs::exists(folder.path_, error) &&
      (!fs::is_directory(folder.path_, error) || !fs::is_empty(folder.path_, error))) {
    return UsageError("exists already; name a new folder").At(folder.path_);
  }
  std::string temporary = folder.path_ + ".tmpXXXXXX";
  if (::mkdtemp(temporary.data()) == nullptr) {
    return MachineError(std::string("cannot create a folder beside it: ") + std::strerror(errno))
        .At(folder.path_);
  }
  folder.temporary_ = std::move(temporary);
  mode_t mask = ::umask(0);
  ::umask(mask);
  ::chmod(folder.temporary_.c_str(), 0777 & ~mask);
  return folder;
}

AtomicFolder::AtomicFolder(AtomicFolder&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})) {}

AtomicFolder& AtomicFolder::operator=(AtomicFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(temporary_, other.temporary_);
  return *this;
}

AtomicFolder::~AtomicFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

Status AtomicFolder::Commit() {
  // Replaces an empty folder, and fails on one that has been filled meanwhile.
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return MachineError(std::string("cannot rename to it: ") + std::strerror(errno)).At(path_);
  }
  temporary_.clear();
  return {};
}

}  // namespace sti
