#include "plan/stages.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/remedy.h"
#include "plan/device_model.h"
#include "plan/judge.h"
#include "plan/partition.h"
#include "plan/search/cluster_planner.h"
#include "plan/search/context.h"
#include "plan/search/submodels.h"
#include "plan/text.h"
#include "types/bits.h"
#include "types/stage.h"

namespace sti {
namespace {

/// Returns the layers, the width and the length that are planned, without bits.
Result<PlanCore> WholeOf(const ClusterInput& cluster, const StageRequest& request) {
  const PlanInput& first = cluster.kinds.front().input;
  STI_ASSIGN_OR_RETURN(const CheckedInput input, CheckedInput::Make(first));
  PlanCore whole;
  whole.model = first.model;
  whole.shape = first.shape;
  whole.strategy = Strategy::kSti;
  STI_ASSIGN_OR_RETURN(whole.length, PlannedLength(input, request.length));
  for (size_t i = 1; i < cluster.kinds.size(); ++i) {
    STI_ASSIGN_OR_RETURN(const CheckedInput other, CheckedInput::Make(cluster.kinds[i].input));
    STI_ASSIGN_OR_RETURN(const uint32_t length, PlannedLength(other, request.length));
    whole.length = std::min(whole.length, length);
  }
  const Submodel all{first.info.shape.layers, first.info.shape.width};
  STI_ASSIGN_OR_RETURN(const DeviceModel device,
                       DeviceModel::Make(first.profile, whole.length, Risk::kMedian));
  const SubmodelWish wish{request.submodel.value_or(all), 1, request.allow_untrained,
                          request.interpolate};
  STI_ASSIGN_OR_RETURN(const std::vector<Submodel> allowed,
                       AllowedSubmodels(first.info, device, wish));
  const Submodel& submodel = allowed.front();
  RunUniformly(LayersOfDepth(first.info, submodel.depth), submodel.width, kLeastBits, &whole);
  return whole;
}

/// Returns the microbatches that are asked for, or those that all profiles have.
std::vector<uint32_t> MicrobatchesOf(const ClusterInput& cluster, const StageRequest& request) {
  if (!request.microbatches.empty()) return request.microbatches;
  std::vector<uint32_t> common{1};
  for (const BatchSamples& samples : cluster.kinds.front().input.profile.batches) {
    const auto has = [&](const DeviceKind& kind) {
      const auto& batches = kind.input.profile.batches;
      return std::ranges::find(batches, samples.batch, &BatchSamples::batch) != batches.end();
    };
    if (std::ranges::all_of(cluster.kinds, has)) common.push_back(samples.batch);
  }
  return common;
}

/// Returns the bits that shards may have uniformly, the best first.
std::vector<uint32_t> BitsToTry(const ShardCatalog& catalog, const StageRequest& request) {
  if (request.bits) return {*request.bits};
  std::vector<uint32_t> bits;
  for (const uint32_t offered : catalog.bits) {
    if (offered <= kMostBits) bits.insert(bits.begin(), offered);
  }
  if (bits.empty()) bits = catalog.bits;
  return bits;
}

/// A partition for passes of one size at uniform bits.
struct Candidate {
  Partition partition;
  uint32_t microbatch = 1;
  uint32_t bits = 0;

  [[nodiscard]] double PerSequenceUs() const { return partition.period_us / microbatch; }
};

Status CheckCluster(const ClusterInput& cluster, const StageRequest& request) {
  std::vector<uint32_t> devices;
  for (const DeviceKind& kind : cluster.kinds)
    devices.push_back(static_cast<uint32_t>(kind.devices.size()));
  const bool is_alone = devices.size() == 1 && devices.front() == 1;
  if (!is_alone && std::ranges::none_of(cluster.links,
                                        [](const KindLink& link) { return link.bits_per_s > 0; })) {
    return DataError("no device is linked to another").Fix(Remedy::kCorrectFile);
  }
  const ShardCatalog& catalog = cluster.kinds.front().input.catalog;
  if (PartitionStates(catalog.layers, devices) > kMostPartitionStates) {
    return UsageError(
        "the cluster has too many kinds of devices; let devices that are alike be of "
        "one kind");
  }
  if (request.bits && std::ranges::find(catalog.bits, *request.bits) == catalog.bits.end())
    return UsageError("the model has no shards of " + std::to_string(*request.bits) + " bits");
  return {};
}

Error NothingFits(const ClusterPlanner& planner, uint32_t bits) {
  const std::optional<uint64_t> least = planner.LeastMemory(bits);
  if (!least) {
    return InfeasibleError(
        "no devices of the cluster are linked so that the model could be split between them");
  }
  return InfeasibleError("no partition fits the memory of the devices; with " +
                         std::to_string(*least) + " bytes on each of them one would");
}

}  // namespace

Result<Plan> PlanForCluster(const ClusterInput& cluster, const StageRequest& request,
                            std::vector<std::string>* explain) {
  const auto say = [&](std::string line) {
    if (explain != nullptr) explain->push_back(std::move(line));
  };
  STI_RETURN_IF_ERROR(CheckCluster(cluster, request));
  STI_ASSIGN_OR_RETURN(const PlanCore whole, WholeOf(cluster, request));
  const std::vector<uint32_t> bits = BitsToTry(cluster.kinds.front().input.catalog, request);
  std::optional<Candidate> best;
  std::optional<Error> none;
  for (const uint32_t microbatch : MicrobatchesOf(cluster, request)) {
    STI_ASSIGN_OR_RETURN(const ClusterPlanner planner,
                         ClusterPlanner::Make(cluster, request.interpolate, whole, microbatch));
    std::optional<Partition> partition;
    uint32_t at_bits = 0;
    for (size_t i = 0; i < bits.size() && !partition; ++i)
      partition = planner.PartitionAt(at_bits = bits[i]);
    if (!partition) {
      if (!none) none = NothingFits(planner, bits.back());
      say("microbatch " + std::to_string(microbatch) + ": fits nowhere");
      continue;
    }
    const Candidate candidate{*std::move(partition), microbatch, at_bits};
    say("microbatch " + std::to_string(microbatch) + ": " +
        Counted(candidate.partition.stages.size(), "stage") + " at " + std::to_string(at_bits) +
        " bits, period " + Ms(candidate.partition.period_us) + ", " +
        Ms(candidate.PerSequenceUs()) + " a text");
    const bool better =
        !best || candidate.bits > best->bits ||
        (candidate.bits == best->bits && candidate.PerSequenceUs() < best->PerSequenceUs());
    if (better) best = candidate;
  }
  if (!best) return *none;
  STI_ASSIGN_OR_RETURN(const ClusterPlanner planner,
                       ClusterPlanner::Make(cluster, request.interpolate, whole, best->microbatch));
  Plan plan = planner.PlanOf(best->partition, best->bits);
  (void)planner.FillFigures(&plan);
  return plan;
}

namespace {

/// Returns a planner for a plan from elsewhere, whose devices are the cluster's.
Result<ClusterPlanner> PlannerFor(const ClusterInput& cluster, bool interpolate, const Plan& plan) {
  const PlanInput& input = cluster.kinds.front().input;
  STI_ASSIGN_OR_RETURN(const CheckedInput checked, CheckedInput::Make(input));
  STI_RETURN_IF_ERROR(CheckFits(checked, plan));
  PlanCore whole = plan;
  STI_ASSIGN_OR_RETURN(ClusterPlanner planner,
                       ClusterPlanner::Make(cluster, interpolate, whole, plan.staged->microbatch));
  for (size_t i = 0; i < plan.staged->stages.size(); ++i) {
    const std::string& device = plan.staged->stages[i].device;
    if (planner.KindOf(device) == cluster.kinds.size())
      return ForeignError("the cluster has no device " + device).In(Source::kPlan);
    if (i == 0) continue;
    const std::string& before = plan.staged->stages[i - 1].device;
    if (cluster.Link(planner.KindOf(before), planner.KindOf(device)).bits_per_s <= 0) {
      return ForeignError("the cluster has no link from " + before + " to " + device)
          .In(Source::kPlan);
    }
  }
  return planner;
}

}  // namespace

Result<StageVerdicts> JudgeStages(const ClusterInput& cluster, bool interpolate, const Plan& plan) {
  STI_ASSIGN_OR_RETURN(const ClusterPlanner planner, PlannerFor(cluster, interpolate, plan));
  Plan judged = plan;
  StageVerdicts verdicts;
  verdicts.problem = planner.FillFigures(&judged);
  verdicts.staged = *std::move(judged.staged);
  return verdicts;
}

Result<std::vector<PlanTimeline>> PlayStages(const ClusterInput& cluster, bool interpolate,
                                             const Plan& plan) {
  STI_ASSIGN_OR_RETURN(const ClusterPlanner planner, PlannerFor(cluster, interpolate, plan));
  std::vector<PlanTimeline> timelines;
  for (size_t i = 0; i < plan.staged->stages.size(); ++i)
    timelines.push_back(planner.Play(plan, i));
  return timelines;
}

}  // namespace sti
