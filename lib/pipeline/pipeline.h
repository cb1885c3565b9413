// Executes a plan (STI 5.5): for each input runs an IO lane beside the compute lane, layer by
// layer, and keeps between inputs what the plan preloads. A pipeline has a route for the
// plan, one for each variant and one for each cascade level before the last, which is the plan
// itself; routes share the preload buffer, the arena and the working memory.
//
// The guide (docs/guide/pipeline.md, "Turns" to "Drift, and another plan") tells what becomes of
// the buffer from input to input: in the turns of an engagement, in the levels of a cascade, while
// reads hang, and when another plan comes. A call below says what it promises of that.
//
// PipelineCore, behind it, does the work.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "kernels/backend.h"
#include "pipeline/drift.h"
#include "pipeline/pass.h"
#include "pipeline/run_result.h"
#include "types/plan.h"

namespace sti {

class BlockReader;
class ContainerFile;
class Interrupt;
class IoShare;
class PipelineCore;
class ThreadPool;
struct LoadSchedule;

/// How a pipeline is opened.
struct PipelineOptions {
  uint32_t threads = 1;  ///< threads of the compute lane, unless `cores` are given
  Arithmetic arithmetic;
  /// Most bytes of staging for shards read ahead; 0: what the plan says, or as many as it streams.
  uint64_t staging_bytes = 0;
  /// The cores' clock, which variants are chosen by (RoutesAtClock); 0: not known.
  uint64_t clock_khz = 0;
  /// Whether nothing but the embedding parameters is loaded before the first run needs it, so that
  /// a process that was just started answers soonest. Under a plan with a fallback, which stays in
  /// memory, it counts as false.
  bool lazy = false;
  /// Whether preloaded shards, arena and working memory are kept in memory (base/page_space.h).
  bool lock_memory = false;
  /// Whether embedding rows that recent texts had stay in the memory that they are read into.
  bool keep_rows = true;
  /// Whether runs tell how long decoding takes, which costs a little.
  bool meter_decoding = false;
  /// Cores and IO that several pipelines of one process share, and that outlive the pipeline; null:
  /// it has its own.
  ThreadPool* cores = nullptr;
  IoShare* io = nullptr;
  /// Ends what is under way, once it is raised, with kCancelled: at once where that waits for
  /// reads, else when the layer at hand is computed. It outlives the pipeline; null: nothing does.
  Interrupt* interrupt = nullptr;
};

/// The state of a pipeline at the moment, and what it holds. It refers to parts of the pipeline.
struct PipelineStatus {
  const ContainerFile* file = nullptr;
  BlockReader* reader = nullptr;         ///< the reader of `file`
  uint32_t max_length = 0;               ///< most tokens of an input
  Kernel kernel;                         ///< kernel that layers are computed with
  uint64_t preload_bytes = 0;            ///< shards that stay, in whole blocks, and embedding rows
  uint64_t staging_bytes = 0;            ///< arena that streamed shards land in
  uint64_t resident_bytes = 0;           ///< parameters of embedding, layers and head
  uint64_t working_bytes = 0;            ///< memory that runs compute in
  const Status* lock_refusal = nullptr;  ///< why some memory is not locked that was to be, or ok
  LaneState lane = LaneState::kIdle;
  bool settled = true;  ///< no read is in flight: closing waits for nothing
  std::shared_ptr<const LoadSchedule> schedule;  ///< schedule of the last run
};

/// The steps of a run, for a caller that takes them itself: Embed, Layers in as many pieces as it
/// likes, Finish.
class RunSteps {
 public:
  virtual ~RunSteps() = default;
  /// Reads and sums embedding rows, or takes hidden rows. `pass` is the run's.
  [[nodiscard]] virtual Status Embed(const Pass& pass) = 0;
  /// Waits for the reads of the plan's layers `first` up to, not including, `last`, and computes
  /// them. UsageError unless `first` is the next layer.
  [[nodiscard]] virtual Status Layers(uint32_t first, uint32_t last) = 0;
  /// Computes the head, or gives the hidden rows. UsageError unless all layers are computed.
  [[nodiscard]] virtual Status Finish() = 0;
  /// Returns the number of the plan's layers.
  [[nodiscard]] virtual uint32_t layers() const = 0;
};

/// The time at which a preload buffer is filled that may be larger again.
enum class Refill : uint8_t {
  kNow,
  kWithRuns,  ///< nothing waits for reads: what is missing comes with the runs
};

/// Returns an error unless the plan belongs to the container and can be served by it, computing in
/// `type`. Thread-safe.
[[nodiscard]] Status CheckPlan(const ContainerFile& file, const Plan& plan, ComputeType type);

/// Returns UsageError unless `plan` counts on products of this type, or does not say. Thread-safe.
[[nodiscard]] Status CheckPlanComputes(const Plan& plan, ComputeType type);

/// One model under one plan and its variants. One thread at a time. Its methods are at most 20.
class Pipeline {
 public:
  /// Checks the plan; unless `lazy`, loads what stays in memory. `file` stays the caller's where
  /// that fails.
  static Result<std::unique_ptr<Pipeline>> Create(ContainerFile&& file, Plan plan,
                                                  const PipelineOptions& options);
  /// Closes a pipeline, and returns its container, open, for another.
  static ContainerFile Close(std::unique_ptr<Pipeline> pipeline);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// Returns a DataError unless the pass is one of this model and plan.
  [[nodiscard]] Status Check(const Pass& pass) const;

  /// Runs one pass of at most so many tokens as the plan's longest input has, times microbatch.
  /// `output` and `report` are used again: once their vectors have grown, a run allocates nothing.
  /// After an error the next run starts afresh; one of Source::kInput is about this pass alone: a
  /// logit of it is not finite.
  [[nodiscard]] Status Run(const Pass& pass, const RunTerms& terms, PassOutput* output,
                           RunReport* report);
  /// Begins a run for a caller that takes its steps itself: Embed, Layers in as many pieces as it
  /// likes, Finish, then End. The run, `pass`, `output` and `report` are in use until End, or until
  /// any other call, which ends the run early.
  Result<RunSteps*> Begin(const Pass& pass, const RunTerms& terms, PassOutput* output,
                          RunReport* report);
  /// Ends the run that Begin began. `status` is that of its steps, and is returned.
  [[nodiscard]] Status End(Status status);

  /// Says that the input at hand will run on no more levels of the plan's cascade: what stays in
  /// memory for them goes. Does nothing without a cascade.
  void EndInput();
  /// Returns whether a degraded run on `route`, begun now on terms that name `taken` and
  /// `degrade_for_us`, would be in time with all its slices, if it left out all refinements. Waits
  /// for reads of the run before it that are in flight, but no longer than that. The route's plan
  /// has times.
  [[nodiscard]] bool HasTimeFor(RouteId route, const RunTerms& terms);

  /// Begins to read what the next run under plan() needs, before its text is known (lead time).
  /// `may_degrade`: it will be one with RunTerms::degrade_for_us.
  [[nodiscard]] Status Wake(bool may_degrade = false);
  /// Loads what is to stay in memory and is not there.
  [[nodiscard]] Status LoadAhead();
  /// Waits for reads in flight, as closing does. It fails only if it is interrupted.
  [[nodiscard]] Status FinishReads();
  /// Gives back what only runs need, the arena and the working memory, while no input is expected.
  /// The next run makes it again.
  [[nodiscard]] Status Rest();
  /// Ends the engagement: the next run is turn 1. What only later turns keep is given back, and
  /// what the first has and they had no room for is loaded; where that fails the engagement goes
  /// on.
  [[nodiscard]] Status EndTurns();
  /// Bounds the preload buffer, between turns too, from now on: evicts from the top, or loads the
  /// next shards in layer order. Fallbacks stay, and count; what one cascade level keeps for the
  /// next does not. Nothing: it holds what the plan says again. Where that cannot be loaded the
  /// bound before stays.
  [[nodiscard]] Status ResizePreload(std::optional<uint64_t> bytes, Refill refill = Refill::kNow);
  /// Goes on under another plan for the same model, for another target, buffer or device. Shards
  /// that both plans preload stay in memory. A plan that does not fit, or whose shards cannot be
  /// read, leaves the old one and its engagement in force; so does one that is interrupted. Then
  /// the old one's fallbacks are in memory as before, and what else it preloads comes with its next
  /// run. `staging_bytes`: as PipelineOptions has them, from now on; nothing: as before.
  [[nodiscard]] Status SetPlan(Plan plan, std::optional<uint64_t> staging_bytes = {});
  /// Goes on under the variants for another clock, as PipelineOptions::clock_khz. Returns whether
  /// they are others than before; then this is as SetPlan with the same plan.
  [[nodiscard]] Result<bool> SetClock(uint64_t clock_khz);

  [[nodiscard]] const Plan& plan() const;
  /// Returns the plan or variant that an input of so many tokens runs under: the shortest that
  /// holds it, the longest for what none holds. It is plan() or one of its variants.
  [[nodiscard]] const PlanCore& PlanFor(size_t tokens) const;
  /// Returns what the pipeline is and holds now; the next call writes it anew.
  [[nodiscard]] const PipelineStatus& status();
  /// Compares measured times with the plan's.
  [[nodiscard]] DriftWatch& drift();

 private:
  explicit Pipeline(std::unique_ptr<PipelineCore> core);

  std::unique_ptr<PipelineCore> core_;
};

/// Runs one sequence of token ids to what the head gives, or to the hidden rows of the last layer.
[[nodiscard]] Status RunTokens(Pipeline& pipeline, std::span<const uint32_t> ids,
                               std::span<const uint32_t> types, const RunTerms& terms,
                               RunResult* result);
[[nodiscard]] Status RunToRows(Pipeline& pipeline, std::span<const uint32_t> ids,
                               std::span<const uint32_t> types, const RunTerms& terms,
                               RunResult* result);
Result<RunResult> RunTokens(Pipeline& pipeline, std::span<const uint32_t> ids,
                            std::span<const uint32_t> types);
/// Runs a piece of a sequence, whose first token is the one at `first`, to what the head gives.
[[nodiscard]] Status RunPiece(Pipeline& pipeline, std::span<const uint32_t> ids,
                              std::span<const uint32_t> types, uint32_t first, RunResult* result);
/// Runs one image or several, as ImageInput has them, to what the head gives for each.
[[nodiscard]] Status RunImages(Pipeline& pipeline, std::span<const float> values,
                               const RunTerms& terms, RunResult* result);

}  // namespace sti
