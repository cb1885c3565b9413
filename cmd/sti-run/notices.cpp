#include "notices.h"

#include "common/parse.h"

namespace sti {

void Tell(const Notice& notice, const Tool& tool, const std::string& prefix) {
  switch (notice.kind) {
    case Notice::Kind::kLeadTime:
      return tool.Say(
          prefix + "the plan counts on " + FormatTimeUs(notice.time_us) +
          " of lead time before each text, which lines do not give; they will take longer");
    case Notice::Kind::kPlannedAgain:
    case Notice::Kind::kOtherVariants:
      return tool.Say(prefix + LineFor(notice).what);
    default:
      break;
  }
  LogLine line = LineFor(notice);
  line.what = prefix + line.what;
  tool.Log(line);
}

}  // namespace sti
