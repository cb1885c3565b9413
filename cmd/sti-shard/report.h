// The report of a container that sti-shard has written, or would write, as it is printed.
#pragma once

#include <string>

#include "import/shard_model.h"

namespace sti {

/// Returns the report as one JSON object on one line.
std::string ReportToJson(const ShardReport& report);

/// Returns the report as a line for people that begins with `head`.
std::string ReportText(const std::string& head, const ShardReport& report);

}  // namespace sti
