#include "io/block_source.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "base/remedy.h"

namespace sti {
namespace {

/// Bytes that a descriptor has open, and whether there may be fewer in use: a block device has a
/// size, and no end of a file in it.
struct Extent {
  uint64_t bytes = 0;
  bool is_device = false;
};

Result<Extent> ExtentOf(int fd, const std::string& name) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return ReadError(name, errno);
  if (S_ISREG(info.st_mode)) return Extent{static_cast<uint64_t>(info.st_size), false};
  if (!S_ISBLK(info.st_mode)) return NoSuchFileError("not a regular file").At(name);
  uint64_t bytes = 0;
  if (::ioctl(fd, BLKGETSIZE64, &bytes) != 0) return ReadError(name, errno);
  return Extent{RoundDown(bytes, kBlockBytes), true};
}

/// Opens for reading the file that `fd` has open, whatever its name means by now. Returns -1 and
/// sets errno where that fails.
int OpenDescriptorAnew(int fd, int flags) {
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
}

class File final : public BlockSource {
 public:
  explicit File(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] Result<OpenedSource> Open(bool direct) const override {
    // Opening a pipe would wait for somebody to write into it.
    const int fd =
        ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | (direct ? O_DIRECT : 0));
    if (fd < 0) {
      if (errno == ENOENT) return NoSuchFileError("no such file").At(path_);
      if (errno == EACCES) return NoSuchFileError("permission denied").At(path_);
      return direct ? DirectReadError(path_, errno) : ReadError(path_, errno);
    }
    OpenedSource source;
    source.handle = FileHandle(fd);
    source.name = path_;
    STI_ASSIGN_OR_RETURN(const Extent extent, ExtentOf(fd, path_));
    // Reads of a file that has it may be told to come again.
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    source.bytes = extent.bytes;
    source.has_more_room = extent.is_device;
    return source;
  }

 private:
  std::string path_;
};

class Descriptor final : public BlockSource {
 public:
  explicit Descriptor(OpenedSource source) : source_(std::move(source)) {}

  [[nodiscard]] Result<OpenedSource> Open(bool direct) const override {
    if (!direct) return source_.Duplicate();
    if (source_.begin % kBlockBytes != 0) {
      return MachineError("the model does not begin at a multiple of 4096 bytes").At(source_.name);
    }
    // A duplicate shares its flags with the caller's descriptor; one that is opened anew does not.
    const int fd = OpenDescriptorAnew(source_.handle.get(), O_DIRECT);
    if (fd < 0) return DirectReadError(source_.name, errno);
    return source_.Through(FileHandle(fd));
  }

 private:
  OpenedSource source_;
};

class Callback final : public BlockSource {
 public:
  Callback(ReadAt read_at, uint64_t bytes)
      : read_at_(std::make_shared<const ReadAt>(std::move(read_at))), bytes_(bytes) {}

  [[nodiscard]] Result<OpenedSource> Open(bool direct) const override {
    if (direct) return MachineError("it is read by a callback").At(kName);
    OpenedSource source;
    source.name = kName;
    source.bytes = bytes_;
    source.callback = read_at_;
    return source;
  }

 private:
  static constexpr const char* kName = "model";
  std::shared_ptr<const ReadAt> read_at_;
  uint64_t bytes_;
};

}  // namespace

FileHandle::~FileHandle() {
  if (fd_ >= 0) ::close(fd_);
}

OpenedSource OpenedSource::Through(FileHandle other) const {
  return {std::move(other), name, begin, bytes, has_more_room, origin, callback};
}

Result<OpenedSource> OpenedSource::Duplicate() const {
  if (callback) return Through(FileHandle());
  const int fd = ::fcntl(handle.get(), F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return ReadError(name, errno);
  return Through(FileHandle(fd));
}

Result<OpenedSource> OpenedSource::OpenAnew() const {
  if (callback) return MachineError("a callback reads it, which is not opened").At(name);
  const int fd = OpenDescriptorAnew(handle.get(), ::fcntl(handle.get(), F_GETFL) & O_DIRECT);
  if (fd < 0) {
    return MachineError(std::string("cannot be opened anew: ") + std::strerror(errno)).At(name);
  }
  return Through(FileHandle(fd));
}

int64_t OpenedSource::ReadSome(uint64_t offset, std::span<uint8_t> buffer) const {
  if (offset >= bytes) return 0;
  const auto room = buffer.first(std::min<uint64_t>(buffer.size(), bytes - offset));
  if (callback) {
    const int64_t count = (*callback)(offset, room);
    return count < 0 || static_cast<uint64_t>(count) > room.size() ? -EIO : count;
  }
  const ssize_t count =
      ::pread(handle.get(), room.data(), room.size(), static_cast<off_t>(begin + offset));
  return count < 0 ? -errno : count;
}

int64_t OpenedSource::ReadCached(uint64_t offset, std::span<uint8_t> buffer) const {
  if (callback) return -EOPNOTSUPP;
  if (offset >= bytes) return 0;
  const iovec room = {buffer.data(), std::min<uint64_t>(buffer.size(), bytes - offset)};
  const ssize_t count =
      ::preadv2(handle.get(), &room, 1, static_cast<off_t>(begin + offset), RWF_NOWAIT);
  return count < 0 ? -errno : count;
}

uint64_t OpenedSource::End() const {
  struct stat info {};
  if (callback || ::fstat(handle.get(), &info) != 0 || !S_ISREG(info.st_mode)) return bytes;
  const auto size = static_cast<uint64_t>(info.st_size);
  return std::min(bytes, size - std::min(size, begin));
}

std::string Streams::Hold(uint32_t wanted) {
  while (count() > std::max(wanted, 1U)) open_.pop_back();
  while (count() < wanted) {
    Result<OpenedSource> another = first().OpenAnew();
    if (!another.ok()) return another.error().what;
    open_.push_back({std::move(*another), 0});
  }
  return {};
}

uint32_t Streams::Begin(std::optional<uint32_t> stream) {
  const auto least = std::ranges::min_element(open_, {}, &Stream::in_flight);
  const auto chosen = stream ? *stream : static_cast<uint32_t>(least - open_.begin());
  ++open_[chosen].in_flight;
  return chosen;
}

BlockSourcePtr FileSource(std::string path) { return std::make_shared<File>(std::move(path)); }

Result<BlockSourcePtr> DescriptorSource(int fd, uint64_t offset, uint64_t bytes) {
  OpenedSource source;
  source.name = "descriptor " + std::to_string(fd);
  const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return ReadError(source.name, errno);
  source.handle = FileHandle(copy);
  STI_ASSIGN_OR_RETURN(const Extent extent, ExtentOf(copy, source.name));
  if (!RangeFits(offset, bytes, extent.bytes)) {
    return DataError("has " + std::to_string(extent.bytes) + " bytes, fewer than the model's end")
        .At(source.name);
  }
  source.begin = offset;
  source.bytes = bytes != 0 ? bytes : extent.bytes - offset;
  source.has_more_room = bytes == 0;
  return BlockSourcePtr(std::make_shared<Descriptor>(std::move(source)));
}

BlockSourcePtr CallbackSource(ReadAt read_at, uint64_t bytes) {
  return std::make_shared<Callback>(std::move(read_at), bytes);
}

Error ReadError(const std::string& name, int error_number) {
  return Error{ErrorKind::kReadFailed, std::string("cannot read: ") + std::strerror(error_number)}
      .At(name);
}

Error DirectReadError(const std::string& name, int error_number) {
  if (error_number != EINVAL) return ReadError(name, error_number);
  return MachineError(std::string("the file system refuses direct reads (") +
                      std::strerror(error_number) + ")")
      .At(name);
}

Error EndOfFileError(const OpenedSource& source, uint64_t offset) {
  // A read may have begun behind the end, so where it stopped says less than the source does.
  return DataError("ends at byte " + std::to_string(std::min(offset, source.End())) +
                   ", inside a part")
      .At(source.name)
      .Fix(Remedy::kCopyFileAgain);
}

}  // namespace sti
