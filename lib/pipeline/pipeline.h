// Executes a plan (STI 5.5): for each input runs an IO lane beside the compute lane, layer by
// layer, and keeps between inputs what the plan preloads. A plan with variants has a route for each
// input length; they share the preload buffer, the arena and the working memory.
//
// Turns (STI 3.3). Inputs that come back to back are the turns of one engagement: where the plan
// has turns, each runs at its own bits, reads only the planes that are missing, and leaves in
// memory what the next begins with. EndTurns goes back to the first.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/aligned_vector.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "io/container_file.h"
#include "kernels/backend.h"
#include "model/embedding_rows.h"
#include "model/resident_model.h"
#include "model/transformer.h"
#include "pipeline/drift.h"
#include "pipeline/io_share.h"
#include "pipeline/lane/io_lane.h"
#include "pipeline/lane/pace.h"
#include "pipeline/lane/preload_buffer.h"
#include "pipeline/lane/route.h"
#include "pipeline/run_result.h"
#include "types/plan.h"

namespace sti {

struct PipelineOptions {
  uint32_t threads = 1;  ///< of the compute lane, without `cores`
  Arithmetic arithmetic;
  /// Most bytes of staging for shards read ahead; 0: what the plan says, or as many as it streams.
  uint64_t staging_bytes = 0;
  /// The cores' clock, which variants are chosen by (PlansAtClock); 0: not known.
  uint64_t clock_khz = 0;
  /// Nothing but the embedding parameters is loaded before the first run needs it, so that a
  /// process that was just started answers soonest.
  bool lazy = false;
  /// Several pipelines in one process share these; they outlive the pipeline. Without them, it has
  /// its own.
  ThreadPool* cores = nullptr;
  IoShare* io = nullptr;
};

/// How one input is to be answered.
struct RunTerms {
  /// From this moment latency counts, if the caller has worked on the input before.
  std::optional<Clock::time_point> taken;
  /// Leave out what would come too late for this much after `taken`. The plan has times.
  std::optional<double> degrade_for_us;
};

/// One model under one plan and its variants. One thread at a time.
class Pipeline {
 public:
  /// Checks that the plan belongs to the container and can be served by it; unless `lazy`, loads
  /// what stays in memory.
  static Result<std::unique_ptr<Pipeline>> Create(ContainerFile file, Plan plan,
                                                  const PipelineOptions& options);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// DataError unless `ids` and `types` are an input of this model and plan.
  [[nodiscard]] Status CheckInput(std::span<const uint32_t> ids,
                                  std::span<const uint32_t> types) const;

  /// One input, at most max_length() ids, each inside the vocabulary; `types` has one entry an id.
  /// It runs under PlanFor its number of ids. `result` is used again: once its vectors have grown,
  /// a run allocates nothing. After an error the next run starts afresh.
  [[nodiscard]] Status Run(std::span<const uint32_t> ids, std::span<const uint32_t> types,
                           const RunTerms& terms, RunResult* result);
  Result<RunResult> Run(std::span<const uint32_t> ids, std::span<const uint32_t> types);

  /// Begins to read what the next run under plan() needs, before its text is known (lead time).
  /// `may_degrade`: it will be one with RunTerms::degrade_for_us.
  [[nodiscard]] Status Wake(bool may_degrade = false);
  /// Loads what is to stay in memory and is not there.
  [[nodiscard]] Status LoadAhead();
  /// The engagement is over: the next run is turn 1, and what only turns keep is given back.
  void EndTurns();
  /// Bounds the preload buffer, between turns too, from now on: evicts from the top, or loads the
  /// next shards in layer order.
  [[nodiscard]] Status ResizePreload(uint64_t bytes);
  /// Another plan for the same model, for another target, buffer or device. What both hold stays.
  [[nodiscard]] Status SetPlan(Plan plan);

  [[nodiscard]] const Plan& plan() const { return plan_; }
  /// The plan or variant that an input of so many tokens runs under: the shortest that holds it,
  /// the longest for what none holds. plan() or one of its variants.
  [[nodiscard]] const Plan& PlanFor(size_t tokens) const;
  /// Most tokens of an input.
  [[nodiscard]] uint32_t max_length() const { return routes_.back().plan().length; }
  [[nodiscard]] const ContainerIndex& index() const { return file_.index(); }
  [[nodiscard]] BlockReader& reader() { return file_.reader(); }
  [[nodiscard]] ReadPath read_path() { return file_.reader().path(); }
  [[nodiscard]] Kernel kernel() const { return transformer_->kernel(); }
  /// Bytes that preloaded shards occupy, as read.
  [[nodiscard]] uint64_t preload_bytes() const { return preload_.bytes(); }
  /// Bytes of the arena that streamed shards land in.
  [[nodiscard]] uint64_t staging_bytes() const { return arena_.size(); }
  [[nodiscard]] uint64_t resident_bytes() const { return resident_.bytes(); }
  [[nodiscard]] uint64_t working_bytes() const { return transformer_->working_bytes(); }
  /// What the last run read; valid until the next call.
  [[nodiscard]] const LoadSchedule& last_schedule() const { return last_->schedule(); }
  /// Measured times against the plan's; see DriftWatch.
  [[nodiscard]] DriftWatch& drift() { return drift_; }
  /// Whether runs tell how long decoding takes, which costs a little.
  void MeterDecoding(bool on) { transformer_->MeterDecoding(on); }

 private:
  Pipeline(ContainerFile file, Plan plan, const PipelineOptions& options);
  [[nodiscard]] Status MakeRoutes();
  [[nodiscard]] Status ReadResidents();
  [[nodiscard]] Status MakeRoom();
  void GrowArena(uint64_t bytes);
  [[nodiscard]] size_t RouteFor(size_t tokens) const;
  [[nodiscard]] Route& MainRoute();

  [[nodiscard]] size_t TurnIndex() const;
  [[nodiscard]] const Grid<uint32_t>& BitsFor(const Route& route) const;
  void ChooseKept(const Route& route, size_t turn);
  [[nodiscard]] Status Prepare(Route& route, bool only_ahead, bool refinements_apart);
  void StartLane(Route& route, bool rows_follow);
  void Settle();
  void SetLateLaneAside();
  [[nodiscard]] std::unique_ptr<IoLane> MakeLane(BlockReader& reader);
  [[nodiscard]] Status TakeOver(Route& route, bool degrade);

  [[nodiscard]] Status Compute(Route& route, std::span<const uint32_t> ids,
                               std::span<const uint32_t> types, RunResult& result);
  [[nodiscard]] Status ComputeLayer(Route& route, uint32_t k, const Batch& batch,
                                    RunResult& result);
  [[nodiscard]] Status WaitForLayer(const Route& route, uint32_t k);
  [[nodiscard]] Status TakeResident(const Route& route, uint32_t group);
  [[nodiscard]] Status ComputeHead(Route& route, const Batch& batch, RunResult& result);
  [[nodiscard]] Pace& PaceOf(const Route& route);
  void SetStartTimes(const Route& route);
  void Report(const Route& route, RunResult& result);
  void CompareWithPlan(const Route& route, uint32_t tokens, const RunResult& result);
  [[nodiscard]] double Now() const { return MicrosecondsBetween(run_start_, Clock::now()); }
  [[nodiscard]] double SinceTaken() const { return MicrosecondsBetween(taken_, Clock::now()); }

  /// A lane whose last reads did not come in time, and all that they may still land in.
  struct LateLane {
    std::unique_ptr<BlockReader> reader;
    AlignedBuffer arena;
    std::unique_ptr<IoLane> lane;  ///< last: waits for them
  };

  ContainerFile file_;
  Plan plan_;
  PipelineOptions options_;
  std::unique_ptr<ThreadPool> own_cores_;
  ThreadPool* cores_;
  ResidentModel resident_;
  std::unique_ptr<Transformer> transformer_;
  ComputeType compute_ = ComputeType::kFp32;  ///< of transformer_
  PreloadBuffer preload_;
  std::vector<Route> routes_;  ///< one a length, shortest first; never empty
  Route* last_ = nullptr;      ///< whose job the lane has, or had last
  AlignedBuffer arena_;        ///< as large as the largest job has needed
  AlignedBuffer embedding_blocks_;
  EmbeddingReads embedding_reads_;
  AlignedVector<float> hidden_;
  std::vector<ShardAtBits> kept_;  ///< after the run at hand
  std::optional<uint64_t> preload_limit_;
  size_t turn_ = 0;      ///< from 0, of the next run under plan()
  bool last_ok_ = true;  ///< the last run has ended well
  bool settled_ = true;  ///< nothing of the last job is left to be taken over
  bool woken_ = false;   ///< the lane reads for a run that has not begun
  bool degrading_ = false;
  std::vector<Pace> paces_;  ///< [routes]
  DriftWatch drift_;
  std::vector<Clock::time_point> start_by_;  ///< [groups]
  double reads_begin_us_ = 0;                ///< since taken_, of a run that may be degraded
  IoReport report_;
  Clock::time_point run_start_;
  Clock::time_point taken_;
  std::vector<LateLane> late_lanes_;
  std::unique_ptr<IoLane> lane_;  ///< last: stops before what it reads into goes
};

}  // namespace sti
