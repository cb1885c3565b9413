#include "measure.h"

#include <algorithm>
#include <cstdio>

#include "common/files.h"
#include "common/heat_map.h"
#include "format/importance_file.h"
#include "measure/importance.h"

namespace sti {
namespace {

Metric MetricOf(const std::string& name) {
  if (name == "accuracy") return Metric::kAccuracy;
  return name == "loss" ? Metric::kLoss : Metric::kKl;
}

// A ranking whose differences are below the noise is worth a word. Losses are not warned of: each
// example is its own control there, which the standard error of the mean does not know.
void WarnOfNoise(const Tool& tool, const Importance& importance) {
  if (importance.metric != "accuracy") return;
  auto [low, high] = std::minmax_element(importance.scores.begin(), importance.scores.end());
  if (*high - *low < 2 * importance.standard_error) {
    tool.Warn("scores differ by under two standard errors; add examples or use --metric loss");
  }
}

}  // namespace

Result<int> Measure(const Tool& tool, const ImportanceToolOptions& options) {
  STI_RETURN_IF_ERROR(CheckMeasureOptions(options));
  STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(options.model));
  STI_ASSIGN_OR_RETURN(Tokenizer tokenizer, LoadTokenizer(file));
  STI_ASSIGN_OR_RETURN(std::vector<Example> examples,
                       ReadDataset(options.data, file.index(), options.metric != "kl"));
  ImportanceOptions work;
  work.metric = MetricOf(options.metric);
  work.threads = options.threads;
  work.progress = tool.Progress("measuring shards");
  work.cancelled = StopRequested;
  work.submodels = options.submodels;
  work.gains = options.gains;
  ImportanceWork done;
  STI_ASSIGN_OR_RETURN(Importance importance,
                       MeasureImportance(std::move(file), tokenizer, examples, work, &done));
  STI_RETURN_IF_ERROR(WriteImportance(options.output, importance));
  WarnOfNoise(tool, importance);
  if (tool.json() && options.output != "-") {
    std::fputs(ImportanceToJson(importance).c_str(), stdout);
  } else {
    tool.Say(DescribeImportance(importance));
  }
  return 0;
}

}  // namespace sti
