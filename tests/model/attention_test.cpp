#include "model/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/aligned_buffer.h"
#include "kernels/instruction_sets.h"
#include "model/reference_layer.h"

namespace sti {
namespace {

TEST(Attend, AgreesWithDoubles) {
  constexpr uint32_t kHeads = 2;
  const std::vector<uint32_t> offsets = {0, 1, 50, 150, 166};
  const uint32_t tokens = offsets.back();
  std::mt19937 random(8);
  ThreadPool pool(3);
  for (const uint32_t dim : {1U, 16U, 26U, 64U}) {
    const uint32_t width = kHeads * dim;
    const uint32_t key_stride = tokens + 16;
    const auto queries = testing::RandomFloats(tokens * width, 1, random);
    const auto keys = testing::RandomFloats(width * key_stride + 16, 1, random);
    const auto values = testing::RandomFloats(tokens * width + 32, 1, random);
    auto context = queries;
    const uint64_t stride = AttentionScratch(100);
    std::vector<float> scratch(stride * pool.threads());
    Attend({context.data(), width, keys.data(), key_stride, values.data(), width, kHeads, dim,
            offsets},
           pool, scratch.data(), stride);
    for (size_t s = 0; s + 1 < offsets.size(); ++s) {
      for (uint32_t head = 0; head < kHeads; ++head) {
        testing::Doubles q, k, v;
        for (uint32_t t = offsets[s]; t < offsets[s + 1]; ++t) {
          for (uint32_t c = head * dim; c < (head + 1) * dim; ++c) {
            q.push_back(queries[t * width + c]);
            k.push_back(keys[c * key_stride + t]);
            v.push_back(values[t * width + c]);
          }
        }
        const auto expected = testing::ReferenceHead(q, k, v, dim);
        for (size_t i = 0; i < expected.size(); ++i) {
          const size_t at = (offsets[s] + i / dim) * width + head * dim + i % dim;
          ASSERT_NEAR(context[at], expected[i], 2e-6) << dim << " " << s << " " << head;
        }
      }
    }
  }
}

// The last query of every beginning of a sequence sees just that, so it gives the same bits, by
// itself too, on any threads and beside any others.
TEST(Attend, CausalQueriesSeeWhatIsInFrontOfThem) {
  constexpr uint32_t kHeads = 2;
  constexpr uint32_t kDim = 26;
  constexpr uint32_t kWidth = kHeads * kDim;
  const std::vector<uint32_t> offsets = {0, 1, 50, 166};
  const uint32_t tokens = offsets.back();
  const uint32_t key_stride = tokens + 16;
  std::mt19937 random(12);
  const auto queries = testing::RandomFloats(tokens * kWidth, 1, random);
  const auto keys = testing::RandomFloats(kWidth * key_stride + 16, 1, random);
  const auto values = testing::RandomFloats(tokens * kWidth + 32, 1, random);
  const uint64_t stride = AttentionScratch(tokens);
  // Returns the contexts of all tokens, or of the last token of each sequence alone.
  const auto contexts = [&](const std::vector<uint32_t>& of, uint32_t threads, bool causal,
                            bool one_row) {
    auto context = queries;
    if (one_row) CopyRows({of}, OutputRows::kLast, kWidth, context.data(), context.data());
    ThreadPool pool(threads);
    std::vector<float> scratch(stride * threads);
    Attend({.queries = context.data(),
            .query_stride = kWidth,
            .keys = keys.data(),
            .key_stride = key_stride,
            .values = values.data(),
            .value_stride = kWidth,
            .heads = kHeads,
            .head_dim = kDim,
            .offsets = of,
            .one_row = one_row,
            .causal = causal},
           pool, scratch.data(), stride);
    context.resize((one_row ? of.size() - 1 : of.back()) * kWidth);
    return context;
  };
  testing::ForEachInstructionSet([&] {
    const auto whole = contexts(offsets, 1, true, false);
    for (const uint32_t threads : {2U, 5U})
      EXPECT_EQ(contexts(offsets, threads, true, false), whole);
    for (const uint32_t token : {0U, 1U, 49U, 50U, 51U, 97U, 98U, 99U, 165U}) {
      const uint32_t begin = token == 0 ? 0 : token < 50 ? 1 : 50;
      std::vector<uint32_t> prefix;
      for (const uint32_t offset : offsets) {
        if (offset <= begin) prefix.push_back(offset);
      }
      prefix.push_back(token + 1);
      const auto expected = std::vector<float>(whole.begin() + ptrdiff_t{token} * kWidth,
                                               whole.begin() + ptrdiff_t{token + 1} * kWidth);
      // A query that is the last of its sequence sees all of it, with a mask or without.
      for (const bool one_row : {false, true}) {
        const auto last = contexts(prefix, 2, one_row, one_row);
        const auto own = std::vector<float>(last.end() - kWidth, last.end());
        EXPECT_EQ(own, expected) << token << " " << one_row;
      }
    }
  });
}

// Packed, the contexts of `offsets` among all tokens of a batch, on some threads.
std::vector<float> PackedContext(std::span<const uint32_t> offsets, uint32_t threads,
                                 bool first_only) {
  constexpr uint32_t kHeads = 3;
  constexpr uint32_t kDim = 26;
  constexpr uint32_t kMostTokens = 200;
  constexpr uint32_t kWidth = kHeads * kDim;
  std::mt19937 random(9);
  auto context = testing::RandomFloats(kMostTokens * kWidth, 1, random);
  const auto keys = testing::RandomFloats(kMostTokens * kWidth, 1, random);
  const auto values = testing::RandomFloats(kMostTokens * kWidth, 1, random);
  if (first_only) {
    CopyRows({offsets}, OutputRows::kFirst, kWidth, context.data(), context.data());
  }
  ThreadPool pool(threads);
  const uint64_t stride = PackedAttentionScratch(kMostTokens, kDim);
  AlignedBuffer scratch(stride * threads * sizeof(float));
  Attend({.queries = context.data(),
          .query_stride = kWidth,
          .keys = keys.data(),
          .key_stride = kWidth,
          .values = values.data(),
          .value_stride = kWidth,
          .heads = kHeads,
          .head_dim = kDim,
          .offsets = offsets,
          .one_row = first_only,
          .packed = true},
         pool, reinterpret_cast<float*>(scratch.data()), stride);
  const size_t rows = first_only ? offsets.size() - 1 : offsets.back();
  context.resize(rows * kWidth);
  return context;
}

TEST(Attend, PackedHasTheSameBitsOnAnyThreadsInAnyBatch) {
  constexpr uint32_t kWidth = 78;
  const std::vector<uint32_t> all = {0, 1, 14, 160, 200};
  testing::ForEachInstructionSet([&] {
    const auto whole = PackedContext(all, 1, false);
    for (const uint32_t threads : {2U, 3U, 8U})
      EXPECT_EQ(PackedContext(all, threads, false), whole);
    const std::vector<uint32_t> some = {0, 1, 14};
    const auto fewer = PackedContext(some, 2, false);
    EXPECT_TRUE(std::equal(fewer.begin(), fewer.end(), whole.begin()));
    const auto firsts = PackedContext(all, 2, true);
    for (size_t s = 0; s + 1 < all.size(); ++s) {
      const auto first = firsts.begin() + static_cast<ptrdiff_t>(s * kWidth);
      EXPECT_TRUE(std::equal(first, first + kWidth, whole.begin() + ptrdiff_t{all[s]} * kWidth));
    }
  });
}

/// Heads of random queries, keys and values, of sequences with blocks of queries of both kinds.
struct RandomHeads {
  static constexpr uint32_t kHeads = 3;
  static constexpr uint32_t kDim = 26;
  static constexpr uint32_t kWidth = kHeads * kDim;
  const std::vector<uint32_t> offsets = {0, 1, 50, 150, 166};
  const uint32_t tokens = 166;
  std::mt19937 random{8};
  const std::vector<float> queries = testing::RandomFloats(size_t{tokens} * kWidth, 1, random);
  const std::vector<float> keys = testing::RandomFloats(size_t{tokens} * kWidth + 16, 1, random);
  const std::vector<float> values = testing::RandomFloats(size_t{tokens} * kWidth + 32, 1, random);

  /// Returns one head's columns of the sequence [begin, end) of a matrix.
  [[nodiscard]] static testing::Doubles Part(const std::vector<float>& matrix, uint32_t head,
                                             uint32_t begin, uint32_t end) {
    testing::Doubles part;
    for (uint32_t t = begin; t < end; ++t) {
      for (uint32_t c = head * kDim; c < (head + 1) * kDim; ++c)
        part.push_back(matrix[size_t{t} * kWidth + c]);
    }
    return part;
  }

  /// Returns what tokens receive [heads, tokens], and in `context` the contexts.
  [[nodiscard]] std::vector<float> Received(uint32_t threads, bool packed, bool first_only,
                                            std::vector<float>* context) const {
    const uint32_t key_stride = tokens + 16;
    std::vector<float> turned(size_t{kWidth} * key_stride + 16);
    for (uint32_t t = 0; t < tokens; ++t) {
      for (uint32_t c = 0; c < kWidth; ++c)
        turned[size_t{c} * key_stride + t] = keys[size_t{t} * kWidth + c];
    }
    *context = queries;
    if (first_only)
      CopyRows({offsets}, OutputRows::kFirst, kWidth, queries.data(), context->data());
    ThreadPool pool(threads);
    const uint64_t stride = packed ? PackedAttentionScratch(100, kDim) : AttentionScratch(100);
    AlignedBuffer scratch(stride * threads * sizeof(float));
    std::vector<float> received(size_t{kHeads} * tokens, -1.0F);
    Attend({.queries = context->data(),
            .query_stride = kWidth,
            .keys = packed ? keys.data() : turned.data(),
            .key_stride = packed ? kWidth : key_stride,
            .values = values.data(),
            .value_stride = kWidth,
            .heads = kHeads,
            .head_dim = kDim,
            .offsets = offsets,
            .one_row = first_only,
            .packed = packed,
            .received = received.data()},
           pool, reinterpret_cast<float*>(scratch.data()), stride);
    return received;
  }

  void ExpectSums(const std::vector<float>& received, bool first_only, double tolerance) const {
    for (size_t s = 0; s + 1 < offsets.size(); ++s) {
      const uint32_t length = offsets[s + 1] - offsets[s];
      for (uint32_t head = 0; head < kHeads; ++head) {
        const auto weights =
            testing::ReferenceWeights(Part(queries, head, offsets[s], offsets[s + 1]),
                                      Part(keys, head, offsets[s], offsets[s + 1]), kDim);
        for (uint32_t key = 0; key < length; ++key) {
          double sum = 0;
          for (uint32_t query = 0; query < (first_only ? 1 : length); ++query)
            sum += weights[size_t{query} * length + key];
          ASSERT_NEAR(received[size_t{head} * tokens + offsets[s] + key], sum,
                      tolerance * std::max(1.0, sum))
              << s << " " << head << " " << key;
        }
      }
    }
  }
};

TEST(Attend, SumsWhatEachTokenReceives) {
  const RandomHeads heads;
  testing::ForEachInstructionSet([&] {
    for (const bool packed : {false, true}) {
      for (const bool first_only : {false, true}) {
        std::vector<float> context;
        const auto received = heads.Received(1, packed, first_only, &context);
        heads.ExpectSums(received, first_only, packed ? 0.02 : 1e-5);
        for (const uint32_t threads : {2U, 5U}) {
          std::vector<float> same;
          EXPECT_EQ(heads.Received(threads, packed, first_only, &same), received);
          EXPECT_EQ(same, context);
        }
      }
    }
  });
}

// One head over two sequences of 20 tokens, all ones but for one number.
std::vector<float> ContextWith(float odd, bool in_key) {
  constexpr uint32_t kDim = 16;
  constexpr uint32_t kTokens = 40;
  constexpr uint32_t kKeyStride = kTokens + 16;
  constexpr uint32_t kOddToken = 25;  // of the second sequence
  const std::vector<uint32_t> offsets = {0, 20, kTokens};
  std::vector<float> context(size_t{kTokens} * kDim, 1.0F);
  std::vector<float> keys(kDim * kKeyStride + 16, 1.0F);
  std::vector<float> values(kTokens * kDim + 32, 1.0F);
  // In channel 3 of a key or of a value.
  if (in_key) {
    keys[3 * kKeyStride + kOddToken] = odd;
  } else {
    values[kOddToken * kDim + 3] = odd;
  }
  ThreadPool pool(1);
  std::vector<float> scratch(AttentionScratch(20));
  Attend({context.data(), kDim, keys.data(), kKeyStride, values.data(), kDim, 1, kDim, offsets},
         pool, scratch.data(), scratch.size());
  return context;
}

// A key that is no number spoils its own sequence and nothing else; a value its own channel.
TEST(Attend, NumbersThatAreNoneReachWhatDependsOnThem) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  testing::ForEachInstructionSet([&] {
    for (const bool in_key : {true, false}) {
      for (const float odd : {nan, std::numeric_limits<float>::infinity()}) {
        const auto context = ContextWith(odd, in_key);
        for (size_t i = 0; i < context.size(); ++i) {
          const bool second = i >= context.size() / 2;
          if (second && (in_key || i % 16 == 3)) {
            EXPECT_FALSE(std::isfinite(context[i])) << i;
          } else {
            EXPECT_NEAR(context[i], 1, 1e-6) << i;
          }
        }
      }
    }
  });
}

TEST(Attend, AHugeKeyTakesAllOfTheWeight) {
  testing::ForEachInstructionSet([&] {
    for (const float odd : {3e38F, -3e38F, 1e-40F}) {
      for (const float x : ContextWith(odd, true)) EXPECT_NEAR(x, 1, 1e-6);
    }
  });
}

}  // namespace
}  // namespace sti
