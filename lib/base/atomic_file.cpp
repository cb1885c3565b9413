#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace sti {
namespace {

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

// Data and name on the device before anyone is told that the file exists.
void SyncFolderOf(const std::string& path) {
  size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

Result<AtomicFile> AtomicFile::Create(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    // Renaming over a device or a pipe would take it away from everyone.
    const char* kind = S_ISDIR(info.st_mode) ? "is a folder" : "is not a regular file";
    return UsageError(std::string(kind) + "; name a file to write").At(path);
  }
  AtomicFile file;
  file.path_ = path;
  file.temporary_ = path + ".tmpXXXXXX";
  file.fd_ = ::mkostemp(file.temporary_.data(), O_CLOEXEC);
  if (file.fd_ < 0) {
    file.temporary_.clear();
    return SystemError(path, "cannot create a file beside it");
  }
  mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(file.fd_, 0666 & ~mask);
  return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  std::swap(temporary_, other.temporary_);
  return *this;
}

AtomicFile::~AtomicFile() { Discard(); }

void AtomicFile::Discard() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
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
  if (::close(std::exchange(fd_, -1)) != 0) return SystemError(path_, "cannot close");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return SystemError(path_, "cannot replace");
  temporary_.clear();
  SyncFolderOf(path_);
  return {};
}

Status WriteFileAtomically(const std::string& path, std::span<const uint8_t> data) {
  STI_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  STI_RETURN_IF_ERROR(file.WriteAt(0, data));
  return file.Commit();
}

Result<std::string> ReadFilePrefix(const std::string& path, size_t count) {
  FILE* file = std::fopen(path.c_str(), "rbe");
  if (file == nullptr) return OpenError(path);
  std::string content(count, '\0');
  content.resize(std::fread(content.data(), 1, count, file));
  std::fclose(file);
  return content;
}

Result<std::string> ReadWholeFile(const std::string& path, uint64_t limit) {
  FILE* file = std::fopen(path.c_str(), "rbe");
  if (file == nullptr) return OpenError(path);
  std::string content;
  char chunk[1 << 16];
  size_t count = 0;
  while ((count = std::fread(chunk, 1, sizeof(chunk), file)) > 0) {
    content.append(chunk, count);
    if (content.size() > limit) break;
  }
  bool failed = std::ferror(file) != 0;
  int error = errno;
  std::fclose(file);
  if (failed) {
    errno = error;
    return OpenError(path);
  }
  if (content.size() > limit) {
    return DataError("larger than the limit of " + std::to_string(limit) + " bytes").At(path);
  }
  return content;
}

}  // namespace sti
