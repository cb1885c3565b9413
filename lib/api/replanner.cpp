#include "api/replanner.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "api/plan_inputs.h"
#include "base/remedy.h"
#include "plan/device_model.h"
#include "plan/planner.h"
#include "plan/request.h"
#include "plan/text.h"
#include "types/submodel.h"

namespace sti {
namespace {

constexpr auto kBetweenTries = std::chrono::seconds(2);
constexpr auto kBetweenHalvings = std::chrono::seconds(2);
constexpr auto kBeforeDoubling = std::chrono::minutes(1);
constexpr uint64_t kLeastBuffer = uint64_t{64} << 10;  // below it there is none

bool Differs(double a, double b) {
  return std::max(a, b) > std::min(a, b) * (1 + DriftWatch::kTolerance);
}

uint64_t Halved(uint64_t bytes, uint32_t halvings) {
  const uint64_t left = bytes >> std::min(halvings, 63U);
  return halvings > 0 && left < kLeastBuffer ? 0 : left;
}

/// Returns the bytes that stay between turns; 0: none are asked for.
uint64_t BetweenTurns(const PlanRequest& request) {
  return request.turns() != nullptr ? request.turns()->bytes.value_or(0) : 0;
}

// "6x9 at 4.2 bits, 204800 bytes preloaded, 18.123 ms of 20.000 ms".
std::string Outline(const Plan& plan) {
  double bits = 0;
  double shards = 0;
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    for (uint32_t i = 0; i < plan.width; ++i) bits += plan.bits.At(k, i);
    shards += plan.width;
  }
  const std::string agents = plan.agents > 0 ? ", " + Counted(plan.agents, "agent") : "";
  std::string text = NameOf(SubmodelOf(plan)) + " at " +
                     FixedPoint(shards > 0 ? bits / shards : 0, 1) + " bits" + agents + ", " +
                     std::to_string(plan.preload_bytes) + " bytes preloaded, " +
                     Ms(plan.predicted_latency_us);
  if (plan.target_us) text += " of " + Ms(*plan.target_us);
  if (plan.cascade) text += ", with a cascade " + Ms(plan.cascade->mean_us) + " in the mean";
  return text;
}

void AddReason(const std::string& reason, std::string* why) {
  *why += (why->empty() ? "" : ", ") + reason;
}

/// Returns the staging of a plan whose layers agents read; 0: they do not.
uint64_t StagingOfAgents(const Plan& plan) {
  return plan.agents > 0 ? plan.staging_bytes.value_or(0) : 0;
}

/// Returns kUsage if a request is for a cascade, and there is nothing to choose one by.
Status CheckSources(const PlanRequest& request, const ReplanSources& sources) {
  const bool known = sources.importance && !sources.importance->cascades.empty();
  if (request.cascade() == nullptr || known) return {};
  return UsageError(
             "the plan has a cascade: one in its place takes an importance that has cascades")
      .Fix(Remedy::kMeasureCascades);
}

std::string ClockText(uint64_t khz) {
  return "the clock is " + std::to_string(khz / 1000) + " MHz now";
}

}  // namespace

Result<Replanner> Replanner::Make(Session& session, ReplanSources sources, NoticeSink notices) {
  STI_RETURN_IF_ERROR(session.status().file->RequireWhole());
  STI_ASSIGN_OR_RETURN(PlanRequest request, RequestOf(session.plan(), session.info()));
  STI_RETURN_IF_ERROR(CheckSources(request, sources));
  return Replanner(session, std::move(sources), std::move(notices), std::move(request));
}

Replanner::Replanner(Session& session, ReplanSources sources, NoticeSink notices,
                     PlanRequest request)
    : session_(&session),
      sources_(std::move(sources)),
      notices_(std::move(notices)),
      request_(std::move(request)),
      staging_bytes_(StagingOfAgents(session.plan())) {
  drift_.PlanGiven(true);
}

Status Replanner::Take(Plan plan, uint64_t planned_for_bytes) {
  STI_ASSIGN_OR_RETURN(PlanRequest request, RequestOf(plan, session_->info()));
  STI_RETURN_IF_ERROR(CheckSources(request, sources_));
  const uint64_t staging_bytes = StagingOfAgents(plan);
  STI_RETURN_IF_ERROR(session_->SetPlan(std::move(plan), planned_for_bytes));
  request_ = std::move(request);
  staging_bytes_ = staging_bytes;
  drift_.PlanGiven(true);
  halvings_ = 0;
  in_force_ = {};
  refused_.reset();
  try_again_.reset();
  told_of_reads_ = false;
  return {};
}

Status Replanner::Look(const Surroundings& now, Clock::time_point at) {
  if (try_again_ && at >= *try_again_) {
    try_again_.reset();
    refused_.reset();
  }
  STI_RETURN_IF_ERROR(FollowClock(now.clock_khz, at));
  WeighMemory(now.memory_is_short, at);
  drift_.See(session_->drift());
  const Conditions wanted = Wanted();
  const std::string why = WhyOther(wanted);
  return why.empty() ? Status() : PlanFor(wanted, why, at);
}

// A plan may have variants for several clocks, which is quicker than another plan.
Status Replanner::FollowClock(uint64_t clock_khz, Clock::time_point at) {
  if (clock_khz == 0 || clock_khz == clock_khz_ || try_again_) return {};
  const Result<bool> changed = session_->SetClock(clock_khz);
  if (!changed.ok() && changed.error().kind == ErrorKind::kCancelled) return changed.error();
  const uint64_t before = std::exchange(clock_khz_, clock_khz);
  if (!changed.ok()) {
    NoteRefusal(changed.error(), ClockText(clock_khz), at);
    if (try_again_) clock_khz_ = before;
  } else if (*changed) {
    told_of_reads_ = false;
    drift_.PlanMade(drift_.counted_on());  // its runs are still to come
    if (notices_) notices_({.kind = Notice::Kind::kOtherVariants, .why = ClockText(clock_khz)});
  }
  return {};
}

void Replanner::NoteRefusal(const Error& error, const std::string& why, Clock::time_point at) {
  const bool of_reads = error.kind == ErrorKind::kReadFailed;
  if (of_reads) try_again_ = at + kBetweenTries;
  if (of_reads && std::exchange(told_of_reads_, true)) return;
  if (notices_) notices_({.kind = Notice::Kind::kPlanKept, .actual = error.Message(), .why = why});
}

void Replanner::WeighMemory(bool is_short, Clock::time_point at) {
  if (is_short) {
    memory_was_short_ = at;
    const bool again = halvings_ > 0 && at - memory_changed_ < kBetweenHalvings;
    const uint64_t most =
        std::max({request_.preload_bytes, BetweenTurns(request_), staging_bytes_});
    if (again || Halved(most, halvings_) == 0) return;
    ++halvings_;
    memory_changed_ = at;
  } else if (halvings_ > 0 && at - std::max(memory_was_short_, memory_changed_) > kBeforeDoubling) {
    --halvings_;
    memory_changed_ = at;
  }
}

Drift Replanner::WantedDrift() const {
  const DriftWatch& watch = session_->drift();
  const bool may_be_faster = watch.runs() >= patience_;
  // Each of found and careful as multiples of the profile's times.
  const auto choose = [may_be_faster](double found, double careful, double counted) {
    if (found > counted) return Differs(found, counted) ? std::max(found, 1.0) : counted;
    const double now = std::max(careful, 1.0);
    return may_be_faster && now < counted && Differs(now, counted) ? now : counted;
  };
  const Drift found = drift_.FromProfile();
  const Drift& counted = drift_.counted_on();
  const Drift careful = watch.Careful().value_or(Drift());
  return {choose(found.compute_ratio, careful.compute_ratio * counted.compute_ratio,
                 counted.compute_ratio),
          choose(found.io_ratio, careful.io_ratio * counted.io_ratio, counted.io_ratio)};
}

// Notes another plan for a drift, after so many runs: whether the one before was for a faster
// device, and too soon.
void Replanner::LearnPatience(const Drift& wanted, size_t runs) {
  constexpr size_t kMostRuns = size_t{1} << 12;
  const Drift& counted = drift_.counted_on();
  const bool slower =
      wanted.compute_ratio > counted.compute_ratio || wanted.io_ratio > counted.io_ratio;
  const bool faster =
      wanted.compute_ratio < counted.compute_ratio || wanted.io_ratio < counted.io_ratio;
  if (!slower && !faster) return;
  if (slower && was_faster_) {
    const bool soon = runs < 4 * patience_;
    patience_ = soon ? std::min(2 * patience_, kMostRuns) : DriftWatch::kRuns;
  }
  was_faster_ = faster;
}

Replanner::Conditions Replanner::Wanted() const {
  Conditions wanted{.drift = WantedDrift(), .halvings = halvings_};
  const uint64_t clock_khz = ProfiledClock();
  if (!RequestNamesClock(clock_khz)) wanted.clock_khz = clock_khz;
  // The profile knows how long layers take at another clock; what runs have shown was of this one.
  if (wanted.clock_khz != in_force_.clock_khz) wanted.drift.compute_ratio = 1;
  return wanted;
}

// The clock that the profile's times at the present one are taken from; 0 if it has none.
uint64_t Replanner::ProfiledClock() const {
  uint64_t below = 0;
  uint64_t lowest = 0;
  for (const ComputeSample& sample : sources_.profile.compute) {
    if (sample.freq == 0) continue;
    lowest = lowest == 0 ? sample.freq : std::min(lowest, sample.freq);
    if (sample.freq <= clock_khz_) below = std::max(below, sample.freq);
  }
  if (clock_khz_ == 0) return 0;
  return below != 0 ? below : lowest;
}

// A request that names no clock is for the highest.
bool Replanner::RequestNamesClock(uint64_t clock_khz) const {
  if (clock_khz == 0) return true;
  const auto& clocks = request_.clocks;
  if (!clocks.empty()) return std::find(clocks.begin(), clocks.end(), clock_khz) != clocks.end();
  return std::none_of(sources_.profile.compute.begin(), sources_.profile.compute.end(),
                      [&](const ComputeSample& sample) { return sample.freq > clock_khz; });
}

// Returns how `wanted` differs from what the plan in force was made for; empty if it does not, or
// if there was no plan for what is no worse.
std::string Replanner::WhyOther(const Conditions& wanted) const {
  // Where there was no plan there is none for a slower device with less memory either.
  const auto no_better = [](double wanted_ratio, double refused_ratio) {
    return wanted_ratio >= refused_ratio || !Differs(wanted_ratio, refused_ratio);
  };
  std::string why;
  if (refused_ && wanted.clock_khz == refused_->clock_khz &&
      wanted.halvings >= refused_->halvings &&
      no_better(wanted.drift.compute_ratio, refused_->drift.compute_ratio) &&
      no_better(wanted.drift.io_ratio, refused_->drift.io_ratio))
    return why;
  if (wanted.clock_khz != in_force_.clock_khz) AddReason(ClockText(clock_khz_), &why);
  if (Differs(wanted.drift.compute_ratio, in_force_.drift.compute_ratio)) {
    AddReason(
        "layers take " + FixedPoint(wanted.drift.compute_ratio, 2) + " times what the profile says",
        &why);
  }
  if (Differs(wanted.drift.io_ratio, in_force_.drift.io_ratio)) {
    AddReason("reads take " + FixedPoint(wanted.drift.io_ratio, 2) + " times what the profile says",
              &why);
  }
  if (wanted.halvings > in_force_.halvings) AddReason("memory is short", &why);
  if (wanted.halvings < in_force_.halvings) AddReason("memory is no longer short", &why);
  return why;
}

Result<Plan> Replanner::MakePlanFor(const Conditions& wanted) const {
  PlanRequest request = request_;
  request.preload_bytes = Halved(request.preload_bytes, wanted.halvings);
  if (auto* turns = std::get_if<PlanRequest::Turns>(&request.mode)) {
    turns->bytes = std::max(request.preload_bytes, Halved(BetweenTurns(request), wanted.halvings));
  }
  if (wanted.clock_khz != 0) request.clocks = {wanted.clock_khz};
  if (session_->own_bytes()) request.judging.memory_bytes = session_->own_bytes();
  if (request.judging.memory_bytes) {
    uint64_t& memory_bytes = *request.judging.memory_bytes;
    const uint64_t given_up = staging_bytes_ - Halved(staging_bytes_, wanted.halvings);
    memory_bytes -= std::min(memory_bytes, given_up);
  }
  const DeviceProfile now =
      DriftedProfile(sources_.profile, wanted.drift.compute_ratio, wanted.drift.io_ratio);
  const PlanInputs inputs((*session_->status().file), now, sources_.importance,
                          session_->vocabulary());
  return MakePlan(session_->own_bytes() ? inputs.ViewOfOwnMemory() : inputs.View(), request);
}

Status Replanner::PlanFor(const Conditions& wanted, const std::string& why, Clock::time_point at) {
  const size_t runs = session_->drift().runs();
  Result<Plan> plan = MakePlanFor(wanted);
  Status taken = plan.ok() ? Status() : Status(plan.error());
  std::string outline;
  if (plan.ok()) {
    outline = Outline(*plan);
    taken = session_->SetPlan(std::move(*plan), session_->own_bytes().value_or(0));
  }
  if (!taken.ok() && taken.error().kind == ErrorKind::kCancelled) return taken;
  if (!taken.ok()) {
    refused_ = wanted;
    NoteRefusal(taken.error(), why, at);
    return {};
  }
  LearnPatience(wanted.drift, runs);
  drift_.PlanMade(wanted.drift);
  in_force_ = wanted;
  refused_.reset();
  told_of_reads_ = false;
  if (notices_) notices_({.kind = Notice::Kind::kPlannedAgain, .actual = outline, .why = why});
  return {};
}

}  // namespace sti
