#include "options.h"

#include <algorithm>
#include <cctype>

#include "common/cli.h"
#include "common/files.h"
#include "common/option_rules.h"
#include "common/parse.h"

namespace sti {
namespace {

constexpr Choice<OnLate> kOnLate[] = {
    {"wait", OnLate::kWait}, {"degrade", OnLate::kDegrade}, {"fail", OnLate::kFail}};
constexpr Choice<Backend> kBackends[] = {{"native", Backend::kNative},
                                         {"openblas", Backend::kOpenBlas}};

constexpr Choice<VectorFormat> kVectorFormats[] = {
    {"text", VectorFormat::kText}, {"f32", VectorFormat::kF32}, {"npy", VectorFormat::kNpy}};

constexpr Choice<StageCarrier> kStageCarriers[] = {{"frames", StageCarrier::kFrames},
                                                   {"mpi", StageCarrier::kMpi}};

constexpr Choice<Aggregation> kAggregations[] = {{"none", Aggregation::kNone},
                                                 {"simple", Aggregation::kSimple},
                                                 {"first", Aggregation::kFirst},
                                                 {"average", Aggregation::kAverage},
                                                 {"max", Aggregation::kMax}};

void AddEmbeddingOptions(CLI::App& app, RunOptions& o) {
  AddChoice(app, "--format", o.format, kVectorFormats,
            "of embeddings: lines, bare floats or numpy's [text]");
  app.add_option("--dimensions", o.dimensions, "of embeddings: the first K, of unit length again")
      ->check(CLI::Range(1, 16384))
      ->type_name("K");
  AddChoice(app, "--aggregate", o.aggregation, kAggregations,
            "of token labels: how tokens become spans [first]");
  app.add_option("--prefix", o.prefix, "in front of each text, as some models want it")
      ->type_name("TEXT");
  app.add_option("--nearest", o.nearest,
                 "give labels, those of the nearest examples: a data set, or what --keep wrote")
      ->type_name(kFile);
  app.add_option("--keep", o.keep, "of --nearest: the examples' vectors, written if not there")
      ->type_name(kFile);
}

void AddGenerateOptions(CLI::App& app, RunOptions& o) {
  app.add_option("--generate", o.generate, "continue each text by up to N tokens")
      ->check(CLI::Range(1, 65536))
      ->type_name("N");
  app.add_flag("--stream", o.stream, "of --generate: write each token as soon as it is there");
}

void AddGateOptions(CLI::App& app, RunOptions& o) {
  AddParsed(app, "--min-accuracy", o.gates.min_accuracy, kShare, "with --eval: exit 4 below it")
      ->group(kMostUsed);
  AddParsed(app, "--max-p99", o.gates.max_p99_us, kTime, "with --eval: exit 4 above it");
  AddParsed(app, "--max-memory", o.gates.max_memory_bytes, kSize,
            "with --eval: exit 4 above it, at the peak");
  AddParsed(app, "--max-bytes", o.gates.max_input_bytes, kSize,
            "with --eval: exit 4 if an input reads more, on average");
  app.add_option("--max-misses", o.gates.max_misses, "with --eval: exit 4 if more inputs are late")
      ->check(CLI::Range(0, 16777216))
      ->type_name("N");
  app.add_option("--baseline", o.baseline, "with --eval: what --eval --json printed before")
      ->type_name(kFile);
  AddParsed(app, "--max-drop", o.gates.max_drop, kShare,
            "with --baseline: exit 4 if accuracy fell by more");
}

// A text is continued as it comes, by the one model or by the one that its line names.
Status CheckGenerate(const CLI::App& app, const RunOptions& o) {
  STI_RETURN_IF_ERROR(RequireOption(app, {"--stream"}, "--generate"));
  if (!o.generate) return {};
  STI_RETURN_IF_ERROR(
      RefuseBeside(app, "--json", {"--stream"}, "an answer is one line, written when it is whole"));
  STI_RETURN_IF_ERROR(
      RefuseBeside(app, "--stream", {"--model"}, "the lines of several models come side by side"));
  STI_RETURN_IF_ERROR(RefuseBeside(app, "--generate", {"--on-late", "--turn-gap", "--replan"},
                                   "tokens come one after another, however late"));
  return RefuseBeside(
      app, "--generate",
      {"--eval", "--nearest", "--window", "--pairs", "--prefix", "--top", "--threshold", "--format",
       "--dimensions", "--aggregate", "--stage", "--seed", "--trace"},
      "it continues a text, token by token");
}

constexpr std::string_view kNoAnswers = "it prints no answers";

// An evaluation asks for the rows of a data set, one after another, and answers with their sum.
Status CheckEvaluation(const CLI::App& app, const RunOptions& o) {
  STI_RETURN_IF_ERROR(RequireOption(
      app,
      {"--min-accuracy", "--max-p99", "--max-memory", "--max-bytes", "--max-misses", "--baseline"},
      "--eval"));
  if (o.nearest.empty()) {
    STI_RETURN_IF_ERROR(
        RequireOption(app, {"--text-column", "--pair-column", "--label-column"}, "--eval"));
    STI_RETURN_IF_ERROR(RefuseBeside(app, "--eval", {"--dimensions"}, kNoAnswers));
  }
  STI_RETURN_IF_ERROR(RequireOption(app, {"--max-drop"}, "--baseline"));
  STI_RETURN_IF_ERROR(RefuseBeside(app, "--eval", {"TEXT", "--ids", "--pairs", "--one-shot"},
                                   "its inputs are the rows of a data set"));
  STI_RETURN_IF_ERROR(RefuseBeside(app, "--eval", {"--top", "--format"}, kNoAnswers));
  if (o.baseline == "-" && o.eval == "-") {
    return UsageError("--baseline and --eval cannot both be stdin; name a file");
  }
  return CheckColumnChoice(o.columns);
}

// A model that embeds gives the labels of examples, which are a file: stdin has the inputs.
Status CheckNearest(const CLI::App& app, const RunOptions& o) {
  STI_RETURN_IF_ERROR(RequireOption(app, {"--keep"}, "--nearest"));
  STI_RETURN_IF_ERROR(RefuseBeside(app, "--nearest", {"--format"}, "its answers are labels"));
  for (const auto& [option, path] : {std::pair("--nearest", &o.nearest), {"--keep", &o.keep}}) {
    if (*path == "-") return UsageError(std::string(option) + " is a file; name one");
  }
  return {};
}

// A plan that is exchanged for another has to be there, and more than one input to come.
Status CheckReplan(const CLI::App& app, const RunOptions& o) {
  STI_RETURN_IF_ERROR(RequireOption(app, {"--importance"}, "--replan"));
  STI_RETURN_IF_ERROR(RequireOption(app, {"--replan"}, "--plan"));
  STI_RETURN_IF_ERROR(RefuseBeside(app, "--one-shot", {"--replan"}, "one input sees no change"));
  if (o.replan.empty()) return {};
  for (const std::string& path : {o.plan, o.replan, o.importance}) {
    if (path == "-") return UsageError("--replan reads no plan, profile or importance from stdin");
  }
  return {};
}

// Several models have a plan each, and lines on stdin say which of them is asked. An option about
// one model alone has no place beside them.
Status CheckModels(const CLI::App& app, const RunOptions& o) {
  if (o.models.empty() && o.model.empty()) {
    return UsageError("MODEL is required, or --model NAME=FILE; see sti-run --help");
  }
  const auto refuse = [&](OptionNames refused, std::string_view why) {
    return RefuseBeside(app, "--model", refused, why);
  };
  STI_RETURN_IF_ERROR(refuse({"MODEL", "TEXT"}, "lines on stdin say which model they are for"));
  STI_RETURN_IF_ERROR(refuse({"--plan", "--submodel", "--bits"},
                             "each model has a plan of its own, as --model NAME=FILE,PLAN"));
  STI_RETURN_IF_ERROR(refuse({"--replan", "--importance"}, "it plans anew for one model alone"));
  STI_RETURN_IF_ERROR(refuse({"--eval"}, "it measures one model alone"));
  STI_RETURN_IF_ERROR(refuse({"--stage"}, "it runs a stage of one model alone"));
  STI_RETURN_IF_ERROR(refuse({"--nearest"}, "its examples are for one model alone"));
  return refuse({"--trace"}, "it shows the lanes of one model alone");
}

// A stage has its plan's inputs, one pass after another, from its neighbour.
Status CheckStage(const CLI::App& app, const RunOptions& o) {
  STI_RETURN_IF_ERROR(RequireOption(app, {"--link", "--stage-timeout"}, "--stage"));
  if (o.stage.empty()) return {};
  STI_RETURN_IF_ERROR(RequireOption(app, {"--stage"}, "--plan"));
  if (o.plan == "-") return UsageError("--stage reads no plan from stdin, which has the inputs");
  if (o.stage_timeout_us && !(*o.stage_timeout_us >= 1e5))
    return UsageError("--stage-timeout is at least 100ms");
  if (o.on_late != OnLate::kWait)
    return UsageError("--stage takes no --on-late: a plan for a cluster has no target; drop one");
  return RefuseOptions(app, "--stage",
                       {"--eval", "--replan", "--nearest", "--window", "--idle", "--turn-gap",
                        "--one-shot", "--trace", "--seed"},
                       "it runs passes of a stream, as its neighbours do");
}

constexpr size_t kLongestName = 64;

// Such a name is safe on a terminal, and is neither a TAB nor the beginning of an error's line.
bool IsName(const std::string& text) {
  const auto is_allowed = [](unsigned char c) {
    return (c < 128 && std::isalnum(c) != 0) || c == '.' || c == '-' || c == '_';
  };
  return !text.empty() && text.size() <= kLongestName &&
         std::all_of(text.begin(), text.end(), is_allowed);
}

Result<ModelChoice> ParseModelChoice(const std::string& value) {
  const size_t equals = value.find('=');
  if (equals == std::string::npos) {
    return UsageError("--model " + OneLine(value) + " names no model; write NAME=FILE,PLAN");
  }
  ModelChoice choice;
  choice.name = value.substr(0, equals);
  if (!IsName(choice.name)) {
    return UsageError("--model: '" + OneLine(choice.name) +
                      "' is not a name; take up to 64 letters, digits, points, dashes and "
                      "underscores");
  }
  const std::string files = value.substr(equals + 1);
  const size_t comma = files.rfind(',');
  choice.model = files.substr(0, comma);
  if (comma != std::string::npos) choice.plan = files.substr(comma + 1);
  if (choice.model.empty()) {
    return UsageError("--model " + choice.name + "= has no container; write NAME=FILE,PLAN");
  }
  if (choice.plan == "-") {
    return UsageError("--model " + choice.name +
                      ": stdin has the inputs, no plan; name the plan's file");
  }
  return choice;
}

}  // namespace

Result<std::vector<ModelChoice>> ParseModelChoices(const std::vector<std::string>& values) {
  std::vector<ModelChoice> choices;
  for (const std::string& value : values) {
    STI_ASSIGN_OR_RETURN(ModelChoice choice, ParseModelChoice(value));
    const auto same = [&](const ModelChoice& other) { return other.name == choice.name; };
    if (std::any_of(choices.begin(), choices.end(), same)) {
      return UsageError("--model: two models have the name '" + choice.name +
                        "'; give each its own");
    }
    choices.push_back(std::move(choice));
  }
  return choices;
}

void AddRunOptions(CLI::App& app, RunOptions& o) {
  app.add_option("MODEL", o.model, "container made by sti-shard")->type_name(kFile);
  app.add_option("TEXT", o.texts, "inputs; without any, one a line on stdin");
  app.add_option("--model", o.models, "one of several, PLAN optional: lines are NAME<tab>TEXT")
      ->allow_extra_args(false)
      ->type_name("NAME=FILE,PLAN");
  app.add_option("--plan", o.plan, "plan made by sti-plan")->type_name(kFile)->group(kMostUsed);
  app.add_option("--replan", o.replan, "plan anew by this profile when the device changes")
      ->type_name(kFile);
  app.add_option("--importance", o.importance, "of --replan: shard importance")->type_name(kFile);
  AddParsed(app, "--submodel", o.submodel, kSubmodel, "layers x slices, without a plan")
      ->group(kMostUsed);
  app.add_option("--bits", o.bits, "bits of all shards, without a plan")
      ->type_name("K")
      ->group(kMostUsed);
  AddChoice(app, "--on-late", o.on_late, kOnLate, "short of time: report, degrade or exit 4 [wait]")
      ->group(kMostUsed);
  app.add_option("--io", o.io, "how shards are read [auto]")->type_name(kReadPathNames);
  AddChoice(app, "--backend", o.backend, kBackends, "whose arithmetic [native]");
  app.add_option("--compute", o.compute, "type of the arithmetic [the plan's, or fp32]")
      ->type_name(kComputeNames);
  app.add_option("--instructions", o.instructions,
                 "keep to an older instruction set, e.g. sse4 [the best]")
      ->type_name("NAME");
  AddParsed(app, "--memory", o.memory_bytes, kSize, "most memory of the process")->group(kMostUsed);
  app.add_option("--threads", o.threads, "of the compute lane [the plan's, or all]")
      ->group(kMostUsed)
      ->check(CLI::Range(1, 256))
      ->type_name("N");
  AddParsed(app, "--cpus", o.cpus, kList, "run on these cores, e.g. 4-7 [the plan's]");
  app.add_flag("--lock-memory", o.lock_memory, "keep shards and working memory in RAM");
  app.add_flag("--priority", o.priority, "compute and read ahead of other processes");
  AddParsed(app, "--idle", o.idle_us, kTime, "give working memory back after such a pause");
  app.add_flag("--one-shot", o.one_shot, "one input, then exit")->group(kMostUsed);
  AddParsed(app, "--turn-gap", o.turn_gap_us, kTime,
            "a longer pause begins anew with turn 1 [60s]");
  AddGenerateOptions(app, o);
  app.add_flag("--ids", o.ids, "inputs are token ids");
  app.add_flag("--pairs", o.pairs, "a tab separates two sentences")->group(kMostUsed);
  app.add_option("--window", o.window, "longer texts in windows of N tokens, and one answer of all")
      ->check(CLI::Range(1, 65536))
      ->type_name("N");
  app.add_option("--stride", o.stride, "tokens from a window to the next [half a window]")
      ->check(CLI::Range(1, 65536))
      ->type_name("N");
  app.add_option("--top", o.top, "scores of the K best labels only")
      ->check(CLI::Range(1, 65536))
      ->type_name("K");
  app.add_option("--threshold", o.threshold, "least score of a label, multi-label models [0.5]")
      ->type_name("P");
  AddEmbeddingOptions(app, o);
  app.add_option("--seed", o.seed, "of inputs that a cascade sends on by chance [0]")
      ->type_name("N");
  app.add_option(
         "--stage", o.stage,
         "run this device's stage of a plan by sti-plan --cluster; auto: this host's, or rank's")
      ->type_name("NAME|auto");
  AddChoice(app, "--link", o.link, kStageCarriers,
            "join stages by frames on stdin and stdout, or as ranks of MPI [frames]");
  AddParsed(app, "--stage-timeout", o.stage_timeout_us, kTime,
            "a neighbour that shows no life for so long is lost [10 periods, least 5s]");
  app.add_flag("--stats", o.stats, "times and bytes of every input, on stderr")->group(kMostUsed);
  app.add_option("--trace", o.trace, "write lanes as Chrome trace events")->type_name(kFile);
  app.add_option("--eval", o.eval, "measure on a labelled data set")
      ->type_name(kFile)
      ->group(kMostUsed);
  AddColumnOptions(app, o.columns);
  AddGateOptions(app, o);
}

Status CheckRunOptions(const CLI::App& app, const RunOptions& o) {
  STI_RETURN_IF_ERROR(CheckModels(app, o));
  if (!o.plan.empty() && (o.submodel || o.bits)) {
    return UsageError("--submodel and --bits choose what --plan has chosen already; drop one");
  }
  if (o.backend != Backend::kNative) {
    STI_RETURN_IF_ERROR(
        RefuseBeside(app, "--backend", {"--instructions"}, "OpenBLAS takes the best itself"));
  }
  STI_RETURN_IF_ERROR(CheckGenerate(app, o));
  STI_RETURN_IF_ERROR(CheckStage(app, o));
  STI_RETURN_IF_ERROR(CheckReplan(app, o));
  STI_RETURN_IF_ERROR(CheckNearest(app, o));
  STI_RETURN_IF_ERROR(CheckEvaluation(app, o));
  STI_RETURN_IF_ERROR(RequireOption(app, {"--top"}, "--json"));
  if (o.models.empty()) STI_RETURN_IF_ERROR(RequireOption(app, {"--seed"}, "--plan"));
  STI_RETURN_IF_ERROR(RequireOption(app, {"--stride"}, "--window"));
  STI_RETURN_IF_ERROR(
      RefuseBeside(app, "--ids", {"--window"}, "ids have no words to split between"));
  STI_RETURN_IF_ERROR(RefuseBeside(app, "--one-shot", {"--turn-gap"}, "one input is one turn"));
  STI_RETURN_IF_ERROR(RefuseBeside(app, "TEXT", {"--one-shot"}, "each text given is answered"));
  for (const char* without_pause : {"TEXT", "--one-shot", "--eval"})
    STI_RETURN_IF_ERROR(RefuseBeside(app, without_pause, {"--idle"}, "inputs have no pauses then"));
  STI_RETURN_IF_ERROR(RefuseBeside(app, "--lock-memory", {"--idle"}, "locked memory stays"));
  if (o.threshold && !(*o.threshold > 0 && *o.threshold < 1)) {
    return UsageError("--threshold is between 0 and 1, both excluded, such as 0.5");
  }
  for (const char* other : {"--json", "--model"}) {
    STI_RETURN_IF_ERROR(RefuseBeside(app, other, {"--format"}, "its results are lines"));
  }
  STI_RETURN_IF_ERROR(RefuseBeside(app, "--ids", {"--prefix"}, "ids have no text in front"));
  if (o.ids && o.pairs) return UsageError("--ids and --pairs do not go together");
  return {};
}

}  // namespace sti
