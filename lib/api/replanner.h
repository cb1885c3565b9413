// A replanner keeps a session under a plan for the device as it is now. Between inputs it looks at
// what runs have shown of the device, at the clock of the cores, and at whether memory is short.
// Where one of them has changed for good, it makes another plan that answers the same request, and
// the session goes on under that. Where there is none, the old plan stays.
//
// Changes that count:
//
//   Drift    Layers or reads take over a fifth longer than the plan counts on, as DriftWatch judges
//            it, or so much less; but no plan counts on a device that is faster than its profile.
//            A device may only seem faster because the plan asks less of it, as under a quota of
//            CPU time that lasts for a smaller plan. So a plan that was made for a faster device,
//            and then proves too large, doubles the runs that the next one takes.
//   Clock    The profile has times for a clock that the plan was not made for.
//   Memory   The preload buffer is halved when memory is short, and what turns may keep with it,
//            every two seconds at most, and doubled again after each minute in which it is not. So
//            is the staging of a plan whose layers agents read, which then are fewer (the Execution
//            Engine of Hermes).
//
// A change for which reads failed is tried again every two seconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/notice.h"
#include "api/session.h"
#include "base/clock.h"
#include "base/result.h"
#include "pipeline/drift.h"
#include "plan/request.h"
#include "types/device_profile.h"
#include "types/importance.h"
#include "types/plan.h"

namespace sti {

/// All that a plan depends on besides the model, as its session's process finds it.
struct Surroundings {
  uint64_t clock_khz = 0;        ///< of the slowest of the cores; 0: not known
  bool memory_is_short = false;  ///< since the last look
};

/// Profile and importance that plans are made from. Both belong to the model.
struct ReplanSources {
  DeviceProfile profile;
  std::optional<Importance> importance;
};

/// One session's replanner. One thread at a time, the session's.
class Replanner {
 public:
  /// The session outlives it. Returns kUsage if no plan can take the place of the session's
  /// (RequestOf; of a plan with a cascade that takes an importance with cascades), and what
  /// ContainerFile::RequireWhole returns. `notices` may be empty.
  static Result<Replanner> Make(Session& session, ReplanSources sources, NoticeSink notices);

  /// Looks at the device between two inputs, at the moment `at`, and goes on under another plan
  /// where that is called for. Tells what it did, and once what it could not do. It fails only if
  /// the session is interrupted.
  [[nodiscard]] Status Look(const Surroundings& now, Clock::time_point at);

  /// Goes on under a plan from elsewhere, which is the one to be answered from now on. On error the
  /// old one stays. `planned_for_bytes`: as Session::SetPlan.
  [[nodiscard]] Status Take(Plan plan, uint64_t planned_for_bytes);

 private:
  /// The device that a plan is made for.
  struct Conditions {
    Drift drift;
    uint64_t clock_khz = 0;  ///< of the profile; 0: those that the request names
    uint32_t halvings = 0;   ///< of the preload buffer
  };

  Replanner(Session& session, ReplanSources sources, NoticeSink notices, PlanRequest request);

  [[nodiscard]] Status FollowClock(uint64_t clock_khz, Clock::time_point at);
  void NoteRefusal(const Error& error, const std::string& why, Clock::time_point at);
  [[nodiscard]] Conditions Wanted() const;
  [[nodiscard]] Drift WantedDrift() const;
  void LearnPatience(const Drift& wanted, size_t runs);
  void WeighMemory(bool is_short, Clock::time_point at);
  [[nodiscard]] std::string WhyOther(const Conditions& wanted) const;
  [[nodiscard]] Status PlanFor(const Conditions& wanted, const std::string& why,
                               Clock::time_point at);
  [[nodiscard]] Result<Plan> MakePlanFor(const Conditions& wanted) const;
  [[nodiscard]] uint64_t ProfiledClock() const;
  [[nodiscard]] bool RequestNamesClock(uint64_t clock_khz) const;

  Session* session_;
  ReplanSources sources_;
  NoticeSink notices_;
  PlanRequest request_;
  uint64_t staging_bytes_ = 0;  ///< of the plan that is to be answered, where agents read; else 0
  DeviceDrift drift_;
  uint64_t clock_khz_ = 0;               ///< as it was last seen
  size_t patience_ = DriftWatch::kRuns;  ///< runs before a plan is made for a faster device
  bool was_faster_ = false;              ///< the last drift that a plan was made for
  uint32_t halvings_ = 0;                ///< that memory calls for
  Clock::time_point memory_changed_;     ///< when `halvings_` did
  Clock::time_point memory_was_short_;   ///< last
  Conditions in_force_;                  ///< that the plan was made for
  std::optional<Conditions> refused_;    ///< for which there was no plan
  /// When what reads that failed have refused is tried again; nothing: none have.
  std::optional<Clock::time_point> try_again_;
  bool told_of_reads_ = false;  ///< that they failed, since a change went well
};

}  // namespace sti
