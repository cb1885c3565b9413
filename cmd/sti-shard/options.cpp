#include "options.h"

#include "common/cli.h"
#include "common/option_rules.h"
#include "common/parse.h"

namespace sti {
namespace {

constexpr Choice<std::optional<Pooling>> kPoolings[] = {
    {"mean", Pooling::kMean}, {"cls", Pooling::kFirst}, {"max", Pooling::kMaximum}};

}  // namespace

void AddShardToolOptions(CLI::App& app, ShardToolOptions& options) {
  app.add_option("MODEL_DIR", options.folder, "folder with config.json, weights, vocabulary")
      ->required()
      ->type_name(kFolder);
  app.add_option("-o,--output", options.output, "container to write")
      ->type_name(kFile)
      ->group(kMostUsed);
  AddParsed(app, "--bits", options.bits, kList,
            "bitwidths to store: 2-6, 32 = exact [2-6,32] (not with --for)")
      ->group(kMostUsed);
  app.add_option("--for", options.plans, "store only what these plans read (not with --bits)")
      ->delimiter(',')
      ->type_name("FILE,...")
      ->group(kMostUsed);
  app.add_option("--stage", options.stage,
                 "of --for: store what this device's stage of the plan runs, and no more")
      ->type_name("NAME");
  app.add_option("--tokenizer", options.parts.tokenizer, "folder of the tokenizer [MODEL_DIR]")
      ->type_name(kFolder);
  app.add_option("--labels", options.parts.labels, "names of the labels, one a line, by id")
      ->type_name(kFile);
  AddChoice(app, "--pooling", options.parts.pooling, kPoolings,
            "of an encoder that embeds texts: of all tokens, or the first")
      ->group(kMostUsed);
  app.add_option("--sort", options.sort, "put heads and neurons in the order that --order found")
      ->type_name(kFile);
  app.add_option("--codebook", options.codebook, "tree: nested Lloyd, scaled; gobo: the paper's")
      ->group(kMostUsed)
      ->check(CLI::IsMember({"gobo", "tree"}))
      ->type_name("")
      ->capture_default_str();
  app.add_option("--embeddings", options.embeddings, "word rows: exact, or 8 bits a value")
      ->check(CLI::IsMember({"exact", "8"}))
      ->type_name("")
      ->capture_default_str();
  app.add_option("--layout", options.layout, "what lies together")
      ->check(CLI::IsMember({"shard", "plane"}))
      ->type_name("")
      ->capture_default_str();
  app.add_option("--threads", options.threads, "layers at once")
      ->group(kMostUsed)
      ->check(CLI::Range(1, 256))
      ->type_name("N");
  app.add_flag("--dry-run", options.dry_run, "print sizes, write nothing")->group(kMostUsed);
}

Status CheckShardToolOptions(const CLI::App& app, const ShardToolOptions& options) {
  STI_RETURN_IF_ERROR(RefuseBeside(app, "--for", {"--bits"}, "its plans say which bits they read"));
  STI_RETURN_IF_ERROR(RequireOption(app, {"--stage"}, "--for"));
  if (!options.stage.empty() && options.plans.size() != 1)
    return UsageError("--stage is of one plan; drop the others");
  STI_RETURN_IF_ERROR(RefuseBeside(app, "--pooling", {"--labels"},
                                   "a model that embeds texts has no labels to name"));
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

}  // namespace sti
