#include "plan/evaluation.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "plan/aib.h"
#include "plan/planned_shards.h"
#include "plan/shard_costs.h"
#include "plan/submodels.h"
#include "plan/text.h"
#include "plan/timeline.h"
#include "plan/value.h"

namespace sti {
namespace {

ComputeLane LaneOf(const DeviceModel& device, const Plan& plan) {
  return {device.fixed(), static_cast<uint32_t>(plan.layers.size()),
          device.LayerUs(plan.width).value_or(0)};
}

std::vector<StreamedShard> Streamed(const std::vector<PlannedShard>& shards) {
  std::vector<StreamedShard> streamed;
  for (const PlannedShard& shard : shards) {
    if (!shard.preloaded) streamed.push_back(shard.shard);
  }
  return streamed;
}

/// Latency under the strategy's delay model; infinite if staging can never hold a layer.
double LatencyOf(DelayModel model, const ComputeLane& lane,
                 const std::vector<StreamedShard>& streamed, std::optional<uint64_t> staging,
                 double wake_us) {
  if (model == DelayModel::kSerial) return SerialLatency(lane, streamed);
  return PipelineLatency(lane, streamed, staging, wake_us)
      .value_or(std::numeric_limits<double>::infinity());
}

std::vector<double> AibsOf(const ComputeLane& lane, const std::vector<PlannedShard>& shards,
                           double slack_us, double wake_us, bool streamed_only) {
  std::vector<double> layer_io_us(lane.layers);
  double bonus_us = 0;
  for (const PlannedShard& shard : shards) {
    if (shard.preloaded && streamed_only) continue;
    layer_io_us[shard.shard.position] += shard.shard.load_us;
    if (shard.preloaded) bonus_us += shard.shard.load_us;
  }
  return ComputeAibs(bonus_us + wake_us, slack_us, lane.fixed.embed_io_us, lane.layer_us,
                     layer_io_us);
}

/// Bytes that a plan reads into staging, and the most that one layer of it does.
struct Staging {
  uint64_t all = 0;
  uint64_t largest_layer = 0;
};

Staging StagingOf(const std::vector<PlannedShard>& shards, size_t layers) {
  Staging staging;
  std::vector<uint64_t> layer_bytes(layers);
  for (const PlannedShard& shard : shards) {
    if (shard.preloaded) continue;
    staging.all += shard.shard.bytes;
    layer_bytes[shard.shard.position] += shard.shard.bytes;
  }
  staging.largest_layer = *std::max_element(layer_bytes.begin(), layer_bytes.end());
  return staging;
}

/// Bytes of preload, all shards, and the peak of the process. False if memory is exceeded.
/// Variants share preload and staging; turns may hold more than the preload buffer.
bool FillMemory(const PlanInput& input, const DeviceModel& device,
                std::optional<uint64_t> shard_memory, DelayModel model,
                const std::vector<PlannedShard>& shards, const Plan& plan, PlanCheck* check) {
  for (const PlannedShard& shard : shards) {
    check->parameter_bytes += shard.shard.bytes;
    if (shard.preloaded) check->preload_bytes += shard.shard.bytes;
  }
  Staging most = StagingOf(shards, plan.layers.size());
  for (const Plan& variant : plan.variants) {
    const Staging other =
        StagingOf(ShardsOf(input.catalog, device, variant), variant.layers.size());
    most.all = std::max(most.all, other.all);
    most.largest_layer = std::max(most.largest_layer, other.largest_layer);
  }
  const uint64_t held = std::max(check->preload_bytes, plan.turns.empty() ? 0 : plan.turn_bytes);
  const uint64_t least = model == DelayModel::kSerial ? most.all : most.largest_layer;
  uint64_t staging = most.all;
  bool fits = true;
  if (shard_memory) {
    fits = held <= *shard_memory && least <= *shard_memory - held;
    staging = fits ? std::min(most.all, *shard_memory - held) : least;
  }
  check->peak_bytes = AddSaturated(BaseBytes(input, plan), AddSaturated(held, staging));
  return fits;
}

/// Which shard, if any, the plan spells in a way this model or device cannot serve.
Status CheckShards(const PlanInput& input, const DeviceModel& device, const Plan& plan) {
  std::set<std::pair<uint32_t, uint32_t>> seen;
  for (size_t k = 0; k < plan.layers.size(); ++k) {
    if (plan.slices[k].size() != plan.width || plan.bits[k].size() != plan.width) {
      return DataError("plan: a row of slices or bits is not " + std::to_string(plan.width) +
                       " long; correct it or run sti-plan again");
    }
    for (size_t i = 0; i < plan.width; ++i) {
      const std::string name =
          "layer " + std::to_string(plan.layers[k]) + " slice " + std::to_string(plan.slices[k][i]);
      const auto bytes =
          StoredBytes(input.catalog, {plan.layers[k], plan.slices[k][i], plan.bits[k][i]});
      if (!bytes || !seen.emplace(plan.layers[k], plan.slices[k][i]).second) {
        return DataError("plan: " + name + " at " + std::to_string(plan.bits[k][i]) +
                         " bits is not in the model, or twice in the plan; run sti-plan again");
      }
      if (!device.LoadUs(plan.bits[k][i], *bytes)) {
        return UsageError("profile: no load time for " + std::to_string(plan.bits[k][i]) +
                          " bits, which the plan uses; run sti-profile again");
      }
    }
  }
  return {};
}

Status CheckPreload(const Plan& plan) {
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> not_preloaded;
  for (size_t k = 0; k < plan.layers.size(); ++k) {
    for (size_t i = 0; i < plan.width; ++i)
      not_preloaded[{plan.layers[k], plan.slices[k][i]}] = plan.bits[k][i];
  }
  for (const PreloadedShard& shard : plan.preload) {
    auto found = not_preloaded.find({shard.layer, shard.slice});
    if (found == not_preloaded.end() || found->second != shard.bits) {
      return DataError("plan: preload names layer " + std::to_string(shard.layer) + " slice " +
                       std::to_string(shard.slice) + " at " + std::to_string(shard.bits) +
                       " bits, which the plan does not run, or names it twice; correct it");
    }
    not_preloaded.erase(found);
  }
  return {};
}

Status CheckBelongs(const PlanInput& input, const Plan& plan) {
  if (!plan.model.empty() && !input.model.empty() && plan.model != input.model) {
    return DataError("plan: it was made for model " + plan.model.Prefix() + ", not " +
                     input.model.Prefix() + "; run sti-plan on this model");
  }
  if (plan.layers.empty() || plan.width == 0 || plan.slices.size() != plan.layers.size() ||
      plan.bits.size() != plan.layers.size())
    return DataError("plan: layers, slices and bits do not agree; run sti-plan again");
  const bool ascending = std::adjacent_find(plan.layers.begin(), plan.layers.end(),
                                            std::greater_equal<>()) == plan.layers.end();
  if (!ascending) return DataError("plan: layers do not ascend; correct them");
  return {};
}

}  // namespace

Result<DeviceModels> DeviceModels::Make(const DeviceProfile& profile, uint32_t length, Risk risk,
                                        const ProfileReading& reading) {
  STI_ASSIGN_OR_RETURN(DeviceModel median,
                       DeviceModel::Make(profile, length, Risk::kMedian, reading));
  STI_ASSIGN_OR_RETURN(DeviceModel p99, DeviceModel::Make(profile, length, Risk::kP99, reading));
  return DeviceModels{std::move(median), std::move(p99), risk};
}

DelayModel DelayModelOf(const std::string& strategy) {
  if (strategy == "stdpl") return DelayModel::kPipeline;
  if (strategy == "load-exec") return DelayModel::kSerial;
  if (strategy == "preload") return DelayModel::kMemory;
  return DelayModel::kAib;
}

PlanCheck EvaluatePlan(const PlanInput& input, const PlanRequest& request,
                       const DeviceModels& devices, const Plan& plan) {
  PlanCheck check;
  const DelayModel model = DelayModelOf(plan.strategy);
  const auto memory = ShardMemory(input, request, plan.length, plan.width);
  const auto shards = ShardsOf(input.catalog, devices.deciding(), plan);
  const bool memory_fits =
      FillMemory(input, devices.deciding(), memory, model, shards, plan, &check);
  std::optional<uint64_t> staging;
  check.fits_memory = memory_fits;
  if (memory && memory_fits) staging = *memory - check.preload_bytes;

  auto latency = [&](const DeviceModel& device) {
    return LatencyOf(model, LaneOf(device, plan), Streamed(ShardsOf(input.catalog, device, plan)),
                     staging, plan.wake_us);
  };
  check.latency_us = latency(devices.median);
  check.p99_us = latency(devices.p99);
  check.deciding_latency_us = devices.risk == Risk::kP99 ? check.p99_us : check.latency_us;

  const ComputeLane lane = LaneOf(devices.deciding(), plan);
  if (plan.target_us) {
    check.slack_us = *plan.target_us - lane.fixed.compute_us() -
                     static_cast<double>(lane.layers) * lane.layer_us;
  }
  const double slack_us = check.slack_us.value_or(0);
  if (model == DelayModel::kAib || model == DelayModel::kPipeline)
    check.aib_us = AibsOf(lane, shards, slack_us, plan.wake_us, false);
  const bool in_budget = model != DelayModel::kAib || !plan.target_us ||
                         AibsValid(AibsOf(lane, shards, slack_us, plan.wake_us, true));
  const bool in_time =
      !plan.target_us || check.deciding_latency_us <= *plan.target_us + kTimeTolerance_us;
  if (!memory_fits) {
    check.problem = "needs " + std::to_string(check.peak_bytes) + " bytes of memory";
  } else if (!in_time) {
    check.problem = "takes " + Ms(check.deciding_latency_us) + " of " + Ms(*plan.target_us);
  } else if (!in_budget) {
    check.problem = "overdraws an accumulated IO budget";
  }
  check.valid = check.problem.empty();
  const PredictedQuality quality = PredictQuality(input, plan, plan.bits);
  check.loss = quality.loss;
  check.accuracy = quality.accuracy;
  return check;
}

Result<PlanCheck> CheckPlan(const PlanInput& input, const PlanRequest& request, const Plan& plan) {
  STI_RETURN_IF_ERROR(ValidateCatalog(input.catalog));
  STI_RETURN_IF_ERROR(ValidateModel(input.info, input.catalog));
  STI_RETURN_IF_ERROR(CheckBelongs(input, plan));
  STI_ASSIGN_OR_RETURN(DeviceModels devices,
                       DeviceModels::Make(input.profile, plan.length, request.risk,
                                          {plan.freq, request.interpolate}));
  if (!devices.deciding().LayerUs(plan.width)) {
    return UsageError("profile: no compute time for width " + std::to_string(plan.width) +
                      ", which the plan uses; run sti-profile --widths");
  }
  STI_RETURN_IF_ERROR(CheckShards(input, devices.deciding(), plan));
  STI_RETURN_IF_ERROR(CheckPreload(plan));
  for (const Plan& variant : plan.variants) {
    STI_RETURN_IF_ERROR(CheckBelongs(input, variant));
    STI_RETURN_IF_ERROR(CheckShards(input, devices.deciding(), variant));
  }
  Plan checked = plan;
  if (request.target_us) checked.target_us = request.target_us;
  return EvaluatePlan(input, request, devices, checked);
}

void FillFigures(const PlanCheck& check, Plan* plan) {
  plan->aib_us = check.aib_us;
  plan->slack_us = check.slack_us;
  plan->meets_target = check.valid;
  plan->predicted_latency_us = check.latency_us;
  plan->predicted_p99_us = check.p99_us;
  plan->predicted_peak_bytes = check.peak_bytes;
  plan->preload_bytes = check.preload_bytes;
  plan->parameter_bytes = check.parameter_bytes;
  plan->predicted_loss = check.loss;
  plan->predicted_accuracy = check.accuracy;
}

}  // namespace sti
