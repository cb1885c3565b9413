// Notices of a session, told to a person.
#pragma once

#include <string>

#include "api/notice.h"
#include "common/tool.h"

namespace sti {

/// Says a session's notice in a sentence that begins with `prefix`: a warning, a line, or one with
/// -v, as it matters.
void Tell(const Notice& notice, const Tool& tool, const std::string& prefix = "");

}  // namespace sti
