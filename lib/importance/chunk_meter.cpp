#include "importance/chunk_meter.h"

#include <algorithm>

namespace sti {

ChunkMeter::ChunkMeter(LayerRunner& runner, ActivationRoom& room, ChunkJudge judge,
                       CancelCheck cancelled)
    : runner_(runner),
      room_(room),
      judge_(std::move(judge)),
      cancelled_(std::move(cancelled)),
      low_(runner.index().bits.front()) {}

Status ChunkMeter::CheckCancelled() const {
  if (cancelled_ && cancelled_()) return CancelledError();
  return {};
}

std::vector<ShardView> ChunkMeter::Low(uint32_t layer) const {
  return runner_.Views(layer, runner_.shape().width, low_);
}

Status ChunkMeter::Begin(const ExampleBatch& chunk) {
  chunk_ = &chunk;
  ranges_ = room_.Split(chunk);
  base_range_ = SIZE_MAX;
  context_range_ = SIZE_MAX;
  judge_.Begin(chunk);
  base_.clear();
  if (judge_.needs_reference()) STI_RETURN_IF_ERROR(RunAll(runner_.index().bits.back(), false));
  return RunAll(low_, true);
}

// The whole model at one bitwidth: the full model gives the reference, the base outcomes and, if
// there is room for them, inputs of all layers.
Status ChunkMeter::RunAll(uint32_t bits, bool keep_inputs) {
  const ModelShape& shape = runner_.shape();
  for (const SequenceRange& range : ranges_) {
    STI_RETURN_IF_ERROR(CheckCancelled());
    const std::vector<uint32_t> offsets = OffsetsOf(*chunk_, range, 1);
    const size_t begin = size_t{chunk_->offsets[range.first]} * shape.hidden;
    float* hidden = room_.hidden.data();
    STI_RETURN_IF_ERROR(runner_.Embed(*chunk_, range, hidden));
    for (uint32_t layer = 0; layer < shape.layers; ++layer) {
      if (keep_inputs && !room_.inputs.empty()) {
        std::copy_n(hidden, size_t{offsets.back()} * shape.hidden, &room_.inputs[layer][begin]);
      }
      const std::vector<ShardView> views = runner_.Views(layer, shape.width, bits);
      if (layer < last()) {
        runner_.Layer({offsets}, layer, views, hidden);
      } else {
        runner_.LastLayer({offsets}, layer, views, hidden, room_.last_context.data(),
                          room_.wanted.data());
      }
    }
    runner_.Head({offsets}, room_.wanted.data(), room_.values.data());
    if (!keep_inputs) {
      judge_.AddReference({room_.values.data(), runner_.ValuesOf({offsets})});
      continue;
    }
    STI_RETURN_IF_ERROR(JudgeRange(range, room_.values.data(),
                                   [this](const Outcome& outcome) { base_.push_back(outcome); }));
  }
  return {};
}

void ChunkMeter::TallyBase(Tally* tally) const {
  for (const Outcome& outcome : base_) AddOutcome(*tally, outcome, outcome);
}

// The input of a layer as it was kept, or computed from the last one that was asked for: work goes
// up through the layers.
Result<const float*> ChunkMeter::BaseInput(size_t range, uint32_t layer) {
  const SequenceRange& sequences = ranges_[range];
  if (!room_.inputs.empty()) {
    const size_t begin = size_t{chunk_->offsets[sequences.first]} * runner_.shape().hidden;
    return static_cast<const float*>(&room_.inputs[layer][begin]);
  }
  float* base = room_.base.data();
  if (base_range_ != range || base_layer_ > layer) {
    STI_RETURN_IF_ERROR(runner_.Embed(*chunk_, sequences, base));
    base_range_ = range;
    base_layer_ = 0;
  }
  const std::vector<uint32_t> offsets = OffsetsOf(*chunk_, sequences, 1);
  for (; base_layer_ < layer; ++base_layer_) {
    runner_.Layer({offsets}, base_layer_, Low(base_layer_), base);
  }
  return static_cast<const float*>(base);
}

Status ChunkMeter::Raise(uint32_t layer, uint32_t first, uint32_t end,
                         std::span<const uint32_t> bits, Tally* tallies) {
  std::vector<Raised> all;
  all.reserve((end - first) * bits.size());
  for (uint32_t slice = first; slice < end; ++slice) {
    for (const uint32_t k : bits) all.push_back({slice, k, tallies + all.size()});
  }
  const OutputRows rows = runner_.RowsOf(layer);
  for (size_t range = 0; range < ranges_.size(); ++range) {
    const std::vector<uint32_t> offsets = OffsetsOf(*chunk_, ranges_[range], 1);
    STI_ASSIGN_OR_RETURN(const float* input, BaseInput(range, layer));
    if (context_range_ != range || context_layer_ != layer) {
      runner_.Context({offsets}, layer, 0, Low(layer), input, rows, room_.contexts.data());
      context_range_ = range;
      context_layer_ = layer;
    }
    const size_t group = std::max(room_.rows() / offsets.back(), 1U);
    for (size_t at = 0; at < all.size(); at += group) {
      STI_RETURN_IF_ERROR(CheckCancelled());
      const std::span<const Raised> some =
          std::span<const Raised>(all).subspan(at, std::min(group, all.size() - at));
      STI_RETURN_IF_ERROR(RaiseGroup(range, layer, input, some));
    }
  }
  return {};
}

// The raised layer of one shard: `out` has its rows, or in the last layer those that the head
// wants.
void ChunkMeter::RaiseOne(const Batch& batch, uint32_t layer, const float* input,
                          const Raised& raised, float* out) {
  const ModelShape& shape = runner_.shape();
  const OutputRows rows = runner_.RowsOf(layer);
  std::vector<ShardView> views = Low(layer);
  views[raised.slice] = runner_.View(layer, raised.slice, raised.bits);
  std::vector<ContextRef> contexts = ContextsOf(room_.contexts.data(), shape, views.size());
  contexts[raised.slice] = {room_.own_context.data(), shape.head_dim()};
  runner_.Context(batch, layer, raised.slice, {&views[raised.slice], 1}, input, rows,
                  room_.own_context.data());
  CopyRows(batch, rows, shape.hidden, input, out);
  runner_.Finish(batch.Count(rows), layer, views, contexts, out);
}

// Layers above the raised one take all shards of the group as one batch: their weights are the
// same.
Status ChunkMeter::RaiseGroup(size_t range, uint32_t layer, const float* input,
                              std::span<const Raised> group) {
  const ModelShape& shape = runner_.shape();
  const SequenceRange& sequences = ranges_[range];
  const std::vector<uint32_t> one = OffsetsOf(*chunk_, sequences, 1);
  const std::vector<uint32_t> all =
      OffsetsOf(*chunk_, sequences, static_cast<uint32_t>(group.size()));
  const bool top = layer == last();
  float* out = top ? room_.wanted.data() : room_.hidden.data();
  for (const Raised& raised : group) {
    RaiseOne({one}, layer, input, raised, out);
    out += size_t{Batch{one}.Count(runner_.RowsOf(layer))} * shape.hidden;
  }
  for (uint32_t above = layer + 1; above < last(); ++above) {
    runner_.Layer({all}, above, Low(above), room_.hidden.data());
  }
  if (!top) {
    runner_.LastLayer({all}, last(), Low(last()), room_.hidden.data(), room_.last_context.data(),
                      room_.wanted.data());
  }
  runner_.Head({all}, room_.wanted.data(), room_.values.data());
  const float* values = room_.values.data();
  for (const Raised& raised : group) {
    STI_RETURN_IF_ERROR(Score(sequences, values, raised.tally));
    values += runner_.ValuesOf({one});
  }
  return {};
}

Status ChunkMeter::JudgeRange(const SequenceRange& range, const float* values,
                              FunctionRef<void(const Outcome&)> take) const {
  const uint32_t each = chunk_->sequences_each();
  for (uint32_t e = range.first / each; e < (range.first + range.count) / each; ++e) {
    const size_t numbers = size_t{chunk_->ResultsOf(e).count} * runner_.head_values();
    STI_ASSIGN_OR_RETURN(const Outcome outcome, judge_.Of(e, {values, numbers}));
    take(outcome);
    values += numbers;
  }
  return {};
}

Status ChunkMeter::Score(const SequenceRange& range, const float* values, Tally* tally) const {
  const Outcome* base = &base_[range.first / chunk_->sequences_each()];
  return JudgeRange(range, values,
                    [&](const Outcome& outcome) { AddOutcome(*tally, outcome, *base++); });
}

Status ChunkMeter::RunSweep(const SubmodelSweep& sweep, Tally* cells) {
  for (size_t range = 0; range < ranges_.size(); ++range) {
    STI_RETURN_IF_ERROR(CheckCancelled());
    STI_RETURN_IF_ERROR(SweepRange(range, sweep, cells));
  }
  return {};
}

// Each depth goes on from where it parts from the one before; where a later one will part is kept.
Status ChunkMeter::SweepRange(size_t range, const SubmodelSweep& sweep, Tally* cells) {
  const SequenceRange& sequences = ranges_[range];
  const std::vector<uint32_t> offsets = OffsetsOf(*chunk_, sequences, 1);
  const size_t floats = size_t{offsets.back()} * runner_.shape().hidden;
  float* hidden = room_.hidden.data();
  std::vector<size_t> kept;  // ascending; room_.branches[i] is after the first kept[i] layers
  const auto keep = [&](size_t layers) {
    if (!sweep.BranchesAt(layers)) return;
    std::copy_n(hidden, floats, room_.branches[kept.size()].data());
    kept.push_back(layers);
  };
  STI_RETURN_IF_ERROR(runner_.Embed(*chunk_, sequences, hidden));
  keep(0);
  size_t at = 0;
  for (const SubmodelSweep::Depth& depth : sweep.depths) {
    if (at != depth.shared) {
      while (kept.back() > depth.shared) kept.pop_back();
      std::copy_n(room_.branches[kept.size() - 1].data(), floats, hidden);
    }
    const size_t whole = depth.layers.size() - (depth.leaf ? 1 : 0);
    for (at = depth.shared; at < whole; ++at) {
      const uint32_t layer = depth.layers[at];
      runner_.Layer({offsets}, layer, runner_.Views(layer, sweep.width, sweep.bits), hidden);
      keep(at + 1);
    }
    WantedOf({offsets}, sweep, depth, hidden);
    runner_.Head({offsets}, room_.wanted.data(), room_.values.data());
    STI_RETURN_IF_ERROR(Score(sequences, room_.values.data(), &cells[depth.cell]));
  }
  return {};
}

// A last layer that no other depth goes through is computed for the rows that the head wants.
void ChunkMeter::WantedOf(const Batch& batch, const SubmodelSweep& sweep,
                          const SubmodelSweep::Depth& depth, const float* hidden) {
  if (!depth.leaf) {
    return CopyRows(batch, runner_.head_rows(), runner_.shape().hidden, hidden,
                    room_.wanted.data());
  }
  const uint32_t layer = depth.layers.back();
  runner_.LastLayer(batch, layer, runner_.Views(layer, sweep.width, sweep.bits), hidden,
                    room_.last_context.data(), room_.wanted.data());
}

}  // namespace sti
