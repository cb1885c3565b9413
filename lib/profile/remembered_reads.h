// A file whose blocks come from memory once they have been read: for timing what is done with them
// without the reads.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "io/block_reader.h"

namespace sti {

/// Blocks that some readers of one file have read. One thread at a time.
class BlockMemory {
 public:
  /// Copies the blocks of a range into `buffer`; false if one of them is not here.
  bool Get(uint64_t offset, std::span<uint8_t> buffer) const;
  void Put(uint64_t offset, std::span<const uint8_t> blocks);

 private:
  std::map<uint64_t, std::vector<uint8_t>> blocks_;  ///< by offset
};

/// Reads through `source`, or from `memory` what has been read before; both outlive it. Short of
/// time, it behaves as the source does.
class RememberingReader : public BlockReader {
 public:
  RememberingReader(BlockReader& source, BlockMemory& memory);
  [[nodiscard]] Status Submit(const ReadRequest& request) override;
  [[nodiscard]] Result<uint64_t> Wait() override;
  [[nodiscard]] Result<std::unique_ptr<BlockReader>> Clone() const override {
    return std::unique_ptr<BlockReader>(std::make_unique<RememberingReader>(source_, memory_));
  }

 private:
  BlockReader& source_;
  BlockMemory& memory_;
  std::deque<uint64_t> done_;  ///< tags
};

}  // namespace sti
