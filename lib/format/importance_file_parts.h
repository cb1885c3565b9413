// An importance file has two spellings, binary and JSON. This file holds what their readers share.
// Internal to lib/format. Functions are thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "format/unknown_keys.h"
#include "types/importance.h"

namespace sti {

/// Read an importance in one spelling; `name` is for messages. Sizes are bounded by that of the
/// file, but other rules are not checked. `unknown` may be null.
Result<Importance> ImportanceFromBinary(std::span<const uint8_t> bytes, const std::string& name);
Result<Importance> ImportanceFromJson(std::span<const uint8_t> bytes, const std::string& name,
                                      UnknownKeys* unknown);

}  // namespace sti
