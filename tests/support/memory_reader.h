// A BlockReader over bytes in memory: a device that costs nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/block_reader.h"

namespace sti {

/// Reads are complete, and fill their buffers, in the order they were submitted, when Wait is
/// called.
class MemoryReader final : public BlockReader {
 public:
  using Bytes = std::shared_ptr<const std::vector<uint8_t>>;

  MemoryReader(std::string name, Bytes bytes) : bytes_(std::move(bytes)) {
    name_ = std::move(name);
    file_bytes_ = bytes_->size();
  }

  [[nodiscard]] Status Submit(const ReadRequest& request) override {
    pending_.push_back(request);
    ++in_flight_;
    return {};
  }
  [[nodiscard]] Result<uint64_t> Wait() override {
    const ReadRequest request = pending_.front();
    pending_.pop_front();
    --in_flight_;
    std::copy_n(bytes_->begin() + static_cast<int64_t>(request.offset), request.buffer.size(),
                request.buffer.begin());
    return request.tag;
  }
  [[nodiscard]] Result<std::unique_ptr<BlockReader>> Clone() const override {
    return std::unique_ptr<BlockReader>(std::make_unique<MemoryReader>(name_, bytes_));
  }

 private:
  Bytes bytes_;
  std::deque<ReadRequest> pending_;
};

}  // namespace sti
