#include "capi/options.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <string>

#include "capi/sti.h"

namespace sti {
namespace {

constexpr int64_t kMost = int64_t{1} << 50;  // exact as a double
constexpr int64_t kMostCount = std::numeric_limits<int32_t>::max();
constexpr int64_t kMillion = 1'000'000;

template <typename T>
std::optional<T> Unless0(T value) {
  return value == 0 ? std::nullopt : std::optional<T>(value);
}

struct Option {
  int32_t number;
  int64_t most;
  void (*set)(ModelOptions&, int64_t);
};

constexpr Option kOptions[] = {
    {STI_TARGET_US, kMost,
     [](ModelOptions& o, int64_t v) { o.request.target_us = Unless0(static_cast<double>(v)); }},
    {STI_PRELOAD_BYTES, kMost,
     [](ModelOptions& o, int64_t v) { o.request.preload_bytes = static_cast<uint64_t>(v); }},
    {STI_MEMORY_BYTES, kMost,
     [](ModelOptions& o, int64_t v) {
       o.request.judging.memory_bytes = Unless0(static_cast<uint64_t>(v));
     }},
    {STI_LENGTH, kMostCount,
     [](ModelOptions& o, int64_t v) { o.request.length = static_cast<uint32_t>(v); }},
    {STI_LEAD_TIME_US, kMost,
     [](ModelOptions& o, int64_t v) { o.request.wake_us = static_cast<double>(v); }},
    {STI_TURNS, kMostCount,
     [](ModelOptions& o, int64_t v) { o.request.turns = static_cast<uint32_t>(v); }},
    {STI_MIN_ACCURACY_PPM, kMillion,
     [](ModelOptions& o, int64_t v) {
       o.request.min_accuracy = Unless0(static_cast<double>(v) / kMillion);
     }},
    {STI_FULL_ACCURACY_PPM, kMillion,
     [](ModelOptions& o, int64_t v) {
       o.request.full_accuracy = Unless0(static_cast<double>(v) / kMillion);
     }},
    {STI_GUARANTEE, 1, [](ModelOptions& o, int64_t v) { o.request.guarantee = v != 0; }},
    {STI_LATE, STI_LATE_DEGRADE,
     [](ModelOptions& o, int64_t v) {
       o.late = v == STI_LATE_DEGRADE ? Late::kDegrade : Late::kWait;
     }},
    {STI_COMPUTE, STI_COMPUTE_INT8,
     [](ModelOptions& o, int64_t v) {
       constexpr ComputeType kTypes[] = {ComputeType::kFp32, ComputeType::kBf16,
                                         ComputeType::kInt8};
       o.compute.reset();
       if (v != STI_COMPUTE_AS_PLANNED) o.compute = kTypes[v - STI_COMPUTE_FP32];
     }},
    {STI_THRESHOLD_PPM, kMillion,
     [](ModelOptions& o, int64_t v) {
       o.threshold = v == 0 ? ModelOptions().threshold : static_cast<double>(v) / kMillion;
     }},
    {STI_CLOCK_KHZ, kMost,
     [](ModelOptions& o, int64_t v) { o.clock_khz = static_cast<uint64_t>(v); }},
    {STI_LOCK_MEMORY, 1, [](ModelOptions& o, int64_t v) { o.lock_memory = v != 0; }},
};

}  // namespace

Status SetOption(int32_t option, int64_t value, ModelOptions& options) {
  const auto* known = std::find_if(std::begin(kOptions), std::end(kOptions),
                                   [&](const Option& o) { return o.number == option; });
  if (known == std::end(kOptions)) {
    return UsageError("there is no option " + std::to_string(option) + "; sti.h lists them");
  }
  if (value < 0 || value > known->most) {
    return UsageError("option " + std::to_string(option) + " takes 0 to " +
                      std::to_string(known->most) + ", not " + std::to_string(value));
  }
  known->set(options, value);
  return {};
}

}  // namespace sti
