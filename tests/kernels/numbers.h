// Numbers that kernels are tried with: random ones, and the two that are not finite.
#pragma once

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace sti {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Returns `count` numbers between -1 and 1.
inline std::vector<float> RandomNumbers(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> numbers(count);
  for (float& x : numbers) x = uniform(random);
  return numbers;
}

}  // namespace sti
