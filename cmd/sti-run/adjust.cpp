#include "adjust.h"

#include <unistd.h>

#include <chrono>
#include <utility>

#include "common/files.h"
#include "common/remedies.h"
#include "host.h"
#include "session.h"
#include "watch.h"

namespace sti {
namespace {

// Files of the system are read no more often: an input may take a millisecond.
constexpr auto kBetweenLooks = std::chrono::seconds(1);

bool FollowsFile(const RunOptions& options) {
  const bool has_file = !options.plan.empty() && options.plan != "-";
  return has_file && (!options.replan.empty() || isatty(STDIN_FILENO) == 0);
}

Result<ReplanSources> ReadSources(const RunOptions& options, const ContainerFile& model,
                                  const Tool& tool) {
  ReplanSources sources;
  STI_ASSIGN_OR_RETURN(sources.profile, ReadProfile(options.replan, tool));
  STI_RETURN_IF_ERROR(BelongsTo(sources.profile, options.replan, model));
  if (options.importance.empty()) return sources;
  STI_ASSIGN_OR_RETURN(sources.importance, ReadImportance(options.importance, tool));
  STI_RETURN_IF_ERROR(BelongsTo(*sources.importance, options.importance, model));
  return sources;
}

}  // namespace

void Adjuster::Listen(const RunOptions& options) {
  if (FollowsFile(options)) ListenForHangup(!options.replan.empty());
}

Result<Adjuster> Adjuster::Make(Session& session, const RunOptions& options, const Tool& tool) {
  Adjuster adjuster(session, options, tool);
  adjuster.follows_file_ = FollowsFile(options);
  if (options.replan.empty()) return adjuster;
  STI_ASSIGN_OR_RETURN(ReplanSources sources, ReadSources(options, (*session.status().file), tool));
  const auto tell = [&tool](const Notice& notice) { Tell(notice, tool); };
  auto replanner = Replanner::Make(session, std::move(sources), tell);
  if (!replanner.ok()) return Error(replanner.error()).At("--replan");
  adjuster.replanner_ = std::move(*replanner);
  adjuster.memory_.emplace();
  return adjuster;
}

Status Adjuster::Look() {
  if (!on()) return {};
  if (TakeHangup()) STI_RETURN_IF_ERROR(ReadPlanAgain());
  if (!replanner_) return {};
  const auto now = Clock::now();
  return replanner_->Look(SeeSurroundings(now), now);
}

// A plan that cannot be read or taken leaves the old one.
Status Adjuster::ReadPlanAgain() {
  auto plan = ReadPlan(options_->plan, *tool_);
  if (plan.ok()) {
    const Status taken = Take(std::move(*plan));
    if (taken.ok()) {
      tool_->Say(options_->plan + ": read again");
      return {};
    }
    plan = Error(taken.error()).At(options_->plan);
  }
  tool_->Warn(LineFor(plan.error()) + "; the plan in force stays");
  return {};
}

Status Adjuster::Take(Plan plan) {
  const uint64_t planned_for_bytes = PlannedForBytes(*options_, plan);
  if (replanner_) return replanner_->Take(std::move(plan), planned_for_bytes);
  return session_->SetPlan(std::move(plan), planned_for_bytes);
}

Surroundings Adjuster::SeeSurroundings(Clock::time_point now) {
  last_.memory_is_short = false;
  if (now - seen_ < kBetweenLooks) return last_;
  seen_ = now;
  last_.clock_khz = ClockLimitKhz();
  last_.memory_is_short = memory_->WasShort(now);
  return last_;
}

}  // namespace sti
