#include "profile/read_sweep.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/samples.h"

namespace sti {
namespace {

constexpr uint32_t kSmallestRead = 64u << 10;
constexpr uint64_t kLargestRead = uint64_t{1} << 20;
constexpr uint32_t kDeepest = 16;
constexpr uint64_t kMostInFlight = uint64_t{2} << 20;
constexpr double kEnough = 0.98;
constexpr double kLeastEnough = 0.9;  // however noisy
// One file that brings so much of what several do is taken alone.
constexpr double kOneFileEnough = 0.8;
constexpr double kEnoughBlocks = 0.7;
constexpr uint64_t kBlocksInBurst = 256;
constexpr double kBurstUs = 15e3;  // of one shape in a round
constexpr uint64_t kLeastBurst = uint64_t{4} << 20;
constexpr uint64_t kMostBurst = uint64_t{64} << 20;
constexpr uint32_t kStreamCounts[] = {1, 2, 3, 4, 6, 8};

// Reads through a file in bursts of one size, from its start again at its end.
class Bursts {
 public:
  // At most `most_bytes` are in flight at once.
  Bursts(BlockSourcePtr source, ReadPath way, uint64_t most_bytes)
      : source_(std::move(source)), way_(way), memory_(most_bytes) {}

  // Bytes a microsecond. No rate, that is 0, where the way cannot have that many in flight, or the
  // file cannot be open so often.
  Result<double> Rate(const ReadShape& shape, uint64_t burst_bytes) {
    STI_ASSIGN_OR_RETURN(BlockReader * reader, ReaderOf(shape));
    if (reader->depth() < shape.in_flight() || reader->streams() != shape.streams) return 0.0;
    const uint64_t count = std::max<uint64_t>(burst_bytes / shape.bytes, 1);
    const auto begin = Clock::now();
    STI_RETURN_IF_ERROR(ReadBurst(*reader, shape, count));
    const double time_us = MicrosecondsBetween(begin, Clock::now());
    return static_cast<double>(count * shape.bytes) / std::max(time_us, 1e-3);
  }

 private:
  // As many places in memory as reads are in flight: no two threads of an app that reads by
  // callbacks are given the same.
  Status ReadBurst(BlockReader& reader, const ReadShape& shape, uint64_t count) {
    const uint64_t offsets = reader.file_bytes() / shape.bytes;
    std::vector<uint64_t> free_places(shape.in_flight());
    std::iota(free_places.begin(), free_places.end(), uint64_t{0});
    for (uint64_t begun = 0, done = 0; done < count; ++done) {
      for (; begun < count && !free_places.empty(); ++begun) {
        const uint64_t place = free_places.back();
        free_places.pop_back();
        const auto memory = memory_.span().subspan(place * shape.bytes, shape.bytes);
        STI_RETURN_IF_ERROR(reader.Submit({(next_++ % offsets) * shape.bytes, memory, place}));
      }
      STI_ASSIGN_OR_RETURN(const uint64_t place, reader.Wait());
      free_places.push_back(place);
    }
    return {};
  }

  Result<BlockReader*> ReaderOf(const ReadShape& shape) {
    std::unique_ptr<BlockReader>& reader = readers_[{shape.depth, shape.streams}];
    if (!reader) {
      STI_ASSIGN_OR_RETURN(reader, OpenToRead(source_, way_, shape));
      reader->ExpectReadsInto(memory_.span());
    }
    return reader.get();
  }

  BlockSourcePtr source_;
  ReadPath way_;
  AlignedBuffer memory_;  // outlives the readers, which are told of it
  std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<BlockReader>> readers_;
  uint64_t next_ = 0;
};

bool IsLarge(const ReadRate& rate) {
  return rate.shape.bytes > kBlockBytes && rate.bytes_per_us > 0;
}

double MiddleSpread(std::span<const ReadRate> rates) {
  Samples spreads;
  for (const ReadRate& rate : rates) {
    if (IsLarge(rate)) spreads.Add(rate.spread);
  }
  return spreads.median();
}

uint32_t DepthForBlocks(std::span<const ReadRate> rates) {
  double best = 0;
  for (const ReadRate& rate : rates) {
    if (!IsLarge(rate)) best = std::max(best, rate.bytes_per_us);
  }
  uint32_t depth = kDeepest;
  for (const ReadRate& rate : rates) {
    if (!IsLarge(rate) && rate.bytes_per_us >= kEnoughBlocks * best && rate.bytes_per_us > 0)
      depth = std::min(depth, rate.shape.depth);
  }
  return best > 0 ? depth : 1;
}

}  // namespace

ReadShape ChooseReadShape(std::span<const ReadRate> rates) {
  const uint32_t depth = DepthForBlocks(rates);
  ReadShape chosen;
  uint64_t fewest = 0;
  double highest = 0;
  const double enough = std::max(std::min(kEnough, 1 - MiddleSpread(rates)), kLeastEnough);
  for (const ReadRate& rate : rates) {
    if (IsLarge(rate) && rate.shape.depth >= depth) highest = std::max(highest, rate.bytes_per_us);
  }
  for (const ReadRate& rate : rates) {
    if (!IsLarge(rate) || rate.shape.depth < depth || rate.bytes_per_us < enough * highest)
      continue;
    const uint64_t in_flight = uint64_t{rate.shape.bytes} * rate.shape.depth;
    const bool fewer = chosen.depth == 0 || in_flight < fewest;
    if (fewer || (in_flight == fewest && rate.shape.depth > chosen.depth)) {
      chosen = rate.shape;
      fewest = in_flight;
    }
  }
  return chosen.depth != 0 ? chosen : ReadShape{kSmallestRead, BlockReader::kDefaultDepth};
}

std::vector<ReadShape> ReadShapes(uint64_t file_bytes) {
  std::vector<ReadShape> shapes;
  std::vector<uint64_t> sizes = {kBlockBytes};
  for (uint64_t bytes = kSmallestRead; bytes <= kLargestRead; bytes *= 2) sizes.push_back(bytes);
  shapes.reserve(sizes.size() * 5);
  for (const uint64_t bytes : sizes) {
    for (uint32_t depth = 1; depth <= kDeepest && bytes * depth <= kMostInFlight; depth *= 2) {
      if (bytes <= file_bytes) shapes.push_back({static_cast<uint32_t>(bytes), depth});
    }
  }
  return shapes;
}

Result<std::unique_ptr<BlockReader>> OpenToRead(const BlockSourcePtr& source, ReadPath way,
                                                const ReadShape& shape) {
  // Readers by threads have as many more for each stream that they hold.
  const uint32_t depth = way == ReadPath::kUring ? shape.in_flight() : shape.depth;
  STI_ASSIGN_OR_RETURN(auto reader, OpenBlockReader(source, way, depth));
  reader->HoldStreams(shape.streams);
  return reader;
}

namespace {

/// Returns the bytes of a burst of this shape, of which a first one is read.
Result<uint64_t> BurstBytes(Bursts& bursts, const ReadShape& shape) {
  STI_ASSIGN_OR_RETURN(const double guess, bursts.Rate(shape, kLeastBurst));
  return std::clamp(static_cast<uint64_t>(guess * kBurstUs), kLeastBurst, kMostBurst);
}

/// Reads bursts of each shape, in `rounds`: `bytes` of them, but of single blocks few.
Result<std::vector<Samples>> ReadInRounds(Bursts& bursts, std::span<const ReadShape> shapes,
                                          uint64_t bytes, uint32_t rounds,
                                          const CancelCheck& cancelled) {
  std::vector<Samples> samples(shapes.size());
  for (uint32_t round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < shapes.size(); ++i) {
      if (cancelled && cancelled()) return CancelledError();
      const uint64_t burst = shapes[i].bytes == kBlockBytes ? kBlocksInBurst * kBlockBytes : bytes;
      STI_ASSIGN_OR_RETURN(const double rate, bursts.Rate(shapes[i], burst));
      samples[i].Add(rate);
    }
  }
  return samples;
}

}  // namespace

Result<std::vector<ReadRate>> MeasureReadShapes(const BlockSourcePtr& source, ReadPath way,
                                                uint32_t rounds, const CancelCheck& cancelled) {
  STI_ASSIGN_OR_RETURN(const auto probe, OpenBlockReader(source, way));
  const std::vector<ReadShape> shapes = ReadShapes(probe->file_bytes());
  if (shapes.empty()) return std::vector<ReadRate>{};
  Bursts bursts(source, way, kMostInFlight);
  STI_ASSIGN_OR_RETURN(const uint64_t bytes, BurstBytes(bursts, shapes.back()));
  STI_ASSIGN_OR_RETURN(const auto samples, ReadInRounds(bursts, shapes, bytes, rounds, cancelled));
  std::vector<ReadRate> rates;
  rates.reserve(shapes.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    const double best = samples[i].Quantile(1);
    rates.push_back({shapes[i], best, best > 0 ? 1 - samples[i].median() / best : 0});
  }
  return rates;
}

uint32_t ChooseStreams(const StreamRates& rates) {
  double best = rates.one_file;
  for (const StreamRate& rate : rates.rates) best = std::max(best, rate.bytes_per_us);
  if (rates.one_file >= kOneFileEnough * best) return 1;
  for (const StreamRate& rate : rates.rates) {
    if (rate.bytes_per_us >= kLeastEnough * best) return rate.streams;
  }
  return 1;
}

Result<StreamRates> MeasureStreamRates(const BlockSourcePtr& source, ReadPath way,
                                       const ReadShape& shape, uint32_t rounds,
                                       const CancelCheck& cancelled) {
  STI_ASSIGN_OR_RETURN(const auto probe, OpenBlockReader(source, way));
  StreamRates rates;
  if (probe->file_bytes() < shape.bytes) return rates;
  std::vector<ReadShape> shapes{{shape.bytes, shape.depth, 1}};
  for (const uint32_t count : kStreamCounts) shapes.push_back({shape.bytes, 1, count});
  const uint32_t most = std::max(shape.in_flight(), shapes.back().in_flight());
  Bursts bursts(source, way, uint64_t{shape.bytes} * most);
  STI_ASSIGN_OR_RETURN(const uint64_t bytes, BurstBytes(bursts, shapes.back()));
  STI_ASSIGN_OR_RETURN(const auto samples, ReadInRounds(bursts, shapes, bytes, rounds, cancelled));
  rates.one_file = samples.front().Quantile(1);
  for (size_t i = 1; i < shapes.size(); ++i) {
    const double rate = samples[i].Quantile(1);
    if (rate > 0) rates.rates.push_back({shapes[i].streams, rate});
  }
  return rates;
}

}  // namespace sti
