#include "pipeline/io_lane.h"

#include <functional>

namespace sti {

IoLane::IoLane(BlockReader& reader) : reader_(reader), thread_([this] { Main(); }) {}

IoLane::~IoLane() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    finishing_ = true;
  }
  to_lane_.notify_all();
  thread_.join();
}

void IoLane::Start(const IoJob& job) {
  {
    std::lock_guard lock(mutex_);
    job_ = job;
    computed_ = 0;
    embeddings_missing_ = EmbeddingReadsCount();
    missing_.assign(job.groups, 0);
    for (const StagedRead& read : job.schedule->reads) ++missing_[read.group];
    error_.reset();
    report_ = {};
    report_.ready.resize(job.groups);
    MarkEmptyGroups();
    finishing_ = false;
    busy_ = true;
  }
  to_lane_.notify_all();
}

// What needs no read is there from the start.
void IoLane::MarkEmptyGroups() {
  auto now = Clock::now();
  if (embeddings_missing_ == 0) report_.embeddings_ready = now;
  for (uint32_t group = 0; group < job_.groups; ++group) {
    if (missing_[group] == 0) report_.ready[group] = now;
  }
}

Status IoLane::Wait(const std::function<bool()>& ready) {
  std::unique_lock lock(mutex_);
  from_lane_.wait(lock, [&] { return error_.has_value() || ready(); });
  if (error_) return *error_;
  return {};
}

Status IoLane::WaitForEmbeddings() {
  return Wait([this] { return embeddings_missing_ == 0; });
}

Status IoLane::WaitForGroup(uint32_t group) {
  return Wait([this, group] { return missing_[group] == 0; });
}

void IoLane::GroupComputed(uint32_t group) {
  {
    std::lock_guard lock(mutex_);
    computed_ = group + 1;
  }
  to_lane_.notify_all();
}

IoLane::Report IoLane::Finish() {
  std::unique_lock lock(mutex_);
  finishing_ = true;
  to_lane_.notify_all();
  from_lane_.wait(lock, [this] { return !busy_; });
  return report_;
}

void IoLane::Main() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      to_lane_.wait(lock, [this] { return stop_ || busy_; });
      if (stop_) return;
    }
    RunJob();
    {
      std::lock_guard lock(mutex_);
      busy_ = false;
    }
    from_lane_.notify_all();
  }
}

void IoLane::RunJob() {
  size_t total = EmbeddingReadsCount() + job_.schedule->reads.size();
  size_t next = 0;
  for (;;) {
    while (next < total && reader_.in_flight() < reader_.depth() && MayStart(next)) {
      Status submitted = reader_.Submit(RequestOf(next++));
      if (!submitted.ok()) {
        Fail(submitted.error());
        next = total;
      }
    }
    if (reader_.in_flight() > 0) {
      Result<uint64_t> tag = reader_.Wait();
      Status status = tag.ok() ? Complete(*tag) : Status(tag.error());
      if (!status.ok()) {
        Fail(status.error());
        next = total;
      }
      continue;
    }
    std::unique_lock lock(mutex_);
    if (next == total || finishing_) return;
    // Nothing in flight and the arena full: only a computed layer makes room.
    const StagedRead& read = job_.schedule->reads[next - EmbeddingReadsCount()];
    to_lane_.wait(lock, [&] { return finishing_ || read.after <= computed_; });
  }
}

size_t IoLane::EmbeddingReadsCount() const {
  return job_.embeddings == nullptr ? 0 : job_.embeddings->ranges.size();
}

bool IoLane::MayStart(size_t next) {
  std::lock_guard lock(mutex_);
  if (finishing_) return false;
  size_t embeddings = EmbeddingReadsCount();
  return next < embeddings || job_.schedule->reads[next - embeddings].after <= computed_;
}

ReadRequest IoLane::RequestOf(size_t next) const {
  size_t embeddings = EmbeddingReadsCount();
  if (next < embeddings) {
    const EmbeddingReads::Range& range = job_.embeddings->ranges[next];
    return {range.offset, job_.embedding_blocks.subspan(range.place, range.length), next};
  }
  const StagedRead& read = job_.schedule->reads[next - embeddings];
  return {read.offset, job_.arena.subspan(read.place, read.length), next};
}

Status IoLane::Complete(uint64_t tag) {
  size_t embeddings = EmbeddingReadsCount();
  if (tag < embeddings) {
    std::lock_guard lock(mutex_);
    report_.bytes += job_.embeddings->ranges[tag].length;
    if (--embeddings_missing_ == 0) {
      report_.embeddings_ready = Clock::now();
      from_lane_.notify_all();
    }
    return {};
  }
  const StagedRead& read = job_.schedule->reads[tag - embeddings];
  STI_RETURN_IF_ERROR(CheckStagedRead(*job_.schedule, read, job_.arena, reader_.name()));
  std::lock_guard lock(mutex_);
  report_.bytes += read.length;
  if (--missing_[read.group] == 0) {
    report_.ready[read.group] = Clock::now();
    from_lane_.notify_all();
  }
  return {};
}

void IoLane::Fail(Error error) {
  {
    std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
  }
  from_lane_.notify_all();
}

}  // namespace sti
