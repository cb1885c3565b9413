// Reads that go on while a layer is measured, as they do in a run.
//
// Moving bytes costs CPU time too: on a fast disk an IO lane at full speed takes a good part of a
// core, on slow flash next to nothing. Measured beside it, T_comp says what a layer takes in the
// pipeline rather than alone.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "io/block_reader.h"
#include "schedule/load_schedule.h"

namespace sti {

/// Reads `reads` again and again, as many in flight as a run has, until paused or destroyed. One
/// thread at a time.
class BackgroundReads {
 public:
  /// Opens `source` a second time. `arena_bytes` bounds every read's place + length.
  static Result<std::unique_ptr<BackgroundReads>> Start(
      const BlockSourcePtr& source, ReadPath way, std::vector<ScheduledRead> reads,
      uint64_t arena_bytes, uint32_t depth = BlockReader::kDefaultDepth);
  ~BackgroundReads();
  BackgroundReads(const BackgroundReads&) = delete;
  BackgroundReads& operator=(const BackgroundReads&) = delete;

  /// Returns when nothing is in flight. Nothing is read until Resume.
  void Pause();
  void Resume();
  /// Times that all of it has been read.
  [[nodiscard]] uint64_t loads();

 private:
  BackgroundReads(std::unique_ptr<BlockReader> reader, std::vector<ScheduledRead> reads,
                  uint64_t arena_bytes);
  void Main();

  AlignedBuffer arena_;  // outlives the reader, which is told of it
  std::unique_ptr<BlockReader> reader_;
  std::vector<ScheduledRead> reads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;  // by mutex_, as are the next
  bool paused_ = false;
  bool reading_ = false;
  uint64_t loads_ = 0;
  std::thread thread_;
};

}  // namespace sti
