// A layer in two pieces: the same bits as RunLayer, for all rows and for first tokens alone, and
// with the contexts of slices computed apart.
#include <gtest/gtest.h>

#include <numeric>

#include "kernels/instruction_sets.h"
#include "model/reference_layer.h"
#include "model/transformer.h"

namespace sti {
namespace {

using testing::TestLayer;

constexpr uint32_t kWidth = 4;
constexpr uint32_t kHead = 26;
constexpr size_t kSlack = 16;

ModelInfo Info(bool norm_before) {
  ModelInfo info;
  info.shape = {.layers = 2,
                .width = kWidth,
                .hidden = kWidth * kHead,
                .ffn = kWidth * 20,
                .vocabulary = 10,
                .max_positions = 128,
                .token_types = 2,
                .labels = 3,
                .norm_before = norm_before};
  info.layer_norm_eps = 1e-12;
  return info;
}

/// Layers with their norms behind attention and FFN, and such with them in front.
class LayerPieces : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    std::mt19937 random(4);
    hidden_ = testing::RandomFloats(offsets_.back() * d(), 1, random);
  }

  [[nodiscard]] size_t d() const { return info_.shape.hidden; }
  [[nodiscard]] size_t sequences() const { return offsets_.size() - 1; }

  void Use(const Arithmetic& arithmetic, uint32_t threads) {
    transformer_.reset();
    pool_ = std::make_unique<ThreadPool>(threads);
    auto created = Transformer::Create(info_, *pool_, arithmetic);
    ASSERT_TRUE(created.ok());
    transformer_ = std::move(*created);
    whole_ = hidden_;
    transformer_->RunLayer(Call(OutputRows::kAll), whole_.data());
  }

  [[nodiscard]] LayerCall Call(OutputRows rows) const {
    return {{offsets_}, {views_, indexes_, layer_.parameters}, rows};
  }
  [[nodiscard]] LayerCall CallOfSlice(size_t i, OutputRows rows) const {
    return {{offsets_}, {{&views_[i], 1}, {&indexes_[i], 1}, layer_.parameters}, rows};
  }

  // Returns what RunLayer makes of first tokens only.
  std::vector<float> AsLast() {
    std::vector<float> hidden = hidden_;
    transformer_->RunLayer(Call(OutputRows::kFirst), hidden.data());
    hidden.resize(sequences() * d());
    return hidden;
  }

  // Computes the context of each slice by itself, then the rest.
  std::vector<float> InPieces(OutputRows rows) {
    const size_t count = rows == OutputRows::kAll ? offsets_.back() : sequences();
    std::vector<std::vector<float>> contexts(indexes_.size());
    std::vector<ContextRef> refs;
    for (size_t i = 0; i < indexes_.size(); ++i) {
      contexts[i].resize(count * kHead + kSlack);
      transformer_->ComputeContext(CallOfSlice(i, rows), hidden_.data(), contexts[i].data(), kHead);
      refs.push_back({contexts[i].data(), kHead});
    }
    std::vector<float> out = rows == OutputRows::kAll ? hidden_ : FirstOf(hidden_);
    transformer_->FinishLayer(static_cast<uint32_t>(count), Call(rows).part, refs, out.data());
    return out;
  }

  [[nodiscard]] std::vector<float> FirstOf(const std::vector<float>& all) const {
    std::vector<float> first;
    for (size_t s = 0; s < sequences(); ++s) {
      const auto begin = all.begin() + static_cast<ptrdiff_t>(offsets_[s] * d());
      first.insert(first.end(), begin, begin + static_cast<ptrdiff_t>(d()));
    }
    return first;
  }

  ModelInfo info_ = Info(GetParam());
  TestLayer layer_{info_.shape, 5};
  std::vector<uint32_t> offsets_ = {0, 9, 10, 75, 90};
  std::vector<uint32_t> indexes_ = {3, 0, 2};
  std::vector<ShardView> views_ = layer_.Slices(indexes_);
  std::vector<float> hidden_;
  std::vector<float> whole_;  // what RunLayer makes of it
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<Transformer> transformer_;
};

TEST_P(LayerPieces, EveryInstructionSetGivesTheBitsOfTheWholeLayer) {
  testing::ForEachInstructionSet([&] {
    Use({Backend::kNative}, 1);
    EXPECT_EQ(InPieces(OutputRows::kAll), whole_);
    EXPECT_EQ(InPieces(OutputRows::kFirst), FirstOf(whole_));
    EXPECT_EQ(AsLast(), FirstOf(whole_));
  });
}

TEST_P(LayerPieces, EveryComputeTypeGivesTheBitsOfTheWholeLayer) {
  for (const ComputeType type : ComputeTypes()) {
    SCOPED_TRACE(NameOf(type));
    Use({Backend::kNative, type}, 2);
    EXPECT_EQ(InPieces(OutputRows::kAll), whole_);
    EXPECT_EQ(InPieces(OutputRows::kFirst), FirstOf(whole_));
    EXPECT_EQ(AsLast(), FirstOf(whole_));
  }
}

INSTANTIATE_TEST_SUITE_P(Norms, LayerPieces, ::testing::Bool(),
                         [](const auto& tried) { return tried.param ? "InFront" : "Behind"; });

TEST_P(LayerPieces, TheContextOfAllSlicesHoldsThatOfEach) {
  Use({Backend::kNative}, 1);
  const size_t stride = indexes_.size() * kHead;
  std::vector<float> all(sequences() * stride + kSlack);
  transformer_->ComputeContext(Call(OutputRows::kFirst), hidden_.data(), all.data(), stride);
  std::vector<float> one(sequences() * kHead + kSlack);
  transformer_->ComputeContext(CallOfSlice(1, OutputRows::kFirst), hidden_.data(), one.data(),
                               kHead);
  for (size_t s = 0; s < sequences(); ++s) {
    for (size_t i = 0; i < kHead; ++i) {
      ASSERT_EQ(all[s * stride + kHead + i], one[s * kHead + i]);
    }
  }
}

}  // namespace
}  // namespace sti
