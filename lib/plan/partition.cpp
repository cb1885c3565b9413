#include "plan/partition.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace sti {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// The devices of each kind that a prefix of the stages has taken, as one number.
class Counts {
 public:
  explicit Counts(const std::vector<uint32_t>& devices) : devices_(devices) {
    for (const uint32_t count : devices) {
      steps_.push_back(all_);
      all_ *= size_t{count} + 1;
    }
  }

  [[nodiscard]] size_t all() const { return all_; }
  [[nodiscard]] uint32_t Of(size_t taken, size_t kind) const {
    return static_cast<uint32_t>(taken / steps_[kind] % (size_t{devices_[kind]} + 1));
  }
  [[nodiscard]] bool HasLeft(size_t taken, size_t kind) const {
    return Of(taken, kind) < devices_[kind];
  }
  [[nodiscard]] size_t WithOne(size_t taken, size_t kind) const { return taken + steps_[kind]; }
  [[nodiscard]] uint32_t Sum(size_t taken) const {
    uint32_t sum = 0;
    for (size_t kind = 0; kind < devices_.size(); ++kind) sum += Of(taken, kind);
    return sum;
  }

 private:
  const std::vector<uint32_t>& devices_;
  std::vector<size_t> steps_;
  size_t all_ = 1;
};

// Solves one task. A state is h(i, taken, u) of the paper: the first i layers run on the devices
// taken, and a device of kind u, which is none of them, comes next.
class Solver {
 public:
  Solver(const PartitionTimes& times, const std::vector<uint32_t>& devices)
      : times_(times),
        counts_(devices),
        kinds_(times.kinds()),
        states_(times.layers() * counts_.all() * kinds_) {}

  std::optional<Partition> Solve() {
    for (uint32_t kind = 0; kind < kinds_; ++kind) {
      if (counts_.HasLeft(0, kind)) states_[At(0, 0, kind)].period_us = 0;
    }
    // A stage more takes a device more, and so leads to a greater number of those taken.
    for (size_t taken = 0; taken < counts_.all(); ++taken) {
      for (uint32_t kind = 0; kind < kinds_; ++kind) {
        if (!counts_.HasLeft(taken, kind)) continue;
        FindNext(counts_.WithOne(taken, kind));
        for (uint32_t i = 0; i < times_.layers(); ++i) GoOnFrom(i, taken, kind);
      }
    }
    if (!(best_us_ < kNever)) return std::nullopt;
    return Partition{Stages(), best_us_};
  }

 private:
  struct State {
    double period_us = kNever;
    // The layer and the kind of the stage that ends here.
    uint32_t begin = 0;
    uint32_t kind = 0;
  };

  [[nodiscard]] size_t At(uint32_t layers, size_t taken, uint32_t next) const {
    return (taken * times_.layers() + layers) * kinds_ + next;
  }

  // Finds the kinds of which a device is left once these are taken.
  void FindNext(size_t taken) {
    next_.clear();
    for (uint32_t kind = 0; kind < kinds_; ++kind) {
      if (counts_.HasLeft(taken, kind)) next_.push_back(kind);
    }
  }

  // Lets a device of the kind that comes next run layers [i, j), for each j; next_ may follow it.
  void GoOnFrom(uint32_t i, size_t taken, uint32_t kind) {
    const double before_us = states_[At(i, taken, kind)].period_us;
    // No longer period is better, and no equal one has fewer stages behind it than before it.
    if (!(before_us <= best_us_) || before_us == kNever) return;
    const size_t with = counts_.WithOne(taken, kind);
    for (uint32_t j = i + 1; j < times_.layers(); ++j) {
      const double own_us = std::max(before_us, times_.Stage(i, j, kind));
      if (!(own_us <= best_us_) || own_us == kNever) continue;
      for (const uint32_t next : next_) {
        const double period_us = std::max(own_us, times_.Transfer(j, kind, next));
        State& state = states_[At(j, with, next)];
        if (period_us < state.period_us) state = {period_us, i, kind};
      }
    }
    const double whole_us = std::max(before_us, times_.Stage(i, times_.layers(), kind));
    const uint32_t stages = counts_.Sum(with);
    const bool better = whole_us < best_us_ || (whole_us == best_us_ && stages < stages_);
    if (whole_us == kNever || !better) return;
    best_us_ = whole_us;
    stages_ = stages;
    last_ = {kind, i, times_.layers()};
    taken_ = taken;
  }

  [[nodiscard]] std::vector<PartitionStage> Stages() const {
    std::vector<PartitionStage> stages{last_};
    size_t taken = taken_;
    while (stages.back().begin > 0) {
      const State& state = states_[At(stages.back().begin, taken, stages.back().kind)];
      stages.push_back({state.kind, state.begin, stages.back().begin});
      taken -= counts_.WithOne(0, state.kind);
    }
    std::ranges::reverse(stages);
    return stages;
  }

  const PartitionTimes& times_;
  Counts counts_;
  uint32_t kinds_;
  std::vector<State> states_;   // [counts, layers, kinds]
  std::vector<uint32_t> next_;  // kinds
  double best_us_ = kNever;
  uint32_t stages_ = 0;  // of the best partition so far
  PartitionStage last_;  // its last stage
  size_t taken_ = 0;     // by the stages before that
};

}  // namespace

PartitionTimes::PartitionTimes(uint32_t layers, uint32_t kinds)
    : layers_(layers),
      kinds_(kinds),
      stages_(size_t{layers} * (layers + 1) * kinds, kNever),
      transfers_((size_t{layers} + 1) * kinds * kinds, kNever) {}

void PartitionTimes::SetStage(uint32_t begin, uint32_t end, uint32_t kind, double time_us) {
  assert(begin < end && end <= layers_ && kind < kinds_);
  stages_[(size_t{begin} * (layers_ + 1) + end) * kinds_ + kind] = time_us;
}

void PartitionTimes::SetTransfer(uint32_t end, uint32_t from, uint32_t to, double time_us) {
  assert(end > 0 && end < layers_ && from < kinds_ && to < kinds_);
  transfers_[(size_t{end} * kinds_ + from) * kinds_ + to] = time_us;
}

double PeriodOf(const PartitionTimes& times, const std::vector<PartitionStage>& stages) {
  double period_us = 0;
  for (size_t i = 0; i < stages.size(); ++i) {
    const PartitionStage& stage = stages[i];
    period_us = std::max(period_us, times.Stage(stage.begin, stage.end, stage.kind));
    if (i + 1 == stages.size()) break;
    period_us = std::max(period_us, times.Transfer(stage.end, stage.kind, stages[i + 1].kind));
  }
  return period_us;
}

uint64_t PartitionStates(uint32_t layers, const std::vector<uint32_t>& devices) {
  uint64_t states = uint64_t{layers} * devices.size();
  for (const uint32_t count : devices) {
    if (states > kMostPartitionStates) break;
    states *= uint64_t{count} + 1;  // of 27 and 33 bits at most
  }
  return std::min(states, kMostPartitionStates + 1);
}

std::optional<Partition> BestPartition(const PartitionTimes& times,
                                       const std::vector<uint32_t>& devices) {
  assert(devices.size() == times.kinds());
  assert(PartitionStates(times.layers(), devices) <= kMostPartitionStates);
  if (times.layers() == 0) return std::nullopt;
  return Solver(times, devices).Solve();
}

}  // namespace sti
