// The memory of an open model, told before it is opened.
//
// Working memory is what a run computes in: the transformer's buffers, the blocks that embedding
// rows are read into, the hidden rows, and the rows of the head. Resident memory is what stays
// while the model is open: biases, norms, pooler and classifier. Each number comes from the code
// that lays that memory out, and depends on its arguments alone: a plan for another device is the
// same on every machine.
#pragma once

#include <cstdint>

#include "format/container_index.h"
#include "types/kernel.h"
#include "types/plan.h"
#include "types/stage.h"

namespace sti {

/// Holds what working memory follows from, beside the model.
struct WorkingTerms {
  Kernel kernel = {};      ///< where its name does not tell a layout, the larger one counts
  uint32_t threads = 1;    ///< 0 counts as 1
  PlanExtent extent = {};  ///< what is computed
};

/// Returns the bytes of working memory. More than 2^20 tokens or 4096 threads count as so many.
uint64_t WorkingBytes(const ContainerIndex& index, const WorkingTerms& terms);

/// Returns the bytes of the images of a pass of several, which whoever runs it has in hand beside
/// the one that is read; 0 of one alone, and of texts.
uint64_t GatheredImageBytes(const ContainerIndex& index, uint32_t images);

/// Returns what ResidentModel::bytes will be with all layers and both ends.
uint64_t ResidentBytes(const ContainerIndex& index);
/// Returns what it will be with the layers and the ends of a stage.
uint64_t ResidentBytes(const ContainerIndex& index, const StageExtent& stage);

}  // namespace sti
