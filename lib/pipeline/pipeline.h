// Executes a plan (STI 5.5): for each input runs an IO lane beside the compute lane, layer by
// layer, and keeps between inputs what the plan preloads. A pipeline has a route for the
// plan, one for each variant and one for each cascade level before the last, which is the plan
// itself; routes share the preload buffer, the arena and the working memory.
//
// Turns (STI 3.3). Inputs that come back to back are the turns of one engagement: where the plan
// has turns, each runs at its own bits, reads only the planes that are missing, and leaves in
// memory what the next begins with. EndTurns goes back to the first.
//
// Cascades (Tabi 3). Where the plan has one, a caller runs an input on the routes of its levels,
// one after another, until one is sure (pipeline/cascade.h does). Each level leaves in memory what
// those behind it run too, so that they read the planes that are missing alone. EndInput gives that
// back. Between inputs the buffer holds what the first level preloads.
//
// Guarantees. Where the plan has fallbacks, their shards stay in the buffer, and a degraded run
// that IO lets down goes on with them: while reads hang, run after run has its label in time.
//
// Another plan, or another clock, is all or nothing: until what stays in memory under it has been
// loaded, the plan before it keeps its routes, its engagement and its fallbacks, and where that
// fails or is interrupted it goes on with them.
//
// Who does what: Engagement decides what a run computes with and what stays, Loader brings it into
// memory, Run computes, and Pipeline puts the three together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/interrupt.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "io/container_file.h"
#include "kernels/backend.h"
#include "model/resident_model.h"
#include "model/transformer.h"
#include "pipeline/drift.h"
#include "pipeline/io_share.h"
#include "pipeline/lane/loader.h"
#include "pipeline/pass.h"
#include "pipeline/plan_in_force.h"
#include "pipeline/run.h"
#include "pipeline/run_result.h"
#include "types/plan.h"

namespace sti {

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
  /// Cores and IO that several pipelines of one process share, and that outlive the pipeline; null:
  /// it has its own.
  ThreadPool* cores = nullptr;
  IoShare* io = nullptr;
  /// Ends what is under way, once it is raised, with kCancelled: at once where that waits for
  /// reads, else when the layer at hand is computed. It outlives the pipeline; null: nothing does.
  Interrupt* interrupt = nullptr;
};

/// One model under one plan and its variants. One thread at a time.
class Pipeline {
 public:
  /// Returns an error unless the plan belongs to the container and can be served by it, computing
  /// in `type`.
  [[nodiscard]] static Status CheckPlan(const ContainerFile& file, const Plan& plan,
                                        ComputeType type);
  /// Checks the plan; unless `lazy`, loads what stays in memory. `file` stays the caller's where
  /// that fails.
  static Result<std::unique_ptr<Pipeline>> Create(ContainerFile&& file, Plan plan,
                                                  const PipelineOptions& options);
  /// Closes a pipeline, and returns its container, open, for another.
  static ContainerFile Close(std::unique_ptr<Pipeline> pipeline);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// Returns a DataError unless `ids` and `types` are an input of this model and plan.
  [[nodiscard]] Status CheckInput(std::span<const uint32_t> ids,
                                  std::span<const uint32_t> types) const;
  /// Returns a DataError unless the pass is one of this model and plan.
  [[nodiscard]] Status CheckPass(const Pass& pass) const;

  /// Runs one pass of at most max_length() tokens in all. `output` and `report` are used again:
  /// once their vectors have grown, a run allocates nothing. After an error the next run starts
  /// afresh; one of Source::kInput is about this pass alone: a logit of it is not finite.
  [[nodiscard]] Status Run(const Pass& pass, const RunTerms& terms, PassOutput* output,
                           RunReport* report);
  /// Runs one sequence of token ids to its logits.
  [[nodiscard]] Status Run(std::span<const uint32_t> ids, std::span<const uint32_t> types,
                           const RunTerms& terms, RunResult* result);
  Result<RunResult> Run(std::span<const uint32_t> ids, std::span<const uint32_t> types);

  /// Begins a run for a caller that takes its steps itself: Embed, Layers in as many pieces as it
  /// likes, Finish, then End. The run, `pass`, `output` and `report` are in use until End, or until
  /// any other call, which ends the run early.
  Result<sti::Run*> Begin(const Pass& pass, const RunTerms& terms, PassOutput* output,
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
  [[nodiscard]] Status FinishReads() { return loader_.Finish(); }
  /// Returns whether no read is in flight: closing waits for nothing.
  [[nodiscard]] bool Settled() { return loader_.CanSettleAll(); }
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
  [[nodiscard]] Status ResizePreload(std::optional<uint64_t> bytes);
  /// Lets the buffer hold what the plan says again, without waiting for reads: what is missing
  /// comes with the runs.
  void EndResize();
  /// Goes on under another plan for the same model, for another target, buffer or device. Shards
  /// that both plans preload stay in memory. A plan that does not fit, or whose shards cannot be
  /// read, leaves the old one and its engagement in force; so does one that is interrupted. Then
  /// the old one's fallbacks are in memory as before, and what else it preloads comes with its next
  /// run. `staging_bytes`: as PipelineOptions has them, from now on; nothing: as before.
  [[nodiscard]] Status SetPlan(Plan plan, std::optional<uint64_t> staging_bytes = {});
  /// Goes on under the variants for another clock, as PipelineOptions::clock_khz. Returns whether
  /// they are others than before; then this is as SetPlan with the same plan.
  [[nodiscard]] Result<bool> SetClock(uint64_t clock_khz);

  [[nodiscard]] const Plan& plan() const { return force_->plan; }
  /// Returns the plan or variant that an input of so many tokens runs under: the shortest that
  /// holds it, the longest for what none holds. It is plan() or one of its variants.
  [[nodiscard]] const Plan& PlanFor(size_t tokens) const {
    return PlanOf(plan(), force_->RouteFor(tokens));
  }
  /// Returns the most tokens of an input.
  [[nodiscard]] uint32_t max_length() const { return force_->max_length(); }
  [[nodiscard]] const ContainerFile& file() const { return file_; }
  [[nodiscard]] const ContainerIndex& index() const { return file_.index(); }
  [[nodiscard]] BlockReader& reader() { return file_.reader(); }
  [[nodiscard]] ReadPath read_path() { return file_.reader().path(); }
  [[nodiscard]] Kernel kernel() const { return transformer_->kernel(); }
  /// Returns the bytes that shards which stay occupy, as read, and embedding rows which do.
  [[nodiscard]] uint64_t preload_bytes() const {
    return loader_.buffer().bytes() + run_->rows().preload_bytes() + held_row_bytes();
  }
  /// Returns the bytes of the arena that streamed shards land in.
  [[nodiscard]] uint64_t staging_bytes() const { return loader_.arena().size(); }
  [[nodiscard]] uint64_t resident_bytes() const { return resident_.bytes(); }
  /// Returns why some memory is not locked that was to be; no error if all is.
  [[nodiscard]] const Status& lock_refusal() const {
    return lock_refusal_.ok() ? loader_.lock_refusal() : lock_refusal_;
  }
  /// Returns the bytes that runs work in.
  [[nodiscard]] uint64_t working_bytes() const {
    return transformer_->working_bytes() + run_->working_bytes();
  }
  /// Returns the schedule that the last run read by; valid until the next call.
  [[nodiscard]] const LoadSchedule& last_schedule() const { return *loader_.schedule(); }
  /// Returns the same, to be held beyond the next call.
  [[nodiscard]] std::shared_ptr<const LoadSchedule> hold_schedule() const {
    return loader_.schedule();
  }
  [[nodiscard]] LaneState lane_state() const { return loader_.state(); }
  /// Compares measured times with the plan's.
  [[nodiscard]] DriftWatch& drift() { return drift_; }
  /// Lets runs tell how long decoding takes, which costs a little.
  void MeterDecoding(bool on) { transformer_->MeterDecoding(on); }

 private:
  Pipeline(ContainerFile file, const PipelineOptions& options, bool lazy);
  [[nodiscard]] Status MakeReady(Plan plan);
  /// All that a change of plan exchanges.
  struct Before {
    std::unique_ptr<PlanInForce> force;
    Loader::Places places;
    std::vector<uint32_t> layers;  ///< whose parameters were in memory
    bool resting = false;
  };
  [[nodiscard]] Status GoOnUnder(std::unique_ptr<PlanInForce> next, uint64_t most_staging);
  void GoBackTo(Before before);
  void ReserveWork();
  void ReleaseWork();
  void LimitBuffer();
  void LockWork();
  [[nodiscard]] std::span<const uint32_t> PreloadedWords() const;
  [[nodiscard]] uint64_t held_row_bytes() const {
    return force_->held_rows ? force_->held_rows->bytes() : 0;
  }
  [[nodiscard]] Status ReadResidents();
  [[nodiscard]] Status MakeRoom();
  void BeginTurnsAnew();

  [[nodiscard]] Status CheckTokens(const TokenInput& input) const;
  [[nodiscard]] Status CheckTerms(const RunTerms& terms, RouteId route, size_t tokens) const;
  [[nodiscard]] Status CheckKeep(std::span<const ShardAtBits> keep) const;

  [[nodiscard]] LaneJob JobFor(RouteId route, const RunTerms& terms);
  [[nodiscard]] LaneJob JobAhead(RouteId route);
  [[nodiscard]] Result<bool> StartReads(RouteId route, const RunTerms& terms, RowsCome rows_come,
                                        bool may_do_without);
  [[nodiscard]] Status LoadAllAhead();
  [[nodiscard]] Status LoadAhead(Route& route, const LaneJob& job);
  [[nodiscard]] Status LoadFallback(Guarantee& guarantee);
  [[nodiscard]] Status HoldRows();
  [[nodiscard]] Status LoadRowsAhead();
  void CompareWithPlan(const RunReport& report);
  [[nodiscard]] Status RefitArena();
  [[nodiscard]] double ShareRead(const RunReport& report) const;

  PipelineOptions options_;
  std::unique_ptr<ThreadPool> own_cores_;
  ContainerFile file_;
  ResidentModel resident_;
  std::unique_ptr<Transformer> transformer_;
  std::unique_ptr<PlanInForce> force_;
  DriftWatch drift_;
  std::optional<uint64_t> preload_limit_;  ///< of ResizePreload
  std::vector<uint32_t> words_before_;     ///< whose rows stay while another plan is tried
  bool resting_ = false;
  /// Whether the arena is to be made anew: once a run has loaded what a change has cost, through a
  /// larger one, or now.
  enum class Refit : uint8_t { kNo, kAfterRun, kNow };
  Refit refit_ = Refit::kNo;
  Status lock_refusal_;  ///< of the working memory
  std::optional<sti::Run> run_;
  /// Blocks that rows which guarantees need are read into, and what is read.
  struct RowLanding {
    EmbeddingReads reads;
    AlignedBuffer blocks;
  };
  std::shared_ptr<RowLanding> landing_;  ///< null: none are
  Loader loader_;                        ///< last: its lane stops before what it reads into goes
};

}  // namespace sti
