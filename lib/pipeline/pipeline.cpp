#include "pipeline/pipeline.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/remedy.h"
#include "io/container_file.h"
#include "pipeline/core/pipeline_core.h"
#include "types/plan_check.h"

namespace sti {
namespace {

/// Returns DataError unless the container can serve the plan, its turns and its variants.
Status CheckFits(const ContainerFile& file, const Plan& plan) {
  const ContainerIndex& index = file.index();
  PlanBounds bounds = BoundsOf(index.info);
  bounds.takes_batch = true;  // texts run together in stages
  bounds.model = index.model;
  bounds.holds = [&](const ShardAtBits& shard) { return index.Holds(shard); };
  const std::optional<PlanFault> fault = FindPlanFault(plan, bounds);
  if (!fault && index.Serves({plan.layers.front(), plan.layers.back() + 1, plan.ends})) return {};
  if (!fault) {
    return ForeignError("has one stage of a model alone, and other layers or ends are to be run")
        .At(file.name());
  }
  return Error{fault->kind, "the plan does not fit " + file.name() + ": " + fault->text()}.Fix(
      RemedyFor(*fault));
}

/// Runs one sequence; `rows`: to the hidden rows of the last layer.
Status RunSequence(Pipeline& pipeline, const Pass& pass, const RunTerms& terms, bool rows,
                   RunResult* result) {
  PassOutput output;
  output.hidden = rows;
  output.values.swap(result->values);
  Status status = pipeline.Run(pass, terms, &output, result);
  output.values.swap(result->values);
  return status;
}

}  // namespace

Status CheckPlan(const ContainerFile& file, const Plan& plan, ComputeType type) {
  STI_RETURN_IF_ERROR(CheckFits(file, plan));
  if (plan.cascade && file.index().info.problem == Problem::kMultiLabel) {
    return UsageError(
        "the plan has a cascade, which is for one label an input, and the model gives any number; "
        "make a plan without one");
  }
  return CheckPlanComputes(plan, type);
}

Status CheckPlanComputes(const Plan& plan, ComputeType type) {
  const std::optional<ComputeType> counted = plan.kernel.type;
  if (!counted || *counted == type) return {};
  const std::string wanted(NameOf(*counted));
  return UsageError("the plan counts on " + wanted + " products, not " + std::string(NameOf(type)))
      .Fix(Remedy::kComputeAsPlanned, wanted);
}

Pipeline::Pipeline(std::unique_ptr<PipelineCore> core) : core_(std::move(core)) {}
Pipeline::~Pipeline() = default;

Result<std::unique_ptr<Pipeline>> Pipeline::Create(ContainerFile&& file, Plan plan,
                                                   const PipelineOptions& options) {
  STI_ASSIGN_OR_RETURN(auto core, PipelineCore::Create(std::move(file), std::move(plan), options));
  return std::unique_ptr<Pipeline>(new Pipeline(std::move(core)));
}

ContainerFile Pipeline::Close(std::unique_ptr<Pipeline> pipeline) {
  return PipelineCore::Close(std::move(pipeline->core_));
}

Status Pipeline::Check(const Pass& pass) const { return core_->Check(pass); }

Status Pipeline::Run(const Pass& pass, const RunTerms& terms, PassOutput* output,
                     RunReport* report) {
  return core_->Run(pass, terms, output, report);
}

Result<RunSteps*> Pipeline::Begin(const Pass& pass, const RunTerms& terms, PassOutput* output,
                                  RunReport* report) {
  STI_ASSIGN_OR_RETURN(RunSteps* const run, core_->Begin(pass, terms, output, report));
  return run;
}

Status Pipeline::End(Status status) { return core_->End(std::move(status)); }
void Pipeline::EndInput() { core_->EndInput(); }

bool Pipeline::HasTimeFor(RouteId route, const RunTerms& terms) {
  return core_->HasTimeFor(route, terms);
}

Status Pipeline::Wake(bool may_degrade) { return core_->Wake(may_degrade); }
Status Pipeline::LoadAhead() { return core_->LoadAhead(); }
Status Pipeline::FinishReads() { return core_->FinishReads(); }
Status Pipeline::Rest() { return core_->Rest(); }
Status Pipeline::EndTurns() { return core_->EndTurns(); }

Status Pipeline::ResizePreload(std::optional<uint64_t> bytes, Refill refill) {
  return core_->ResizePreload(bytes, refill);
}

Status Pipeline::SetPlan(Plan plan, std::optional<uint64_t> staging_bytes) {
  return core_->SetPlan(std::move(plan), staging_bytes);
}

Result<bool> Pipeline::SetClock(uint64_t clock_khz) { return core_->SetClock(clock_khz); }

const Plan& Pipeline::plan() const { return core_->plan(); }
const PlanCore& Pipeline::PlanFor(size_t tokens) const { return core_->PlanFor(tokens); }
const PipelineStatus& Pipeline::status() { return core_->status(); }
DriftWatch& Pipeline::drift() { return core_->drift(); }

Status RunTokens(Pipeline& pipeline, std::span<const uint32_t> ids, std::span<const uint32_t> types,
                 const RunTerms& terms, RunResult* result) {
  return RunSequence(pipeline, {TokenInput{ids, types}, {}}, terms, false, result);
}

Status RunToRows(Pipeline& pipeline, std::span<const uint32_t> ids, std::span<const uint32_t> types,
                 const RunTerms& terms, RunResult* result) {
  return RunSequence(pipeline, {TokenInput{ids, types}, {}}, terms, true, result);
}

Status RunPiece(Pipeline& pipeline, std::span<const uint32_t> ids, std::span<const uint32_t> types,
                uint32_t first, RunResult* result) {
  return RunSequence(pipeline, {TokenInput{ids, types}, {}, first}, {}, false, result);
}

Status RunImages(Pipeline& pipeline, std::span<const float> values, const RunTerms& terms,
                 RunResult* result) {
  return RunSequence(pipeline, {ImageInput{values}, {}}, terms, false, result);
}

Result<RunResult> RunTokens(Pipeline& pipeline, std::span<const uint32_t> ids,
                            std::span<const uint32_t> types) {
  RunResult result;
  STI_RETURN_IF_ERROR(RunTokens(pipeline, ids, types, {}, &result));
  return result;
}

}  // namespace sti
