#include "model/attention.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace sti
