#include <cerrno>
#include <condition_variable>
#include <mutex>
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
      : opened_(std::move(opened)), waiting_(depth), done_(depth) {
    DescribeAs(opened_);
    depth_ = depth;
    path_ = path;
    tries_cache_ = path == ReadPath::kBuffered;
  }

  /// With fewer threads than asked for where the system gives no more.
  Status Start() {
    threads_.reserve(depth_);
    try {
      while (threads_.size() < depth_) threads_.push_back(StartQuietThread([this] { Work(); }));
    } catch (const std::system_error& refused) {
      if (threads_.empty()) {
        return MachineError("cannot start a thread to read (" + refused.code().message() + ")")
            .At(name_)
            .Fix(Remedy::kMoreThreads);
      }
      depth_ = static_cast<uint32_t>(threads_.size());
    }
    return {};
  }

  ~ThreadReader() override {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  Status Submit(const ReadRequest& request) override {
    if (in_flight_ == depth_) return UsageError("more reads in flight than the depth allows");
    ++in_flight_;
    if (IsReadFromCache(request)) {
      std::lock_guard lock(mutex_);
      done_.Push({request.tag, request.offset + request.buffer.size(), 0, true});
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
    STI_ASSIGN_OR_RETURN(OpenedSource opened, opened_.Duplicate());
    return MakeThreadReader(std::move(opened), depth_, path_);
  }

  Result<uint64_t> Wait() override {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [this] { return !done_.empty(); });
    const Done done = done_.Pop();
    --in_flight_;
    if (done.error_number != 0) {
      return path_ == ReadPath::kBuffered ? ReadError(name_, done.error_number)
                                          : DirectReadError(name_, done.error_number);
    }
    if (!done.whole) return EndOfFileError(opened_, done.end);
    return done.tag;
  }

 private:
  struct Done {
    uint64_t tag = 0;
    uint64_t end = 0;  // where reading stopped
    int error_number = 0;
    bool whole = false;
  };

  // Reads a small request whole if all of it lies in the page cache.
  [[nodiscard]] bool IsReadFromCache(const ReadRequest& request) {
    if (!tries_cache_ || request.buffer.size() > kMostCachedBytes) return false;
    const int64_t count = opened_.ReadCached(request.offset, request.buffer);
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
    size_t done = 0;
    while (done < request.buffer.size()) {
      const int64_t count = opened_.ReadSome(request.offset + done, request.buffer.subspan(done));
      if (count == -EINTR || count == -EAGAIN) continue;
      if (count < 0) return {request.tag, request.offset + done, static_cast<int>(-count), false};
      if (count == 0) break;
      done += static_cast<size_t>(count);
    }
    return {request.tag, request.offset + done, 0, done == request.buffer.size()};
  }

  OpenedSource opened_;
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
