#include "link/mpi_carrier.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/remedy.h"
#include "base/thread.h"
#include "link/mpi/plugin.h"

namespace sti {
namespace {

constexpr size_t kMessageBytes = size_t{64} << 10;
/// The most bytes that a sink is ahead of its reader.
constexpr uint64_t kAheadBytes = 2 * kMessageBytes;
/// Said in place of a count of bytes by a reader that has left.
constexpr uint64_t kLeft = UINT64_MAX;
constexpr double kLeastNap_us = 50;
constexpr double kLongestNap_us = 1e3;

int TagOfBytes(uint32_t stream) { return static_cast<int>(2 * stream); }
int TagOfCounts(uint32_t stream) { return static_cast<int>(2 * stream + 1); }

/// One call of MPI that has begun, and perhaps not ended. The thread of the ranks alone touches it.
class MpiCall {
 public:
  explicit MpiCall(const MpiPlugin& plugin) : plugin_(plugin) {}

  Status Send(const void* bytes, size_t size, int to, int tag) {
    return Check(plugin_.send(bytes, size, to, tag, &request_));
  }
  Status Receive(void* bytes, size_t most, int from, int tag) {
    return Check(plugin_.receive(bytes, most, from, tag, &request_));
  }
  /// Returns how many bytes were sent or received, once they were; nothing before.
  Result<std::optional<size_t>> Look() {
    bool done = false;
    size_t size = 0;
    STI_RETURN_IF_ERROR(Check(plugin_.test(&request_, &done, &size)));
    return done ? std::optional<size_t>(size) : std::nullopt;
  }
  [[nodiscard]] bool runs() const { return request_ != nullptr; }

 private:
  Status Check(int error) {
    if (error == 0) return {};
    std::array<char, 256> words{};
    plugin_.describe(error, words.data(), words.size());
    return MachineError("MPI has failed (" + OneLine(words.data()) + ")");
  }

  const MpiPlugin& plugin_;
  void* request_ = nullptr;
};

/// One side of a stream. Its owner and the thread of the ranks share it under the lock of the job.
class MpiStream {
 public:
  MpiStream() = default;
  MpiStream(const MpiStream&) = delete;
  MpiStream& operator=(const MpiStream&) = delete;
  virtual ~MpiStream() = default;

  /// Begins and ends calls. Returns whether any has ended.
  virtual Result<bool> Step() = 0;
  /// Returns whether both sides have said that they are gone, and nothing runs any more.
  [[nodiscard]] virtual bool closed() const = 0;

  bool closing = false;  ///< its owner is gone
  bool woken = false;
};

/// The side that bytes come to.
class MpiIncoming final : public MpiStream {
 public:
  MpiIncoming(const MpiPlugin& plugin, uint32_t from, uint32_t stream)
      : from_(static_cast<int>(from)),
        stream_(stream),
        bytes_call_(plugin),
        count_call_(plugin),
        bytes_(kMessageBytes) {}

  Result<bool> Step() override {
    if (closing) begin_ = end_;  // nobody wants the rest
    bool moved = false;
    if (!bytes_call_.runs() && begin_ == end_ && !ended_) {
      STI_RETURN_IF_ERROR(
          bytes_call_.Receive(bytes_.data(), bytes_.size(), from_, TagOfBytes(stream_)));
    }
    if (bytes_call_.runs()) {
      STI_ASSIGN_OR_RETURN(const auto size, bytes_call_.Look());
      moved = size.has_value();
      ended_ = size == size_t{0};
      begin_ = 0;
      end_ = size.value_or(0);
    }
    if (count_call_.runs()) {
      STI_ASSIGN_OR_RETURN(const auto sent, count_call_.Look());
      moved = moved || sent.has_value();
    }
    const uint64_t wants = closing ? kLeft : taken_bytes_;
    if (!count_call_.runs() && told_ != wants) {
      told_ = wants;
      STI_RETURN_IF_ERROR(count_call_.Send(&told_, sizeof(told_), from_, TagOfCounts(stream_)));
    }
    return moved;
  }
  [[nodiscard]] bool closed() const override {
    return ended_ && told_ == kLeft && !count_call_.runs();
  }

  [[nodiscard]] bool has_bytes() const { return begin_ < end_; }
  [[nodiscard]] bool ended() const { return ended_; }
  /// Returns how many bytes it has put into `room`.
  size_t Take(std::span<uint8_t> room) {
    const size_t count = std::min(room.size(), end_ - begin_);
    std::memcpy(room.data(), &bytes_[begin_], count);
    begin_ += count;
    taken_bytes_ += count;
    return count;
  }

 private:
  const int from_;
  const uint32_t stream_;
  MpiCall bytes_call_;
  MpiCall count_call_;
  std::vector<uint8_t> bytes_;  ///< of a message
  size_t begin_ = 0;            ///< of those that were not taken yet
  size_t end_ = 0;
  uint64_t taken_bytes_ = 0;
  uint64_t told_ = 0;  ///< to the other side
  bool ended_ = false;
};

/// The side that bytes go from.
class MpiOutgoing final : public MpiStream {
 public:
  MpiOutgoing(const MpiPlugin& plugin, uint32_t to, uint32_t stream)
      : to_(static_cast<int>(to)),
        stream_(stream),
        count_call_(plugin),
        end_call_(plugin),
        messages_{Message(plugin), Message(plugin)} {}

  Result<bool> Step() override {
    STI_ASSIGN_OR_RETURN(bool moved, TakeCount());
    bool all_sent = true;
    for (size_t i = 0; i < messages_.size(); ++i) {
      // In the order in which they were given.
      Message& message = messages_[(oldest_ + i) % messages_.size()];
      if (message.bytes.empty()) continue;
      if (!message.call.runs()) {
        STI_RETURN_IF_ERROR(message.call.Send(message.bytes.data(), message.bytes.size(), to_,
                                              TagOfBytes(stream_)));
      }
      STI_ASSIGN_OR_RETURN(const auto sent, message.call.Look());
      if (sent) message.bytes.clear();
      moved = moved || sent.has_value();
      all_sent = all_sent && sent.has_value();
    }
    while (oldest_ != next_ && messages_[oldest_ % messages_.size()].bytes.empty()) ++oldest_;
    STI_RETURN_IF_ERROR(End(all_sent));
    return moved;
  }
  [[nodiscard]] bool closed() const override { return ended_ && !end_call_.runs() && left_; }

  [[nodiscard]] bool left() const { return left_; }
  [[nodiscard]] uint64_t untaken_bytes() const { return given_bytes_ - taken_bytes_; }
  [[nodiscard]] bool has_room() const {
    return next_ - oldest_ < messages_.size() && untaken_bytes() < kAheadBytes;
  }
  /// Returns how many bytes it has taken of `rest`, where it has room.
  size_t Give(std::span<const uint8_t> rest) {
    const size_t count =
        std::min({rest.size(), kMessageBytes, static_cast<size_t>(kAheadBytes - untaken_bytes())});
    if (count == 0) return 0;
    messages_[next_++ % messages_.size()].bytes.assign(rest.begin(), rest.begin() + count);
    given_bytes_ += count;
    return count;
  }

 private:
  struct Message {
    explicit Message(const MpiPlugin& plugin) : call(plugin) { bytes.reserve(kMessageBytes); }
    MpiCall call;
    std::vector<uint8_t> bytes;  ///< until they were sent
  };

  Result<bool> TakeCount() {
    if (left_) return false;
    if (!count_call_.runs()) {
      STI_RETURN_IF_ERROR(count_call_.Receive(&count_, sizeof(count_), to_, TagOfCounts(stream_)));
    }
    STI_ASSIGN_OR_RETURN(const auto size, count_call_.Look());
    if (!size) return false;
    left_ = count_ == kLeft;
    if (!left_) taken_bytes_ = std::clamp(count_, taken_bytes_, given_bytes_);
    return true;
  }

  Status End(bool all_sent) {
    if (end_call_.runs()) {
      const auto sent = end_call_.Look();
      return sent.ok() ? Status() : Status(sent.error());
    }
    if (!closing || !all_sent || ended_) return {};
    ended_ = true;
    return end_call_.Send(nullptr, 0, to_, TagOfBytes(stream_));
  }

  const int to_;
  const uint32_t stream_;
  MpiCall count_call_;
  MpiCall end_call_;
  std::array<Message, 2> messages_;
  uint64_t oldest_ = 0;  ///< number of the oldest message that was not sent yet
  uint64_t next_ = 0;    ///< number of the next one
  uint64_t count_ = 0;   ///< as the other side tells it
  uint64_t given_bytes_ = 0;
  uint64_t taken_bytes_ = 0;
  bool left_ = false;
  bool ended_ = false;
};

}  // namespace

/// The ranks of this process, which their thread, MpiRanks and all streams share.
class MpiJob {
 public:
  explicit MpiJob(const MpiPlugin& of) : plugin(of) {}

  /// The work of the thread.
  void Main();
  void Add(const std::shared_ptr<MpiStream>& stream) {
    MutexLock lock(mutex);
    streams.push_back(stream);
    changed.NotifyAll();
  }
  void Close(MpiStream& stream) {
    MutexLock lock(mutex);
    stream.closing = true;
    changed.NotifyAll();
  }
  void Wake(MpiStream& stream) {
    MutexLock lock(mutex);
    stream.woken = true;
    changed.NotifyAll();
  }

  const MpiPlugin& plugin;
  Mutex mutex;
  CondVar changed;
  std::vector<std::shared_ptr<MpiStream>> streams STI_GUARDED_BY(mutex);
  std::optional<Error> failure STI_GUARDED_BY(mutex);  ///< of MPI, after which nothing moves
  int rank STI_GUARDED_BY(mutex) = 0;
  int ranks STI_GUARDED_BY(mutex) = 0;
  bool joined STI_GUARDED_BY(mutex) = false;
  bool leaves STI_GUARDED_BY(mutex) = false;
  bool left STI_GUARDED_BY(mutex) = false;
  bool stops STI_GUARDED_BY(mutex) = false;
  std::thread thread;
  std::shared_ptr<MpiJob> itself;  ///< if it is kept for ever
  MpiJob* kept_before = nullptr;

 private:
  bool Join();
  bool Move();
  bool Step() STI_REQUIRES(mutex);
};

void MpiJob::Main() {
  if (!Join() || !Move()) return;
  (void)plugin.leave();
  MutexLock lock(mutex);
  left = true;
  changed.NotifyAll();
}

bool MpiJob::Join() {
  int own = 0;
  int all = 0;
  const int error = plugin.join(&own, &all);
  MutexLock lock(mutex);
  if (error != 0) {
    std::array<char, 256> words{};
    plugin.describe(error, words.data(), words.size());
    failure = MachineError("cannot join the ranks of MPI (" + OneLine(words.data()) + ")");
  }
  rank = own;
  ranks = all;
  joined = true;
  changed.NotifyAll();
  return error == 0;
}

// Moves bytes until the ranks are left, or stop. Returns whether they are to be left.
bool MpiJob::Move() {
  double nap_us = kLeastNap_us;
  MutexLock lock(mutex);
  while (!stops) {
    if (Step()) {
      nap_us = kLeastNap_us;
      changed.NotifyAll();
      continue;
    }
    if (leaves && streams.empty() && !failure) return true;
    const bool called = changed.WaitUntil(mutex, Clock::now() + Microseconds(nap_us));
    nap_us = called ? kLeastNap_us : std::min(2 * nap_us, kLongestNap_us);
  }
  return false;
}

// Returns whether anything has moved.
bool MpiJob::Step() {
  if (failure) return false;
  bool moved = false;
  for (const auto& stream : streams) {
    const auto step = stream->Step();
    if (!step.ok()) failure = step.error();
    moved = moved || !step.ok() || *step;
    if (failure) return true;
  }
  std::erase_if(streams, [](const auto& stream) { return stream->closed(); });
  return moved;
}

namespace {

class MpiSource final : public FrameSource {
 public:
  MpiSource(std::shared_ptr<MpiJob> job, uint32_t from, uint32_t stream, const FrameTerms& terms,
            std::string name)
      : job_(std::move(job)),
        side_(std::make_shared<MpiIncoming>(job_->plugin, from, stream)),
        frame_(terms, std::move(name)) {
    job_->Add(side_);
  }
  ~MpiSource() override { job_->Close(*side_); }

  Result<Got> Receive(Pace pace, Clock::time_point latest) override {
    frame_.GoOn();
    MutexLock lock(job_->mutex);
    while (!side_->has_bytes() && !side_->ended() && !job_->failure && !side_->woken &&
           job_->changed.WaitUntil(job_->mutex, latest)) {
    }
    side_->woken = false;
    if (side_->has_bytes()) {
      const size_t count = side_->Take(frame_.Room(pace));
      job_->changed.NotifyAll();
      return frame_.Put(count);
    }
    if (side_->ended()) return Got::kEnd;
    if (job_->failure) return Error(*job_->failure).At(frame_.name());
    return Got::kNothing;
  }
  [[nodiscard]] bool in_pass() const override { return frame_.in_pass(); }
  [[nodiscard]] std::span<const uint8_t> frame() const override { return frame_.bytes(); }
  void Wake() override { job_->Wake(*side_); }

 private:
  const std::shared_ptr<MpiJob> job_;
  const std::shared_ptr<MpiIncoming> side_;
  ComingFrame frame_;
};

class MpiSink final : public FrameSink {
 public:
  MpiSink(std::shared_ptr<MpiJob> job, uint32_t to, uint32_t stream)
      : job_(std::move(job)), side_(std::make_shared<MpiOutgoing>(job_->plugin, to, stream)) {
    job_->Add(side_);
  }
  ~MpiSink() override { job_->Close(*side_); }

  Result<Sent> Send(std::span<const uint8_t> rest, Clock::time_point latest) override {
    MutexLock lock(job_->mutex);
    while (!side_->has_room() && !side_->left() && !job_->failure && !side_->woken &&
           job_->changed.WaitUntil(job_->mutex, latest)) {
    }
    side_->woken = false;
    if (side_->left()) return Sent{.left = true};
    if (job_->failure) return *job_->failure;
    if (!side_->has_room()) return Sent{};
    const Sent sent{.bytes = side_->Give(rest)};
    job_->changed.NotifyAll();
    return sent;
  }
  [[nodiscard]] std::optional<uint64_t> untaken_bytes() const override {
    MutexLock lock(job_->mutex);
    return side_->untaken_bytes();
  }
  void Wake() override { job_->Wake(*side_); }

 private:
  const std::shared_ptr<MpiJob> job_;
  const std::shared_ptr<MpiOutgoing> side_;
};

}  // namespace

Result<std::unique_ptr<MpiRanks>> MpiRanks::Join(const std::string& plugin) {
  STI_ASSIGN_OR_RETURN(const MpiPlugin* const opened, OpenMpiPlugin(plugin));
  return Join(*opened);
}

Result<std::unique_ptr<MpiRanks>> MpiRanks::Join(const MpiPlugin& plugin) {
  std::unique_ptr<MpiRanks> ranks(new MpiRanks(std::make_shared<MpiJob>(plugin)));
  MpiJob& job = *ranks->job_;
  try {
    job.thread = StartQuietThread([shared = ranks->job_] { shared->Main(); });
  } catch (const std::system_error& refused) {
    return MachineError("cannot start a thread for MPI (" + refused.code().message() + ")")
        .Fix(Remedy::kMoreThreads);
  }
  MutexLock lock(job.mutex);
  while (!job.joined) job.changed.Wait(job.mutex);
  if (job.failure) return *job.failure;
  ranks->rank_ = static_cast<uint32_t>(job.rank);
  ranks->ranks_ = static_cast<uint32_t>(job.ranks);
  return ranks;
}

MpiRanks::MpiRanks(std::shared_ptr<MpiJob> job) : job_(std::move(job)) {}

MpiRanks::~MpiRanks() {
  bool waits = false;  // for other ranks, which may never leave
  bool left = false;
  {
    MutexLock lock(job_->mutex);
    job_->stops = true;
    left = job_->left;
    waits = job_->leaves && job_->streams.empty() && !left && !job_->failure;
    job_->changed.NotifyAll();
  }
  if (!job_->thread.joinable()) return;
  waits ? job_->thread.detach() : job_->thread.join();
  if (left) return;
  // A network may still write into the memory of calls that have not ended: it is never given back.
  static std::atomic<MpiJob*> kept = nullptr;
  job_->itself = job_;
  job_->kept_before = kept.exchange(job_.get());
}

std::unique_ptr<FrameSource> MpiRanks::Source(uint32_t from, uint32_t stream,
                                              const FrameTerms& terms, std::string name) {
  return std::make_unique<MpiSource>(job_, from, stream, terms, std::move(name));
}

std::unique_ptr<FrameSink> MpiRanks::Sink(uint32_t to, uint32_t stream) {
  return std::make_unique<MpiSink>(job_, to, stream);
}

Result<bool> MpiRanks::Leave(Clock::time_point latest) {
  MutexLock lock(job_->mutex);
  job_->leaves = true;
  job_->changed.NotifyAll();
  while (!job_->left && !job_->failure && job_->changed.WaitUntil(job_->mutex, latest)) {
  }
  if (job_->failure) return *job_->failure;
  return job_->left;
}

}  // namespace sti
