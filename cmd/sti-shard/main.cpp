// sti-shard: a model folder in, a shard container out.
#include <nlohmann/json.hpp>

#include "common/cli.h"
#include "common/files.h"
#include "common/outputs.h"
#include "common/parse.h"
#include "common/tool.h"
#include "import/shard_model.h"
#include "text/unicode.h"

namespace sti {
namespace {

struct Options {
  std::string folder;
  std::string output;
  std::vector<uint32_t> bits{2, 3, 4, 5, 6, 32};
  std::vector<std::string> plans;
  std::string codebook = "tree";
  std::string embeddings = "exact";
  std::string layout = "shard";
  uint32_t threads = AvailableThreads();
  bool dry_run = false;
};

void AddOptions(CLI::App& app, Options& options) {
  app.add_option("MODEL_DIR", options.folder, "folder with config.json, safetensors, vocabulary")
      ->required();
  app.add_option("-o,--output", options.output, "container to write")->type_name("FILE");
  AddParsed(app, "--bits", options.bits, ParseList, "bitwidths to store: 2-6, 32 = exact [2-6,32]");
  app.add_option("--for", options.plans, "store only what these plans read")
      ->delimiter(',')
      ->type_name("PLAN,...")
      ->excludes("--bits");
  app.add_option("--codebook", options.codebook, "tree: nested Lloyd, scaled; gobo: the paper's")
      ->check(CLI::IsMember({"gobo", "tree"}))
      ->type_name("")
      ->capture_default_str();
  app.add_option("--embeddings", options.embeddings, "word rows: exact, or 8 bits a value")
      ->check(CLI::IsMember({"exact", "8"}))
      ->type_name("")
      ->capture_default_str();
  app.add_option("--layout", options.layout, "what lies together: shard or plane")
      ->check(CLI::IsMember({"shard", "plane"}))
      ->type_name("")
      ->capture_default_str();
  app.add_option("--threads", options.threads, "layers at once")
      ->check(CLI::Range(1, 256))
      ->type_name("N");
  app.add_flag("--dry-run", options.dry_run, "print sizes, write nothing");
}

Status CheckOptions(const Options& options) {
  for (uint32_t bits : options.bits) {
    if ((bits < 2 || bits > 6) && bits != 32) {
      return UsageError("--bits: shards have 2 to 6 bits, or 32 for full fidelity, not " +
                        std::to_string(bits));
    }
  }
  if (options.output.empty() && !options.dry_run) {
    return UsageError("-o FILE is missing; or give --dry-run to see sizes");
  }
  if (options.output == "-") return UsageError("-o -: a container cannot go to stdout");
  return {};
}

// Returns the bytes of all shards' parts of one kind.
uint64_t PartBytes(const ContainerIndex& index, PartKind part) {
  uint64_t bytes = 0;
  for (const ShardLocation& shard : index.shards) bytes += shard.parts[part].length;
  return bytes;
}

uint64_t Weights(const ContainerIndex& index) {
  return index.info.shape.shard_weights() * index.shards.size();
}

// Returns the share of all weights that are outliers.
double OutlierShare(const ShardReport& report) {
  uint64_t outliers = 0;
  for (uint64_t layer : report.outliers) outliers += layer;
  return static_cast<double>(outliers) / static_cast<double>(Weights(report.index));
}

// Returns one object on one line.
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
  return json.dump();
}

// Returns a line for people that begins with `head`.
std::string ReportText(const std::string& head, const ShardReport& report) {
  const ModelShape& shape = report.index.info.shape;
  char numbers[96];
  std::snprintf(numbers, sizeof(numbers),
                ": %ux%u shards, %s, %.2f bits a weight, %.2f %% outliers", shape.layers,
                shape.width, FormatBytes(report.file_bytes).c_str(),
                ProgressiveBitsPerWeight(report.index), OutlierShare(report) * 100);
  return head + numbers;
}

void Print(const Tool& tool, const Options& options, const ShardReport& report) {
  if (tool.json()) {
    std::printf("%s\n", ReportToJson(report).c_str());
  } else if (options.dry_run) {
    std::printf("%s\n", ReportText("would write", report).c_str());
  } else {
    tool.Say(ReportText(options.output, report));
  }
}

Result<int> Run(const Tool& tool, const Options& options) {
  STI_RETURN_IF_ERROR(CheckOptions(options));
  const Output output{"-o", options.output};
  STI_RETURN_IF_ERROR(CheckKeepsFolder(output, options.folder, "a file of the model folder"));
  for (const std::string& plan : options.plans)
    STI_RETURN_IF_ERROR(CheckKeepsInput(output, plan, "a plan of --for"));
  STI_ASSIGN_OR_RETURN(ModelFolder folder, ModelFolder::Open(options.folder));
  if (!folder.info().elastic) {
    const ModelShape& shape = folder.info().shape;
    tool.Say("the model has no elastic metadata: submodels of n < " + std::to_string(shape.layers) +
             " layers or m < " + std::to_string(shape.width) +
             " slices are allowed, but not trained for");
  }
  ShardOptions work;
  work.bits = options.bits;
  work.codebook = options.codebook == "gobo" ? CodebookKind::kGobo : CodebookKind::kScaledTree;
  work.rows = options.embeddings == "exact" ? RowCoding::kExact : RowCoding::kEightBit;
  work.layout = options.layout == "shard" ? Layout::kShard : Layout::kPlane;
  work.threads = options.threads;
  work.unicode = UnicodeVersion();
  for (const std::string& path : options.plans) {
    STI_ASSIGN_OR_RETURN(Plan plan, ReadPlan(path));
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
  sti::Tool tool("sti-shard",
                 "Cuts a fine-tuned BERT, DistilBERT or RoBERTa classifier into shards, stored "
                 "progressively at 2 to 6 bits and full fidelity.",
                 "sti-shard my-model/ -o model.sti");
  sti::Options options;
  sti::AddOptions(tool.app(), options);
  return tool.Main(argc, argv, [&] { return sti::Run(tool, options); });
}
