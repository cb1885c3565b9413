#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/remedy.h"
#include "base/thread.h"
#include "io/reader_backends.h"

namespace sti {
namespace {

/// First in, first out, of up to as many as it was made for: no allocation after that.
template <typename T>
class Ring {
 public:
  explicit Ring(uint32_t room) : items_(room) {}
  /// Makes room for so many; it is empty.
  void Resize(uint32_t room) {
    items_.resize(room);
    first_ = 0;
  }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  void Push(const T& item) { items_[(first_ + size_++) % items_.size()] = item; }
  T Pop() {
    const T item = items_[first_];
    first_ = (first_ + 1) % items_.size();
    --size_;
    return item;
  }

 private:
  std::vector<T> items_;
  size_t first_ = 0;
  size_t size_ = 0;
};

/// The most bytes that the caller itself takes from the page cache: embedding rows are smaller.
/// Copying them takes less than waking a thread.
constexpr size_t kMostCachedBytes = size_t{64} << 10;

// A few threads in pread; the queue between them and the caller is the whole of the state. Small
// reads of what lies in the page cache are done by the caller as it submits them.
class ThreadReader final : public BlockReader {
 public:
  ThreadReader(OpenedSource opened, uint32_t depth, ReadPath path)
      : open_(std::move(opened)), waiting_(depth), done_(depth) {
    DescribeAs(open_.first());
    depth_ = depth;
    path_ = path;
    tries_cache_ = path == ReadPath::kBuffered;
  }

  /// With fewer threads than asked for where the system gives no more.
  Status Start() {
    const std::string refusal = StartThreads(depth_);
    if (threads_.empty()) {
      return MachineError("cannot start a thread to read (" + refusal + ")")
          .At(name_)
          .Fix(Remedy::kMoreThreads);
    }
    depth_ = depth_of_stream_ = static_cast<uint32_t>(threads_.size());
    return {};
  }

  void HoldStreams(uint32_t wanted) override {
    stream_refusal_ = open_.Hold(std::min(wanted, kMostStreams));
    streams_ = open_.count();
    const uint32_t most = std::min(streams_ * depth_of_stream_, kMostDepth);
    (void)StartThreads(most);
    const uint32_t depth = std::min(most, static_cast<uint32_t>(threads_.size()));
    std::lock_guard lock(mutex_);  // idle threads look at the queues
    waiting_.Resize(depth);
    done_.Resize(depth);
    depth_ =
        depth;  // where memory runs out before, the depth stays, which the queues have room for
  }

  ~ThreadReader() override {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  Status Submit(const ReadRequest& wanted) override {
    if (in_flight_ == depth_) return UsageError("more reads in flight than the depth allows");
    ++in_flight_;
    ReadRequest request = wanted;
    request.stream = open_.Begin(wanted.stream);
    if (IsReadFromCache(request)) {
      std::lock_guard lock(mutex_);
      done_.Push({request.tag, *request.stream, request.offset + request.buffer.size(), 0, true});
      return {};
    }
    {
      std::lock_guard lock(mutex_);
      waiting_.Push(request);
    }
    wake_.notify_one();
    return {};
  }

  [[nodiscard]] Result<std::unique_ptr<BlockReader>> Clone() const override {
    STI_ASSIGN_OR_RETURN(OpenedSource opened, open_.first().Duplicate());
    return MakeThreadReader(std::move(opened), depth_of_stream_, path_);
  }

  Result<uint64_t> Wait() override {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [this] { return !done_.empty(); });
    const Done done = done_.Pop();
    --in_flight_;
    open_.End(done.stream);
    if (done.error_number != 0) {
      return path_ == ReadPath::kBuffered ? ReadError(name_, done.error_number)
                                          : DirectReadError(name_, done.error_number);
    }
    if (!done.whole) return EndOfFileError(open_[done.stream], done.end);
    return done.tag;
  }

 private:
  struct Done {
    uint64_t tag = 0;
    uint32_t stream = 0;
    uint64_t end = 0;  // where reading stopped
    int error_number = 0;
    bool whole = false;
  };

  /// Starts threads until there are `wanted`, or the system gives no more: then it returns why.
  std::string StartThreads(size_t wanted) {
    threads_.reserve(wanted);
    try {
      while (threads_.size() < wanted) threads_.push_back(StartQuietThread([this] { Work(); }));
    } catch (const std::system_error& refused) {
      return refused.code().message();
    }
    return {};
  }

  // Reads a small request whole if all of it lies in the page cache.
  [[nodiscard]] bool IsReadFromCache(const ReadRequest& request) {
    if (!tries_cache_ || request.buffer.size() > kMostCachedBytes) return false;
    const int64_t count = open_.first().ReadCached(request.offset, request.buffer);
    // Not every file system can tell what it has there.
    if (count < 0 && count != -EAGAIN) tries_cache_ = false;
    return count >= 0 && static_cast<size_t>(count) == request.buffer.size();
  }

  void Work() {
    RankAboveMaker();
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
      if (stop_) return;
      const ReadRequest request = waiting_.Pop();
      lock.unlock();
      const Done done = ReadOne(request);
      lock.lock();
      done_.Push(done);
      finished_.notify_one();
    }
  }

  [[nodiscard]] Done ReadOne(const ReadRequest& request) const {
    const OpenedSource& opened = open_[*request.stream];
    Done done{request.tag, *request.stream, request.offset, 0, false};
    for (std::span<uint8_t> rest = request.buffer; !rest.empty();) {
      const int64_t count = opened.ReadSome(done.end, rest);
      if (count == -EINTR || count == -EAGAIN) continue;
      if (count < 0) done.error_number = static_cast<int>(-count);
      if (count <= 0) return done;
      done.end += static_cast<uint64_t>(count);
      rest = rest.subspan(static_cast<size_t>(count));
    }
    done.whole = true;
    return done;
  }

  Streams open_;  ///< the caller's own, but that threads read through them
  uint32_t depth_of_stream_ = 0;
  bool tries_cache_ = false;  ///< the caller's own
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable finished_;
  Ring<ReadRequest> waiting_;  ///< in flight are at most depth_, and so in each of the two
  Ring<Done> done_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

Result<std::unique_ptr<BlockReader>> MakeThreadReader(OpenedSource source, uint32_t depth,
                                                      ReadPath path) {
  auto reader = std::make_unique<ThreadReader>(std::move(source), depth, path);
  STI_RETURN_IF_ERROR(reader->Start());
  return std::unique_ptr<BlockReader>(std::move(reader));
}

}  // namespace sti
