// Plans for a cluster: which layers of a model run on which of several devices, at which bits, and
// what each holds in memory (EdgePipe 3). Each device streams the shards of its own layers from its
// own flash, pass after pass, so that a stage takes as long as its lanes, played through, and not
// as its layers added up: the partition asks a table of all stages that there may be.
//
// The period of the pipeline comes first: all shards have equal bits while the partition is chosen.
// Then the shards of each stage are raised, by importance, as far as its period allows.
//
// Pure, as the planner is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/request.h"
#include "plan/timeline.h"
#include "types/plan.h"
#include "types/submodel.h"

namespace sti {

/// Devices that are alike, in the order in which they are taken, and what is known of them.
struct DeviceKind {
  PlanInput input;                            ///< the model, with the profile of this kind
  std::optional<uint64_t> memory_bytes = {};  ///< bound for a stage's process; nothing: none
  uint64_t preload_bytes = 0;                 ///< S of each
  std::vector<std::string> devices = {};      ///< names
};

/// A link from one device to another.
struct KindLink {
  double bits_per_s = 0;  ///< 0: there is none
  double delay_us = 0;
};

/// A cluster by its kinds of devices.
struct ClusterInput {
  std::vector<DeviceKind> kinds;
  std::vector<KindLink> links;  ///< [kinds, kinds] by sender, then receiver

  [[nodiscard]] const KindLink& Link(size_t from, size_t to) const {
    return links[from * kinds.size() + to];
  }
};

/// A plan for a cluster as it is asked for.
struct StageRequest {
  /// Sequences of a pass, of which the number is taken that gives most sequences a second. Empty:
  /// any that the profiles of all kinds have.
  std::vector<uint32_t> microbatches;
  uint32_t length = 0;               ///< tokens; 0: the longest that all profiles have
  std::optional<uint32_t> bits;      ///< that no shard is below; absent: the most up to 6 that fit
  std::optional<Submodel> submodel;  ///< absent: the whole model
  bool interpolate = false;          ///< as Judging::interpolate
  bool allow_untrained = false;
};

/// Makes a plan with stages, of the least period. kUsage for a request that makes no sense for the
/// model, kDamaged or kForeign for profiles that contradict themselves or the model, or lack a
/// microbatch, kInfeasible if no partition fits the devices' memory, with the least that would.
/// `explain`, where given, receives one line a decision. Thread-safe.
Result<Plan> PlanForCluster(const ClusterInput& cluster, const StageRequest& request,
                            std::vector<std::string>* explain = nullptr);

/// The figures of a plan with stages.
struct StageVerdicts {
  PlanStages staged;    ///< the plan's, with figures of their own
  std::string problem;  ///< the first stage that does not fit its device; empty: all do
};

/// Returns the figures of a plan with stages from elsewhere. kForeign if the cluster lacks a device
/// or a link that it names; else errors are those of CheckPlan. Thread-safe.
Result<StageVerdicts> JudgeStages(const ClusterInput& cluster, bool interpolate, const Plan& plan);

/// Returns the timeline of each stage's pass, which begins when the one before it has ended. Errors
/// are those of JudgeStages. Thread-safe.
Result<std::vector<PlanTimeline>> PlayStages(const ClusterInput& cluster, bool interpolate,
                                             const Plan& plan);

}  // namespace sti
