#include "kernels/dense.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/instruction_sets.h"
#include "kernels/numbers.h"

namespace sti {
namespace {

struct DenseCase {
  uint32_t rows, ins, outs;
  bool transposed, accumulate;
};

/// The numbers of a case, with strides that are no multiple of anything.
struct Numbers {
  explicit Numbers(const DenseCase& which)
      : t(which),
        a_stride(t.ins + 3),
        b_stride((t.transposed ? t.ins : t.outs) + 5),
        c_stride(t.outs + 1),
        a(RandomNumbers(t.rows * a_stride, 1)),
        b(RandomNumbers((t.transposed ? t.outs : t.ins) * b_stride + kDenseSlack, 2)),
        c(RandomNumbers(t.rows * c_stride, 3)) {}

  [[nodiscard]] DenseProduct Product(std::vector<float>* result) const {
    return {.a = a.data(),
            .a_stride = a_stride,
            .b = b.data(),
            .b_stride = b_stride,
            .transposed = t.transposed,
            .c = result->data(),
            .c_stride = c_stride,
            .rows = t.rows,
            .ins = t.ins,
            .outs = t.outs,
            .accumulate = t.accumulate};
  }
  [[nodiscard]] double Exact(uint32_t row, uint32_t out) const {
    double sum = t.accumulate ? double{c[row * c_stride + out]} : 0;
    for (uint32_t k = 0; k < t.ins; ++k) {
      const size_t at = t.transposed ? out * b_stride + k : k * b_stride + out;
      sum += double{a[row * a_stride + k]} * double{b[at]};
    }
    return sum;
  }
  void ExpectIsProduct(const std::vector<float>& result) const {
    for (uint32_t row = 0; row < t.rows; ++row) {
      for (uint32_t out = 0; out < t.outs; ++out) {
        ASSERT_NEAR(result[row * c_stride + out], Exact(row, out), 1e-4) << row << ' ' << out;
      }
      ASSERT_EQ(result[row * c_stride + t.outs], c[row * c_stride + t.outs]) << "wrote past a row";
    }
  }

  DenseCase t;
  size_t a_stride, b_stride, c_stride;
  std::vector<float> a, b, c;
};

const DenseCase kCases[] = {
    {1, 1, 1, false, false},   {1, 1, 1, true, true},      {7, 300, 33, false, false},
    {7, 300, 33, true, false}, {200, 40, 50, false, true}, {200, 513, 17, true, true},
    {0, 5, 5, false, false},
};

TEST(MultiplyDense, IsTheProduct) {
  testing::ForEachInstructionSet([] {
    ThreadPool pool(2);
    for (const DenseCase& t : kCases) {
      const Numbers numbers(t);
      std::vector<float> result = numbers.c;
      MultiplyDense(numbers.Product(&result), pool);
      numbers.ExpectIsProduct(result);
    }
  });
}

TEST(MultiplyDense, HasTheSameBitsForAnyThreadsAndWithoutACopy) {
  for (const DenseCase& t : kCases) {
    const Numbers numbers(t);
    std::vector<std::vector<float>> results;
    for (const uint32_t threads : {1U, 3U}) {
      ThreadPool pool(threads);
      results.push_back(numbers.c);
      MultiplyDense(numbers.Product(&results.back()), pool);
    }
    EXPECT_EQ(results[0], results[1]);
    if (t.transposed) continue;
    std::vector<float> small = numbers.c;
    MultiplySmall(numbers.Product(&small));
    EXPECT_EQ(small, results[0]);
  }
}

}  // namespace
}  // namespace sti
