#include "notices.h"

#include "common/parse.h"

namespace sti {

void Tell(const Notice& notice, const Tool& tool) {
  switch (notice.kind) {
    case Notice::Kind::kLeadTime:
      return tool.Say(
          "the plan counts on " + FormatTimeUs(notice.time_us) +
          " of lead time before each text, which lines do not give; they will take longer");
    case Notice::Kind::kPlannedAgain:
    case Notice::Kind::kOtherVariants:
      return tool.Say(LineFor(notice).what);
    default:
      return tool.Log(LineFor(notice));
  }
}

}  // namespace sti
