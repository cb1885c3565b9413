#include "second_play.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace sti::test {
namespace {

/// Two sums of the same times in other orders differ by less.
constexpr double kRounding_us = 1e-6;

/// Both lanes at one moment.
class SecondLanes {
 public:
  SecondLanes(const SecondRun& run, std::optional<uint64_t> arena_bytes)
      : run_(run), arena_bytes_(arena_bytes), now_us_(-run.wake_us), rows_left_us_(run.rows_us) {}

  std::optional<double> Play() {
    while (step_ < run_.layers_us.size() + 2 || busy_) {
      if (Begin()) continue;
      const std::optional<double> next_us = NextUs();
      if (!next_us) return std::nullopt;
      GoTo(*next_us);
    }
    return now_us_;
  }

 private:
  /// Rows go first once the text is there, whatever is being read.
  [[nodiscard]] bool reads_rows() const { return now_us_ >= 0 && rows_left_us_ > 0; }

  /// Begins or ends what needs no time to pass. Returns whether there was anything.
  bool Begin() {
    if (reading_ && left_us_ <= 0) {
      reading_ = false;
      ++arrived_;
      return true;
    }
    if (!reading_ && arrived_ < run_.loads.size() && FitsArena()) {
      reading_ = true;
      left_us_ = run_.loads[arrived_].load_us;
      held_bytes_ += run_.loads[arrived_].bytes;
      return true;
    }
    if (busy_ && end_us_ <= now_us_) {
      busy_ = false;
      Free();
      ++step_;
      return true;
    }
    if (!busy_ && step_ < run_.layers_us.size() + 2 && MayCompute()) {
      busy_ = true;
      end_us_ = now_us_ + StepUs();
      return true;
    }
    return false;
  }

  [[nodiscard]] bool FitsArena() const {
    return !arena_bytes_ || held_bytes_ + run_.loads[arrived_].bytes <= *arena_bytes_;
  }

  /// Step 0 sums the embedding rows, those behind it are layers, the last one is the head.
  [[nodiscard]] bool MayCompute() const {
    if (now_us_ < 0 || rows_left_us_ > 0) return false;
    const auto needed = [&](const SecondLoad& load) { return run_.serial || load.layer < step_; };
    const auto wanted = std::ranges::count_if(run_.loads, needed);
    return static_cast<size_t>(wanted) <= arrived_;
  }
  [[nodiscard]] double StepUs() const {
    if (step_ == 0) return run_.embed_us;
    return step_ <= run_.layers_us.size() ? run_.layers_us[step_ - 1] : run_.head_us;
  }
  /// A layer that is computed leaves the arena.
  void Free() {
    if (step_ == 0) return;
    for (const SecondLoad& load : run_.loads) {
      if (load.layer + 1 == step_) held_bytes_ -= load.bytes;
    }
  }

  [[nodiscard]] std::optional<double> NextUs() const {
    std::optional<double> next_us;
    const auto at = [&](double time_us) { next_us = std::min(next_us.value_or(time_us), time_us); };
    if (busy_) at(end_us_);
    if (now_us_ < 0) at(0);
    if (reads_rows()) {
      at(now_us_ + rows_left_us_);
    } else if (reading_) {
      at(now_us_ + left_us_);
    }
    return next_us;
  }
  void GoTo(double next_us) {
    const double passed_us = next_us - now_us_;
    // Whatever ends at this moment has nothing left, whatever rounding says.
    const auto pass = [&](double* left_us) {
      *left_us = now_us_ + *left_us <= next_us ? 0 : *left_us - passed_us;
    };
    if (reads_rows()) {
      pass(&rows_left_us_);
    } else if (reading_) {
      pass(&left_us_);
    }
    now_us_ = next_us;
  }

  const SecondRun& run_;
  const std::optional<uint64_t> arena_bytes_;
  double now_us_;
  double rows_left_us_;
  bool reading_ = false;
  double left_us_ = 0;  // of the read at hand
  size_t arrived_ = 0;  // reads that have come
  uint64_t held_bytes_ = 0;
  bool busy_ = false;
  double end_us_ = 0;  // of the step at hand
  size_t step_ = 0;
};

}  // namespace

uint64_t SecondRun::AllBytes() const {
  uint64_t bytes = 0;
  for (const SecondLoad& load : loads) bytes += load.bytes;
  return bytes;
}

uint64_t SecondRun::LargestBytes() const {
  uint64_t bytes = 0;
  for (const SecondLoad& load : loads) bytes = std::max(bytes, load.bytes);
  return bytes;
}

uint64_t SecondRun::LargestLayerBytes() const {
  std::vector<uint64_t> layers(layers_us.size());
  for (const SecondLoad& load : loads) layers[load.layer] += load.bytes;
  return *std::ranges::max_element(layers);
}

double SecondRun::ComputeUs() const {
  return std::accumulate(layers_us.begin(), layers_us.end(), embed_us + head_us);
}

std::optional<double> SecondPlay(const SecondRun& run, std::optional<uint64_t> arena_bytes) {
  return SecondLanes(run, arena_bytes).Play();
}

uint64_t SecondLeastArena(std::span<const SecondRun> runs) {
  std::set<uint64_t> sizes = {0};
  for (const SecondRun& run : runs) {
    for (size_t from = 0; from < run.loads.size(); ++from) {
      uint64_t bytes = 0;
      for (size_t to = from; to < run.loads.size(); ++to)
        sizes.insert(bytes += run.loads[to].bytes);
    }
  }
  for (const uint64_t size : sizes) {
    const bool delays_none = std::ranges::all_of(runs, [&](const SecondRun& run) {
      if (run.serial) return size >= run.AllBytes();
      const std::optional<double> label_us = SecondPlay(run, size);
      return label_us && *label_us <= *SecondPlay(run, std::nullopt) + kRounding_us;
    });
    if (delays_none) return size;
  }
  return *sizes.rbegin();
}

}  // namespace sti::test
