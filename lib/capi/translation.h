// Between the C API and the library: options and figures, which are numbers, as the library has
// them; and errors as the C API hands them out, a number and one line of text.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "api/model.h"
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

/// Sets one option of sti.h. kUsage: there is no such option, or it has no such value.
Status SetOption(int32_t option, int64_t value, ModelOptions& options);

/// The figure that there is not.
inline constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

/// Returns a figure of an answer, STI_LATENCY_US and the like; NaN where it has none.
double FigureOf(const ModelAnswer& answer, int32_t figure);
/// Returns a figure of a model, STI_LABELS and the like; NaN where there is none.
double FigureOf(Model& model, int32_t figure);

}  // namespace sti
