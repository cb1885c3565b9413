#include "model/batch.h"

#include <algorithm>
#include <cstddef>

namespace sti {

uint32_t Batch::longest() const {
  uint32_t longest = 0;
  for (size_t s = 0; s + 1 < offsets.size(); ++s) {
    longest = std::max(longest, offsets[s + 1] - offsets[s]);
  }
  return longest;
}

void CopyRows(const Batch& batch, OutputRows rows, uint32_t d, const float* hidden, float* wanted) {
  for (uint32_t row = 0; row < batch.Count(rows); ++row) {
    const float* from = hidden + size_t{batch.TokenOf(rows, row)} * d;
    float* to = wanted + size_t{row} * d;
    if (from != to) std::copy_n(from, d, to);
  }
}

}  // namespace sti
