#include "fault_reader.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace sti {
namespace {

bool Touches(const Fault& fault, const ReadRequest& request) {
  const uint64_t end = request.offset + request.buffer.size();
  // Written so that a range without an end does not overflow.
  return fault.offset < end &&
         (request.offset < fault.offset || request.offset - fault.offset < fault.length);
}

void Flip(const Fault& fault, const ReadRequest& request) {
  for (size_t i = 0; i < request.buffer.size(); ++i) {
    const uint64_t at = request.offset + i;
    if (at >= fault.offset && at - fault.offset < fault.length) request.buffer[i] ^= 0xFF;
  }
}

}  // namespace

FaultReader::FaultReader(std::unique_ptr<BlockReader> inner, std::vector<Fault> faults,
                         bool reversed)
    : inner_(std::move(inner)), faults_(std::move(faults)), reversed_(reversed) {
  DescribeAs(*inner_);
}

void FaultReader::Inject(const Fault& fault) {
  const std::scoped_lock lock(mutex_);
  faults_.push_back(fault);
}

void FaultReader::Heal() {
  const std::scoped_lock lock(mutex_);
  faults_.clear();
}

std::vector<Fault> FaultReader::Strike(const ReadRequest& request, uint64_t number) {
  const std::scoped_lock lock(mutex_);
  std::vector<Fault> struck;
  for (Fault& fault : faults_) {
    if (fault.times == 0 || !Touches(fault, request)) continue;
    if (fault.nth.has_value() && *fault.nth != number) continue;
    if (fault.times != Fault::kAlways) --fault.times;
    struck.push_back(fault);
  }
  injected_ += struck.size();
  return struck;
}

Status FaultReader::Submit(const ReadRequest& request) {
  if (in_flight_ == depth_) return UsageError("more reads in flight than the depth allows");
  // A slot whose read failed inside the inner reader is lost until nothing is in flight.
  if (in_flight_ == 0) slots_.clear();
  auto free = std::find_if(slots_.begin(), slots_.end(), [](auto& s) { return !s.used; });
  if (free == slots_.end()) free = slots_.insert(slots_.end(), Pending{});
  const auto slot = static_cast<size_t>(free - slots_.begin());
  const uint64_t number = reads_++;
  *free = {request, Strike(request, number), number, std::chrono::steady_clock::now(), {}, {},
           true};
  for (const Fault& fault : free->struck) {
    if (fault.kind == FaultKind::kDelay || fault.kind == FaultKind::kHang) {
      free->due += fault.delay;
      free->held = AlignedBuffer(request.buffer.size());
    }
    if (fault.kind == FaultKind::kError) {
      free->error = Error{ErrorKind::kReadFailed, "cannot read: Input/output error"}.At(name_);
    }
  }
  ++in_flight_;
  // A failed read never reaches the device.
  if (free->error.has_value()) {
    done_.push_back(slot);
    return {};
  }
  const std::span<uint8_t> into = free->held.size() > 0 ? free->held.span() : request.buffer;
  return inner_->Submit({request.offset, into, slot, request.stream});
}

Status FaultReader::WaitInner() {
  const uint32_t before = inner_->in_flight();
  auto slot = inner_->Wait();
  if (slot.ok()) {
    done_.push_back(static_cast<size_t>(*slot));
    return {};
  }
  // The inner reader does not say whose error it is: nobody's slot comes back, as with any reader.
  if (inner_->in_flight() < before) --in_flight_;
  return slot.error();
}

// Returns when a read may be returned; as late as can be where it hangs.
FaultReader::Time FaultReader::DueOf(const Pending& read) {
  const bool hangs = std::any_of(read.struck.begin(), read.struck.end(), [](const Fault& fault) {
    return fault.kind == FaultKind::kHang && fault.door->is_closed();
  });
  return hangs ? Time::max() : read.due;
}

// Returns the slot of the next read among those that are complete: the first in line whose time has
// come, or else the one whose time comes first; reversed, the last submitted.
size_t FaultReader::NextDone() const {
  const auto before = [this, now = std::chrono::steady_clock::now()](size_t a, size_t b) {
    if (reversed_) return slots_[a].number > slots_[b].number;
    return std::max(DueOf(slots_[a]), now) < std::max(DueOf(slots_[b]), now);
  };
  return *std::min_element(done_.begin(), done_.end(), before);
}

// As with a device, a late read holds up no other.
Result<uint64_t> FaultReader::Wait() {
  const auto ready = [this] {
    return !reversed_ && !done_.empty() &&
           DueOf(slots_[NextDone()]) <= std::chrono::steady_clock::now();
  };
  while (inner_->in_flight() > 0 && !ready()) STI_RETURN_IF_ERROR(WaitInner());
  if (done_.empty()) return UsageError("no read is in flight");
  const size_t slot = NextDone();
  done_.erase(std::find(done_.begin(), done_.end(), slot));
  const Pending read = std::exchange(slots_[slot], {});
  --in_flight_;
  std::this_thread::sleep_until(read.due);
  for (const Fault& fault : read.struck) {
    if (fault.kind == FaultKind::kHang) fault.door->Pass();
  }
  if (read.error.has_value()) return *read.error;
  std::copy_n(read.held.data(), read.held.size(), read.request.buffer.data());
  for (const Fault& fault : read.struck) {
    if (fault.kind == FaultKind::kTorn) Flip(fault, read.request);
  }
  return read.request.tag;
}

}  // namespace sti
