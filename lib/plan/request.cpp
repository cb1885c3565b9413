#include "plan/request.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>

#include "base/log.h"
#include "base/remedy.h"
#include "plan/device_model.h"
#include "plan/play/shard_costs.h"
#include "plan/search/submodels.h"
#include "types/fields.h"
#include "types/limits.h"

namespace sti {
namespace {

constexpr Remedy kGive = Remedy::kGiveInRequest;
constexpr Remedy kDrop = Remedy::kDropFromRequest;
constexpr Remedy kRaise = Remedy::kRaiseInRequest;
constexpr Remedy kLower = Remedy::kLowerInRequest;

/// Returns the error of a request that makes no sense for any model and device.
Error Unreasonable(std::string what, Remedy remedy, const char* fields) {
  return UsageError(std::move(what)).Fix(remedy, fields);
}

/// Returns whether the lists of a cascade of some of so many levels agree.
bool IsWhole(const CascadeScore& cascade, size_t levels) {
  const size_t members = cascade.levels.size();
  const auto is_level = [&](uint32_t level) { return level < levels; };
  const auto agrees = [&](const CascadeCut& cut) {
    return cut.shares.size() == members && cut.accuracies.size() == members &&
           cut.weights.size() + 1 == members;
  };
  return members >= 2 && members <= kMaxCascadeLevels &&
         std::all_of(cascade.levels.begin(), cascade.levels.end(), is_level) &&
         std::all_of(cascade.cuts.begin(), cascade.cuts.end(), agrees);
}

Error ColdHasNothing() {
  return Unreasonable("a cold start has nothing in memory, no turn before it and no lead time",
                      kDrop, "preload_bytes, turns and wake_us");
}

Status ValidateImportance(const PlanInput& input) {
  if (input.importance == nullptr) return {};
  const Importance& importance = *input.importance;
  if (!importance.model.empty() && !input.model.empty() && importance.model != input.model) {
    return DataError("it was made for model " + importance.model.Prefix() + ", not " +
                     input.model.Prefix())
        .In(Source::kImportance)
        .Fix(Remedy::kImportanceForModel);
  }
  if (!IsFor(importance.metric, input.info.head.output)) {
    return DataError(std::string("it was measured by ") + NameOf(importance.metric) +
                     ", which says nothing of models that " + DoingOf(input.info.head.output))
        .In(Source::kImportance)
        .Fix(Remedy::kImportanceForModel);
  }
  const size_t shards = size_t{input.catalog.layers} * input.catalog.width;
  const bool finite = std::all_of(importance.scores.begin(), importance.scores.end(),
                                  [](double score) { return std::isfinite(score); });
  if (importance.layers != input.catalog.layers || importance.width != input.catalog.width ||
      importance.scores.size() != shards || !finite) {
    return DataError("it does not hold one score a shard of this model")
        .In(Source::kImportance)
        .Fix(Remedy::kImportanceForModel);
  }
  const auto is_whole = [&](const CascadeScore& cascade) {
    return IsWhole(cascade, importance.cascade_levels.size());
  };
  if (!std::all_of(importance.cascades.begin(), importance.cascades.end(), is_whole)) {
    return DataError("the lists of a cascade do not agree with its levels")
        .In(Source::kImportance)
        .Fix(Remedy::kCorrectImportance);
  }
  return {};
}

Status ValidateShape(const PlanInput& input) {
  if (input.profile.shape.empty() || input.shape.empty() || input.profile.shape == input.shape)
    return {};
  return DataError("it was made for model shape " + input.profile.shape.Prefix() + ", not " +
                   input.shape.Prefix())
      .In(Source::kProfile)
      .Fix(Remedy::kProfileForModel);
}

/// Returns an error if a guarantee is asked for beside what it does not go with.
Status ValidateGuarantee(const PlanRequest& request) {
  if (!request.guarantee()) return {};
  if (request.strategy != Strategy::kSti)
    return Unreasonable("a guarantee is for the strategy sti", kDrop, "guarantee or strategy");
  if (request.min_accuracy) {
    return Unreasonable("a least accuracy is not what a fallback has", kDrop,
                        "guarantee or min_accuracy");
  }
  if (request.io_budget_bytes) {
    return Unreasonable("an IO budget is spent whatever the reads do", kDrop,
                        "guarantee or io_budget_bytes");
  }
  if (!request.target_us)
    return Unreasonable("a guarantee is for a target", kGive, "target_us 200ms");
  return {};
}

/// Returns an error if turns are asked for that are too many, or keep less than is preloaded.
Status ValidateTurns(const PlanRequest& request) {
  const PlanRequest::Turns* turns = request.turns();
  if (turns == nullptr) return {};
  if (turns->count == 0) return Unreasonable("a plan of 0 turns", kRaise, "turns");
  if (turns->count > kMaxTurns)
    return Unreasonable("more than " + std::to_string(kMaxTurns) + " turns", kLower, "turns");
  if (turns->bytes.value_or(request.preload_bytes) >= request.preload_bytes) return {};
  return Unreasonable("the buffer between turns is smaller than the preload buffer", kRaise,
                      "turn_bytes");
}

/// Returns an error if so many agents are asked for as none can have, or of another strategy.
Status ValidateAgents(const PlanRequest& request) {
  if (!request.agents) return {};
  if (request.strategy != Strategy::kPipeload)
    return Unreasonable("agents are for the strategy pipeload", kDrop, "agents or strategy");
  if (*request.agents >= 1 && *request.agents <= kMaxReadStreams) return {};
  return Unreasonable("agents are 1 to " + std::to_string(kMaxReadStreams), kGive, "agents 4");
}

/// Returns an error if passes of no images are asked for, or of more than a plan may have.
Status ValidateBatches(const PlanRequest& request) {
  const auto may_be = [](uint32_t batch) { return batch >= 1 && batch <= kMaxMicrobatch; };
  if (std::ranges::all_of(request.batches, may_be)) return {};
  return Unreasonable("a pass has 1 to " + std::to_string(kMaxMicrobatch) + " images", kGive,
                      "batches 1,4");
}

/// Returns an error if a cascade is asked for beside what it does not go with.
Status ValidateCascade(const PlanRequest& request) {
  const bool by_tabi = request.strategy == Strategy::kTabi;
  if (request.cascade() == nullptr) {
    if (by_tabi) return Unreasonable("the strategy tabi chooses a cascade", kGive, "cascade");
    return {};
  }
  if (request.strategy != Strategy::kSti && !by_tabi) {
    return Unreasonable("a cascade is for the strategies sti and tabi", kDrop,
                        "cascade or strategy");
  }
  if (!request.target_us)
    return Unreasonable("a cascade is for a target", kGive, "target_us 200ms");
  if (request.cascade()->max_levels < 2 || request.cascade()->max_levels > kMaxCascadeLevels)
    return Unreasonable("a cascade has 2 or 3 levels", kGive, "max_levels 3");
  if (request.submodel || request.uniform_bits || request.io_budget_bytes) {
    return Unreasonable("the levels of a cascade run as they were measured", kDrop,
                        "submodel, uniform_bits and io_budget_bytes");
  }
  if (request.full_accuracy) {
    return Unreasonable("a cascade was measured with labels", kDrop, "full_accuracy");
  }
  if (!request.further_lengths.empty() || request.clocks.size() > 1)
    return UsageError("a cascade is for one length and clock; ask for one");
  return {};
}

}  // namespace

Result<PlanRequest::Mode> ModeOf(const ModeOptions& options) {
  if (options.cold && options.turns > 0) return ColdHasNothing();
  if (options.cascade && (options.cold || options.turns > 0 || options.guarantee)) {
    return Unreasonable("a cascade answers one warm input after another, without a fallback", kDrop,
                        "cold, turns and guarantee");
  }
  if (options.guarantee && options.cold) {
    return Unreasonable("a cold start has nothing in memory to fall back to", kDrop,
                        "guarantee or cold");
  }
  if (options.guarantee && options.turns > 0) {
    return Unreasonable("turns leave in memory what the next one runs, and no fallback", kDrop,
                        "guarantee or turns");
  }
  PlanRequest::Mode mode;
  if (options.cold) mode = PlanRequest::Cold{};
  if (options.guarantee) mode = PlanRequest::Guaranteed{};
  if (options.turns > 0) mode = PlanRequest::Turns{options.turns, options.turn_bytes};
  if (options.cascade) mode = *options.cascade;
  return mode;
}

Status ValidateRequest(const PlanRequest& request) {
  if (request.strategy == Strategy::kWhole || request.strategy == Strategy::kOther) {
    return UsageError(
        "nothing is planned by this strategy; use sti, sti-paper, load-exec, stdpl, preload, "
        "pipeload or random");
  }
  STI_RETURN_IF_ERROR(ValidateAgents(request));
  const bool whole = request.strategy == Strategy::kPipeload;
  if (!request.target_us && !request.submodel && !request.min_accuracy && !whole)
    return Unreasonable("neither a target nor a submodel is given", kGive, "target_us or submodel");
  if (request.target_us && !(std::isfinite(*request.target_us) && *request.target_us > 0))
    return Unreasonable("the target is not a positive time", kGive, "target_us 200ms");
  if (!(request.similar >= 0 && request.similar < 1)) {
    return Unreasonable("the share of shards that still counts as similar is not below 100%", kGive,
                        "similar 20%");
  }
  const bool budgets = DelayModelFor(request.strategy) == DelayModel::kBudgets;
  if ((request.turns() != nullptr || request.wake_us > 0) && !budgets) {
    return Unreasonable("turns and a lead time are for the strategies sti, sti-paper and random",
                        kDrop, "turns and wake_us");
  }
  if (request.io_budget_bytes && !budgets) {
    return Unreasonable("an IO budget is for the strategies sti, sti-paper and random", kDrop,
                        "io_budget_bytes");
  }
  const double wake_us = request.wake_us.value_or(0);
  if (!(wake_us >= 0) || !std::isfinite(wake_us))
    return Unreasonable("the lead time is not a time", kGive, "wake_us 50ms");
  STI_RETURN_IF_ERROR(ValidateTurns(request));
  STI_RETURN_IF_ERROR(ValidateBatches(request));
  const size_t plans = (request.further_lengths.size() + 1) *
                       std::max<size_t>(1, request.batches.size()) *
                       std::max<size_t>(1, request.clocks.size());
  if (plans > kMostPlans)
    return UsageError("more than " + std::to_string(kMostPlans) + " lengths and clocks; drop some");
  if (plans > 1 && DelayModelFor(request.strategy) == DelayModel::kMemory) {
    return UsageError(
        "the strategy preload holds one plan's shards; ask for one length, batch and clock");
  }
  if (request.min_accuracy && !(*request.min_accuracy >= 0 && *request.min_accuracy <= 1))
    return Unreasonable("the accuracy is not from 0 to 1", kGive, "min_accuracy 0.9");
  if (request.full_accuracy && !(*request.full_accuracy >= 0 && *request.full_accuracy <= 1))
    return Unreasonable("the full model's accuracy is not from 0 to 1", kGive, "full_accuracy 0.9");
  if (request.min_accuracy && request.strategy != Strategy::kSti && request.cascade() == nullptr) {
    return Unreasonable("a least accuracy is for the strategy sti", kDrop,
                        "min_accuracy or strategy");
  }
  if (request.io_budget_bytes && request.uniform_bits) {
    return Unreasonable("an IO budget raises single shards, one bitwidth for all forbids it", kDrop,
                        "io_budget_bytes or uniform_bits");
  }
  // A process that has just started holds no shards.
  if (request.cold() && (request.preload_bytes > 0 || request.wake_us > 0)) return ColdHasNothing();
  if (request.cold() && DelayModelFor(request.strategy) == DelayModel::kMemory)
    return Unreasonable("the strategy preload begins with all shards in memory", kDrop, "cold");
  STI_RETURN_IF_ERROR(ValidateCascade(request));
  return ValidateGuarantee(request);
}

namespace {

/// Returns the field of a mode that is more than a submodel within a target; null for none.
const char* ModeField(const PlanRequest& request) {
  if (request.guarantee()) return "guarantee";
  if (request.cascade() != nullptr) return "cascade";
  return request.turns() != nullptr ? "turns" : nullptr;
}

/// Returns an error if a request is for what texts alone have.
Status ValidateForImages(const PlanRequest& request) {
  const std::string why = "the model takes images,";
  if (request.length != 0 || !request.further_lengths.empty())
    return Unreasonable(why + " all of which have one length", kDrop, "length");
  if (const char* part = ModeField(request); part != nullptr)
    return Unreasonable(why + " and this is for models of texts", kDrop, part);
  if (!request.min_accuracy) return {};
  return Unreasonable(why + " whose accuracy nothing measures yet", kDrop, "min_accuracy");
}

/// Returns an error if a request for a model that continues texts is for what labels alone have, or
/// for a text that is longer than the model, or shorter than its prompt.
Status ValidateToContinue(const PlanRequest& request, const ModelInfo& info) {
  const std::string why = "the model continues texts,";
  if (const char* part = ModeField(request); part != nullptr)
    return Unreasonable(why + " and this is for labels", kDrop, part);
  if (request.min_accuracy)
    return Unreasonable(why + " whose accuracy nothing measures", kDrop, "min_accuracy");
  if (request.context == 1)
    return Unreasonable("a context of 1 token has no room to continue a text", kRaise, "context");
  if (request.context == 0) return {};
  if (request.context > info.max_length()) {
    return Unreasonable(
        "a context of more than the model's " + Counted(info.max_length(), "position"), kLower,
        "context");
  }
  const auto& further = request.further_lengths;
  const uint32_t length = further.empty()
                              ? request.length
                              : std::max(request.length, *std::ranges::max_element(further));
  if (length <= request.context) return {};
  return Unreasonable("a prompt of more tokens than the context", kLower, "length");
}

}  // namespace

Status ValidateForModel(const PlanRequest& request, const ModelInfo& info) {
  if (request.context != 0 && !info.continues_texts())
    return Unreasonable("the model continues no texts", kDrop, "context");
  if (!info.has_text()) return ValidateForImages(request);
  const auto is_short = [&](uint32_t length) { return length != 0 && length < info.min_length(); };
  if (is_short(request.length) || std::ranges::any_of(request.further_lengths, is_short)) {
    return Unreasonable(
        "an input of the model has at least " + std::to_string(info.min_length()) + " tokens",
        kRaise, "length");
  }
  if (!request.batches.empty())
    return Unreasonable("texts run one at a time, in no batch", kDrop, "batches");
  if (info.continues_texts()) return ValidateToContinue(request, info);
  if (info.has_labels()) return {};
  if (info.labels_tokens()) {
    const std::string why = "the model labels tokens, and";
    if (request.cascade() != nullptr)
      return Unreasonable(why + " a cascade is sure of one label a text", kDrop, "cascade");
    if (request.turns() != nullptr)
      return Unreasonable(why + " turns are for labels of texts", kDrop, "turns");
    return {};
  }
  const std::string why =
      "the model embeds texts, and vectors of two submodels or fidelities do not compare";
  if (!request.further_lengths.empty() || request.clocks.size() > 1)
    return UsageError(why + "; ask for one length and clock");
  const char* part = ModeField(request);
  return part == nullptr ? Status() : Unreasonable(why, kDrop, part);
}

Result<CheckedInput> CheckedInput::Make(const PlanInput& input) {
  STI_RETURN_IF_ERROR(ValidateCatalog(input.catalog));
  STI_RETURN_IF_ERROR(ValidateModel(input.info, input.catalog));
  STI_RETURN_IF_ERROR(ValidateProfile(input.profile));
  STI_RETURN_IF_ERROR(ValidateImportance(input));
  STI_RETURN_IF_ERROR(ValidateShape(input));
  return CheckedInput(input);
}

namespace {

Status CheckCanBeReplaced(const Plan& plan) {
  std::string why;
  const bool by_agents = plan.strategy == Strategy::kPipeload;
  if (!plan.target_us && !by_agents) why = "has no target";
  if (plan.cold) why = "is of a cold start, which happens once";
  const bool adjusts = by_agents || plan.strategy == Strategy::kSti ||
                       plan.strategy == Strategy::kStiPaper ||
                       (plan.strategy == Strategy::kTabi && plan.cascade);
  if (!adjusts) why = "is of the strategy " + plan.strategy_name() + ", which adjusts to no device";
  if (why.empty()) return {};
  return UsageError("the plan " + why + ": none can be made in its place").Fix(Remedy::kPlanAgain);
}

}  // namespace

Result<PlanRequest> RequestOf(const Plan& plan, const ModelInfo& info) {
  STI_RETURN_IF_ERROR(CheckCanBeReplaced(plan));
  PlanRequest request;
  request.strategy = plan.strategy;
  request.target_us = plan.target_us;
  if (plan.fallback) request.mode = PlanRequest::Guaranteed{};
  request.preload_bytes = plan.preload_bytes + (plan.fallback ? plan.fallback->bytes : 0);
  if (plan.cascade) {
    request.mode = CascadeWish{};
    request.preload_bytes =
        std::max(request.preload_bytes, plan.cascade->levels.front().plan.preload_bytes);
  }
  request.length = plan.length;
  request.context = plan.context;
  request.wake_us = plan.wake_us;
  if (!plan.turns.empty()) {
    request.mode =
        PlanRequest::Turns{static_cast<uint32_t>(plan.turns.size()), plan.turn_bytes.value_or(0)};
  }
  const double p99_us = plan.cascade ? plan.cascade->worst_path_us : plan.predicted_p99_us;
  if (plan.target_us && p99_us > *plan.target_us) request.judging.risk = Risk::kMedian;
  if (plan.strategy == Strategy::kPipeload) {
    request.submodel = SubmodelOf(plan);
    request.uniform_bits = plan.bits.At(0, 0);
    request.judging.memory_bytes = UnlessZero(plan.predicted_peak_bytes);
  }
  request.allow_untrained = !info.WasTrained(SubmodelOf(plan));
  std::set<uint32_t> lengths{plan.length};
  std::set<uint64_t, std::greater<>> clocks{plan.freq.value_or(0)};
  std::set<uint32_t> batches{plan.microbatch};
  for (const PlanCore& variant : plan.variants) {
    lengths.insert(variant.length);
    clocks.insert(variant.freq.value_or(0));
    batches.insert(variant.microbatch);
    request.allow_untrained = request.allow_untrained || !info.WasTrained(SubmodelOf(variant));
  }
  if (plan.cascade) {
    for (const CascadeLevel& level : plan.cascade->levels)
      request.allow_untrained = request.allow_untrained || !info.WasTrained(SubmodelOf(level.plan));
  }
  if (lengths.size() > 1) request.further_lengths.assign(lengths.begin(), lengths.end());
  if (*batches.rbegin() > 1) request.batches.assign(batches.begin(), batches.end());
  // A plan that names no clock counts on the highest.
  if (!clocks.contains(0)) request.clocks.assign(clocks.begin(), clocks.end());
  return request;
}

}  // namespace sti
