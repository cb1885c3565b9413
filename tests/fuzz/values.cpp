// Fuzzers of bytes seldom get past the rules of a small file: they change one number of a profile,
// and it is refused for that. These change the numbers and lists of sound values, one by one as the
// input says, write them with right checksums, and read them. What a reader takes, a planner must
// plan with, and what it plans, a reader must take; a plan that a model can run must give labels.
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/plan_inputs.h"
#include "api/session.h"
#include "base/little_endian.h"
#include "format/framed_file.h"
#include "format/importance_file.h"
#include "format/plan_file.h"
#include "format/profile_file.h"
#include "fuzz/codec.h"
#include "fuzz/numbers.h"
#include "fuzz/targets.h"
#include "network/tensors.h"
#include "plan/planner.h"
#include "plan/profile_doubts.h"
#include "support/forged_container.h"
#include "text/tokenizer.h"
#include "types/plan_check.h"

namespace sti::fuzz {
namespace {

void Change(Numbers& numbers, double& number) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  constexpr double kOften[] = {0,    -0.0, 1,      -1,    0.5,   1e-9,  1e6,       1e9,   1.1e9,
                               1e15, 1e16, 1e-300, 1e300, 1e308, -1e15, kInfinite, 0.999, 1e-320};
  const auto way = numbers.Take<uint8_t>();
  if (way < 96) {
    number *= 1 + (static_cast<double>(way) - 48) / 64;
  } else if (way < 224) {
    number = kOften[way % std::size(kOften)];
  } else {
    number = numbers.Take<double>();
  }
}

template <typename Number>
void Change(Numbers& numbers, Number& number) {
  number = static_cast<Number>(numbers.Near(static_cast<uint64_t>(number)));
}

void Change(Numbers& numbers, std::string& text) { text = numbers.Text(); }

template <typename Number>
void Change(Numbers& numbers, std::optional<Number>& number) {
  if (numbers.Take<uint8_t>() % 4 == 0) return number.reset();
  if (!number) number.emplace();
  Change(numbers, *number);
}

/// Changes one of these fields, whatever their types.
template <typename... Fields>
void ChangeOne(Numbers& numbers, Fields&... fields) {
  uint64_t left = numbers.Below(sizeof...(fields));
  ((left-- == 0 ? Change(numbers, fields) : void()), ...);
}

/// Changes a list: an entry by `change`, or which entries there are.
template <typename Entry, typename Edit>
void ChangeList(Numbers& numbers, std::vector<Entry>& list, const Edit& change) {
  const auto way = numbers.Take<uint8_t>() % 16;
  if (list.empty()) return list.resize(way % 2);
  Entry& entry = list[numbers.Below(list.size())];
  if (way == 0) return list.clear();
  if (way == 1) return list.pop_back();
  if (way == 2) return list.push_back(Entry(entry));
  if (way == 3) return std::swap(entry, list.front());
  change(entry);
}

template <typename Number>
void ChangeNumbers(Numbers& numbers, std::vector<Number>& list) {
  ChangeList(numbers, list, [&](Number& number) { Change(numbers, number); });
}

/// Says what the container of the planner is: two layers of two slices, and a sound profile of it.
struct World {
  ForgedContainer forged;
  std::unique_ptr<ContainerFile> file;
  DeviceProfile profile;
};

World MakeWorld() {
  TinyModelOptions model;
  model.hidden = 16;
  model.ffn = 32;
  World world{ForgedContainer(model, {}), nullptr, {}};
  auto file = world.forged.Open();
  Require(file.ok(), "a sound container opens");
  world.file = std::make_unique<ContainerFile>(std::move(*file));
  const ModelShape& shape = world.file->index().info.shape;
  DeviceProfile& profile = world.profile;
  profile.io = {{4096, 0, 50, 60}, {16384, 0, 90, 120}, {65536, 0, 200, 300}};
  for (uint32_t width = 1; width <= shape.width; ++width) {
    profile.compute.push_back(
        {8, width, 40.0 * width, 50.0 * width, 0, 30.0 * width, 35.0 * width});
    profile.compute.push_back(
        {16, width, 70.0 * width, 90.0 * width, 0, 50.0 * width, 60.0 * width});
  }
  profile.decode = {{2, -3, 0}, {6, 0, 0}, {32, 2, 0}};
  profile.fixed = {{8, 10, 40, 5, 12, 60, 6}, {16, 15, 60, 5, 16, 90, 6}};
  profile.io_series = {{100, 200}, {1000, 1500}};
  profile.compute_series = {{100, 150}, {2000, 2400}};
  profile.threads = 2;
  profile.cpus = "0-1";
  profile.kernel.name = "native-avx2-fp32";
  profile.read_path = "uring";
  profile.process_bytes = 1 << 20;
  profile.read_bytes = 131072;
  profile.read_depth = 8;
  profile.streams = {{1, 80}, {4, 300}};
  profile.read_streams = 4;
  profile.start_us = 500;
  profile.noise = 0.02;
  profile.thermal = {1000000, 2000000, 40, 50};
  return world;
}

const World& TheWorld() {
  static const World world = MakeWorld();
  return world;
}

sti::Importance SoundImportance() {
  const ContainerIndex& index = TheWorld().file->index();
  sti::Importance importance;
  importance.model = index.model;
  importance.metric = Metric::kAccuracy;
  importance.examples = 100;
  importance.baseline = 0.5;
  importance.layers = index.info.shape.layers;
  importance.width = index.info.shape.width;
  const size_t shards = size_t{importance.layers} * importance.width;
  for (size_t i = 0; i < shards; ++i) {
    importance.scores.push_back(0.5 + static_cast<double>(i) / 64);
    importance.losses.push_back(1 - static_cast<double>(i) / 64);
    importance.errors.push_back(0.01);
  }
  importance.kernel = "native-avx2-fp32";
  importance.gain_bits = {3, 6};
  importance.gains.assign(2 * shards, 0.05);
  for (uint32_t depth = 1; depth <= importance.layers; ++depth) {
    for (uint32_t width = 1; width <= importance.width; ++width) {
      const double share = static_cast<double>(depth * width) / (2 * static_cast<double>(shards));
      importance.submodels.push_back({depth, width, 2, 0.3 + share, 1.5 - share});
      importance.submodels.push_back({depth, width, 6, 0.4 + share, 1.2 - share});
    }
  }
  importance.word_use.words = {5, 3, 7};
  importance.word_use.reads = {{8, 0, 1, 1, {{16, 0.9, 0.95}}}, {8, 2, 0.5, 0.75}, {16, 0, 1, 1}};
  importance.cascade_levels = {
      {1, importance.width, 2, 0.6, 1.5, 1, 0.9, 0.2, 0.1},
      {importance.layers, importance.width, 6, 0.8, 1.2, 0.8, 0.7, 0.1, 0.1}};
  importance.cascades = {{{0, 1},
                          0.25,
                          {{0.8, 4, {0.6}, {0.5, 0.5}, {0.9, 0.7}, 0.8, {0.75}, 0.01},
                           {0.6, {}, {1}, {0.75, 0.25}, {0.8, 0.6}, 0.75, {1}, 0}}}};
  return importance;
}

void EditSamples(Numbers& numbers, DeviceProfile& p) {
  switch (numbers.Take<uint8_t>() % 7) {
    case 0:
      return ChangeList(numbers, p.io, [&](IoSample& s) {
        ChangeOne(numbers, s.bytes, s.bits, s.load_us, s.p99_us);
      });
    case 1:
      return ChangeList(numbers, p.compute, [&](ComputeSample& s) {
        ChangeOne(numbers, s.length, s.width, s.layer_us, s.p99_us, s.freq, s.last_us,
                  s.last_p99_us);
      });
    case 2:
      return ChangeList(numbers, p.decode,
                        [&](DecodeSample& s) { ChangeOne(numbers, s.bits, s.extra_us, s.freq); });
    case 3:
      return ChangeList(numbers, p.fixed, [&](FixedSample& s) {
        ChangeOne(numbers, s.length, s.embed_us, s.embed_io_us, s.head_us, s.embed_p99_us,
                  s.embed_io_p99_us, s.head_p99_us);
      });
    case 4:
      return ChangeList(numbers, p.io_series,
                        [&](SeriesSample& s) { ChangeOne(numbers, s.median_us, s.p99_us); });
    case 5:
      return ChangeList(numbers, p.streams,
                        [&](StreamRate& s) { ChangeOne(numbers, s.streams, s.bytes_per_us); });
    default:
      return ChangeList(numbers, p.compute_series,
                        [&](SeriesSample& s) { ChangeOne(numbers, s.median_us, s.p99_us); });
  }
}

void Edit(Numbers& numbers, DeviceProfile& p) {
  if (numbers.Take<uint8_t>() % 4 != 0) return EditSamples(numbers, p);
  ChangeOne(numbers, p.threads, p.cpus, p.kernel.name, p.read_path, p.machine, p.process_bytes,
            p.read_bytes, p.read_depth, p.read_streams, p.start_us, p.noise, p.thermal.freq_min,
            p.thermal.celsius_before);
}

void EditCascades(Numbers& numbers, sti::Importance& it) {
  if (numbers.Take<uint8_t>() % 3 == 0) {
    return ChangeList(numbers, it.cascade_levels, [&](CascadeLevelScore& s) {
      ChangeOne(numbers, s.depth, s.width, s.bits, s.accuracy, s.temperature, s.nll,
                s.calibrated_nll, s.ece, s.calibrated_ece);
    });
  }
  ChangeList(numbers, it.cascades, [&](CascadeScore& cascade) {
    const auto way = numbers.Take<uint8_t>() % 8;
    if (way == 0) return ChangeNumbers(numbers, cascade.levels);
    if (way == 1) return Change(numbers, cascade.alpha);
    ChangeList(numbers, cascade.cuts, [&](CascadeCut& cut) {
      if (way == 2) return ChangeNumbers(numbers, cut.weights);
      if (way == 3) return ChangeNumbers(numbers, cut.shares);
      if (way == 4) return ChangeNumbers(numbers, cut.accuracies);
      if (way == 5) return ChangeNumbers(numbers, cut.words_left);
      ChangeOne(numbers, cut.cutoff, cut.slope, cut.accuracy, cut.difference_error);
    });
  });
}

void Edit(Numbers& numbers, sti::Importance& it) {
  switch (numbers.Take<uint8_t>() % 10) {
    case 0:
      return ChangeNumbers(numbers, it.scores);
    case 1:
      return ChangeNumbers(numbers, it.losses);
    case 2:
      return ChangeNumbers(numbers, it.errors);
    case 3:
      return ChangeNumbers(numbers, it.gain_bits);
    case 4:
      return ChangeNumbers(numbers, it.gains);
    case 5:
      return ChangeList(numbers, it.submodels, [&](SubmodelScore& s) {
        ChangeOne(numbers, s.depth, s.width, s.bits, s.accuracy, s.loss);
      });
    case 6:
      return ChangeNumbers(numbers, it.word_use.words);
    case 7:
      return ChangeList(numbers, it.word_use.reads, [&](RowReads& reads) {
        if (numbers.Take<uint8_t>() % 2 == 0)
          return ChangeOne(numbers, reads.length, reads.words, reads.share, reads.p99_share);
        ChangeList(numbers, reads.rooms, [&](RowRoom& room) {
          ChangeOne(numbers, room.tokens, room.share, room.p99_share);
        });
      });
    case 8:
      return ChangeOne(numbers, it.metric, it.examples, it.baseline, it.layers, it.width,
                       it.standard_error, it.kernel, it.estimate);
    default:
      return EditCascades(numbers, it);
  }
}

void EditGrid(Numbers& numbers, Grid<uint32_t>& grid) {
  if (!grid.values().empty()) Change(numbers, grid.values()[numbers.Below(grid.values().size())]);
}

void EditQuality(Numbers& numbers, PredictedQuality& quality) {
  ChangeOne(numbers, quality.loss, quality.accuracy, quality.agreement);
}

/// Changes what a plan, a variant or a level says.
void EditAlone(Numbers& numbers, PlanCore& p) {
  switch (numbers.Take<uint8_t>() % 9) {
    case 0:
      return ChangeNumbers(numbers, p.layers);
    case 1:
      return EditGrid(numbers, p.slices);
    case 2:
      return EditGrid(numbers, p.bits);
    case 3:
      return ChangeList(numbers, p.preload, [&](ShardAtBits& s) {
        ChangeOne(numbers, s.id.layer, s.id.slice, s.bits);
      });
    case 4:
      return ChangeNumbers(numbers, p.aib_us);
    case 5:
      return EditQuality(numbers, p.quality);
    case 6:
      if (!p.times) return;
      if (numbers.Take<uint8_t>() % 4 == 0) return ChangeNumbers(numbers, p.times->layer_io_us);
      return ChangeOne(numbers, p.times->start_us, p.times->embed_io_us, p.times->embed_us,
                       p.times->layer_us, p.times->layer_p99_us, p.times->head_us,
                       p.times->stall_us, p.times->last_layer_us, p.times->last_layer_p99_us);
    case 7:
      if (!p.fallback) return;
      if (numbers.Take<uint8_t>() % 4 == 0) return ChangeNumbers(numbers, p.fallback->layers);
      return ChangeOne(numbers, p.fallback->width, p.fallback->bits, p.fallback->bytes,
                       p.fallback->embed_us, p.fallback->layer_us, p.fallback->last_layer_us,
                       p.fallback->head_us, p.fallback->margin_us, p.fallback->cost_bits);
    default:
      return ChangeOne(numbers, p.length, p.width, p.preload_bytes, p.slack_us, p.target_us,
                       p.predicted_latency_us, p.predicted_p99_us, p.predicted_peak_bytes,
                       p.parameter_bytes, p.kernel.name, p.read_path, p.wake_us, p.freq,
                       p.staging_bytes, p.read_bytes, p.read_depth, p.read_streams, p.agents,
                       p.threads, p.cpus, p.row_share, p.row_p99_share);
  }
}

void EditCascade(Numbers& numbers, PlanCascade& cascade) {
  const auto way = numbers.Take<uint8_t>() % 4;
  if (way == 0) return ChangeNumbers(numbers, cascade.return_share);
  if (way == 1) return ChangeNumbers(numbers, cascade.path_us);
  if (way == 2)
    return ChangeOne(numbers, cascade.temperature, cascade.mean_us, cascade.worst_path_us);
  ChangeList(numbers, cascade.levels, [&](CascadeLevel& level) {
    if (numbers.Take<uint8_t>() % 2 == 0) return EditAlone(numbers, level.plan);
    ChangeOne(numbers, level.temperature, level.rule.cutoff, level.rule.slope,
              level.rule.prune_alpha, level.rule.ensemble_weight, level.upgrade_bytes);
  });
}

void Edit(Numbers& numbers, sti::Plan& p) {
  const auto way = numbers.Take<uint8_t>() % 8;
  if (way == 0) p.cold = !p.cold;
  if (way == 1 && p.cascade) return EditCascade(numbers, *p.cascade);
  if (way == 2) return ChangeList(numbers, p.variants, [&](PlanCore& v) { EditAlone(numbers, v); });
  if (way == 3) {
    return ChangeList(numbers, p.turns, [&](PlanTurn& turn) {
      const auto part = numbers.Take<uint8_t>() % 4;
      if (part == 0) return EditGrid(numbers, turn.bits);
      if (part == 1) return ChangeNumbers(numbers, turn.aib_us);
      if (part == 2) return EditQuality(numbers, turn.quality);
      ChangeOne(numbers, turn.preload_bytes, turn.read_bytes, turn.predicted_latency_us,
                turn.predicted_p99_us);
    });
  }
  if (way == 4) return ChangeNumbers(numbers, p.words);
  if (way == 5) return ChangeOne(numbers, p.turn_bytes);
  EditAlone(numbers, p);
}

/// Changes words of a file's payload behind its checks: offsets and lengths, so that tables share
/// lists and lists end elsewhere. Whatever is there then is read or refused.
template <typename Value>
void ReadDamaged(Numbers& numbers, const Codec<Value>& codec, const Bin& file) {
  constexpr size_t kWord = sizeof(uint32_t);
  Bin payload(file.begin() + kFrameHeaderBytes, file.end());
  while (!numbers.empty() && payload.size() >= kWord) {
    uint8_t* at = &payload[numbers.Below(payload.size() / kWord) * kWord];
    StoreLittle<uint32_t>(at, static_cast<uint32_t>(numbers.Near(LoadLittle<uint32_t>(at))));
  }
  const auto read = codec.parse(WrapFrame(codec.magic, payload), "f");
  if (!read.ok()) RequireDataError(read.error());
}

/// Edits a value, writes it and reads it. Returns what was read, if it was not refused.
template <typename Value>
std::optional<Value> EditAndRead(const Codec<Value>& codec, Value value, Numbers& numbers) {
  constexpr int kMostEdits = 12;
  for (int left = numbers.Take<uint8_t>() % kMostEdits; left > 0 && !numbers.empty(); --left)
    Edit(numbers, value);
  const Bin file = codec.encode(value);
  auto read = codec.parse(file, "f");
  ReadDamaged(numbers, codec, file);
  if (!read.ok()) {
    RequireDataError(read.error());
    return std::nullopt;
  }
  RequireJsonIsRead(codec, *read);
  return std::move(*read);
}

/// Requests of all kinds that a plan may have.
std::vector<PlanRequest> Requests() {
  PlanRequest warm;
  warm.target_us = 2000;
  warm.preload_bytes = 32768;
  warm.allow_untrained = true;
  PlanRequest turns = warm;
  turns.mode = PlanRequest::Turns{3};
  PlanRequest cold = warm;
  cold.preload_bytes = 0;
  cold.target_us = 20000;
  cold.mode = PlanRequest::Cold{};
  PlanRequest guarantee = warm;
  guarantee.target_us = 5000;
  guarantee.preload_bytes = 1 << 20;
  guarantee.mode = PlanRequest::Guaranteed{};
  PlanRequest cascade = warm;
  cascade.target_us = 5000;
  cascade.length = 16;
  cascade.mode = CascadeWish{};
  PlanRequest accurate = warm;
  accurate.target_us.reset();
  accurate.min_accuracy = 0.7;
  return {warm, turns, cold, guarantee, cascade, accurate};
}

/// Plans with a profile and an importance that readers have taken. What is planned is read.
void PlanWith(const DeviceProfile& profile, const sti::Importance& importance, size_t which) {
  const ContainerFile& file = *TheWorld().file;
  const ModelShape& shape = file.index().info.shape;
  for (const std::string& doubt : DoubtsAbout(profile, shape, ShardWeights(shape)))
    RequireDataError(DataError(doubt));
  const std::vector<PlanRequest> requests = Requests();
  const PlanInputs inputs(file, profile, importance);
  const auto plan = MakePlan(inputs.View(), requests[which % requests.size()]);
  if (!plan.ok()) return;
  const auto read = ParsePlan(EncodePlan(*plan), "f");
  Require(read.ok(), "what was planned is read");
}

/// A plan of each request, of the world as it is.
const std::vector<sti::Plan>& SoundPlans() {
  static const std::vector<sti::Plan> plans = [] {
    std::vector<sti::Plan> made;
    const PlanInputs inputs(*TheWorld().file, TheWorld().profile, SoundImportance());
    for (const PlanRequest& request : Requests()) {
      auto plan = MakePlan(inputs.View(), request);
      if (plan.ok()) made.push_back(std::move(*plan));
    }
    Require(made.size() >= 4, "a sound profile gives plans");
    return made;
  }();
  return plans;
}

/// Does with a plan what sti-run does, if the container can run it.
void RunUnder(const sti::Plan& plan) {
  ForgedContainer forged = TheWorld().forged;
  auto file = forged.Open();
  Require(file.ok(), "a sound container opens");
  const auto session = Session::Open(std::move(*file), plan, {});
  if (!session.ok()) return;
  const auto encoding = (*session)->Encode("a text of some words");
  if (!encoding.ok()) return;
  Answer answer;
  const Status asked = (*session)->Ask(*encoding, Clock::now(), &answer);
  Require(asked.ok(), "a plan that a session takes gives a label");
  Require(answer.labels().label < (*session)->info().labels.size(), "a label has a name");
}

}  // namespace

void ProfileValues(Input input) {
  Numbers numbers(input);
  const auto which = numbers.Take<uint8_t>();
  const auto profile = EditAndRead(kProfileCodec, TheWorld().profile, numbers);
  if (profile) PlanWith(*profile, SoundImportance(), which);
}

void ImportanceValues(Input input) {
  Numbers numbers(input);
  const auto which = numbers.Take<uint8_t>();
  const auto importance = EditAndRead(kImportanceCodec, SoundImportance(), numbers);
  if (importance) PlanWith(TheWorld().profile, *importance, which);
}

void PlanValues(Input input) {
  Numbers numbers(input);
  const size_t which = numbers.Take<uint8_t>() % SoundPlans().size();
  const auto plan = EditAndRead(kPlanCodec, SoundPlans()[which], numbers);
  if (!plan) return;
  Require(!FindPlanFault(*plan, {}), "a plan that was read has no fault");
  RunUnder(*plan);
}

}  // namespace sti::fuzz
