// Finds how a device likes to be read: how many reads at once, and how large.
//
// A pipeline can react only once what is in flight has arrived, and it needs memory for it. So the
// fewest bytes in flight are best among those that take all of the device's bandwidth.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "io/block_reader.h"
#include "types/device_profile.h"
#include "types/limits.h"

namespace sti {

/// One way to read: so large reads, so many at once through each of so many open files.
struct ReadShape {
  uint32_t bytes = 0;    ///< bytes of the largest read, a multiple of kBlockBytes
  uint32_t depth = 0;    ///< reads in flight through an open file
  uint32_t streams = 1;  ///< open files
  /// Returns the reads in flight, of all open files together.
  [[nodiscard]] uint32_t in_flight() const { return ReadsInFlight(depth, streams); }
  friend bool operator==(const ReadShape&, const ReadShape&) = default;
};

/// Holds the rate that was measured with one shape.
struct ReadRate {
  ReadShape shape;
  double bytes_per_us = 0;
  double spread = 0;  ///< how much less the median burst had, as a share
};

/// Chooses a shape in two steps. Rates of single blocks, which embedding rows are read in, say how
/// many reads the device wants at once: the fewest that reach 70 % of their best rate. Among the
/// larger reads with at least that many at once, the choice is the fewest bytes in flight (bytes x
/// depth) that reach 98 % of the best rate, or less by as much as rates spread, so that noise does
/// not choose; among equal ones the most reads. Returns ReadShape() if there are no larger reads.
ReadShape ChooseReadShape(std::span<const ReadRate> rates);

/// Returns the reads that are tried in a file of `file_bytes`: single blocks, and reads of 64 KiB
/// to 1 MiB of which at most 2 MiB are in flight; 1 to 16 at once; no read larger than the file.
std::vector<ReadShape> ReadShapes(uint64_t file_bytes);

/// Rounds of a sweep: of one that is to be trusted, and the fewest that say how rates spread.
inline constexpr uint32_t kSweepRounds = 5;
inline constexpr uint32_t kFewestSweepRounds = 2;

/// Reads `source` in each of these shapes, in `rounds`, and gives the best rate of each:
/// what the device can do, whatever else the machine does now and then. kSweepRounds take about
/// 2 s, 5 s on slow flash. kUsage when cancelled. One thread at a time.
Result<std::vector<ReadRate>> MeasureReadShapes(const BlockSourcePtr& source, ReadPath way,
                                                uint32_t rounds, const CancelCheck& cancelled);

/// Opens `source` to be read in this shape. It holds fewer streams where the system grants no more.
Result<std::unique_ptr<BlockReader>> OpenToRead(const BlockSourcePtr& source, ReadPath way,
                                                const ReadShape& shape);

/// The rates that several open files bring.
struct StreamRates {
  double one_file = 0;            ///< bytes a microsecond of one with all its reads in flight
  std::vector<StreamRate> rates;  ///< of 1 to 8, one read in flight through each, ascending
};

/// Returns the fewest open files that take nine tenths of the bandwidth; 1 where several bring no
/// quarter more than one file does, or where nothing was measured.
uint32_t ChooseStreams(const StreamRates& rates);

/// Reads `source` in reads of `shape.bytes` through 1 to 8 open files, in `rounds`, likewise; fewer
/// where the system grants no more. Takes about 0.5 s, 2 s on slow flash.
Result<StreamRates> MeasureStreamRates(const BlockSourcePtr& source, ReadPath way,
                                       const ReadShape& shape, uint32_t rounds,
                                       const CancelCheck& cancelled);

}  // namespace sti
