// Carriers move frames between two stages: through pipes (link/pipe_carrier.h), or between ranks of
// MPI (link/mpi_carrier.h). A stream goes one way, so each side of it has a class of its own. A
// carrier knows where a frame ends, and neither what it says nor when its peer is lost: it says
// what moves, and the link (link/stage_link.h) judges.
//
// One thread at a time calls a source or a sink; Wake alone may come from any thread. No call waits
// longer than it is told to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "link/frame.h"

namespace sti {

/// The side of a stream that frames come from.
class FrameSource {
 public:
  enum class Got : uint8_t {
    kNothing,  ///< nothing came, or Wake was called
    kSome,     ///< some of a frame came
    kFrame,    ///< a frame is whole
    kEnd,      ///< nothing will come, perhaps not even the rest of a frame
  };
  /// How much is taken of a pass, for which a stage that has passes enough has no room.
  enum class Pace : uint8_t {
    kAll,
    kSign,  ///< so little that it tells the peer that this stage lives
  };

  FrameSource() = default;
  FrameSource(const FrameSource&) = delete;
  FrameSource& operator=(const FrameSource&) = delete;
  virtual ~FrameSource() = default;

  /// Waits until `latest` for some of a frame, and takes what is there of it. Errors are those of
  /// ParseFrameHeader, and a MachineError of the system; either is the stream's last.
  virtual Result<Got> Receive(Pace pace, Clock::time_point latest) = 0;
  /// Returns whether the frame that is coming, or is whole, is known to be a pass.
  [[nodiscard]] virtual bool in_pass() const = 0;
  /// Returns the frame that is whole, until the next call of Receive.
  [[nodiscard]] virtual std::span<const uint8_t> frame() const = 0;
  /// Ends the wait of another thread's call, or of the next one.
  virtual void Wake() = 0;
};

/// The frame that comes to a source whose carrier moves bytes.
class ComingFrame {
 public:
  /// `name` is the place of errors.
  ComingFrame(const FrameTerms& terms, std::string name);

  /// Begins the next frame if this one is whole.
  void GoOn();
  /// Returns room for what is to be taken next at a pace, at least a byte.
  std::span<uint8_t> Room(FrameSource::Pace pace);
  /// So many bytes, from none to all, were put into the room. Returns kNothing for none, else kSome
  /// or kFrame. Errors are those of ParseFrameHeader.
  Result<FrameSource::Got> Put(size_t count);
  [[nodiscard]] bool in_pass() const { return header_ && header_->kind == FrameKind::kPass; }
  [[nodiscard]] std::span<const uint8_t> bytes() const { return bytes_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  const FrameTerms terms_;
  const std::string name_;
  std::vector<uint8_t> bytes_;  ///< as far as they have come, and room
  size_t there_ = 0;            ///< of them, bytes that have come
  std::optional<FrameHeader> header_;
  bool whole_ = false;
};

/// The side of a stream that frames go to.
class FrameSink {
 public:
  /// So much a call has moved.
  struct Sent {
    size_t bytes = 0;
    bool left = false;  ///< nobody reads any more, and nobody will
  };

  FrameSink() = default;
  FrameSink(const FrameSink&) = delete;
  FrameSink& operator=(const FrameSink&) = delete;
  virtual ~FrameSink() = default;

  /// Waits until `latest` for room, and sends as much of `rest`, the rest of a frame, as there is
  /// room for. MachineError where the system refuses.
  virtual Result<Sent> Send(std::span<const uint8_t> rest, Clock::time_point latest) = 0;
  /// Returns how many bytes were sent and not taken by the peer yet; nothing where none can know.
  [[nodiscard]] virtual std::optional<uint64_t> untaken_bytes() const = 0;
  virtual void Wake() = 0;
};

}  // namespace sti
