#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/remedy.h"
#include "format/plan_file_parts.h"
#include "types/bits.h"
#include "types/limits.h"

namespace sti {
namespace {

using ShardBits = std::map<ShardId, uint32_t>;

/// Layers, slices and bits; fills `shards` with what the plan runs.
Status CheckRows(const Plan& plan, const std::string& name, ShardBits* shards) {
  const auto n = static_cast<uint32_t>(plan.layers.size());
  if (n == 0 || n > kMaxLayers) return PlanError(name, "layers does not have 1 to 1024 entries");
  if (plan.width == 0 || plan.width > kMaxWidth)
    return PlanError(name, "width is not from 1 to 256");
  if (std::adjacent_find(plan.layers.begin(), plan.layers.end(), std::greater_equal<>()) !=
      plan.layers.end())
    return PlanError(name, "layers does not ascend");
  if (plan.layers.back() >= kMaxLayers) return PlanError(name, "layers names one above 1023");
  if (plan.slices.rows() != n || plan.bits.rows() != n)
    return PlanError(name, "slices and bits do not have one row a layer");
  if (plan.slices.columns() != plan.width || plan.bits.columns() != plan.width) {
    return PlanError(
        name, "the rows of slices or bits do not have " + std::to_string(plan.width) + " entries");
  }
  for (uint32_t k = 0; k < n; ++k) {
    for (uint32_t i = 0; i < plan.width; ++i) {
      const ShardId id = plan.Id(k, i);
      if (id.slice >= kMaxWidth) return PlanError(name, NameOf(id) + ": slices end at 255");
      if (!IsBits(plan.bits.At(k, i)))
        return PlanError(name, NameOf(id) + ": bits is not 2 to 6, or 32");
      if (!shards->emplace(id, plan.bits.At(k, i)).second)
        return PlanError(name, NameOf(id) + " is there twice");
    }
  }
  return {};
}

Status CheckNumber(const char* field, double number, const std::string& name) {
  if (std::isfinite(number) && number >= 0) return {};
  return PlanError(name, std::string(field) + " is negative or not a finite number");
}

Status CheckFinite(const char* field, double number, const std::string& name) {
  if (std::isfinite(number)) return {};
  return PlanError(name, std::string(field) + " is not a finite number");
}

/// What plans and turns predict.
template <typename Predicts>
Status CheckPredictions(const Predicts& it, size_t layers, const std::string& name) {
  if (!it.aib_us.empty() && it.aib_us.size() != layers)
    return PlanError(name, "aib_us does not have one entry a layer");
  for (double aib_us : it.aib_us) STI_RETURN_IF_ERROR(CheckFinite("aib_us", aib_us, name));
  STI_RETURN_IF_ERROR(CheckNumber("predicted_latency_us", it.predicted_latency_us, name));
  STI_RETURN_IF_ERROR(CheckNumber("predicted_p99_us", it.predicted_p99_us, name));
  STI_RETURN_IF_ERROR(CheckFinite("predicted_loss", it.predicted_loss.value_or(0), name));
  return CheckNumber("predicted_accuracy", it.predicted_accuracy.value_or(0), name);
}

Status CheckTimes(const Plan& plan, const std::string& name) {
  if (!plan.times) return {};
  const PlanTimes& times = *plan.times;
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
  for (const auto& [field, time_us] : fields)
    STI_RETURN_IF_ERROR(CheckNumber(field, time_us, name));
  if (times.layer_io_us.size() != plan.layers.size())
    return PlanError(name, "times.layer_io_us does not have one entry a layer");
  for (double load_us : times.layer_io_us)
    STI_RETURN_IF_ERROR(CheckNumber("times.layer_io_us", load_us, name));
  return {};
}

/// A process that has just started holds nothing, and has not waited for anything.
Status CheckCold(const Plan& plan, const std::string& name) {
  if (!plan.cold) return {};
  if (!plan.preload.empty() || !plan.turns.empty() || plan.wake_us > 0)
    return PlanError(name, "a cold plan has a preload, turns or a lead time");
  return {};
}

Status CheckNumbers(const Plan& plan, const std::string& name) {
  if (plan.length == 0 || plan.length > kMaxLength)
    return PlanError(name, "length is not from 1 to 1048576");
  STI_RETURN_IF_ERROR(CheckFinite("slack_us", plan.slack_us.value_or(0), name));
  STI_RETURN_IF_ERROR(CheckNumber("target_us", plan.target_us.value_or(0), name));
  STI_RETURN_IF_ERROR(CheckNumber("wake_us", plan.wake_us, name));
  STI_RETURN_IF_ERROR(CheckTimes(plan, name));
  if (plan.staging_bytes > kMaxStagingBytes)
    return PlanError(name, "staging_bytes is more than 1 TiB");
  STI_RETURN_IF_ERROR(CheckCold(plan, name));
  return CheckPredictions(plan, plan.layers.size(), name);
}

Status CheckPlan(const Plan& plan, const std::string& name, ShardBits* shards) {
  STI_RETURN_IF_ERROR(CheckRows(plan, name, shards));
  STI_RETURN_IF_ERROR(CheckNumbers(plan, name));
  std::set<ShardId> seen;
  for (const ShardAtBits& shard : plan.preload) {
    auto found = shards->find(shard.id);
    if (found == shards->end() || found->second != shard.bits ||
        !seen.insert(found->first).second) {
      return PlanError(
          name, "preload: " + NameOf(shard) + " is not what the plan runs, or is there twice");
    }
  }
  if (plan.model.empty()) return PlanError(name, "model is missing");
  for (const std::string* text : {&plan.other_strategy, &plan.kernel.name, &plan.read_path}) {
    if (text->size() > kMaxPlanTextBytes)
      return PlanError(name, "a text is longer than 65536 bytes");
  }
  return {};
}

/// `before` holds the bits of the turn before, of every shard, and receives this one's.
Status CheckTurnBits(const Plan& plan, const PlanTurn& turn, const std::string& name,
                     ShardBits* before) {
  if (turn.bits.rows() != plan.layers.size())
    return PlanError(name, "bits does not have one row a layer");
  if (turn.bits.columns() != plan.width) {
    return PlanError(name,
                     "the rows of bits do not have " + std::to_string(plan.width) + " entries");
  }
  for (uint32_t k = 0; k < turn.bits.rows(); ++k) {
    for (uint32_t i = 0; i < plan.width; ++i) {
      const ShardId id = plan.Id(k, i);
      uint32_t& bits = before->at(id);
      if (!IsBits(turn.bits.At(k, i)))
        return PlanError(name, NameOf(id) + ": bits is not 2 to 6, or 32");
      if (turn.bits.At(k, i) < bits)
        return PlanError(name, NameOf(id) + " has fewer bits than in the turn before");
      bits = turn.bits.At(k, i);
    }
  }
  return {};
}

Status CheckTurns(const Plan& plan, ShardBits bits, const std::string& name) {
  if (plan.turns.size() > kMaxTurns) return PlanError(name, "more than 64 turns");
  for (size_t t = 0; t < plan.turns.size(); ++t) {
    const PlanTurn& turn = plan.turns[t];
    const std::string where = name + ": turns[" + std::to_string(t) + "]";
    STI_RETURN_IF_ERROR(CheckTurnBits(plan, turn, where, &bits));
    if (t == 0 && turn.bits != plan.bits)
      return PlanError(where, "the first turn's bits are not the plan's");
    std::set<ShardId> seen;
    for (const ShardAtBits& shard : turn.preload) {
      auto found = bits.find(shard.id);
      if (found == bits.end() || !IsBits(shard.bits) || shard.bits > found->second ||
          !seen.insert(found->first).second) {
        return PlanError(
            where, "preload: " + NameOf(shard) + " is more than the turn runs, or is there twice");
      }
    }
    if (turn.preload_bytes > plan.turn_bytes)
      return PlanError(where, "preload_bytes is more than turn_bytes");
    STI_RETURN_IF_ERROR(CheckPredictions(turn, plan.layers.size(), where));
  }
  return {};
}

/// One buffer serves all: what a variant finds in memory is what the plan put there.
Status CheckVariant(const Plan& plan, const Plan& variant, const std::string& name) {
  if (!variant.variants.empty()) return PlanError(name, "a variant has variants of its own");
  if (!variant.turns.empty()) return PlanError(name, "a variant has turns");
  if (variant.model != plan.model) return PlanError(name, "it is for another model");
  if (variant.cold != plan.cold) return PlanError(name, "of it and the plan only one starts cold");
  ShardBits shards;
  STI_RETURN_IF_ERROR(CheckPlan(variant, name, &shards));
  ShardBits held;
  for (const ShardAtBits& shard : plan.preload) held.emplace(shard.id, shard.bits);
  for (const ShardAtBits& shard : variant.preload) {
    auto found = held.find(shard.id);
    if (found == held.end() || found->second != shard.bits)
      return PlanError(name, "preload: " + NameOf(shard) + " is not preloaded by the plan");
  }
  return {};
}

}  // namespace

Error PlanError(const std::string& name, const std::string& problem) {
  return DataError(problem).At(name).Fix(Remedy::kCorrectPlan);
}

Status ValidatePlanFile(const Plan& plan, const std::string& name) {
  ShardBits shards;
  STI_RETURN_IF_ERROR(CheckPlan(plan, name, &shards));
  STI_RETURN_IF_ERROR(CheckTurns(plan, std::move(shards), name));
  if (plan.variants.size() > kMaxVariants) return PlanError(name, "more than 64 variants");
  std::set<std::pair<uint32_t, uint64_t>> planned = {{plan.length, plan.freq}};
  for (size_t i = 0; i < plan.variants.size(); ++i) {
    const Plan& variant = plan.variants[i];
    const std::string where = name + ": variants[" + std::to_string(i) + "]";
    STI_RETURN_IF_ERROR(CheckVariant(plan, variant, where));
    if (!planned.emplace(variant.length, variant.freq).second)
      return PlanError(where, "its length and freq are planned already");
  }
  return {};
}

}  // namespace sti
