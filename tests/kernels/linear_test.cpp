#include "kernels/linear.h"

#include <gtest/gtest.h>

#include "kernels/cpu/linear_parts.h"
#include "kernels/elementwise.h"
#include "kernels/shard_encoder.h"
#include "types/bits.h"

namespace sti {
namespace {

TEST(FillRows, LeavesTheRest) {
  const std::vector<float> bias = {1, 2};
  std::vector<float> out(6, 9.0f);
  FillRows(bias.data(), 2, 2, out.data(), 3);
  EXPECT_EQ(out, (std::vector<float>{1, 2, 9, 1, 2, 9}));
}

TEST(TransposeTile, RowsBecomeColumns) {
  const std::vector<float> tile = {1, 2, 0, 3, 4, 0};
  std::vector<float> out(6, 9.0f);
  TransposeTile(tile.data(), 3, 2, 2, out.data(), 3);
  EXPECT_EQ(out, (std::vector<float>{1, 3, 9, 2, 4, 9}));
}

struct Fixture {
  Fixture(uint32_t outs, uint32_t ins, uint32_t terms, uint32_t row_count)
      : rows(row_count), matrix{outs, ins, 40} {
    std::mt19937 random(outs);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (uint32_t t = 0; t < terms; ++t) {
      const uint64_t weights = matrix.first + uint64_t{outs} * ins;
      const uint32_t bits = t % 2 == 0 ? 6 : kFullBits;
      shards.push_back(testing::MakeShard(weights, bits, DataType::kF16, 0.02, 0.3f, t));
    }
    inputs.resize(uint64_t{rows} * ins * terms);
    for (float& x : inputs) x = uniform(random);
    bias.resize(outs);
    for (float& x : bias) x = uniform(random);
  }

  // Sum for one output, plainly.
  [[nodiscard]] double Expected(uint32_t row, uint32_t out) const {
    double sum = bias[out];
    for (size_t t = 0; t < shards.size(); ++t) {
      for (uint32_t k = 0; k < matrix.ins; ++k) {
        sum += double{Input(t)[uint64_t{row} * matrix.ins * shards.size() + k]} *
               testing::WeightAt(shards[t], matrix, out, k);
      }
    }
    return sum;
  }
  [[nodiscard]] const float* Input(size_t term) const { return inputs.data() + term * matrix.ins; }

  std::vector<float> Run(Backend backend, uint32_t threads, Epilogue epilogue,
                         ComputeType type = ComputeType::kFp32) {
    ThreadPool pool(threads);
    auto linear = Linear::Create({backend, type}, pool, Activation::kRelu);
    EXPECT_TRUE(linear.ok());
    if (!linear.ok()) return {};
    (*linear)->Reserve({.rows = rows,
                        .matrix_weights = matrix.outs * matrix.ins,
                        .outs = matrix.outs,
                        .ins = matrix.ins,
                        .summed_ins = matrix.ins,
                        .terms = static_cast<uint32_t>(shards.size())});
    std::vector<LinearTerm> terms;
    for (size_t t = 0; t < shards.size(); ++t) {
      terms.push_back({&shards[t].view, matrix, Input(t), matrix.ins * shards.size()});
    }
    std::vector<float> out(uint64_t{rows} * matrix.outs);
    const size_t stride = epilogue == Epilogue::kTranspose ? rows : matrix.outs;
    const LinearSum group{terms, bias.data(), matrix.outs, out.data(), stride, epilogue};
    (*linear)->Run(rows, {&group, 1});
    return out;
  }

  uint32_t rows;
  ShardMatrix matrix;
  std::vector<testing::TestShard> shards;
  std::vector<float> inputs;
  std::vector<float> bias;
};

class LinearBackends : public ::testing::TestWithParam<Backend> {};

TEST_P(LinearBackends, AgreesWithDoubles) {
  ThreadPool pool(1);
  const auto backend = Linear::Create({GetParam()}, pool, Activation::kRelu);
  if (!backend.ok()) GTEST_SKIP() << backend.error().Message();
  for (const auto& [outs, ins, terms, rows] : {std::array{26U, 312U, 1U, 5U},
                                               {312U, 26U, 3U, 9U},
                                               {64U, 100U, 2U, 1U},
                                               {7U, 3U, 1U, 2U}}) {
    Fixture fixture(outs, ins, terms, rows);
    const auto plain = fixture.Run(GetParam(), 2, Epilogue::kNone);
    const auto active = fixture.Run(GetParam(), 2, Epilogue::kActivate);
    const auto transposed = fixture.Run(GetParam(), 2, Epilogue::kTranspose);
    ASSERT_EQ(plain.size(), uint64_t{rows} * outs);
    for (uint32_t r = 0; r < rows; ++r) {
      for (uint32_t o = 0; o < outs; ++o) {
        ASSERT_NEAR(plain[r * outs + o], fixture.Expected(r, o), 1e-4);
        ASSERT_EQ(active[r * outs + o], std::max(plain[r * outs + o], 0.0f));
        ASSERT_EQ(transposed[o * rows + r], plain[r * outs + o]);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, LinearBackends,
                         ::testing::Values(Backend::kNative, Backend::kOpenBlas));

TEST(NativeLinear, SameBitsOnAnyThreadCount) {
  Fixture fixture(100, 530, 3, 14);
  const auto one = fixture.Run(Backend::kNative, 1, Epilogue::kNone);
  for (const uint32_t threads : {2U, 3U, 8U}) {
    EXPECT_EQ(fixture.Run(Backend::kNative, threads, Epilogue::kNone), one);
  }
}

// Rows whose inputs take more than a cache are computed in blocks.
TEST(NativeLinear, ManyRowsHaveTheBitsOfFew) {
  constexpr uint32_t kRows = 301;
  Fixture many(40, 700, 2, kRows);
  const auto plain = many.Run(Backend::kNative, 2, Epilogue::kNone);
  const auto active = many.Run(Backend::kNative, 2, Epilogue::kActivate);
  const auto transposed = many.Run(Backend::kNative, 2, Epilogue::kTranspose);
  std::vector<float> few;
  const auto row_values = static_cast<std::ptrdiff_t>(many.inputs.size() / kRows);
  for (many.rows = 43; many.inputs.size() >= size_t{43} * row_values;
       many.inputs.erase(many.inputs.begin(), many.inputs.begin() + 43 * row_values)) {
    const auto part = many.Run(Backend::kNative, 1, Epilogue::kNone);
    few.insert(few.end(), part.begin(), part.end());
  }
  EXPECT_EQ(few, plain);
  for (size_t row = 0; row < kRows; ++row) {
    for (size_t out = 0; out < 40; ++out) {
      ASSERT_EQ(active[row * 40 + out], std::max(plain[row * 40 + out], 0.0F));
      ASSERT_EQ(transposed[out * kRows + row], plain[row * 40 + out]);
    }
  }
}

}  // namespace
}  // namespace sti
