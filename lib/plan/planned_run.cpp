#include "plan/planned_run.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "plan/budget.h"
#include "plan/play/cold.h"
#include "plan/play/shard_costs.h"
#include "plan/shard_room.h"
#include "types/fields.h"
#include "types/limits.h"

namespace sti {
namespace {

constexpr uint64_t kBlock = 4096;  // of direct reads

StagingNeed AllOf(const PlannedRun& run) {
  StagingNeed need;
  std::vector<uint64_t> layer_bytes = run.lane.resident_bytes;
  layer_bytes.resize(run.lane.layers + 1);  // and the head
  for (uint64_t part : layer_bytes) need.enough += part;
  const WordReads& words = run.lane.words;
  layer_bytes.push_back(words.bytes);
  need.enough += words.groups * words.bytes;
  for (const StreamedShard& shard : run.streamed) {
    need.enough += shard.bytes;
    layer_bytes[shard.position] += shard.bytes;
  }
  need.least = *std::max_element(layer_bytes.begin(), layer_bytes.end());
  need.enough = std::max(need.enough, need.least);
  return need;
}

/// Returns bytes that no read of the run exceeds: neighbours merge up to `read_bytes`, and a part,
/// which is no larger than its shard, is read whole.
uint64_t LargestRead(const PlannedRun& run, uint64_t read_bytes) {
  uint64_t largest = read_bytes;
  for (const uint64_t part : run.lane.resident_bytes) largest = std::max(largest, part);
  for (const StreamedShard& shard : run.streamed) largest = std::max(largest, shard.bytes);
  return largest;
}

/// The least staging, in whole blocks between `need`'s, that is as good as any: more is never
/// slower, so halves find it. Equal times that were added up in another order are equal.
uint64_t LeastUndelayed(const PlannedRun& run, const StagingNeed& need) {
  const double latency_us = LatencyOf(run, std::nullopt) + kTimeTolerance_us;
  uint64_t low = need.least / kBlock;
  uint64_t high = need.enough / kBlock + 1;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (LatencyOf(run, middle * kBlock) <= latency_us) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low * kBlock;
}

/// Returns what the plan's shards cost to read where its fallback is in memory; nothing if it has
/// none, or the device knows no load times.
std::optional<ShardCosts> CostsBesideFallback(const CheckedInput& input, const DeviceModel& device,
                                              const PlanCore& plan) {
  if (!plan.fallback) return std::nullopt;
  const Result<ShardCosts> all = ShardCosts::Make(input->catalog, device);
  if (!all.ok()) return std::nullopt;
  return all->Holding(ShardsOf(*plan.fallback), input->catalog.block_bytes, device);
}

/// Returns [n] what the bits of each layer add to its time; empty if they add nothing.
std::vector<double> DecodeTimes(const DeviceModel& device, const Grid<uint32_t>& bits) {
  std::vector<double> decode_us(bits.rows());
  for (uint32_t k = 0; k < bits.rows(); ++k) {
    for (const uint32_t shard_bits : bits.Row(k)) decode_us[k] += device.DecodeUs(shard_bits);
  }
  const bool any =
      std::any_of(decode_us.begin(), decode_us.end(), [](double us) { return us != 0; });
  return any ? decode_us : std::vector<double>();
}

/// Holds what bits add to the time of a layer: to that of all but the last on average, and to the
/// last.
struct MeanDecode {
  explicit MeanDecode(std::span<const double> decode_us) {
    if (decode_us.empty()) return;
    const auto before = std::max<std::ptrdiff_t>(std::ssize(decode_us) - 1, 1);
    layer_us = std::accumulate(decode_us.begin(), decode_us.begin() + before, 0.0) /
               static_cast<double>(before);
    last_us = decode_us.back();
  }
  double layer_us = 0;
  double last_us = 0;
};

/// Fills in what the shards of a plan read and cost. Preloaded ones are not read, and those of the
/// fallback not whole.
void AddShards(const CheckedInput& input, const DeviceModel& device, const PlanCore& plan,
               PlannedRun* run) {
  const std::optional<ShardCosts> costs = CostsBesideFallback(input, device, plan);
  std::set<ShardId> preloaded;
  for (const ShardAtBits& shard : plan.preload) preloaded.insert(shard.id);
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    for (uint32_t i = 0; i < plan.width; ++i) {
      const ShardAtBits shard{plan.Id(k, i), plan.bits.At(k, i)};
      const uint64_t bytes = input->catalog.BytesOf(shard).value_or(0);
      const double load_us = device.LoadUs(shard.bits, bytes).value_or(0);
      run->all_bytes += bytes;
      run->all_io_us[k] += load_us;
      if (preloaded.contains(shard.id)) {
        run->held_bytes += bytes;
        run->bonus_us += load_us;
        continue;
      }
      StreamedShard read{k, bytes, load_us, shard};
      if (const auto level = costs ? costs->LevelOf(shard.bits) : std::nullopt)
        read = {k, costs->bytes(shard.id, *level), costs->load_us(shard.id, *level), shard};
      run->bonus_us += load_us - read.load_us;
      if (read.bytes != 0) run->streamed.push_back(read);
    }
  }
}

/// Has agents read what a run reads: each byte then takes its time of all that they bring together.
/// A plan for a device whose profile does not tell what they bring is played layer by layer.
void ReadByAgents(const DeviceModel& device, uint32_t agents, PlannedRun* run) {
  if (device.StreamRateOf(agents) <= 0) return;
  for (uint32_t reading = 1; reading <= agents; ++reading)
    run->agents.bytes_per_us.push_back(device.StreamRateOf(reading));
  const double rate = run->agents.together();
  std::ranges::fill(run->all_io_us, 0.0);
  for (size_t k = 0; k < run->lane.resident_us.size(); ++k) {
    run->lane.resident_us[k] = static_cast<double>(run->lane.resident_bytes[k]) / rate;
    if (k < run->all_io_us.size()) run->all_io_us[k] += run->lane.resident_us[k];
  }
  for (StreamedShard& shard : run->streamed) {
    shard.load_us = static_cast<double>(shard.bytes) / rate;
    run->all_io_us[shard.position] += shard.load_us;
  }
  run->bonus_us = 0;
}

/// Fills in what a turn reads and would read.
void AddTurn(const CheckedInput& input, const DeviceModel& device, const PlanCore& plan,
             const PlanTurn& turn, PlannedRun* run) {
  TurnReads turn_reads = ReadsOf(input, device, plan, turn);
  run->streamed = std::move(turn_reads.reads);
  run->all_io_us = std::move(turn_reads.all_io_us);
  const std::vector<double> read_us = run->StreamedIo();
  run->bonus_us = std::accumulate(run->all_io_us.begin(), run->all_io_us.end(), 0.0) -
                  std::accumulate(read_us.begin(), read_us.end(), 0.0);
}

}  // namespace

std::vector<double> PlannedRun::StreamedIo() const {
  std::vector<double> layer_io_us = ResidentIo(lane);
  for (const StreamedShard& shard : streamed) layer_io_us[shard.position] += shard.load_us;
  return layer_io_us;
}

PlannedRun RunOf(const CheckedInput& input, const DeviceModel& device, const PlanCore& plan,
                 const PlanTurn* turn) {
  PlannedRun run;
  run.lane =
      LaneOf(input, device, plan.layers, plan.width, {plan.cold, plan.ends, plan.keeps_vocabulary});
  run.lane.decode_us = DecodeTimes(device, turn == nullptr ? plan.bits : turn->bits);
  run.streamed.reserve(plan.layers.size() * plan.width);
  if (turn != nullptr) {
    AddTurn(input, device, plan, *turn, &run);
    run.wake_us = plan.wake_us.value_or(0);
    return run;
  }
  run.all_io_us = ResidentIo(run.lane);
  AddShards(input, device, plan, &run);
  if (plan.agents > 0) ReadByAgents(device, plan.agents, &run);
  run.serial = DelayModelFor(plan.strategy) == DelayModel::kSerial;
  run.wake_us = run.serial ? 0 : plan.wake_us.value_or(0);
  return run;
}

double LatencyOf(const PlannedRun& run, std::optional<uint64_t> staging_bytes,
                 std::vector<LaneSpan>* spans) {
  if (run.serial) return SerialLatency(run.lane, run.streamed, spans);
  if (run.agents.count() > 0) {
    return AgentsLatency(run.lane, run.streamed, run.agents, staging_bytes, spans)
        .value_or(std::numeric_limits<double>::infinity());
  }
  return PipelineLatency(run.lane, run.streamed, staging_bytes, run.wake_us, spans)
      .value_or(std::numeric_limits<double>::infinity());
}

double StallOf(const PlannedRun& run, double start_us, double latency_us) {
  return std::max(0.0, latency_us - start_us - run.lane.compute_us());
}

PlanTimes TimesOf(const CheckedInput& input, const DeviceModels& devices, const PlanCore& plan,
                  const PlannedRun& run, double latency_us) {
  const FixedTimes& fixed = devices.median.fixed();
  ColdTimes cold;
  if (plan.cold) cold = ColdTimesOf(input, devices.median, plan.layers);
  PlanTimes times;
  times.start_us = cold.start_us;
  times.open_io_us = cold.open_io_us;
  times.embed_io_us =
      plan.cold ? fixed.embed_io_us + cold.embedding_us : run.lane.fixed.embed_io_us;
  times.embed_us = fixed.embed_us;
  const MeanDecode decode(run.lane.decode_us);
  const MeanDecode decode_p99(DecodeTimes(devices.p99, plan.bits));
  times.layer_us = run.lane.layer_us + decode.layer_us;
  times.layer_p99_us = devices.p99.LayerUs(plan.width).value_or(0) + decode_p99.layer_us;
  const double last_us = run.lane.last_us + decode.last_us;
  if (last_us != times.layer_us) {
    times.last_layer_us = UnlessZero(last_us);
    times.last_layer_p99_us =
        UnlessZero(devices.p99.LastLayerUs(plan.width).value_or(0) + decode_p99.last_us);
  }
  times.head_us = fixed.head_us;
  times.head_io_us = run.lane.words.io_us();
  times.stall_us = StallOf(run, cold.start_us, latency_us);
  cold.resident_us.resize(plan.layers.size());  // the head's part goes
  times.layer_io_us = std::move(cold.resident_us);
  for (const StreamedShard& shard : run.streamed)
    times.layer_io_us[shard.position] += shard.load_us;
  return times;
}

Staging StagingNeed::Within(std::optional<uint64_t> said_bytes, uint64_t held_bytes,
                            std::optional<uint64_t> memory_bytes) const {
  Staging staging{said_bytes ? std::max(least, *said_bytes) : enough, true};
  if (!memory_bytes) return staging;
  staging.fits = held_bytes <= *memory_bytes && least <= *memory_bytes - held_bytes;
  staging.bytes = staging.fits ? std::min(staging.bytes, *memory_bytes - held_bytes) : least;
  return staging;
}

void StagingNeed::Include(const StagingNeed& other) {
  least = std::max(least, other.least);
  enough = std::max(enough, other.enough);
}

StagingNeed StagingOf(std::span<const PlannedRun> runs, const DeviceProfile& profile) {
  StagingNeed need = AllOf(runs.front());
  // Nothing is computed, and freed, before all is there.
  if (runs.front().serial) return {need.enough, need.enough};
  const uint64_t read_bytes = profile.read_bytes != 0 ? profile.read_bytes : kUsualReadBytes;
  uint64_t undelayed = 0;
  for (const PlannedRun& run : runs) undelayed = std::max(undelayed, LeastUndelayed(run, need));
  const uint32_t agents = runs.front().agents.count();
  const uint32_t in_flight =
      agents > 0 ? agents : ReadsInFlight(std::max(profile.read_depth, 1u), profile.read_streams);
  const uint64_t ring_bytes =
      std::max(read_bytes * in_flight, LargestRead(runs.front(), read_bytes));
  need.enough = std::min(need.enough, AddSaturated(undelayed, ring_bytes));
  return need;
}

TurnReads ReadsOf(const CheckedInput& input, const DeviceModel& device, const PlanCore& plan,
                  const PlanTurn& turn) {
  // The device has load times, or there would be no plan.
  const ShardCosts all = *ShardCosts::Make(input->catalog, device);
  const ShardCosts missing = all.Holding(turn.preload, input->catalog.block_bytes, device);
  TurnReads turn_reads;
  turn_reads.reads.reserve(plan.layers.size() * plan.width);
  turn_reads.all_io_us.resize(plan.layers.size());
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    for (uint32_t i = 0; i < plan.width; ++i) {
      const size_t level = all.LevelOf(turn.bits.At(k, i)).value_or(0);
      const ShardAtBits shard{plan.Id(k, i), turn.bits.At(k, i)};
      turn_reads.all_io_us[k] += all.load_us(shard.id, level);
      const uint64_t bytes = missing.bytes(shard.id, level);
      if (bytes != 0)
        turn_reads.reads.push_back({k, bytes, missing.load_us(shard.id, level), shard});
    }
  }
  return turn_reads;
}

uint64_t OverhangOf(const CheckedInput& input, const DeviceModel& device, const PlanCore& plan,
                    const PlanTurn& turn, const PlanTurn* next) {
  std::set<ShardId> stays;
  for (const ShardAtBits& shard : turn.preload) stays.insert(shard.id);
  if (next != nullptr) {
    for (const ShardAtBits& shard : next->preload) stays.insert(shard.id);
  }
  uint64_t overhang = 0;
  for (const StreamedShard& read : ReadsOf(input, device, plan, turn).reads) {
    if (stays.contains(read.shard.id)) overhang += read.bytes;
  }
  return overhang;
}

uint64_t TurnOverhang(const CheckedInput& input, const DeviceModel& device, const Plan& plan) {
  uint64_t most = 0;
  for (size_t t = 1; t < plan.turns.size(); ++t) {
    const PlanTurn* next = t + 1 < plan.turns.size() ? &plan.turns[t + 1] : nullptr;
    most = std::max(most, OverhangOf(input, device, plan, plan.turns[t], next));
  }
  return most;
}

}  // namespace sti
