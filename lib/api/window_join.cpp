#include "api/window_join.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/head.h"
#include "model/transformer.h"

namespace sti {
namespace {

/// Returns a logit that a probability is of: of a label among others, or of one that stands alone.
float LogitOf(Problem problem, double probability) {
  constexpr double kLeast = std::numeric_limits<float>::min();
  const double others = problem == Problem::kMultiLabel ? std::max(1 - probability, kLeast) : 1;
  return static_cast<float>(std::log(std::max(probability, kLeast)) - std::log(others));
}

/// The mean of each label's probability over all windows, as logits.
class LabelJoin : public WindowJoin {
 public:
  explicit LabelJoin(Problem problem) : problem_(problem) {}

  [[nodiscard]] bool wants_rows() const override { return false; }
  void Begin() override {
    sums_.clear();
    windows_ = 0;
  }
  void Add(const TextWindow& /*window*/, std::span<const float> given) override {
    probabilities_.assign(given.begin(), given.end());
    Probabilities(problem_, probabilities_);
    sums_.resize(given.size());
    for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += double{probabilities_[i]};
    ++windows_;
  }
  void Finish(std::vector<float>* values) override {
    values->resize(sums_.size());
    std::ranges::transform(sums_, values->begin(),
                           [&](double sum) { return LogitOf(problem_, sum / windows_); });
  }

 private:
  Problem problem_;
  std::vector<float> probabilities_;  ///< [labels] of a window
  std::vector<double> sums_;          ///< [labels]
  uint32_t windows_ = 0;
};

/// The vector that all tokens of the text are pooled to, each as its own window has it.
class EmbeddingJoin : public WindowJoin {
 public:
  explicit EmbeddingJoin(const ModelInfo& info) : info_(info), pool_(info.head.pooling) {}

  [[nodiscard]] bool wants_rows() const override { return true; }
  void Begin() override {
    pooled_.assign(info_.shape.hidden, 0);
    pool_.Begin(pooled_);
  }
  void Add(const TextWindow& window, std::span<const float> given) override {
    const uint32_t rows = window.own_end - window.own_begin;
    pool_.Add(given.data() + size_t{window.first_row} * pooled_.size(), rows, pooled_);
  }
  void Finish(std::vector<float>* values) override {
    pool_.Finish(pooled_);
    if (info_.head.unit_length) MakeUnitLength(pooled_);
    *values = pooled_;
  }

 private:
  const ModelInfo& info_;
  RowPool pool_;
  std::vector<float> pooled_;  ///< [d]
};

/// The labels of all tokens of the text, each as its own window has it.
class TokenJoin : public WindowJoin {
 public:
  explicit TokenJoin(uint32_t labels) : labels_(labels) {}

  [[nodiscard]] bool wants_rows() const override { return false; }
  void Begin() override { logits_.clear(); }
  void Add(const TextWindow& window, std::span<const float> given) override {
    const uint32_t tokens = window.own_end - window.own_begin;
    const auto own = given.subspan(size_t{window.first_row} * labels_, size_t{tokens} * labels_);
    logits_.insert(logits_.end(), own.begin(), own.end());
  }
  void Finish(std::vector<float>* values) override { values->swap(logits_); }

 private:
  uint32_t labels_;
  std::vector<float> logits_;  ///< [tokens, labels]
};

}  // namespace

std::unique_ptr<WindowJoin> MakeWindowJoin(const ModelInfo& info) {
  switch (info.head.output) {
    case HeadOutput::kLabels:
      return std::make_unique<LabelJoin>(info.problem);
    case HeadOutput::kEmbedding:
      return std::make_unique<EmbeddingJoin>(info);
    case HeadOutput::kTokenLabels:
      return std::make_unique<TokenJoin>(info.shape.labels);
    case HeadOutput::kNextToken:
      break;  // its texts are read in no windows
  }
  return nullptr;
}

}  // namespace sti
