// Quantities on a command line (sizes, times, lists, submodels): the words that mean them, and the
// words that people read of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "types/submodel.h"

namespace sti {

/// Returns the parts of a list, with commas between them; at least one.
std::vector<std::string_view> SplitAtCommas(std::string_view text);

/// "1MiB", "1.5MB", "4kB", "1048576" to bytes.
Result<uint64_t> ParseSize(std::string_view text);

/// "200ms", "0.2s", "200us" to microseconds. The unit is required.
Result<double> ParseTimeUs(std::string_view text);

/// "2-6,32" to 2,3,4,5,6,32: ascending, each once, at most 4,096 numbers.
Result<std::vector<uint32_t>> ParseList(std::string_view text);

/// "100ms,0.2s" and "0,1MiB": ascending, each once, at most 64.
Result<std::vector<double>> ParseTimes(std::string_view text);
Result<std::vector<uint64_t>> ParseSizes(std::string_view text);

/// "5x3" to {5, 3}.
Result<Submodel> ParseSubmodel(std::string_view text);

/// "20%" or "0.2" to 0.2; within [0, 1].
Result<double> ParseShare(std::string_view text);

/// A kind of value: how it is read, and what help calls it. In braces stand all that it can be.
template <typename Value>
struct ValueKind {
  Result<Value> (*parse)(std::string_view text);
  const char* name;
};
inline constexpr ValueKind<uint64_t> kSize{ParseSize, "SIZE"};
inline constexpr ValueKind<std::vector<uint64_t>> kSizes{ParseSizes, "SIZE,..."};
inline constexpr ValueKind<double> kTime{ParseTimeUs, "TIME"};
inline constexpr ValueKind<std::vector<double>> kTimes{ParseTimes, "TIME,..."};
inline constexpr ValueKind<std::vector<uint32_t>> kList{ParseList, "LIST"};
inline constexpr ValueKind<Submodel> kSubmodel{ParseSubmodel, "NxM"};
inline constexpr ValueKind<double> kShare{ParseShare, "SHARE"};

/// Quantities for people: "8.2 MB", "1.5 ms".
std::string FormatBytes(uint64_t bytes);
std::string FormatTimeUs(double us);

}  // namespace sti
