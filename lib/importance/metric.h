// The metrics that importance is measured by.
#pragma once

#include <cstdint>

namespace sti {

enum class Metric : uint8_t { kAccuracy, kLoss, kKl };
const char* MetricName(Metric metric);

}  // namespace sti
