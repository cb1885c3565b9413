#include "profile/background_reads.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "base/digest.h"
#include "base/thread.h"

namespace sti {
namespace {

constexpr size_t kLayersInArena = 4;  // about as many as a pipeline reads ahead

}  // namespace

Result<std::unique_ptr<BackgroundReads>> BackgroundReads::Start(
    const BlockSourcePtr& source, ReadPath way, const std::vector<LayerReads>& layers,
    const ReadShape& shape) {
  STI_ASSIGN_OR_RETURN(std::unique_ptr<BlockReader> reader, OpenToRead(source, way, shape));
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

namespace {

void Append(uint64_t offset, uint64_t length, LayerReads* reads) {
  ScheduledRead read;
  read.offset = offset;
  read.length = length;
  read.place = reads->bytes;
  reads->reads.push_back(read);
  reads->bytes += length;
}

}  // namespace

Result<LayerReads> ReadsAtBits(const ContainerIndex& index, uint32_t layer, uint32_t bits,
                               uint32_t read_bytes) {
  LayerReads reads;
  ScheduleLimits limits;
  limits.read_bytes = read_bytes;
  for (uint32_t slice = 0; slice < index.info.shape.width; ++slice) {
    const ShardRequest request{{layer, slice}, bits, 0};
    STI_ASSIGN_OR_RETURN(const LoadSchedule schedule,
                         BuildLoadSchedule(index, {&request, 1}, limits));
    for (const ScheduledRead& read : schedule.reads) Append(read.offset, read.length, &reads);
  }
  return reads;
}

Result<std::vector<LayerReads>> ReadsOfLayersAtBits(const ContainerIndex& index, uint32_t bits,
                                                    uint32_t read_bytes) {
  std::vector<LayerReads> layers;
  for (const uint32_t layer : index.WholeLayersAt(bits)) {
    STI_ASSIGN_OR_RETURN(LayerReads reads, ReadsAtBits(index, layer, bits, read_bytes));
    layers.push_back(std::move(reads));
  }
  return layers;
}

uint64_t LargestLayer(std::span<const LayerReads> layers) {
  uint64_t largest = 0;
  for (const LayerReads& layer : layers) largest = std::max(largest, layer.bytes);
  return largest;
}

LayerReads ReadsOfPlane(const ContainerIndex& index, uint32_t layer, uint32_t bits) {
  LayerReads reads;
  for (uint32_t slice = 0; slice < index.info.shape.width; ++slice) {
    const PartLocation& part = index.shard({layer, slice}).parts[PartAt(bits)];
    if (part.length == 0) continue;
    const BlockRange blocks = BlocksAround(part);
    Append(blocks.begin, blocks.bytes(), &reads);
  }
  return reads;
}

}  // namespace sti
