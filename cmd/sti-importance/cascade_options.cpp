#include "cascade_options.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace sti {
namespace {

constexpr double kStep = 0.1;  // of a range of alphas
constexpr std::string_view kDefaultAlphas = "0.3-0.9";

/// "2x3@4,6x12@6" to submodels at bits.
Result<std::vector<SubmodelCell>> ParseLevels(std::string_view text) {
  std::vector<SubmodelCell> levels;
  for (const std::string_view part : SplitAtCommas(text)) {
    const size_t at = part.find('@');
    auto submodel = ParseSubmodel(part.substr(0, at));
    auto bits = ParseList(at == std::string_view::npos ? "" : part.substr(at + 1));
    if (!submodel.ok() || !bits.ok() || bits->size() != 1) {
      return UsageError("'" + std::string(part) +
                        "' is not a cascade level; write layers x width @ bits as 2x3@4");
    }
    if (levels.size() == kMostCascadeLevels)
      return UsageError("more than " + std::to_string(kMostCascadeLevels) + " levels; drop some");
    levels.push_back({submodel->depth, submodel->width, bits->front()});
  }
  return levels;
}

/// "0.3-0.9" to 0.3, 0.4 and so on; "0.3,0.5" to these.
Result<std::vector<double>> ParseAlphas(std::string_view text) {
  std::vector<double> alphas;
  for (const std::string_view part : SplitAtCommas(text)) {
    const size_t dash = part.find('-');
    auto first = ParseShare(part.substr(0, dash));
    auto last = dash == std::string_view::npos ? first : ParseShare(part.substr(dash + 1));
    if (!first.ok() || !last.ok() || !(*first > 0) || *first > *last) {
      return UsageError("'" + std::string(part) +
                        "' is no alpha above 0 and up to 1; write 0.5, or 0.3-0.9");
    }
    // Steps of a tenth as they are written: 0.7, not 0.7000000000000001.
    for (int64_t i = 0; *first + static_cast<double>(i) * kStep <= *last + kStep / 100; ++i)
      alphas.push_back(std::round((*first + static_cast<double>(i) * kStep) * 1e6) / 1e6);
  }
  std::sort(alphas.begin(), alphas.end());
  alphas.erase(std::unique(alphas.begin(), alphas.end()), alphas.end());
  if (alphas.size() > kMostAlphas)
    return UsageError("more than " + std::to_string(kMostAlphas) + " alphas; drop some");
  return alphas;
}

constexpr ValueKind<std::vector<SubmodelCell>> kLevels{ParseLevels, "NxM@BITS,..."};
constexpr ValueKind<std::vector<double>> kAlphas{ParseAlphas, "LIST"};

}  // namespace

CascadeChoice CascadeOptions::Choice() const {
  CascadeChoice choice{levels, alphas};
  if (alphas.empty()) choice.alphas = ParseAlphas(kDefaultAlphas).value();
  return choice;
}

void AddCascadeOptions(CLI::App& app, CascadeOptions& options) {
  app.add_flag("--cascade", options.wanted,
               "also measure cascades of submodels, for sti-plan --cascade");
  AddParsed(app, "--levels", options.levels, kLevels,
            "of cascades, as 2x3@4,6x12@6 [three, by the model]");
  AddParsed(app, "--alphas", options.alphas, kAlphas, "pruning of words between levels [0.3-0.9]");
}

Status CheckCascadeOptions(const CascadeOptions& options) {
  if (options.wanted) return {};
  if (!options.levels.empty()) return UsageError("--levels are of cascades; add --cascade");
  if (!options.alphas.empty()) return UsageError("--alphas are of cascades; add --cascade");
  return {};
}

}  // namespace sti
