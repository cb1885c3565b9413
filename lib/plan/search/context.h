// A plan is made for one *scope*: a length and a clock. This file holds what every strategy needs
// for that: the checked input, the times of the device, the cost of each shard at each bitwidth,
// what shards are worth, and the submodels that the request allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "plan/device_model.h"
#include "plan/play/shard_costs.h"
#include "plan/request.h"
#include "plan/row_times.h"
#include "plan/search/allocation.h"
#include "plan/search/submodels.h"
#include "plan/search/value.h"
#include "types/plan.h"
#include "types/shard_id.h"

namespace sti {

/// The terms that a plan keeps: those of its request, or others that are tried in their place.
struct PlanningTerms {
  std::optional<double> target_us;       ///< T
  uint64_t preload_bytes = 0;            ///< S
  std::optional<Submodel> submodel;      ///< nothing: any that the request allows
  std::optional<uint32_t> uniform_bits;  ///< nothing: as the strategy chooses
  Judging judging;

  /// Returns the terms that a request names.
  static PlanningTerms Of(const PlanRequest& request) {
    return {request.target_us, request.preload_bytes, request.submodel, request.uniform_bits,
            request.judging};
  }
};

/// Says which of the request's plans is made.
struct PlanningScope {
  uint32_t length = 0;  ///< in tokens
  uint64_t clock = 0;   ///< kHz; 0: the highest profiled
  uint32_t batch = 1;   ///< inputs of a pass
  /// A plan whose preload buffer and memory this one shares with the variants that it has so far,
  /// or null. Shards that it holds cost no IO, and keep their bits.
  const Plan* host = nullptr;
  /// The submodel that runs compute with when they give up on IO; nothing: no guarantee is asked
  /// for. Its shards are in memory, and cost the plan's own only the planes that are missing.
  std::optional<Fallback> fallback = {};
  /// As those of the plan that is made, of a model that continues texts.
  uint32_t context = 0;
  bool keeps_vocabulary = false;
  /// Most frequent words whose rows are in the preload buffer.
  size_t words = 0;
  /// Shards that all fallbacks together have, and bytes of the preload buffer that these and the
  /// rows of fallbacks take where no plan preloads any of them.
  std::vector<ShardAtBits> fallback_shards = {};
  uint64_t fallback_bytes = 0;
};

/// Holds what follows from input, request, terms and scope, derived once. The input and the host
/// outlive it.
struct PlanningContext {
  const CheckedInput& input;
  PlanRequest request;
  PlanningTerms terms;  ///< hold wherever the request says the same
  PlanningScope scope;
  DeviceModels devices;
  ShardCosts costs;
  std::vector<Submodel> submodels;  ///< those that the request allows
  std::vector<ShardId> order;       ///< most important first
  ValueModel value;
  RowShare row_share;  ///< share of embedding rows that `devices` count on
  std::vector<std::string>* explain = nullptr;

  /// Derives the context from a valid request. `explain`, where given, receives one line a
  /// decision. kUsage if the profile does not tell the scope's times, kInfeasible if the request
  /// allows no submodel.
  static Result<PlanningContext> Make(const CheckedInput& input, const PlanRequest& request,
                                      const PlanningTerms& terms, const PlanningScope& scope,
                                      std::vector<std::string>* explain);
  /// Derives a context as the other Make does, by the terms of the request.
  static Result<PlanningContext> Make(const CheckedInput& input, const PlanRequest& request,
                                      const PlanningScope& scope,
                                      std::vector<std::string>* explain) {
    return Make(input, request, PlanningTerms::Of(request), scope, explain);
  }
  /// Derives the context of the same plan by other terms, which explains nothing.
  [[nodiscard]] Result<PlanningContext> By(const PlanningTerms& others) const {
    return Make(input, request, others, scope, nullptr);
  }

  void Say(std::string line) const {
    if (explain != nullptr) explain->push_back(std::move(line));
  }
  [[nodiscard]] ComputeLane LaneOfSubmodel(const Submodel& submodel) const;
  /// Returns (n - 1) * T_comp + T_last + T_fixed, in microseconds: at the bits that the request
  /// asks for, at those that are fastest where they are to be chosen too, or as profiled where bits
  /// come second (STI 5.4.2).
  [[nodiscard]] double ComputeTime(const Submodel& submodel) const;
  /// Returns the submodels whose compute alone is done by T; all without a target.
  [[nodiscard]] std::vector<Submodel> ComputeFeasible() const;
  /// Returns an allocation of the submodel at its lowest bits, within what the request lets its
  /// shards take.
  [[nodiscard]] Allocation AllocationOf(const Submodel& submodel, bool with_target = true) const;
  /// Returns the submodel's shards (n * m, layer order) as `order` ranks them.
  [[nodiscard]] std::vector<size_t> ShardOrder(const Submodel& submodel) const;
  /// Returns the loss of these bits (search/value.h).
  [[nodiscard]] double LossOf(const Allocation& allocation) const;

  /// Returns a plan of slices 0..m-1 at one bitwidth, nothing preloaded, without figures.
  [[nodiscard]] Plan UniformPlan(const Submodel& submodel, uint32_t bits) const;
  /// Returns a plan of these bits and this preload, without figures.
  [[nodiscard]] Plan PlanOf(const Allocation& allocation) const;

 private:
  /// Returns what ComputeTime counts for the bits of a shard.
  [[nodiscard]] double LeastDecodeUs() const;
  [[nodiscard]] Plan EmptyPlan() const;
  /// Returns the words whose rows the plan preloads, ascending.
  [[nodiscard]] std::vector<uint32_t> PreloadedWords() const;
  /// Returns the bytes of the preload buffer that fallbacks and rows take.
  [[nodiscard]] uint64_t TakenBytes() const;
  /// Returns the bytes that fallbacks take beside what the host preloads.
  [[nodiscard]] uint64_t FallbackBytesBeside(const Plan& host) const;
  /// Returns the bytes that shards of a variant of `width` slices may take beside those that the
  /// host keeps: none where host and earlier variants would not have the staging that they count
  /// on, nothing if memory is not bounded.
  [[nodiscard]] std::optional<uint64_t> BesideHost(uint32_t width) const;
  /// Returns the moments before T by which the layers' shards must be there for the guarantee.
  [[nodiscard]] std::vector<double> GiveUpTimes(const Submodel& submodel) const;
  [[nodiscard]] std::vector<LevelRange> RangesOf(const Submodel& submodel) const;
  [[nodiscard]] bool IsHeld(ShardId id) const;
};

/// Returns the length to plan for where `asked` tokens are asked for, 0 for the longest profiled.
/// kUsage if the model takes no input as long.
Result<uint32_t> PlannedLength(const CheckedInput& input, uint32_t asked);

}  // namespace sti
