// Reads that go on while a layer is measured, as they do in a run.
//
// Moving bytes costs CPU time too: on a fast disk an IO lane at full speed takes a good part of a
// core, on slow flash next to nothing. Measured beside it, T_comp says what a layer takes in the
// pipeline rather than alone.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "io/block_reader.h"
#include "io/load_schedule.h"

namespace sti {

/// Reads `reads` again and again, as many in flight as a run has, until destroyed.
class BackgroundReads {
 public:
  /// Opens `path` a second time. `arena_bytes` bounds every read's place + length.
  static Result<std::unique_ptr<BackgroundReads>> Start(const std::string& path, ReadPath way,
                                                        std::vector<StagedRead> reads,
                                                        uint64_t arena_bytes);
  ~BackgroundReads();
  BackgroundReads(const BackgroundReads&) = delete;
  BackgroundReads& operator=(const BackgroundReads&) = delete;

 private:
  BackgroundReads(std::unique_ptr<BlockReader> reader, std::vector<StagedRead> reads,
                  uint64_t arena_bytes);
  void Main();

  std::unique_ptr<BlockReader> reader_;
  std::vector<StagedRead> reads_;
  AlignedBuffer arena_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace sti
