#include "importance/measure.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <span>
#include <string>

#include "base/log.h"
#include "checkpoint.h"
#include "common/files.h"
#include "common/option_rules.h"
#include "common/parse.h"
#include "common/tool.h"
#include "format/importance_file.h"
#include "format/importance_part_file.h"
#include "importance/cascades.h"
#include "importance/importance_job.h"
#include "importance/importance_join.h"
#include "importance/measured_order.h"
#include "importance/quick_importance.h"
#include "importance/tally.h"
#include "jobs.h"
#include "pictures/importance_text.h"
#include "text/dataset.h"
#include "text/model_tokenizer.h"
#include "types/importance.h"
#include "types/model_info.h"

namespace sti {
namespace {

// Warns if all examples have one label, since a model that always says it is right on all of them.
// Does nothing where the metric takes no labels.
void WarnOfOneLabel(const Tool& tool, const std::string& data, std::span<const Example> examples,
                    const ModelInfo& info, Metric metric) {
  if (TraitsOf(metric).by_reference || examples.size() < 2 || !examples[0].label) return;
  const uint32_t label = *examples[0].label;
  if (std::any_of(examples.begin(), examples.end(),
                  [&](const Example& example) { return example.label != label; })) {
    return;
  }
  tool.Warn(data + ": all " + std::to_string(examples.size()) + " examples are labelled \"" +
            info.labels[label] + "\", which " + NameOf(metric) +
            " rewards saying always; add other labels, or use --metric kl");
}

// Puts the prefix in front of each text, of a pair that is embedded of both. Words that are tagged
// have no place for one.
Status PutPrefix(const ImportanceToolOptions& options, const ModelInfo& info,
                 std::vector<Example>* examples) {
  if (options.prefix.empty()) return {};
  if (info.labels_tokens()) {
    constexpr HeadOutput kWholeTexts[] = {HeadOutput::kLabels, HeadOutput::kEmbedding};
    return NotForHead("--prefix", kWholeTexts, options.model, info.head.output);
  }
  for (Example& example : *examples) {
    example.text.insert(0, options.prefix);
    if (info.embeds() && example.pair) example.pair->insert(0, options.prefix);
  }
  return {};
}

// Warns if the ranking is mostly noise.
void WarnOfNoise(const Tool& tool, const Importance& importance) {
  if (const auto warning = NoiseWarning(importance)) tool.Warn(*warning);
}

// The metric of `options` is known.
ImportanceOptions OptionsOf(const Tool& tool, const ImportanceToolOptions& options) {
  ImportanceOptions work;
  work.metric = *options.metric;
  work.threads = options.threads;
  work.progress = tool.Progress("measuring", " GFLOP", 1'000'000'000 / kProgressFlops);
  work.cancelled = StopRequested;
  work.submodels = options.submodels;
  work.gains = options.gains;
  work.compute = options.compute;
  work.cache_bytes = options.cache_bytes;
  work.part = options.part.first;
  work.parts = options.part.second;
  return work;
}

std::string Fixed(double number, int digits) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.*f", digits, number);
  return text;
}

/// Adds the order of heads and neurons, if it is asked for.
Status AddOrder(const Tool& tool, const ImportanceToolOptions& options, const Tokenizer& tokenizer,
                std::span<const Example> examples, Importance* importance) {
  if (!options.order) return {};
  STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(options.model));
  ImportanceOptions work = OptionsOf(tool, options);
  work.progress = tool.Progress("putting in order, layers");
  STI_ASSIGN_OR_RETURN(importance->order, MeasureOrder(std::move(file), tokenizer, examples, work));
  return {};
}

/// Adds what cascades reach, if that is asked for.
Status AddCascades(const Tool& tool, const ImportanceToolOptions& options,
                   const Tokenizer& tokenizer, std::span<const Example> examples,
                   Importance* importance) {
  if (!options.cascade.wanted) return {};
  STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(options.model));
  ImportanceOptions work = OptionsOf(tool, options);
  work.progress = tool.Progress("measuring cascades, runs");
  STI_ASSIGN_OR_RETURN(CascadeScores scores, MeasureCascades(std::move(file), tokenizer, examples,
                                                             options.cascade.Choice(), work));
  importance->cascade_levels = std::move(scores.levels);
  importance->cascades = std::move(scores.cascades);
  return {};
}

/// Adds to what was measured all that is asked for besides, and writes it.
Result<int> WriteWithExtras(const Tool& tool, const ImportanceToolOptions& options,
                            const Tokenizer& tokenizer, std::span<const Example> examples,
                            Importance importance) {
  STI_RETURN_IF_ERROR(AddOrder(tool, options, tokenizer, examples, &importance));
  STI_RETURN_IF_ERROR(AddCascades(tool, options, tokenizer, examples, &importance));
  return WriteAndReport(tool, options, importance);
}

Result<int> WriteResult(const Tool& tool, const ImportanceToolOptions& options,
                        const Tokenizer& tokenizer, std::span<const Example> examples,
                        ImportancePart part) {
  if (!options.is_part) {
    STI_ASSIGN_OR_RETURN(Importance importance,
                         JoinImportanceParts({{"the measurement", std::move(part)}}));
    return WriteWithExtras(tool, options, tokenizer, examples, std::move(importance));
  }
  STI_RETURN_IF_ERROR(WriteImportancePart(options.output, part));
  if (tool.json()) {
    std::fputs(ImportancePartToJson(part).c_str(), stdout);
  } else {
    tool.Say(DescribeImportancePart(part));
  }
  return 0;
}

// Says what the measurement took, beside what plain evaluations would have taken.
void ExplainWork(const Tool& tool, const ImportanceToolOptions& options, const ImportanceWork& work,
                 double seconds) {
  if (work.held_bytes > options.cache_bytes) {
    tool.Explain("--cache-bytes: the longest example alone needs " + FormatBytes(work.least_bytes) +
                 " for activations");
  }
  if (work.flops == 0) return;
  const auto flops = static_cast<double>(work.flops);
  tool.Explain(Fixed(seconds, 1) + " s on " + Counted(options.threads, "thread") + ", " +
               Fixed(flops / 1e12, 3) + " TFLOP, " + FormatBytes(work.held_bytes) +
               " of activations; plain evaluations take " +
               Fixed(static_cast<double>(work.plain_flops) / flops, 2) + " times as many, and " +
               Fixed(static_cast<double>(work.padded_flops) / flops, 2) + " times padded to 128");
}

Result<int> Estimate(const Tool& tool, const ImportanceToolOptions& options, ContainerFile file,
                     const Tokenizer& tokenizer, std::span<const Example> examples) {
  ImportanceOptions work = OptionsOf(tool, options);
  work.progress = tool.Progress("estimating, layers");
  STI_ASSIGN_OR_RETURN(Importance importance,
                       EstimateImportance(std::move(file), tokenizer, examples, work));
  return WriteWithExtras(tool, options, tokenizer, examples, std::move(importance));
}

}  // namespace

Result<int> WriteAndReport(const Tool& tool, const ImportanceToolOptions& options,
                           const Importance& importance) {
  STI_RETURN_IF_ERROR(WriteImportance(options.output, importance));
  WarnOfNoise(tool, importance);
  if (tool.json() && options.output != "-") {
    PrintImportanceJson(importance);
  } else {
    tool.Say(DescribeImportance(importance));
  }
  return 0;
}

Result<int> Measure(const Tool& tool, const ImportanceToolOptions& given) {
  STI_RETURN_IF_ERROR(CheckMeasureOptions(given));
  ImportanceToolOptions options = given;
  STI_RETURN_IF_ERROR(CheckKeepsInput({"-o", options.output}, options.model, "the model"));
  STI_RETURN_IF_ERROR(CheckKeepsInput({"-o", options.output}, options.data, "the dev set"));
  STI_RETURN_IF_ERROR(CheckOutput({"-o", options.output}));
  STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(options.model));
  STI_RETURN_IF_ERROR(file.RefuseContinuing());
  options.metric = MetricOf(given, file.index().info);
  STI_RETURN_IF_ERROR(CheckMetric(file, *options.metric));
  STI_ASSIGN_OR_RETURN(Tokenizer tokenizer, LoadTokenizer(file));
  STI_ASSIGN_OR_RETURN(std::vector<Example> examples,
                       ReadDataset(options.data, file.index().info, options.columns,
                                   !TraitsOf(*options.metric).by_reference,
                                   [&tool](const LogLine& line) { tool.Log(line); }));
  STI_RETURN_IF_ERROR(PutPrefix(options, file.index().info, &examples));
  if (options.cascade.wanted) {
    STI_RETURN_IF_ERROR(CheckCascades(file.index(), examples, options.cascade.Choice()));
  }
  WarnOfOneLabel(tool, options.data, examples, file.index().info, *options.metric);
  if (options.quick) return Estimate(tool, options, std::move(file), tokenizer, examples);
  ImportanceOptions work = OptionsOf(tool, options);
  Checkpoint checkpoint(tool, options.output);
  std::optional<ImportancePart> before;
  if (options.resume) {
    STI_ASSIGN_OR_RETURN(before, checkpoint.Load());
  } else {
    before = checkpoint.LoadProgress();
    work.other_work = [&](const Error& why) { checkpoint.Replace(why); };
  }
  work.resume = before ? &*before : nullptr;
  work.resume_name = checkpoint.name();
  work.checkpoint = [&](const ImportancePart& part, bool stopping) -> Status {
    checkpoint.Save(part, stopping);
    return {};
  };
  const auto begin = std::chrono::steady_clock::now();
  ImportanceWork done;
  STI_ASSIGN_OR_RETURN(ImportancePart part,
                       MeasureImportancePart(std::move(file), tokenizer, examples, work, &done));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  ExplainWork(tool, options, done, seconds.count());
  STI_ASSIGN_OR_RETURN(const int code,
                       WriteResult(tool, options, tokenizer, examples, std::move(part)));
  checkpoint.Remove();
  return code;
}

Result<int> Merge(const Tool& tool, const ImportanceToolOptions& options) {
  if (options.output.empty()) {
    return UsageError("-o FILE is required; see sti-importance merge --help");
  }
  std::vector<NamedPart> parts;
  parts.reserve(options.merge_parts.size());
  for (const std::string& path : options.merge_parts) {
    STI_RETURN_IF_ERROR(CheckKeepsInput({"-o", options.output}, path, "one of the parts"));
    STI_ASSIGN_OR_RETURN(ImportancePart part, ReadImportancePart(path));
    parts.push_back({path, std::move(part)});
  }
  STI_ASSIGN_OR_RETURN(const Importance importance, JoinImportanceParts(std::move(parts)));
  return WriteAndReport(tool, options, importance);
}

}  // namespace sti
