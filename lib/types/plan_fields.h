// The description of a plan: each field of a plan file once, in the order of the JSON spelling,
// with its place in schemas/plan.fbs and the numbers that it may hold (spec/plan.md). fields.h says
// how descriptions are used. A new field goes into its struct, here, into the schema and into the
// spec.
//
// The plans inside a plan, and which fields go together, are no fields: where plans are read and
// checked tells them.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "types/cascade.h"
#include "types/fallback.h"
#include "types/fields.h"
#include "types/limits.h"
#include "types/plan.h"
#include "types/shard_id.h"
#include "types/stage.h"
#include "types/strategy.h"

namespace sti {

/// A value of a type, to read or to write.
template <typename T, typename Of>
concept Like = std::same_as<std::remove_const_t<T>, Of>;

/// A type that is const exactly if T is.
template <typename T, typename Of>
using AsConst = std::conditional_t<std::is_const_v<T>, const Of, Of>;

namespace rule {

inline constexpr Rule kTemperature{.least = kLeastTemperature,
                                   .most = kMostTemperature,
                                   .fault = "not from 0.001 to 1000",
                                   .left_out = 1};
inline constexpr Rule kCosine{-1, 1, "not from -1 to 1"};
inline constexpr Rule kSlope{0, kMostSlope, "not from 0 to 1000000"};
inline constexpr Rule kStaging = Rule{0, kMaxStagingBytes, "more than 1 TiB"}.OrNothing();
inline constexpr Rule kStagingOfStage{0, kMaxStagingBytes, "more than 1 TiB"};
inline constexpr Rule kOrNothing{.zero_is_nothing = true};
inline constexpr Rule kTimeOrNothing = kTime.OrNothing();
inline constexpr Rule kMergedRead{.least = 0,
                                  .most = kMaxMergedReadBytes,
                                  .fault = "not a multiple of 4096 up to 67108864",
                                  .steps = kBlockBytes,
                                  .zero_is_nothing = true};
inline constexpr Rule kReadsInFlight = Rule{0, kMaxReadsInFlight, "above 256"}.OrNothing();
inline constexpr Rule kStreams = Rule{0, kMaxReadStreams, "above 16"}.OrNothing();
inline constexpr Rule kAgents{0, kMaxReadStreams, "above 16"};
inline constexpr Rule kThreads = Rule{0, kMaxThreads, "above 256"}.OrNothing();
inline constexpr Rule kCores{.entries = kMaxCoresTextBytes, .zero_is_nothing = true};
inline constexpr Rule kContext{0, kMaxLength, "more than 1048576"};
inline constexpr Rule kLayers{.entries = kMaxLayers};
inline constexpr Rule kWords{.entries = kMaxPlanWords};
inline constexpr Rule kPreload{.entries = kMaxLayers * kMaxWidth,
                               .too_many = "preload has more entries than a plan has shards"};
inline constexpr Rule kVariants{.entries = kMaxVariants, .too_many = "more than 64 variants"};
inline constexpr Rule kMicrobatch{
    .least = 1, .most = kMaxMicrobatch, .fault = "not from 1 to 256", .left_out = 1};
inline constexpr Rule kStages{.entries = kMaxStages, .too_many = "more than 64 stages"};
inline constexpr Rule kTurns{
    .entries = kMaxTurns, .too_many = "more than 64 turns", .counted = "turn"};

}  // namespace rule

/// Describes the predicted quality that several tables hold, each in other places.
template <typename V, Like<PredictedQuality> T>
void QualityFields(V& visit, T& quality, uint16_t loss, uint16_t accuracy, uint16_t agreement) {
  using enum Spelled;
  visit(Field{"predicted_loss", loss, kOrNull, rule::kFigure}, quality.loss);
  visit(Field{"predicted_accuracy", accuracy, kOrNull, rule::kShare}, quality.accuracy);
  visit(Field{"predicted_agreement", agreement, kIfSaid, rule::kShare}, quality.agreement);
}

template <typename V, Like<ShardAtBits> T>
void Fields(V& visit, T& shard) {
  using enum Spelled;
  visit(Field{"layer", 0, kRequired}, shard.id.layer);
  visit(Field{"slice", 1, kRequired}, shard.id.slice);
  visit(Field{"bits", 2, kRequired}, shard.bits);
}

template <typename V, Like<PlanTimes> T>
void Fields(V& visit, T& times) {
  using enum Spelled;
  visit(Field{"start_us", 0, kAlways, rule::kTime}, times.start_us);
  visit(Field{"open_io_us", 1, kAlways, rule::kTime}, times.open_io_us);
  visit(Field{"embed_io_us", 2, kAlways, rule::kTime}, times.embed_io_us);
  visit(Field{"embed_us", 3, kAlways, rule::kTime}, times.embed_us);
  visit(Field{"layer_us", 4, kAlways, rule::kTime}, times.layer_us);
  visit(Field{"layer_p99_us", 5, kAlways, rule::kTime}, times.layer_p99_us);
  visit(Field{"head_us", 6, kAlways, rule::kTime}, times.head_us);
  visit(Field{"stall_us", 7, kAlways, rule::kTime}, times.stall_us);
  visit(Field{"layer_io_us", 8, kRequired, rule::kTimeALayer}, times.layer_io_us);
  visit(Field{"last_layer_us", 9, kIfSaid, rule::kTimeOrNothing}, times.last_layer_us);
  visit(Field{"last_layer_p99_us", 10, kIfSaid, rule::kTimeOrNothing}, times.last_layer_p99_us);
  visit(Field{"head_io_us", 11, kIfSaid, rule::kTime}, times.head_io_us);
}

template <typename V, Like<Fallback> T>
void Fields(V& visit, T& fallback) {
  using enum Spelled;
  visit(Field{"layers", 0, kRequired, rule::kLayers}, fallback.layers);
  visit(Field{"width", 1, kRequired}, fallback.width);
  visit(Field{"bits", 2, kRequired}, fallback.bits);
  visit(Field{"bytes", 3}, fallback.bytes);
  visit(Field{"embed_us", 4, kAlways, rule::kTime}, fallback.embed_us);
  visit(Field{"layer_us", 5, kAlways, rule::kTime}, fallback.layer_us);
  visit(Field{"last_layer_us", 6, kAlways, rule::kTime}, fallback.last_layer_us);
  visit(Field{"head_us", 7, kAlways, rule::kTime}, fallback.head_us);
  visit(Field{"margin_us", 8, kAlways, rule::kTime}, fallback.margin_us);
  visit(Field{"cost_bits", 9, kAlways, rule::kFigure}, fallback.cost_bits);
  QualityFields(visit, fallback.quality, 10, 11, 12);
  visit(Field{"predicted_f1", 13, kIfSaid, rule::kShare}, fallback.quality.f1);
}

template <typename V, Like<PlanTurn> T>
void Fields(V& visit, T& turn) {
  using enum Spelled;
  visit(Field{"bits", 0, kRequired}, turn.bits);
  visit(Field{"preload", 1}, turn.preload);
  visit(Field{"preload_bytes", 2}, turn.preload_bytes);
  visit(Field{"read_bytes", 3}, turn.read_bytes);
  visit(Field{"aib_us", 4, kOrNull, rule::kFigureALayer}, turn.aib_us);
  visit(Field{"predicted_latency_us", 5, kAlways, rule::kTime}, turn.predicted_latency_us);
  visit(Field{"predicted_p99_us", 6, kAlways, rule::kTime}, turn.predicted_p99_us);
  QualityFields(visit, turn.quality, 7, 8, 9);
}

/// Holds the stages of a plan; a plan that has none has no field of PlanStages.
inline constexpr Field kStagesField{"stages", 45, Spelled::kIfSaid, rule::kStages};

/// Describes what a level before the last has besides its plan, whose place is 0.
template <typename V, Like<CascadeLevel> T>
void Fields(V& visit, T& level) {
  using enum Spelled;
  visit(Field{"temperature", 1, kAlways, rule::kTemperature}, level.temperature);
  visit(Field{"cutoff", 2, kRequired, rule::kShareElse1}, level.rule.cutoff);
  visit(Field{"slope", 3, kOrNull, rule::kSlope}, level.rule.slope);
  visit(Field{"prune_alpha", 4, kAlways, rule::kShare}, level.rule.prune_alpha);
  visit(Field{"ensemble_weight", 5, kAlways, rule::kShareElse1}, level.rule.ensemble_weight);
  visit(Field{"upgrade_bytes", 6}, level.upgrade_bytes);
}

/// Describes what a cascade has besides its levels, whose place is 0.
template <typename V, Like<PlanCascade> T>
void Fields(V& visit, T& cascade) {
  using enum Spelled;
  visit(Field{"temperature", 1, kAlways, rule::kTemperature}, cascade.temperature);
  visit(Field{"return_share", 2, kRequired, rule::kShare}, cascade.return_share);
  visit(Field{"path_us", 3, kAlways, rule::kTime}, cascade.path_us);
  visit(Field{"mean_us", 4, kAlways, rule::kTime}, cascade.mean_us);
  visit(Field{"worst_path_us", 5, kAlways, rule::kTime}, cascade.worst_path_us);
  QualityFields(visit, cascade.quality, 6, 7, 8);
}

template <typename V, Like<PlanStage> T>
void Fields(V& visit, T& stage) {
  using enum Spelled;
  visit(Field{"device", 0, kRequired, rule::kShortText}, stage.device);
  visit(Field{"begin", 1, kRequired}, stage.begin);
  visit(Field{"end", 2, kRequired}, stage.end);
  visit(Field{"preload", 3, kAlways, rule::kPreload}, stage.preload);
  visit(Field{"preload_bytes", 4}, stage.preload_bytes);
  visit(Field{"staging_bytes", 5, kAlways, rule::kStagingOfStage}, stage.staging_bytes);
  visit(Field{"predicted_peak_bytes", 6}, stage.predicted_peak_bytes);
  visit(Field{"period_us", 7, kAlways, rule::kTime}, stage.period_us);
  visit(Field{"pass_us", 8, kAlways, rule::kTime}, stage.pass_us);
  visit(Field{"transfer_us", 9, kAlways, rule::kTime}, stage.transfer_us);
  visit(Field{"delay_us", 10, kAlways, rule::kTime}, stage.delay_us);
  std::string kernel = stage.kernel.name;
  visit(Field{"kernel", 11, kAlways, rule::kShortText}, kernel);
  visit(Field{"read_path", 12, kAlways, rule::kShortText}, stage.read_path);
  visit(Field{"read_bytes", 13, kIfSaid, rule::kMergedRead}, stage.read_bytes);
  visit(Field{"read_depth", 14, kIfSaid, rule::kReadsInFlight}, stage.read_depth);
  visit(Field{"read_streams", 17, kIfSaid, rule::kStreams}, stage.read_streams);
  visit(Field{"threads", 15, kIfSaid, rule::kThreads}, stage.threads);
  visit(Field{"cpus", 16, kIfSaid, rule::kCores}, stage.cpus);
  if constexpr (!std::is_const_v<T>) stage.kernel = ParseKernel(std::move(kernel));
}

/// Describes a plan's stages, whose fields a file holds beside those of the plan.
template <typename V, Like<PlanStages> T>
void Fields(V& visit, T& staged) {
  using enum Spelled;
  visit(Field{"microbatch", 42, kAlways, rule::kMicrobatch}, staged.microbatch);
  visit(Field{"period_us", 43, kAlways, rule::kTime}, staged.period_us);
  visit(Field{"throughput_per_s", 44, kAlways, rule::kTime}, staged.throughput_per_s);
  visit(kStagesField, staged.stages);
}

/// Describes a submodel as it is planned. A file holds two fields of a whole plan among these.
template <typename V, Like<PlanCore> T, Like<std::optional<uint64_t>> B,
          Like<std::vector<uint32_t>> W>
void CoreFields(V& visit, T& plan, B& turn_bytes, W& words) {
  using enum Spelled;
  visit(Field{"model", 0}, plan.model);
  visit(Field{"shape", 1, kOrNull}, plan.shape);
  std::string strategy = plan.strategy_name();
  visit(Field{"strategy", 2, kAlways, rule::kShortText}, strategy);
  visit(Field{"length", 3, kRequired}, plan.length);
  visit(Field{"layers", 4, kRequired, rule::kLayers}, plan.layers);
  visit(Field{"width", 5, kRequired}, plan.width);
  visit.Rows(Field{"slices", 6, kRequired}, plan.slices, Field{"bits", 6, kRequired}, plan.bits);
  visit(Field{"preload", 7, kAlways, rule::kPreload}, plan.preload);
  visit(Field{"preload_bytes", 8}, plan.preload_bytes);
  visit(Field{"aib_us", 9, kOrNull, rule::kFigureALayer}, plan.aib_us);
  visit(Field{"slack_us", 10, kOrNull, rule::kFigure}, plan.slack_us);
  visit(Field{"target_us", 11, kOrNull, rule::kTime}, plan.target_us);
  visit(Field{"meets_target", 12, kAlways, rule::kElseTrue}, plan.meets_target);
  visit(Field{"predicted_latency_us", 13, kAlways, rule::kTime}, plan.predicted_latency_us);
  visit(Field{"predicted_p99_us", 14, kAlways, rule::kTime}, plan.predicted_p99_us);
  visit(Field{"predicted_peak_bytes", 15}, plan.predicted_peak_bytes);
  QualityFields(visit, plan.quality, 23, 16, 31);
  // Only a whole plan has these: a model that embeds has no fallback, turns or cascade.
  visit(Field{"predicted_cosine", 39, kIfSaid, rule::kCosine}, plan.quality.cosine);
  visit(Field{"predicted_spearman", 40, kIfSaid, rule::kCosine}, plan.quality.spearman);
  // Nor has one that labels tokens turns or a cascade.
  visit(Field{"predicted_f1", 41, kIfSaid, rule::kShare}, plan.quality.f1);
  visit(Field{"parameter_bytes", 17}, plan.parameter_bytes);
  std::string kernel = plan.kernel.name;
  visit(Field{"kernel", 18, kAlways, rule::kShortText}, kernel);
  visit(Field{"read_path", 19, kAlways, rule::kShortText}, plan.read_path);
  visit(Field{"freq", 22, kAlways, rule::kOrNothing}, plan.freq);
  visit(Field{"wake_us", 21, kAlways, rule::kTimeOrNothing}, plan.wake_us);
  visit(Field{"turn_bytes", 24, kAlways, rule::kOrNothing}, turn_bytes);
  visit(Field{"times", 26, kOrNull}, plan.times);
  visit(Field{"staging_bytes", 27, kAlways, rule::kStaging}, plan.staging_bytes);
  visit(Field{"read_bytes", 28, kAlways, rule::kMergedRead}, plan.read_bytes);
  visit(Field{"read_depth", 29, kAlways, rule::kReadsInFlight}, plan.read_depth);
  visit(Field{"read_streams", 49, kIfSaid, rule::kStreams}, plan.read_streams);
  visit(Field{"agents", 50, kIfSaid, rule::kAgents}, plan.agents);
  visit(Field{"cold", 30}, plan.cold);
  visit(Field{"threads", 32, kIfSaid, rule::kThreads}, plan.threads);
  visit(Field{"cpus", 33, kIfSaid, rule::kCores}, plan.cpus);
  visit(Field{"words", 35, kIfSaid, rule::kWords}, words);
  visit(Field{"row_share", 36, kIfSaid, rule::kShareElse1}, plan.row_share);
  visit(Field{"row_p99_share", 37, kIfSaid, rule::kShareElse1}, plan.row_p99_share);
  visit(Field{"batch", 48, kIfSaid, rule::kMicrobatch}, plan.microbatch);
  visit(Field{"context", 46, kIfSaid, rule::kContext}, plan.context);
  visit(Field{"keeps_vocabulary", 47, kIfSaid}, plan.keeps_vocabulary);
  visit(Field{"fallback", 34, kIfSaid}, plan.fallback);
  if constexpr (!std::is_const_v<T>) {
    plan.SetStrategy(std::move(strategy));
    plan.kernel = ParseKernel(std::move(kernel));
  }
}

/// Describes what a plan has besides `variants`, `turns`, `cascade` and stages.
template <typename V, Like<Plan> T>
void Fields(V& visit, T& plan) {
  CoreFields<V, AsConst<T, PlanCore>>(visit, plan, plan.turn_bytes, plan.words);
}

/// Describes a variant or a level, of which a file says that it has none of a whole plan's fields.
/// Whoever reads one reads a plan, which may say otherwise.
template <typename V>
void Fields(V& visit, const PlanCore& core) {
  const std::optional<uint64_t> turn_bytes;
  const std::vector<uint32_t> words;
  CoreFields(visit, core, turn_bytes, words);
}

/// The fields of a plan alone.
inline constexpr Field kCascadeField{"cascade", 38, Spelled::kIfSaid};
inline constexpr Field kVariantsField{"variants", 20, Spelled::kIfSaid, rule::kVariants};
inline constexpr Field kTurnsField{"turns", 25, Spelled::kIfSaid, rule::kTurns};

}  // namespace sti
