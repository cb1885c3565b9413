#include "plan/search/context.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <span>

#include "plan/budget.h"
#include "plan/play/cold.h"
#include "plan/row_times.h"
#include "plan/shard_room.h"
#include "types/fields.h"
#include "types/importance.h"

namespace sti {
namespace {

/// The same numbers on every machine: splitmix64, a counter run through a mixing function.
class SplitMix {
 public:
  explicit SplitMix(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

/// Returns all shards: shuffled for kRandom, else as importance or, without it, position ranks
/// them.
std::vector<ShardId> RankShards(const CheckedInput& input, Strategy strategy, uint64_t seed) {
  if (strategy != Strategy::kRandom && input->importance != nullptr)
    return ImportanceRank(*input->importance);
  std::vector<ShardId> shards;
  for (uint32_t layer = 0; layer < input->catalog.layers; ++layer) {
    for (uint32_t slice = 0; slice < input->catalog.width; ++slice)
      shards.push_back({layer, slice});
  }
  if (strategy == Strategy::kRandom) {
    SplitMix random(seed);
    for (size_t i = shards.size(); i > 1; --i) std::swap(shards[i - 1], shards[random.Next() % i]);
  }
  return shards;
}

/// Returns the shards that are in memory before a plan of this scope is made, each once.
std::vector<ShardAtBits> HeldBefore(const PlanningScope& scope) {
  std::vector<ShardAtBits> held;
  if (scope.host != nullptr) held = scope.host->preload;
  if (!scope.fallback) return held;
  std::set<ShardId> known;
  for (const ShardAtBits& shard : held) known.insert(shard.id);
  for (const ShardAtBits& shard : ShardsOf(*scope.fallback)) {
    if (!known.contains(shard.id)) held.push_back(shard);
  }
  return held;
}

}  // namespace

Result<uint32_t> PlannedLength(const CheckedInput& input, uint32_t asked) {
  const uint32_t longest = input->info.max_length();
  if (asked == 0) {
    const uint32_t profiled = LongestProfiledLength(input->profile);
    return longest == 0 ? profiled : std::min(profiled, longest);
  }
  if (longest != 0 && asked > longest) {
    return UsageError("length " + std::to_string(asked) + " is more than the model's " +
                      std::to_string(longest) + " positions; ask for a shorter one");
  }
  return asked;
}

Result<PlanningContext> PlanningContext::Make(const CheckedInput& input, const PlanRequest& request,
                                              const PlanningTerms& terms,
                                              const PlanningScope& scope,
                                              std::vector<std::string>* explain) {
  STI_ASSIGN_OR_RETURN(DeviceModels devices,
                       DeviceModels::Make(input, scope.length, scope.clock, terms.judging,
                                          terms.target_us, scope.batch));
  const uint32_t longest =
      scope.host == nullptr ? scope.length : std::max(scope.host->Extent().tokens, scope.length);
  // A cold start finds no row in memory.
  const RowShare share =
      request.cold() ? RowShare{} : RowShareOf(input, scope.length, longest, scope.words);
  devices = WithRowShare(devices, share);
  const DeviceModel& device = devices.deciding();
  if (request.cold()) STI_RETURN_IF_ERROR(CheckColdIsKnown(input, device));
  STI_ASSIGN_OR_RETURN(ShardCosts costs, ShardCosts::Make(input->catalog, device));
  const std::vector<ShardAtBits> held = HeldBefore(scope);
  if (!held.empty()) costs = costs.Holding(held, input->catalog.block_bytes, device);
  const SubmodelWish wish{terms.submodel, request.width_min, request.allow_untrained,
                          terms.judging.interpolate};
  STI_ASSIGN_OR_RETURN(std::vector<Submodel> submodels,
                       AllowedSubmodels(input->info, device, wish));
  std::vector<ShardId> order = RankShards(input, request.strategy, request.seed);
  ValueModel value(costs.bits(), order, input->catalog.layers, input->catalog.width,
                   input->importance, submodels);
  return PlanningContext{input,
                         request,
                         terms,
                         scope,
                         std::move(devices),
                         std::move(costs),
                         std::move(submodels),
                         std::move(order),
                         std::move(value),
                         share,
                         explain};
}

ComputeLane PlanningContext::LaneOfSubmodel(const Submodel& submodel) const {
  return LaneOf(input, devices.deciding(), LayersOfDepth(input->info, submodel.depth),
                submodel.width, {request.cold(), {}, scope.keeps_vocabulary});
}

double PlanningContext::ComputeTime(const Submodel& submodel) const {
  const DeviceModel& device = devices.deciding();
  const ComputeLane lane{device.fixed(), submodel.depth, device.LayerUs(submodel.width).value_or(0),
                         device.LastLayerUs(submodel.width).value_or(0)};
  return lane.compute_us() + static_cast<double>(submodel.shards()) * LeastDecodeUs();
}

double PlanningContext::LeastDecodeUs() const {
  if (terms.uniform_bits) return devices.deciding().DecodeUs(*terms.uniform_bits);
  return request.strategy == Strategy::kSti ? costs.least_decode_us() : 0;
}

std::vector<Submodel> PlanningContext::ComputeFeasible() const {
  if (!terms.target_us) return submodels;
  std::vector<Submodel> feasible;
  for (const Submodel& submodel : submodels) {
    if (ComputeTime(submodel) <= *terms.target_us + kTimeTolerance_us) feasible.push_back(submodel);
  }
  return feasible;
}

Allocation PlanningContext::AllocationOf(const Submodel& submodel, bool with_target) const {
  Budget budget;
  budget.lane = LaneOfSubmodel(submodel);
  budget.wake_us = request.wake_us.value_or(0);
  if (with_target) budget.target_us = terms.target_us;
  budget.give_up_us = GiveUpTimes(submodel);
  if (scope.host == nullptr) {
    const uint32_t widest =
        std::max(submodel.width, scope.fallback ? scope.fallback->width : uint32_t{0});
    budget.preload_bytes = terms.preload_bytes - std::min(terms.preload_bytes, TakenBytes());
    const PlanExtent extent{.tokens = scope.length * scope.batch,
                            .width = widest,
                            .sequences = scope.batch,
                            .context = scope.context,
                            .depth = submodel.depth,
                            .keeps_vocabulary = scope.keeps_vocabulary};
    budget.shard_bytes = ShardMemory(input->memory, terms.judging, extent);
    if (budget.shard_bytes) *budget.shard_bytes -= std::min(*budget.shard_bytes, TakenBytes());
  } else {
    budget.shard_bytes = BesideHost(submodel.width);
  }
  return {costs, LayersOfDepth(input->info, submodel.depth), submodel.width, budget,
          RangesOf(submodel)};
}

uint64_t PlanningContext::TakenBytes() const {
  return AddSaturated(scope.fallback_bytes, RowBytes(input, scope.words));
}

std::vector<double> PlanningContext::GiveUpTimes(const Submodel& submodel) const {
  if (!scope.fallback) return {};
  return sti::GiveUpTimes(*scope.fallback, LayersOfDepth(input->info, submodel.depth),
                          devices.p99.SlowestLayerUs(submodel.width).value_or(0),
                          input->info.depth_layers);
}

uint64_t PlanningContext::FallbackBytesBeside(const Plan& host) const {
  const ShardCatalog& catalog = input->catalog;
  const uint64_t shared = catalog.BytesOfAll(scope.fallback_shards) -
                          catalog.BytesOfAll(ShardsBeside(host.preload, scope.fallback_shards));
  return scope.fallback_bytes - shared;
}

std::optional<uint64_t> PlanningContext::BesideHost(uint32_t width) const {
  const Plan& host = *scope.host;
  PlanExtent extent = host.Extent();
  extent.tokens = std::max(extent.tokens, scope.length * scope.batch);
  extent.sequences = std::max(extent.sequences, scope.batch);
  extent.width = std::max(extent.width, width);
  std::optional<uint64_t> bytes = ShardMemory(input->memory, terms.judging, extent);
  if (!bytes) return std::nullopt;
  *bytes -= std::min(*bytes, AddSaturated(host.preload_bytes, FallbackBytesBeside(host)));
  std::optional<uint64_t> counted_on = host.staging_bytes;
  for (const PlanCore& variant : host.variants)
    counted_on = std::max(counted_on, variant.staging_bytes);
  return *bytes < counted_on ? 0 : *bytes;
}

std::vector<LevelRange> PlanningContext::RangesOf(const Submodel& submodel) const {
  if (scope.host == nullptr) return {};
  const std::vector<uint32_t> layers = LayersOfDepth(input->info, submodel.depth);
  std::vector<LevelRange> ranges(submodel.shards(), {0, costs.levels() - 1});
  for (const ShardAtBits& held : scope.host->preload) {
    const auto found = std::find(layers.begin(), layers.end(), held.id.layer);
    const std::optional<size_t> level = costs.LevelOf(held.bits);
    if (found == layers.end() || held.id.slice >= submodel.width || !level) continue;
    const auto k = static_cast<size_t>(found - layers.begin());
    ranges[k * submodel.width + held.id.slice] = {*level, *level};
  }
  return ranges;
}

double PlanningContext::LossOf(const Allocation& allocation) const {
  const auto depth = static_cast<uint32_t>(allocation.layers().size());
  double sum = 0;
  double most = 0;
  for (size_t shard = 0; shard < allocation.shards(); ++shard) {
    const double weight = value.Weight(allocation.IdOf(shard));
    sum += weight * value.Lack(allocation.level(shard));
    most += weight;
  }
  return value.FullLoss(depth, allocation.width()) +
         value.Damage(depth, allocation.width()) * sum / most;
}

std::vector<size_t> PlanningContext::ShardOrder(const Submodel& submodel) const {
  const std::vector<uint32_t> layers = LayersOfDepth(input->info, submodel.depth);
  std::vector<std::optional<size_t>> position(input->catalog.layers);
  for (size_t k = 0; k < layers.size(); ++k) position[layers[k]] = k;
  std::vector<size_t> shards;
  shards.reserve(submodel.shards());
  for (const auto& [layer, slice] : order) {
    if (position[layer] && slice < submodel.width)
      shards.push_back(*position[layer] * submodel.width + slice);
  }
  return shards;
}

bool PlanningContext::IsHeld(ShardId id) const {
  if (scope.host == nullptr) return false;
  const auto& held = scope.host->preload;
  return std::any_of(held.begin(), held.end(),
                     [&](const ShardAtBits& shard) { return shard.id == id; });
}

std::vector<uint32_t> PlanningContext::PreloadedWords() const {
  const auto most_frequent = FrequentWords(input).first(scope.words);
  std::vector<uint32_t> words(most_frequent.begin(), most_frequent.end());
  std::sort(words.begin(), words.end());
  return words;
}

Plan PlanningContext::EmptyPlan() const {
  Plan plan;
  plan.model = input->model;
  plan.shape = input->shape;
  plan.strategy = request.strategy;
  plan.length = scope.length;
  plan.freq = UnlessZero(scope.clock);
  plan.microbatch = scope.batch;
  plan.wake_us = UnlessZero(request.wake_us.value_or(0));
  plan.cold = request.cold();
  plan.read_bytes = UnlessZero(input->profile.read_bytes);
  plan.read_depth = UnlessZero(input->profile.read_depth);
  if (input->profile.read_streams > 1) plan.read_streams = input->profile.read_streams;
  plan.target_us = terms.target_us;
  plan.kernel = input->profile.kernel;
  plan.read_path = input->profile.read_path;
  plan.threads = UnlessZero(input->profile.threads);
  plan.cpus = UnlessZero(input->profile.cpus);
  plan.row_share = row_share.median;
  plan.row_p99_share = row_share.p99;
  if (scope.host == nullptr) plan.words = PreloadedWords();
  plan.context = scope.context;
  plan.keeps_vocabulary = scope.keeps_vocabulary;
  plan.fallback = scope.fallback;
  return plan;
}

Plan PlanningContext::UniformPlan(const Submodel& submodel, uint32_t bits) const {
  Plan plan = EmptyPlan();
  RunUniformly(LayersOfDepth(input->info, submodel.depth), submodel.width, bits, &plan);
  return plan;
}

Plan PlanningContext::PlanOf(const Allocation& allocation) const {
  const auto depth = static_cast<uint32_t>(allocation.layers().size());
  Plan plan = UniformPlan({depth, allocation.width()}, costs.bits()[0]);
  for (size_t shard = 0; shard < allocation.shards(); ++shard) {
    const ShardId id = allocation.IdOf(shard);
    const uint32_t bits = costs.bits()[allocation.level(shard)];
    plan.bits.values()[shard] = bits;
    const bool preloaded = scope.host == nullptr ? shard < allocation.preloaded() : IsHeld(id);
    if (preloaded) plan.preload.push_back({id, bits});
  }
  return plan;
}

}  // namespace sti
