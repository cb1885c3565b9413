#include "base/atomic_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace sti {
namespace {

namespace fs = std::filesystem;

constexpr int kAttempts = 100;  // at names that are free

std::string WithoutLastSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

Result<AtomicFolder> AtomicFolder::Create(const std::string& path) {
  const std::string named = WithoutLastSlash(path);
  STI_ASSIGN_OR_RETURN(const std::string target, FollowLinks(named));
  std::error_code error;
  if (fs::exists(target, error) &&
      (!fs::is_directory(target, error) || !fs::is_empty(target, error))) {
    return UsageError("exists already; name a new folder").At(named);
  }
  RemoveLeftoversOf(target);
  AtomicFolder folder;
  folder.path_ = target;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    folder.temporary_ = TemporaryNameFor(target);
    folder.doomed_ = DoomedPath(folder.temporary_);
    if (::mkdir(folder.temporary_.c_str(), 0700) == 0) {
      folder.fd_ = ::open(folder.temporary_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (folder.fd_ >= 0 && HoldTemporary(folder.fd_)) return folder;
      if (folder.fd_ >= 0) ::close(std::exchange(folder.fd_, -1));
    } else if (errno != EEXIST) {
      folder.temporary_.clear();
      break;
    }
  }
  return MachineError(std::string("cannot create a folder beside it: ") + std::strerror(errno))
      .At(named);
}

AtomicFolder::AtomicFolder(AtomicFolder&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      doomed_(std::move(other.doomed_)),
      fd_(std::exchange(other.fd_, -1)) {}

AtomicFolder& AtomicFolder::operator=(AtomicFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(temporary_, other.temporary_);
  std::swap(doomed_, other.doomed_);
  std::swap(fd_, other.fd_);
  return *this;
}

AtomicFolder::~AtomicFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
  if (fd_ >= 0) ::close(fd_);
}

Status AtomicFolder::Commit() {
  ::fchmod(fd_, ModeFor(path_, 0777));
  // Replaces an empty folder, and fails on one that has been filled meanwhile.
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return MachineError(std::string("cannot rename to it: ") + std::strerror(errno)).At(path_);
  }
  temporary_.clear();
  doomed_ = {};
  return {};
}

}  // namespace sti
