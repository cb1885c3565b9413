// The open files that a reader reads through. All are the same file; a system may grant each of
// them its own part of the device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/block_source.h"

namespace sti {

/// Holds one open source or more, and counts the reads in flight of each. Not thread-safe; a source
/// stays where it is while nothing is held or let go.
class Streams {
 public:
  explicit Streams(OpenedSource first) { open_.push_back({std::move(first), 0}); }

  /// Opens the first anew, or closes the last, until there are `wanted`, at least one. Returns why
  /// there are fewer; empty if there are not. Nothing is in flight.
  std::string Hold(uint32_t wanted);

  [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(open_.size()); }
  [[nodiscard]] const OpenedSource& first() const { return open_.front().source; }
  [[nodiscard]] const OpenedSource& operator[](uint32_t stream) const {
    return open_[stream].source;
  }

  /// Counts one more read in flight through `stream`, below count(), or else through the first of
  /// those that have the fewest. Returns which it is.
  uint32_t Begin(std::optional<uint32_t> stream);
  /// Counts one less.
  void End(uint32_t stream) { --open_[stream].in_flight; }

 private:
  struct Stream {
    OpenedSource source;
    uint32_t in_flight = 0;
  };
  std::vector<Stream> open_;
};

}  // namespace sti
