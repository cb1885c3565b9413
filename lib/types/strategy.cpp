#include "types/strategy.h"

#include <array>
#include <cstddef>

namespace sti {
namespace {

/// In the order of Strategy, without kOther.
constexpr std::array<std::string_view, 9> kNames = {
    "sti", "sti-paper", "random", "load-exec", "stdpl", "preload", "tabi", "pipeload", "whole"};

}  // namespace

std::string_view NameOf(Strategy strategy) {
  return strategy == Strategy::kOther ? "" : kNames[static_cast<size_t>(strategy)];
}

Strategy ParseStrategy(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Strategy>(i);
  }
  return Strategy::kOther;
}

}  // namespace sti
