// A host: what the models of one process share, so that they do not get in each other's way.
#pragma once

#include <cstdint>
#include <utility>

#include "base/log.h"
#include "base/thread_pool.h"
#include "pipeline/io_share.h"

namespace sti {

/// Cores and flash of the models of a process, and who listens to them. Outlives its models; its
/// members are thread-safe.
struct Host {
  /// Reads of all models in flight: as many as keep a flash card or an NVMe drive busy.
  static constexpr uint64_t kBytesInFlight = uint64_t{4} << 20;

  /// `threads` compute, one layer at a time; `listener` may be empty.
  Host(uint32_t threads, LogSink listener, uint64_t bytes_in_flight = kBytesInFlight)
      : cores(threads), io(bytes_in_flight), log(std::move(listener)) {}

  ThreadPool cores;
  IoShare io;
  const LogSink log;
};

}  // namespace sti
