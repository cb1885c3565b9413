#include "forged_container.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "base/digest.h"
#include "format/container_header.h"
#include "format/row_codec.h"
#include "memory_reader.h"
#include "temp_folder.h"
#include "test_container.h"

namespace sti {
namespace {

// Fuzzers forge too, and they have no expectations.
template <typename T>
void Need(const Result<T>& result) {
  if (result.ok()) return;
  std::fprintf(stderr, "%s\n", result.error().Message().c_str());
  std::abort();
}

}  // namespace

ForgedContainer::ForgedContainer(const TinyModelOptions& model, const ShardOptions& options) {
  const TempFolder folder;
  const std::string path = folder.File("a.sti");
  Need(WriteTinyContainer(path, model, options));
  *this = ForgedContainer(FileBytes(path));
}

ForgedContainer::ForgedContainer(std::vector<uint8_t> bytes) : bytes_(std::move(bytes)) {
  auto file = ContainerFile::Open(std::make_unique<MemoryReader>(
      "a.sti", std::make_shared<const std::vector<uint8_t>>(bytes_)));
  Need(file);
  index_ = file->index();
  index_end_ = kContainerHeaderBytes + file->index_bytes();
}

std::span<uint8_t> ForgedContainer::Part(const PartLocation& part) {
  if (!RangeFits(part.offset, part.length, bytes_.size())) return {};
  return std::span(bytes_).subspan(part.offset, part.length);
}

std::span<uint8_t> ForgedContainer::Row(const RowTable& table, uint32_t row) {
  return Part({table.offset + uint64_t{row} * table.row_bytes, table.row_bytes, 0});
}

std::vector<uint64_t*> ForgedContainer::Offsets() {
  std::vector<uint64_t*> offsets = {&index_.words.offset, &index_.positions.offset};
  for (ResidentLocation& resident : index_.resident) offsets.push_back(&resident.part.offset);
  for (ShardLocation& shard : index_.shards) {
    for (PartLocation& part : shard.parts) {
      if (part.length != 0) offsets.push_back(&part.offset);
    }
  }
  return offsets;
}

void ForgedContainer::SetText(ResidentKind kind, const std::string& text) {
  const size_t place = ResidentPlace(index_.info, kind);
  if (place >= index_.resident.size()) return;
  ResidentLocation& location = index_.resident[place];
  if (location.part.offset >= bytes_.size()) return;
  std::ranges::fill(Part(location.part), uint8_t{0});
  location.compression = Compression::kNone;
  location.raw_length = location.part.length = text.size();
  uint64_t next = bytes_.size();
  for (const uint64_t* offset : Offsets()) {
    if (*offset > location.part.offset) next = std::min(next, *offset);
  }
  const uint64_t room = next - location.part.offset;
  const auto at = bytes_.begin() + static_cast<std::ptrdiff_t>(next);
  uint64_t shift = 0;  // modulo 2^64
  if (text.size() > room) {
    shift = RoundUp(text.size() - room, kBlockBytes);
    bytes_.insert(at, shift, uint8_t{0});
  } else {
    const uint64_t spare = RoundDown(room - text.size(), kBlockBytes);
    shift = -spare;
    bytes_.erase(at - static_cast<std::ptrdiff_t>(spare), at);
  }
  for (uint64_t* offset : Offsets()) {
    if (*offset >= next) *offset += shift;
  }
  std::ranges::copy(text, Part(location.part).begin());
}

// A row that is not there, or too short for a checksum, has none.
void ForgedContainer::SealRows(const RowTable& table) {
  if (table.row_bytes <= kRowChecksumBytes) return;
  for (uint32_t row = 0; row < table.rows && !Row(table, row).empty(); ++row) {
    SealRow(row, Row(table, row));
  }
}

std::vector<uint8_t> ForgedContainer::Sealed() {
  SealRows(index_.words);
  SealRows(index_.positions);
  for (ShardLocation& shard : index_.shards) {
    for (PartLocation& part : shard.parts) part.checksum = Checksum(Part(part));
  }
  for (ResidentLocation& resident : index_.resident) {
    resident.part.checksum = Checksum(Part(resident.part));
  }
  const std::vector<uint8_t> index = EncodeContainerIndex(index_);
  std::vector<uint8_t> sealed = bytes_;
  if (sealed.size() < kContainerHeaderBytes + index.size()) {
    sealed.resize(RoundUp(kContainerHeaderBytes + index.size(), kBlockBytes));
  }
  std::fill_n(sealed.begin(), index_end_, uint8_t{0});
  std::copy(index.begin(), index.end(), sealed.begin() + kContainerHeaderBytes);
  const auto header =
      EncodeContainerHeader({sealed.size(), kContainerHeaderBytes, index.size(), Checksum(index)});
  std::copy(header.begin(), header.end(), sealed.begin());
  return sealed;
}

Result<ContainerFile> ForgedContainer::Open() {
  return ContainerFile::Open(std::make_unique<MemoryReader>(
      "a.sti", std::make_shared<const std::vector<uint8_t>>(Sealed())));
}

}  // namespace sti
