#include "quant/hidden_scales.h"

#include <cmath>

#include "base/half.h"
#include "network/tensors.h"

namespace sti {
namespace {

// Whether hidden channels are a matrix's rows, since slices share all of its outputs; else they are
// its columns.
bool HasChannelsInRows(const TensorSpec& matrix) { return IsCutByInputs(matrix); }

// Calls visit(row, scales) for each row of a layer. `scales` are those of its columns, or the one
// of the row; `row` is where it begins in the layer.
template <typename Visit>
void ForEachRow(const ModelShape& shape, const Visit& visit) {
  uint64_t at = 0;
  uint64_t scales = 0;
  for (const TensorSpec& matrix : TensorsAt(Home::kShard)) {
    const TensorSize size = SizeOf(matrix, shape);
    const bool by_row = HasChannelsInRows(matrix);
    for (uint64_t row = 0; row < size.rows; ++row) {
      visit(at, size.columns, scales + (by_row ? row : 0), by_row);
      at += size.columns;
    }
    scales += shape.hidden;
  }
}

float RoundedRoot(double mean_square) {
  const float rounded = BFloatToFloat(FloatToBFloat(static_cast<float>(std::sqrt(mean_square))));
  return std::isnormal(rounded) ? rounded : 1.0F;
}

}  // namespace

std::vector<float> FitHiddenScales(std::span<const float> weights, const ModelShape& shape) {
  std::vector<double> squares(CountAt(Home::kShard) * shape.hidden, 0.0);
  ForEachRow(shape, [&](uint64_t row, uint64_t columns, uint64_t first, bool by_row) {
    for (uint64_t c = 0; c < columns; ++c) {
      const double weight = weights[row + c];
      squares[first + (by_row ? 0 : c)] += weight * weight;
    }
  });
  std::vector<float> scales(squares.size());
  for (size_t i = 0; i < scales.size(); ++i) {
    const TensorSpec& matrix = TensorsAt(Home::kShard)[i / shape.hidden];
    const TensorSize size = SizeOf(matrix, shape);
    const auto count = static_cast<double>(HasChannelsInRows(matrix) ? size.columns : size.rows);
    scales[i] = RoundedRoot(squares[i] / count);
  }
  return scales;
}

void DivideByHiddenScales(std::span<const float> scales, const ModelShape& shape,
                          std::span<float> weights) {
  ForEachRow(shape, [&](uint64_t row, uint64_t columns, uint64_t first, bool by_row) {
    for (uint64_t c = 0; c < columns; ++c) weights[row + c] /= scales[first + (by_row ? 0 : c)];
  });
}

}  // namespace sti
