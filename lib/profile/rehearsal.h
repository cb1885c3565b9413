// Reads as a run makes them: a pipeline that is opened to be measured.
//
// Reads that are timed alone, one batch after another, are quicker than those of a run. There the
// lane has a thread of its own that must get a core beside those that compute, it checks what
// arrives, and the first reads find it asleep. On slow flash the flash hides all that; on a fast
// disk it counts. So T_io and the time of embedding rows are taken from real runs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "io/container_file.h"
#include "kernels/backend.h"
#include "pipeline/pipeline.h"
#include "profile/read_sweep.h"

namespace sti {

/// How rehearsals run.
struct RehearsalOptions {
  ReadPath way = ReadPath::kAuto;
  ReadShape shape;              ///< how the device likes to be read
  uint32_t length = 0;          ///< most tokens of an input
  uint32_t width = 0;           ///< slices of a layer
  uint32_t batch = 1;           ///< most inputs of a pass
  ThreadPool* cores = nullptr;  ///< outlives the rehearsal
  Arithmetic arithmetic;
};

/// Returns the microseconds from the moment at which the last layer could be computed to the
/// logits. Where a run waits for IO, that is the arrival of the last shard, and the end of the run
/// has in it waking up and a layer in caches that waiting has left cold; where it waits for
/// computation, that is the end of the layer before. The run has at least one layer.
double EndOfRunUs(const RunReport& run);

/// Runs of a few layers at each bitwidth that a container offers of whole layers. Layers take
/// turns, so that no device cache holds what comes next. One thread at a time.
class Rehearsal {
 public:
  static Result<std::unique_ptr<Rehearsal>> Open(const BlockSourcePtr& source,
                                                 const RehearsalOptions& options);

  /// Returns how many shards ShardUs loads.
  [[nodiscard]] uint32_t shards_of_run() const { return shards_of_run_; }
  /// Runs a few layers at `bits`, offered, on an input. Returns the microseconds from the arrival
  /// of its embedding rows, which are read first, to that of the last shard, divided by the number
  /// of shards.
  Result<double> ShardUs(uint32_t bits, const Pass& pass);
  /// Begins a run that reads next to nothing beside the embedding rows of its inputs, and ends it
  /// when they are there. Returns the microseconds up to that moment.
  Result<double> RowsUs(const Pass& pass);

  /// Runs a few layers at the fewest bits, likewise. Returns EndOfRunUs of that run.
  Result<double> TailUs(const Pass& pass);

 private:
  struct RoutesAtBits {
    uint32_t bits = 0;
    std::vector<RouteId> routes;  ///< a group of layers each
    size_t next = 0;
  };
  Rehearsal() = default;
  [[nodiscard]] RouteId NextRoute(uint32_t bits);
  /// Runs a few layers at `bits`; report_ has its account.
  [[nodiscard]] Status RunLayers(uint32_t bits, const Pass& pass);

  std::unique_ptr<Pipeline> pipeline_;
  /// Reads embedding rows where `pipeline_` has them: in memory, with all words of the head, of
  /// which a run then has no reads in its end. Null: it reads them itself.
  std::unique_ptr<Pipeline> rows_;
  std::vector<RoutesAtBits> routes_;
  uint32_t shards_of_run_ = 0;
  PassOutput output_;
  RunReport report_;
};

}  // namespace sti
