#include "kernels/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/instruction_sets.h"
#include "kernels/numbers.h"

namespace sti {
namespace {

constexpr float kStart = 0.25f;

struct PanelCase {
  uint32_t rows, ins, width;
  bool accumulate;
};

// Columns of one row-major matrix with a stride that is no multiple of anything.
std::vector<float> Multiply(const PanelCase& c, const std::vector<float>& a, size_t a_stride,
                            const std::vector<float>& b, size_t b_stride, std::vector<float> result,
                            size_t c_stride) {
  const std::vector<float> start(c.width, kStart);
  MultiplyPanels({.a = a.data(),
                  .a_stride = a_stride,
                  .rows = c.rows,
                  .ins = c.ins,
                  .panels = {{b.data(), b_stride}, {b.data() + 16, b_stride}},
                  .c = result.data(),
                  .c_stride = c_stride,
                  .width = c.width,
                  .start = c.accumulate ? nullptr : start.data()});
  return result;
}

void Check(const PanelCase& t) {
  const size_t a_stride = t.ins + 3;
  const size_t b_stride = 37;
  const size_t c_stride = t.width + 5;
  const auto a = RandomNumbers(t.rows * a_stride, 1);
  const auto b = RandomNumbers(t.ins * b_stride + 64, 2);
  const auto before = RandomNumbers(t.rows * c_stride, 3);
  const auto after = Multiply(t, a, a_stride, b, b_stride, before, c_stride);
  for (uint32_t r = 0; r < t.rows; ++r) {
    for (uint32_t j = 0; j < c_stride; ++j) {
      const float old = before[r * c_stride + j];
      if (j >= t.width) {
        ASSERT_EQ(after[r * c_stride + j], old) << "wrote past the width";
        continue;
      }
      double sum = t.accumulate ? old : kStart;
      for (uint32_t k = 0; k < t.ins; ++k) sum += double{a[r * a_stride + k]} * b[k * b_stride + j];
      ASSERT_NEAR(after[r * c_stride + j], sum, 1e-6 * (4 + t.ins)) << r << " " << j;
    }
  }
}

TEST(MultiplyPanels, AgreesWithDoubles) {
  testing::ForEachInstructionSet([] {
    for (uint32_t rows = 1; rows <= 30; ++rows) Check({rows, 19, 32, rows % 2 == 0});
    for (uint32_t width = 1; width <= 32; ++width) Check({13, 26, width, width % 2 == 1});
    for (const uint32_t ins : {0U, 1U, 2U, 100U, 768U}) Check({5, ins, 26, true});
    Check({0, 4, 16, false});
  });
}

// The promise that batches rest on: a row's bits depend on nothing beside it.
TEST(MultiplyPanels, RowsDoNotDependOnTheirNeighbours) {
  constexpr uint32_t kRows = 29;
  constexpr uint32_t kIns = 130;
  const auto a = RandomNumbers(kRows * kIns, 4);
  const auto b = RandomNumbers(kIns * 32 + 64, 5);
  testing::ForEachInstructionSet([&] {
    const std::vector<float> zero(kRows * 32);
    const auto all = Multiply({kRows, kIns, 32, false}, a, kIns, b, 32, zero, 32);
    for (uint32_t r = 0; r < kRows; ++r) {
      const std::vector<float> row(a.begin() + r * kIns, a.begin() + (r + 1) * kIns);
      const auto alone =
          Multiply({1, kIns, 32, false}, row, kIns, b, 32, std::vector<float>(32), 32);
      ASSERT_EQ(std::memcmp(alone.data(), all.data() + r * 32, 32 * sizeof(float)), 0) << r;
      const auto narrow =
          Multiply({1, kIns, 7, false}, row, kIns, b, 32, std::vector<float>(32), 32);
      ASSERT_EQ(std::memcmp(narrow.data(), all.data() + r * 32, 7 * sizeof(float)), 0) << r;
    }
  });
}

TEST(MultiplyPanels, CutInputsGiveTheSameBits) {
  constexpr uint32_t kIns = 300;
  const auto a = RandomNumbers(7 * kIns, 6);
  const auto b = RandomNumbers(kIns * 32 + 64, 7);
  const auto whole = Multiply({7, kIns, 20, false}, a, kIns, b, 32, std::vector<float>(140), 20);
  const auto first = Multiply({7, 111, 20, false}, a, kIns, b, 32, std::vector<float>(140), 20);
  const std::vector<float> rest_a(a.begin() + 111, a.end());
  const std::vector<float> rest_b(b.begin() + 111 * 32, b.end());
  const auto both = Multiply({7, kIns - 111, 20, true}, rest_a, kIns, rest_b, 32, first, 20);
  EXPECT_EQ(both, whole);
}

}  // namespace
}  // namespace sti
