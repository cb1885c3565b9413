// Patience is how long a stage waits for what should happen before it takes its peer for lost. The
// classes here judge by times that they are told, so that tests need no clock. One thread at a time
// calls each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace sti {

/// How long something has not happened that should.
class Patience {
 public:
  Patience(double most_us, Clock::time_point now) : most_us_(most_us), since_(now) {}

  /// It has happened, or there is no reason why it should.
  void Rest(Clock::time_point now) { since_ = now; }
  [[nodiscard]] bool over(Clock::time_point now) const {
    return MicrosecondsBetween(since_, now) >= most_us_;
  }
  /// Returns when it will be over.
  [[nodiscard]] Clock::time_point end() const { return since_ + Microseconds(most_us_); }

 private:
  double most_us_;
  Clock::time_point since_;
};

/// Watches whether a stage that has work does layers. It judges by what it sees alone: a stage that
/// is not seen is silent, which is another matter.
class WorkWatch {
 public:
  WorkWatch(double most_us, Clock::time_point now) : patience_(most_us, now) {}

  /// Sees how many layers a stage has done and whether it has work. Returns whether it has had work
  /// each time for too long, and done none.
  bool Stands(uint64_t layers_done, bool has_work, Clock::time_point now) {
    if (!has_work || !had_work_ || layers_done != layers_done_) patience_.Rest(now);
    had_work_ = has_work;
    layers_done_ = layers_done;
    return patience_.over(now);
  }
  void Rest(Clock::time_point now) { patience_.Rest(now); }

 private:
  Patience patience_;
  uint64_t layers_done_ = 0;
  bool had_work_ = false;
};

/// Watches whether a peer takes what is sent to it.
class SendWatch {
 public:
  SendWatch(double most_us, Clock::time_point now) : patience_(most_us, now) {}

  /// A frame is about to be sent. Where nobody knows what the peer takes, it has to take nothing
  /// until then.
  void Begin(std::optional<uint64_t> untaken_bytes, Clock::time_point now) {
    if (!untaken_bytes) patience_.Rest(now);
  }
  /// An attempt has sent so many bytes, behind which so many wait for the peer, if that is known.
  /// Returns whether the peer has taken none for too long.
  bool Stands(uint64_t bytes, std::optional<uint64_t> untaken_bytes, Clock::time_point now) {
    sent_bytes_ += bytes;
    if (untaken_bytes) {
      const uint64_t taken = sent_bytes_ - std::min(sent_bytes_, *untaken_bytes);
      if (*untaken_bytes == 0 || taken > taken_bytes_) patience_.Rest(now);
      taken_bytes_ = std::max(taken_bytes_, taken);
    } else if (bytes > 0) {
      patience_.Rest(now);
    }
    return patience_.over(now);
  }

 private:
  Patience patience_;
  uint64_t sent_bytes_ = 0;
  uint64_t taken_bytes_ = 0;
};

}  // namespace sti
