#include "measure/submodel_scores.h"

#include <algorithm>
#include <tuple>

namespace sti {

SubmodelMeter::SubmodelMeter(const ContainerIndex& index) {
  const ModelInfo& info = index.info;
  const uint32_t full = info.shape.width;
  std::vector<Depth> depths;
  depths.reserve(info.depth_layers.size());
  for (const std::vector<uint32_t>& layers : info.depth_layers) {
    if (info.elastic || layers.size() == info.shape.layers) depths.push_back({layers, {}});
  }
  const std::vector<Depth> deepest = {depths.back()};
  std::sort(depths.begin(), depths.end(),
            [](const Depth& a, const Depth& b) { return a.layers < b.layers; });
  for (uint32_t width = info.elastic ? std::max(info.min_width, 1U) : full; width <= full;
       ++width) {
    for (const uint32_t bits : index.bits) {
      const bool extreme = bits == index.bits.front() || bits == index.bits.back();
      if (extreme) sweeps_.push_back({width, bits, depths});
      if (!extreme && width == full) sweeps_.push_back({width, bits, deepest});
    }
  }
  hidden_.resize(info.shape.layers + 1);
}

uint64_t SubmodelMeter::evaluations() const {
  uint64_t count = 0;
  for (const Sweep& sweep : sweeps_) count += sweep.depths.size();
  return count;
}

Status SubmodelMeter::MeasureBatch(BatchRunner& runner, Evaluations& evaluations) {
  hidden_[0] = runner.embedded();
  for (Sweep& sweep : sweeps_) STI_RETURN_IF_ERROR(MeasureSweep(runner, evaluations, sweep));
  return {};
}

Status SubmodelMeter::MeasureSweep(BatchRunner& runner, Evaluations& evaluations, Sweep& sweep) {
  std::vector<uint32_t> before;
  for (Depth& depth : sweep.depths) {
    STI_RETURN_IF_ERROR(evaluations.Begin());
    const std::vector<uint32_t>& layers = depth.layers;
    const auto [first_new, unused] =
        std::mismatch(layers.begin(), layers.end(), before.begin(), before.end());
    for (auto at = static_cast<size_t>(first_new - layers.begin()); at < layers.size(); ++at) {
      hidden_[at + 1] = hidden_[at];
      runner.RunLayer(layers[at], runner.Views(layers[at], sweep.width, sweep.bits),
                      hidden_[at + 1].data());
    }
    runner.Score(hidden_[layers.size()].data(), &depth.outcomes);
    before = layers;
    evaluations.End();
  }
  return {};
}

std::vector<SubmodelScore> SubmodelMeter::Scores() const {
  std::vector<SubmodelScore> scores;
  scores.reserve(evaluations());
  for (const Sweep& sweep : sweeps_) {
    for (const Depth& depth : sweep.depths) {
      scores.push_back({static_cast<uint32_t>(depth.layers.size()), sweep.width, sweep.bits,
                        depth.outcomes.right.mean(), depth.outcomes.loss.mean()});
    }
  }
  std::sort(scores.begin(), scores.end(), [](const SubmodelScore& a, const SubmodelScore& b) {
    return std::tie(a.depth, a.width, a.bits) < std::tie(b.depth, b.width, b.bits);
  });
  return scores;
}

}  // namespace sti
