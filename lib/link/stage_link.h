// The link of a stage to those before and after it: it receives passes while the stage computes
// others, sends those that are done, and says when a neighbour is lost (spec/frame-stream.md,
// "Losses"). Each side has a thread, so that heartbeats go while the stage computes, and a queue.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/mutex.h"
#include "base/result.h"
#include "link/carrier.h"
#include "link/frame.h"
#include "link/patience.h"

namespace sti {

/// Returns the bytes that a stage's link takes for passes whose rows have `row_bytes` at most:
/// those that are being received, wait, and are being sent, and the one that the stage computes.
/// Pure.
uint64_t LinkBytes(uint64_t row_bytes, bool receives, bool sends);

struct StageLinkOptions {
  FrameTerms terms;
  double timeout_us = 5e6;    ///< a neighbour that shows no life for so long is lost
  double heartbeat_us = 1e6;  ///< the longest time in which nothing is sent
  std::string device;         ///< this stage's name, in errors
  std::string before;         ///< that of the stage before
  std::string after;
  Interrupt* interrupt = nullptr;  ///< ends waits of Next and Give, or null
  /// Called once, by a thread of the link, when nothing that the stage still computes will reach
  /// anybody: the stage after has left or is lost, or this one stands still. It may call nothing of
  /// the link.
  std::function<void()> on_end = {};
};

/// The link of one stage. One thread, the stage's, calls Next, Give and Finish; NoteLayer, NoteWork
/// and output_closed are thread-safe.
class StageLink {
 public:
  /// Passes that wait on each side. One more is being received, and one sent, as its frame's bytes
  /// too.
  static constexpr size_t kQueuedPasses = 2;

  /// Begins to receive and send. The first stage has no source, the last no sink. MachineError if
  /// the system gives no thread.
  static Result<std::unique_ptr<StageLink>> Start(std::unique_ptr<FrameSource> source,
                                                  std::unique_ptr<FrameSink> sink,
                                                  StageLinkOptions options);
  /// Ends at once. Without Finish, the stage after takes this one for lost.
  ~StageLink();
  StageLink(const StageLink&) = delete;
  StageLink& operator=(const StageLink&) = delete;

  /// Waits for the next pass of the stage before. Nothing if there is none: the stream has ended
  /// well, or the reader of this stage has left. Errors come behind the passes in front of them,
  /// and each again with every call: a MachineError names the stage that is lost or has failed,
  /// those of ParseFrame refuse a frame, and CancelledError says that this stage was interrupted,
  /// or at the place of the error another one. Losses of the other side, which no pass helps, come
  /// at once.
  Result<std::optional<PassFrame>> Next();
  /// Queues a pass for the stage after and numbers it. Waits while the queue is full. If the reader
  /// has left, the pass is dropped. DataError if no frame may hold an earlier pass; else errors of
  /// the side that sends, as above.
  Status Give(PassFrame pass);
  /// The stage has computed a layer.
  void NoteLayer() { layers_done_.fetch_add(1, std::memory_order_relaxed); }
  /// The stage has begun or ended work, during which layers are expected. What it waits for in Next
  /// and Give is none; what it waits for otherwise, such as the reader of answers, is none either
  /// and has to be told.
  void NoteWork(bool has_work) { has_work_.store(has_work, std::memory_order_relaxed); }
  /// Sends what is queued, then `end`, whose number is filled in; where that is not done, and the
  /// stage before has ended so too, its end goes on instead. Waits until it is sent: as long as it
  /// takes while the stage after takes what comes, but no longer than the timeout if the stream
  /// does not end well or the interrupt is raised. Errors are those of Give; where it can still be
  /// told, a stream that was to end well then says that it failed. None if the reader has left. The
  /// last stage has nothing to send.
  Status Finish(EndFrame end);
  /// Returns whether the reader of this stage has left: neither an error nor worth a word.
  [[nodiscard]] bool output_closed();

 private:
  StageLink(std::unique_ptr<FrameSource> source, std::unique_ptr<FrameSink> sink,
            StageLinkOptions options);

  // The thread that receives.
  void ReceiveMain();
  void ReceiveAll();
  bool TakeFrame(WorkWatch* work);
  [[nodiscard]] bool IsFull();
  void AwaitRoom();
  void KeepSourceEnd(const EndFrame& end);
  void EndSource(std::optional<Error> failure);

  // The thread that sends.
  void SendMain();
  void SendAll();
  std::optional<Frame> AwaitFrame(Clock::time_point heartbeat_due);
  bool SendBytes(std::span<const uint8_t> rest, SendWatch* watch);
  void LeaveOutput();
  void DropGiven(Error error);
  void FailToSend(Error error);

  // Both.
  [[nodiscard]] bool Stops();
  [[nodiscard]] bool StopsSending();
  void WatchUntilStop();
  void WatchOwnWork();
  void TellEnd();
  [[nodiscard]] Error Loss(const char* which, const std::string& name, const char* what,
                           const char* advice) const;
  [[nodiscard]] Clock::time_point NextTick() const { return Clock::now() + Microseconds(tick_us_); }

  const std::unique_ptr<FrameSource> source_;
  const std::unique_ptr<FrameSink> sink_;
  const StageLinkOptions options_;
  const double tick_us_;  ///< the longest wait between two looks at what is watched
  std::atomic<uint64_t> layers_done_{0};
  std::atomic<bool> has_work_{false};
  std::atomic<bool> told_end_{false};
  uint64_t passes_received_ = 0;  ///< the receiving thread's
  uint64_t passes_sent_ = 0;      ///< the sending thread's

  Mutex mutex_;
  CondVar changed_;
  std::deque<PassFrame> received_ STI_GUARDED_BY(mutex_);
  std::deque<PassFrame> given_ STI_GUARDED_BY(mutex_);
  bool source_ended_ STI_GUARDED_BY(mutex_) = false;
  std::optional<Error> source_failure_ STI_GUARDED_BY(mutex_);  ///< behind what was received
  std::optional<EndFrame> source_end_ STI_GUARDED_BY(mutex_);   ///< where that failed
  std::optional<Error> failure_ STI_GUARDED_BY(mutex_);         ///< of this stage or what it sends
  bool cannot_send_ STI_GUARDED_BY(mutex_) = false;
  bool left_ STI_GUARDED_BY(mutex_) = false;  ///< the reader has left
  std::optional<EndFrame> end_ STI_GUARDED_BY(mutex_);
  bool end_sent_ STI_GUARDED_BY(mutex_) = false;
  bool waits_ STI_GUARDED_BY(mutex_) = false;  ///< the stage waits in Next or Give
  bool stop_ STI_GUARDED_BY(mutex_) = false;
  WorkWatch own_work_ STI_GUARDED_BY(mutex_);

  std::thread receiver_;
  std::thread sender_;
};

}  // namespace sti
