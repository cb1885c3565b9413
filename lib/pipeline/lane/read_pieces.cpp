#include "pipeline/lane/read_pieces.h"

#include <algorithm>

namespace sti {

void ReadPieces::Reset(uint64_t piece_bytes, uint32_t agents, uint32_t streams) {
  piece_bytes_ = piece_bytes;
  agents_ = agents;
  streams_ = streams;
  reads_.clear();
  reads_.reserve(BlockReader::kMostDepth);
}

ReadRequest ReadPieces::Begin(ReadRequest read, std::optional<uint32_t> agent) {
  return Submit(reads_.emplace_back(Read{read.tag, agent, read.offset, read.buffer, 0}));
}

std::optional<ReadRequest> ReadPieces::Next() {
  const size_t next = FindNext();
  if (next == reads_.size()) return std::nullopt;
  return Submit(reads_[next]);
}

bool ReadPieces::Ended(uint64_t tag) {
  const auto read = std::ranges::find(reads_, tag, &Read::tag);
  if (read == reads_.end()) return false;
  if (--read->in_flight > 0 || !read->rest.empty()) return false;
  reads_.erase(read);
  return true;
}

bool ReadPieces::HasRest() const {
  return std::ranges::any_of(reads_, [](const Read& read) { return !read.rest.empty(); });
}

uint32_t ReadPieces::busy() const {
  uint32_t busy = 0;
  if (agents_ == 1) return busy;
  for (const Read& read : reads_) {
    if (read.agent) busy |= 1U << *read.agent;
  }
  return busy;
}

size_t ReadPieces::FindNext() const {
  const auto next = std::ranges::find_if(reads_, [this](const Read& read) {
    return !read.rest.empty() && (agents_ == 1 || read.in_flight == 0);
  });
  return static_cast<size_t>(next - reads_.begin());
}

// The last piece has up to twice the bytes of the others: none is small.
ReadRequest ReadPieces::Submit(Read& read) const {
  const bool more = read.rest.size() >= 2 * piece_bytes_;
  const std::span<uint8_t> piece = more ? read.rest.first(piece_bytes_) : read.rest;
  ReadRequest request{read.offset, piece, read.tag};
  if (agents_ > 1 && read.agent) request.stream = *read.agent % streams_;
  read.offset += piece.size();
  read.rest = read.rest.subspan(piece.size());
  ++read.in_flight;
  return request;
}

}  // namespace sti
