// The faults of the device that flashfs shows, as its user wrote them down.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sti {

enum class FlashFaultKind : uint8_t {
  kError,     ///< eio: the read fails with EIO
  kShort,     ///< short: half of the blocks asked for, at least one, is all that comes
  kTornOnce,  ///< torn-once: the first read gets the bytes of the range with all bits flipped
  kTorn,      ///< torn: every read does
  kDelay,     ///< delay=TIME: the read takes that much longer
};

struct FlashFault {
  FlashFaultKind kind = FlashFaultKind::kError;
  uint64_t offset = 0;
  uint64_t length = 0;
  int64_t delay_ns = 0;
  bool spent = false;
};

/// "KIND@OFFSET+LENGTH", several separated by commas: "eio@8192+4096,delay=20ms@0+1MiB".
Result<std::vector<FlashFault>> ParseFlashFaults(std::string_view text);

/// The faults of a device: they strike every read of a file that touches their range.
class FlashFaults {
 public:
  explicit FlashFaults(std::vector<FlashFault> faults) : faults_(std::move(faults)) {}

  struct Outcome {
    bool error = false;
    uint64_t bytes = 0;    ///< what is given of what was asked for
    int64_t delay_ns = 0;  ///< added to what the device takes
    std::vector<FlashFault> torn;
  };
  /// Returns what becomes of a read of `bytes` at `offset`.
  Outcome Strike(uint64_t offset, uint64_t bytes);

 private:
  std::vector<FlashFault> faults_;
};

/// Flips the bytes that the fault's range shares with what was read at `offset`.
void Tear(const FlashFault& fault, uint64_t offset, std::span<char> bytes);

}  // namespace sti
