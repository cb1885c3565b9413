// Plans passes of one size over a cluster: a table of what every stage that there may be takes on
// each kind of device, the best partition by that table, and what becomes of its stages
// (plan/stages.h). Internal to lib/plan.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/device_model.h"
#include "plan/partition.h"
#include "plan/planned_run.h"
#include "plan/play/shard_costs.h"
#include "plan/search/allocation.h"
#include "plan/stages.h"
#include "plan/timeline.h"
#include "types/plan.h"
#include "types/stage.h"

namespace sti {

/// A part of the plan's layers, by position, on a device of a kind.
struct StagePlace {
  size_t kind = 0;
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// The times of one kind for passes of one size.
struct KindTimes {
  const DeviceKind& kind;
  CheckedInput input;
  DeviceModels devices;
  ShardCosts costs;
};

/// Plans passes of one size over a cluster. Immutable once made.
class ClusterPlanner {
 public:
  /// Makes a planner of passes of `microbatch` sequences. `whole` has layers, width and length. The
  /// cluster outlives it. Errors are those of PlanForCluster, at the device that they are about.
  static Result<ClusterPlanner> Make(const ClusterInput& cluster, bool interpolate,
                                     const PlanCore& whole, uint32_t microbatch);

  /// Returns the best partition at uniform bits; nothing if none fits.
  [[nodiscard]] std::optional<Partition> PartitionAt(uint32_t bits) const;

  /// Returns the least memory with which each device would do, were all kinds to have it; nothing
  /// if devices are not linked so that the model could be split.
  [[nodiscard]] std::optional<uint64_t> LeastMemory(uint32_t bits) const;

  /// Returns the plan of a partition: at uniform bits, and then raised as the period allows.
  [[nodiscard]] Plan PlanOf(const Partition& partition, uint32_t bits) const;

  /// Fills in the figures of the stages, and of all together. Returns the first that does not fit
  /// its device; empty if all do. The plan's devices are the cluster's.
  std::string FillFigures(Plan* plan) const;

  /// Returns the timeline of a stage's pass.
  [[nodiscard]] PlanTimeline Play(const Plan& plan, size_t number) const {
    const Plan own = CutStage(plan, number);
    const PlannedRun run = RunOf(Kind(plan, number).input, Kind(plan, number).devices.median, own);
    return TimelineOf(own, run, own.staging_bytes);
  }

  [[nodiscard]] const std::vector<KindTimes>& kinds() const { return kinds_; }

  /// Returns the kind of a device; as many as there are if none has this name.
  [[nodiscard]] size_t KindOf(const std::string& device) const {
    const auto has = [&](const DeviceKind& kind) {
      return std::ranges::find(kind.devices, device) != kind.devices.end();
    };
    return static_cast<size_t>(std::ranges::find_if(cluster_.kinds, has) - cluster_.kinds.begin());
  }

 private:
  ClusterPlanner(const ClusterInput& cluster, const PlanCore& whole, uint32_t microbatch)
      : cluster_(cluster), whole_(whole), microbatch_(microbatch) {}

  [[nodiscard]] Status AddKind(const DeviceKind& kind, bool interpolate);

  struct StageRun {
    double p99_us = 0;
    bool fits = true;
  };

  [[nodiscard]] uint32_t layers() const { return static_cast<uint32_t>(whole_.layers.size()); }
  [[nodiscard]] const KindTimes& Kind(const Plan& plan, size_t number) const {
    return kinds_[KindOf(plan.staged->stages[number].device)];
  }
  [[nodiscard]] NetworkEnds EndsOf(const StagePlace& place) const {
    return {.text = place.begin == 0, .head = place.end == layers()};
  }

  template <typename Visit>
  void ForEachPlace(const Visit& visit) const {
    for (size_t kind = 0; kind < kinds_.size(); ++kind) {
      for (uint32_t begin = 0; begin < layers(); ++begin) {
        for (uint32_t end = begin + 1; end <= layers(); ++end) visit(StagePlace{kind, begin, end});
      }
    }
  }

  template <typename Cost>
  void SetTransfers(PartitionTimes* times, const Cost& cost) const {
    for (uint32_t from = 0; from < kinds_.size(); ++from) {
      for (uint32_t to = 0; to < kinds_.size(); ++to) {
        const KindLink& link = cluster_.Link(from, to);
        if (link.bits_per_s <= 0) continue;
        for (uint32_t end = 1; end < layers(); ++end) times->SetTransfer(end, from, to, cost(link));
      }
    }
  }

  [[nodiscard]] std::vector<uint32_t> DevicesOfKinds() const {
    std::vector<uint32_t> counts;
    for (const DeviceKind& kind : cluster_.kinds)
      counts.push_back(static_cast<uint32_t>(kind.devices.size()));
    return counts;
  }

  /// Returns the time of sending the rows of a whole pass.
  [[nodiscard]] double TransferUs(const KindLink& link) const;

  /// Returns the bytes that a stage's process takes before its shards.
  [[nodiscard]] uint64_t BytesBefore(const StagePlace& place) const;

  /// Returns the bytes that are left for a stage's shards; nothing if memory is not bounded.
  [[nodiscard]] std::optional<uint64_t> ShardBytes(const StagePlace& place) const {
    const std::optional<uint64_t> memory = kinds_[place.kind].kind.memory_bytes;
    if (!memory) return std::nullopt;
    return *memory - std::min(*memory, BytesBefore(place));
  }

  /// Returns the bytes of the largest layer of a stage, which staging holds at least.
  [[nodiscard]] uint64_t LeastStaging(const StagePlace& place, uint32_t bits) const;

  [[nodiscard]] std::vector<uint32_t> LayersOf(const StagePlace& place) const {
    return {whole_.layers.begin() + place.begin, whole_.layers.begin() + place.end};
  }

  /// Returns an allocation of a stage at the lowest bits, which are within `target_us`, if any.
  [[nodiscard]] Allocation AllocationOf(const StagePlace& place,
                                        std::optional<double> target_us) const;

  /// Returns a stage as a plan of its own.
  [[nodiscard]] PlanCore CoreOf(const StagePlace& place, const Allocation& allocation) const;

  /// Returns the period of a stage at uniform bits; nothing if memory does not hold it, or its
  /// device does not tell the time of these bits.
  [[nodiscard]] std::optional<double> PeriodAt(const StagePlace& place, uint32_t bits) const;

  /// Raises the shards of a stage, the most important first, as far as its period allows.
  void Raise(const StagePlace& place, double period_us, uint32_t bits, Plan* plan,
             PlanStage* stage) const;

  /// Returns the shards of a stage by position, the most important first.
  [[nodiscard]] std::vector<size_t> OrderOf(const StagePlace& place) const;

  /// Fills in the figures of one stage.
  StageRun FillStage(size_t kind_number, size_t number, Plan* plan) const;

  /// Fills in what the plan says of all its stages together, and of a device that runs it whole.
  void FillWhole(double first_us, double first_p99_us, Plan* plan) const;

  const ClusterInput& cluster_;
  PlanCore whole_;  ///< layers, width and length
  uint32_t microbatch_;
  std::vector<KindTimes> kinds_;
};

}  // namespace sti
