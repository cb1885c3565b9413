#include "notices.h"

#include "common/parse.h"

namespace sti {

void Tell(const Notice& notice, const Tool& tool) {
  if (notice.kind != Notice::Kind::kLeadTime) return tool.Log(LineFor(notice));
  tool.Say("the plan counts on " + FormatTimeUs(notice.time_us) +
           " of lead time before each text, which lines do not give; they will take longer");
}

}  // namespace sti
