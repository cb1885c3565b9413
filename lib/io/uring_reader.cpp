// Reads through io_uring. One system call hands over all reads enqueued since the last one and
// waits for a completion.
//
// The ring is made by the thread that opens the file and used later by the one that keeps reads in
// flight, so it cannot have a single issuer (IORING_SETUP_SINGLE_ISSUER, and DEFER_TASKRUN, which
// needs it, fail with EEXIST on any other thread).
#include <liburing.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "io/reader_backends.h"

namespace sti {
namespace {

// The kernel registers no larger piece as one buffer.
constexpr size_t kMaxFixedBytes = size_t{1} << 30;

// Returns why there is no ring.
std::string RingRefusal(int error_number) {
  std::string why = "io_uring cannot start here";
  if (error_number == EPERM || error_number == EACCES) why = "io_uring is not permitted here";
  if (error_number == ENOSYS) why = "this kernel has no io_uring";
  return why + " (" + std::strerror(error_number) + ")";
}

// ThreadSanitizer does not see how liburing maps and unmaps a ring, by system calls of its own. A
// ring at the address of one that another thread has given back looks to it like a race. The kernel
// orders the two; this tells the sanitizer so.
#ifdef __SANITIZE_THREAD__
std::atomic<uint32_t> rings_given_back{0};
void TellRingIsMapped() { rings_given_back.load(std::memory_order_acquire); }
void TellRingIsGivenBack() { rings_given_back.fetch_add(1, std::memory_order_acq_rel); }
#else
void TellRingIsMapped() {}
void TellRingIsGivenBack() {}
#endif

class UringReader final : public BlockReader {
 public:
  UringReader(OpenedSource opened, uint32_t depth) : open_(std::move(opened)), slots_(depth) {
    DescribeAs(open_.first());
    depth_ = depth;
    path_ = ReadPath::kUring;
    free_.reserve(depth);
    for (uint32_t i = 0; i < depth; ++i) free_.push_back(depth - 1 - i);
  }

  ~UringReader() override {
    if (!ready_) return;
    while (in_flight_ > 0 && Wait().ok()) {
    }
    TellRingIsGivenBack();
    io_uring_queue_exit(&ring_);
  }

  Status Start() {
    int result = io_uring_queue_init(depth_, &ring_, 0);
    if (result < 0) return MachineError(RingRefusal(-result)).At(name_);
    TellRingIsMapped();
    ready_ = true;
    RegisterFiles();
    return {};
  }

  // As many are in flight as the ring was made for, however many streams they go through.
  void HoldStreams(uint32_t wanted) override {
    if (std::exchange(files_registered_, false)) io_uring_unregister_files(&ring_);
    stream_refusal_ = open_.Hold(std::min(wanted, kMostStreams));
    streams_ = open_.count();
    RegisterFiles();
  }

  void ExpectReadsInto(std::span<uint8_t> memory) override {
    if (!fixed_.empty()) io_uring_unregister_buffers(&ring_);
    fixed_.clear();
    for (size_t at = 0; at < memory.size(); at += kMaxFixedBytes) {
      fixed_.push_back(memory.subspan(at, std::min(kMaxFixedBytes, memory.size() - at)));
    }
    std::vector<iovec> pieces(fixed_.size());
    std::transform(fixed_.begin(), fixed_.end(), pieces.begin(), [](std::span<uint8_t> piece) {
      return iovec{piece.data(), piece.size()};
    });
    // Refused where locked memory is limited (RLIMIT_MEMLOCK), and by old kernels.
    if (pieces.empty() || io_uring_register_buffers(&ring_, pieces.data(),
                                                    static_cast<unsigned>(pieces.size())) != 0) {
      fixed_.clear();
    }
  }

  Status Submit(const ReadRequest& request) override {
    if (free_.empty()) return UsageError("more reads in flight than the depth allows");
    uint32_t slot = free_.back();
    free_.pop_back();
    slots_[slot] = {request, 0, open_.Begin(request.stream)};
    ++in_flight_;
    return Enqueue(slot);
  }

  [[nodiscard]] Result<std::unique_ptr<BlockReader>> Clone() const override {
    STI_ASSIGN_OR_RETURN(OpenedSource opened, open_.first().Duplicate());
    return MakeUringReader(std::move(opened), depth_);
  }

  Result<uint64_t> Wait() override {
    for (;;) {
      int waited = io_uring_submit_and_wait(&ring_, 1);
      if (waited == -EINTR || waited == -EAGAIN) continue;
      if (waited < 0) return ReadError(name_, -waited);
      io_uring_cqe* completion = nullptr;
      if (io_uring_peek_cqe(&ring_, &completion) != 0) continue;
      auto slot = static_cast<uint32_t>(io_uring_cqe_get_data64(completion));
      int result = completion->res;
      io_uring_cqe_seen(&ring_, completion);
      STI_ASSIGN_OR_RETURN(bool complete, TakeResult(slot, result));
      if (complete) return slots_[slot].request.tag;
    }
  }

 private:
  struct Slot {
    ReadRequest request;
    size_t done = 0;
    uint32_t stream = 0;
  };

  void RegisterFiles() {
    std::vector<int> descriptors;
    for (uint32_t i = 0; i < open_.count(); ++i) descriptors.push_back(open_[i].handle.get());
    files_registered_ = io_uring_register_files(&ring_, descriptors.data(), open_.count()) == 0;
  }

  Status Enqueue(uint32_t slot) {
    const Slot& s = slots_[slot];
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (entry == nullptr) return MachineError("io_uring has no free entry").At(name_);
    const OpenedSource& opened = open_[s.stream];
    const int file = files_registered_ ? static_cast<int>(s.stream) : opened.handle.get();
    const std::span<uint8_t> rest = s.request.buffer.subspan(s.done);
    const auto length = static_cast<unsigned>(rest.size());
    const uint64_t offset = opened.begin + s.request.offset + s.done;
    if (const std::optional<int> fixed = FixedBufferOf(rest)) {
      io_uring_prep_read_fixed(entry, file, rest.data(), length, offset, *fixed);
    } else {
      io_uring_prep_read(entry, file, rest.data(), length, offset);
    }
    if (files_registered_) entry->flags |= IOSQE_FIXED_FILE;
    io_uring_sqe_set_data64(entry, slot);
    return {};
  }

  // The registered buffer that all of `range` is in.
  [[nodiscard]] std::optional<int> FixedBufferOf(std::span<const uint8_t> range) const {
    for (size_t i = 0; i < fixed_.size(); ++i) {
      const uint8_t* begin = fixed_[i].data();
      if (range.data() >= begin && range.data() + range.size() <= begin + fixed_[i].size()) {
        return static_cast<int>(i);
      }
    }
    return std::nullopt;
  }

  // True when the slot's read is whole; a short or interrupted one goes back into the queue.
  Result<bool> TakeResult(uint32_t slot, int result) {
    Slot& s = slots_[slot];
    bool again = result == -EAGAIN || result == -EINTR;
    if (result > 0) {
      s.done += static_cast<size_t>(result);
      again = s.done < s.request.buffer.size();
    }
    if (again) {
      STI_RETURN_IF_ERROR(Enqueue(slot));
      return false;
    }
    free_.push_back(slot);
    --in_flight_;
    open_.End(s.stream);
    if (result < 0) return DirectReadError(name_, -result);
    if (result == 0) return EndOfFileError(open_[s.stream], s.request.offset + s.done);
    return true;
  }

  Streams open_;
  io_uring ring_{};
  bool ready_ = false;
  bool files_registered_ = false;
  std::vector<std::span<uint8_t>> fixed_;  // the registered buffers
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
};

}  // namespace

Result<std::unique_ptr<BlockReader>> MakeUringReader(OpenedSource source, uint32_t depth) {
  auto reader = std::make_unique<UringReader>(std::move(source), depth);
  STI_RETURN_IF_ERROR(reader->Start());
  return std::unique_ptr<BlockReader>(std::move(reader));
}

}  // namespace sti
