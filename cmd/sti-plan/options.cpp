#include "options.h"

#include <algorithm>

#include "common/cli.h"
#include "common/option_rules.h"
#include "common/parse.h"
#include "types/limits.h"

namespace sti {
namespace {

constexpr uint32_t kLongest = 65536;

// "auto", which is no number, or a list of microbatches.
Result<std::vector<uint32_t>> ParseMicrobatches(std::string_view text) {
  if (text == "auto") return std::vector<uint32_t>();
  STI_ASSIGN_OR_RETURN(std::vector<uint32_t> list, ParseList(text));
  for (const uint32_t microbatch : list) {
    if (microbatch < 1 || microbatch > kMaxMicrobatch)
      return UsageError(std::to_string(microbatch) + " is not from 1 to 256");
  }
  return list;
}
constexpr ValueKind<std::vector<uint32_t>> kMicrobatches{ParseMicrobatches, "auto|LIST"};

// "auto", which is no number, or a number of agents.
Result<std::optional<uint32_t>> ParseAgents(std::string_view text) {
  if (text == "auto") return std::optional<uint32_t>();
  STI_ASSIGN_OR_RETURN(const std::vector<uint32_t> list, ParseList(text));
  if (list.size() != 1 || list[0] < 1 || list[0] > kMaxReadStreams)
    return UsageError(std::string(text) + " is neither auto nor from 1 to 16");
  return std::optional(list[0]);
}
constexpr ValueKind<std::optional<uint32_t>> kAgents{ParseAgents, "auto|N"};

// Stdout holds one thing.
Status CheckGantt(const PlanOptions& o, const Tool& tool) {
  if (o.gantt != "-") return {};
  if (o.output == "-")
    return UsageError("-o - and --gantt - both want stdout; name a file for one");
  if (tool.json())
    return UsageError("--json and --gantt - both want stdout; name a file for --gantt");
  return {};
}

// A table of plans has no place for what makes one plan, or shows it.
Status CheckSweep(const CLI::App& app, const PlanOptions& o) {
  STI_RETURN_IF_ERROR(
      RequireOption(app, {"--targets", "--preloads", "--memories", "--sweep-svg"}, "--sweep"));
  if (!o.sweep) return {};
  STI_RETURN_IF_ERROR(RefuseBeside(app, "--memories",
                                   {"--memory", "--targets", "--preloads", "--sweep-svg"},
                                   "it lists memory alone"));
  if (!o.memories.empty() && o.request.strategy != Strategy::kPipeload) {
    return UsageError("--memories is for --strategy pipeload, not " + o.strategy +
                      "; leave one of them out");
  }
  STI_RETURN_IF_ERROR(RefuseOptions(
      app, "--sweep",
      {"--output", "--gantt", "--explain", "--turns", "--turn-buffer", "--min-accuracy"},
      "it shows many plans and writes none"));
  if (o.lengths.size() > 1) return UsageError("--sweep takes one --length; drop the others");
  if (o.freqs.size() > 1) return UsageError("--sweep takes one --freq; drop the others");
  if (o.request.batches.size() > 1)
    return UsageError("--sweep takes one of --batches; drop the others");
  STI_RETURN_IF_ERROR(RefuseBeside(app, "--targets", {"--target"}, "it lists them all"));
  STI_RETURN_IF_ERROR(
      RefuseBeside(app, "--cold", {"--preloads"}, "a cold start has nothing in memory"));
  return RefuseBeside(app, "--preloads", {"--preload"}, "it lists them all");
}

Status CheckOfPlan(const CLI::App& app) {
  return RefuseOtherOptions(app, "--check",
                            {"MODEL", "--profile", "--importance", "--check", "--target",
                             "--memory", "--risk", "--interpolate", "--explain", "--gantt"},
                            "it judges a plan as it is");
}

// A fallback is for one warm input after another under a target.
Status CheckGuarantee(const CLI::App& app, const PlanOptions& o) {
  if (!o.modes.guarantee) return {};
  if (o.strategy != "sti") {
    return UsageError("--guarantee is for --strategy sti, not " + o.strategy +
                      "; leave one of them out");
  }
  STI_RETURN_IF_ERROR(RefuseOptions(
      app, "--guarantee", {"--cold", "--turns", "--turn-buffer", "--io-budget", "--min-accuracy"},
      "its fallback stays in memory from one input to the next, under one target"));
  STI_RETURN_IF_ERROR(RefuseOptions(app, "--guarantee", {"--sweep"}, "it makes one plan"));
  return RequireOption(app, {"--guarantee"}, "--target");
}

// A cascade is chosen among those that were measured, for one warm input after another.
Status CheckCascade(const CLI::App& app, const PlanOptions& o) {
  STI_RETURN_IF_ERROR(RequireOption(app, {"--max-levels"}, "--cascade"));
  if (!o.modes.cascade) {
    if (o.strategy != "tabi") return {};
    return UsageError("--strategy tabi goes with --cascade; add it, or drop --strategy");
  }
  if (o.strategy != "sti" && o.strategy != "tabi") {
    return UsageError("--cascade is for --strategy sti or tabi, not " + o.strategy +
                      "; leave one of them out");
  }
  STI_RETURN_IF_ERROR(RefuseOptions(
      app, "--cascade",
      {"--submodel", "--bits", "--width-min", "--similar", "--io-budget", "--full-accuracy"},
      "its levels are as they were measured"));
  STI_RETURN_IF_ERROR(RefuseOptions(app, "--cascade",
                                    {"--cold", "--turns", "--turn-buffer", "--guarantee"},
                                    "it answers one warm input after another"));
  STI_RETURN_IF_ERROR(RefuseOptions(app, "--cascade", {"--sweep"}, "it makes one plan"));
  if (o.lengths.size() > 1) return UsageError("--cascade takes one --length; drop the others");
  if (o.freqs.size() > 1) return UsageError("--cascade takes one --freq; drop the others");
  STI_RETURN_IF_ERROR(RequireOption(app, {"--cascade"}, "--importance"));
  return RequireOption(app, {"--cascade"}, "--target");
}

// Options that a strategy, or a submodel that is named, leaves nothing to do.
Status CheckChoices(const CLI::App& app, const PlanOptions& o) {
  const std::string strategy = "--strategy " + o.strategy;
  if (o.strategy != "random")
    STI_RETURN_IF_ERROR(RefuseOptions(app, strategy, {"--seed"}, "random alone draws"));
  STI_RETURN_IF_ERROR(
      RefuseBeside(app, "--bits", {"--seed"}, "one bitwidth for all leaves nothing to draw"));
  if (!KeepsShards(DelayModelFor(o.request.strategy))) {
    STI_RETURN_IF_ERROR(
        RefuseOptions(app, strategy, {"--preload", "--preloads"}, "it keeps no shards in memory"));
  }
  if (o.request.strategy != Strategy::kPipeload)
    STI_RETURN_IF_ERROR(RefuseOptions(app, strategy, {"--agents"}, "it reads layer by layer"));
  STI_RETURN_IF_ERROR(RequireOption(app, {"--turn-buffer"}, "--turns"));
  STI_RETURN_IF_ERROR(RequireOption(app, {"--full-accuracy"}, "--min-accuracy"));
  if (!o.sweep && !o.request.min_accuracy) {
    STI_RETURN_IF_ERROR(RequireOption(app, {"--risk"}, "--target"));
    if (!o.request.io_budget_bytes) STI_RETURN_IF_ERROR(RequireOption(app, {"--seed"}, "--target"));
  }
  return RefuseBeside(app, "--submodel", {"--similar", "--width-min"}, "it names the submodel");
}

// Adds the options of plans for several devices.
void AddCluster(CLI::App& app, PlanOptions& o) {
  app.add_option("--cluster", o.cluster,
                 "split the model over these devices, each with its profile, for the most texts a "
                 "second")
      ->type_name(kFile);
  AddParsed(app, "--microbatch", o.microbatches, kMicrobatches,
            "of --cluster: texts that pass through the stages together, e.g. 4 [auto]");
}

// Adds the options that show plans, beside making one or in its place.
void AddViews(CLI::App& app, PlanOptions& o) {
  app.add_flag("--explain", o.explain, "print why each step was taken")->group(kMostUsed);
  app.add_option("--gantt", o.gantt, "SVG of IO and compute over time; - for stdout")
      ->type_name(kFile)
      ->group(kMostUsed);
  app.add_flag("--sweep", o.sweep, "table of targets x preload buffers; writes no plan")
      ->group(kMostUsed);
  AddParsed(app, "--targets", o.targets_us, kTimes, "of --sweep, e.g. 100ms,200ms [chosen]");
  AddParsed(app, "--preloads", o.preloads, kSizes, "of --sweep, e.g. 0,1MiB,4MiB [chosen]");
  AddParsed(app, "--memories", o.memories, kSizes,
            "of --sweep --strategy pipeload: agents, latency and peak for each, e.g. 64MiB,128MiB");
  app.add_option("--sweep-svg", o.sweep_svg, "also draw it: quality, latency, memory")
      ->type_name(kFile);
  app.add_option("--check", o.check, "judge this plan instead of making one")
      ->type_name(kFile)
      ->group(kMostUsed);
}

Status TakeLengths(PlanOptions& o) {
  for (uint32_t length : o.lengths) {
    if (length < 1 || length > kLongest)
      return UsageError("--length: " + std::to_string(length) + " is not from 1 to 65536");
  }
  if (!o.lengths.empty()) {
    o.request.length = *std::max_element(o.lengths.begin(), o.lengths.end());
    if (o.lengths.size() > 1) o.request.further_lengths = o.lengths;
  }
  return {};
}

// Stages are planned for the least period, from the profiles and the memory that the cluster says.
Status CheckCluster(const CLI::App& app, PlanOptions& o) {
  if (!o.check.empty()) {
    return RefuseOtherOptions(
        app, "--check",
        {"MODEL", "--cluster", "--importance", "--check", "--interpolate", "--explain", "--gantt"},
        "it judges a plan as it is");
  }
  STI_RETURN_IF_ERROR(RefuseOtherOptions(
      app, "--cluster",
      {"MODEL", "--cluster", "--microbatch", "--importance", "--output", "--length", "--bits",
       "--submodel", "--interpolate", "--allow-untrained", "--explain", "--gantt"},
      "it plans for the most texts a second, from profiles and memory that the file says"));
  if (o.lengths.size() > 1) return UsageError("--cluster takes one --length; drop the others");
  return TakeLengths(o);
}

}  // namespace

void AddPlanOptions(CLI::App& app, PlanOptions& o) {
  PlanRequest& r = o.request;
  app.add_option("MODEL", o.model, "container made by sti-shard")->required()->type_name(kFile);
  app.add_option("--profile", o.profile, "device profile, measured or written by hand")
      ->type_name(kFile)
      ->group(kMostUsed);
  app.add_option("--importance", o.importance, "shard importance [layer, then slice order]")
      ->type_name(kFile)
      ->group(kMostUsed);
  app.add_option("-o,--output", o.output, "plan to write; .json for JSON, - for stdout")
      ->type_name(kFile)
      ->group(kMostUsed);
  AddParsed(app, "--target", r.target_us, kTime, "latency to keep, e.g. 200ms")->group(kMostUsed);
  AddParsed(app, "--preload", r.preload_bytes, kSize, "preload buffer, e.g. 1MiB [0]")
      ->group(kMostUsed);
  AddParsed(app, "--memory", r.judging.memory_bytes, kSize, "most memory of the whole process")
      ->group(kMostUsed);
  AddParsed(app, "--length", o.lengths, kList, "tokens, or a list of variants [all profiled]")
      ->group(kMostUsed);
  AddParsed(app, "--batches", r.batches, kList, "images of a pass, or a list of variants [1]");
  app.add_option("--context", r.context, "most tokens of prompt and continuation [--length]")
      ->check(CLI::Range(1U, kLongest))
      ->type_name("TOKENS");
  app.add_option("--strategy", o.strategy, "how shards are chosen [sti]")
      ->check(CLI::IsMember(
          {"sti", "sti-paper", "load-exec", "stdpl", "preload", "pipeload", "random", "tabi"}))
      ->type_name("");
  AddParsed(app, "--agents", r.agents, kAgents,
            "of --strategy pipeload: that read layers side by side [auto]");
  app.add_option("--bits", r.uniform_bits, "one bitwidth for all shards")->type_name("K");
  AddParsed(app, "--min-accuracy", r.min_accuracy, kShare,
            "the fastest plan predicted to reach it, e.g. 90%")
      ->group(kMostUsed);
  AddParsed(app, "--full-accuracy", r.full_accuracy, kShare,
            "the full model's, for --min-accuracy by kl");
  AddParsed(app, "--wake", r.wake_us, kTime, "lead time before the text, spent on IO, e.g. 50ms");
  app.add_flag("--cold", o.modes.cold,
               "from process start to label, with opening the model; not with --preload, --turns, "
               "--wake");
  app.add_flag("--guarantee", o.modes.guarantee,
               "keep a fallback in --preload, so that every input has a label by --target");
  app.add_flag("--cascade", o.cascade,
               "submodels that answer easy inputs first, as measured by sti-importance --cascade");
  app.add_option("--max-levels", o.cascade_wish.max_levels, "of --cascade [3]")
      ->check(CLI::Range(2, 3))
      ->type_name("N");
  app.add_option("--turns", o.modes.turns, "plan this many back-to-back turns")
      ->check(CLI::Range(1, 64))
      ->type_name("N");
  AddParsed(app, "--turn-buffer", o.modes.turn_bytes, kSize,
            "memory that shards may keep between turns [--preload]");
  AddParsed(app, "--freq", o.freqs, kList, "CPU clock in kHz, or several [the highest profiled]");
  AddParsed(app, "--submodel", r.submodel, kSubmodel, "layers x slices, instead of choosing");
  app.add_option("--width-min", r.width_min, "fewest slices a layer")
      ->check(CLI::Range(1, 256))
      ->type_name("M");
  AddParsed(app, "--similar", r.similar, kShare, "fewer shards that count as similar [20%]");
  AddParsed(app, "--io-budget", r.io_budget_bytes, kSize,
            "further bytes to raise 2-bit shards to 6 with");
  app.add_option("--seed", r.seed, "of --strategy random")->type_name("N");
  app.add_option("--risk", o.risk, "times that decide what fits [p99]")
      ->check(CLI::IsMember({"p99", "median"}))
      ->type_name("");
  app.add_flag("--interpolate", r.judging.interpolate, "estimate widths that were not profiled");
  app.add_flag("--allow-untrained", r.allow_untrained,
               "plan submodels of a model not trained for them");
  AddCluster(app, o);
  AddViews(app, o);
}

Status CheckPlanOptions(PlanOptions& o, const Tool& tool) {
  STI_RETURN_IF_ERROR(CheckGantt(o, tool));
  STI_RETURN_IF_ERROR(RequireOption(tool.app(), {"--microbatch"}, "--cluster"));
  if (!o.cluster.empty()) return CheckCluster(tool.app(), o);
  if (o.profile.empty())
    return UsageError("--profile FILE is required, or --cluster FILE; see sti-plan --help");
  o.request.strategy = ParseStrategy(o.strategy);
  o.request.judging.risk = o.risk == "p99" ? Risk::kP99 : Risk::kMedian;
  if (o.cascade) o.modes.cascade = o.cascade_wish;
  if (!o.check.empty()) return CheckOfPlan(tool.app());
  STI_RETURN_IF_ERROR(CheckGuarantee(tool.app(), o));
  STI_RETURN_IF_ERROR(CheckSweep(tool.app(), o));
  STI_RETURN_IF_ERROR(CheckCascade(tool.app(), o));
  STI_RETURN_IF_ERROR(CheckChoices(tool.app(), o));
  const bool runs_whole = o.request.strategy == Strategy::kPipeload;
  if (!o.sweep && !o.request.target_us && !o.request.submodel && !o.request.min_accuracy &&
      !runs_whole) {
    return UsageError("--target TIME is required, or --submodel NxM, or --min-accuracy A");
  }
  STI_RETURN_IF_ERROR(TakeLengths(o));
  o.request.clocks.assign(o.freqs.rbegin(), o.freqs.rend());
  STI_ASSIGN_OR_RETURN(o.request.mode, ModeOf(o.modes));
  return {};
}

}  // namespace sti
