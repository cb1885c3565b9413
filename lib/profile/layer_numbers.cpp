// The numbers of T_comp: layers, last layers, and what the bits of their shards add.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "model/key_value_cache.h"
#include "profile/profile_numbers.h"

namespace sti {
namespace {

// The most that bits may take off a layer, as a share of it: noise must not leave it without time.
constexpr double kMostOff = 0.9;

// Leaves of the ends of runs what comes beside the last one of these layers.
void TakeLayersOff(const std::vector<ComputeSample>& compute, std::vector<FixedSample>& ends) {
  for (FixedSample& fixed : ends) {
    const double tail_us = fixed.head_us;
    for (const ComputeSample& layer : compute) {  // the widest one of a length comes last
      if (layer.length != fixed.length) continue;
      const double last_us = layer.last_us > 0 ? layer.last_us : layer.layer_us;
      fixed.head_us = std::max(0.0, tail_us - last_us);
    }
    fixed.head_p99_us = tail_us > 0 ? fixed.head_us * (fixed.head_p99_us / tail_us) : 0;
  }
}

// The shards that a layer is timed with: one layer's, and then the next one's.
struct LayerWork {
  LayerWork(const LoadedModel& model, uint32_t width, uint32_t bits)
      : slices(width), layers(model.LayersAt(bits)), views(layers.size()) {
    std::iota(slices.begin(), slices.end(), 0U);
    for (size_t i = 0; i < layers.size(); ++i) {
      views[i].reserve(width);
      for (const uint32_t slice : slices) views[i].push_back(model.View(layers[i], slice, bits));
    }
  }
  std::vector<uint32_t> slices;
  std::span<const uint32_t> layers;           // that the container has whole
  std::vector<std::vector<ShardView>> views;  // [layers]
  uint32_t next = 0;
};

// Returns the keys and values of the tokens in front of a pass: of a pass of one token those of the
// longest text that is profiled, since it goes on with one. Nothing of a pass that has all.
std::shared_ptr<KeyValueCache> TokensBefore(const ProfileBench& bench, const PassSize& pass,
                                            uint32_t width) {
  const ModelInfo& info = bench.model.index().info;
  if (!info.continues_texts() || pass.tokens() > 1) return nullptr;
  auto cache = std::make_shared<KeyValueCache>(info.shape, 1, width, bench.longest);
  std::ranges::fill(cache->memory().span(), uint8_t{0});
  cache->Add(bench.longest - 1);
  return cache;
}

// Times a layer of a pass, while `share` of the shards of one are read beside it.
TimedQuantity TimesLayer(ProfileBench& bench, const std::shared_ptr<LayerWork>& work,
                         const PassSize& pass, OutputRows rows, double share) {
  TimedQuantity layer;
  const auto width = static_cast<uint32_t>(work->slices.size());
  const auto before = TokensBefore(bench, pass, width);
  layer.begin = [&bench, pass, width, context = before ? bench.longest : 0] {
    bench.lane->Pause();
    bench.transformer->Reserve(pass.tokens(), width, context);
  };
  std::vector<uint32_t> offsets(pass.batch + 1);
  for (uint32_t i = 0; i <= pass.batch; ++i) offsets[i] = i * pass.length;
  layer.once = [&bench, share, rows, work, before,
                offsets = std::move(offsets)]() -> Result<double> {
    bench.lane->Load(share);
    const uint32_t at = work->next++ % static_cast<uint32_t>(work->views.size());
    const LayerParameters& parameters = bench.model.resident().layers[work->layers[at]];
    LayerCall call{{offsets}, {work->views[at], work->slices, parameters}, rows};
    if (before) call.kept = before->Layer(0);
    return TimeUs([&] { bench.transformer->RunLayer(call, bench.hidden.data()); });
  };
  return layer;
}

TimedQuantity LayerNumber(ProfileBench& bench, const PassSize& pass, uint32_t width,
                          OutputRows rows) {
  const bool last = rows != OutputRows::kAll;
  const double share = last ? 0 : static_cast<double>(width) / bench.model.index().info.shape.width;
  const auto work = std::make_shared<LayerWork>(bench.model, width, bench.decode_bits);
  TimedQuantity layer = TimesLayer(bench, work, pass, rows, share);
  layer.name = (last ? "a last layer of " : "a layer of ") + Counted(width, "slice") + pass.At();
  layer.kind = last ? NumberKind::kLastLayer : NumberKind::kLayer;
  return layer;
}

}  // namespace

std::vector<ProfileNumber> LayerNumbers(ProfileBench& bench, uint32_t batch,
                                        std::span<const uint32_t> lengths,
                                        std::span<const uint32_t> widths) {
  std::vector<ProfileNumber> numbers;
  numbers.reserve(2 * lengths.size() * widths.size());
  const OutputRows head_rows = bench.model.index().info.head.rows();
  for (const uint32_t length : lengths) {
    const PassSize pass{batch, length};
    for (const uint32_t width : widths) {
      numbers.push_back({LayerNumber(bench, pass, width, OutputRows::kAll),
                         &DeviceProfile::compute_series,
                         [pass, width](DeviceProfile& profile, const Timing& m) {
                           TimesOfBatch(profile, pass.batch)
                               .compute.push_back({pass.length, width, m.median_us, m.p99_us, 0});
                         }});
      if (head_rows == OutputRows::kAll) continue;  // a last layer is as any
      // Behind its layer, so that the entry is there.
      numbers.push_back({LayerNumber(bench, pass, width, head_rows), &DeviceProfile::compute_series,
                         [batch](DeviceProfile& profile, const Timing& m) {
                           ComputeSample& layer = TimesOfBatch(profile, batch).compute.back();
                           layer.last_us = m.median_us;
                           layer.last_p99_us = m.p99_us;
                         }});
    }
  }
  return numbers;
}

std::vector<ProfileNumber> DecodeNumbers(ProfileBench& bench, const LoadedModel& at_bits) {
  const PassSize pass{1, std::min(kTokensOfRun, bench.longest)};
  const uint32_t width = at_bits.width();
  std::vector<ProfileNumber> numbers;
  const std::vector<uint32_t> held = at_bits.index().BitsOfWholeLayers();
  if (held.size() == 1) return numbers;
  numbers.reserve(held.size());
  for (const uint32_t bits : held) {
    const auto work = std::make_shared<LayerWork>(at_bits, width, bits);
    ProfileNumber number;
    number.number = TimesLayer(bench, work, pass, OutputRows::kAll, 0);
    number.number.name = "a layer of " + std::to_string(bits) + " bits";
    number.number.kind = NumberKind::kDecode;
    number.store = [bits, width](DeviceProfile& profile, const Timing& m) {
      profile.decode.push_back({bits, m.median_us / width, 0});
    };
    numbers.push_back(std::move(number));
  }
  return numbers;
}

void TakeUsualBitsOff(uint32_t usual_bits, DeviceProfile& profile) {
  double usual_us = 0;
  for (const DecodeSample& sample : profile.decode) {
    if (sample.bits == usual_bits) usual_us = sample.extra_us;
  }
  std::erase_if(profile.decode,
                [&](const DecodeSample& sample) { return sample.bits == usual_bits; });
  double slice_us = usual_us;
  ForEachBatch(profile, [&](const std::vector<ComputeSample>& compute, const auto&) {
    slice_us = std::min(slice_us, LeastSliceUs(compute));
  });
  for (DecodeSample& sample : profile.decode)
    sample.extra_us = std::max(sample.extra_us - usual_us, -kMostOff * slice_us);
}

void TakeLastLayersOff(DeviceProfile& profile) { ForEachBatch(profile, TakeLayersOff); }

}  // namespace sti
