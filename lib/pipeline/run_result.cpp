#include "pipeline/run_result.h"

#include <algorithm>

namespace sti {

double LayerIoUs(const RunReport& run, size_t k) {
  const LayerTrace& layer = run.layers[k];
  // A layer that reads nothing is ready from the start, whatever came before it.
  double before_us = run.embeddings_io_us;
  for (size_t j = 0; j < k; ++j) before_us = std::max(before_us, run.layers[j].io_ready_us);
  return std::max(0.0, layer.io_ready_us - std::max(layer.io_begin_us, before_us));
}

double PipelineBoundUs(const RunReport& run) {
  double compute_us = run.head_us;
  for (const LayerTrace& layer : run.layers) compute_us += layer.end_us - layer.start_us;
  double io_us = run.embeddings_io_us - run.embeddings_io_begin_us;
  double bound_us = io_us + (run.embeddings_us - run.embeddings_io_us) + compute_us;
  for (size_t k = 0; k < run.layers.size(); ++k) {
    io_us += LayerIoUs(run, k);
    bound_us = std::max(bound_us, io_us + compute_us);
    compute_us -= run.layers[k].end_us - run.layers[k].start_us;
  }
  return bound_us;
}

}  // namespace sti
