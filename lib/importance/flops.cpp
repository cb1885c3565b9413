#include "importance/flops.h"

#include <algorithm>

#include "network/tensors.h"

namespace sti {
namespace {

using enum TensorRole;

// Operations of the product of one row with a slice's part of a matrix.
uint64_t RowFlops(const ModelShape& shape, TensorRole matrix) {
  return 2 * SizeInSlice(SpecOf(matrix), shape).count();
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
  const bool first = rows == OutputRows::kFirst;
  const uint64_t asking = first ? size.sequences : size.tokens;
  const uint64_t products =
      asking * RowFlops(shape, kQueryWeight) +
      size.tokens * (RowFlops(shape, kKeyWeight) + RowFlops(shape, kValueWeight));
  const uint64_t attention = 4 * shape.head_dim() * (first ? size.tokens : size.squares);
  return width * (products + attention);
}

uint64_t FinishFlops(const ModelShape& shape, uint64_t rows, uint32_t width) {
  return rows * width *
         (RowFlops(shape, kOutputWeight) + RowFlops(shape, kFfn1Weight) +
          RowFlops(shape, kFfn2Weight));
}

uint64_t LayerFlops(const ModelShape& shape, const BatchSize& size, uint32_t width,
                    OutputRows rows) {
  const uint64_t finished = rows == OutputRows::kFirst ? size.sequences : size.tokens;
  return ContextFlops(shape, size, width, rows) + FinishFlops(shape, finished, width);
}

uint64_t HeadFlops(const ModelShape& shape, uint64_t sequences) {
  return 2 * sequences *
         (SizeOf(SpecOf(kPoolerWeight), shape).count() +
          SizeOf(SpecOf(kClassifierWeight), shape).count());
}

uint64_t EvaluationFlops(const ModelShape& shape, const BatchSize& size, uint64_t layers,
                         uint32_t width) {
  return layers * LayerFlops(shape, size, width, OutputRows::kAll) +
         HeadFlops(shape, size.sequences);
}

}  // namespace sti
