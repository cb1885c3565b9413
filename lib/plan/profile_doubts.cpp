#include "plan/profile_doubts.h"

#include <algorithm>
#include <cstdint>

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

std::string SentenceOf(size_t index, double flops, const char* than) {
  const bool fast = flops >= kMostFlops;
  return "compute[" + std::to_string(index) + "] computes " +
         FixedPoint(flops / (fast ? 1e12 : 1e6), 1) + (fast ? " TFLOP/s" : " MFLOP/s") +
         " a thread, " + than + "; are its times in microseconds, and of a model of this size?";
}

}  // namespace

std::vector<std::string> DoubtsAbout(const DeviceProfile& profile, const ModelShape& shape,
                                     uint64_t shard_weights) {
  std::vector<double> flops;  // a second and thread, of each layer
  flops.reserve(profile.compute.size());
  const double threads = std::max(profile.threads, 1U);
  for (const ComputeSample& layer : profile.compute)
    flops.push_back(OperationsOf(shape, shard_weights, layer) / (layer.layer_us * 1e-6) / threads);
  const auto [slowest, fastest] = std::minmax_element(flops.begin(), flops.end());
  std::vector<std::string> doubts;
  const auto index = [&](auto found) { return static_cast<size_t>(found - flops.begin()); };
  if (*fastest > kMostFlops)
    doubts.push_back(SentenceOf(index(fastest), *fastest, "more than any core does"));
  if (*slowest < kLeastFlops)
    doubts.push_back(SentenceOf(index(slowest), *slowest, "less than the smallest board does"));
  return doubts;
}

}  // namespace sti
