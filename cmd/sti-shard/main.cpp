// sti-shard: a model folder in, a shard container out.

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "base/log.h"
#include "common/files.h"
#include "common/parse.h"
#include "import/shard_model.h"
#include "network/tensors.h"
#include "options.h"
#include "text/unicode.h"

namespace sti {
namespace {

// Returns the bytes of all shards' parts of one kind.
uint64_t PartBytes(const ContainerIndex& index, PartKind part) {
  uint64_t bytes = 0;
  for (const ShardLocation& shard : index.shards) bytes += shard.parts[part].length;
  return bytes;
}

uint64_t Weights(const ContainerIndex& index) {
  return ShardWeights(index.info.shape) * index.shards.size();
}

// Returns the share of all weights that are outliers.
double OutlierShare(const ShardReport& report) {
  uint64_t outliers = 0;
  for (uint64_t layer : report.outliers) outliers += layer;
  return static_cast<double>(outliers) / static_cast<double>(Weights(report.index));
}

// Returns the report as one JSON object on one line.
std::string ReportToJson(const ShardReport& report) {
  const ContainerIndex& index = report.index;
  const ModelShape& shape = index.info.shape;
  uint64_t progressive = 0;
  for (const PartKind part : kPartKinds) {
    if (part != PartKind::kFull) progressive += PartBytes(index, part);
  }
  nlohmann::ordered_json json;
  json["model"] = index.model.Hex();
  json["layers"] = shape.layers;
  json["width"] = shape.width;
  json["bits"] = index.bits;
  json["file_bytes"] = report.file_bytes;
  json["progressive_bytes"] = progressive;
  json["full_bytes"] = PartBytes(index, PartKind::kFull);
  json["bits_per_weight"] = ProgressiveBitsPerWeight(index);
  json["outlier_share"] = OutlierShare(report);
  json["outlier_shares"] = nlohmann::ordered_json::array();  // of each layer
  for (uint64_t layer : report.outliers) {
    json["outlier_shares"].push_back(static_cast<double>(layer * shape.layers) /
                                     static_cast<double>(Weights(index)));
  }
  return JsonLine(json);
}

// Returns the report as a line for people that begins with `head`.
std::string ReportText(const std::string& head, const ShardReport& report) {
  const ModelShape& shape = report.index.info.shape;
  char numbers[96];
  std::snprintf(numbers, sizeof(numbers),
                ": %ux%u shards, %s, %.2f bits a weight, %.2f %% outliers", shape.layers,
                shape.width, FormatBytes(report.file_bytes).c_str(),
                ProgressiveBitsPerWeight(report.index), OutlierShare(report) * 100);
  return head + numbers;
}

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
  if (!options.stage.empty()) {
    const Plan& plan = work.plans.front();
    if (plan.staged) work.stage = plan.staged->Find(options.stage);
    if (!work.stage) {
      return UsageError("--stage: " + options.plans.front() + " has no stage on " +
                        OneLine(options.stage) + "; sti-plan --cluster makes plans with stages");
    }
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
      "Cuts a BERT, DistilBERT, RoBERTa or ELECTRA that classifies or embeds into shards, stored "
      "progressively at 2 to 6 bits and full fidelity.",
      "sti-shard my-model/ -o model.sti");
  sti::ShardToolOptions options;
  sti::AddShardToolOptions(tool.app(), options);
  return tool.Main(argc, argv, [&] { return sti::Run(tool, options); });
}
