#include "options.h"

#include "common/cli.h"
#include "common/files.h"
#include "common/parse.h"

namespace sti {

void AddProfileToolOptions(CLI::App& app, ProfileToolOptions& options) {
  app.add_option("MODEL", options.model, "container made by sti-shard")
      ->required()
      ->type_name(kFile);
  app.add_option("-o,--output", options.output, "file to write; .json for JSON, - for stdout")
      ->required()
      ->type_name(kFile)
      ->group(kMostUsed);
  AddParsed(app, "--lengths", options.lengths, kList,
            "input lengths in tokens [16,24,32,48,64,96,128]")
      ->group(kMostUsed);
  AddParsed(app, "--widths", options.widths, kList,
            "slices a layer [all trained that --budget allows]")
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
}

}  // namespace sti
