#include "kernels/lowp_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "base/half.h"
#include "kernels/backend.h"
#include "kernels/instruction_sets.h"
#include "kernels/lowp/panels.h"
#include "kernels/numbers.h"
#include "support/random.h"

namespace sti {
namespace {

constexpr double kHalfStep = 1.0 / 256;  // of a bfloat16, of the number itself at most

// Whole panels and steps, and ends that nothing divides.
constexpr uint32_t kTokens[] = {1, 2, 7, 16, 17, 48, 129};
constexpr uint32_t kDims[] = {1, 16, 26, 32, 64, 80};

/// Queries, keys and values of one head that lies between others.
struct Head {
  Head(uint32_t token_count, uint32_t head_dim, uint32_t seed)
      : tokens(token_count), dim(head_dim), stride(size_t{head_dim} + 5) {
    TestRandom random(seed);
    queries = random.Normals(stride * tokens, 1);
    keys = random.Normals(stride * tokens, 1);
    values = random.Normals(stride * tokens, 1);
  }

  /// The context of queries [first, first + rows): [rows, dim].
  [[nodiscard]] std::vector<float> Attend(uint32_t first, uint32_t rows) const {
    std::vector<float> context(queries.begin() + static_cast<ptrdiff_t>(first * stride),
                               queries.begin() + static_cast<ptrdiff_t>((first + rows) * stride));
    AlignedBuffer scratch(PackedHeadFloats(tokens, dim) * sizeof(float));
    AttendPacked({.queries = context.data(),
                  .query_stride = stride,
                  .rows = rows,
                  .keys = {keys.data(), stride, tokens, dim},
                  .values = {values.data(), stride, tokens, dim}},
                 reinterpret_cast<float*>(scratch.data()));
    std::vector<float> packed;
    packed.reserve(size_t{rows} * dim);
    for (uint32_t r = 0; r < rows; ++r) {
      for (uint32_t k = 0; k < dim; ++k) packed.push_back(context[r * stride + k]);
      // The numbers beside the head are another head's, and stay as they were.
      for (size_t k = dim; k < stride; ++k) {
        EXPECT_EQ(context[r * stride + k], queries[(first + r) * stride + k]);
      }
    }
    return packed;
  }
  [[nodiscard]] std::vector<float> Attend() const { return Attend(0, tokens); }

  uint32_t tokens;
  uint32_t dim;
  size_t stride;
  std::vector<float> queries;
  std::vector<float> keys;
  std::vector<float> values;
};

double Rounded(float x) { return BFloatToFloat(FloatToBFloat(x)); }

// Weights of a query over rounded operands, before they are rounded themselves.
std::vector<double> Weights(const Head& head, uint32_t query) {
  std::vector<double> weights(head.tokens);
  double sum = 0;
  for (uint32_t t = 0; t < head.tokens; ++t) {
    double score = 0;
    for (uint32_t k = 0; k < head.dim; ++k) {
      score +=
          Rounded(head.queries[query * head.stride + k]) * Rounded(head.keys[t * head.stride + k]);
    }
    weights[t] = std::exp(score / std::sqrt(head.dim));
    sum += weights[t];
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

TEST(PackedAttention, ErrsNoMoreThanRoundingWeightsDoes) {
  testing::ForEachInstructionSet([] {
    for (const uint32_t tokens : kTokens) {
      for (const uint32_t dim : kDims) {
        const Head head(tokens, dim, tokens + dim);
        const auto context = head.Attend();
        for (uint32_t q = 0; q < tokens; q += 5) {
          const auto weights = Weights(head, q);
          for (uint32_t k = 0; k < dim; ++k) {
            double sum = 0;
            double bound = 1e-5;
            for (uint32_t t = 0; t < tokens; ++t) {
              const double part = weights[t] * Rounded(head.values[t * head.stride + k]);
              sum += part;
              bound += std::abs(part) * kHalfStep;
            }
            ASSERT_NEAR(context[size_t{q} * dim + k], sum, bound) << tokens << " of " << dim;
          }
        }
      }
    }
  });
}

TEST(PackedAttention, AQueryDoesNotDependOnTheOthers) {
  for (const uint32_t tokens : {13U, 60U}) {
    const Head head(tokens, 32, tokens);
    const auto all = head.Attend();
    for (const uint32_t rows : {1U, 5U, 12U}) {
      for (uint32_t first = 0; first + rows <= tokens; first += rows) {
        const auto some = head.Attend(first, rows);
        ASSERT_TRUE(std::equal(some.begin(), some.end(), all.begin() + ptrdiff_t{first} * 32))
            << rows << " from " << first;
      }
    }
  }
}

// The CPU's instructions against the plain form.
class PackedAttentionPieces : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!CanPackAttention()) GTEST_SKIP() << "this CPU has no instructions for bf16 attention";
  }
  void TearDown() override { LimitInstructionSet(""); }

  static void Plain() { ASSERT_TRUE(LimitInstructionSet("portable")); }
};

TEST_F(PackedAttentionPieces, PackTheSameBits) {
  for (const uint32_t tokens : kTokens) {
    for (const uint32_t dim : kDims) {
      const Head head(tokens, dim, dim);
      const RowsRef in{head.keys.data(), head.stride, tokens, dim};
      const uint64_t key_bytes = PackedKeyDwords(tokens, dim) * sizeof(uint32_t);
      const uint64_t value_bytes = PackedValueDwords(tokens, dim) * sizeof(uint32_t);
      const auto pack = [&](auto function, uint64_t bytes) {
        AlignedBuffer out(bytes);
        std::fill_n(out.data(), bytes, uint8_t{0xFF});
        function(in, reinterpret_cast<uint32_t*>(out.data()));
        return std::vector<uint8_t>(out.data(), out.data() + bytes);
      };
      const auto keys = pack(PackKeys, key_bytes);
      const auto values = pack(PackValues, value_bytes);
      Plain();
      EXPECT_EQ(pack(PackKeys, key_bytes), keys) << tokens << " of " << dim;
      EXPECT_EQ(pack(PackValues, value_bytes), values) << tokens << " of " << dim;
      LimitInstructionSet("");
    }
  }
}

// Halves of a row of `scores` as they come out, as floats.
std::vector<float> SoftmaxOf(const std::vector<float>& scores) {
  const auto count = static_cast<uint32_t>(scores.size());
  AlignedBuffer row(RoundUp(count, kPanelWidth) * sizeof(float));
  std::fill_n(row.data(), row.size(), uint8_t{0xFF});
  auto* numbers = reinterpret_cast<float*>(row.data());
  std::copy(scores.begin(), scores.end(), numbers);
  SoftmaxPacked(numbers, count);
  std::vector<float> weights(size_t{PackedSteps(ComputeType::kBf16, count)} * 2);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = LoadBF16(row.data() + 2 * i);
  return weights;
}

TEST_F(PackedAttentionPieces, SoftmaxIsThePlainOneWithinAStep) {
  for (const uint32_t count : {1U, 2U, 15U, 16U, 17U, 31U, 33U, 48U, 300U}) {
    for (const double spread : {0.01, 3.0, 60.0}) {
      const auto scores = TestRandom(count).Normals(count, spread);
      const auto fast = SoftmaxOf(scores);
      Plain();
      const auto plain = SoftmaxOf(scores);
      LimitInstructionSet("");
      ASSERT_EQ(fast.size(), plain.size());
      for (size_t i = 0; i < fast.size(); ++i) {
        EXPECT_NEAR(fast[i], plain[i], std::abs(plain[i]) * 2 * kHalfStep + 1e-37) << count;
      }
    }
  }
}

TEST(PackedSoftmax, OfARowThatHasNoneIsNan) {
  testing::ForEachInstructionSet([] {
    for (const uint32_t count : {1U, 16U, 17U, 37U}) {
      for (uint32_t place = 0; place < count; ++place) {
        for (const float odd : {kNan, kInfinity}) {
          std::vector<float> row(count, -2.0f);
          row[place] = odd;
          const auto weights = SoftmaxOf(row);
          for (uint32_t i = 0; i < count; ++i) EXPECT_TRUE(std::isnan(weights[i])) << place;
        }
      }
      const auto weights = SoftmaxOf(std::vector<float>(count, -kInfinity));
      for (uint32_t i = 0; i < count; ++i) EXPECT_TRUE(std::isnan(weights[i]));
    }
  });
}

TEST(PackedSoftmax, TheLargestTakesAllWhereOthersAreFarBelow) {
  testing::ForEachInstructionSet([] {
    for (const float low : {-std::numeric_limits<float>::max(), -kInfinity, -200.0f}) {
      for (uint32_t place = 0; place < 37; ++place) {
        std::vector<float> row(37, low);
        row[place] = 3e38f;
        const auto weights = SoftmaxOf(row);
        for (uint32_t i = 0; i < 38; ++i) EXPECT_EQ(weights[i], i == place ? 1.0f : 0.0f);
      }
    }
  });
}

// A query or key that is no number spoils what depends on it; a value, its own channel.
TEST(PackedAttention, NumbersThatAreNoneReachWhatDependsOnThem) {
  testing::ForEachInstructionSet([] {
    constexpr uint32_t kOdd = 11;
    for (const float odd : {kNan, kInfinity, -kInfinity}) {
      const Head fine(21, 26, 3);
      Head query = fine;
      Head key = fine;
      Head value = fine;
      for (Head* head : {&query, &key, &value}) {
        auto& numbers = head == &query ? head->queries : head == &key ? head->keys : head->values;
        numbers[kOdd * fine.stride + 4] = odd;
      }
      const auto by_query = query.Attend();
      const auto by_key = key.Attend();
      const auto by_value = value.Attend();
      const auto whole = fine.Attend();
      for (uint32_t i = 0; i < whole.size(); ++i) {
        const bool asked = i / 26 == kOdd;
        EXPECT_EQ(std::isnan(by_query[i]), asked) << i;
        if (!asked) {
          EXPECT_EQ(by_query[i], whole[i]);
        }
        // A key's infinity is a score of either sign: all of the weight is lost, or that key's.
        if (std::isnan(odd)) {
          EXPECT_TRUE(std::isnan(by_key[i])) << i;
        }
        EXPECT_EQ(std::isfinite(by_value[i]), i % 26 != 4) << i;
      }
    }
  });
}

TEST(PackedAttention, ValuesNearTheLargestFloatDoNotOverflow) {
  testing::ForEachInstructionSet([] {
    Head head(40, 16, 5);
    std::fill(head.values.begin(), head.values.end(), 0x1p127f);
    for (const float x : head.Attend()) EXPECT_NEAR(x / 0x1p127f, 1, 0.01);
  });
}

}  // namespace
}  // namespace sti
