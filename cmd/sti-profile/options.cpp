#include "options.h"

#include <cstddef>
#include <string>

#include "common/cli.h"
#include "common/files.h"
#include "common/option_rules.h"
#include "common/parse.h"
#include "types/limits.h"

namespace sti {
namespace {

void AddMergeOptions(CLI::App& app, ProfileToolOptions& options) {
  CLI::App* merge = app.add_subcommand("merge", "join profiles of one device and model shape");
  merge->fallthrough();  // --json and -q are the tool's own
  merge->add_option("PROFILE", options.merge_files, "of other clocks, lengths or widths")
      ->required()
      ->type_name(kFile);
  merge->add_option("-o,--output", options.output, "file to write; .json for JSON, - for stdout")
      ->type_name(kFile)
      ->group(kMostUsed);
  merge->footer("sti-profile merge slow.profile fast.profile -o device.profile");
}

}  // namespace

void AddProfileToolOptions(CLI::App& app, ProfileToolOptions& options) {
  app.add_option("MODEL", options.model, "container made by sti-shard")->type_name(kFile);
  app.add_option("-o,--output", options.output, "file to write; .json for JSON, - for stdout")
      ->type_name(kFile)
      ->group(kMostUsed);
  AddParsed(app, "--lengths", options.lengths, kList,
            "input lengths in tokens [16,24,32,48,64,96,128]")
      ->group(kMostUsed);
  AddParsed(app, "--widths", options.widths, kList,
            "slices a layer [all trained that --budget allows]")
      ->group(kMostUsed);
  AddParsed(app, "--batches", options.batches, kList,
            "passes of so many inputs together too, as sti-plan --cluster plans [1]")
      ->group(kMostUsed);
  app.add_option("--threads", options.threads, "of the compute lane [all cores allowed]")
      ->check(CLI::Range(1, 256))
      ->type_name("N")
      ->group(kMostUsed);
  AddParsed(app, "--cpus", options.cpus, kList, "run on these cores, e.g. 4-7")->group(kMostUsed);
  AddParsed(app, "--gap", options.gap_us, kTime, "idle before each sample, e.g. 2s")
      ->group(kMostUsed);
  AddParsed(app, "--precision", options.precision, kShare,
            "of medians: half the 95 % interval [2%]");
  AddParsed(app, "--budget", options.budget_us, kTime,
            "time for all samples, gaps not counted [0.35s each, of 3 lengths]");
  app.add_option("--io", options.io, "how shards are read [auto]")->type_name(kReadPathNames);
  app.add_option("--compute", options.compute, "type of the arithmetic [fp32]")
      ->type_name(kComputeNames)
      ->group(kMostUsed);
  app.add_option("--instructions", options.instructions,
                 "keep to an older instruction set, e.g. sse4 [the best]")
      ->type_name("NAME");
  AddParsed(app, "--clocks", options.clocks_khz, kList,
            "measure at each of these clocks in kHz, which takes root");
  app.require_subcommand(0, 1);
  AddMergeOptions(app, options);
}

Status CheckProfileToolOptions(const CLI::App& app, const ProfileToolOptions& options) {
  const bool merges = app.got_subcommand("merge");
  const std::string help = std::string("; see sti-profile ") + (merges ? "merge " : "") + "--help";
  if (merges) {
    const std::string name = OtherOption(app, {"--output"});
    if (!name.empty()) return UsageError("merge takes no " + name + "; leave it out" + help);
  } else if (options.model.empty()) {
    return UsageError("MODEL is required" + help);
  }
  if (!options.batches.empty()) {
    if (options.batches.front() < 1 || options.batches.back() > kMaxMicrobatch)
      return UsageError("--batches: a pass has 1 to " + std::to_string(kMaxMicrobatch) + " inputs");
    const size_t several = options.batches.size() - (options.batches.front() == 1 ? 1 : 0);
    if (several > kMaxProfiledBatches) {
      return UsageError("--batches: a profile has at most " + std::to_string(kMaxProfiledBatches) +
                        " numbers of inputs beside 1");
    }
  }
  if (options.output.empty()) return UsageError("-o FILE is required" + help);
  return {};
}

}  // namespace sti
