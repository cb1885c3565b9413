#include "common/plan_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/log.h"
#include "base/utf8.h"
#include "common/parse.h"
#include "types/device_profile.h"
#include "types/submodel.h"

namespace sti {
namespace {

bool IsPreloaded(const Plan& plan, uint32_t k, uint32_t i) {
  const ShardAtBits shard{plan.Id(k, i), plan.bits.At(k, i)};
  const auto holds = [&shard](const std::vector<ShardAtBits>& preload) {
    return std::find(preload.begin(), preload.end(), shard) != preload.end();
  };
  if (!plan.staged) return holds(plan.preload);
  return std::any_of(plan.staged->stages.begin(), plan.staged->stages.end(),
                     [&](const PlanStage& stage) { return holds(stage.preload); });
}

// One line a layer: the bits of each shard, brackets around those that stay in memory.
std::string BitsTable(const Plan& plan) {
  constexpr size_t kCell = 5;
  std::string text;
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    char head[32];
    std::snprintf(head, sizeof(head), "  layer %3u ", plan.layers[k]);
    text += head;
    for (uint32_t i = 0; i < plan.width; ++i) {
      std::string bits = std::to_string(plan.bits.At(k, i));
      bits = IsPreloaded(plan, k, i) ? "[" + bits + "]" : " " + bits + " ";
      text += std::string(kCell - std::min(kCell, bits.size()), ' ') + bits;
    }
    while (text.back() == ' ') text.pop_back();
    text += '\n';
  }
  return text;
}

std::string LatencyText(double latency_us, double p99_us) {
  return FormatTimeUs(latency_us) + ", p99 " + FormatTimeUs(p99_us);
}

// " at 1800 MHz", where the plan says.
std::string FrequencyText(std::optional<uint64_t> khz) {
  return khz ? " at " + std::to_string(*khz / 1000) + " MHz" : "";
}

// The input that is planned for: "197 tokens", "4 images a pass".
std::string InputText(const PlanCore& plan) {
  return plan.microbatch > 1 ? Counted(plan.microbatch, "image") + " a pass"
                             : Counted(plan.length, "token");
}

// One line a plan that other inputs or clocks run under.
std::string VariantsText(const Plan& plan) {
  if (plan.variants.empty()) return "";
  std::string text = "variants   the shortest that holds an input runs it\n";
  const bool of_images = plan.microbatch > 1;
  for (const PlanCore& variant : plan.variants) {
    char line[160];
    const std::string submodel = NameOf(SubmodelOf(variant));
    const uint32_t count = of_images ? variant.microbatch : variant.length;
    std::snprintf(line, sizeof(line), "  %7u %s%s%s: %s, %s", count, of_images ? "image" : "token",
                  count == 1 ? "" : "s", FrequencyText(variant.freq).c_str(), submodel.c_str(),
                  LatencyText(variant.predicted_latency_us, variant.predicted_p99_us).c_str());
    text += line;
    if (variant.target_us && !variant.meets_target) text += " MISSED";
    text += '\n';
  }
  return text;
}

// How long a text may become that is continued, and where the head has its words from.
std::string ContextText(const Plan& plan) {
  if (plan.context == 0) return "";
  std::string text =
      "context    " + Counted(plan.context, "token") + " at most, the prompt's counted\n";
  text += "words      all rows ";
  if (plan.keeps_vocabulary) return text + "stay in memory for the head\n";
  text += "are read for the head in each pass";
  if (plan.times) text += ", in " + FormatTimeUs(plan.times->head_io_us);
  return text + "\n";
}

// The fallback: its submodel, its quality, and what it costs to have that in memory.
std::string FallbackText(const Plan& plan) {
  if (!plan.fallback) return "";
  const Fallback& fallback = *plan.fallback;
  // A plan may have more bits with a fallback than without: what is preloaded differs.
  const auto cost_bits = static_cast<int64_t>(std::llround(fallback.cost_bits));
  const std::string cost = (cost_bits < 0 ? "saves " : "costs ") +
                           Counted(static_cast<uint64_t>(std::abs(cost_bits)), "bit");
  const std::string quality = QualityText(fallback.quality);
  return "guarantee  a label by the target under --on-late degrade: falls back to\n           " +
         NameOf(Submodel{static_cast<uint32_t>(fallback.layers.size()), fallback.width}) + " at " +
         Counted(fallback.bits, "bit") + (quality.empty() ? "" : ", " + quality + " predicted") +
         "\n           " + FormatTimeUs(fallback.reserve_us()) + " reserved, " +
         FormatBytes(fallback.bytes) + " beside the preload\n           " + cost +
         " over all shards\n";
}

// The cascade: its figures, and one line a level before the plan itself.
std::string CascadeText(const Plan& plan) {
  if (!plan.cascade) return "";
  const PlanCascade& cascade = *plan.cascade;
  const std::string quality = QualityText(cascade.quality);
  std::string text = "cascade    mean " + FormatTimeUs(cascade.mean_us) + " predicted, p99 " +
                     FormatTimeUs(cascade.worst_path_us) + " through all levels\n";
  if (!quality.empty()) text += "  labels   " + quality + " predicted\n";
  for (size_t i = 0; i < cascade.levels.size(); ++i) {
    const CascadeLevel& level = cascade.levels[i];
    const auto depth = static_cast<uint32_t>(level.plan.layers.size());
    char line[160];
    std::snprintf(line, sizeof(line),
                  "  level %zu  %s, returns %.1f %% above %.3g; then reads %s\n", i + 1,
                  NameOf(Submodel{depth, level.plan.width}).c_str(), cascade.return_share[i] * 100,
                  level.rule.cutoff, FormatBytes(level.upgrade_bytes).c_str());
    text += line;
  }
  return text + "  and last  the submodel above\n";
}

// One line a turn: what it reads, and what that gives.
std::string TurnsText(const Plan& plan) {
  if (plan.turns.empty()) return "";
  std::string text = "turns      at most " + FormatBytes(plan.turn_bytes.value_or(0)) +
                     " stay in memory between them\n";
  for (size_t t = 0; t < plan.turns.size(); ++t) {
    const PlanTurn& turn = plan.turns[t];
    char line[200];
    std::snprintf(line, sizeof(line), "  turn %2zu   reads %s, %s", t + 1,
                  FormatBytes(turn.read_bytes).c_str(),
                  LatencyText(turn.predicted_latency_us, turn.predicted_p99_us).c_str());
    text += line;
    const std::string predicted = QualityText(turn.quality);
    text += (predicted.empty() ? "" : ", ") + predicted + '\n';
  }
  return text;
}

}  // namespace

std::string StagesText(const PlanStages& staged) {
  char line[256];
  std::snprintf(line, sizeof(line),
                "stages     %.3g texts a second, %s at a time, one pass each %s\n",
                staged.throughput_per_s, std::to_string(staged.microbatch).c_str(),
                FormatTimeUs(staged.period_us).c_str());
  std::string text = line;
  for (const PlanStage& stage : staged.stages) {
    std::snprintf(line, sizeof(line), "  %-16s layers %u to %u, a pass each %s, %s\n",
                  Clipped(stage.device).c_str(), stage.begin, stage.end - 1,
                  FormatTimeUs(stage.period_us).c_str(),
                  FormatBytes(stage.predicted_peak_bytes).c_str());
    text += line;
    if (stage.transfer_us <= 0) continue;
    std::snprintf(line, sizeof(line), "  %-16s sends for %s\n", "",
                  FormatTimeUs(stage.transfer_us).c_str());
    text += line;
  }
  return text;
}

std::string QualityText(const PredictedQuality& quality) {
  char text[64] = "";
  if (quality.accuracy) {
    std::snprintf(text, sizeof(text), "%.1f %%", *quality.accuracy * 100);
  } else if (quality.f1) {
    std::snprintf(text, sizeof(text), "F1 %.1f %%", *quality.f1 * 100);
  } else if (quality.agreement) {
    std::snprintf(text, sizeof(text), "agrees with the full model in %.1f %%",
                  *quality.agreement * 100);
  } else if (quality.cosine) {
    std::snprintf(text, sizeof(text), "cosine %.4f with the full model", *quality.cosine);
  } else if (quality.spearman) {
    std::snprintf(text, sizeof(text), "Spearman %.4f with the scores", *quality.spearman);
  } else if (quality.loss) {
    std::snprintf(text, sizeof(text), "loss %.4f", *quality.loss);
  }
  return text;
}

std::string DescribePlan(const Plan& plan) { return DescribePlan(plan, ProfileFacts()); }

std::string DescribePlan(const Plan& plan, const ProfileFacts& profile) {
  std::string text = "submodel   " + Counted(plan.layers.size(), "layer") + " x " +
                     Counted(plan.width, "slice") + ", up to " + InputText(plan) + ", strategy " +
                     plan.strategy_name() + "\n";
  text += "bits       a shard each; [preloaded]\n" + BitsTable(plan);
  text += "latency    " + FormatTimeUs(plan.predicted_latency_us) + " predicted" +
          (plan.staged ? " for the first text" : "") + (plan.cold ? " from a cold start" : "") +
          FrequencyText(plan.freq) + ", p99 " + FormatTimeUs(plan.predicted_p99_us);
  if (plan.target_us) {
    text += ", target " + FormatTimeUs(*plan.target_us);
    text += plan.meets_target ? " met" : " MISSED";
    // The 99th percentile beside it is larger where the plan was made by medians.
    if (plan.meets_target && plan.predicted_p99_us > *plan.target_us) text += " by the median";
    if (IsUncertain(plan, profile.noise)) text += ", uncertain";
  }
  if (plan.wake_us)
    text += "\nwake       counts on " + FormatTimeUs(*plan.wake_us) + " before the text is there";
  const std::string predicted = QualityText(plan.quality);
  if (!predicted.empty()) text += "\nquality    " + predicted + " predicted";
  if (!profile.has_shape)
    text += "\nprofile    of no shape: nothing tells whether it is of a model of this size";
  text += "\nbytes      " + FormatBytes(plan.parameter_bytes) + " of shards, " +
          FormatBytes(plan.preload_bytes) + " of them preloaded\n";
  if (!plan.words.empty())
    text += "rows       of " + Counted(plan.words.size(), "frequent word") + " preloaded\n";
  if (plan.staged) return text + StagesText(*plan.staged);
  text += "memory     " + FormatBytes(plan.predicted_peak_bytes) + " predicted peak";
  if (plan.staging_bytes) text += ", " + FormatBytes(*plan.staging_bytes) + " of it staging";
  text += '\n';
  if (plan.agents > 0)
    text += "agents     " + Counted(plan.agents, "layer") + " read side by side\n";
  if (plan.cpus) {
    text += "cores      " + Clipped(*plan.cpus) + ", " +
            Counted(plan.threads.value_or(0), "thread") + "\n";
  }
  return text + ContextText(plan) + FallbackText(plan) + VariantsText(plan) + TurnsText(plan) +
         CascadeText(plan);
}

bool IsUncertain(const Plan& plan, double noise) {
  return plan.target_us && plan.meets_target &&
         IsUncertain(noise, plan.predicted_p99_us, *plan.target_us);
}

std::string UntrainedWarning(const ModelInfo& info, const PlanCore& plan) {
  const Submodel submodel = SubmodelOf(plan);
  if (info.WasTrained(submodel)) return "";
  if (info.elastic) {
    const std::string few = submodel.depth < info.min_depth
                                ? "depths under " + std::to_string(info.min_depth)
                                : "widths under " + std::to_string(info.min_width);
    return few + " were not trained";
  }
  const Submodel whole{info.shape.layers, info.shape.width};
  const std::string which = NameOf(submodel) + " of " + NameOf(whole);
  const std::string quality = QualityText(plan.quality);
  if (!quality.empty()) return which + " was not trained for; predicted: " + quality;
  return "the model has no elastic metadata: " + which +
         " is allowed but was not trained for; its answers mean little";
}

}  // namespace sti
