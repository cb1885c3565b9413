// Numbers that trained weights never make, and damaged or hostile ones may: whatever depends on a
// NaN is NaN, nothing else is, and every kernel comes to its end.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "kernels/elementwise.h"
#include "kernels/gemm.h"
#include "kernels/instruction_sets.h"
#include "kernels/numbers.h"

namespace sti {
namespace {

constexpr float kMax = std::numeric_limits<float>::max();
constexpr float kDenormal = std::numeric_limits<float>::denorm_min();
constexpr Activation kActivations[] = {Activation::kGelu, Activation::kGeluTanh, Activation::kRelu};

// Whole vectors of every set, and ends that none divides.
constexpr uint32_t kCounts[] = {1, 3, 4, 8, 16, 17, 37};

// Calls `check(row, place)` with rows of `fill` but for `odd` at each place in turn.
void ForEachPlace(float fill, float odd,
                  const std::function<void(std::vector<float>& row, uint32_t place)>& check) {
  testing::ForEachInstructionSet([&] {
    for (const uint32_t count : kCounts) {
      for (uint32_t place = 0; place < count; ++place) {
        SCOPED_TRACE(::testing::Message() << place << " of " << count);
        std::vector<float> row(count, fill);
        row[place] = odd;
        check(row, place);
      }
    }
  });
}

void ExpectAllNan(const std::vector<float>& row) {
  for (const float x : row) EXPECT_TRUE(std::isnan(x)) << x;
}

TEST(Extremes, ActivationsKeepNanWhereItIs) {
  for (const Activation kind : kActivations) {
    ForEachPlace(1.0f, kNan, [&](std::vector<float>& row, uint32_t place) {
      Activate(kind, row.data(), row.size(), 1, static_cast<uint32_t>(row.size()));
      for (uint32_t i = 0; i < row.size(); ++i) EXPECT_EQ(std::isnan(row[i]), i == place);
    });
  }
}

TEST(Extremes, ActivationsOfInfiniteHugeAndTinyNumbers) {
  testing::ForEachInstructionSet([] {
    for (const Activation kind : kActivations) {
      std::vector<float> x = {kInfinity, kMax, 3e18f, -kInfinity, -kMax, -3e18f, 1e-40f, kDenormal};
      Activate(kind, x.data(), x.size(), 1, static_cast<uint32_t>(x.size()));
      EXPECT_EQ(x[0], kInfinity);
      EXPECT_EQ(x[1], kMax);
      EXPECT_EQ(x[2], 3e18f);
      for (int i = 3; i < 8; ++i) EXPECT_NEAR(x[i], 0, 5e-7) << i;
    }
  });
}

TEST(Extremes, TanhKeepsNanAndReachesOne) {
  ForEachPlace(1.0f, kNan, [](std::vector<float>& row, uint32_t place) {
    TanhRow(row.data(), static_cast<uint32_t>(row.size()));
    for (uint32_t i = 0; i < row.size(); ++i) EXPECT_EQ(std::isnan(row[i]), i == place);
  });
  testing::ForEachInstructionSet([] {
    std::vector<float> x = {kInfinity, kMax, -kInfinity, -kMax, 1e-40f};
    TanhRow(x.data(), 5);
    EXPECT_EQ(x[0], 1);
    EXPECT_EQ(x[1], 1);
    EXPECT_EQ(x[2], -1);
    EXPECT_EQ(x[3], -1);
    EXPECT_NEAR(x[4], 0, 1e-7);
  });
}

TEST(Extremes, SoftmaxOfARowWithNanOrInfinityIsNan) {
  for (const float odd : {kNan, kInfinity}) {
    ForEachPlace(-2.0f, odd, [](std::vector<float>& row, uint32_t) {
      SoftmaxRow(row.data(), static_cast<uint32_t>(row.size()), 0.125f);
      ExpectAllNan(row);
    });
  }
  ForEachPlace(-kInfinity, -kInfinity, [](std::vector<float>& row, uint32_t) {
    SoftmaxRow(row.data(), static_cast<uint32_t>(row.size()), 1);
    ExpectAllNan(row);
  });
}

TEST(Extremes, SoftmaxOfHugeAndTinyNumbers) {
  for (const float low : {-kMax, -kInfinity, 0.0f}) {
    ForEachPlace(low, kMax, [](std::vector<float>& row, uint32_t place) {
      SoftmaxRow(row.data(), static_cast<uint32_t>(row.size()), 0.125f);
      for (uint32_t i = 0; i < row.size(); ++i) EXPECT_EQ(row[i], i == place ? 1.0f : 0.0f);
    });
  }
  ForEachPlace(1e-40f, kDenormal, [](std::vector<float>& row, uint32_t) {
    SoftmaxRow(row.data(), static_cast<uint32_t>(row.size()), 1);
    const float equal = 1.0f / static_cast<float>(row.size());
    for (const float x : row) EXPECT_NEAR(x, equal, 1e-6);
  });
}

std::vector<float> Normalised(const std::vector<float>& x) {
  const std::vector<float> ones(x.size(), 1.0f);
  std::vector<float> out(x.size());
  LayerNormRow(x.data(), nullptr, ones.data(), ones.data(), static_cast<uint32_t>(x.size()), 1e-12f,
               out.data());
  return out;
}

TEST(Extremes, LayerNormOfARowWithNanOrInfinityIsNan) {
  for (const float odd : {kNan, kInfinity, -kInfinity}) {
    ForEachPlace(1.5f, odd, [](std::vector<float>& row, uint32_t place) {
      const auto out = Normalised(row);
      EXPECT_TRUE(std::isnan(out[place]));
      // The other numbers, less an infinite mean, are not finite either.
      for (const float x : out) EXPECT_FALSE(std::isfinite(x)) << x;
    });
  }
}

// Finite numbers whose squares are not: their variance would scale each of them to 0.
TEST(Extremes, LayerNormOfARowWhoseVarianceOverflowsIsNan) {
  for (const float huge : {1e20f, -3e38f, kMax}) {
    ForEachPlace(1.5f, huge, [](std::vector<float>& row, uint32_t) {
      if (row.size() > 1) ExpectAllNan(Normalised(row));
    });
  }
}

TEST(Extremes, LayerNormOfTinyNumbers) {
  ForEachPlace(0, 1e-40f, [](std::vector<float>& row, uint32_t) {
    for (const float x : Normalised(row)) EXPECT_NEAR(x, 1, 1e-6);  // eps outweighs them
  });
}

TEST(Extremes, DotAndProductsCarryNanAndInfinity) {
  for (const float odd : {kNan, kInfinity, -kInfinity}) {
    ForEachPlace(1.0f, odd, [&](std::vector<float>& row, uint32_t) {
      const auto count = static_cast<uint32_t>(row.size());
      const std::vector<float> ones(count, 1.0f);
      const float sum = Dot(row.data(), ones.data(), count);
      EXPECT_TRUE(std::isnan(odd) ? std::isnan(sum) : sum == odd) << sum;
    });
  }
}

// A row of activations, or a column of weights, that is not finite spoils its own results alone.
TEST(Extremes, ProductsSpoilOneRowAndOneColumn) {
  constexpr uint32_t kRows = 13;
  constexpr uint32_t kIns = 5;
  constexpr uint32_t kWidth = 29;
  constexpr uint32_t kBadRow = 7;
  constexpr uint32_t kBadColumn = 20;
  testing::ForEachInstructionSet([] {
    for (const float odd : {kNan, kInfinity, kMax, kDenormal}) {
      std::vector<float> a(size_t{kRows} * kIns, 2.0f);
      std::vector<float> b(size_t{kIns} * 32 + 16, 4.0f);
      // A number past the width may be anything, too.
      for (uint32_t k = 0; k < kIns; ++k) b[k * 32 + 30] = kNan;
      a[kBadRow * kIns + 1] = odd;
      b[3 * 32 + kBadColumn] = odd;
      std::vector<float> c(size_t{kRows} * kWidth);
      MultiplyPanels({.a = a.data(),
                      .a_stride = kIns,
                      .rows = kRows,
                      .ins = kIns,
                      .panels = {{b.data(), 32}, {b.data() + 16, 32}},
                      .c = c.data(),
                      .c_stride = kWidth,
                      .width = kWidth});
      for (uint32_t r = 0; r < kRows; ++r) {
        for (uint32_t j = 0; j < kWidth; ++j) {
          const bool touched = r == kBadRow || j == kBadColumn;
          const float got = c[r * kWidth + j];
          const float whole = odd == kDenormal ? 32.0f : kInfinity;
          if (!touched) {
            EXPECT_EQ(got, 40.0f);
          } else if (std::isnan(odd)) {
            EXPECT_TRUE(std::isnan(got)) << r << " " << j;
          } else if (r != kBadRow || j != kBadColumn) {
            EXPECT_EQ(got, whole) << r << " " << j;
          } else {
            EXPECT_EQ(got, odd == kDenormal ? 24.0f : kInfinity);
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace sti
