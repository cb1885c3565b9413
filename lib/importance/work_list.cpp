#include "importance/work_list.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "importance/tally.h"

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

namespace {

using Depth = SubmodelSweep::Depth;

// All depths that were trained, in order, with what they share.
std::vector<Depth> DepthsOf(const ModelInfo& info) {
  std::vector<Depth> depths;
  depths.reserve(info.depth_layers.size());
  for (const std::vector<uint32_t>& layers : info.depth_layers) {
    if (layers.size() >= info.min_depth) depths.push_back({.layers = layers});
  }
  std::sort(depths.begin(), depths.end(),
            [](const Depth& a, const Depth& b) { return a.layers < b.layers; });
  for (size_t i = 1; i < depths.size(); ++i) {
    const std::vector<uint32_t>& layers = depths[i].layers;
    const std::vector<uint32_t>& before = depths[i - 1].layers;
    const auto differs = std::mismatch(layers.begin(), layers.end(), before.begin(), before.end());
    depths[i].shared = static_cast<size_t>(differs.first - layers.begin());
    depths[i - 1].leaf = depths[i].shared < before.size();
  }
  return depths;
}

// As the file has them.
void NumberCells(SubmodelPlan* plan) {
  for (const SubmodelSweep& sweep : plan->sweeps) {
    for (const Depth& depth : sweep.depths) {
      plan->cells.push_back({static_cast<uint32_t>(depth.layers.size()), sweep.width, sweep.bits});
    }
  }
  const auto before = [](const SubmodelCell& a, const SubmodelCell& b) {
    return std::tie(a.depth, a.width, a.bits) < std::tie(b.depth, b.width, b.bits);
  };
  std::sort(plan->cells.begin(), plan->cells.end(), before);
  for (SubmodelSweep& sweep : plan->sweeps) {
    for (Depth& depth : sweep.depths) {
      const SubmodelCell cell{static_cast<uint32_t>(depth.layers.size()), sweep.width, sweep.bits};
      const auto at = std::lower_bound(plan->cells.begin(), plan->cells.end(), cell, before);
      depth.cell = static_cast<size_t>(at - plan->cells.begin());
    }
  }
}

}  // namespace

bool SubmodelSweep::BranchesAt(size_t layers) const {
  for (size_t i = 1; i < depths.size(); ++i) {
    if (depths[i].shared == layers && depths[i - 1].layers.size() > layers) return true;
  }
  return false;
}

SubmodelPlan PlanSubmodels(const ContainerIndex& index) {
  const ModelInfo& info = index.info;
  const uint32_t full = info.shape.width;
  const std::vector<Depth> depths = DepthsOf(info);
  const std::vector<Depth> deepest = {{.layers = info.depth_layers.back()}};
  SubmodelPlan plan;
  for (uint32_t width = info.min_width; width <= full; ++width) {
    for (const uint32_t bits : index.bits) {
      const bool extreme = bits == index.bits.front() || bits == index.bits.back();
      if (extreme) plan.sweeps.push_back({width, bits, depths});
      if (!extreme && width == full) plan.sweeps.push_back({width, bits, deepest});
    }
  }
  NumberCells(&plan);
  for (const SubmodelSweep& sweep : plan.sweeps) {
    std::set<size_t> branches;
    for (const Depth& depth : sweep.depths) {
      if (sweep.BranchesAt(depth.shared)) branches.insert(depth.shared);
    }
    plan.branches = std::max(plan.branches, branches.size());
  }
  return plan;
}

uint64_t SweepFlops(const ModelShape& shape, OutputRows head_rows, const BatchSize& size,
                    const SubmodelSweep& sweep) {
  const uint64_t whole = LayerFlops(shape, size, sweep.width, OutputRows::kAll);
  const uint64_t last = LayerFlops(shape, size, sweep.width, head_rows);
  uint64_t flops = 0;
  for (const Depth& depth : sweep.depths) {
    flops += (depth.layers.size() - depth.shared) * whole + HeadFlops(shape, size.Count(head_rows));
    if (depth.leaf) flops += last - whole;  // modulo 2^64 this is a subtraction
  }
  return flops;
}

uint64_t PlainSweepFlops(const ModelShape& shape, OutputRows head_rows, const BatchSize& size,
                         const SubmodelSweep& sweep) {
  uint64_t flops = 0;
  for (const Depth& depth : sweep.depths) {
    flops += EvaluationFlops(shape, head_rows, size, depth.layers.size(), sweep.width);
  }
  return flops;
}

}  // namespace sti
