#include "common/plan_text.h"

#include <algorithm>
#include <cstdio>

#include "common/parse.h"

namespace sti {
namespace {

bool IsPreloaded(const Plan& plan, size_t k, size_t i) {
  PreloadedShard shard{plan.layers[k], plan.slices[k][i], plan.bits[k][i]};
  return std::find(plan.preload.begin(), plan.preload.end(), shard) != plan.preload.end();
}

// One line a layer: the bits of each shard, brackets around those that stay in memory.
std::string BitsTable(const Plan& plan) {
  constexpr size_t kCell = 5;
  std::string text;
  for (size_t k = 0; k < plan.layers.size(); ++k) {
    char head[32];
    std::snprintf(head, sizeof(head), "  layer %3u ", plan.layers[k]);
    text += head;
    for (size_t i = 0; i < plan.bits[k].size(); ++i) {
      std::string bits = std::to_string(plan.bits[k][i]);
      bits = IsPreloaded(plan, k, i) ? "[" + bits + "]" : " " + bits + " ";
      text += std::string(kCell - std::min(kCell, bits.size()), ' ') + bits;
    }
    while (text.back() == ' ') text.pop_back();
    text += '\n';
  }
  return text;
}

}  // namespace

std::string DescribePlan(const Plan& plan) {
  std::string text = "submodel   " + std::to_string(plan.layers.size()) + " layers x " +
                     std::to_string(plan.width) + " slices, up to " + std::to_string(plan.length) +
                     " tokens, strategy " + plan.strategy + "\n";
  text += "bits       a shard each; [preloaded]\n" + BitsTable(plan);
  text += "latency    " + FormatTimeUs(plan.predicted_latency_us) + " predicted, p99 " +
          FormatTimeUs(plan.predicted_p99_us);
  if (plan.target_us) {
    text += ", target " + FormatTimeUs(*plan.target_us);
    text += plan.meets_target ? " met" : " MISSED";
  }
  text += "\nbytes      " + FormatBytes(plan.parameter_bytes) + " of shards, " +
          FormatBytes(plan.preload_bytes) + " of them preloaded\n";
  text += "memory     " + FormatBytes(plan.predicted_peak_bytes) + " predicted peak\n";
  return text;
}

std::string UntrainedWarning(const ModelInfo& info, const Plan& plan) {
  const auto name = [](size_t layers, uint32_t width) {
    return std::to_string(layers) + "x" + std::to_string(width);
  };
  const bool smaller = plan.layers.size() < info.shape.layers || plan.width < info.shape.width;
  if (smaller && !info.elastic) {
    return "the model has no elastic metadata: " + name(plan.layers.size(), plan.width) + " of " +
           name(info.shape.layers, info.shape.width) +
           " is allowed but was not trained for; its labels mean little";
  }
  if (plan.width >= info.min_width) return "";
  return "widths under " + std::to_string(info.min_width) + " were not trained";
}

}  // namespace sti
