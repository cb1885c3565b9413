#include "options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "common/cli.h"
#include "common/files.h"
#include "common/option_rules.h"
#include "common/parse.h"

namespace sti {
namespace {

constexpr uint32_t kMaxParts = 1'000'000;
constexpr ValueKind<ComputeType> kCompute{ParseCompute, kComputeNames};

void AddMetric(CLI::App& app, std::optional<Metric>& metric) {
  std::vector<const char*> names;
  for (const MetricTraits& traits : kMetrics) names.push_back(traits.name);
  const auto take = [&metric](size_t number) { metric = static_cast<Metric>(number); };
  AddWords(app, "--metric", names, take,
           "what counts [accuracy; f1 of token labels, cosine of embeddings]")
      ->group(kMostUsed);
}

// "3/8" to {3, 8}.
Result<std::pair<uint32_t, uint32_t>> ParsePart(const std::string& text) {
  uint32_t numbers[2] = {0, 0};
  const char* at = text.data();
  const char* end = at + text.size();
  for (int i = 0; i < 2; ++i) {
    const auto [next, failed] = std::from_chars(at, end, numbers[i]);
    const bool sound =
        failed == std::errc() && (i == 0 ? next != end && *next == '/' : next == end);
    if (!sound) return UsageError("'" + text + "' is not a part; write 3/8 for the third of eight");
    at = next + 1;
  }
  if (numbers[0] == 0 || numbers[0] > numbers[1] || numbers[1] > kMaxParts) {
    return UsageError("'" + text + "' is none of 1/n to n/n, with n up to 1000000");
  }
  return std::pair{numbers[0], numbers[1]};
}

// How the work is done and spread; none of it changes the result.
void AddSpreadOptions(CLI::App& app, ImportanceToolOptions& options) {
  app.add_option_function<std::string>(
         "--part",
         [&options](const std::string& text) {
           auto part = ParsePart(text);
           if (!part.ok()) throw CLI::ValidationError("--part", part.error().Message());
           options.part = *part;
           options.is_part = true;
         },
         "do the i-th of n parts; join their files with merge")
      ->type_name("i/n")
      ->group(kMostUsed);
  app.add_flag("--resume", options.resume, "go on as without it, but refuse progress of other work")
      ->group(kMostUsed);
  AddParsed(app, "--cache-bytes", options.cache_bytes, kSize,
            "most memory for activations [256MiB]");
}

void AddMeasureOptions(CLI::App& app, ImportanceToolOptions& options) {
  app.add_option("MODEL", options.model, "container made by sti-shard")->type_name(kFile);
  app.add_option("--data", options.data, "dev set: TSV, CSV or JSON Lines, or CoNLL of tags")
      ->type_name(kFile)
      ->group(kMostUsed);
  AddColumnOptions(app, options.columns);
  app.add_option("--prefix", options.prefix, "in front of each text, as some models want it");
  app.add_option("-o,--output", options.output, "file to write; .json for JSON, - for stdout")
      ->type_name(kFile)
      ->group(kMostUsed);
  AddMetric(app, options.metric);
  app.add_flag("--submodels", options.submodels, "also measure every submodel");
  app.add_flag("--gains", options.gains, "also measure each shard at each bitwidth");
  app.add_flag("--quick", options.quick, "estimate by gradients: some 3 evaluations")
      ->group(kMostUsed);
  app.add_flag("--order", options.order,
               "also put heads and neurons in order, for sti-shard --sort");
  AddCascadeOptions(app, options.cascade);
  AddParsed(app, "--compute", options.compute, kCompute, "type of its arithmetic [fp32]");
  app.add_option("--threads", options.threads, "of the computation")
      ->check(CLI::Range(1, 256))
      ->type_name("N");
  AddSpreadOptions(app, options);
}

void AddMergeOptions(CLI::App& app, ImportanceToolOptions& options) {
  CLI::App* merge = app.add_subcommand("merge", "join the files of all parts into an importance");
  merge->fallthrough();  // --json and -q are the tool's own
  merge->add_option("PART", options.merge_parts, "files that --part wrote, in any order")
      ->required()
      ->type_name(kFile);
  merge->add_option("-o,--output", options.output, "file to write; .json for JSON, - for stdout")
      ->type_name(kFile)
      ->group(kMostUsed);
  merge->footer("sti-importance merge 1.part 2.part -o model.importance");
}

void AddShowOptions(CLI::App& app, ImportanceToolOptions& options) {
  CLI::App* show = app.add_subcommand("show", "print the heat map of a file, or compare two files");
  show->fallthrough();  // --json and -q are the tool's own
  show->add_option("FILE", options.show_file, "importance file")->required()->type_name(kFile);
  show->add_option("OTHER", options.show_other, "another, to compare with it")->type_name(kFile);
  show->add_option("--svg", options.svg, "also write it as a picture")
      ->type_name(kFile)
      ->group(kMostUsed);
  show->add_option("--png", options.png, "also write it as a picture of pixels")
      ->type_name(kFile)
      ->group(kMostUsed);
  show->footer("sti-importance show model.importance --svg model.svg");
}

// Subcommands also accept the tool's own options (fallthrough); those outside `taken` would be
// lost without a word.
Status CheckIgnored(const CLI::App& app, const std::string& subcommand, OptionNames taken) {
  const std::string name = OtherOption(app, taken);
  if (name.empty()) return {};
  if (subcommand == "show" && name == "--output")
    return UsageError("show takes no -o; write a picture with --svg FILE or --png FILE");
  return UsageError(subcommand + " takes no " + name + "; leave it out, see sti-importance " +
                    subcommand + " --help");
}

std::filesystem::path PlaceOf(const std::string& name) {
  std::error_code failed;
  const auto absolute = std::filesystem::absolute(name, failed);
  if (failed) return {};
  return std::filesystem::weakly_canonical(absolute, failed);
}

// "a", "./a" and links to it are one file. What cannot be looked up is empty, and one with nothing.
bool IsSameFile(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const std::filesystem::path place = PlaceOf(a);
  return !place.empty() && a != "-" && b != "-" && place == PlaceOf(b);
}

Status CheckQuickOptions(const ImportanceToolOptions& options) {
  if (options.metric && TraitsOf(*options.metric).is_counted) {
    return UsageError(std::string("--quick cannot estimate ") + NameOf(*options.metric) +
                      "; take --metric loss or --metric kl");
  }
  if (options.submodels) {
    return UsageError("--quick estimates shards, not --submodels; leave one of the two out");
  }
  if (options.is_part || options.resume) {
    return UsageError("--quick does all at once; leave out --part and --resume, or --quick");
  }
  if (options.compute != ComputeType::kFp32) {
    return UsageError("--quick computes in fp32; leave out --compute, or --quick");
  }
  return {};
}

}  // namespace

void AddImportanceOptions(CLI::App& app, ImportanceToolOptions& options) {
  AddMeasureOptions(app, options);
  app.require_subcommand(0, 1);
  AddMergeOptions(app, options);
  AddShowOptions(app, options);
}

Status CheckSubcommandOptions(const CLI::App& app, const ImportanceToolOptions& options) {
  if (app.got_subcommand("merge")) return CheckIgnored(app, "merge", {"--output"});
  if (!app.got_subcommand("show")) return {};
  STI_RETURN_IF_ERROR(CheckIgnored(app, "show", {}));
  if (!options.svg.empty() && !options.png.empty() && IsSameFile(options.svg, options.png)) {
    return UsageError("--svg and --png both write " +
                      (options.svg == "-" ? "stdout" : options.svg) + "; name two files");
  }
  return {};
}

Metric MetricOf(const ImportanceToolOptions& options, const ModelInfo& info) {
  if (options.metric) return *options.metric;
  if (info.embeds()) return Metric::kCosine;
  if (options.quick) return Metric::kLoss;
  return info.labels_tokens() ? Metric::kF1 : Metric::kAccuracy;
}

Status CheckMeasureOptions(const ImportanceToolOptions& options) {
  if (options.model.empty()) return UsageError("MODEL is required; see sti-importance --help");
  if (options.data.empty()) return UsageError("--data FILE is required; see sti-importance --help");
  if (options.output.empty()) return UsageError("-o FILE is required; see sti-importance --help");
  STI_RETURN_IF_ERROR(CheckColumnChoice(options.columns));
  if (options.is_part && (options.output == "-" || IsJsonName(options.output))) {
    return UsageError("-o: a part is a binary file; name one that does not end in .json");
  }
  if (options.resume && options.output == "-") {
    return UsageError("--resume: progress is kept beside a file; name one with -o");
  }
  if (options.order && options.is_part) {
    return UsageError("--order does all at once; leave out --part, or --order");
  }
  STI_RETURN_IF_ERROR(CheckCascadeOptions(options.cascade));
  if (options.cascade.wanted && options.is_part) {
    return UsageError("--cascade does all at once; leave out --part, or --cascade");
  }
  if (options.quick) return CheckQuickOptions(options);
  return {};
}

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
