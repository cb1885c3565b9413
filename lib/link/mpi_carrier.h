// Frames between ranks of MPI, which a launcher has started on the devices of a cluster. MPI itself
// is in a plug-in that is opened when a process joins its ranks (link/mpi/plugin.h).
//
// A stream is bytes, as through a pipe, in messages of at most 64 KiB. Messages the other way say
// how many of them were taken, so that the sink knows it on any network, never sends more than
// little ahead, and sees signs of life from a reader that has no room. A message without bytes ends
// a stream, and one the other way says that the reader has left.
//
// One thread, the ranks' own, makes all calls of MPI. It looks whether requests are done and naps
// between, since MPI itself would turn round and round on a core while it waits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "link/carrier.h"
#include "link/frame.h"

namespace sti {

struct MpiPlugin;
class MpiJob;

/// This process as one of the ranks. A process joins once.
class MpiRanks {
 public:
  /// Opens the plug-in at a path and joins. Errors are those of OpenMpiPlugin, and a MachineError
  /// of MPI, which may also end the process itself where it finds that its launcher is gone.
  static Result<std::unique_ptr<MpiRanks>> Join(const std::string& plugin);
  /// Joins by functions that are here already.
  static Result<std::unique_ptr<MpiRanks>> Join(const MpiPlugin& plugin);
  /// Makes no call of MPI any more. Without Leave, launchers take this rank for lost once the
  /// process has ended, and end all others.
  ~MpiRanks();
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  [[nodiscard]] uint32_t rank() const { return rank_; }
  [[nodiscard]] uint32_t ranks() const { return ranks_; }

  /// Returns the side of a stream that frames come from, which may outlive the ranks. Its
  /// destruction tells the other side that the reader has left. Streams between the same two ranks
  /// differ in `stream`. `name` is the place of errors.
  std::unique_ptr<FrameSource> Source(uint32_t from, uint32_t stream, const FrameTerms& terms,
                                      std::string name);
  /// Returns the side that frames go to, whose destruction ends the stream.
  std::unique_ptr<FrameSink> Sink(uint32_t to, uint32_t stream);

  /// Leaves the ranks: waits until `latest` until both sides of all streams are gone and all other
  /// ranks leave too. Returns whether it has left; it may be called again if not. MachineError of
  /// MPI.
  Result<bool> Leave(Clock::time_point latest);

 private:
  explicit MpiRanks(std::shared_ptr<MpiJob> job);

  const std::shared_ptr<MpiJob> job_;
  uint32_t rank_ = 0;
  uint32_t ranks_ = 0;
};

}  // namespace sti
