#include "importance/metric.h"

namespace sti {

const char* MetricName(Metric metric) {
  if (metric == Metric::kAccuracy) return "accuracy";
  return metric == Metric::kLoss ? "loss" : "kl";
}

}  // namespace sti
