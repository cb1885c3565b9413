#include "profile/remembered_reads.h"

#include <algorithm>
#include <cstring>

#include "base/aligned_buffer.h"

namespace sti {

bool BlockMemory::Get(uint64_t offset, std::span<uint8_t> buffer) const {
  for (size_t at = 0; at < buffer.size(); at += kBlockBytes) {
    const auto block = blocks_.find(offset + at);
    if (block == blocks_.end()) return false;
    std::memcpy(buffer.data() + at, block->second.data(), kBlockBytes);
  }
  return true;
}

void BlockMemory::Put(uint64_t offset, std::span<const uint8_t> blocks) {
  for (size_t at = 0; at < blocks.size(); at += kBlockBytes) {
    const auto block = blocks.subspan(at, kBlockBytes);
    blocks_[offset + at].assign(block.begin(), block.end());
  }
}

RememberingReader::RememberingReader(BlockReader& source, BlockMemory& memory)
    : source_(source), memory_(memory) {
  DescribeAs(source);
}

Status RememberingReader::Submit(const ReadRequest& request) {
  if (!memory_.Get(request.offset, request.buffer)) {
    STI_RETURN_IF_ERROR(source_.Read(request.offset, request.buffer));
    memory_.Put(request.offset, request.buffer);
  }
  done_.push_back(request.tag);
  ++in_flight_;
  return {};
}

Result<uint64_t> RememberingReader::Wait() {
  const uint64_t tag = done_.front();
  done_.pop_front();
  --in_flight_;
  return tag;
}

}  // namespace sti
