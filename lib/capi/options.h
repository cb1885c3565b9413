// The options of the C API, which are numbers, as the library has them.
#pragma once

#include <cstdint>

#include "api/model.h"
#include "base/result.h"

namespace sti {

/// Sets one option of sti.h. kUsage: there is no such option, or it has no such value.
Status SetOption(int32_t option, int64_t value, ModelOptions& options);

}  // namespace sti
