// A partition splits a model over the devices of a cluster, which work on different inputs at the
// same time: each device, a stage, runs some layers of the model one behind another and hands on
// what they give. The period of such a pipeline is the time of its slowest stage or transfer
// (EdgePipe 3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sti {

/// The times of a model's parts on the devices of a cluster. Devices of a *kind* are alike: they
/// take as long, hold as much, and are linked alike to others.
class PartitionTimes {
 public:
  /// Holds the times of `layers` layers on devices of `kinds` kinds; no stage fits anywhere, and
  /// nothing can be sent, until something is set.
  PartitionTimes(uint32_t layers, uint32_t kinds);

  [[nodiscard]] uint32_t layers() const { return layers_; }
  [[nodiscard]] uint32_t kinds() const { return kinds_; }

  /// Sets the time of a stage of layers [begin, end), which fits on a device of this kind. At least
  /// one layer; the time is finite and not negative, here and below.
  void SetStage(uint32_t begin, uint32_t end, uint32_t kind, double time_us);
  /// Sets the time of sending the output of the layer before `end` from one device to another.
  /// `end` is from 1 to before layers().
  void SetTransfer(uint32_t end, uint32_t from, uint32_t to, double time_us);

  /// Each returns such a time; infinite where the stage does not fit or there is no link.
  [[nodiscard]] double Stage(uint32_t begin, uint32_t end, uint32_t kind) const {
    return stages_[(size_t{begin} * (layers_ + 1) + end) * kinds_ + kind];
  }
  [[nodiscard]] double Transfer(uint32_t end, uint32_t from, uint32_t to) const {
    return transfers_[(size_t{end} * kinds_ + from) * kinds_ + to];
  }

 private:
  uint32_t layers_;
  uint32_t kinds_;
  std::vector<double> stages_;     // [layers, layers + 1, kinds] by begin, end, kind
  std::vector<double> transfers_;  // [layers + 1, kinds, kinds] by end, sender, receiver
};

/// Layers [begin, end) on a device of a kind.
struct PartitionStage {
  uint32_t kind = 0;
  uint32_t begin = 0;
  uint32_t end = 0;

  friend bool operator==(const PartitionStage&, const PartitionStage&) = default;
};

/// All layers in stages, in order.
struct Partition {
  std::vector<PartitionStage> stages;
  double period_us = 0;  ///< the longest time of its stages and of the transfers between them
};

/// Returns the period of stages in order: infinite where one of them does not fit, or is not linked
/// to the next.
double PeriodOf(const PartitionTimes& times, const std::vector<PartitionStage>& stages);

/// The most states that BestPartition visits: layers by counts of devices by kinds.
inline constexpr uint64_t kMostPartitionStates = uint64_t{1} << 25;

/// Returns how many states BestPartition visits for clusters of so many devices of each kind; more
/// than kMostPartitionStates are one more than that.
uint64_t PartitionStates(uint32_t layers, const std::vector<uint32_t>& devices);

/// Returns the partition of the least period over at most `devices` [kinds] devices of each kind;
/// of several the one with the fewest stages. Nothing if none fits. Exact, and the same on every
/// machine: dynamic programming over how many layers and how many devices of each kind are taken
/// (EdgePipe, algorithm 1, in counts for sets). PartitionStates is at most kMostPartitionStates.
/// Pure.
std::optional<Partition> BestPartition(const PartitionTimes& times,
                                       const std::vector<uint32_t>& devices);

}  // namespace sti
