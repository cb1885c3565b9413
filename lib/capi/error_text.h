// An error of the library as the C API hands it out: a number and one line of text.
#pragma once

#include <string>

#include "base/log.h"
#include "base/result.h"
#include "capi/sti.h"

namespace sti {

/// Returns the code of an error.
sti_code CodeFor(const Error& error);

/// Returns "where: what; what would help", which names no tool and no option of one.
std::string TextFor(const Error& error);
/// Returns "what; what would help".
std::string TextFor(const LogLine& line);

/// Fills `to`, unless it is null: STI_OK without a text.
void ClearError(sti_error* to) noexcept;
/// Fills `to`, unless it is null, with a text that is cut to fit. Returns the code.
sti_code FillError(const Error& error, sti_error* to);
/// Fills `to`, unless it is null, and takes no memory. Returns the code.
sti_code FillError(sti_code code, const char* text, sti_error* to) noexcept;

}  // namespace sti
