// The IO lane: a thread that keeps reads in flight, in order of need, while the caller computes.
//
// A job is one input: its embedding rows, then the plan's streamed shards, layer by layer. Reads
// start in schedule order, each as soon as a place in flight and a place in the arena are free.
// Checksums are verified here, beside the computation.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "io/block_reader.h"
#include "io/load_schedule.h"
#include "model/embedding_rows.h"

namespace sti {

using Clock = std::chrono::steady_clock;
inline double MicrosecondsBetween(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::micro>(end - begin).count();
}

struct IoJob {
  const EmbeddingReads* embeddings = nullptr;  ///< may be null
  std::span<uint8_t> embedding_blocks;         ///< room for them
  const LoadSchedule* schedule = nullptr;
  std::span<uint8_t> arena;  ///< schedule->arena_bytes
  uint32_t groups = 0;
};

/// Start, then waits and GroupComputed in order of groups, then Finish: all from one thread. What
/// the job points to stays in place until Finish returns.
class IoLane {
 public:
  /// Takes over `reader` until destroyed.
  explicit IoLane(BlockReader& reader);
  ~IoLane();
  IoLane(const IoLane&) = delete;
  IoLane& operator=(const IoLane&) = delete;

  void Start(const IoJob& job);
  /// Block until the embedding rows, or all reads of a group, are in memory and checked.
  [[nodiscard]] Status WaitForEmbeddings();
  [[nodiscard]] Status WaitForGroup(uint32_t group);
  /// The group's bytes may be overwritten.
  void GroupComputed(uint32_t group);

  struct Report {
    uint64_t bytes = 0;
    Clock::time_point embeddings_ready;
    std::vector<Clock::time_point> ready;  ///< [groups]
  };
  /// Stops issuing reads, waits for those in flight, and says what was done.
  Report Finish();

 private:
  void Main();
  void RunJob();
  [[nodiscard]] bool MayStart(size_t next);
  [[nodiscard]] ReadRequest RequestOf(size_t next) const;
  [[nodiscard]] size_t EmbeddingReadsCount() const;
  [[nodiscard]] Status Complete(uint64_t tag);
  void MarkEmptyGroups();
  void Fail(Error error);
  [[nodiscard]] Status Wait(const std::function<bool()>& ready);

  BlockReader& reader_;
  std::mutex mutex_;
  std::condition_variable to_lane_;    // a job, a freed group, stop
  std::condition_variable from_lane_;  // something arrived, failed, or the lane is idle
  bool stop_ = false;
  bool busy_ = false;
  bool finishing_ = false;
  IoJob job_;
  uint32_t computed_ = 0;          // groups
  size_t embeddings_missing_ = 0;  // reads
  std::vector<uint32_t> missing_;  // [groups] reads
  std::optional<Error> error_;
  Report report_;
  std::thread thread_;
};

}  // namespace sti
