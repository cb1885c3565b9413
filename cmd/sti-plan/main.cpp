// sti-plan: which shards to load at which bits, for a target latency and a preload buffer (STI 5).
#include <algorithm>
#include <cstdio>

#include "api/plan_inputs.h"
#include "base/log.h"
#include "cluster.h"
#include "common/files.h"
#include "common/lines.h"
#include "common/plan_text.h"
#include "common/remedies.h"
#include "format/plan_file.h"
#include "network/tensors.h"
#include "options.h"
#include "pictures/gantt.h"
#include "pictures/svg.h"
#include "pictures/sweep_svg.h"
#include "pipeline/whole_plan.h"
#include "plan/judge.h"
#include "plan/planner.h"
#include "plan/profile_doubts.h"
#include "plan/sweep.h"
#include "print.h"
#include "types/device_profile.h"

namespace sti {
namespace {

Result<PlanInputs> ReadInputs(const Tool& tool, const PlanOptions& options) {
  STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(options.model));
  STI_RETURN_IF_ERROR(file.RequireWhole());
  STI_ASSIGN_OR_RETURN(DeviceProfile profile, ReadProfile(options.profile, tool));
  STI_RETURN_IF_ERROR(BelongsTo(profile, options.profile, file));
  tool.Explain(options.profile + ": " + Counted(profile.compute.size(), "time") + " of layers, " +
               Counted(profile.io.size(), "time") + " of loads");
  if (options.check.empty()) {  // a plan that was made is judged by whatever times there are
    const ModelShape& shape = file.index().info.shape;
    for (const std::string& doubt : DoubtsAbout(profile, shape, ShardWeights(shape)))
      tool.Warn(options.profile + ": " + doubt);
  }
  std::optional<Importance> importance;
  if (!options.importance.empty()) {
    STI_ASSIGN_OR_RETURN(importance, ReadImportance(options.importance, tool));
    STI_RETURN_IF_ERROR(BelongsTo(*importance, options.importance, file));
  }
  return ReadPlanInputs(file, std::move(profile), std::move(importance), options.request);
}

// Where stdout holds another part of the answer, `out` is stderr.
void Print(const Tool& tool, FILE* out, const std::string& lines) {
  if (out == stderr) return tool.PrintAside(lines);
  std::fputs(lines.c_str(), out);
}

// The plan over time: in the terminal behind the reasons, and as a picture.
Status ShowTimeline(const Tool& tool, const PlanOptions& options, const PlanInputs& inputs,
                    const Plan& plan, FILE* out) {
  if (!options.explain && options.gantt.empty()) return {};
  STI_ASSIGN_OR_RETURN(PlanTimeline timeline,
                       PlayPlan(inputs.View(), options.request.judging, plan));
  if (options.explain) Print(tool, out, GanttText(plan, timeline, ShowsUnicode(out)));
  if (options.gantt.empty()) return {};
  std::optional<uint64_t> preload_bytes;
  if (options.check.empty()) preload_bytes = options.request.preload_bytes;
  return WriteSvg(options.gantt, GanttSvg(plan, timeline, preload_bytes));
}

// Warns of a submodel that was not trained, with what it is predicted to lose where that is known.
void WarnIfUntrained(const Tool& tool, const PlanInputs& inputs, const PlanCore& plan) {
  std::string warning = UntrainedWarning(inputs.info(), plan);
  if (warning.empty()) return;
  const Importance* importance = inputs.View().importance;
  const bool known = importance != nullptr && !importance->submodels.empty();
  if (QualityText(plan.quality).empty() || !known) return tool.Warn(warning);
  tool.Warn(warning +
            "; the whole model: " + QualityText(WholeQuality(*importance, inputs.info())));
}

void WarnOfUntrained(const Tool& tool, const PlanInputs& inputs, const Plan& plan) {
  if (plan.cascade) {
    for (const CascadeLevel& level : plan.cascade->levels)
      WarnIfUntrained(tool, inputs, level.plan);
  }
  WarnIfUntrained(tool, inputs, plan);
}

// Warns of a target that the profile leaves open, with how well it knows times and what helps.
void WarnOfNoise(const Tool& tool, const PlanOptions& options, double noise) {
  char percent[32];
  std::snprintf(percent, sizeof(percent), "%.1f %%", 100 * noise);
  tool.Warn("whether the target is met is uncertain: " + options.profile +
            " knows times to within " + percent +
            " only; run sti-profile again, on a quieter machine or with a longer --budget");
}

Result<int> Make(const Tool& tool, const PlanOptions& options, const PlanInputs& inputs) {
  std::vector<std::string> reasons;
  auto made = MakePlan(inputs.View(), options.request, &reasons);
  // Reasons are part of the answer with --explain, also when the answer is no.
  const bool stdout_is_taken = tool.json() || options.output == "-" || options.gantt == "-";
  FILE* out = stdout_is_taken ? stderr : stdout;
  if (options.explain) {
    for (const std::string& reason : reasons) Print(tool, out, Wrapped(reason, "  ") + "\n");
  }
  STI_ASSIGN_OR_RETURN(Plan plan, std::move(made));
  WarnOfUntrained(tool, inputs, plan);
  const double noise = inputs.View().profile.noise;
  if (IsUncertain(plan, noise)) WarnOfNoise(tool, options, noise);
  STI_RETURN_IF_ERROR(ShowTimeline(tool, options, inputs, plan, out));
  if (!options.output.empty()) STI_RETURN_IF_ERROR(WritePlan(options.output, plan));
  if (options.output == "-" || options.gantt == "-") return 0;
  if (tool.json()) {
    std::fputs(PlanToJson(plan).c_str(), stdout);
  } else if (!tool.quiet()) {
    const DeviceProfile& profile = inputs.View().profile;
    std::fputs(DescribePlan(plan, {profile.noise, !profile.shape.empty()}).c_str(), stdout);
  }
  return 0;
}

// The schedule of Hermes: the agents for each bound of memory.
Result<int> SweepByMemory(const Tool& tool, const PlanOptions& options, const PlanInputs& inputs) {
  STI_ASSIGN_OR_RETURN(const std::vector<MemoryCell> cells,
                       SweepMemories(inputs.View(), options.request, options.memories));
  std::fputs((tool.json() ? MemoriesJson(cells) : MemoriesText(cells)).c_str(), stdout);
  const bool any =
      std::ranges::any_of(cells, [](const MemoryCell& cell) { return cell.plan.has_value(); });
  if (any) return 0;
  return *cells.back().problem;
}

Result<int> Sweep(const Tool& tool, const PlanOptions& options, const PlanInputs& inputs) {
  if (!options.memories.empty()) return SweepByMemory(tool, options, inputs);
  std::vector<double> targets_us = options.targets_us;
  std::vector<uint64_t> preloads = options.preloads;
  if (targets_us.empty() && options.request.target_us) targets_us = {*options.request.target_us};
  if (preloads.empty() && options.request.preload_bytes != 0)
    preloads = {options.request.preload_bytes};
  if (targets_us.empty()) {
    STI_ASSIGN_OR_RETURN(targets_us, SweepTargets(inputs.View(), options.request));
  }
  const bool keeps_shards =
      !options.request.cold() && KeepsShards(DelayModelFor(options.request.strategy));
  if (preloads.empty() && !keeps_shards) preloads = {0};
  if (preloads.empty()) preloads = SweepPreloads(inputs.catalog());
  STI_ASSIGN_OR_RETURN(const SweepGrid grid,
                       SweepPlans(inputs.View(), options.request, targets_us, preloads));
  const bool any = std::any_of(grid.cells.begin(), grid.cells.end(),
                               [](const SweepCell& cell) { return cell.plan.has_value(); });
  if (!options.sweep_svg.empty() && any)
    STI_RETURN_IF_ERROR(WriteSvg(options.sweep_svg, SweepSvg(grid)));
  std::fputs((tool.json() ? SweepJson(grid) : SweepText(grid)).c_str(), stdout);
  if (any) return 0;
  Error none = *grid.cells[0].problem;
  none.what = "no target of the sweep can be met: " + none.what;
  return none;
}

// Judges the plan, and its variants with it, at another target than it was made for.
void SetTarget(double target_us, Plan* plan) {
  plan->target_us = target_us;
  for (PlanCore& variant : plan->variants) variant.target_us = target_us;
}

Result<int> Check(const Tool& tool, const PlanOptions& options, const PlanInputs& inputs) {
  STI_ASSIGN_OR_RETURN(Plan plan, ReadPlan(options.check, tool));
  if (options.request.target_us) SetTarget(*options.request.target_us, &plan);
  const bool bounded = options.request.judging.memory_bytes.has_value();
  ContinueTexts(inputs.View().info, bounded, &plan);  // as it would run
  STI_ASSIGN_OR_RETURN(const Verdicts verdicts,
                       JudgePlan(inputs.View(), options.request.judging, plan));
  const double noise = inputs.View().profile.noise;
  const bool uncertain = plan.target_us && verdicts.problem().empty() &&
                         IsUncertain(noise, verdicts.plan.p99_us, *plan.target_us);
  if (uncertain) WarnOfNoise(tool, options, noise);
  const bool stdout_is_taken = tool.json() || options.gantt == "-";
  STI_RETURN_IF_ERROR(ShowTimeline(tool, options, inputs, plan, stdout_is_taken ? stderr : stdout));
  if (tool.json()) {
    std::printf("%s\n", VerdictsToJson(verdicts, uncertain).c_str());
  } else if (options.gantt != "-") {
    PrintVerdicts(verdicts, plan, uncertain);
  }
  const std::string problem = verdicts.problem();
  if (!problem.empty()) return InfeasibleError(options.check + ": " + problem);
  return 0;
}

Status CheckOutputs(const PlanOptions& options) {
  for (const Output& output : {Output{"-o", options.output}, Output{"--gantt", options.gantt},
                               Output{"--sweep-svg", options.sweep_svg}}) {
    STI_RETURN_IF_ERROR(CheckKeepsInput(output, options.model, "the model"));
    STI_RETURN_IF_ERROR(CheckKeepsInput(output, options.profile, "the profile"));
    STI_RETURN_IF_ERROR(CheckKeepsInput(output, options.cluster, "the cluster"));
    STI_RETURN_IF_ERROR(CheckKeepsInput(output, options.importance, "the importance"));
    STI_RETURN_IF_ERROR(CheckKeepsInput(output, options.check, "the plan to check"));
    STI_RETURN_IF_ERROR(CheckOutput(output));
  }
  STI_RETURN_IF_ERROR(CheckPictureName("--gantt", options.gantt, ".svg"));
  return CheckPictureName("--sweep-svg", options.sweep_svg, ".svg");
}

Result<int> Run(const Tool& tool, PlanOptions& options) {
  STI_RETURN_IF_ERROR(CheckPlanOptions(options, tool));
  STI_RETURN_IF_ERROR(CheckOutputs(options));
  if (!options.cluster.empty()) {
    Result<int> split = PlanCluster(tool, options);
    if (split.ok()) return split;
    return Named(split.error(),
                 {options.model, options.cluster, options.importance, options.check});
  }
  STI_ASSIGN_OR_RETURN(const PlanInputs inputs, ReadInputs(tool, options));
  Result<int> result = options.sweep           ? Sweep(tool, options, inputs)
                       : options.check.empty() ? Make(tool, options, inputs)
                                               : Check(tool, options, inputs);
  if (result.ok()) return result;
  return Named(result.error(), {options.model, options.profile, options.importance, options.check});
}

}  // namespace
}  // namespace sti

int main(int argc, char** argv) {
  sti::Tool tool("sti-plan",
                 "Plans a submodel, each shard's bits and the preload buffer for a target latency.",
                 "sti-plan model.sti --profile device.profile --importance model.importance \\\n"
                 "    --target 200ms --preload 1MiB -o model.plan");
  sti::PlanOptions options;
  sti::AddPlanOptions(tool.app(), options);
  return tool.Main(argc, argv, [&] { return sti::Run(tool, options); });
}
