#include "profile/compute_choice.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "model/loaded_model.h"
#include "model/transformer.h"
#include "profile/profile_numbers.h"

namespace sti {
namespace {

constexpr uint32_t kRounds = 15;
constexpr uint32_t kLayers = 2;  // so that a layer's weights are not where the last one's were

}  // namespace

std::vector<double> LeastTimes(std::span<const std::function<double()>> works, uint32_t rounds) {
  std::vector<double> least(works.size(), std::numeric_limits<double>::infinity());
  for (const auto& work : works) work();
  for (uint32_t round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < works.size(); ++i) least[i] = std::min(least[i], works[i]());
  }
  return least;
}

Result<std::vector<ComputeTime>> TimeComputeTypes(ContainerFile file,
                                                  std::span<const ComputeType> types,
                                                  uint32_t length, uint32_t threads) {
  STI_RETURN_IF_ERROR(file.RequireWholeLayers());
  const uint32_t bits[1] = {DecodeBits(file.index().BitsOfWholeLayers())};
  const ModelInfo info = file.index().info;
  STI_ASSIGN_OR_RETURN(const LoadedModel model,
                       LoadedModel::Load(std::move(file), bits, {kLayers, 0, true}));
  const std::span<const uint32_t> layers = model.LayersAt(bits[0]);
  std::vector<uint32_t> slices(model.width());
  std::iota(slices.begin(), slices.end(), 0U);
  std::vector<std::vector<ShardView>> views(layers.size());
  for (size_t i = 0; i < layers.size(); ++i) {
    for (const uint32_t slice : slices) views[i].push_back(model.View(layers[i], slice, bits[0]));
  }
  // Zeros take as long as any values, and stay finite however often a layer is run.
  AlignedVector<float> hidden(size_t{length} * info.shape.hidden);
  ThreadPool pool(threads);
  std::vector<std::unique_ptr<Transformer>> transformers;
  std::vector<std::function<double()>> works;
  for (const ComputeType type : types) {
    STI_ASSIGN_OR_RETURN(auto made, Transformer::Create(info, pool, {Backend::kNative, type}));
    transformers.push_back(std::move(made));
    Transformer* transformer = transformers.back().get();
    transformer->Reserve(length, model.width());
    works.emplace_back([&, transformer, at = size_t{0}]() mutable {
      at = (at + 1) % layers.size();
      std::fill(hidden.begin(), hidden.end(), 0.0F);
      const uint32_t offsets[2] = {0, length};
      return TimeUs([&] {
        transformer->RunLayer({{offsets}, {views[at], slices, model.resident().layers[layers[at]]}},
                              hidden.data());
      });
    });
  }
  const std::vector<double> least = LeastTimes(works, kRounds);
  std::vector<ComputeTime> times;
  for (size_t i = 0; i < types.size(); ++i) times.push_back({types[i], least[i]});
  std::stable_sort(times.begin(), times.end(),
                   [](const auto& a, const auto& b) { return a.layer_us < b.layer_us; });
  return times;
}

}  // namespace sti
