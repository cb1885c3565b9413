// An engagement: what lasts from run to run under one plan. Inputs that come back to back are the
// turns of one engagement (STI 3.3): where the plan has turns, each computes at its own bits, and
// leaves in the preload buffer the shards that the next begins with. The app may bound that buffer;
// then the bound says what stays, in place of the plan.
//
// Where the plan has a cascade, the runs of one input are those of its levels. The buffer is for
// the first; until the input has its label, what one level has brought stays for those behind it.
//
// Pure: it decides, and the pipeline reads, computes and evicts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "pipeline/pass.h"
#include "types/plan.h"

namespace sti {

/// Who says which shards stay in the buffer after a run.
enum class KeptBy : uint8_t {
  kPlan,
  kCaller,  ///< RunTerms::keep
};

/// Counts turns through one engagement after another under one plan, and tells the bits of each and
/// what stays in the buffer. Spans stay valid until the next call. One thread at a time.
class Engagement {
 public:
  /// Returns the bytes that a shard occupies in the buffer.
  using BytesOf = std::function<uint64_t(const ShardAtBits&)>;

  Engagement() = default;
  /// `plan` outlives this. `main` is the route whose shards the buffer is for, that of the longest
  /// inputs: the plan itself, or a variant that stands in for it at another clock; of a cascade the
  /// first level.
  Engagement(const Plan& plan, RouteId main, BytesOf bytes_of);

  /// Returns the turn of the next run, from 0; the last is repeated.
  [[nodiscard]] size_t turn() const;
  /// Returns whether nothing but the plan has said what the buffer holds.
  [[nodiscard]] bool buffer_as_planned() const { return !limit_ && kept_by_ == KeptBy::kPlan; }

  /// Returns the bits that the next run on `route` computes with.
  [[nodiscard]] const Grid<uint32_t>& BitsOf(RouteId route) const;
  /// Returns the shards that are to be in the buffer when the next run on `route` begins.
  [[nodiscard]] std::span<const ShardAtBits> KeptBefore(RouteId route);
  /// Returns the shards that are to be in the buffer when the next run on `route` has ended. A
  /// shard may be there several times; then it keeps the most of these bits.
  [[nodiscard]] std::span<const ShardAtBits> KeptAfter(RouteId route);
  /// Returns the shards that are to be in the buffer between inputs.
  [[nodiscard]] std::span<const ShardAtBits> KeptBetween() { return KeptBefore(main_); }

  /// Notes a run that ended well, after which the buffer holds what `kept_by` has said. A run under
  /// the plan itself is a turn.
  void NoteRun(RouteId route, KeptBy kept_by = KeptBy::kPlan);
  /// Ends the engagement: the next run is its first turn.
  void End() { turn_ = 0; }
  /// Bounds the buffer to so many bytes from now on; nothing: to what the plan says. What one
  /// cascade level keeps for the next comes on top.
  void Limit(std::optional<uint64_t> bytes) { limit_ = bytes; }

 private:
  [[nodiscard]] std::span<const ShardAtBits> KeptAt(RouteId route, size_t turn);
  [[nodiscard]] std::span<const ShardAtBits> KeptWithin(uint64_t bytes, RouteId route);
  [[nodiscard]] std::span<const ShardAtBits> KeptForLater(RouteId route);

  const Plan* plan_ = nullptr;
  RouteId main_;
  BytesOf bytes_of_;
  size_t turn_ = 0;  ///< runs under the plan itself since the engagement began
  KeptBy kept_by_ = KeptBy::kPlan;
  std::optional<uint64_t> limit_;
  std::vector<ShardAtBits> within_limit_;
  std::vector<std::vector<ShardAtBits>> handed_on_;  ///< [levels of the cascade] HandedOn
  std::vector<ShardAtBits> for_later_;
};

}  // namespace sti
