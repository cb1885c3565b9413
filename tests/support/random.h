// The tests' own random numbers: the same on every machine and standard library.
#pragma once

#include <cstdint>
#include <vector>

namespace sti {

/// SplitMix64.
class TestRandom {
 public:
  explicit TestRandom(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15U + 0x7F4A7C15U) {}

  uint64_t Next() {
    uint64_t mixed = (state_ += 0x9E3779B97F4A7C15U);
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBU;
    return mixed ^ (mixed >> 31);
  }
  uint64_t Below(uint64_t limit) { return Next() % limit; }
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
  /// Twelve uniforms: mean 0, deviation 1, within 6 of the mean.
  double Normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += Uniform();
    return sum;
  }
  std::vector<float> Normals(size_t count, double deviation, float mean = 0) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(Normal() * deviation) + mean;
    return values;
  }

 private:
  uint64_t state_;
};

}  // namespace sti
