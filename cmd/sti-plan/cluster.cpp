#include "cluster.h"

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/plan_inputs.h"
#include "common/files.h"
#include "common/lines.h"
#include "common/plan_text.h"
#include "format/plan_file.h"
#include "pictures/gantt.h"
#include "pictures/svg.h"
#include "plan/stages.h"
#include "print.h"

namespace sti {
namespace {

Result<ClusterInputs> ReadInputs(const Tool& tool, const PlanOptions& options) {
  STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(options.model));
  STI_RETURN_IF_ERROR(file.RequireTexts());
  STI_RETURN_IF_ERROR(file.RefuseContinuing());
  STI_RETURN_IF_ERROR(file.RequireWhole());
  STI_ASSIGN_OR_RETURN(const Cluster cluster, ReadCluster(options.cluster, tool));
  std::optional<Importance> importance;
  if (!options.importance.empty()) {
    STI_ASSIGN_OR_RETURN(importance, ReadImportance(options.importance, tool));
    STI_RETURN_IF_ERROR(BelongsTo(*importance, options.importance, file));
  }
  return ClusterInputs(file, cluster, importance);
}

// Says where labels may differ from those of one device: products of another kernel round
// otherwise.
void WarnOfKernels(const Tool& tool, const Plan& plan) {
  const PlanStage& first = plan.staged->stages.front();
  for (const PlanStage& stage : plan.staged->stages) {
    if (stage.kernel.name == first.kernel.name) continue;
    return tool.Warn(first.device + " computes by " + first.kernel.name + " and " + stage.device +
                     " by " + stage.kernel.name + ": logits differ from one device's by rounding");
  }
}

void Print(const Tool& tool, FILE* out, const std::string& lines) {
  if (out == stderr) return tool.PrintAside(lines);
  std::fputs(lines.c_str(), out);
}

// The stages over time, each a pass behind another.
Status ShowTimelines(const Tool& tool, const PlanOptions& options, const ClusterInput& cluster,
                     const Plan& plan, FILE* out) {
  if (!options.explain && options.gantt.empty()) return {};
  STI_ASSIGN_OR_RETURN(const std::vector<PlanTimeline> timelines,
                       PlayStages(cluster, options.request.judging.interpolate, plan));
  std::vector<std::string> pictures;
  for (size_t i = 0; i < timelines.size(); ++i) {
    const Plan own = CutStage(plan, i);
    if (options.explain) {
      Print(tool, out,
            "stage " + std::to_string(i + 1) + ", " + plan.staged->stages[i].device + "\n" +
                GanttText(own, timelines[i], ShowsUnicode(out)));
    }
    if (!options.gantt.empty()) pictures.push_back(GanttSvg(own, timelines[i], std::nullopt));
  }
  return options.gantt.empty() ? Status() : WriteSvg(options.gantt, Stacked(pictures));
}

Result<int> Make(const Tool& tool, const PlanOptions& options, const ClusterInput& cluster) {
  const PlanRequest& asked = options.request;
  const StageRequest request{.microbatches = options.microbatches,
                             .length = asked.length,
                             .bits = asked.uniform_bits,
                             .submodel = asked.submodel,
                             .interpolate = asked.judging.interpolate,
                             .allow_untrained = asked.allow_untrained};
  std::vector<std::string> reasons;
  auto made = PlanForCluster(cluster, request, &reasons);
  const bool stdout_is_taken = tool.json() || options.output == "-" || options.gantt == "-";
  FILE* out = stdout_is_taken ? stderr : stdout;
  if (options.explain) {
    for (const std::string& reason : reasons) Print(tool, out, Wrapped(reason, "  ") + "\n");
  }
  STI_ASSIGN_OR_RETURN(const Plan plan, std::move(made));
  const std::string untrained = UntrainedWarning(cluster.kinds.front().input.info, plan);
  if (!untrained.empty()) tool.Warn(untrained);
  WarnOfKernels(tool, plan);
  STI_RETURN_IF_ERROR(ShowTimelines(tool, options, cluster, plan, out));
  if (!options.output.empty()) STI_RETURN_IF_ERROR(WritePlan(options.output, plan));
  if (options.output == "-" || options.gantt == "-") return 0;
  if (tool.json()) {
    std::fputs(PlanToJson(plan).c_str(), stdout);
  } else if (!tool.quiet()) {
    std::fputs(DescribePlan(plan).c_str(), stdout);
  }
  return 0;
}

Result<int> Check(const Tool& tool, const PlanOptions& options, const ClusterInput& cluster) {
  STI_ASSIGN_OR_RETURN(const Plan plan, ReadPlan(options.check, tool));
  if (!plan.staged) {
    return UsageError("--cluster is for plans with stages, which " + options.check +
                      " has none of; judge it with --profile");
  }
  STI_ASSIGN_OR_RETURN(const StageVerdicts verdicts,
                       JudgeStages(cluster, options.request.judging.interpolate, plan));
  const bool stdout_is_taken = tool.json() || options.gantt == "-";
  STI_RETURN_IF_ERROR(
      ShowTimelines(tool, options, cluster, plan, stdout_is_taken ? stderr : stdout));
  if (tool.json()) {
    std::printf("%s\n", StageVerdictsToJson(verdicts).c_str());
  } else if (options.gantt != "-") {
    std::fputs(StagesText(verdicts.staged).c_str(), stdout);
    std::printf("%s\n", verdicts.problem.empty() ? "valid" : "not valid");
  }
  if (!verdicts.problem.empty()) return InfeasibleError(options.check + ": " + verdicts.problem);
  return 0;
}

}  // namespace

Result<int> PlanCluster(const Tool& tool, const PlanOptions& options) {
  STI_ASSIGN_OR_RETURN(const ClusterInputs inputs, ReadInputs(tool, options));
  const ClusterInput cluster = inputs.View();
  return options.check.empty() ? Make(tool, options, cluster) : Check(tool, options, cluster);
}

}  // namespace sti
