#include "link/stage_link.h"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <new>
#include <system_error>
#include <utility>
#include <variant>

#include "base/remedy.h"
#include "base/thread.h"

namespace sti {
namespace {

constexpr const char* kSeeDevice = "see whether its device runs and is reached";
constexpr const char* kSeeReader =
    "see whether its device runs and is reached, and whether its answers are read";
constexpr const char* kSeeModel = "see whether its device still reads the model and computes";
constexpr const char* kSeeMessages = "see what it has said there";

// Four looks in the least time that anything is waited for.
double TickOf(const StageLinkOptions& options) {
  constexpr double kLooks = 4;
  return std::min(options.heartbeat_us, options.timeout_us / kLooks);
}

StageLinkOptions Printable(StageLinkOptions options) {
  for (std::string* name : {&options.device, &options.before, &options.after}) {
    *name = OneLine(*name);
  }
  return options;
}

std::optional<Error> ErrorOf(const EndFrame& end) {
  switch (end.reason) {
    case EndFrame::Reason::kDone:
      break;
    case EndFrame::Reason::kInterrupted:
      return CancelledError().At(end.device);
    case EndFrame::Reason::kFailed:
      return MachineError(end.what).At(end.device);
  }
  return std::nullopt;
}

}  // namespace

StageLink::StageLink(std::unique_ptr<FrameSource> source, std::unique_ptr<FrameSink> sink,
                     StageLinkOptions options)
    : source_(std::move(source)),
      sink_(std::move(sink)),
      options_(Printable(std::move(options))),
      tick_us_(TickOf(options_)),
      own_work_(options_.timeout_us, Clock::now()) {}

uint64_t LinkBytes(uint64_t row_bytes, bool receives, bool sends) {
  // A frame as it travels, the pass in it, those in the queue, and the one at hand.
  constexpr uint64_t kPasses = 3 + StageLink::kQueuedPasses;
  return row_bytes * kPasses * ((receives ? 1U : 0U) + (sends ? 1U : 0U));
}

Result<std::unique_ptr<StageLink>> StageLink::Start(std::unique_ptr<FrameSource> source,
                                                    std::unique_ptr<FrameSink> sink,
                                                    StageLinkOptions options) {
  std::unique_ptr<StageLink> link(
      new StageLink(std::move(source), std::move(sink), std::move(options)));
  StageLink* const it = link.get();
  try {
    if (it->source_) it->receiver_ = StartQuietThread([it] { it->ReceiveMain(); });
    if (it->sink_) it->sender_ = StartQuietThread([it] { it->SendMain(); });
  } catch (const std::system_error& refused) {
    return MachineError("cannot start a thread for a link (" + refused.code().message() + ")")
        .Fix(Remedy::kMoreThreads);
  }
  return link;
}

StageLink::~StageLink() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  changed_.NotifyAll();
  if (source_) source_->Wake();
  if (sink_) sink_->Wake();
  if (receiver_.joinable()) receiver_.join();
  if (sender_.joinable()) sender_.join();
}

Result<std::optional<PassFrame>> StageLink::Next() {
  assert(source_);
  const InterruptibleWait wait(options_.interrupt, mutex_, changed_);
  MutexLock lock(mutex_);
  waits_ = true;
  while (received_.empty() && !source_ended_ && !failure_ && !left_ && !wait.raised()) {
    changed_.Wait(mutex_);
  }
  waits_ = false;
  if (wait.raised()) return CancelledError();
  if (failure_) return *failure_;
  if (left_) return std::optional<PassFrame>();
  if (received_.empty()) {
    if (source_failure_) return *source_failure_;
    return std::optional<PassFrame>();
  }
  std::optional<PassFrame> pass(std::move(received_.front()));
  received_.pop_front();
  changed_.NotifyAll();
  return pass;
}

Status StageLink::Give(PassFrame pass) {
  assert(sink_);
  const InterruptibleWait wait(options_.interrupt, mutex_, changed_);
  MutexLock lock(mutex_);
  waits_ = true;
  while (given_.size() >= kQueuedPasses && !failure_ && !left_ && !wait.raised()) {
    changed_.Wait(mutex_);
  }
  waits_ = false;
  if (failure_) return *failure_;
  if (left_) return {};
  // A pass that is done is sent, interrupted or not, where there is room for it.
  if (given_.size() >= kQueuedPasses) return CancelledError();
  given_.push_back(std::move(pass));
  changed_.NotifyAll();
  return {};
}

Status StageLink::Finish(EndFrame end) {
  const InterruptibleWait wait(options_.interrupt, mutex_, changed_);
  MutexLock lock(mutex_);
  if (!sink_) return {};
  bool hurries = end.reason != EndFrame::Reason::kDone;
  Clock::time_point latest = Clock::now() + Microseconds(options_.timeout_us);
  end_ = hurries && source_end_ ? *source_end_ : std::move(end);
  changed_.NotifyAll();
  while (!end_sent_ && !cannot_send_ && !left_) {
    if (wait.raised() && !hurries) {
      hurries = true;
      latest = Clock::now() + Microseconds(options_.timeout_us);
    }
    if (!hurries) {
      changed_.Wait(mutex_);
    } else if (!changed_.WaitUntil(mutex_, latest)) {
      break;
    }
  }
  if (failure_) return *failure_;
  if (end_sent_ || left_) return {};
  return Loss("the stage after", options_.after, "took nothing", kSeeReader);
}

bool StageLink::output_closed() {
  MutexLock lock(mutex_);
  return left_;
}

// --- the thread that receives ---

void StageLink::ReceiveMain() {
  try {
    ReceiveAll();
  } catch (const std::bad_alloc&) {
    EndSource(NoMemoryError());
  }
  WatchUntilStop();
}

void StageLink::ReceiveAll() {
  Patience silence(options_.timeout_us, Clock::now());
  WorkWatch work(options_.timeout_us, Clock::now());
  bool holds = false;  // a whole pass for which there is no room yet
  while (!Stops()) {
    WatchOwnWork();
    if (holds || source_->in_pass()) AwaitRoom();
    const bool full = IsFull();
    if (full) {
      silence.Rest(Clock::now());
      work.Rest(Clock::now());
    }
    if (!holds) {
      // A byte a tick is taken of a pass without room, however much is there.
      const bool signs = full && source_->in_pass();
      const auto got = source_->Receive(signs ? FrameSource::Pace::kSign : FrameSource::Pace::kAll,
                                        signs ? Clock::now() : std::min(NextTick(), silence.end()));
      if (!got.ok()) return EndSource(got.error());
      if (*got == FrameSource::Got::kEnd) {
        return EndSource(Loss("the stage before", options_.before, nullptr, kSeeMessages));
      }
      if (*got != FrameSource::Got::kNothing) silence.Rest(Clock::now());
      if (silence.over(Clock::now())) {
        return EndSource(Loss("the stage before", options_.before, "sent nothing", kSeeDevice));
      }
      if (*got != FrameSource::Got::kFrame) continue;
    }
    holds = source_->in_pass() && IsFull();
    if (!holds && !TakeFrame(&work)) return;
  }
}

// Returns whether more frames are to come.
bool StageLink::TakeFrame(WorkWatch* work) {
  auto frame = ParseFrame(source_->frame(), options_.terms, passes_received_,
                          "frames of " + options_.before);
  if (!frame.ok()) {
    EndSource(frame.error());
    return false;
  }
  if (const auto* end = std::get_if<EndFrame>(&*frame)) {
    if (end->reason != EndFrame::Reason::kDone) KeepSourceEnd(*end);
    EndSource(ErrorOf(*end));
    return false;
  }
  const auto now = Clock::now();
  if (const auto* beat = std::get_if<Heartbeat>(&*frame)) {
    if (!work->Stands(beat->layers_done, beat->has_work, now)) return true;
    EndSource(Loss("the stage before", options_.before, "computed no layer", kSeeModel));
    return false;
  }
  work->Rest(now);
  ++passes_received_;
  MutexLock lock(mutex_);
  received_.push_back(std::move(std::get<PassFrame>(*frame)));
  changed_.NotifyAll();
  return true;
}

bool StageLink::IsFull() {
  MutexLock lock(mutex_);
  return received_.size() >= kQueuedPasses;
}

// Waits for room in the queue, but no longer than a tick.
void StageLink::AwaitRoom() {
  const auto latest = NextTick();
  MutexLock lock(mutex_);
  while (!stop_ && received_.size() >= kQueuedPasses && changed_.WaitUntil(mutex_, latest)) {
  }
}

void StageLink::KeepSourceEnd(const EndFrame& end) {
  MutexLock lock(mutex_);
  source_end_ = end;
}

void StageLink::EndSource(std::optional<Error> failure) {
  MutexLock lock(mutex_);
  source_ended_ = true;
  source_failure_ = std::move(failure);
  changed_.NotifyAll();
}

// --- the thread that sends ---

void StageLink::SendMain() {
  try {
    SendAll();
  } catch (const std::bad_alloc&) {
    FailToSend(NoMemoryError());
  }
  WatchUntilStop();
}

void StageLink::SendAll() {
  SendWatch watch(options_.timeout_us, Clock::now());
  Clock::time_point heartbeat_due = Clock::now();
  while (!StopsSending()) {
    WatchOwnWork();
    const std::optional<Frame> frame = AwaitFrame(heartbeat_due);
    if (!frame) continue;
    const auto bytes = EncodeFrame(*frame, options_.terms);
    if (!bytes.ok()) {
      if (!std::holds_alternative<PassFrame>(*frame)) return FailToSend(bytes.error());
      DropGiven(bytes.error());
      continue;
    }
    watch.Begin(sink_->untaken_bytes(), Clock::now());
    if (!SendBytes(*bytes, &watch)) return;
    heartbeat_due = Clock::now() + Microseconds(options_.heartbeat_us);
    if (std::holds_alternative<PassFrame>(*frame)) ++passes_sent_;
    if (!std::holds_alternative<EndFrame>(*frame)) continue;
    MutexLock lock(mutex_);
    end_sent_ = true;
    changed_.NotifyAll();
    return;
  }
}

// Waits for a frame to send: a pass, behind those the end, or a heartbeat once one is due. Nothing
// after a tick.
std::optional<Frame> StageLink::AwaitFrame(Clock::time_point heartbeat_due) {
  const auto latest = std::min(heartbeat_due, NextTick());
  MutexLock lock(mutex_);
  while (!stop_ && given_.empty() && !end_ && changed_.WaitUntil(mutex_, latest)) {
  }
  if (!given_.empty()) {
    PassFrame pass = std::move(given_.front());
    given_.pop_front();
    pass.number = passes_sent_;
    changed_.NotifyAll();
    return Frame(std::move(pass));
  }
  if (end_) {
    EndFrame end = *end_;
    end.number = passes_sent_;
    if (failure_ && end.reason == EndFrame::Reason::kDone) {
      end.reason = EndFrame::Reason::kFailed;
      end.device = options_.device;
      end.what = failure_->Message();
    }
    return Frame(std::move(end));
  }
  if (Clock::now() < heartbeat_due) return std::nullopt;
  return Frame(Heartbeat{.number = passes_sent_,
                         .layers_done = layers_done_.load(std::memory_order_relaxed),
                         .has_work = has_work_.load(std::memory_order_relaxed) && !waits_});
}

// Returns whether all of it was sent.
bool StageLink::SendBytes(std::span<const uint8_t> rest, SendWatch* watch) {
  while (!rest.empty()) {
    if (StopsSending()) return false;
    const auto sent = sink_->Send(rest, NextTick());
    if (!sent.ok()) {
      FailToSend(Error(sent.error()).At(options_.after));
      return false;
    }
    if (sent->left) {
      LeaveOutput();
      return false;
    }
    rest = rest.subspan(sent->bytes);
    WatchOwnWork();
    if (!watch->Stands(sent->bytes, sink_->untaken_bytes(), Clock::now())) continue;
    FailToSend(Loss("the stage after", options_.after, "took nothing", kSeeReader));
    return false;
  }
  return true;
}

void StageLink::LeaveOutput() {
  {
    MutexLock lock(mutex_);
    left_ = true;
    changed_.NotifyAll();
  }
  TellEnd();
}

// Keeps the error of a pass that no frame may hold. The stage after is there to be told.
void StageLink::DropGiven(Error error) {
  {
    MutexLock lock(mutex_);
    given_.clear();
    if (!failure_) failure_ = std::move(error);
    changed_.NotifyAll();
  }
  TellEnd();
}

void StageLink::FailToSend(Error error) {
  {
    MutexLock lock(mutex_);
    cannot_send_ = true;
    if (!failure_) failure_ = std::move(error);
    changed_.NotifyAll();
  }
  TellEnd();
}

// --- both ---

bool StageLink::Stops() {
  MutexLock lock(mutex_);
  return stop_;
}

bool StageLink::StopsSending() {
  MutexLock lock(mutex_);
  return stop_ || cannot_send_;
}

// A thread that has nothing more to move still sees whether its own stage stands.
void StageLink::WatchUntilStop() {
  while (!Stops()) {
    WatchOwnWork();
    const auto latest = NextTick();
    MutexLock lock(mutex_);
    while (!stop_ && changed_.WaitUntil(mutex_, latest)) {
    }
  }
}

void StageLink::WatchOwnWork() {
  {
    MutexLock lock(mutex_);
    const bool works = has_work_.load(std::memory_order_relaxed) && !waits_;
    const uint64_t done = layers_done_.load(std::memory_order_relaxed);
    if (!own_work_.Stands(done, works, Clock::now()) || failure_) return;
    failure_ = Loss("this stage", options_.device, "computed no layer", kSeeModel);
    changed_.NotifyAll();
  }
  TellEnd();
}

void StageLink::TellEnd() {
  if (told_end_.exchange(true)) return;
  if (options_.on_end) options_.on_end();
}

// Returns "WHICH, NAME, WHAT for 5.0 s; ADVICE"; without `what`, that it is gone.
Error StageLink::Loss(const char* which, const std::string& name, const char* what,
                      const char* advice) const {
  char time[32];
  std::snprintf(time, sizeof(time), " for %.1f s", options_.timeout_us / 1e6);
  const std::string who = name.empty() ? which : std::string(which) + ", " + name + ",";
  const std::string did =
      what == nullptr ? " ended without a word" : std::string(" ") + what + time;
  return MachineError(who + did + "; " + advice);
}

}  // namespace sti
