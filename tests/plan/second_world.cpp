#include "second_world.h"

#include <algorithm>
#include <numeric>

#include "random_world.h"

namespace sti::test {
namespace {

constexpr uint64_t kBlock = 4096;
/// Times are multiples of this one, so that a guarantee's margin of a millisecond is no more than a
/// part of them.
constexpr double kUnit_us = 64;

double Units(Random& random, uint32_t most) { return kUnit_us * random.Below(most); }

/// Layers of a depth map that leaves out any of them.
DepthMap AnyDepths(Random& random, uint32_t layers) {
  std::vector<uint32_t> row(layers);
  std::iota(row.begin(), row.end(), 0U);
  DepthMap map(layers);
  for (uint32_t depth = layers; depth > 0; --depth) {
    map[depth - 1] = row;
    row.erase(row.begin() + random.Below(depth));
  }
  return map;
}

}  // namespace

SecondWorld::SecondWorld(Random& random)
    : world(RandomWorld(random, 5)), asked(Asked(random.Below(uint32_t(Asked::kCount)))) {
  world.info.depth_layers = AnyDepths(random, world.info.shape.layers);
  if (random.Below(4) == 0) world.info.min_width = 1 + random.Below(world.info.shape.width);
  Sizes(random);
  Draw(random);
}

SecondWorld::SecondWorld(Random& random, World stored)
    : world(std::move(stored)), asked(Asked(random.Below(uint32_t(Asked::kCount)))) {
  Draw(random);
}

void SecondWorld::Draw(Random& random) {
  if (random.Below(2) == 0) {
    world.importance = {};
    world.MeasureSubmodels();
    for (SubmodelScore& score : world.importance.submodels)
      score.accuracy = std::min(score.accuracy, 1.0);
  }
  Layers(random);
  Reads(random);
  Fixed(random);
  if (random.Below(4) == 0) Series(random);
  if (random.Below(3) == 0) Words(random);
  if (random.Below(2) == 0) Gains(random);
  if (asked == Asked::kCascade) Cascades(random);
  if (asked == Asked::kCold) Cold(random);
  if (random.Below(2) == 0) world.common_words = {4, 8, 1};
  world.fallback_token_bytes = random.Below(3) * 16;
  world.profile.process_bytes = random.Below(3) * 100000;
  world.profile.threads = random.Below(4);
  world.profile.read_bytes = uint32_t(kBlock) * random.Below(6);
  world.profile.read_depth = random.Below(3);
  Ask(random);
}

/// Sizes in blocks, which differ from layer to layer.
void SecondWorld::Sizes(Random& random) {
  ShardCatalog& catalog = world.catalog;
  const size_t levels = catalog.bits.size();
  for (uint32_t layer = 0; layer < catalog.layers; ++layer) {
    const uint64_t more = random.Below(6);
    for (size_t at = 0; at < catalog.width * levels; ++at) {
      uint64_t& bytes = catalog.read_bytes[layer * catalog.width * levels + at];
      bytes = kBlock * (bytes / 4 + more);
    }
  }
}

/// Times by bits, as RandomWorld has them, or by bytes.
void SecondWorld::Reads(Random& random) {
  std::vector<IoSample>& io = world.profile.io;
  if (asked != Asked::kCold && random.Below(2) == 0) {
    double late_us = 0;
    for (IoSample& sample : io) {
      late_us += Units(random, 3);
      sample = {0, sample.bits, kUnit_us * sample.load_us, kUnit_us * sample.load_us + late_us};
    }
    return;
  }
  io.clear();
  double time_us = kUnit_us * (1 + random.Below(8));
  double late_us = 0;
  uint64_t blocks = 0;
  for (uint32_t left = 1 + random.Below(4); left > 0; --left) {
    const uint64_t more = 1 + random.Below(8);
    blocks += more;
    time_us += Units(random, 4) * double(more);
    late_us += Units(random, 3);
    io.push_back({kBlock * blocks, 0, time_us, random.Below(3) == 0 ? 0 : time_us + late_us});
  }
  // Where one 99th percentile was not measured, a longer read may not seem quicker than a shorter.
  double most_us = 0;
  for (IoSample& sample : io) {
    most_us = std::max({most_us, sample.load_us, sample.p99_us});
    sample.p99_us = most_us;
  }
}

void SecondWorld::Layers(Random& random) {
  const bool has_last = random.Below(2) == 0;
  const bool has_clocks = asked == Asked::kClocks || random.Below(4) == 0;
  const bool has_p99 = random.Below(3) != 0;
  std::vector<uint32_t> lengths = {128};
  if (asked == Asked::kLengths || random.Below(2) == 0) lengths = {32, 64, 128};
  const double begin_us = Units(random, 6);
  const double slice_us = kUnit_us * (1 + random.Below(12));
  world.profile.compute.clear();
  for (const uint64_t slower :
       has_clocks ? std::vector<uint64_t>{1, 2} : std::vector<uint64_t>{1}) {
    for (const uint32_t length : lengths) {
      for (uint32_t m = 1; m <= world.info.shape.width; ++m) {
        const double times = double(slower) * (length / 32.0);
        ComputeSample sample{length, m, (begin_us + slice_us * m) * times, 0, 0, 0, 0};
        if (has_clocks) sample.freq = 2000000 / slower;
        if (has_p99) sample.p99_us = sample.layer_us + times * kUnit_us * m;
        if (has_last) sample.last_us = sample.layer_us / 2 + times * m;
        if (has_last && has_p99) sample.last_p99_us = sample.last_us + times * kUnit_us * m;
        world.profile.compute.push_back(sample);
      }
    }
  }
  if (random.Below(2) == 0) return;
  const auto most = uint32_t(std::min(LeastSliceUs(world.profile.compute) - 1, 3 * kUnit_us));
  for (const uint32_t bits : {2, 3, 5, 32}) {
    for (const uint64_t freq :
         has_clocks ? std::vector<uint64_t>{1000000, 2000000} : std::vector<uint64_t>{0})
      world.profile.decode.push_back({bits, double(random.Below(2 * most + 1)) - most, freq});
  }
}

void SecondWorld::Fixed(Random& random) {
  world.profile.fixed.clear();
  if (random.Below(8) == 0) return;
  FixedSample fixed;
  fixed.embed_us = Units(random, 4);
  fixed.embed_io_us = Units(random, 20);
  fixed.head_us = Units(random, 4);
  const double late_us = random.Below(2) * kUnit_us;
  for (const uint32_t length : {32, 64, 128}) {
    fixed.length = length;
    if (late_us > 0) {
      fixed.embed_p99_us = fixed.embed_us + late_us;
      fixed.embed_io_p99_us = fixed.embed_io_us + 2 * late_us;
      fixed.head_p99_us = fixed.head_us + late_us;
    }
    world.profile.fixed.push_back(fixed);
    fixed.embed_us += Units(random, 3);
    fixed.embed_io_us += Units(random, 20);
  }
}

void SecondWorld::Series(Random& random) {
  for (auto* series : {&world.profile.io_series, &world.profile.compute_series}) {
    double median_us = kUnit_us * (1 + random.Below(10));
    double ratio = 2;
    for (uint32_t left = 1 + random.Below(3); left > 0; --left) {
      series->push_back({median_us, median_us * ratio});
      median_us *= 2 + random.Below(6);
      ratio -= 0.25 * random.Below(2);
    }
  }
}

/// Words that were counted, for texts of two lengths.
void SecondWorld::Words(Random& random) {
  world.use_importance = true;
  world.row_bytes = 16 + random.Below(2000);
  WordUse& use = world.importance.word_use;
  use.words = {9, 5, 7, 3, 11, 2};
  for (const uint32_t length : {48, 128}) {
    double share = 1;
    for (const uint32_t words : {0, 2, 5}) {
      share -= 0.125 * random.Below(3);
      RowReads reads{length, words, share, std::min(1.0, share + 0.125 * random.Below(3))};
      if (length == 48 && random.Below(2) == 0)
        reads.rooms = {{64, share * 0.75, reads.p99_share * 0.75}, {128, share * 0.5, share * 0.5}};
      use.reads.push_back(reads);
    }
  }
}

/// Gains of shards, some of which are losses.
void SecondWorld::Gains(Random& random) {
  Importance& importance = world.importance;
  if (importance.submodels.empty()) return;
  importance.metric = random.Below(2) == 0 ? Metric::kLoss : Metric::kKl;
  importance.gain_bits = {4, 32};
  for (size_t at = 0; at < importance.scores.size() * 2; ++at)
    importance.gains.push_back((double(random.Below(200)) - 60) / 1024);  // sums are exact
}

/// Levels that were measured one after another: pairs and triples, with pruning and ensembles.
void SecondWorld::Cascades(Random& random) {
  const ModelShape& shape = world.info.shape;
  Importance& importance = world.importance;
  world.use_importance = true;
  importance.metric = Metric::kAccuracy;
  std::vector<CascadeLevelScore>& levels = importance.cascade_levels;
  for (uint32_t left = 3 + random.Below(2); left > 0 || levels.size() < 2; left -= left > 0) {
    CascadeLevelScore level;
    level.depth = 1 + random.Below(shape.layers);
    level.width = world.info.min_width + random.Below(shape.width - world.info.min_width + 1);
    level.bits = world.catalog.bits[random.Below(6)];
    level.temperature = 0.5 + 0.25 * random.Below(6);
    const bool known = std::ranges::any_of(levels, [&](const CascadeLevelScore& one) {
      return one.depth == level.depth && one.width == level.width && one.bits == level.bits;
    });
    if (!known) levels.push_back(level);
  }
  const auto key = [](const CascadeLevelScore& level) {
    return std::tuple(level.depth * level.width, level.bits, level.depth);
  };
  std::ranges::sort(levels, {}, key);
  double accuracy = 0.5;
  for (CascadeLevelScore& level : levels) level.accuracy = accuracy += 0.0625;
  const auto add = [&](std::vector<uint32_t> chosen) {
    CascadeScore score{std::move(chosen), 0.25 * random.Below(3), {}};
    const size_t before = score.levels.size() - 1;
    for (const double early : {0.25, 0.5, 0.75}) {
      CascadeCut cut;
      cut.cutoff = 1 - early;
      if (random.Below(3) == 0) cut.slope = 2;
      cut.weights.assign(before, random.Below(2) == 0 ? 1 : 0.75);
      cut.words_left.assign(before, score.alpha == 0 ? 1 : 0.5);
      cut.shares = before == 1 ? std::vector<double>{early, 1 - early}
                               : std::vector<double>{early / 2, early / 2, 1 - early};
      cut.accuracy = levels[score.levels.back()].accuracy - 0.03125 * early;
      cut.accuracies.assign(before + 1, cut.accuracy);
      score.cuts.push_back(cut);
    }
    importance.cascades.push_back(score);
  };
  for (uint32_t i = 0; i < levels.size(); ++i) {
    for (uint32_t j = i + 1; j < levels.size(); ++j) {
      if (random.Below(2) == 0 || j == 1) add({i, j});
      for (uint32_t k = j + 1; k < levels.size(); ++k) add({i, j, k});
    }
  }
}

/// Parts that a process reads once, some of them empty.
void SecondWorld::Cold(Random& random) {
  const auto blocks = [&](uint32_t most) { return kBlock * random.Below(most); };
  cold = {blocks(10), blocks(20), blocks(5), blocks(60), {}};
  for (uint32_t layer = 0; layer < world.info.shape.layers; ++layer)
    cold.layers.push_back(blocks(8));
  world.profile.start_us = Units(random, 30);
}

PlanInput SecondWorld::Input() const {
  const PlanInput warm = world.input();
  return {warm.info,        warm.catalog, warm.profile, warm.importance,
          warm.model,       warm.shape,   warm.memory,  asked == Asked::kCold ? &cold : nullptr,
          warm.common_words};
}

namespace {

PlanRequest::Turns TurnsAsked(Random& random, uint64_t preload_bytes) {
  PlanRequest::Turns turns{1 + random.Below(4)};
  if (random.Below(2) == 0) turns.bytes = preload_bytes + kBlock * random.Below(100);
  return turns;
}

}  // namespace

void SecondWorld::Ask(Random& random) {
  constexpr std::array kPlainStrategies = {Strategy::kSti,    Strategy::kStiPaper,
                                           Strategy::kRandom, Strategy::kLoadExec,
                                           Strategy::kStdpl,  Strategy::kPreload};
  const DeviceProfile& profile = world.profile;
  const ModelShape& shape = world.info.shape;
  const double shards = shape.layers * shape.width;
  const double all_us = shape.layers * profile.compute.back().layer_us + Units(random, 30) +
                        shards * profile.io.back().load_us;
  const double share = (1 + random.Below(1000)) / 1000.0;
  request.target_us = kUnit_us * std::ceil(all_us * share * share / kUnit_us + 8);
  request.preload_bytes = random.Below(3) * random.Below(1 + uint32_t(shards) * 8) * kBlock;
  request.length = 128;
  request.judging.risk = random.Below(4) == 0 ? Risk::kMedian : Risk::kP99;
  if (random.Below(4) == 0) request.submodel = {shape.layers, shape.width};
  if (random.Below(4) == 0) request.wake_us = Units(random, 100);
  const bool may_ask_accuracy = asked != Asked::kCascade && asked != Asked::kGuarantee;
  if (may_ask_accuracy && !world.importance.submodels.empty() && random.Below(4) == 0) {
    request.min_accuracy = 0.5 + random.Below(30) / 100.0;
    if (world.importance.metric == Metric::kKl) request.full_accuracy = 0.9;
    if (random.Below(2) == 0) request.target_us.reset();
  }
  switch (asked) {
    case Asked::kLengths:
      if (random.Below(3) == 0) {
        request.length = 0;  // every profiled one
        break;
      }
      request.further_lengths = {64};
      if (random.Below(2) == 0) request.further_lengths.push_back(32);
      break;
    case Asked::kClocks:
      request.clocks = {2000000, 1000000};
      if (random.Below(2) == 0) request.clocks = {1000000};
      break;
    case Asked::kTurns:
      request.mode = TurnsAsked(random, request.preload_bytes);
      break;
    case Asked::kCascade:
      request.mode = CascadeWish{};
      request.submodel.reset();
      request.min_accuracy = 0.5;
      request.target_us = *request.target_us * 2;
      if (random.Below(4) == 0) request.strategy = Strategy::kTabi;
      break;
    case Asked::kCold:
      request.mode = PlanRequest::Cold{};
      request.preload_bytes = 0;
      request.wake_us.reset();
      if (request.target_us) request.target_us = *request.target_us + 20000;
      if (random.Below(4) == 0) request.further_lengths = {32};
      break;
    case Asked::kGuarantee:
      request.mode = PlanRequest::Guaranteed{};
      request.target_us = *request.target_us + 1500;
      request.preload_bytes += kBlock * (10 + random.Below(200));
      if (random.Below(2) == 0) request.further_lengths = {32};
      break;
    default:
      if (!request.min_accuracy)
        request.strategy = kPlainStrategies[random.Below(kPlainStrategies.size())];
      if (DelayModelFor(request.strategy) != DelayModel::kBudgets) request.wake_us.reset();
      if (request.submodel && random.Below(2) == 0) request.target_us.reset();
      if (random.Below(4) == 0) request.uniform_bits = world.catalog.bits[random.Below(6)];
  }
}

std::string SecondWorld::Name() const {
  constexpr std::array kNames = {"plain",   "lengths",   "clocks", "turns",
                                 "cascade", "guarantee", "cold"};
  std::string name = kNames[size_t(asked)];
  name += " " + std::string(NameOf(request.strategy));
  name += " " + NameOf(Submodel{world.info.shape.layers, world.info.shape.width});
  if (request.target_us) name += " T " + std::to_string(*request.target_us);
  name += " S " + std::to_string(request.preload_bytes);
  if (request.wake_us > 0) name += " wake " + std::to_string(*request.wake_us);
  if (!world.profile.io_series.empty()) name += " series";
  if (!world.profile.decode.empty()) name += " decode";
  if (world.row_bytes > 0) name += " words";
  if (world.profile.io[0].bytes > 0) name += " by-bytes";
  if (request.judging.risk == Risk::kMedian) name += " median";
  if (request.judging.memory_bytes)
    name += " memory " + std::to_string(*request.judging.memory_bytes);
  return name;
}

}  // namespace sti::test
