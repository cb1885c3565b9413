#include "score/gates.h"

namespace sti {
namespace {

// Whether accuracy fell by more than a share `drop` of the examples, and not by chance. A drop that
// is a whole number of examples may be reached, however it is rounded.
bool Fell(const Evaluation& e, double drop) {
  const auto fall = static_cast<double>(e.compared->lost) - static_cast<double>(e.compared->gained);
  return fall > drop * static_cast<double>(e.examples()) + 1e-6 && e.compared->p_value <= 0.05;
}

}  // namespace

std::vector<Gate> FailedGates(const Evaluation& evaluation, const Gates& gates) {
  std::vector<Gate> failed;
  if (evaluation.examples() == 0) return failed;
  const auto judge = [&failed](Gate gate, bool fails) {
    if (fails) failed.push_back(gate);
  };
  judge(Gate::kAccuracy, gates.min_accuracy && evaluation.accuracy() < *gates.min_accuracy);
  judge(Gate::kP99, gates.max_p99_us && evaluation.latency_us.p99() > *gates.max_p99_us);
  judge(Gate::kMemory,
        gates.max_memory_bytes && evaluation.peak_rss_bytes > *gates.max_memory_bytes);
  judge(Gate::kInputBytes,
        gates.max_input_bytes &&
            evaluation.bytes_read.mean() > static_cast<double>(*gates.max_input_bytes));
  judge(Gate::kMisses, gates.max_misses && evaluation.deadline_misses > *gates.max_misses);
  judge(Gate::kDrop, gates.max_drop && evaluation.compared && Fell(evaluation, *gates.max_drop));
  return failed;
}

}  // namespace sti
