#include "cores.h"

#include <algorithm>
#include <string>
#include <vector>

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
    tool.Warn("the plan counts on cores " + plan.cpus + ", this process may run on " +
              AffinityList() + "; give --cpus, or run sti-profile here");
  }
}

}  // namespace

Result<uint32_t> TakeCores(const RunOptions& options, const Plan& plan, const Tool& tool) {
  STI_RETURN_IF_ERROR(TakeCpusOption(options.cpus));
  if (options.cpus.empty()) TakePlannedCores(plan, tool);
  if (options.threads != 0) return options.threads;
  const uint32_t available = AvailableThreads();
  if (plan.threads > available && options.cpus.empty() && NamesItsMachine(plan)) {
    tool.Warn("the plan counts on " + std::to_string(plan.threads) + " threads, this process has " +
              std::to_string(available) + " cores; run sti-profile here");
  }
  return plan.threads == 0 ? available : std::min(plan.threads, available);
}

}  // namespace sti
