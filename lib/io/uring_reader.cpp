#include <liburing.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "io/reader_backends.h"

namespace sti {
namespace {

class UringReader final : public BlockReader {
 public:
  UringReader(OpenedFile file, uint32_t depth) : file_(std::move(file)), slots_(depth) {
    name_ = file_.name;
    file_bytes_ = file_.bytes;
    depth_ = depth;
    path_ = ReadPath::kUring;
    for (uint32_t i = 0; i < depth; ++i) free_.push_back(depth - 1 - i);
  }

  ~UringReader() override {
    if (!ready_) return;
    while (in_flight_ > 0 && Wait().ok()) {
    }
    io_uring_queue_exit(&ring_);
  }

  Status Start() {
    int result = io_uring_queue_init(depth_, &ring_, 0);
    if (result < 0) return MachineError(name_ + ": io_uring: " + std::strerror(-result));
    ready_ = true;
    return {};
  }

  Status Submit(const ReadRequest& request) override {
    if (free_.empty()) return UsageError("more reads in flight than the depth allows");
    uint32_t slot = free_.back();
    free_.pop_back();
    slots_[slot] = {request, 0};
    ++in_flight_;
    return Enqueue(slot);
  }

  Result<uint64_t> Wait() override {
    for (;;) {
      // One system call hands over all reads enqueued since the last one and waits.
      int waited = io_uring_submit_and_wait(&ring_, 1);
      if (waited == -EINTR || waited == -EAGAIN) continue;
      if (waited < 0) return ReadError(name_, -waited);
      io_uring_cqe* completion = nullptr;
      if (io_uring_peek_cqe(&ring_, &completion) != 0) continue;
      auto slot = static_cast<uint32_t>(io_uring_cqe_get_data64(completion));
      int result = completion->res;
      io_uring_cqe_seen(&ring_, completion);
      STI_ASSIGN_OR_RETURN(bool complete, Settle(slot, result));
      if (complete) return slots_[slot].request.tag;
    }
  }

 private:
  struct Slot {
    ReadRequest request;
    size_t done = 0;
  };

  Status Enqueue(uint32_t slot) {
    const Slot& s = slots_[slot];
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (entry == nullptr) return MachineError(name_ + ": io_uring has no free entry");
    io_uring_prep_read(entry, file_.handle.get(), s.request.buffer.data() + s.done,
                       static_cast<unsigned>(s.request.buffer.size() - s.done),
                       s.request.offset + s.done);
    io_uring_sqe_set_data64(entry, slot);
    return {};
  }

  // True when the slot's read is whole; a short or interrupted one goes back into the queue.
  Result<bool> Settle(uint32_t slot, int result) {
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
    if (result < 0) return ReadError(name_, -result);
    if (result == 0) return EndOfFileError(name_, s.request.offset + s.done);
    return true;
  }

  OpenedFile file_;
  io_uring ring_{};
  bool ready_ = false;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
};

}  // namespace

Result<std::unique_ptr<BlockReader>> MakeUringReader(OpenedFile file, uint32_t depth) {
  auto reader = std::make_unique<UringReader>(std::move(file), depth);
  STI_RETURN_IF_ERROR(reader->Start());
  return std::unique_ptr<BlockReader>(std::move(reader));
}

}  // namespace sti
