// The core of a pipeline: what runs compute with, what stays in memory, and the changes between
// runs. Engagement decides what a run computes with and what stays, Loader brings it into memory,
// PassRun computes, and PipelineCore puts the three together. Its public methods are those of
// Pipeline (pipeline/pipeline.h), which says what they do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/interrupt.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "io/container_file.h"
#include "model/resident_model.h"
#include "model/transformer.h"
#include "pipeline/core/plan_in_force.h"
#include "pipeline/core/run.h"
#include "pipeline/drift.h"
#include "pipeline/lane/loader.h"
#include "pipeline/pass.h"
#include "pipeline/pipeline.h"
#include "pipeline/run_result.h"
#include "types/plan.h"

namespace sti {

/// One model under one plan and its variants. One thread at a time.
class PipelineCore {
 public:
  static Result<std::unique_ptr<PipelineCore>> Create(ContainerFile&& file, Plan plan,
                                                      const PipelineOptions& options);
  static ContainerFile Close(std::unique_ptr<PipelineCore> core);
  ~PipelineCore();
  PipelineCore(const PipelineCore&) = delete;
  PipelineCore& operator=(const PipelineCore&) = delete;

  [[nodiscard]] Status Check(const Pass& pass) const;
  [[nodiscard]] Status Run(const Pass& pass, const RunTerms& terms, PassOutput* output,
                           RunReport* report);
  Result<PassRun*> Begin(const Pass& pass, const RunTerms& terms, PassOutput* output,
                         RunReport* report);
  [[nodiscard]] Status End(Status status);
  void EndInput();
  [[nodiscard]] bool HasTimeFor(RouteId route, const RunTerms& terms);

  [[nodiscard]] Status Wake(bool may_degrade);
  [[nodiscard]] Status LoadAhead();
  [[nodiscard]] Status FinishReads() { return loader_.Finish(); }
  [[nodiscard]] Status Rest();
  [[nodiscard]] Status EndTurns();
  [[nodiscard]] Status ResizePreload(std::optional<uint64_t> bytes, Refill refill);
  [[nodiscard]] Status SetPlan(Plan plan, std::optional<uint64_t> staging_bytes);
  [[nodiscard]] Result<bool> SetClock(uint64_t clock_khz);

  [[nodiscard]] const Plan& plan() const { return force_->plan; }
  [[nodiscard]] const PlanCore& PlanFor(size_t tokens) const {
    return PlanOf(plan(), force_->RouteFor(tokens));
  }
  [[nodiscard]] const PipelineStatus& status();
  [[nodiscard]] DriftWatch& drift() { return drift_; }

 private:
  PipelineCore(ContainerFile file, const PipelineOptions& options, bool lazy);
  [[nodiscard]] const ContainerIndex& index() const { return file_.index(); }
  [[nodiscard]] uint32_t max_length() const { return force_->max_length(); }
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
  void ForgetWordsUnlessKept();
  void LimitBuffer();
  void LockWork();
  [[nodiscard]] std::span<const uint32_t> PreloadedWords() const;
  [[nodiscard]] uint64_t held_row_bytes() const {
    return force_->held_rows ? force_->held_rows->bytes() : 0;
  }
  [[nodiscard]] Status ReadResidents();
  [[nodiscard]] Status MakeRoom();
  void BeginTurnsAnew();

  [[nodiscard]] Status CheckExtent(std::span<const uint32_t> offsets, size_t tokens) const;
  [[nodiscard]] Status CheckImages(const ImageInput& input,
                                   std::span<const uint32_t> offsets) const;
  [[nodiscard]] Status CheckTokens(const TokenInput& input) const;
  [[nodiscard]] Status CheckPlace(const Pass& pass, size_t tokens) const;
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
  PipelineStatus status_;
  std::optional<PassRun> run_;
  /// Blocks that rows which guarantees need are read into, and what is read.
  struct RowLanding {
    EmbeddingReads reads;
    AlignedBuffer blocks;
  };
  std::shared_ptr<RowLanding> landing_;  ///< null: none are
  Loader loader_;                        ///< last: its lane stops before what it reads into goes
};

}  // namespace sti
