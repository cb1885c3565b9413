// Frames are what goes from one stage of a pipeline of devices to the next: the hidden rows of a
// pass with the lines that they belong to, heartbeats, and the end of the stream. This file has
// their values and their bytes (spec/frame-stream.md); how they travel is a carrier's matter, and
// when they do is the link's. All functions are pure and thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "types/byte_range.h"

namespace sti {

/// One input line of a pass.
struct FrameLine {
  std::string text;                    ///< is printed with the answer; any kMaxLineBytes bytes
  uint32_t tokens = 0;                 ///< rows that it has; 0 exactly if it has an error
  bool truncated = false;              ///< some of the text did not fit
  std::vector<TextToken> text_tokens;  ///< for a head that labels tokens; else empty
  /// The line's own error. Kind, source, what and place travel, texts made printable.
  std::optional<Error> error;
};

/// The times that one stage took for a pass: durations in microseconds, since no two devices'
/// clocks compare.
struct StageTook {
  double wait_us = 0;
  double compute_us = 0;
  double stall_us = 0;
  double send_us = 0;
  double total_us = 0;
  uint64_t bytes_read = 0;
  friend bool operator==(const StageTook&, const StageTook&) = default;
};

/// A pass between two stages.
struct PassFrame {
  uint64_t number = 0;           ///< counted from 0 in each stream
  std::vector<FrameLine> lines;  ///< 1 to the terms' microbatch
  std::vector<StageTook> took;   ///< of each stage that it went through, in order
  std::vector<float> rows;       ///< [tokens of all lines, hidden], all finite
};

/// A sign of life, sent where nothing else is.
struct Heartbeat {
  uint64_t number = 0;       ///< of the next pass
  uint64_t layers_done = 0;  ///< since the stage began
  bool has_work = false;     ///< it computes; where not, its count may stand
};

/// The last frame of a stream.
struct EndFrame {
  enum class Reason : uint8_t { kDone, kInterrupted, kFailed };

  uint64_t number = 0;  ///< how many passes there were
  Reason reason = Reason::kDone;
  std::string device = {};  ///< where it ended; empty if it is done
  std::string what = {};    ///< why, in one line, if it failed; else empty
};

using Frame = std::variant<PassFrame, Heartbeat, EndFrame>;

/// The order of the alternatives of Frame, from 1.
enum class FrameKind : uint16_t { kPass = 1, kHeartbeat = 2, kEnd = 3 };

/// The rules of a stream's frames that are its plan's, so that all stages have the same.
struct FrameTerms {
  Digest plan = {};
  uint32_t hidden = 0;      ///< numbers of a row
  uint32_t length = 0;      ///< most rows of a line
  uint32_t microbatch = 0;  ///< most lines of a pass
  uint32_t stages = 0;      ///< most entries of PassFrame::took
};

inline constexpr size_t kStreamHeaderBytes = 64;

/// The header of a frame, which stands in front of its body.
struct FrameHeader {
  FrameKind kind = FrameKind::kPass;
  uint64_t body_bytes = 0;
  uint64_t number = 0;
  uint64_t checksum = 0;  ///< of the body
};

/// Returns the most bytes that the body of a frame may have: of a pass at most 1 GiB.
uint64_t MostBodyBytes(FrameKind kind, const FrameTerms& terms);

/// Encodes a frame: the same bytes for the same value. DataError if it breaks the rules that a
/// reader holds it to, such as that of finite rows, and InfeasibleError if it takes over 1 GiB.
Result<std::vector<uint8_t>> EncodeFrame(const Frame& frame, const FrameTerms& terms);

/// Reads the header that `bytes`, at least kStreamHeaderBytes of them, begin with, so that a reader
/// knows how much memory the body takes. DataError or ForeignError at `name` if it breaks a rule.
Result<FrameHeader> ParseFrameHeader(std::span<const uint8_t> bytes, const FrameTerms& terms,
                                     const std::string& name);

/// Reads a frame that is all of `bytes`, in front of which `passes` passes have come. Errors are
/// those of ParseFrameHeader.
Result<Frame> ParseFrame(std::span<const uint8_t> bytes, const FrameTerms& terms, uint64_t passes,
                         const std::string& name);

}  // namespace sti
