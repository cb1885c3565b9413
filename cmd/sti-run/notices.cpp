#include "notices.h"

#include <cstdio>
#include <string>

#include "common/parse.h"

namespace sti {
namespace {

std::string DriftLine(const Drift& drift) {
  char line[160];
  std::snprintf(line, sizeof(line),
                "layers take %.2f and reads %.2f times what the plan counts on; profile this "
                "device again, then plan again",
                drift.compute_ratio, drift.io_ratio);
  return line;
}

}  // namespace

void Tell(const Notice& notice, const Tool& tool) {
  switch (notice.kind) {
    case Notice::Kind::kRunning:
      return tool.Explain("reading through " + notice.actual + ", computing with " + notice.kernel);
    case Notice::Kind::kReadFallback:
      return tool.Explain(notice.actual);
    case Notice::Kind::kOtherReadPath:
      return tool.Warn("the plan counts on reads through " + notice.planned + ", this run has " +
                       notice.actual + "; run sti-profile here");
    case Notice::Kind::kOtherKernel:
      return tool.Warn("the plan counts on kernel " + notice.planned + ", this run has " +
                       notice.actual + "; run sti-profile here");
    case Notice::Kind::kOtherUnicode:
      return tool.Warn("the model was made with Unicode " + notice.planned + ", this tool has " +
                       notice.actual + "; rare characters may give other tokens");
    case Notice::Kind::kLeadTime:
      return tool.Say("the plan counts on " + FormatTimeUs(notice.time_us) +
                      " of lead time before each text, which lines do not give; they will take "
                      "longer");
    case Notice::Kind::kDrift:
      return tool.Warn(DriftLine(notice.drift));
  }
}

}  // namespace sti
