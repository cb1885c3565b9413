// Measures one chunk of examples at a time: the base, raised shards, submodels.
//
// Evaluations share what they have in common, which gives the bits of plain evaluations with far
// fewer operations. Computed once are layers below a raised one, for all shards above them, and in
// the raised layer queries, keys, values and attention of all slices but the raised one. The last
// layer computes nothing but the rows that the head looks at: of most the first tokens. What
// remains is mostly layers above the raised one, whose every number differs.
//
// Two further ideas save nothing and are left out. Stopping early where accuracy can no longer
// change the ranking: of 144 scores on 872 examples many differ by one example or none, so ties
// stay open to the last chunk (docs/measured/importance.md, "What was tried and saves nothing").
// Skipping what a raised shard leaves unchanged bit for bit: there is no such sequence in a trained
// model.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "base/log.h"
#include "base/result.h"
#include "importance/activation_room.h"
#include "importance/chunk_judge.h"
#include "importance/layer_runner.h"
#include "importance/tally.h"
#include "importance/work_list.h"

namespace sti {

/// Measures one chunk after another. One thread at a time.
class ChunkMeter {
 public:
  ChunkMeter(LayerRunner& runner, ActivationRoom& room, ChunkJudge judge, CancelCheck cancelled);

  /// Takes the chunk that later calls are about, which outlives them, and runs the base.
  [[nodiscard]] Status Begin(const ExampleBatch& chunk);
  /// Adds the chunk's outcomes with every shard at its fewest bits to `tally`.
  void TallyBase(Tally* tally) const;

  /// Raises slices [first, end) of a layer, each to each of `bits`: `tallies` [slices, bits].
  [[nodiscard]] Status Raise(uint32_t layer, uint32_t first, uint32_t end,
                             std::span<const uint32_t> bits, Tally* tallies);

  /// Runs the submodels of a sweep, and adds their outcomes to `cells`, [SubmodelPlan::cells].
  [[nodiscard]] Status RunSweep(const SubmodelSweep& sweep, Tally* cells);

 private:
  struct Raised {
    uint32_t slice;
    uint32_t bits;
    Tally* tally;
  };
  [[nodiscard]] Status CheckCancelled() const;
  [[nodiscard]] std::vector<ShardView> Low(uint32_t layer) const;
  [[nodiscard]] Status RunAll(uint32_t bits, bool keep_inputs);
  [[nodiscard]] Result<const float*> BaseInput(size_t range, uint32_t layer);
  [[nodiscard]] Status RaiseGroup(size_t range, uint32_t layer, const float* input,
                                  std::span<const Raised> group);
  void RaiseOne(const Batch& batch, uint32_t layer, const float* input, const Raised& raised,
                float* out);
  [[nodiscard]] Status SweepRange(size_t range, const SubmodelSweep& sweep, Tally* cells);
  void WantedOf(const Batch& batch, const SubmodelSweep& sweep, const SubmodelSweep::Depth& depth,
                const float* hidden);
  /// Judges a range's `values` [results, values], and has each outcome taken in turn.
  [[nodiscard]] Status JudgeRange(const SequenceRange& range, const float* values,
                                  FunctionRef<void(const Outcome&)> take) const;
  [[nodiscard]] Status Score(const SequenceRange& range, const float* values, Tally* tally) const;
  [[nodiscard]] uint32_t last() const { return runner_.shape().layers - 1; }

  LayerRunner& runner_;
  ActivationRoom& room_;
  ChunkJudge judge_;
  CancelCheck cancelled_;
  uint32_t low_;
  const ExampleBatch* chunk_ = nullptr;
  std::vector<SequenceRange> ranges_;
  std::vector<Outcome> base_;  // [examples]
  // The range and the layer whose input room_.base holds.
  size_t base_range_ = SIZE_MAX;
  uint32_t base_layer_ = 0;
  // The range and the layer whose contexts room_.contexts holds.
  size_t context_range_ = SIZE_MAX;
  uint32_t context_layer_ = 0;
};

}  // namespace sti
