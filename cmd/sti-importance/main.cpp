// sti-importance: which shards matter, measured on a dev set (STI 5.2).
#include "common/files.h"
#include "common/heat_map.h"
#include "common/tool.h"
#include "format/importance_file.h"
#include "measure/importance.h"

namespace sti {
namespace {

struct Options {
  std::string model;
  std::string data;
  std::string output;
  std::string metric = "accuracy";
  std::string read_path = "auto";
  uint32_t threads = AvailableThreads();
  bool submodels = false;
  bool gains = false;
  std::string show_file;
  std::string svg;
};

void AddOptions(CLI::App& app, Options& options) {
  app.add_option("MODEL", options.model, "container made by sti-shard");
  app.add_option("--data", options.data, "dev set: TSV with a header, or JSON Lines")
      ->type_name("FILE");
  app.add_option("-o,--output", options.output, "file to write; .json for JSON, - for stdout")
      ->type_name("FILE");
  app.add_option("--metric", options.metric, "accuracy, loss or kl (kl needs no labels)")
      ->check(CLI::IsMember({"accuracy", "loss", "kl"}))
      ->type_name("");
  app.add_flag("--submodels", options.submodels, "also measure every trained submodel");
  app.add_flag("--gains", options.gains, "also measure each shard at each bitwidth");
  app.add_option("--threads", options.threads, "of the computation")
      ->check(CLI::Range(1, 256))
      ->type_name("N");
  CLI::App* show = app.add_subcommand("show", "print the heat map of an importance file");
  show->fallthrough();  // --json and -q are the tool's own
  show->add_option("FILE", options.show_file, "importance file")->required();
  show->add_option("--svg", options.svg, "also write it as a picture")->type_name("F");
}

Metric MetricOf(const std::string& name) {
  if (name == "accuracy") return Metric::kAccuracy;
  return name == "loss" ? Metric::kLoss : Metric::kKl;
}

Status CheckOptions(const Options& options) {
  if (options.model.empty()) return UsageError("MODEL is required; see sti-importance --help");
  if (options.data.empty()) return UsageError("--data FILE is required; see sti-importance --help");
  if (options.output.empty()) return UsageError("-o FILE is required; see sti-importance --help");
  return {};
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

Result<int> Measure(const Tool& tool, const Options& options) {
  STI_RETURN_IF_ERROR(CheckOptions(options));
  STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(options.model));
  STI_ASSIGN_OR_RETURN(Tokenizer tokenizer, LoadTokenizer(file));
  STI_ASSIGN_OR_RETURN(std::vector<Example> examples,
                       ReadDataset(options.data, file.index(), options.metric != "kl"));
  ImportanceOptions work{
      MetricOf(options.metric), options.threads, tool.Progress("measuring shards"), StopRequested,
      options.submodels,        options.gains};
  STI_ASSIGN_OR_RETURN(Importance importance,
                       MeasureImportance(std::move(file), tokenizer, examples, work));
  STI_RETURN_IF_ERROR(WriteImportance(options.output, importance));
  WarnOfNoise(tool, importance);
  if (tool.json() && options.output != "-") {
    std::fputs(ImportanceToJson(importance).c_str(), stdout);
  } else {
    tool.Say(DescribeImportance(importance));
  }
  return 0;
}

Result<int> Show(const Tool& tool, const Options& options) {
  STI_ASSIGN_OR_RETURN(Importance importance, ReadImportance(options.show_file));
  if (!options.svg.empty()) STI_RETURN_IF_ERROR(WriteHeatMapSvg(options.svg, importance));
  if (tool.json()) {
    std::fputs(ImportanceToJson(importance).c_str(), stdout);
  } else {
    std::fputs(HeatMap(importance).c_str(), stdout);
  }
  return 0;
}

}  // namespace
}  // namespace sti

int main(int argc, char** argv) {
  sti::Tool tool("sti-importance",
                 "Measures how much each shard matters: all shards at their fewest bits, one at "
                 "its most, on a dev set.",
                 "sti-importance model.sti --data dev.tsv -o model.importance");
  sti::Options options;
  sti::AddOptions(tool.app(), options);
  return tool.Main(argc, argv, [&] {
    return tool.app().got_subcommand("show") ? sti::Show(tool, options)
                                             : sti::Measure(tool, options);
  });
}
