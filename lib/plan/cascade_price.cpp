#include "plan/cascade_price.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "plan/budget.h"
#include "plan/row_times.h"
#include "plan/shard_room.h"
#include "plan/text.h"
#include "types/bits.h"

namespace sti {
namespace {

/// Shards in memory. Full fidelity and planes share nothing, so a shard may be held as both.
struct HeldShards {
  std::map<ShardId, uint32_t> planes;  ///< the most bits that anyone has read
  std::set<ShardId> full;

  void Add(const ShardAtBits& shard) {
    if (shard.bits == kFullBits) {
      full.insert(shard.id);
    } else {
      planes[shard.id] = std::max(planes[shard.id], shard.bits);
    }
  }
};

template <typename Visit>
void ForEachShard(const PlanCore& level, const Visit& visit) {
  for (uint32_t k = 0; k < level.layers.size(); ++k) {
    for (uint32_t i = 0; i < level.width; ++i)
      visit(ShardAtBits{level.Id(k, i), level.bits.At(k, i)});
  }
}

/// Returns the run of a level that finds `held` in memory; one behind the first has its rows too.
PlannedRun RunOfLevel(const CheckedInput& input, const DeviceModel& device, const PlanCore& level,
                      const HeldShards& held, bool first) {
  PlanTurn turn;
  turn.bits = level.bits;
  ForEachShard(level, [&](const ShardAtBits& shard) {
    const auto planes = held.planes.find(shard.id);
    if (shard.bits == kFullBits ? held.full.contains(shard.id) : planes != held.planes.end())
      turn.preload.push_back({shard.id, shard.bits == kFullBits ? kFullBits : planes->second});
  });
  PlannedRun run = RunOf(input, device, level, &turn);
  if (first) return run;
  run.lane.fixed.embed_io_us = 0;
  run.wake_us = 0;
  return run;
}

uint64_t BytesRead(const PlannedRun& run) {
  uint64_t bytes = 0;
  for (const StreamedShard& shard : run.streamed) bytes += shard.bytes;
  return bytes;
}

/// The runs of all levels, in order, at the median and at the 99th percentile.
struct LevelRuns {
  std::vector<PlannedRun> median;
  std::vector<PlannedRun> p99;
};

/// Fills in staging and peak, and whether the memory does.
void FillMemory(const CheckedInput& input, const Judging& judging, const Plan& plan,
                const LevelRuns& runs, CascadeFigures* figures) {
  uint64_t held = AddSaturated(input->catalog.BytesOfAll(plan.cascade->levels.front().plan.preload),
                               RowBytes(input, plan.words.size()));
  const size_t last = runs.median.size() - 1;
  for (size_t i = 0; i < last; ++i) held = AddSaturated(held, BytesRead(runs.median[i]));
  const std::array<PlannedRun, 2> last_runs{runs.median[last], runs.p99[last]};
  const Staging staging =
      StagingOf(last_runs, input->profile)
          .Within(plan.staging_bytes, held, ShardMemory(input->memory, judging, plan.Extent()));
  figures->staging_bytes = staging.bytes;
  figures->fits_memory = staging.fits;
  figures->peak_bytes = AddSaturated(BytesBeforeShards(input->memory, plan.Extent()),
                                     AddSaturated(held, staging.bytes));
}

/// Returns the figures of a level's own run at the median and at the 99th percentile.
CascadeLevelFigures FiguresOf(const CheckedInput& input, const DeviceModels& devices,
                              const PlanCore& level, const PlannedRun& median,
                              const PlannedRun& p99) {
  CascadeLevelFigures figures;
  figures.latency_us = LatencyOf(median, std::nullopt);
  figures.p99_us = LatencyOf(p99, std::nullopt);
  figures.times = TimesOf(input, devices, level, median, figures.latency_us);
  figures.times.embed_io_us = median.lane.fixed.embed_io_us;
  const PlannedRun& deciding = devices.risk == Risk::kP99 ? p99 : median;
  const ComputeLane& lane = deciding.lane;
  const double slack_us = level.target_us ? *level.target_us - lane.compute_us() : 0;
  figures.aib_us =
      ComputeAibs(deciding.bonus_us + deciding.wake_us, slack_us, lane, deciding.all_io_us);
  return figures;
}

}  // namespace

std::vector<PlannedRun> RunsOfLevels(const CheckedInput& input, const DeviceModel& device,
                                     const Plan& plan) {
  std::vector<const PlanCore*> levels;
  for (const CascadeLevel& level : plan.cascade->levels) levels.push_back(&level.plan);
  levels.push_back(&plan);
  HeldShards held;
  for (const ShardAtBits& shard : levels.front()->preload) held.Add(shard);
  std::vector<PlannedRun> runs;
  for (const PlanCore* level : levels) {
    runs.push_back(RunOfLevel(input, device, *level, held, runs.empty()));
    ForEachShard(*level, [&](const ShardAtBits& shard) { held.Add(shard); });
  }
  return runs;
}

uint64_t LargestLayerBytes(const CheckedInput& input, const DeviceModel& device, const Plan& plan) {
  const std::array<PlannedRun, 1> last{RunsOfLevels(input, device, plan).back()};
  return StagingOf(last, input->profile).least;
}

CascadeFigures PriceCascade(const CheckedInput& input, const Judging& judging,
                            const DeviceModels& devices, const Plan& plan) {
  const LevelRuns runs{RunsOfLevels(input, devices.median, plan),
                       RunsOfLevels(input, devices.p99, plan)};
  CascadeFigures figures;
  FillMemory(input, judging, plan, runs, &figures);
  std::optional<uint64_t> staging;
  if (figures.fits_memory) staging = figures.staging_bytes;
  double goes_on = 1;
  double path_us = 0;
  for (size_t i = 0; i < runs.median.size(); ++i) {
    const bool last = i + 1 == runs.median.size();
    // Reads of levels before the last go where they stay, so none of them waits for staging.
    const std::optional<uint64_t> room = last ? staging : std::nullopt;
    path_us += LatencyOf(runs.median[i], room);
    figures.worst_path_us += LatencyOf(runs.p99[i], room);
    figures.path_us.push_back(path_us);
    const double returned = last ? goes_on : plan.cascade->return_share[i];
    figures.mean_us += returned * path_us;
    goes_on -= returned;
    if (i > 0) figures.upgrade_bytes.push_back(BytesRead(runs.median[i]));
    if (last) continue;
    figures.levels.push_back(
        FiguresOf(input, devices, plan.cascade->levels[i].plan, runs.median[i], runs.p99[i]));
  }
  figures.deciding_us = devices.risk == Risk::kP99 ? figures.worst_path_us : path_us;
  if (!figures.fits_memory) {
    figures.problem = "needs " + std::to_string(figures.peak_bytes) + " bytes of memory";
  } else if (plan.target_us && figures.deciding_us > *plan.target_us + kTimeTolerance_us) {
    figures.problem =
        "takes " + Ms(figures.deciding_us) + " of " + Ms(*plan.target_us) + " through all levels";
  }
  return figures;
}

void FillCascade(const CascadeFigures& figures, Plan* plan) {
  PlanCascade& cascade = *plan->cascade;
  cascade.path_us = figures.path_us;
  cascade.mean_us = figures.mean_us;
  cascade.worst_path_us = figures.worst_path_us;
  for (size_t i = 0; i < cascade.levels.size(); ++i) {
    cascade.levels[i].upgrade_bytes = figures.upgrade_bytes[i];
    const CascadeLevelFigures& own = figures.levels[i];
    PlanCore& level = cascade.levels[i].plan;
    level.predicted_latency_us = own.latency_us;
    level.predicted_p99_us = own.p99_us;
    level.aib_us = own.aib_us;
    level.times = own.times;
  }
  plan->predicted_peak_bytes = std::max(plan->predicted_peak_bytes, figures.peak_bytes);
  plan->meets_target = plan->meets_target && figures.problem.empty();
}

}  // namespace sti
