// An app whose inputs, faults and calls between inputs are drawn by chance, over the container of
// pipeline_world.h or another one: what the tests of random sequences share.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "pipeline_world.h"
#include "support/fault_reader.h"
#include "support/memory_reader.h"

namespace sti {

/// World is PipelineTest or a test of its kind.
template <typename World>
class RandomApp : public World {
 protected:
  explicit RandomApp(uint64_t seed) : random_(seed) {}

  /// Takes the container at path_ as it is now.
  void TakeContainer() {
    bytes_ = std::make_shared<const std::vector<uint8_t>>(FileBytes(this->path_));
    direct_ = std::make_unique<DirectModel>(this->path_);
  }
  uint32_t Below(uint64_t limit) { return static_cast<uint32_t>(random_.Below(limit)); }
  uint32_t AnyBits() { return this->index_.bits[random_.Below(this->index_.bits.size())]; }

  /// A reader of the container from memory, of four one whose reads arrive in reverse order.
  std::unique_ptr<FaultReader> AnyReader() {
    return std::make_unique<FaultReader>(std::make_unique<MemoryReader>(this->path_, bytes_),
                                         std::vector<Fault>{}, random_.Below(4) == 0);
  }
  /// Goes on with a pipeline over AnyReader.
  void OpenOver(std::unique_ptr<FaultReader> reader, const Plan& plan,
                const PipelineOptions& options) {
    auto pipeline = this->MakeOver(std::move(reader), plan, options);
    ASSERT_TRUE(Succeeded(pipeline));
    pipeline_ = std::move(*pipeline);
    faulty_ = false;
    healthy_ = true;
  }
  /// Returns the reader with the faults; null once a late lane was set aside, and it with the lane.
  FaultReader* Faults() { return dynamic_cast<FaultReader*>(pipeline_->status().reader); }

  /// Expects that a failure is due to a fault, and has no other reason.
  void ExpectSoundOr(const Status& status) {
    if (status.ok()) return;
    const bool of_device =
        status.error().kind == ErrorKind::kReadFailed || status.error().kind == ErrorKind::kDamaged;
    EXPECT_TRUE(faulty_ && of_device) << status.error().Message();
    ++failed_;
  }

  /// One of the next `reads` reads fails, is torn or comes late.
  void InjectFault(uint64_t reads) {
    constexpr std::array kKinds = {FaultKind::kError, FaultKind::kTorn, FaultKind::kDelay};
    if (Faults() == nullptr) return;
    Fault fault;
    fault.kind = kKinds[random_.Below(kKinds.size())];
    fault.nth = Faults()->reads() + random_.Below(reads);
    fault.delay = std::chrono::microseconds(random_.Below(400));
    faulty_ = true;
    healthy_ = false;
    Faults()->Inject(fault);
  }
  void Heal() {
    if (Faults() == nullptr) return;
    Faults()->Heal();
    // The reads of a lead may have been struck already, and be what the next run goes on with.
    healthy_ = healthy_ || pipeline_->status().lane != LaneState::kWoken;
  }

  TestRandom random_;
  MemoryReader::Bytes bytes_;
  std::unique_ptr<DirectModel> direct_;
  std::vector<Plan> plans_;
  std::unique_ptr<Pipeline> pipeline_;
  RunResult result_;
  bool faulty_ = false;   ///< something has been injected below this pipeline
  bool healthy_ = false;  ///< nothing injected has struck what the next run reads, or will
  size_t failed_ = 0;
};

}  // namespace sti
