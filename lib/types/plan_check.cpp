#include "types/plan_check.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/remedy.h"
#include "types/bits.h"
#include "types/file_text.h"
#include "types/share.h"

namespace sti {
namespace {

using Fault = std::optional<PlanFault>;
using ShardBits = std::map<ShardId, uint32_t>;

constexpr const char* kTemperatureFault = "temperature is not from 0.001 to 1000";

Fault Broken(std::string what) { return PlanFault{ErrorKind::kDamaged, "", std::move(what)}; }

Fault Foreign(std::string what) { return PlanFault{ErrorKind::kForeign, "", std::move(what)}; }

/// Returns the fault as one of an entry of a list.
Fault In(const char* list, size_t entry, Fault fault) {
  if (fault) fault->place = std::string(list) + "[" + std::to_string(entry) + "]";
  return fault;
}

Fault CheckModel(const Plan& plan, const PlanBounds& bounds) {
  if (plan.model.empty()) return Broken("model is missing");
  if (bounds.model.empty() || plan.model == bounds.model) return {};
  return Foreign("it was made for model " + plan.model.Prefix() + ", not " + bounds.model.Prefix());
}

Fault CheckSizes(const Plan& plan, const PlanBounds& bounds) {
  const size_t depth = plan.layers.size();
  if (depth == 0) return Broken("layers is empty");
  if (std::adjacent_find(plan.layers.begin(), plan.layers.end(), std::greater_equal<>()) !=
      plan.layers.end())
    return Broken("layers does not ascend");
  if (plan.layers.back() >= bounds.layers)
    return Foreign("layer " + std::to_string(plan.layers.back()) + " is beyond the last");
  if (plan.width == 0) return Broken("width is 0");
  if (plan.width > bounds.width)
    return Foreign("width " + std::to_string(plan.width) + " is more than a layer has slices");
  if (plan.length < bounds.least_length)
    return Foreign("length " + std::to_string(plan.length) + " is less than any input has");
  if (plan.length > bounds.most_length)
    return Foreign("length " + std::to_string(plan.length) + " is more than any input has");
  for (const Grid<uint32_t>* grid : {&plan.slices, &plan.bits}) {
    if (grid->rows() != depth) return Broken("slices and bits do not have one row a layer");
    if (grid->columns() != plan.width) {
      return Broken("the rows of slices and bits do not have " + std::to_string(plan.width) +
                    " entries");
    }
  }
  return {};
}

Fault CheckStored(const ShardAtBits& shard, const PlanBounds& bounds) {
  if (!IsBits(shard.bits)) return Broken(NameOf(shard.id) + ": bits is not 2 to 6, or 32");
  if (bounds.holds && !bounds.holds(shard)) return Foreign(NameOf(shard) + " is not stored");
  return {};
}

/// Checks what the plan runs, and fills `runs` with it.
Fault CheckShards(const Plan& plan, const PlanBounds& bounds, ShardBits* runs) {
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    for (uint32_t i = 0; i < plan.width; ++i) {
      const ShardAtBits shard{plan.Id(k, i), plan.bits.At(k, i)};
      if (shard.id.slice >= bounds.width)
        return Foreign(NameOf(shard.id) + " is beyond the last slice");
      if (Fault fault = CheckStored(shard, bounds)) return fault;
      if (!runs->emplace(shard.id, shard.bits).second)
        return Broken(NameOf(shard.id) + " is there twice");
    }
  }
  return {};
}

/// A time is a number, not negative, and not beyond what anybody waits for.
Fault CheckTime(const char* field, double time_us) {
  if (!std::isfinite(time_us) || time_us < 0)
    return Broken(std::string(field) + " is negative or not a finite number");
  if (time_us <= kMaxTimeUs) return {};
  return Broken(std::string(field) + " is above 10^15, which is thirty years");
}

/// Checks what may be negative.
Fault CheckFigure(const char* field, double number) {
  if (IsFigure(number)) return {};
  return Broken(std::string(field) + " is " + kNoFigure);
}

Fault CheckShare(const char* field, double share) {
  if (IsShare(share)) return {};
  return Broken(std::string(field) + " is not from 0 to 1");
}

Fault CheckQuality(const PredictedQuality& quality) {
  if (Fault fault = CheckFigure("predicted_loss", quality.loss.value_or(0))) return fault;
  if (Fault fault = CheckShare("predicted_accuracy", quality.accuracy.value_or(0))) return fault;
  return CheckShare("predicted_agreement", quality.agreement.value_or(0));
}

/// Checks what plans and turns predict alike.
template <typename Predicts>
Fault CheckPredictions(const Predicts& it, size_t layers) {
  if (!it.aib_us.empty() && it.aib_us.size() != layers)
    return Broken("aib_us does not have one entry a layer");
  for (double aib_us : it.aib_us) {
    if (Fault fault = CheckFigure("aib_us", aib_us)) return fault;
  }
  if (Fault fault = CheckTime("predicted_latency_us", it.predicted_latency_us)) return fault;
  if (Fault fault = CheckTime("predicted_p99_us", it.predicted_p99_us)) return fault;
  return CheckQuality(it.quality);
}

Fault CheckTimes(const PlanTimes& times, size_t layers) {
  const std::pair<const char*, double> fields[] = {
      {"times.start_us", times.start_us},
      {"times.open_io_us", times.open_io_us},
      {"times.embed_io_us", times.embed_io_us},
      {"times.embed_us", times.embed_us},
      {"times.layer_us", times.layer_us},
      {"times.layer_p99_us", times.layer_p99_us},
      {"times.head_us", times.head_us},
      {"times.stall_us", times.stall_us},
      {"times.last_layer_us", times.last_layer_us},
      {"times.last_layer_p99_us", times.last_layer_p99_us}};
  for (const auto& [field, time_us] : fields) {
    if (Fault fault = CheckTime(field, time_us)) return fault;
  }
  if (times.layer_io_us.size() != layers)
    return Broken("times.layer_io_us does not have one entry a layer");
  for (double load_us : times.layer_io_us) {
    if (Fault fault = CheckTime("times.layer_io_us", load_us)) return fault;
  }
  return {};
}

/// A process that has just started holds nothing, and has not waited for anything.
Fault CheckCold(const Plan& plan) {
  const bool holds = !plan.preload.empty() || !plan.words.empty();
  if (!plan.cold || (!holds && plan.turns.empty() && plan.wake_us <= 0)) return {};
  return Broken("a cold plan has a preload, turns or a lead time");
}

Fault CheckNumbers(const Plan& plan) {
  const size_t layers = plan.layers.size();
  if (Fault fault = CheckFigure("slack_us", plan.slack_us.value_or(0))) return fault;
  if (Fault fault = CheckTime("target_us", plan.target_us.value_or(0))) return fault;
  if (Fault fault = CheckTime("wake_us", plan.wake_us)) return fault;
  if (plan.times) {
    if (Fault fault = CheckTimes(*plan.times, layers)) return fault;
  }
  if (Fault fault = CheckShare("row_share", plan.row_share)) return fault;
  if (Fault fault = CheckShare("row_p99_share", plan.row_p99_share)) return fault;
  if (plan.read_bytes > kMaxMergedReadBytes || plan.read_bytes % kBlockBytes != 0)
    return Broken("read_bytes is not a multiple of 4096 up to 67108864");
  if (plan.read_depth > kMaxReadsInFlight) return Broken("read_depth is above 256");
  if (plan.threads > kMaxThreads) return Broken("threads is above 256");
  if (plan.staging_bytes > kMaxStagingBytes) return Broken("staging_bytes is more than 1 TiB");
  return CheckPredictions(plan, layers);
}

Fault CheckWords(const Plan& plan, const PlanBounds& bounds) {
  const std::vector<uint32_t>& words = plan.words;
  if (words.empty()) return {};
  if (words.size() > kMaxPlanWords) return Broken("words has more than 65536 entries");
  if (std::adjacent_find(words.begin(), words.end(), std::greater_equal<>()) != words.end())
    return Broken("words do not ascend");
  if (words.back() >= kMaxVocabulary) return Broken("words has an entry of 2^22 or more");
  if (words.back() >= bounds.vocabulary) {
    return Foreign("word " + std::to_string(words.back()) + " is outside the vocabulary of " +
                   std::to_string(bounds.vocabulary));
  }
  return {};
}

Fault CheckTexts(const Plan& plan) {
  std::optional<std::string> fault =
      FindPlanTextFault(plan.other_strategy, plan.kernel.name, plan.read_path, plan.cpus);
  return fault ? Broken(std::move(*fault)) : Fault();
}

Fault CheckPreload(const Plan& plan, const ShardBits& runs) {
  std::set<ShardId> seen;
  for (const ShardAtBits& shard : plan.preload) {
    const auto found = runs.find(shard.id);
    if (found == runs.end() || found->second != shard.bits || !seen.insert(shard.id).second) {
      return Broken("preload: " + NameOf(shard) + " is not what the plan runs, or is there twice");
    }
  }
  return {};
}

/// Checks the figures of a fallback: a label by the target is what it is there for.
Fault CheckFallbackFigures(const Fallback& fallback, const Plan& plan) {
  const std::pair<const char*, double> fields[] = {
      {"fallback.embed_us", fallback.embed_us},
      {"fallback.layer_us", fallback.layer_us},
      {"fallback.last_layer_us", fallback.last_layer_us},
      {"fallback.head_us", fallback.head_us},
      {"fallback.margin_us", fallback.margin_us}};
  for (const auto& [field, time_us] : fields) {
    if (Fault fault = CheckTime(field, time_us)) return fault;
  }
  if (Fault fault = CheckFigure("fallback.cost_bits", fallback.cost_bits)) return fault;
  if (Fault fault = CheckQuality(fallback.quality)) {
    fault->what = "fallback." + fault->what;
    return fault;
  }
  if (!plan.target_us || !plan.times) return Broken("a fallback without target_us or times");
  if (fallback.reserve_us() > *plan.target_us)
    return Broken("fallback takes longer than target_us");
  return {};
}

/// Checks the fallback: its shards are stored, and it stays in memory from run to run.
Fault CheckFallback(const Plan& plan, const PlanBounds& bounds) {
  if (!plan.fallback) return {};
  const Fallback& fallback = *plan.fallback;
  if (plan.cold) return Broken("a cold plan has a fallback");
  if (!plan.turns.empty()) return Broken("a plan with turns has a fallback");
  if (fallback.layers.empty()) return Broken("fallback.layers is empty");
  if (std::adjacent_find(fallback.layers.begin(), fallback.layers.end(), std::greater_equal<>()) !=
      fallback.layers.end())
    return Broken("fallback.layers does not ascend");
  if (fallback.layers.back() >= bounds.layers) {
    return Foreign("fallback: layer " + std::to_string(fallback.layers.back()) +
                   " is beyond the last");
  }
  if (fallback.width == 0) return Broken("fallback.width is 0");
  if (fallback.width > bounds.width) {
    return Foreign("fallback: width " + std::to_string(fallback.width) +
                   " is more than a layer has slices");
  }
  for (const ShardAtBits& shard : ShardsOf(fallback)) {
    if (Fault fault = CheckStored(shard, bounds)) {
      fault->what = "fallback: " + fault->what;
      return fault;
    }
  }
  return CheckFallbackFigures(fallback, plan);
}

/// Checks all but turns and variants, and fills `runs` with the shards that the plan runs.
Fault CheckAlone(const Plan& plan, const PlanBounds& bounds, ShardBits* runs) {
  if (Fault fault = CheckModel(plan, bounds)) return fault;
  if (Fault fault = CheckSizes(plan, bounds)) return fault;
  if (Fault fault = CheckShards(plan, bounds, runs)) return fault;
  if (Fault fault = CheckNumbers(plan)) return fault;
  if (Fault fault = CheckCold(plan)) return fault;
  if (Fault fault = CheckPreload(plan, *runs)) return fault;
  if (Fault fault = CheckWords(plan, bounds)) return fault;
  if (Fault fault = CheckFallback(plan, bounds)) return fault;
  return CheckTexts(plan);
}

/// Checks the bits of a turn against those of the turn before in `runs`, and puts them there.
Fault CheckTurnBits(const Plan& plan, const PlanTurn& turn, const PlanBounds& bounds,
                    ShardBits* runs) {
  if (turn.bits.rows() != plan.layers.size()) return Broken("bits does not have one row a layer");
  if (turn.bits.columns() != plan.width)
    return Broken("the rows of bits do not have " + std::to_string(plan.width) + " entries");
  for (uint32_t k = 0; k < turn.bits.rows(); ++k) {
    for (uint32_t i = 0; i < plan.width; ++i) {
      const ShardAtBits shard{plan.Id(k, i), turn.bits.At(k, i)};
      if (Fault fault = CheckStored(shard, bounds)) return fault;
      uint32_t& bits = runs->at(shard.id);
      if (shard.bits < bits)
        return Broken(NameOf(shard.id) + " has fewer bits than in the turn before");
      bits = shard.bits;
    }
  }
  return {};
}

/// Checks one turn. `runs` holds the bits of the turn before, and receives those of this one.
Fault CheckTurn(const Plan& plan, const PlanTurn& turn, const PlanBounds& bounds, ShardBits* runs) {
  if (Fault fault = CheckTurnBits(plan, turn, bounds, runs)) return fault;
  if (&turn == plan.turns.data() && turn.bits != plan.bits)
    return Broken("the first turn's bits are not the plan's");
  std::set<ShardId> seen;
  for (const ShardAtBits& shard : turn.preload) {
    const auto found = runs->find(shard.id);
    if (found == runs->end() || !IsBits(shard.bits) || shard.bits > found->second ||
        !seen.insert(shard.id).second) {
      return Broken("preload: " + NameOf(shard) + " is more than the turn runs, or is there twice");
    }
    if (Fault fault = CheckStored(shard, bounds)) return fault;
  }
  if (turn.preload_bytes > plan.turn_bytes) return Broken("preload_bytes is more than turn_bytes");
  return CheckPredictions(turn, plan.layers.size());
}

/// Checks a variant: one buffer serves all, so what it finds in memory is what the plan put there.
Fault CheckVariant(const Plan& plan, const Plan& variant, const PlanBounds& bounds) {
  if (!variant.variants.empty()) return Broken("a variant has variants of its own");
  if (!variant.turns.empty()) return Broken("a variant has turns");
  if (!variant.words.empty()) return Broken("a variant has words of its own");
  if (variant.cascade) return Broken("a variant has a cascade");
  if (variant.model != plan.model) return Broken("it is for another model");
  if (variant.cold != plan.cold) return Broken("of it and the plan only one starts cold");
  if (variant.fallback.has_value() != plan.fallback.has_value())
    return Broken("of it and the plan only one has a fallback");
  ShardBits runs;
  if (Fault fault = CheckAlone(variant, bounds, &runs)) return fault;
  const std::set<ShardAtBits> held(plan.preload.begin(), plan.preload.end());
  for (const ShardAtBits& shard : variant.preload) {
    if (!held.contains(shard))
      return Broken("preload: " + NameOf(shard) + " is not preloaded by the plan");
  }
  return {};
}

/// Checks a level before the last: it shares buffer, words and kernel with the plan.
Fault CheckCascadeLevel(const Plan& plan, const CascadeLevel& level, bool first,
                        const PlanBounds& bounds) {
  const Plan& it = level.plan;
  if (!it.variants.empty() || !it.turns.empty() || !it.words.empty() || it.fallback || it.cascade)
    return Broken("a cascade level has variants, turns, words, a fallback or a cascade of its own");
  if (it.model != plan.model) return Broken("it is for another model");
  if (it.cold) return Broken("a cascade level starts cold");
  if (it.length != plan.length || it.freq != plan.freq)
    return Broken("its length or freq is not the plan's");
  if (it.kernel.name != plan.kernel.name) return Broken("its kernel is not the plan's");
  if (!first && !it.preload.empty()) return Broken("only the first cascade level has a preload");
  ShardBits runs;
  if (Fault fault = CheckAlone(it, bounds, &runs)) return fault;
  if (!IsTemperature(level.temperature)) return Broken(kTemperatureFault);
  if (const char* fault = FieldOutOfRange(level.rule)) return Broken(fault);
  return {};
}

/// Checks the figures of a cascade against the number of its levels before the last.
Fault CheckCascadeFigures(const PlanCascade& cascade) {
  const size_t levels = cascade.levels.size();
  if (!IsTemperature(cascade.temperature)) return Broken(kTemperatureFault);
  if (cascade.return_share.size() != levels)
    return Broken("return_share does not have one entry a level");
  double returned = 0;
  for (const double share : cascade.return_share) {
    if (!IsShare(share)) return Broken("return_share is not from 0 to 1");
    returned += share;
  }
  if (returned > 1 + 1e-9) return Broken("return_share adds up to more than 1");
  if (!cascade.path_us.empty() && cascade.path_us.size() != levels + 1)
    return Broken("path_us does not have one entry a level");
  for (const double path_us : cascade.path_us) {
    if (Fault fault = CheckTime("path_us", path_us)) return fault;
  }
  if (Fault fault = CheckTime("mean_us", cascade.mean_us)) return fault;
  if (Fault fault = CheckTime("worst_path_us", cascade.worst_path_us)) return fault;
  return CheckQuality(cascade.quality);
}

Fault CheckCascade(const Plan& plan, const PlanBounds& bounds) {
  if (!plan.cascade) return {};
  const std::vector<CascadeLevel>& levels = plan.cascade->levels;
  if (!plan.variants.empty() || !plan.turns.empty() || plan.fallback || plan.cold)
    return Broken("a plan with a cascade has variants, turns or a fallback, or is cold");
  if (levels.empty() || levels.size() >= kMaxCascadeLevels)
    return Broken("cascade.levels does not have 1 or 2 entries");
  for (size_t i = 0; i < levels.size(); ++i) {
    Fault fault = CheckCascadeLevel(plan, levels[i], i == 0, bounds);
    if (fault) return In("cascade.levels", i, std::move(fault));
  }
  Fault fault = CheckCascadeFigures(*plan.cascade);
  if (fault) fault->place = "cascade";
  return fault;
}

}  // namespace

Remedy RemedyFor(const PlanFault& fault) {
  return fault.kind == ErrorKind::kForeign ? Remedy::kPlanForModel : Remedy::kCorrectPlan;
}

std::optional<PlanFault> FindPlanFault(const Plan& plan, const PlanBounds& bounds) {
  ShardBits runs;
  if (Fault fault = CheckAlone(plan, bounds, &runs)) return fault;
  if (plan.turns.size() > kMaxTurns) return Broken("more than 64 turns");
  for (size_t t = 0; t < plan.turns.size(); ++t) {
    if (Fault fault = In("turns", t, CheckTurn(plan, plan.turns[t], bounds, &runs))) return fault;
  }
  if (plan.variants.size() > kMaxVariants) return Broken("more than 64 variants");
  std::set<std::pair<uint32_t, uint64_t>> planned = {{plan.length, plan.freq}};
  for (size_t i = 0; i < plan.variants.size(); ++i) {
    const Plan& variant = plan.variants[i];
    if (Fault fault = In("variants", i, CheckVariant(plan, variant, bounds))) return fault;
    if (!planned.emplace(variant.length, variant.freq).second)
      return In("variants", i, Broken("its length and freq are planned already"));
  }
  return CheckCascade(plan, bounds);
}

}  // namespace sti
