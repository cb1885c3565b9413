#include "quant/hidden_scales.h"

#include <cmath>

#include "base/half.h"

namespace sti {
namespace {

// One of a layer's whole matrices, row-major.
struct WholeMatrix {
  uint64_t rows;
  uint64_t columns;
  bool by_row;  // hidden channels are rows, else columns
};

std::vector<WholeMatrix> MatricesOf(const ModelShape& shape) {
  const uint64_t d = shape.hidden;
  const uint64_t f = shape.ffn;
  return {{d, d, false}, {d, d, false}, {d, d, false}, {d, d, true}, {f, d, false}, {d, f, true}};
}

// Calls visit(row, scales) for each row of a layer. `scales` are those of its columns, or the one
// of the row; `row` is where it begins in the layer.
template <typename Visit>
void ForEachRow(const ModelShape& shape, const Visit& visit) {
  uint64_t at = 0;
  uint64_t scales = 0;
  for (const WholeMatrix& matrix : MatricesOf(shape)) {
    for (uint64_t row = 0; row < matrix.rows; ++row) {
      visit(at, matrix.columns, scales + (matrix.by_row ? row : 0), matrix.by_row);
      at += matrix.columns;
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
  const std::vector<WholeMatrix> matrices = MatricesOf(shape);
  std::vector<double> squares(matrices.size() * shape.hidden, 0.0);
  ForEachRow(shape, [&](uint64_t row, uint64_t columns, uint64_t first, bool by_row) {
    for (uint64_t c = 0; c < columns; ++c) {
      const double weight = weights[row + c];
      squares[first + (by_row ? 0 : c)] += weight * weight;
    }
  });
  std::vector<float> scales(squares.size());
  for (size_t i = 0; i < scales.size(); ++i) {
    const WholeMatrix& matrix = matrices[i / shape.hidden];
    const auto count = static_cast<double>(matrix.by_row ? matrix.columns : matrix.rows);
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
