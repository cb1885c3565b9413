// sti-importance: which shards matter, measured on a dev set (STI 5.2).
#include "common/cli.h"
#include "jobs.h"

int main(int argc, char** argv) {
  sti::Tool tool("sti-importance",
                 "Measures how much each shard matters: all shards at their fewest bits, one at "
                 "its most, on a dev set.",
                 "sti-importance model.sti --data dev.tsv -o model.importance");
  sti::ImportanceToolOptions options;
  sti::AddImportanceOptions(tool.app(), options);
  return tool.Main(argc, argv, [&]() -> sti::Result<int> {
    STI_RETURN_IF_ERROR(sti::CheckSubcommandOptions(tool.app(), options));
    if (tool.app().got_subcommand("show")) return sti::Show(tool, options);
    if (tool.app().got_subcommand("merge")) return sti::Merge(tool, options);
    return sti::Measure(tool, options);
  });
}
