#include "model/layer_parameters.h"

#include <cstring>

#include "kernels/decode.h"

namespace sti {

StoredMatrix StoredMatrix::Of(std::span<const float> values) {
  StoredMatrix matrix;
  matrix.bytes.resize(values.size_bytes());
  if (!values.empty()) std::memcpy(matrix.bytes.data(), values.data(), values.size_bytes());
  return matrix;
}

void StoredMatrix::Row(uint32_t row, uint32_t columns, float* out) const {
  WidenWeights(bytes.data() + uint64_t{row} * columns * BytesOf(type), type, columns, out);
}

}  // namespace sti
