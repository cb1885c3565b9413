#include "profile/background_reads.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/digest.h"
#include "base/thread.h"

namespace sti {
namespace {

constexpr size_t kLayersInArena = 4;  // about as many as a pipeline reads ahead

}  // namespace

Result<std::unique_ptr<BackgroundReads>> BackgroundReads::Start(
    const BlockSourcePtr& source, ReadPath way, const std::vector<LayerReads>& layers,
    uint32_t depth) {
  STI_ASSIGN_OR_RETURN(std::unique_ptr<BlockReader> reader, OpenBlockReader(source, way, depth));
  return std::unique_ptr<BackgroundReads>(new BackgroundReads(std::move(reader), layers));
}

BackgroundReads::BackgroundReads(std::unique_ptr<BlockReader> reader,
                                 const std::vector<LayerReads>& layers)
    : reader_(std::move(reader)) {
  const uint64_t largest = LargestLayer(layers);
  arena_ = AlignedBuffer(largest * std::min(layers.size(), kLayersInArena));
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto memory = arena_.span().subspan(i % kLayersInArena * largest, layers[i].bytes);
    requests_.push_back(RequestsFor(std::span<const ScheduledRead>(layers[i].reads), memory));
  }
  thread_ = StartQuietThread([this] { Main(); });
}

BackgroundReads::~BackgroundReads() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BackgroundReads::Load(double share) {
  {
    const std::lock_guard lock(mutex_);
    wanted_ = std::clamp(share, 0.0, 1.0);
  }
  changed_.notify_all();
}

void BackgroundReads::Pause() {
  std::unique_lock lock(mutex_);
  wanted_ = 0;
  changed_.wait(lock, [this] { return !reading_; });
}

uint64_t BackgroundReads::loads() {
  const std::lock_guard lock(mutex_);
  return loads_;
}

// A failing read ends the load, not the measurement: the same device fails the reads that count.
void BackgroundReads::Main() {
  reader_->ExpectReadsInto(arena_.span());
  bool sound = arena_.size() > 0;
  std::unique_lock lock(mutex_);
  while (sound) {
    changed_.wait(lock, [this] { return stop_ || wanted_ > 0; });
    if (stop_) return;
    reading_ = true;
    const double share = std::exchange(wanted_, 0);
    const auto& layer = requests_[loads_ % requests_.size()];
    lock.unlock();
    const auto count = static_cast<size_t>(std::ceil(share * static_cast<double>(layer.size())));
    const auto load = std::span(layer).first(count);
    sound = reader_->ReadAll(load).ok();
    uint64_t checksums = 0;
    for (const ReadRequest& read : load) checksums ^= Checksum(read.buffer);
    lock.lock();
    reading_ = false;
    ++loads_;
    checksums_ ^= checksums;
    changed_.notify_all();
  }
}

}  // namespace sti
