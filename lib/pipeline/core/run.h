// One pass on one route, from its input to its output: the compute lane. A run has a clock, the
// terms it is to be answered on, the moments by which its layers must start, the embedding rows
// that it reads, and an account of its reads. It waits for each layer's shards, which the loader
// brings, and computes with them.
//
// The steps are Embed, Layers and Finish. A caller that computes between them, or hands the hidden
// rows on, calls Layers piece by piece: a pass that is cut has the bits of the whole.
//
// A degraded run under a plan with a fallback *gives up* on IO when what it needs next has not come
// by the last moment at which the fallback is in time, or when a read fails: from there on it waits
// for no read, and computes with what lies in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/clock.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "io/container_file.h"
#include "model/held_rows.h"
#include "model/key_value_cache.h"
#include "model/resident_model.h"
#include "model/row_store.h"
#include "model/transformer.h"
#include "pipeline/lane/guarantee.h"
#include "pipeline/lane/io_lane.h"
#include "pipeline/lane/loader.h"
#include "pipeline/lane/route.h"
#include "pipeline/pass.h"
#include "pipeline/pipeline.h"
#include "pipeline/run_result.h"
#include "types/plan.h"

namespace sti {

/// A pipeline has one run and begins it again for each pass, so that passes allocate nothing. One
/// thread at a time.
class PassRun final : public RunSteps {
 public:
  /// `file`, `resident` and `transformer` outlive the run. `loader` ends before it, because its
  /// lane reads into the run's memory.
  /// Unless it `keeps_rows`, each pass reads all of its embedding rows.
  PassRun(ContainerFile& file, const ResidentModel& resident, Transformer& transformer,
          Loader& loader, bool keeps_rows);

  /// Makes room for passes of this extent, and for the keys and values of its context; without
  /// texts for none of their rows. `touch`: as RowStore::Reserve. A sequence that was continued is
  /// forgotten.
  void Reserve(const PlanExtent& extent, bool touch = true);
  /// Gives the room back, until Reserve.
  void Release();
  /// Returns the bytes of that room.
  [[nodiscard]] uint64_t working_bytes() const {
    return rows_->room() + hidden_buffer_.size() + cache_.bytes();
  }
  /// Visits that room.
  void VisitMemory(FunctionRef<void(AlignedBuffer&)> visit);

  /// Returns the embedding rows that stay between passes.
  [[nodiscard]] RowStore& rows() { return *rows_; }
  [[nodiscard]] const RowStore& rows() const { return *rows_; }

  /// Begins a run on `route`, whose reads the loader has begun on these terms. Its times count from
  /// `began`. `output` and `report` receive what it gives and takes, until End.
  void Begin(Route& route, const RunTerms& terms, Clock::time_point began, PassOutput* output,
             RunReport* report);
  /// Lets the run that has begun give up. The guarantee, that of the route, and the rows that it
  /// holds outlive the run.
  void LetGiveUp(Guarantee& guarantee, const HeldRows& held_rows);
  /// Has a run that may give up do so at once and leave the lane alone: no reads were begun for it.
  void GoWithoutReads() { has_lane_ = false; }
  /// Leaves the memory that embedding rows are read into, with all that reads of them refer to, to
  /// the caller, and makes other.
  [[nodiscard]] std::shared_ptr<void> LeaveRowMemory();

  /// `pass` is sound and within the room.
  [[nodiscard]] Status Embed(const Pass& pass) override;
  [[nodiscard]] Status Layers(uint32_t first, uint32_t last) override;
  [[nodiscard]] Status Finish() override;
  /// Ends the run, well or not: no more reads are begun, and the report is complete.
  void End(bool well);

  [[nodiscard]] uint32_t layers() const override { return route_->layers(); }
  [[nodiscard]] const Route& route() const { return *route_; }
  [[nodiscard]] const RunTerms& terms() const { return terms_; }
  [[nodiscard]] const RunReport& report() const { return *report_; }
  /// Returns whether the lane reads for the run.
  [[nodiscard]] bool has_lane() const { return has_lane_; }
  /// Returns how many tokens of a sequence are there that a pass may continue.
  [[nodiscard]] uint32_t kept_tokens() const { return cache_.count(); }
  /// Returns the tokens of the pass, all sequences together.
  [[nodiscard]] uint32_t tokens() const { return tokens_; }

 private:
  [[nodiscard]] bool degrades() const { return terms_.degrade_for_us.has_value(); }
  [[nodiscard]] Status EmbedTokens(const TokenInput& input);
  [[nodiscard]] Status EmbedImages(const ImageInput& input);
  [[nodiscard]] uint32_t Positions() const;
  [[nodiscard]] Status SumTableRows(const TokenInput& input);
  [[nodiscard]] Status AwaitReads();
  [[nodiscard]] Status ComputeLayer(uint32_t k);
  [[nodiscard]] Status WaitForLayer(uint32_t k);
  [[nodiscard]] Status ComputePlanned(uint32_t k, double waiting);
  /// Holds what a layer of a run is computed from, whether as planned or by a fallback.
  struct ShardSupply {
    Route& route;
    std::span<const PartSet> arrived;      ///< of each request of the layer
    std::span<const uint8_t> arena;        ///< that they have arrived in
    std::vector<DegradedShard>* degraded;  ///< receives shards that have fewer bits than planned
  };
  /// Views the k-th layer of the supply's route, computes it and adds its trace to the report.
  [[nodiscard]] Status ComputeFrom(const ShardSupply& supply, uint32_t k);
  [[nodiscard]] Status ComputeWords();
  [[nodiscard]] Result<bool> RowsCome();
  [[nodiscard]] Result<bool> LayerComes(uint32_t k);
  [[nodiscard]] bool HasAllFrom(uint32_t k);
  [[nodiscard]] Result<bool> FalseIfReadFailed(Result<bool> came);
  [[nodiscard]] Status FallBackBeforeRows();
  [[nodiscard]] Status FallBackAfter(uint32_t done);
  void GiveUp(uint32_t done);
  void SumRowsAtHand();
  [[nodiscard]] const uint8_t* RowAtHand(const RowTable& table, uint32_t row) const;
  void NoteNoReads();
  [[nodiscard]] Status ComputeFallback(size_t first);
  void BeginDegraded();
  void SetStartTimes();
  void ReportReads();
  [[nodiscard]] Batch batch() const { return {offsets_}; }
  /// Returns the rows that the head wants of the last layer.
  [[nodiscard]] OutputRows head_rows() const { return file_.index().info.head.rows(); }
  /// Returns the memory where layers add what tokens receive; null: nobody wants it.
  [[nodiscard]] float* attention() {
    return output_->wants_attention ? output_->attention.data() : nullptr;
  }
  [[nodiscard]] double Now() const { return MicrosecondsBetween(began_, Clock::now()); }
  [[nodiscard]] double SinceTaken() const { return MicrosecondsBetween(taken_, Clock::now()); }

  ContainerFile& file_;
  const ResidentModel& resident_;
  Transformer& transformer_;
  Loader& loader_;

  Route* route_ = nullptr;
  RunTerms terms_;
  Clock::time_point began_;
  Clock::time_point taken_;
  PassOutput* output_ = nullptr;
  RunReport* report_ = nullptr;
  uint32_t tokens_ = 0;
  std::optional<uint32_t> first_position_;  ///< of the pass
  uint32_t next_layer_ = 0;
  bool has_rows_ = false;    ///< all embedding rows of the pass have been read
  double planned_rate_ = 0;  ///< bytes a microsecond that the plan counts on; 0: not known
  std::vector<Clock::time_point> start_by_;  ///< [groups] to be computed in time
  IoReport io_;
  std::vector<uint32_t> offsets_;  ///< [sequences + 1] of the rows in `hidden_`
  std::shared_ptr<RowStore> rows_;
  std::vector<bool> rows_arrived_;       ///< [ranges] of rows, when the run gave up
  TokenInput tokens_in_;                 ///< of the pass at hand
  Guarantee* guarantee_ = nullptr;       ///< null: the run does not give up
  const HeldRows* held_rows_ = nullptr;  ///< where it may
  bool has_lane_ = true;
  bool reads_failed_ = false;
  AlignedBuffer hidden_buffer_;
  std::span<float> hidden_;  ///< [tokens, hidden] in it
  KeyValueCache cache_;      ///< of the sequence that passes continue
};

}  // namespace sti
