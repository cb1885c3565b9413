#include "importance/work_list.h"

#include <algorithm>

#include "importance/wide_sum.h"

namespace sti {

WorkList::WorkList(WorkShape shape, std::vector<BatchSize> chunks)
    : shape_(std::move(shape)), chunks_(std::move(chunks)) {}

uint64_t WorkList::UnitFlops(const BatchSize& chunk, uint64_t unit) const {
  const ModelShape& model = shape_.model;
  const uint64_t whole = LayerFlops(model, chunk, model.width, OutputRows::kAll);
  const uint64_t last = LayerFlops(model, chunk, model.width, shape_.head_rows);
  const uint64_t head = HeadFlops(model, chunk.Count(shape_.head_rows));
  if (unit == 0) return ((model.layers - 1) * whole + last + head) * (shape_.reference ? 2 : 1);
  if (unit > shards()) {
    return SweepFlops(model, shape_.head_rows, chunk, shape_.submodels.sweeps[unit - 1 - shards()]);
  }
  const uint64_t layer = (unit - 1) / model.width;
  const uint64_t slice = (unit - 1) % model.width;
  const bool top = layer + 1 == model.layers;
  const OutputRows rows = top ? shape_.head_rows : OutputRows::kAll;
  uint64_t flops =
      ContextFlops(model, chunk, 1, rows) + FinishFlops(model, chunk.Count(rows), model.width);
  if (!top) flops += (model.layers - 2 - layer) * whole + last;
  flops = (flops + head) * shape_.raised_bits.size();
  // The first slice of a layer stands for what all share.
  return slice == 0 ? flops + ContextFlops(model, chunk, model.width, rows) : flops;
}

uint64_t WorkList::PlainUnitFlops(const BatchSize& chunk, uint64_t unit) const {
  const ModelShape& model = shape_.model;
  if (unit == 0) return 0;
  if (unit > shards()) {
    return PlainSweepFlops(model, shape_.head_rows, chunk,
                           shape_.submodels.sweeps[unit - 1 - shards()]);
  }
  return shape_.raised_bits.size() *
         EvaluationFlops(model, shape_.head_rows, chunk, model.layers, model.width);
}

uint64_t WorkList::Flops(UnitRange range) const {
  uint64_t flops = 0;
  for (uint64_t unit = range.begin; unit < range.end; ++unit) {
    flops += UnitFlops(chunks_[unit / units_per_chunk()], unit % units_per_chunk());
  }
  return flops;
}

uint64_t WorkList::PlainFlops(UnitRange range, std::span<const BatchSize> chunks) const {
  uint64_t flops = 0;
  for (uint64_t unit = range.begin; unit < range.end; ++unit) {
    flops += PlainUnitFlops(chunks[unit / units_per_chunk()], unit % units_per_chunk());
  }
  return flops;
}

UnitRange WorkList::Part(uint64_t part, uint64_t parts) const {
  const uint64_t count = units();
  if (parts >= count) {
    const auto cut = [&](uint64_t at) {
      return static_cast<uint64_t>(Uint128{at} * count / parts);
    };
    return {cut(part - 1), cut(part)};
  }
  const Uint128 total = Flops({0, count});
  UnitRange range;
  uint64_t unit = 0;
  Uint128 before = 0;  // cost of the units before `unit`
  for (uint64_t p = 1; p <= part; ++p) {
    range.begin = unit;
    // At least one unit, and one left for each part to come.
    const uint64_t most = count - (parts - p);
    do {
      before += UnitFlops(chunks_[unit / units_per_chunk()], unit % units_per_chunk());
      ++unit;
    } while (unit < most && before * parts < total * p);
    if (p == parts) unit = count;
    range.end = unit;
  }
  return range;
}

}  // namespace sti
