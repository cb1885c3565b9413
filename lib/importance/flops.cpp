#include "importance/flops.h"

#include <algorithm>

#include "network/layer_program.h"
#include "network/tensors.h"

namespace sti {
namespace {

using enum TensorRole;

// Returns the operations of one slice in a row of a linear map's input, or in a pair of tokens that
// attention looks at.
uint64_t UnitFlops(const LayerStep& step, const ModelShape& shape) {
  if (const auto* linear = std::get_if<LinearStep>(&step)) {
    return 2 * SizeInSlice(SpecOf(linear->weight), shape).count();
  }
  return std::holds_alternative<AttendStep>(step) ? uint64_t{4} * shape.head_dim() : 0;
}

// Returns the operations of one slice in these steps; units(step) says of how many rows, or pairs.
template <typename F>
uint64_t StepFlops(LayerProgram steps, const ModelShape& shape, const F& units) {
  uint64_t flops = 0;
  for (const LayerStep& step : steps) flops += units(step) * UnitFlops(step, shape);
  return flops;
}

}  // namespace

BatchSize& BatchSize::operator+=(const BatchSize& other) {
  sequences += other.sequences;
  tokens += other.tokens;
  squares += other.squares;
  return *this;
}

BatchSize SizeOf(const Batch& batch) { return PaddedSize(batch, 0); }

BatchSize PaddedSize(const Batch& batch, uint32_t length) {
  BatchSize size;
  size.sequences = batch.sequences();
  for (uint32_t s = 0; s < batch.sequences(); ++s) {
    const uint64_t padded = std::max(batch.offsets[s + 1] - batch.offsets[s], length);
    size.tokens += padded;
    size.squares += padded * padded;
  }
  return size;
}

uint64_t ContextFlops(const ModelShape& shape, const BatchSize& size, uint32_t width,
                      OutputRows rows) {
  const LayerProgram program = EncoderLayer();
  return width * StepFlops(ContextSteps(program), shape, [&](const LayerStep& step) {
           const bool all = rows == OutputRows::kAll;
           if (std::holds_alternative<AttendStep>(step)) return all ? size.squares : size.tokens;
           return all || IsOfAllRows(program, WrittenBy(step)) ? size.tokens : size.sequences;
         });
}

uint64_t FinishFlops(const ModelShape& shape, uint64_t rows, uint32_t width) {
  return width *
         StepFlops(FinishSteps(EncoderLayer()), shape, [&](const LayerStep&) { return rows; });
}

uint64_t LayerFlops(const ModelShape& shape, const BatchSize& size, uint32_t width,
                    OutputRows rows) {
  return ContextFlops(shape, size, width, rows) + FinishFlops(shape, size.Count(rows), width);
}

uint64_t HeadFlops(const ModelShape& shape, uint64_t rows) {
  // Without labels there are no products: pooling and unit length count as nothing.
  const uint64_t pooler = shape.has_pooler ? SizeOf(SpecOf(kPoolerWeight), shape).count() : 0;
  return 2 * rows * (pooler + SizeOf(SpecOf(kClassifierWeight), shape).count());
}

uint64_t EvaluationFlops(const ModelShape& shape, OutputRows head_rows, const BatchSize& size,
                         uint64_t layers, uint32_t width) {
  return layers * LayerFlops(shape, size, width, OutputRows::kAll) +
         HeadFlops(shape, size.Count(head_rows));
}

}  // namespace sti
