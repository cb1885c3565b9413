// The plan that a model runs under, given or made, and what it is made by: profile and importance.
#include <algorithm>
#include <memory>
#include <utility>

#include "api/model.h"
#include "api/plan_inputs.h"
#include "base/remedy.h"
#include "io/container_file.h"
#include "pipeline/whole_plan.h"
#include "plan/device_model.h"
#include "plan/planner.h"
#include "profile/profile.h"

namespace sti {
namespace {

Status CheckIsFor(const Digest& made_for, const Digest& model, Source source, Remedy remedy) {
  if (made_for.empty() || made_for == model) return {};
  return ForeignError("was made for model " + made_for.Prefix() + ", not " + model.Prefix())
      .In(source)
      .Fix(remedy);
}

ProfileOptions WorkOf(const ModelInfo& info, const ModelOptions& options) {
  ProfileOptions work;
  std::vector<uint32_t> lengths = UsualLengths(info);
  if (options.request.length != 0) lengths.push_back(options.request.length);
  work.lengths = LengthsFor(std::move(lengths), info);
  work.widths = TrainedWidths(info);
  work.may_skip_widths = true;
  work.compute = options.compute.value_or(ComputeType::kFp32);
  return work;
}

}  // namespace

Result<Plan> Model::PlanInForce() const {
  if (plan_) return *plan_;
  STI_ASSIGN_OR_RETURN(Plan plan, MakeWholePlan(file_->index(), {}));
  ContinueTexts(info_, options_.request.judging.memory_bytes.has_value(), &plan);
  return plan;
}

uint64_t Model::PlannedForNow() const {
  return options_.request.judging.memory_bytes == planned_for_bytes_ ? planned_for_bytes_ : 0;
}

Status Model::UsePlan(Plan plan, uint64_t planned_for_bytes) {
  ContinueTexts(info_, options_.request.judging.memory_bytes.has_value(), &plan);
  STI_RETURN_IF_ERROR(CheckPlan(plan));
  // A session computes in one type for as long as it lasts.
  const bool goes_on =
      session_ && !reopen_ && TypeUnder(plan, options_.compute) == session_->status().kernel.type;
  std::optional<Plan> other = plan;
  const auto exchange = [&]() noexcept {
    std::swap(plan_, other);
    std::swap(planned_for_bytes_, planned_for_bytes);
  };
  exchange();
  reopen_ = !goes_on;
  try {
    Status status = goes_on ? session_->SetPlan(std::move(plan), PlannedForNow()) : NeedSession();
    if (!status.ok()) exchange();
    // The next call tries again where the rest cannot be loaded yet.
    if (status.ok() && trimmed_) trimmed_ = !session_->SetBuffer(std::nullopt).ok();
    return status;
  } catch (...) {
    exchange();
    reopen_ = true;
    throw;
  }
}

// Fails before anything is closed or loaded.
Status Model::CheckPlan(const Plan& plan) {
  if (!session_) STI_RETURN_IF_ERROR(NeedFile());
  const ContainerFile& file = session_ ? (*session_->status().file) : *file_;
  const Status fits = sti::CheckPlan(file, plan, TypeUnder(plan, options_.compute));
  return fits.ok() ? fits : Status(Error(fits.error()).In(Source::kPlan));
}

Status Model::GivePlan(Plan plan) {
  return InTurn([&]() -> Status {
    STI_RETURN_IF_ERROR(UsePlan(std::move(plan), 0));
    drift_.PlanGiven(profile_.has_value());
    return {};
  });
}

Status Model::GiveProfile(DeviceProfile profile) {
  return InTurn([&]() -> Status {
    STI_RETURN_IF_ERROR(
        CheckIsFor(profile.shape, ShapeDigest(info_), Source::kProfile, Remedy::kProfileForModel));
    profile_ = std::move(profile);
    drift_.ProfileGiven();
    return {};
  });
}

Status Model::GiveImportance(Importance importance) {
  return InTurn([&]() -> Status {
    STI_RETURN_IF_ERROR(
        CheckIsFor(importance.model, digest_, Source::kImportance, Remedy::kImportanceForModel));
    importance_ = std::move(importance);
    return {};
  });
}

Status Model::MeasureProfile(double budget_us) {
  return InTurn([&]() -> Status {
    ProfileOptions work = WorkOf(info_, options_);
    if (work.lengths.front() < LeastProfiledLength(info_)) {
      return UsageError("the model's longest input is too short to be measured");
    }
    work.threads = host_->cores.threads();
    work.budget_us = budget_us;
    work.cancelled = [this] { return aside_.left_behind(); };
    work.log = host_->log;
    STI_RETURN_IF_ERROR(CloseSession());  // measuring takes memory for a whole model
    const auto measured = std::make_shared<std::optional<DeviceProfile>>();
    const auto measure = [source = source_, work, measured]() -> Status {
      STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(source));
      STI_RETURN_IF_ERROR(file.RequireWhole());
      STI_ASSIGN_OR_RETURN(*measured, sti::MeasureProfile(std::move(file), work));
      return {};
    };
    STI_RETURN_IF_ERROR(aside_.Do(measure));
    profile_ = std::move(*measured);
    drift_.ProfileGiven();
    return {};
  });
}

Result<DeviceProfile> Model::profile() {
  std::optional<DeviceProfile> profile;
  STI_RETURN_IF_ERROR(InTurn([&]() -> Status {
    if (!profile_) return UsageError("there is no device profile").Fix(Remedy::kMeasureAgain);
    profile = profile_;
    return {};
  }));
  return std::move(*profile);
}

Result<PlanInputs> Model::InputsAfter(const Drift& drift, const PlanRequest& request) {
  DeviceProfile now = DriftedProfile(*profile_, drift.compute_ratio, drift.io_ratio);
  if (session_) {
    const ContainerFile& file = (*session_->status().file);
    STI_RETURN_IF_ERROR(file.RequireWhole());
    return PlanInputs(file, std::move(now), importance_, session_->vocabulary());
  }
  STI_RETURN_IF_ERROR(NeedFile());
  STI_RETURN_IF_ERROR(file_->RequireWhole());
  return ReadPlanInputs(*file_, std::move(now), importance_, request);
}

Status Model::MakePlan() {
  return InTurn([&]() -> Status {
    if (!profile_) return UsageError("there is no device profile").Fix(Remedy::kMeasureAgain);
    const Drift drift = drift_.FromProfile();
    PlanRequest request = options_.request;
    STI_ASSIGN_OR_RETURN(request.mode, ModeOf(options_.modes));
    STI_ASSIGN_OR_RETURN(PlanInputs inputs, InputsAfter(drift, request));
    const auto plan = std::make_shared<Plan>();
    const auto make = [inputs = std::move(inputs), request, plan]() -> Status {
      STI_ASSIGN_OR_RETURN(*plan, sti::MakePlan(inputs.ViewOfOwnMemory(), request));
      return {};
    };
    STI_RETURN_IF_ERROR(aside_.Do(make));
    STI_RETURN_IF_ERROR(UsePlan(std::move(*plan), request.judging.memory_bytes.value_or(0)));
    drift_.PlanMade(drift);
    return {};
  });
}

}  // namespace sti
