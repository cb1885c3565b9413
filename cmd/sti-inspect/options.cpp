#include "options.h"

#include "common/cli.h"
#include "common/option_rules.h"

namespace sti {

void AddInspectOptions(CLI::App& app, InspectOptions& options) {
  app.add_option("FILE", options.file, "container, importance or part of one, profile or plan")
      ->required()
      ->type_name(kFile);
  app.add_flag("--verify", options.verify, "read and check everything")->group(kMostUsed);
  app.add_flag("--tokenize", options.tokenize, "token ids of the lines on stdin, with a container")
      ->group(kMostUsed);
  app.add_option("--export", options.export_bits,
                 "write a model folder with weights of so many bits")
      ->check(CLI::IsMember({2, 3, 4, 5, 6, 32}))
      ->type_name("")
      ->group(kMostUsed);
  app.add_option("-o,--output", options.output, "with --export: the new folder")
      ->type_name(kFolder)
      ->group(kMostUsed);
  app.add_flag("--pairs", options.pairs, "with --tokenize: a tab separates two sentences")
      ->group(kMostUsed);
  app.add_flag("--offsets", options.offsets,
               "with --tokenize: the bytes of its text that each token stands for");
}

Status CheckInspectOptions(const CLI::App& app, const InspectOptions& options) {
  STI_RETURN_IF_ERROR(RequireOption(app, {"--pairs", "--offsets"}, "--tokenize"));
  STI_RETURN_IF_ERROR(RefuseBeside(app, "--verify", {"--tokenize", "--export", "--output"},
                                   "it reads a file and does no more with it"));
  STI_RETURN_IF_ERROR(RefuseBeside(app, "--tokenize", {"--export", "--output"}, "it writes lines"));
  if ((options.export_bits != 0) != !options.output.empty()) {
    return UsageError("--export K and -o DIR belong together");
  }
  return {};
}

}  // namespace sti
