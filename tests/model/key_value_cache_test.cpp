// Keys and values that are kept: a sequence that comes in pieces, down to token by token, gives the
// bits that it gives in one.
#include "model/key_value_cache.h"

#include <gtest/gtest.h>

#include <numeric>

#include "kernels/instruction_sets.h"
#include "model/reference_layer.h"
#include "model/transformer.h"

namespace sti {
namespace {

using testing::TestLayer;

constexpr uint32_t kCachedHeads = 3;
constexpr uint32_t kCachedHead = 26;
constexpr uint32_t kCachedTokens = 70;  // queries of two blocks

ModelInfo CausalInfo() {
  ModelInfo info;
  info.shape = {.layers = 2,
                .width = kCachedHeads,
                .hidden = kCachedHeads * kCachedHead,
                .ffn = kCachedHeads * 20,
                .vocabulary = 10,
                .max_positions = 128,
                .token_types = 0,
                .labels = 0,
                .has_pooler = false,
                .norm_before = true,
                .causal = true};
  info.head = HeadTraits::OfNextToken();
  info.layer_norm_eps = 1e-5;
  return info;
}

class KeyValueCacheTest : public ::testing::Test {
 protected:
  KeyValueCacheTest() {
    std::mt19937 random(6);
    hidden_ = testing::RandomFloats(size_t{kCachedTokens} * d(), 1, random);
  }

  [[nodiscard]] size_t d() const { return info_.shape.hidden; }

  void Use(uint32_t threads) {
    transformer_.reset();
    pool_ = std::make_unique<ThreadPool>(threads);
    transformer_ = Transformer::Create(info_, *pool_, {}).value();
  }

  // Runs both layers on rows [first, first + count) of a sequence whose tokens before are kept, or
  // that are all of it.
  std::vector<float> Run(const std::vector<float>& rows, OutputRows wanted, KeyValueCache* kept) {
    const auto count = static_cast<uint32_t>(rows.size() / d());
    const std::vector<uint32_t> offsets{0, count};
    std::vector<float> hidden = rows;
    for (uint32_t k = 0; k < 2; ++k) {
      LayerCall call{{offsets}, {views_[k], slices_, layers_[k].parameters}};
      if (k == 1) call.rows = wanted;
      if (kept != nullptr) call.kept = kept->Layer(k);
      transformer_->RunLayer(call, hidden.data());
    }
    if (kept != nullptr) kept->Add(count);
    hidden.resize((wanted == OutputRows::kAll ? count : 1) * d());
    return hidden;
  }

  [[nodiscard]] std::vector<float> Rows(uint32_t first, uint32_t count) const {
    const auto begin = hidden_.begin() + static_cast<ptrdiff_t>(first * d());
    return {begin, begin + static_cast<ptrdiff_t>(count * d())};
  }

  ModelInfo info_ = CausalInfo();
  TestLayer layers_[2] = {TestLayer(info_.shape, 3), TestLayer(info_.shape, 4)};
  std::vector<uint32_t> slices_{2, 0};
  std::vector<ShardView> views_[2] = {layers_[0].Slices(slices_), layers_[1].Slices(slices_)};
  std::vector<float> hidden_;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<Transformer> transformer_;
};

TEST_F(KeyValueCacheTest, PiecesOfASequenceHaveTheBitsOfTheWhole) {
  testing::ForEachInstructionSet([&] {
    Use(1);
    const std::vector<float> whole = Run(hidden_, OutputRows::kAll, nullptr);
    const std::vector<float> last(whole.end() - static_cast<ptrdiff_t>(d()), whole.end());
    EXPECT_EQ(Run(hidden_, OutputRows::kLast, nullptr), last);
    const std::vector<std::vector<uint32_t>> cuts = {{kCachedTokens},
                                                     {1, 69},
                                                     {69, 1},
                                                     {5, 1, 1, 48, 15},
                                                     std::vector<uint32_t>(kCachedTokens, 1)};
    for (const uint32_t threads : {1U, 3U}) {
      Use(threads);
      KeyValueCache kept(info_.shape, 2, 2, kCachedTokens);
      for (const std::vector<uint32_t>& cut : cuts) {
        kept.Clear();
        std::vector<float> together;
        for (const uint32_t count : cut) {
          const auto rows = Run(Rows(kept.count(), count), OutputRows::kAll, &kept);
          together.insert(together.end(), rows.begin(), rows.end());
        }
        EXPECT_EQ(together, whole) << cut.size() << " pieces";
        EXPECT_EQ(kept.count(), kCachedTokens);
      }
      kept.Clear();
      Run(Rows(0, 60), OutputRows::kLast, &kept);
      EXPECT_EQ(Run(Rows(60, 10), OutputRows::kLast, &kept), last);
    }
  });
}

TEST_F(KeyValueCacheTest, MemoryIsWhatItSays) {
  for (const uint32_t context : {1U, 16U, 70U, 128U}) {
    KeyValueCache kept(info_.shape, 2, 2, context);
    EXPECT_EQ(kept.bytes(), KeyValueCache::BytesFor(info_.shape, 2, 2, context));
    // Keys and values, with 16 to 31 floats behind each row of keys.
    const uint64_t floats = uint64_t{2} * 2 * kCachedHead * (2 * context);
    EXPECT_GE(kept.bytes(), floats * sizeof(float));
    EXPECT_LE(kept.bytes(), (floats + uint64_t{2} * 2 * kCachedHead * 31 + 64) * sizeof(float));
    EXPECT_EQ(kept.context(), context);
  }
  // GPT-2 of 355 M parameters keeps 192 KiB a token.
  const ModelShape medium{.layers = 24, .width = 16, .hidden = 1024, .ffn = 4096};
  const double each = static_cast<double>(KeyValueCache::BytesFor(medium, 24, 16, 1024)) / 1024;
  EXPECT_NEAR(each, 192 * 1024, 192 * 1024 * 0.02);
}

TEST_F(KeyValueCacheTest, RoomForLongContextsIsReservedOnce) {
  Use(1);
  transformer_->Reserve(4, 2, kCachedTokens);
  const uint64_t reserved = transformer_->working_bytes();
  EXPECT_EQ(reserved, Transformer::RoomFor(info_.shape, {}, false, 1, {4, 2, kCachedTokens}));
  EXPECT_GT(reserved, Transformer::RoomFor(info_.shape, {}, false, 1, {4, 2}));
  KeyValueCache kept(info_.shape, 2, 2, kCachedTokens);
  for (uint32_t token = 0; token + 2 <= kCachedTokens; token += 2)
    Run(Rows(token, 2), OutputRows::kAll, &kept);
  EXPECT_EQ(transformer_->working_bytes(), reserved) << "a token takes no more room than the first";
}

}  // namespace
}  // namespace sti
