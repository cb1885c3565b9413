#include "options.h"

namespace sti {
namespace {

void AddMeasureOptions(CLI::App& app, ImportanceToolOptions& options) {
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
}

void AddShowOptions(CLI::App& app, ImportanceToolOptions& options) {
  CLI::App* show = app.add_subcommand("show", "print the heat map of an importance file");
  show->fallthrough();  // --json and -q are the tool's own
  show->add_option("FILE", options.show_file, "importance file")->required();
  show->add_option("--svg", options.svg, "also write it as a picture")->type_name("F");
}

}  // namespace

void AddImportanceOptions(CLI::App& app, ImportanceToolOptions& options) {
  AddMeasureOptions(app, options);
  AddShowOptions(app, options);
}

Status CheckMeasureOptions(const ImportanceToolOptions& options) {
  if (options.model.empty()) return UsageError("MODEL is required; see sti-importance --help");
  if (options.data.empty()) return UsageError("--data FILE is required; see sti-importance --help");
  if (options.output.empty()) return UsageError("-o FILE is required; see sti-importance --help");
  return {};
}

}  // namespace sti
