// A BlockReader around another that goes wrong where a test says so.
//
// It cannot show a short read: readers requeue those themselves, so they are injected below a
// reader, by bench/flashfs --fault.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "door.h"
#include "io/block_reader.h"

namespace sti {

enum class FaultKind : uint8_t {
  kError,  ///< the read fails as if the device said EIO
  kTorn,   ///< bits are flipped in all bytes that the read and the range share
  kDelay,  ///< the read is complete, and its bytes come, no earlier than `delay` after it was
           ///< submitted; others may be
  kHang,   ///< likewise, no earlier than `door` is open
};

/// Strikes reads that touch [offset, offset + length), the first `times` of them.
struct Fault {
  static constexpr uint32_t kAlways = std::numeric_limits<uint32_t>::max();

  FaultKind kind = FaultKind::kError;
  uint64_t offset = 0;
  uint64_t length = std::numeric_limits<uint64_t>::max();
  uint32_t times = kAlways;
  std::chrono::microseconds delay{0};
  /// Only the read with this number, counted from 0 by Submit.
  std::optional<uint64_t> nth{};
  Door* door = nullptr;  ///< of kHang; outlives the reader
};

/// Any thread may call Inject, Heal, reads and injected; the rest is as for every BlockReader.
class FaultReader final : public BlockReader {
 public:
  /// `reversed`: of the reads that are complete the last submitted is returned first, once all in
  /// flight are complete.
  explicit FaultReader(std::unique_ptr<BlockReader> inner, std::vector<Fault> faults = {},
                       bool reversed = false);
  /// Ends the reads in flight before the memory of delayed reads goes.
  ~FaultReader() override { inner_.reset(); }

  [[nodiscard]] Status Submit(const ReadRequest& request) override;
  [[nodiscard]] Result<uint64_t> Wait() override;
  void ExpectReadsInto(std::span<uint8_t> memory) override { inner_->ExpectReadsInto(memory); }
  void HoldStreams(uint32_t wanted) override {
    inner_->HoldStreams(wanted);
    DescribeAs(*inner_);
  }
  /// Returns a clone of the inner reader, without the faults.
  [[nodiscard]] Result<std::unique_ptr<BlockReader>> Clone() const override {
    return inner_->Clone();
  }

  /// Adds a fault to those of the plan.
  void Inject(const Fault& fault);
  /// Forgets all faults.
  void Heal();
  /// Reads submitted so far.
  [[nodiscard]] uint64_t reads() const { return reads_; }
  /// Faults that struck so far.
  [[nodiscard]] uint64_t injected() const { return injected_; }

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Pending {
    ReadRequest request;
    std::vector<Fault> struck;
    uint64_t number = 0;  ///< of the read
    Time due;
    AlignedBuffer held;  ///< of a delayed read: its bytes until it is due
    std::optional<Error> error;
    bool used = false;
  };

  std::vector<Fault> Strike(const ReadRequest& request, uint64_t number);
  Status WaitInner();
  [[nodiscard]] static Time DueOf(const Pending& read);
  [[nodiscard]] size_t NextDone() const;

  std::unique_ptr<BlockReader> inner_;
  std::mutex mutex_;
  std::vector<Fault> faults_;  // those left
  const bool reversed_;
  std::atomic<uint64_t> reads_{0};
  std::atomic<uint64_t> injected_{0};
  std::vector<Pending> slots_;
  std::vector<size_t> done_;  // slots, in the order they came in
};

}  // namespace sti
