#include "base/atomic_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace sti {
namespace {

// A read's room is touched before it is filled, so it is small beside the largest file.
constexpr size_t kMostRead = size_t{64} << 10;

Error SystemError(const std::string& path, const char* doing) {
  return MachineError(std::string(doing) + ": " + std::strerror(errno)).At(path);
}

// A path that cannot be opened because of what the user typed is no such file; the disk's
// own failures are the machine's.
Error OpenError(const std::string& path) {
  if (errno == ENOENT) return NoSuchFileError("no such file").At(path);
  if (errno == EACCES) return NoSuchFileError("permission denied").At(path);
  if (errno == EISDIR) return NoSuchFileError("is a folder; give a file").At(path);
  return SystemError(path, "cannot open");
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// Data and name on the device before anyone is told that the file exists.
void SyncFolderOf(const std::string& path) {
  int fd = ::open(FolderOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

// A file to read, a pipe too. A signal ends the wait for what comes through a pipe, and so does it
// for somebody to write into one: a program that was asked to end would wait for ever.
class InputFile {
 public:
  static Result<InputFile> Open(const std::string& path) {
    InputFile file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (file.fd_ < 0) return OpenError(path);
    return file;
  }
  InputFile(InputFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile() {
    if (fd_ >= 0) ::close(fd_);
  }

  [[nodiscard]] bool is_pipe() const {
    struct stat info {};
    return ::fstat(fd_, &info) == 0 && S_ISFIFO(info.st_mode);
  }
  // Returns the bytes that a regular file has, 0 of anything else.
  [[nodiscard]] uint64_t size() const {
    struct stat info {};
    const bool regular = ::fstat(fd_, &info) == 0 && S_ISREG(info.st_mode);
    return regular ? static_cast<uint64_t>(info.st_size) : 0;
  }
  // Returns as read does, 0 at the end.
  [[nodiscard]] ssize_t ReadSome(std::span<char> room) const {
    for (;;) {
      pollfd input{fd_, POLLIN, 0};
      if (::poll(&input, 1, -1) < 0) return -1;
      const ssize_t count = ::read(fd_, room.data(), room.size());
      if (count >= 0 || errno != EAGAIN) return count;
    }
  }

 private:
  explicit InputFile(int fd) : fd_(fd) {}
  int fd_;
};

// Where the kernel shows what a descriptor is of.
std::string DescriptorPath(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

}  // namespace

Result<AtomicFile> AtomicFile::Create(const std::string& path, Naming naming) {
  auto target = FollowLinks(path);
  if (!target.ok()) return target.error();
  struct stat info {};
  if (::stat(target->c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    // Renaming over a device or a pipe would take it away from everyone.
    const char* kind = S_ISDIR(info.st_mode) ? "is a folder" : "is not a regular file";
    return UsageError(std::string(kind) + "; name a file to write").At(path);
  }
  AtomicFile file;
  file.path_ = *std::move(target);
  RemoveLeftoversOf(file.path_);
  if (naming == Naming::kNamed || !file.OpenWithoutName()) STI_RETURN_IF_ERROR(file.OpenNamed());
  ::fchmod(file.fd_, ModeFor(file.path_, 0666));
  return file;
}

bool AtomicFile::OpenWithoutName() {
  fd_ = ::open(FolderOf(path_).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd_ < 0) return false;
  // It is given a name through /proc, which not every system has.
  if (::access(DescriptorPath(fd_).c_str(), F_OK) != 0) {
    ::close(std::exchange(fd_, -1));
    return false;
  }
  ::flock(fd_, LOCK_EX | LOCK_NB);
  return true;
}

Status AtomicFile::OpenNamed() {
  errno = MakeTemporary(
      path_,
      [&](const std::string& name) {
        fd_ = ::open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
        if (fd_ < 0) return errno;
        if (HoldTemporary(fd_)) return 0;
        ::close(std::exchange(fd_, -1));
        return EEXIST;
      },
      &temporary_, &doomed_);
  return errno == 0 ? Status() : SystemError(path_, "cannot create a file beside it");
}

Status AtomicFile::GiveName() {
  errno = MakeTemporary(
      path_,
      [&](const std::string& name) {
        const int linked = ::linkat(AT_FDCWD, DescriptorPath(fd_).c_str(), AT_FDCWD, name.c_str(),
                                    AT_SYMLINK_FOLLOW);
        return linked == 0 ? 0 : errno;
      },
      &temporary_, &doomed_);
  return errno == 0 ? Status() : SystemError(path_, "cannot create a file beside it");
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      doomed_(std::move(other.doomed_)) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  std::swap(temporary_, other.temporary_);
  std::swap(doomed_, other.doomed_);
  return *this;
}

AtomicFile::~AtomicFile() { Discard(); }

void AtomicFile::Discard() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  temporary_.clear();
}

Status AtomicFile::WriteAt(uint64_t offset, std::span<const uint8_t> data) {
  while (!data.empty()) {
    ssize_t count = ::pwrite(fd_, data.data(), data.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError(path_, "cannot write");
    if (count == 0) return MachineError("the device took no bytes; free some space").At(path_);
    data = data.subspan(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
  return {};
}

Status AtomicFile::Commit() {
  if (::fsync(fd_) != 0) return SystemError(path_, "cannot flush");
  if (temporary_.empty()) STI_RETURN_IF_ERROR(GiveName());
  // Held until it has its name, so that nobody takes it for a leftover.
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return SystemError(path_, "cannot replace");
  temporary_.clear();
  doomed_ = {};
  if (::close(std::exchange(fd_, -1)) != 0) return SystemError(path_, "cannot close");
  SyncFolderOf(path_);
  return {};
}

Status CheckCanWrite(const std::string& path) {
  auto file = AtomicFile::Create(path);
  return file.ok() ? Status() : file.error();
}

Status WriteFileAtomically(const std::string& path, std::span<const uint8_t> data) {
  STI_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  STI_RETURN_IF_ERROR(file.WriteAt(0, data));
  return file.Commit();
}

Result<std::string> ReadFilePrefix(const std::string& path, size_t count) {
  STI_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  if (file.is_pipe()) return NoSuchFileError("not a regular file").At(path);
  std::string content(count, '\0');
  size_t read = 0;
  for (ssize_t some = 1; some > 0 && read < count; read += static_cast<size_t>(some)) {
    some = file.ReadSome({content.data() + read, count - read});
    if (some < 0) return OpenError(path);
  }
  content.resize(read);
  return content;
}

Result<std::string> ReadWholeFile(const std::string& path, uint64_t limit, uint64_t longest_line) {
  STI_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  std::string content;
  // A file that fits is held once, without room for twice as much.
  if (file.size() <= limit) content.reserve(file.size() + kMostRead);
  size_t line = 0;  // where the last line begins
  for (;;) {
    const size_t size = content.size();
    content.resize(size + kMostRead);
    const ssize_t count = file.ReadSome({content.data() + size, content.size() - size});
    if (count < 0) return OpenError(path);
    content.resize(size + static_cast<size_t>(count));
    if (count == 0) return content;
    const size_t feed = std::string_view(content).substr(size).rfind('\n');
    if (feed != std::string_view::npos) line = size + feed + 1;
    if (content.size() - line > longest_line) return content;
    if (content.size() <= limit) continue;
    return DataError("larger than the limit of " + std::to_string(limit) + " bytes").At(path);
  }
}

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
