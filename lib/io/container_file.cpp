#include "io/container_file.h"

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "base/digest.h"
#include "base/remedy.h"
#include "format/container_header.h"
#include "format/row_codec.h"
#include "types/bits.h"
#include "types/shard_id.h"

namespace sti {
namespace {

constexpr uint64_t kRowChunkBytes = uint64_t{4} << 20;

// Most indexes fit the first read together with the header.
constexpr uint64_t kFirstReadBytes = 64 * 1024;
constexpr uint64_t kMaxReadBytes = uint64_t{1} << 20;

bool IsWholeBlocks(uint64_t bytes) { return bytes >= kBlockBytes && bytes % kBlockBytes == 0; }

}  // namespace

Result<ContainerFile> ContainerFile::Open(const std::string& path, ReadPath wanted) {
  return Open(FileSource(path), wanted);
}

Result<ContainerFile> ContainerFile::Open(const BlockSourcePtr& source, ReadPath wanted) {
  STI_ASSIGN_OR_RETURN(std::unique_ptr<BlockReader> reader,
                       OpenBlockReader(source, wanted, BlockReader::kMostDepth));
  const uint64_t size = reader->file_bytes();
  if (!IsWholeBlocks(size) && !reader->has_more_room()) {
    // No container, or part of one: what its first bytes say makes the better message.
    STI_ASSIGN_OR_RETURN(const OpenedSource opened, source->Open(false));
    std::array<uint8_t, kContainerHeaderBytes> start{};
    const int64_t count = opened.ReadSome(0, start);
    if (count < 0) return ReadError(opened.name, static_cast<int>(-count));
    STI_RETURN_IF_ERROR(
        ParseContainerHeader({start.data(), static_cast<size_t>(count)}, size, opened.name));
  }
  return Open(std::move(reader));
}

Result<ContainerFile> ContainerFile::Open(std::unique_ptr<BlockReader> reader) {
  ContainerFile file;
  file.reader_ = std::move(reader);
  const uint64_t room = file.reader_->file_bytes();
  if (room < kBlockBytes || (!IsWholeBlocks(room) && !file.reader_->has_more_room())) {
    return DataError("is cut short").At(file.name()).Fix(Remedy::kCopyFileAgain);
  }
  Status status = file.ReadIndex();
  // Bytes may be torn on their way and whole in the file: what looks damaged is read once more.
  if (!status.ok() && BlamesData(status.error().kind)) status = file.ReadIndex();
  if (!status.ok()) return status.error();
  return file;
}

Status ContainerFile::ReadIndex() {
  const std::string& path = name();
  const uint64_t room = RoundDown(reader_->file_bytes(), kBlockBytes);
  STI_ASSIGN_OR_RETURN(LoadedRange first, ReadRange(0, std::min(room, kFirstReadBytes)));
  const uint64_t size = reader_->has_more_room()
                            ? std::min(room, StoredFileBytes(first.blocks.span()))
                            : reader_->file_bytes();
  STI_ASSIGN_OR_RETURN(ContainerHeader header,
                       ParseContainerHeader(first.blocks.span(), size, path));
  LoadedRange all;
  if (header.index_offset + header.index_bytes <= first.blocks.size()) {
    all = std::move(first);
  } else {
    STI_ASSIGN_OR_RETURN(all, ReadRange(0, header.index_offset + header.index_bytes));
  }
  auto bytes = all.blocks.span().subspan(header.index_offset, header.index_bytes);
  if (Checksum(bytes) != header.index_checksum) {
    return DataError("index is damaged").At(path).Fix(Remedy::kCopyModelAgain);
  }
  STI_ASSIGN_OR_RETURN(ContainerIndex index,
                       ParseContainerIndex(bytes, size, header.index_offset + header.index_bytes,
                                           path, header.minor));
  index_ = std::make_unique<ContainerIndex>(std::move(index));
  index_bytes_ = header.index_bytes;
  return {};
}

// A larger index is read once its size is known, from the beginning of the file.
uint64_t ContainerFile::OpenReadBytes(uint64_t index_bytes) {
  const uint64_t end = RoundUp(kContainerHeaderBytes + index_bytes, kBlockBytes);
  return end <= kFirstReadBytes ? kFirstReadBytes : kFirstReadBytes + end;
}

Status ContainerFile::RequireWhole() const {
  if (!index_->partial) return {};
  return InfeasibleError("holds only what some plans read").At(name()).Fix(Remedy::kUseWholeModel);
}

Status ContainerFile::RequireTexts() const {
  if (index_->info.has_text()) return {};
  return ForeignError("has a model of images, and texts are to be read; give a model of texts")
      .At(name());
}

Status ContainerFile::RefuseContinuing() const {
  if (!index_->info.continues_texts()) return {};
  return ForeignError(
             "has a model that continues texts, of which neither importance nor stages are made "
             "yet; give one of another kind")
      .At(name());
}

Status ContainerFile::RequireWholeLayers() const {
  if (index_->stage && !index_->stage->ends.whole()) {
    return InfeasibleError("has one stage of a model alone, and lacks its text or its head")
        .At(name())
        .Fix(Remedy::kGiveWholeLayers);
  }
  if (!index_->BitsOfWholeLayers().empty()) return {};
  return InfeasibleError("holds no two layers with all their slices at the same bits")
      .At(name())
      .Fix(Remedy::kGiveWholeLayers);
}

Result<LoadedRange> ContainerFile::ReadRange(uint64_t offset, uint64_t length) {
  LoadedRange range;
  range.offset = RoundDown(offset, kBlockBytes);
  range.blocks = AlignedBuffer(RoundUp(offset + length, kBlockBytes) - range.offset);
  STI_RETURN_IF_ERROR(Fill(range));
  return range;
}

Status ContainerFile::Fill(LoadedRange& range) {
  std::vector<ReadRequest> requests;
  requests.reserve(range.blocks.size() / kMaxReadBytes + 1);
  for (uint64_t at = 0; at < range.blocks.size(); at += kMaxReadBytes) {
    uint64_t size = std::min(kMaxReadBytes, range.blocks.size() - at);
    requests.push_back({range.offset + at, range.blocks.span().subspan(at, size), 0});
  }
  return reader_->ReadAll(requests);
}

Result<LoadedRange> ContainerFile::ReadPart(const PartLocation& part, const std::string& what) {
  STI_ASSIGN_OR_RETURN(LoadedRange range, ReadRange(part.offset, part.length));
  if (CheckPart(part, range.Bytes(part), name(), what).ok()) return range;
  // As with the index: torn on the way, perhaps.
  STI_RETURN_IF_ERROR(Fill(range));
  STI_RETURN_IF_ERROR(CheckPart(part, range.Bytes(part), name(), what));
  return range;
}

Result<std::string> ContainerFile::ReadText(ResidentKind kind) {
  STI_RETURN_IF_ERROR(RequireTexts());
  if (!index_->HasText())
    return ForeignError("has one stage of a model, without its tokenizer").At(name());
  const ResidentLocation& location = index_->Resident(kind);
  const std::string what = ResidentName(kind, 0);
  STI_ASSIGN_OR_RETURN(const LoadedRange range, ReadPart(location.part, what));
  return UnpackText(location, range.Bytes(location.part), name() + ": " + what);
}

Status ContainerFile::VisitTensors(ResidentKind kind, uint32_t layer, const TensorVisit& visit) {
  const ResidentLocation& location = index_->Resident(kind, layer);
  const std::string what = ResidentName(kind, layer);
  STI_ASSIGN_OR_RETURN(const LoadedRange range, ReadPart(location.part, what));
  return ReadTensors(location, index_->info.shape, range.Bytes(location.part), name() + ": " + what,
                     visit);
}

Status ContainerFile::ForEachRow(const RowTable& table, const RowVisit& visit) {
  if (table.rows == 0) return {};  // of a stage or a model without texts, whose rows have no size
  const uint64_t rows_at_once = kRowChunkBytes / table.row_bytes + 1;
  for (uint64_t first = 0; first < table.rows; first += rows_at_once) {
    const uint64_t rows = std::min<uint64_t>(rows_at_once, table.rows - first);
    const PartLocation chunk{table.offset + first * table.row_bytes, rows * table.row_bytes, 0};
    STI_ASSIGN_OR_RETURN(LoadedRange range, ReadRange(chunk.offset, chunk.length));
    bool again = false;
    for (uint64_t r = 0; r < rows; ++r) {
      const auto row = range.Bytes(chunk).subspan(r * table.row_bytes, table.row_bytes);
      const auto number = static_cast<uint32_t>(first + r);
      Status checked = CheckRow(table, number, row, name());
      if (!checked.ok() && !again) {
        again = true;
        STI_RETURN_IF_ERROR(Fill(range));
        checked = CheckRow(table, number, row, name());
      }
      STI_RETURN_IF_ERROR(visit(row, checked));
    }
  }
  return {};
}

}  // namespace sti
