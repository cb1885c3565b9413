#include "io/block_reader.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/remedy.h"
#include "io/reader_backends.h"

namespace sti {
namespace {

constexpr uint32_t kMaxReadThreads = 4;

Result<std::unique_ptr<BlockReader>> OpenOne(const BlockSourcePtr& source, ReadPath way,
                                             uint32_t depth) {
  STI_ASSIGN_OR_RETURN(OpenedSource opened, source->Open(way != ReadPath::kBuffered));
  opened.origin = source;
  if (way == ReadPath::kUring) return MakeUringReader(std::move(opened), depth);
  return MakeThreadReader(std::move(opened), std::min(depth, kMaxReadThreads), way);
}

// Opens a reader and tries it with a read, as only that shows what a way is worth. A file below one
// block proves nothing here; its readers find it too short.
Result<std::unique_ptr<BlockReader>> OpenAndTry(const BlockSourcePtr& source, ReadPath way,
                                                uint32_t depth) {
  STI_ASSIGN_OR_RETURN(auto reader, OpenOne(source, way, depth));
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

void BlockReader::DescribeAs(const OpenedSource& opened) {
  name_ = opened.name;
  file_bytes_ = opened.bytes;
  has_more_room_ = opened.has_more_room;
  source_ = opened.origin;
}

void BlockReader::DescribeAs(const BlockReader& inner) {
  name_ = inner.name_;
  file_bytes_ = inner.file_bytes_;
  has_more_room_ = inner.has_more_room_;
  source_ = inner.source_;
  depth_ = inner.depth_;
  streams_ = inner.streams_;
  stream_refusal_ = inner.stream_refusal_;
  path_ = inner.path_;
}

Status BlockReader::Read(uint64_t offset, std::span<uint8_t> buffer) {
  const ReadRequest request{offset, buffer, 0};
  return ReadAll({&request, 1});
}

Status BlockReader::ReadAll(std::span<const ReadRequest> requests) {
  Status status;
  // Where memory runs out too, no read is left in flight: it would land in memory that its caller
  // has given back.
  const auto note = [&status](const auto& take_step) {
    try {
      const auto result = take_step();
      if (!result.ok() && status.ok()) status = result.error();
    } catch (const std::bad_alloc&) {
      if (status.ok()) status = NoMemoryError();
    }
  };
  const auto wait = [&] { note([this] { return Wait(); }); };
  for (const ReadRequest& request : requests) {
    if (in_flight_ == depth_) wait();
    if (status.ok()) note([&] { return Submit(request); });
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
  return OpenBlockReader(FileSource(path), wanted, depth);
}

Result<std::unique_ptr<BlockReader>> OpenBlockReader(const BlockSourcePtr& source, ReadPath wanted,
                                                     uint32_t depth) {
  if (wanted != ReadPath::kAuto) {
    auto reader = OpenAndTry(source, wanted, depth);
    if (reader.ok() || BlamesData(reader.error().kind)) return reader;
    return Error(reader.error()).Fix(Remedy::kTryOtherReads);
  }
  std::string reasons;
  for (ReadPath way : {ReadPath::kUring, ReadPath::kThreads}) {
    auto reader = OpenAndTry(source, way, depth);
    if (reader.ok()) (*reader)->fallback_reason_ = reasons;
    if (reader.ok() || BlamesData(reader.error().kind)) return reader;
    AddReason(reader.error().what, reasons);
  }
  auto reader = OpenAndTry(source, ReadPath::kBuffered, depth);
  if (reader.ok()) (*reader)->fallback_reason_ = reasons;
  return reader;
}

}  // namespace sti
