#include "api/notice.h"

#include <cstdio>
#include <utility>

#include "base/remedy.h"

namespace sti {
namespace {

std::string LeadTimeLine(double time_us) {
  char line[100];
  std::snprintf(line, sizeof(line), "the plan counts on %.0f ms of lead time before each input",
                time_us / 1e3);
  return line;
}

std::string DriftLine(const Drift& drift) {
  char line[160];
  std::snprintf(line, sizeof(line),
                "layers take %.2f and reads %.2f times what the plan counts on; profile this "
                "device again, then plan again",
                drift.compute_ratio, drift.io_ratio);
  return line;
}

LogLine Info(std::string what) { return {LogLevel::kInfo, std::move(what)}; }
LogLine Warning(std::string what, Remedy remedy = {}) {
  return {LogLevel::kWarning, std::move(what), remedy};
}

LogLine CountsOn(const std::string& planned, const std::string& actual) {
  return Warning("the plan counts on " + planned + ", this run has " + actual,
                 Remedy::kMeasureHere);
}

}  // namespace

LogLine LineFor(const Notice& notice) {
  switch (notice.kind) {
    case Notice::Kind::kRunning:
      return Info("reading through " + notice.actual + ", computing with " + notice.kernel);
    case Notice::Kind::kReadFallback:
      return Info(notice.actual);
    case Notice::Kind::kFewerStreams:
      return Info(
          "reading through " + notice.planned +
          (notice.planned == "1" ? " open file, and no more: " : " open files, and no more: ") +
          notice.actual);
    case Notice::Kind::kOtherReadPath:
      return CountsOn("reads through " + notice.planned, notice.actual);
    case Notice::Kind::kOtherKernel:
      return CountsOn("kernel " + notice.planned, notice.actual);
    case Notice::Kind::kOtherUnicode:
      return Warning("the model was made with Unicode " + notice.planned + ", this program has " +
                     notice.actual + "; rare characters may give other tokens");
    case Notice::Kind::kNotLocked:
      return Warning(notice.actual, Remedy::kMoreLockedMemory);
    case Notice::Kind::kFirstWindowCounts:
      return Warning(
          "the model's vectors are made of a text's first token, so that of a long text the first "
          "window alone counts");
    case Notice::Kind::kLeadTime:
      return Info(LeadTimeLine(notice.time_us));
    case Notice::Kind::kDrift:
      return Warning(DriftLine(notice.drift));
    case Notice::Kind::kPlannedAgain:
      return Info(notice.why + ": planned again, " + notice.actual);
    case Notice::Kind::kPlanKept:
      return Warning(notice.why + ": the plan stays, since there is no other: " + notice.actual);
    case Notice::Kind::kOtherVariants:
      return Info(notice.why + ": other variants of the plan run");
  }
  return {};
}

}  // namespace sti
