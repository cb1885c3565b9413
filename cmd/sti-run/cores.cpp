#include "cores.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/counted.h"
#include "base/utf8.h"
#include "common/machine.h"
#include "common/parse.h"

namespace sti {
namespace {

// A plan without a kernel does not say which machine it is for, as its profile was written by hand.
// It is tried on any machine, without a warning that this is another.
bool NamesItsMachine(const Plan& plan) { return !plan.kernel.name.empty(); }

void TakePlannedCores(const Plan& plan, const Tool& tool) {
  if (plan.cpus.empty() || plan.cpus == AffinityList()) return;
  const Result<std::vector<uint32_t>> cores = ParseList(plan.cpus);
  if (cores.ok() && KeepToCores(*cores).ok()) return;
  if (NamesItsMachine(plan)) {
    tool.Warn("the plan counts on cores " + Clipped(plan.cpus) + ", this process may run on " +
              Clipped(AffinityList()) + "; give --cpus, or run sti-profile here");
  }
}

// Models of one process run on the same cores: those of the plans, where they agree.
void TakeCoresOfAll(std::span<const Plan* const> plans, const Tool& tool) {
  const Plan* first = nullptr;
  for (const Plan* plan : plans) {
    if (plan->cpus.empty()) continue;
    if (first == nullptr) first = plan;
    if (plan->cpus == first->cpus) continue;
    tool.Warn("one plan counts on cores " + Clipped(first->cpus) + ", another on " +
              Clipped(plan->cpus) + "; all models run on " + Clipped(AffinityList()) +
              ", give --cpus to choose");
    return;
  }
  if (first != nullptr) TakePlannedCores(*first, tool);
}

}  // namespace

Result<uint32_t> TakeCores(const RunOptions& options, std::span<const Plan* const> plans,
                           const Tool& tool) {
  STI_RETURN_IF_ERROR(TakeCpusOption(options.cpus));
  if (options.cpus.empty()) TakeCoresOfAll(plans, tool);
  if (options.threads != 0) return options.threads;
  const uint32_t available = AvailableThreads();
  uint32_t threads = 0;
  for (const Plan* plan : plans) {
    if (plan->threads > available && options.cpus.empty() && NamesItsMachine(*plan)) {
      tool.Warn("the plan counts on " + Counted(plan->threads, "thread") + ", this process has " +
                Counted(available, "core") + "; run sti-profile here");
    }
    threads += std::min(plan->threads == 0 ? available : plan->threads, available);
    threads = std::min(threads, available);
  }
  return threads;
}

}  // namespace sti
