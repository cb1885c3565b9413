#include "profile/background_reads.h"

#include <utility>

namespace sti {

Result<std::unique_ptr<BackgroundReads>> BackgroundReads::Start(const BlockSourcePtr& source,
                                                                ReadPath way,
                                                                std::vector<ScheduledRead> reads,
                                                                uint64_t arena_bytes,
                                                                uint32_t depth) {
  STI_ASSIGN_OR_RETURN(std::unique_ptr<BlockReader> reader, OpenBlockReader(source, way, depth));
  return std::unique_ptr<BackgroundReads>(
      new BackgroundReads(std::move(reader), std::move(reads), arena_bytes));
}

BackgroundReads::BackgroundReads(std::unique_ptr<BlockReader> reader,
                                 std::vector<ScheduledRead> reads, uint64_t arena_bytes)
    : arena_(arena_bytes),
      reader_(std::move(reader)),
      reads_(std::move(reads)),
      thread_([this] { Main(); }) {}

BackgroundReads::~BackgroundReads() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BackgroundReads::Pause() {
  std::unique_lock lock(mutex_);
  paused_ = true;
  changed_.wait(lock, [this] { return !reading_; });
}

void BackgroundReads::Resume() {
  {
    const std::lock_guard lock(mutex_);
    paused_ = false;
  }
  changed_.notify_all();
}

uint64_t BackgroundReads::loads() {
  const std::lock_guard lock(mutex_);
  return loads_;
}

// A failing read ends the load, not the measurement: the same device fails the reads that count.
void BackgroundReads::Main() {
  reader_->ExpectReadsInto(arena_.span());
  const auto requests = RequestsFor(std::span<const ScheduledRead>(reads_), arena_.span());
  bool sound = !requests.empty();
  std::unique_lock lock(mutex_);
  while (sound) {
    changed_.wait(lock, [this] { return stop_ || !paused_; });
    if (stop_) return;
    reading_ = true;
    lock.unlock();
    sound = reader_->ReadAll(requests).ok();
    lock.lock();
    reading_ = false;
    ++loads_;
    changed_.notify_all();
  }
}

}  // namespace sti
