#include "second_figures.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace sti::test {
namespace {

std::string SaidAs(const std::vector<ShardAtBits>& shards) {
  std::ostringstream text;
  for (const ShardAtBits& shard : shards)
    text << " " << shard.id.layer << "." << shard.id.slice << "@" << shard.bits;
  return text.str();
}

/// Returns the time of a layer with these bits.
double LayerUs(const SecondDevice& device, const SecondPass& pass, uint32_t k) {
  const bool last = k + 1 == pass.plan->layers.size();
  double time_us = device.LayerUs(pass.plan->width, last);
  for (const uint32_t bits : pass.bits->Row(k)) time_us += device.ExtraUs(bits);
  return time_us;
}

/// Returns the read of a shard beside what is held of it.
SecondLoad LoadOf(const PlanInput& input, const SecondDevice& device, const SecondPass& pass,
                  uint32_t k, uint32_t i) {
  const ShardId id = pass.plan->Id(k, i);
  const uint32_t bits = pass.bits->At(k, i);
  const uint32_t held = pass.held.BitsOf(id, bits);
  const uint64_t bytes = SecondMissing(input.catalog, id, held, bits);
  if (bytes == 0) return {k, 0, 0};
  return {k, bytes,
          held != 0 ? device.LoadMissingUs(held, bits, bytes) : device.LoadUs(bits, bytes)};
}

SecondRun RunOf(const PlanInput& input, const SecondDevice& device, const SecondPass& pass) {
  SecondRun run;
  run.rows_us = pass.reads_rows ? device.RowsUs() : 0;
  if (pass.plan->cold) {
    const auto part_us = [&](uint64_t bytes) { return bytes > 0 ? device.LoadUs(0, bytes) : 0; };
    run.start_us = input.profile.start_us;
    run.open_us = part_us(input.cold->index) + part_us(input.cold->vocabulary);
    run.rows_us += part_us(input.cold->embedding);
  }
  run.embed_us = device.EmbedUs();
  run.head_us = device.HeadUs();
  run.wake_us = pass.wake_us;
  run.serial = pass.plan->strategy == Strategy::kLoadExec;
  const ColdBytes none{0, 0, 0, 0, std::vector<uint64_t>(input.catalog.layers)};
  const ColdBytes& parts = pass.plan->cold ? *input.cold : none;
  const auto add_part = [&](uint32_t layer, uint64_t bytes) {
    if (bytes > 0) run.loads.push_back({layer, bytes, device.LoadUs(0, bytes)});
  };
  for (uint32_t k = 0; k < pass.plan->layers.size(); ++k) {
    run.layers_us.push_back(LayerUs(device, pass, k));
    add_part(k, parts.layers[pass.plan->layers[k]]);
    for (uint32_t i = 0; i < pass.plan->width; ++i) {
      const SecondLoad load = LoadOf(input, device, pass, k, i);
      if (load.bytes > 0) run.loads.push_back(load);
    }
  }
  add_part(static_cast<uint32_t>(pass.plan->layers.size()), parts.head);
  if (pass.plan->cold) run.rows_us += run.start_us + run.open_us;
  return run;
}

/// AIB(0) = slack - rows + what is in memory + lead time; AIB(k) = AIB(k-1) + T_comp; each shard
/// takes its load time from its own layer's budget and all later ones. `run` reads what is missing,
/// `whole` what would be read if nothing were in memory.
std::vector<double> AibsOf(const SecondRun& run, const SecondRun& whole, double slack_us) {
  double left_us = slack_us - run.rows_us + run.wake_us;
  for (const SecondLoad& load : whole.loads) left_us += load.load_us;
  for (const SecondLoad& load : run.loads) left_us -= load.load_us;
  double head_us = 0;
  for (const SecondLoad& load : run.loads) {
    if (load.layer == run.layers_us.size()) head_us += load.load_us;
  }
  std::vector<double> aib_us;
  for (uint32_t k = 0; k < run.layers_us.size(); ++k) {
    if (k > 0) left_us += run.layers_us[k - 1];
    for (const SecondLoad& load : whole.loads) {
      if (load.layer == k) left_us -= load.load_us;
    }
    // The last budget pays for the head's part too, as far as its layer's compute does not hide it.
    if (k + 1 == run.layers_us.size()) left_us -= std::max(0.0, head_us - run.layers_us[k]);
    aib_us.push_back(left_us);
  }
  return aib_us;
}

PlanTimes TimesOf(const SecondRun& median, const SecondRun& p99) {
  PlanTimes times;
  times.start_us = median.start_us;
  times.open_io_us = median.open_us;
  times.embed_io_us = median.rows_us - median.start_us - median.open_us;
  times.embed_us = median.embed_us;
  times.head_us = median.head_us;
  times.layer_io_us.resize(median.layers_us.size());
  for (const SecondLoad& load : median.loads) {
    if (load.layer < median.layers_us.size()) times.layer_io_us[load.layer] += load.load_us;
  }
  // Layers differ by their bits: each but the last is said to take the mean of them.
  const auto mean_us = [](const std::vector<double>& layers_us) {
    double sum_us = 0;
    for (size_t k = 0; k + 1 < layers_us.size(); ++k) sum_us += layers_us[k];
    return layers_us.size() > 1 ? sum_us / static_cast<double>(layers_us.size() - 1) : layers_us[0];
  };
  times.layer_us = mean_us(median.layers_us);
  times.layer_p99_us = mean_us(p99.layers_us);
  times.last_layer_us = median.layers_us.back();
  times.last_layer_p99_us = p99.layers_us.back();
  return times;
}

}  // namespace

void SecondNotes::Bytes(const std::string& name, uint64_t got, uint64_t wanted) {
  if (got == wanted) return;
  lines_.push_back(name + " is " + std::to_string(got) + ", and " + std::to_string(wanted) +
                   " anew");
}

void SecondNotes::Time(const std::string& name, double got, double wanted) {
  if (std::abs(got - wanted) <= kSameTime_us) return;
  lines_.push_back(name + " is " + std::to_string(got) + ", and " + std::to_string(wanted) +
                   " anew");
}

void SecondNotes::Times(const std::string& name, std::span<const double> got,
                        std::span<const double> wanted) {
  Bytes(name + ", its entries,", got.size(), wanted.size());
  for (size_t i = 0; i < std::min(got.size(), wanted.size()); ++i)
    Time(name + "[" + std::to_string(i) + "]", got[i], wanted[i]);
}

void SecondNotes::Shards(const std::string& name, const std::vector<ShardAtBits>& got,
                         const std::vector<ShardAtBits>& wanted) {
  if (got != wanted) lines_.push_back(name + " is" + SaidAs(got) + ", and" + SaidAs(wanted));
}

void SecondNotes::That(const std::string& name, bool holds) {
  if (!holds) lines_.push_back(name);
}

void SecondHeld::Put(const ShardAtBits& shard) {
  There& there = there_[shard.id];
  if (shard.bits == 32) {
    there.full = true;
  } else {
    there.planes = std::max(there.planes, shard.bits);
  }
}

void SecondHeld::Put(std::span<const ShardAtBits> shards) {
  for (const ShardAtBits& shard : shards) Put(shard);
}

uint32_t SecondHeld::BitsOf(ShardId id, uint32_t wanted) const {
  const auto found = there_.find(id);
  if (found == there_.end()) return 0;
  if (wanted == 32) return found->second.full ? 32 : 0;
  return found->second.planes;
}

uint64_t SecondBytes(const ShardCatalog& catalog, std::span<const ShardAtBits> shards) {
  uint64_t bytes = 0;
  for (const ShardAtBits& shard : shards) {
    for (size_t level = 0; level < catalog.bits.size(); ++level) {
      if (catalog.bits[level] != shard.bits) continue;
      const size_t index = size_t{shard.id.layer} * catalog.width + shard.id.slice;
      bytes += catalog.read_bytes[index * catalog.bits.size() + level];
    }
  }
  return bytes;
}

uint64_t SecondMissing(const ShardCatalog& catalog, ShardId id, uint32_t held, uint32_t bits) {
  const ShardAtBits wanted{id, bits};
  if (held >= bits) return 0;
  if (held == 0) return SecondBytes(catalog, {&wanted, 1});
  const ShardAtBits there{id, held};
  return SecondBytes(catalog, {&wanted, 1}) - SecondBytes(catalog, {&there, 1}) +
         catalog.block_bytes;
}

SecondTimes SecondTimesOf(const PlanInput& input, const PlanRequest& request,
                          const SecondPass& pass, std::optional<double> target_us) {
  const auto device = [&](Risk risk, double run_us) {
    return SecondDevice(input.profile, pass.plan->length, pass.plan->freq.value_or(0), risk, run_us,
                        pass.share);
  };
  SecondTimes figures;
  const SecondDevice median = device(Risk::kMedian, 0);
  figures.median = RunOf(input, median, pass);
  // Without a target a run is as long as its own median.
  const double run_us = target_us.value_or(*SecondPlay(figures.median, std::nullopt));
  const SecondDevice p99 = device(Risk::kP99, run_us);
  figures.p99 = RunOf(input, p99, pass);
  figures.times = TimesOf(figures.median, figures.p99);
  const bool by_median = request.judging.risk == Risk::kMedian;
  const SecondRun& deciding = by_median ? figures.median : figures.p99;
  figures.slack_us = target_us ? *target_us - deciding.ComputeUs() : 0;
  SecondPass nothing_held = pass;
  nothing_held.held = {};
  const SecondRun whole = RunOf(input, by_median ? median : p99, nothing_held);
  figures.aib_us = AibsOf(deciding, whole, figures.slack_us);
  figures.streamed_aib_us = AibsOf(deciding, deciding, figures.slack_us);
  figures.read_bytes = figures.median.AllBytes();
  return figures;
}

std::vector<ShardAtBits> SecondShardsOf(const SecondPass& pass) {
  std::vector<ShardAtBits> shards;
  for (uint32_t k = 0; k < pass.plan->layers.size(); ++k) {
    for (uint32_t i = 0; i < pass.plan->width; ++i)
      shards.push_back({pass.plan->Id(k, i), pass.bits->At(k, i)});
  }
  return shards;
}

uint64_t SecondLostBytes(const DeviceProfile& profile, const SecondRun& run) {
  const uint64_t read_bytes = profile.read_bytes == 0 ? 256 << 10 : profile.read_bytes;
  const uint64_t depth = profile.read_depth == 0 ? 1 : profile.read_depth;
  return std::max(read_bytes * depth, run.LargestBytes());
}

uint64_t SecondBeforeShards(const PlanInput& input, uint32_t tokens, uint32_t width) {
  constexpr uint64_t kUnknownProcess = 8 << 20;
  return input.memory.process.value_or(kUnknownProcess) + input.memory.resident +
         input.memory.working({tokens, width});
}

}  // namespace sti::test
