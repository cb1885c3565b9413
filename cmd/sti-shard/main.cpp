// sti-shard: a model folder in, a shard container out.
#include <cstdio>

#include "base/counted.h"
#include "common/files.h"
#include "common/outputs.h"
#include "import/shard_model.h"
#include "options.h"
#include "report.h"
#include "text/unicode.h"

namespace sti {
namespace {

void Print(const Tool& tool, const ShardToolOptions& options, const ShardReport& report) {
  if (tool.json()) {
    std::printf("%s\n", ReportToJson(report).c_str());
  } else if (options.dry_run) {
    std::printf("%s\n", ReportText("would write", report).c_str());
  } else {
    tool.Say(ReportText(options.output, report));
  }
}

// Puts a plain model's heads and neurons in the order of an importance file.
Status Sort(const Tool& tool, const ShardToolOptions& options, ModelFolder* folder) {
  STI_ASSIGN_OR_RETURN(Importance importance, ReadImportance(options.sort, tool));
  if (importance.order.empty()) {
    return DataError("has no order of heads and neurons; make it with sti-importance --order")
        .At(options.sort);
  }
  if (!IsOfFolder(importance.model, *folder)) {
    return ForeignError("was measured on another model; measure this one, made without --sort")
        .At(options.sort);
  }
  return folder->Sort(std::move(importance.order));
}

Result<int> Run(const Tool& tool, const ShardToolOptions& options) {
  STI_RETURN_IF_ERROR(CheckShardToolOptions(tool.app(), options));
  const Output output{"-o", options.output};
  STI_RETURN_IF_ERROR(CheckKeepsFolder(output, options.folder, "a file of the model folder"));
  for (const std::string& plan : options.plans)
    STI_RETURN_IF_ERROR(CheckKeepsInput(output, plan, "a plan of --for"));
  STI_RETURN_IF_ERROR(CheckKeepsFolder(output, options.parts.tokenizer, "a file of --tokenizer"));
  STI_RETURN_IF_ERROR(CheckKeepsInput(output, options.parts.labels, "the file of --labels"));
  STI_RETURN_IF_ERROR(CheckKeepsInput(output, options.sort, "the file of --sort"));
  if (!options.dry_run) STI_RETURN_IF_ERROR(CheckOutput(output));
  FolderParts parts = options.parts;
  parts.log = [&tool](const LogLine& line) { tool.Log(line); };
  STI_ASSIGN_OR_RETURN(ModelFolder folder, ModelFolder::Open(options.folder, parts));
  if (!folder.info().elastic) {
    const ModelShape& shape = folder.info().shape;
    tool.Say("the model has no elastic metadata: submodels of n < " + std::to_string(shape.layers) +
             " layers or m < " + std::to_string(shape.width) +
             " slices are allowed, but not trained for");
  }
  if (!options.sort.empty()) STI_RETURN_IF_ERROR(Sort(tool, options, &folder));
  tool.Explain(Counted(folder.info().shape.layers, "layer") + ", " +
               std::to_string(options.threads) + " at once; codebook " + options.codebook +
               ", word rows " + options.embeddings + ", layout " + options.layout);
  ShardOptions work;
  work.bits = options.bits;
  work.codebook = options.codebook == "gobo" ? CodebookKind::kGobo : CodebookKind::kScaledTree;
  work.rows = options.embeddings == "exact" ? RowCoding::kExact : RowCoding::kEightBit;
  work.layout = options.layout == "shard" ? Layout::kShard : Layout::kPlane;
  work.threads = options.threads;
  work.unicode = UnicodeVersion();
  for (const std::string& path : options.plans) {
    STI_ASSIGN_OR_RETURN(Plan plan, ReadPlan(path, tool));
    work.plans.push_back(std::move(plan));
    work.plan_names.push_back(path);
  }
  work.progress = tool.Progress("sharding");
  work.cancelled = StopRequested;
  STI_ASSIGN_OR_RETURN(ShardReport report,
                       ShardModel(folder, work, options.dry_run ? "" : options.output));
  Print(tool, options, report);
  return 0;
}

}  // namespace
}  // namespace sti

int main(int argc, char** argv) {
  sti::Tool tool(
      "sti-shard",
      "Cuts a fine-tuned BERT, DistilBERT, RoBERTa or ELECTRA classifier into shards, stored "
      "progressively at 2 to 6 bits and full fidelity.",
      "sti-shard my-model/ -o model.sti");
  sti::ShardToolOptions options;
  sti::AddShardToolOptions(tool.app(), options);
  return tool.Main(argc, argv, [&] { return sti::Run(tool, options); });
}
