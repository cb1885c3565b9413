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
  const int failed = MakeTemporary(
      target,
      [&](const std::string& name) {
        if (::mkdir(name.c_str(), 0700) != 0) return errno;
        folder.fd_ = ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (folder.fd_ < 0) {
          const int unopened = errno;
          ::rmdir(name.c_str());
          return unopened == ENOENT ? EEXIST : unopened;  // another process took it for a leftover
        }
        if (HoldTemporary(folder.fd_)) return 0;
        ::close(std::exchange(folder.fd_, -1));
        return EEXIST;
      },
      &folder.temporary_, &folder.doomed_);
  if (failed == 0) return folder;
  return MachineError(std::string("cannot create a folder beside it: ") + std::strerror(failed))
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
