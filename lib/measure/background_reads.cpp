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
  auto requests = RequestsFor(std::span<const StagedRead>(reads_), arena_.span());
  bool sound = !requests.empty();
  while (sound && !stop_) sound = reader_->ReadAll(requests).ok();
}

}  // namespace sti
