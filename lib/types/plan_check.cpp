#include "types/plan_check.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/remedy.h"
#include "types/bits.h"
#include "types/cluster.h"
#include "types/fields.h"
#include "types/file_text.h"
#include "types/plan_fields.h"
#include "types/stage.h"

namespace sti {
namespace {

using Fault = std::optional<PlanFault>;
using ShardBits = std::map<ShardId, uint32_t>;

Fault Broken(std::string what) { return PlanFault{ErrorKind::kDamaged, "", std::move(what)}; }

Fault Foreign(std::string what) { return PlanFault{ErrorKind::kForeign, "", std::move(what)}; }

/// Returns the fault as one of an entry of a list.
Fault In(const char* list, size_t entry, Fault fault) {
  if (fault) fault->place = std::string(list) + "[" + std::to_string(entry) + "]";
  return fault;
}

Fault CheckModel(const PlanCore& plan, const PlanBounds& bounds) {
  if (plan.model.empty()) return Broken("model is missing");
  if (bounds.model.empty() || plan.model == bounds.model) return {};
  return Foreign("it was made for model " + plan.model.Prefix() + ", not " + bounds.model.Prefix());
}

bool Ascend(const std::vector<uint32_t>& numbers) {
  return std::adjacent_find(numbers.begin(), numbers.end(), std::greater_equal<>()) ==
         numbers.end();
}

/// Checks layers and width: those of the plan, or of its fallback, of which `field` opens the names
/// of fields and `place` all else.
Fault CheckExtent(const std::vector<uint32_t>& layers, uint32_t width, const PlanBounds& bounds,
                  const std::string& field = "", const std::string& place = "") {
  if (layers.empty()) return Broken(field + "layers is empty");
  if (!Ascend(layers)) return Broken(field + "layers does not ascend");
  if (layers.back() >= bounds.layers)
    return Foreign(place + "layer " + std::to_string(layers.back()) + " is beyond the last");
  if (width == 0) return Broken(field + "width is 0");
  if (width <= bounds.width) return {};
  return Foreign(place + "width " + std::to_string(width) + " is more than a layer has slices");
}

Fault CheckSizes(const PlanCore& plan, const PlanBounds& bounds) {
  const size_t depth = plan.layers.size();
  if (Fault fault = CheckExtent(plan.layers, plan.width, bounds)) return fault;
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
Fault CheckShards(const PlanCore& plan, const PlanBounds& bounds, ShardBits* runs) {
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

/// Visits the fields of a description, and keeps the first whose number, list or text may not stand
/// there. What is inside others is checked by itself.
class FieldCheck {
 public:
  /// `prefix` opens the names of fields: "times.". A list of one entry a layer has `layers`.
  FieldCheck(const char* prefix, size_t layers) : prefix_(prefix), layers_(layers) {}

  void operator()(const Field& field, const std::string& text) {
    const auto fault = FindTextFault(prefix_ + std::string(field.name), text, field.rule.entries);
    if (fault && !fault_) fault_ = Broken(*fault);
  }
  void operator()(const Field& field, const std::vector<double>& list) {
    const bool absent = list.empty() && field.spelled == Spelled::kOrNull;
    if (field.rule.one_a_layer && !absent && list.size() != layers_)
      Keep(field, " does not have one entry a layer");
    for (const double number : list) (*this)(field, number);
  }
  template <typename T>
  void operator()(const Field& field, const T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      if (const char* fault = FaultOf(field.rule, static_cast<double>(value)))
        Keep(field, std::string(" is ") + fault);
    }
  }
  template <typename T>
  void operator()(const Field& field, const std::optional<T>& value) {
    if (value) (*this)(field, *value);
  }
  void Rows(const Field&, const Grid<uint32_t>&, const Field&, const Grid<uint32_t>&) {}

  [[nodiscard]] Fault fault() { return std::move(fault_); }

 private:
  void Keep(const Field& field, const std::string& problem) {
    if (!fault_) fault_ = Broken(prefix_ + std::string(field.name) + problem);
  }

  const char* prefix_;
  size_t layers_;
  Fault fault_;
};

/// Checks the fields of a described value, one by one.
template <typename T>
Fault CheckFields(const T& value, size_t layers, const char* prefix = "") {
  FieldCheck check(prefix, layers);
  Fields(check, value);
  return check.fault();
}

constexpr const char* kColdHolds = "a cold plan has a preload, turns or a lead time";

Fault CheckPreload(const PlanCore& plan, const ShardBits& runs) {
  std::set<ShardId> seen;
  for (const ShardAtBits& shard : plan.preload) {
    const auto found = runs.find(shard.id);
    if (found == runs.end() || found->second != shard.bits || !seen.insert(shard.id).second) {
      return Broken("preload: " + NameOf(shard) + " is not what the plan runs, or is there twice");
    }
  }
  return {};
}

/// Checks the fallback: its shards are stored, and it stays in memory from run to run.
Fault CheckFallback(const PlanCore& plan, const PlanBounds& bounds) {
  if (!plan.fallback) return {};
  const Fallback& fallback = *plan.fallback;
  if (plan.cold) return Broken("a cold plan has a fallback");
  if (Fault fault = CheckExtent(fallback.layers, fallback.width, bounds, "fallback.", "fallback: "))
    return fault;
  for (const ShardAtBits& shard : ShardsOf(fallback)) {
    if (Fault fault = CheckStored(shard, bounds)) {
      fault->what = "fallback: " + fault->what;
      return fault;
    }
  }
  if (Fault fault = CheckFields(fallback, plan.layers.size(), "fallback.")) return fault;
  // A label by the target is what it is there for.
  if (!plan.target_us || !plan.times) return Broken("a fallback without target_us or times");
  if (fallback.reserve_us() > *plan.target_us)
    return Broken("fallback takes longer than target_us");
  return {};
}

/// Checks a plan, a variant or a level by itself, and fills `runs` with the shards that it runs.
Fault CheckAlone(const PlanCore& plan, const PlanBounds& bounds, ShardBits* runs) {
  if (Fault fault = CheckModel(plan, bounds)) return fault;
  if (Fault fault = CheckSizes(plan, bounds)) return fault;
  if (Fault fault = CheckShards(plan, bounds, runs)) return fault;
  const size_t layers = plan.layers.size();
  if (Fault fault = CheckFields(plan, layers)) return fault;
  if (Fault fault = plan.times ? CheckFields(*plan.times, layers, "times.") : Fault()) return fault;
  // A process that has just started holds nothing, and has not waited for anything.
  if (plan.cold && (!plan.preload.empty() || plan.wake_us)) return Broken(kColdHolds);
  if (Fault fault = CheckPreload(plan, *runs)) return fault;
  return CheckFallback(plan, bounds);
}

/// Checks what a plan alone has, but for turns, variants and levels, which are checked one by one.
Fault CheckOwn(const Plan& plan, const PlanBounds& bounds) {
  const std::vector<uint32_t>& words = plan.words;
  if (plan.cold && !(words.empty() && plan.turns.empty())) return Broken(kColdHolds);
  if (plan.fallback && !plan.turns.empty()) return Broken("a plan with turns has a fallback");
  if (words.empty()) return {};
  if (words.size() > kMaxPlanWords) return Broken("words has more than 65536 entries");
  if (!Ascend(words)) return Broken("words do not ascend");
  if (words.back() >= kMaxVocabulary) return Broken("words has an entry of 2^22 or more");
  if (words.back() < bounds.vocabulary) return {};
  return Foreign("word " + std::to_string(words.back()) + " is outside the vocabulary of " +
                 std::to_string(bounds.vocabulary));
}

/// Returns whether two submodels run the same shards at the same bits, so that keys and values that
/// one computes are the other's too.
bool RunsAlike(const PlanCore& one, const PlanCore& other) {
  return one.layers == other.layers && one.slices == other.slices && one.bits == other.bits;
}

/// Checks that a plan whose runs go on with a text keeps its keys and values from run to run.
Fault CheckContext(const Plan& plan, const PlanBounds& bounds) {
  if (plan.context == 0) return {};
  if (!bounds.takes_context) return Foreign("it has a context, and the model continues no texts");
  if (plan.context < plan.length) return Broken("context is less than length");
  if (plan.context > bounds.most_length) {
    return Foreign("context " + std::to_string(plan.context) + " is more than the " +
                   std::to_string(bounds.most_length) + " tokens of any input");
  }
  if (!plan.turns.empty() || plan.cascade || plan.fallback || plan.staged)
    return Broken("a plan with a context has turns, a cascade, a fallback or stages");
  for (size_t i = 0; i < plan.variants.size(); ++i) {
    const PlanCore& variant = plan.variants[i];
    if (variant.context != plan.context || variant.keeps_vocabulary != plan.keeps_vocabulary)
      return In("variants", i, Broken("its context or keeps_vocabulary is not the plan's"));
    if (!RunsAlike(plan, variant))
      return In("variants", i, Broken("it runs other shards than the plan, which has a context"));
  }
  return {};
}

/// Checks that a plan which takes several inputs together has nothing that is about one alone.
Fault CheckBatch(const Plan& plan, const PlanBounds& bounds) {
  const PlanExtent extent = plan.Extent();
  const bool several = extent.sequences > 1;
  if (several && !bounds.takes_batch)
    return Foreign("it has a batch, and the model takes no images");
  if (extent.tokens > kMaxLength) return Broken("batch times length is more than 2^20 tokens");
  const bool about_one =
      !plan.turns.empty() || plan.cascade || plan.fallback || plan.context != 0 || plan.staged;
  if (several && about_one)
    return Broken("a plan with a batch has turns, a cascade, a fallback, a context or stages");
  return {};
}

/// Checks that a plan whose layers are read by agents is not read in part, or in two orders.
Fault CheckAgents(const Plan& plan) {
  const auto differs = [&plan](const PlanCore& other) { return other.agents != plan.agents; };
  const auto other = std::ranges::find_if(plan.variants, differs);
  if (other != plan.variants.end()) {
    return In("variants", static_cast<size_t>(other - plan.variants.begin()),
              Broken("its agents are not as many as the plan's"));
  }
  const bool has_levels = plan.cascade.has_value();
  const bool level_has =
      has_levels && std::ranges::any_of(plan.cascade->levels,
                                        [](const auto& level) { return level.plan.agents != 0; });
  const bool more = has_levels || plan.fallback || !plan.turns.empty() || plan.staged;
  if (level_has || (plan.agents != 0 && more))
    return Broken("a plan with agents has turns, a cascade, a fallback or stages");
  return {};
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
  if (turn.preload_bytes > plan.turn_bytes.value_or(0))
    return Broken("preload_bytes is more than turn_bytes");
  return CheckFields(turn, plan.layers.size());
}

/// Checks a variant: one buffer serves all, so what it finds in memory is what the plan put there.
Fault CheckVariant(const Plan& plan, const PlanCore& variant, const PlanBounds& bounds) {
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
  const PlanCore& it = level.plan;
  if (it.fallback) return Broken(kLevelHasMore);
  if (it.model != plan.model) return Broken("it is for another model");
  if (it.cold) return Broken("a cascade level starts cold");
  if (it.length != plan.length || it.freq != plan.freq)
    return Broken("its length or freq is not the plan's");
  if (it.kernel.name != plan.kernel.name) return Broken("its kernel is not the plan's");
  if (!first && !it.preload.empty()) return Broken("only the first cascade level has a preload");
  ShardBits runs;
  if (Fault fault = CheckAlone(it, bounds, &runs)) return fault;
  return CheckFields(level, it.layers.size());
}

/// Checks the figures of a cascade against the number of its levels before the last.
Fault CheckCascadeFigures(const PlanCascade& cascade) {
  const size_t levels = cascade.levels.size();
  const std::vector<double>& shares = cascade.return_share;
  if (shares.size() != levels) return Broken("return_share does not have one entry a level");
  if (!cascade.path_us.empty() && cascade.path_us.size() != levels + 1)
    return Broken("path_us does not have one entry a level");
  if (Fault fault = CheckFields(cascade, 0)) return fault;
  if (std::accumulate(shares.begin(), shares.end(), 0.0) > 1 + 1e-9)
    return Broken("return_share adds up to more than 1");
  return {};
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

/// Checks one stage, whose layers follow those of the stages before it.
Fault CheckStage(const Plan& plan, const PlanStage& stage, uint32_t begin, const ShardBits& runs) {
  if (!IsClusterName(stage.device)) return Broken("device is not a name of a cluster's device");
  if (stage.begin != begin || stage.end <= begin || stage.end > plan.layers.size())
    return Broken("its layers do not follow those of the stage before");
  std::set<ShardId> seen;
  const auto first = plan.layers.begin() + stage.begin;
  const auto last = plan.layers.begin() + stage.end;
  for (const ShardAtBits& shard : stage.preload) {
    const auto found = runs.find(shard.id);
    if (found == runs.end() || found->second != shard.bits ||
        !std::binary_search(first, last, shard.id.layer) || !seen.insert(shard.id).second) {
      return Broken("preload: " + NameOf(shard) + " is not what the stage runs, or is there twice");
    }
  }
  return CheckFields(stage, stage.end - stage.begin);
}

/// Checks stages, and that the plan has nothing that goes on from one input to the next.
Fault CheckStages(const Plan& plan, const ShardBits& runs) {
  if (!plan.staged) return {};
  const std::vector<PlanStage>& stages = plan.staged->stages;
  if (!plan.variants.empty() || !plan.turns.empty() || plan.cascade || plan.fallback || plan.cold ||
      plan.wake_us || !plan.words.empty() || !plan.preload.empty()) {
    return Broken(
        "a plan with stages has variants, turns, a cascade, a fallback, words, a preload or a lead "
        "time of its own, or is cold");
  }
  if (stages.empty() || stages.size() > kMaxStages) return Broken("not 1 to 64 stages");
  if (uint64_t{plan.length} * plan.staged->microbatch > kMaxLength)
    return Broken("microbatch times length is more than 2^20 tokens");
  std::set<std::string> devices;
  uint32_t begin = 0;
  for (size_t i = 0; i < stages.size(); ++i) {
    if (Fault fault = In("stages", i, CheckStage(plan, stages[i], begin, runs))) return fault;
    if (!devices.insert(stages[i].device).second)
      return In("stages", i, Broken("its device has a stage already"));
    begin = stages[i].end;
  }
  if (begin != plan.layers.size()) return Broken("the stages do not run all layers");
  return CheckFields(*plan.staged, 0);
}

}  // namespace

PlanBounds BoundsOf(const ModelInfo& info) {
  PlanBounds bounds;
  bounds.layers = info.shape.layers;
  bounds.width = info.shape.width;
  bounds.least_length = info.min_length();
  if (info.max_length() != 0) bounds.most_length = info.max_length();
  if (info.shape.vocabulary != 0) bounds.vocabulary = info.shape.vocabulary;
  bounds.takes_context = info.continues_texts();
  bounds.takes_batch = !info.has_text();
  return bounds;
}

Remedy RemedyFor(const PlanFault& fault) {
  return fault.kind == ErrorKind::kForeign ? Remedy::kPlanForModel : Remedy::kCorrectPlan;
}

std::optional<PlanFault> FindPlanFault(const Plan& plan, const PlanBounds& bounds) {
  ShardBits runs;
  if (Fault fault = CheckAlone(plan, bounds, &runs)) return fault;
  if (Fault fault = CheckOwn(plan, bounds)) return fault;
  if (plan.turns.size() > kMaxTurns) return Broken("more than 64 turns");
  for (size_t t = 0; t < plan.turns.size(); ++t) {
    if (Fault fault = In("turns", t, CheckTurn(plan, plan.turns[t], bounds, &runs))) return fault;
  }
  if (plan.variants.size() > kMaxVariants) return Broken("more than 64 variants");
  using Planned = std::tuple<uint32_t, uint32_t, std::optional<uint64_t>>;
  const auto planned_for = [](const PlanCore& core) {
    return Planned(core.length, core.microbatch, core.freq);
  };
  std::set<Planned> planned = {planned_for(plan)};
  for (size_t i = 0; i < plan.variants.size(); ++i) {
    const PlanCore& variant = plan.variants[i];
    if (Fault fault = In("variants", i, CheckVariant(plan, variant, bounds))) return fault;
    if (!planned.insert(planned_for(variant)).second)
      return In("variants", i, Broken("its length, batch and freq are planned already"));
  }
  if (Fault fault = CheckCascade(plan, bounds)) return fault;
  if (Fault fault = CheckContext(plan, bounds)) return fault;
  if (Fault fault = CheckBatch(plan, bounds)) return fault;
  if (Fault fault = CheckAgents(plan)) return fault;
  return CheckStages(plan, runs);
}

}  // namespace sti
