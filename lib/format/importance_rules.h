// Rules and limits that hold for an importance file and for an importance part. Only lib/format
// includes this.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "types/bits.h"
#include "types/limits.h"

namespace sti {

/// Returns what is wrong with the metric or the shape; empty if nothing is.
inline std::string ProblemOfShape(const std::string& metric, uint32_t layers, uint32_t width) {
  if (metric != "accuracy" && metric != "loss" && metric != "kl") {
    return "metric is not accuracy, loss or kl";
  }
  if (layers == 0 || layers > kMaxLayers) return "layers is not from 1 to 1024";
  if (width == 0 || width > kMaxWidth) return "width is not from 1 to 256";
  return "";
}

/// Returns what is wrong with a list of submodels (each a depth, width and bits) of such a model,
/// or what `problem_of` finds in one; empty if nothing is.
template <typename Submodel, typename ProblemOf>
std::string ProblemOfSubmodels(const std::vector<Submodel>& submodels, uint32_t layers,
                               uint32_t width, const ProblemOf& problem_of) {
  const auto key = [](const Submodel& s) { return std::tuple(s.depth, s.width, s.bits); };
  const Submodel* last = nullptr;
  for (const Submodel& submodel : submodels) {
    const bool fits = submodel.depth >= 1 && submodel.depth <= layers && submodel.width >= 1 &&
                      submodel.width <= width && IsBits(submodel.bits);
    if (!fits) return "submodels holds layers, width or bits that no such model has";
    if (last != nullptr && key(*last) >= key(submodel)) {
      return "submodels is not sorted by layers, width and bits, or has one twice";
    }
    std::string problem = problem_of(submodel);
    if (!problem.empty()) return problem;
    last = &submodel;
  }
  return "";
}

}  // namespace sti
