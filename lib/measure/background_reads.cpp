#include "measure/background_reads.h"

#include <utility>

namespace sti {

Result<std::unique_ptr<BackgroundReads>> BackgroundReads::Start(const std::string& path,
                                                                ReadPath way,
                                                                std::vector<StagedRead> reads,
                                                                uint64_t arena_bytes) {
  STI_ASSIGN_OR_RETURN(std::unique_ptr<BlockReader> reader, OpenBlockReader(path, way));
  return std::unique_ptr<BackgroundReads>(
      new BackgroundReads(std::move(reader), std::move(reads), arena_bytes));
}

BackgroundReads::BackgroundReads(std::unique_ptr<BlockReader> reader, std::vector<StagedRead> reads,
                                 uint64_t arena_bytes)
    : reader_(std::move(reader)),
      reads_(std::move(reads)),
      arena_(arena_bytes),
      thread_([this] { Main(); }) {}

BackgroundReads::~BackgroundReads() {
  stop_ = true;
  thread_.join();
}

// A failing read ends the load, not the measurement: the same device fails the reads that count.
void BackgroundReads::Main() {
  bool sound = !reads_.empty();
  while (sound && !stop_) sound = ReadOnce();
}

bool BackgroundReads::ReadOnce() {
  bool sound = true;
  for (size_t i = 0; sound && i < reads_.size(); ++i) {
    const StagedRead& read = reads_[i];
    if (reader_->in_flight() == reader_->depth()) sound = reader_->Wait().ok();
    auto buffer = arena_.span().subspan(read.place, read.length);
    sound = sound && reader_->Submit({read.offset, buffer, 0}).ok();
  }
  // Drained before the next round: two reads never share a buffer.
  while (reader_->in_flight() > 0 && reader_->Wait().ok()) {
  }
  return sound;
}

}  // namespace sti
