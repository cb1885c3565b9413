#include <algorithm>
#include <utility>

#include "base/remedy.h"
#include "plan/budget.h"
#include "plan/search/search.h"
#include "plan/text.h"
#include "types/device_profile.h"

namespace sti {
namespace {

size_t LevelAsked(const PlanningContext& context) {
  if (!context.terms.uniform_bits) return 0;
  return context.costs.LevelOf(*context.terms.uniform_bits).value_or(0);
}

/// Returns the bytes of the fewest shards that must be preloaded at `level` for the rest to be in
/// time; nothing if all are too few.
std::optional<uint64_t> LeastPreload(const PlanningContext& context, const Submodel& submodel,
                                     size_t level) {
  Allocation shards = context.AllocationOf(submodel);
  shards.SetUniform(level);
  const std::vector<double> capacities = shards.budget().Capacities();
  const double rows_us = capacities[0] - context.request.wake_us.value_or(0);
  if (rows_us < -kTimeTolerance_us) return std::nullopt;
  // From the back: how late the tightest layer would be with shards p.. streamed from time 0.
  double late_us = -capacities.back();
  size_t streamed_from = shards.shards();
  while (streamed_from > 0) {
    const size_t shard = streamed_from - 1;
    const double capacity_us = capacities[shard / submodel.width];
    late_us = LatenessBefore(late_us, capacity_us, shards.LoadAt(shard, level));
    if (late_us > kTimeTolerance_us) break;
    streamed_from = shard;
  }
  uint64_t bytes = 0;
  for (size_t shard = 0; shard < streamed_from; ++shard) bytes += shards.BytesAt(shard, level);
  return bytes;
}

struct Offer {
  std::optional<Submodel> submodel;
  Price price;
};

/// A least target is found this closely, relative to it.
constexpr double kPricePrecision = 1e-3;

/// Returns the submodel with the least T of those that `counts`, by the context's times.
template <typename Counts>
Offer CheapestByTimes(const PlanningContext& context, const Counts& counts) {
  Offer best;
  for (const Submodel& submodel : context.submodels) {
    if (!counts(submodel)) continue;
    const Price price = PriceOf(context, submodel);
    if (!price.target_us) continue;
    if (!best.submodel || *price.target_us < *best.price.target_us) best = {submodel, price};
  }
  return best;
}

/// Returns the submodel with the least T of those that `counts`. Where the profile has series, a
/// longer run varies less, so that the context's times, which are for a shorter one, ask too much;
/// halves find the least T that is enough by its own times.
template <typename Counts>
Offer Cheapest(const PlanningContext& context, const Counts& counts) {
  Offer best = CheapestByTimes(context, counts);
  if (!best.submodel || context.input->profile.io_series.empty()) return best;
  double low_us = context.terms.target_us.value_or(0);
  double high_us = *best.price.target_us;
  while (high_us - low_us > kPricePrecision * high_us) {
    const double target_us = (low_us + high_us) / 2;
    PlanningTerms terms = context.terms;
    terms.target_us = target_us;
    const auto other = context.By(terms);
    if (!other.ok()) break;
    const Offer offer = CheapestByTimes(*other, counts);
    const bool enough = offer.submodel && *offer.price.target_us <= target_us;
    if (enough) best.submodel = offer.submodel;
    (enough ? high_us : low_us) = target_us;
  }
  best.price.target_us = high_us;
  best.price.preload_bytes = PriceOf(context, *best.submodel).preload_bytes;
  return best;
}

/// Returns whether `a` is worth more than `b`, by measured loss or, without it, by shards.
bool IsMore(const PlanningContext& context, const Submodel& a, const Submodel& b) {
  if (!context.value.measured()) return a.shards() > b.shards();
  return context.value.FullLoss(a.depth, a.width) < context.value.FullLoss(b.depth, b.width);
}

std::optional<uint64_t> LeastPreloadOfAny(const PlanningContext& context) {
  std::optional<uint64_t> least;
  if (!context.terms.target_us) return least;
  for (const Submodel& submodel : context.submodels) {
    const std::optional<uint64_t> bytes = PriceOf(context, submodel).preload_bytes;
    if (bytes && (!least || *bytes < *least)) least = bytes;
  }
  return least;
}

/// Returns whether the request could be met if its times were medians, of a profile too noisy for
/// its 99th percentiles to say much.
bool IsOutOfReachByNoise(const PlanningContext& context) {
  if (!context.terms.target_us || context.terms.judging.risk != Risk::kP99 ||
      !IsNoisy(context.input->profile.noise))
    return false;
  PlanningTerms terms = context.terms;
  terms.judging.risk = Risk::kMedian;
  const auto medians = context.By(terms);
  if (!medians.ok()) return false;
  const Offer offer = CheapestByTimes(*medians, [](const Submodel&) { return true; });
  return offer.submodel && *offer.price.target_us <= *terms.target_us;
}

/// Returns whether a submodel of the request fits in a memory of so many bytes, with its preload.
bool FitsIn(const PlanningContext& context, uint64_t memory_bytes, uint64_t preload_bytes) {
  PlanningTerms terms = context.terms;
  terms.judging.memory_bytes = memory_bytes;
  terms.preload_bytes = preload_bytes;
  const auto other = context.By(terms);
  if (!other.ok()) return false;
  return std::any_of(other->submodels.begin(), other->submodels.end(),
                     [&](const Submodel& it) { return PriceOf(*other, it).target_us.has_value(); });
}

/// A memory to ask for is rounded up to so many bytes.
constexpr uint64_t kMemoryStep = 1000;

/// Returns the error of a memory in which no submodel fits, with the least that is enough.
Error TooLittleMemory(const PlanningContext& context) {
  const uint64_t given = *context.terms.judging.memory_bytes;
  const uint64_t preload = context.terms.preload_bytes;
  uint64_t low = given / kMemoryStep;  // in steps; too little
  uint64_t high = low + 1;
  while (high < UINT64_MAX / kMemoryStep / 2 && !FitsIn(context, high * kMemoryStep, preload))
    low = std::exchange(high, 2 * high);
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    (FitsIn(context, middle * kMemoryStep, preload) ? high : low) = middle;
  }
  const bool less_preload = preload > 0 && FitsIn(context, given, 0);
  return InfeasibleError("no submodel fits in " + std::to_string(given) + " bytes of memory")
      .Fix(Remedy::kRaiseInRequest, "memory_bytes to " + std::to_string(high * kMemoryStep) +
                                        " bytes" +
                                        (less_preload ? ", or lower preload_bytes" : ""));
}

std::string Describe(const Offer& offer) {
  std::string text =
      NameOf(*offer.submodel) + ", needs a target of " + MsUp(*offer.price.target_us);
  if (offer.price.preload_bytes)
    text += " or a preload of " + std::to_string(*offer.price.preload_bytes) + " bytes";
  return text;
}

}  // namespace

Price PriceOf(const PlanningContext& context, const Submodel& submodel) {
  Price price;
  const size_t level = LevelAsked(context);
  Allocation allocation = context.AllocationOf(submodel, false);
  allocation.SetUniform(level);
  if (allocation.FitsMemory()) price.target_us = allocation.SmallestTarget();
  const bool may_preload = context.scope.host == nullptr && !context.request.cold();
  if (context.terms.target_us && may_preload)
    price.preload_bytes = LeastPreload(context, submodel, level);
  return price;
}

Error Infeasible(const PlanningContext& context) {
  const PlanRequest& request = context.request;
  const std::optional<double>& target_us = context.terms.target_us;
  const Offer best = Cheapest(context, [](const Submodel&) { return true; });
  if (!best.submodel) return TooLittleMemory(context);
  const uint32_t bits = context.costs.bits()[LevelAsked(context)];
  std::string message =
      "no plan meets " + (target_us ? Ms(*target_us) : std::string("the request")) +
      ": the smallest feasible target is " + MsUp(*best.price.target_us) + ", with " +
      NameOf(*best.submodel) + " at " + std::to_string(bits) + " bits";
  const Offer next = Cheapest(
      context, [&](const Submodel& other) { return IsMore(context, other, *best.submodel); });
  if (next.submodel) message += "; the next better, " + Describe(next);
  const bool by_noise = IsOutOfReachByNoise(context);
  if (by_noise) {
    message += "; medians are in time, but the profile knows them to within " +
               FixedPoint(100 * context.input->profile.noise, 1) + " % only";
  }
  std::string enough = "target_us";
  if (const auto preload = LeastPreloadOfAny(context)) {
    enough += ", or preload_bytes to " + std::to_string(*preload) + " bytes";
  } else if (target_us && !request.cold()) {
    enough += ", since no preload is enough";
  }
  if (by_noise) enough += "; or measure the device again, for longer, or plan by risk median";
  const ModelInfo& info = context.input->info;
  if (!info.elastic && !request.allow_untrained) {
    // The trainer takes models that label or embed texts.
    if (info.has_text() && !info.continues_texts())
      enough += "; or make the model elastic (examples/elastic-finetune)";
    enough += "; or give allow_untrained for submodels that it was not trained for";
  }
  return InfeasibleError(message).Fix(Remedy::kRaiseInRequest, enough);
}

std::string NextBetter(const PlanningContext& context, const Submodel& submodel) {
  const double target_us = *context.terms.target_us;
  const Offer next = Cheapest(context, [&](const Submodel& other) {
    if (!IsMore(context, other, submodel)) return false;
    const Price price = PriceOf(context, other);
    return price.target_us && *price.target_us > target_us + kTimeTolerance_us;
  });
  if (!next.submodel) return "next better: none, no submodel that is worth more is out of reach";
  return "next better: " + Describe(next) + ", at the fewest bits";
}

}  // namespace sti
