#include "plan/profile_doubts.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/text.h"

namespace sti {
namespace {

constexpr double kMostFlops = 1e12;   // a second and thread: more than any core does
constexpr double kLeastFlops = 50e6;  // less than the smallest board does

/// Returns the operations of a layer of `width` slices at `length` tokens: two for each weight and
/// token, and those of attention.
double OperationsOf(const ModelShape& shape, uint64_t shard_weights, const ComputeSample& layer) {
  const double length = layer.length;
  const double attention = 2 * length * shape.head_dim();
  return 2 * layer.width * length * (static_cast<double>(shard_weights) + attention);
}

/// How fast a layer of the profile computes.
struct LayerSpeed {
  std::string name;  ///< "compute[3]", "batches[0].compute[3]"
  double flops = 0;  ///< a second and thread
};

std::string SentenceOf(const LayerSpeed& layer, const char* than) {
  const double flops = layer.flops;
  const bool fast = flops >= kMostFlops;
  return layer.name + " computes " + FixedPoint(flops / (fast ? 1e12 : 1e6), 1) +
         (fast ? " TFLOP/s" : " MFLOP/s") + " a thread, " + than +
         "; are its times in microseconds, and of a model of this size?";
}

}  // namespace

std::vector<std::string> DoubtsAbout(const DeviceProfile& profile, const ModelShape& shape,
                                     uint64_t shard_weights) {
  std::vector<LayerSpeed> layers;
  const double threads = std::max(profile.threads, 1U);
  const auto add = [&](const std::string& place, uint32_t batch,
                       const std::vector<ComputeSample>& compute) {
    for (size_t i = 0; i < compute.size(); ++i) {
      const double operations = batch * OperationsOf(shape, shard_weights, compute[i]);
      layers.push_back({place + "compute[" + std::to_string(i) + "]",
                        operations / (compute[i].layer_us * 1e-6) / threads});
    }
  };
  add("", 1, profile.compute);
  for (size_t i = 0; i < profile.batches.size(); ++i) {
    const BatchSamples& samples = profile.batches[i];
    add("batches[" + std::to_string(i) + "].", samples.batch, samples.compute);
  }
  const auto [slowest, fastest] = std::ranges::minmax_element(layers, {}, &LayerSpeed::flops);
  std::vector<std::string> doubts;
  if (fastest->flops > kMostFlops)
    doubts.push_back(SentenceOf(*fastest, "more than any core does"));
  if (slowest->flops < kLeastFlops)
    doubts.push_back(SentenceOf(*slowest, "less than the smallest board does"));
  return doubts;
}

}  // namespace sti
