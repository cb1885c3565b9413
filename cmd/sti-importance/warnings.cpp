#include "warnings.h"

#include <algorithm>

#include "pictures/importance_text.h"

namespace sti {

void WarnOfOneLabel(const Tool& tool, const std::string& data, std::span<const Example> examples,
                    const ModelInfo& info, Metric metric) {
  if (metric == Metric::kKl || examples.size() < 2 || !examples[0].label) return;
  const uint32_t label = *examples[0].label;
  if (std::any_of(examples.begin(), examples.end(),
                  [&](const Example& example) { return example.label != label; })) {
    return;
  }
  tool.Warn(data + ": all " + std::to_string(examples.size()) + " examples are labelled \"" +
            info.labels[label] + "\", which " + MetricName(metric) +
            " rewards saying always; add other labels, or use --metric kl");
}

void WarnOfNoise(const Tool& tool, const Importance& importance) {
  if (const auto warning = NoiseWarning(importance)) tool.Warn(*warning);
}

}  // namespace sti
