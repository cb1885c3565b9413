#include "io/block_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/aligned_buffer.h"
#include "base/remedy.h"
#include "io/reader_backends.h"

namespace sti {
namespace {

constexpr uint32_t kMaxReadThreads = 4;

Result<OpenedFile> OpenFile(const std::string& path, bool direct) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0));
  if (fd < 0) {
    if (errno == ENOENT) return NoSuchFileError("no such file").At(path);
    if (errno == EACCES) return NoSuchFileError("permission denied").At(path);
    return direct ? DirectReadError(path, errno) : ReadError(path, errno);
  }
  OpenedFile file{FileHandle(fd), path, 0};
  struct stat info {};
  if (::fstat(fd, &info) != 0) return ReadError(path, errno);
  if (!S_ISREG(info.st_mode)) return NoSuchFileError("not a regular file").At(path);
  file.bytes = static_cast<uint64_t>(info.st_size);
  return file;
}

Result<std::unique_ptr<BlockReader>> OpenOne(const std::string& path, ReadPath way,
                                             uint32_t depth) {
  STI_ASSIGN_OR_RETURN(OpenedFile file, OpenFile(path, way != ReadPath::kBuffered));
  if (way == ReadPath::kUring) return MakeUringReader(std::move(file), depth);
  return MakeThreadReader(std::move(file), std::min(depth, kMaxReadThreads), way);
}

// What a way is worth is known only after a read. A file below one block proves nothing here; its
// readers find it too short.
Result<std::unique_ptr<BlockReader>> OpenAndTry(const std::string& path, ReadPath way,
                                                uint32_t depth) {
  STI_ASSIGN_OR_RETURN(auto reader, OpenOne(path, way, depth));
  if (reader->file_bytes() < kBlockBytes) return reader;
  AlignedBuffer block(kBlockBytes);
  STI_RETURN_IF_ERROR(reader->Read(0, block.span()));
  return reader;
}

// Puts a refusal behind those so far, unless one of them says it already.
void AddReason(const std::string& reason, std::string& reasons) {
  if (reasons.find(reason) != std::string::npos) return;
  reasons += (reasons.empty() ? "" : "; ") + reason;
}

}  // namespace

FileHandle::~FileHandle() {
  if (fd_ >= 0) ::close(fd_);
}

Result<OpenedFile> OpenedFile::Duplicate() const {
  const int fd = ::fcntl(handle.get(), F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return ReadError(name, errno);
  return OpenedFile{FileHandle(fd), name, bytes};
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

Error EndOfFileError(const OpenedFile& file, uint64_t offset) {
  struct stat info {};
  // A read may have begun behind the end, so where it stopped says less than the file does.
  if (::fstat(file.handle.get(), &info) == 0) {
    offset = std::min(offset, static_cast<uint64_t>(info.st_size));
  }
  return DataError("ends at byte " + std::to_string(offset) + ", inside a part")
      .At(file.name)
      .Fix(Remedy::kCopyFileAgain);
}

const char* ReadPathName(ReadPath path) {
  switch (path) {
    case ReadPath::kUring:
      return "uring";
    case ReadPath::kThreads:
      return "threads";
    case ReadPath::kBuffered:
      return "buffered";
    case ReadPath::kAuto:
      break;
  }
  return "auto";
}

Status BlockReader::Read(uint64_t offset, std::span<uint8_t> buffer) {
  const ReadRequest request{offset, buffer, 0};
  return ReadAll({&request, 1});
}

Status BlockReader::ReadAll(std::span<const ReadRequest> requests) {
  Status status;
  auto wait = [&] {
    auto tag = Wait();
    if (!tag.ok() && status.ok()) status = tag.error();
  };
  for (const ReadRequest& request : requests) {
    if (in_flight_ == depth_) wait();
    if (status.ok()) status = Submit(request);
    if (!status.ok()) break;
  }
  // A wait that finishes no read fails for good: waiting on would not end.
  for (uint32_t before = 0; in_flight_ > 0 && in_flight_ != before;) {
    before = in_flight_;
    wait();
  }
  return status;
}

Result<std::unique_ptr<BlockReader>> OpenBlockReader(const std::string& path, ReadPath wanted,
                                                     uint32_t depth) {
  if (wanted != ReadPath::kAuto) {
    auto reader = OpenAndTry(path, wanted, depth);
    if (reader.ok() || BlamesData(reader.error().kind)) return reader;
    return Error(reader.error()).Fix(Remedy::kTryOtherReads);
  }
  std::string reasons;
  for (ReadPath way : {ReadPath::kUring, ReadPath::kThreads}) {
    auto reader = OpenAndTry(path, way, depth);
    if (reader.ok()) (*reader)->fallback_reason_ = reasons;
    if (reader.ok() || BlamesData(reader.error().kind)) return reader;
    AddReason(reader.error().what, reasons);
  }
  auto reader = OpenAndTry(path, ReadPath::kBuffered, depth);
  if (reader.ok()) (*reader)->fallback_reason_ = reasons;
  return reader;
}

}  // namespace sti
