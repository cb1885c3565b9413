// A second opinion on what cascades are measured to reach (spec/importance.md): every number of
// every cut of pairs and triples, pruned or not, together or not, from the logits of each example
// computed alone on the words that come to it. Temperatures are searched anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "importance/cascades.h"
#include "importance/importance_world.h"
#include "types/cascade.h"

namespace sti {
namespace {

/// Temperatures are known within a ten-thousandth, and likelihoods are flat around them.
constexpr double kSameTemperature = 1e-3;
constexpr double kSameNumber = 1e-6;

/// Numbers of a half of the examples are of fit 0 or 1, made on the other half; fit 2 is of all.
constexpr std::array<size_t, 3> kFits = {0, 1, 2};

std::vector<double> SoftmaxOf(const std::vector<float>& logits, double temperature) {
  const double most = *std::ranges::max_element(logits);
  std::vector<double> shares;
  double sum = 0;
  for (const float logit : logits)
    sum += shares.emplace_back(std::exp((logit - most) / temperature));
  for (double& share : shares) share /= sum;
  return shares;
}

uint32_t LargestOf(const std::vector<double>& values) {
  return static_cast<uint32_t>(std::ranges::max_element(values) - values.begin());
}

/// One level's logits of each example, on the texts that came to it, and what it tells of them.
struct PlainLevel {
  std::vector<Encoding> texts;
  std::vector<std::vector<float>> logits;
  std::vector<std::vector<float>> attention;
  std::array<double, 3> temperature = {1, 1, 1};  ///< by fit
};

class SecondCounts : public ImportanceWorld {
 protected:
  void SetUp() override {
    ImportanceWorld::SetUp();
    // A third are pairs. The whole model is nearly always right, and smaller ones often.
    TestRandom random(7);
    for (Example& example : examples_) {
      if (random.Below(3) == 0) example.pair = examples_[random.Below(examples_.size())].text;
      example.label = ArgMax(FullLogits(example));
      if (random.Below(8) == 0) example.label = static_cast<uint32_t>(random.Below(3));
    }
  }

  PlainLevel Run(const SubmodelCell& cell, std::vector<Encoding> texts) {
    PlainLevel level;
    for (const Encoding& text : texts) {
      std::vector<float>& received = level.attention.emplace_back(text.ids.size());
      level.logits.push_back(Logits(
          text, model_->index().info.depth_layers[cell.depth - 1], cell.width,
          [&](uint32_t, uint32_t) { return cell.bits; }, received.data()));
    }
    level.texts = std::move(texts);
    return level;
  }
  /// The mean negative log-likelihood of the examples that `counts` takes.
  template <typename Counts>
  double Nll(const PlainLevel& level, double temperature, const Counts& counts) const {
    double sum = 0;
    double count = 0;
    for (size_t e = 0; e < examples_.size(); ++e) {
      if (!counts(e)) continue;
      sum -= std::log(SoftmaxOf(level.logits[e], temperature)[*examples_[e].label]);
      ++count;
    }
    return sum / count;
  }
  /// The temperature of the least likelihood lost: the range of its logarithm is cut by thirds.
  template <typename Counts>
  double FitOf(const PlainLevel& level, const Counts& counts) const {
    double low = std::log(kLeastTemperature);
    double high = std::log(kMostTemperature);
    for (int step = 0; step < 80; ++step) {
      const double third = (high - low) / 3;
      const double left = Nll(level, std::exp(low + third), counts);
      const double right = Nll(level, std::exp(high - third), counts);
      (left < right ? high : low) = left < right ? high - third : low + third;
    }
    return std::exp((low + high) / 2);
  }
  /// Each half's likelihood with the temperature of the other; 1 for all where that is no less.
  void Calibrate(PlainLevel* level, double* nll, double* calibrated_nll) const {
    const auto all = [](size_t) { return true; };
    *nll = Nll(*level, 1, all);
    double sum = 0;
    for (const size_t half : {0, 1}) {
      level->temperature[half] = FitOf(*level, [&](size_t e) { return e % 2 != half; });
      for (size_t e = half; e < examples_.size(); e += 2)
        sum -= std::log(SoftmaxOf(level->logits[e], level->temperature[half])[*examples_[e].label]);
    }
    level->temperature[2] = FitOf(*level, all);
    *calibrated_nll = sum / static_cast<double>(examples_.size());
    if (*calibrated_nll < *nll) return;
    level->temperature = {1, 1, 1};
    *calibrated_nll = *nll;
  }

  /// The expected calibration error: of 15 bins of equal width, how far the sum of confidences is
  /// from the number of examples that are right.
  double EceOf(const PlainLevel& level, const std::array<double, 3>& temperature) const {
    std::array<double, 15> gaps = {};
    for (size_t e = 0; e < examples_.size(); ++e) {
      const std::vector<double> shares = SoftmaxOf(level.logits[e], temperature[e % 2]);
      const double confidence = *std::ranges::max_element(shares);
      gaps[std::min<size_t>(14, static_cast<size_t>(confidence * 15))] +=
          (IsRight(level, e) ? 1 : 0) - confidence;
    }
    double sum = 0;
    for (const double gap : gaps) sum += std::abs(gap);
    return sum / static_cast<double>(examples_.size());
  }

  std::vector<Encoding> Whole() const {
    std::vector<Encoding> texts;
    for (const Example& example : examples_)
      texts.push_back(tokenizer_.Encode(example.text, example.pair, 512));
    return texts;
  }
  /// The texts without words that receive little attention in a level.
  static std::vector<Encoding> Pruned(const PlainLevel& level, double alpha) {
    std::vector<Encoding> texts;
    for (size_t e = 0; e < level.texts.size(); ++e) {
      const Encoding& text = level.texts[e];
      const std::vector<bool> kept = KeptTokens(level.attention[e], text.words, alpha);
      Encoding& rest = texts.emplace_back();
      for (size_t i = 0; i < kept.size(); ++i) {
        if (!kept[i]) continue;
        rest.ids.push_back(text.ids[i]);
        rest.types.push_back(text.types[i]);
        rest.words.push_back(text.words[i]);
      }
    }
    return texts;
  }
  static double WordsIn(const Encoding& text) {
    std::set<uint32_t> words(text.words.begin(), text.words.end());
    words.erase(kNoWord);
    return static_cast<double>(words.size());
  }

  bool IsRight(const PlainLevel& level, size_t e) const {
    return ArgMax(level.logits[e]) == *examples_[e].label;
  }
  bool IsRightTogether(const PlainLevel& before, const PlainLevel& level, double weight,
                       size_t e) const {
    if (weight == 1) return IsRight(level, e);
    const size_t fit = e % 2;
    std::vector<double> together = SoftmaxOf(level.logits[e], level.temperature[fit]);
    const std::vector<double> first = SoftmaxOf(before.logits[e], before.temperature[fit]);
    for (size_t i = 0; i < together.size(); ++i)
      together[i] = weight * together[i] + (1 - weight) * first[i];
    return LargestOf(together) == *examples_[e].label;
  }
  static double GoesOnAt(const PlainLevel& level, const CascadeCut& cut, size_t e, size_t fit) {
    const std::vector<double> shares = SoftmaxOf(level.logits[e], level.temperature[fit]);
    const double confidence = *std::ranges::max_element(shares);
    if (confidence <= cut.cutoff) return 1;
    if (!cut.slope) return 0;
    const double v = (confidence - cut.cutoff) / (1 - cut.cutoff) - 0.5;
    return 1 / (1 + std::exp(*cut.slope * v));
  }

  /// w of level i: accuracies of the level before and of the level on examples that come to it, of
  /// the half that a fit is made on.
  double WeightOf(const std::vector<const PlainLevel*>& levels, const CascadeCut& cut, size_t i,
                  size_t fit) const {
    double before = 0;
    double here = 0;
    for (size_t e = 0; e < examples_.size(); ++e) {
      if (fit != 2 && e % 2 == fit) continue;
      double comes = 1;
      for (size_t level = 0; level < i; ++level) comes *= GoesOnAt(*levels[level], cut, e, fit);
      before += comes * IsRight(*levels[i - 1], e);
      here += comes * IsRight(*levels[i], e);
    }
    return before + here == 0 ? 1 : here / (before + here);
  }

  void ExpectCut(const std::vector<const PlainLevel*>& levels, const PlainLevel& alone,
                 const CascadeCut& cut) {
    std::vector<double> answered(levels.size());
    std::vector<double> right(levels.size());
    std::vector<double> had(levels.size());
    std::vector<double> left(levels.size());
    std::array<std::vector<double>, 3> weights;
    for (const size_t fit : kFits) {
      for (size_t i = 1; i < levels.size(); ++i)
        weights[fit].push_back(cut.HasEnsemble() ? WeightOf(levels, cut, i, fit) : 1);
    }
    double difference = 0;
    double squares = 0;
    const auto count = static_cast<double>(examples_.size());
    for (size_t e = 0; e < examples_.size(); ++e) {
      double comes = 1;
      double right_here = 0;
      for (size_t i = 0; i < levels.size(); ++i) {
        const bool last = i + 1 == levels.size();
        const double goes_on = last ? 0 : comes * GoesOnAt(*levels[i], cut, e, e % 2);
        const bool is_right =
            i == 0 ? IsRight(*levels[0], e)
                   : IsRightTogether(*levels[i - 1], *levels[i], weights[e % 2][i - 1], e);
        answered[i] += comes - goes_on;
        right[i] += (comes - goes_on) * is_right;
        right_here += (comes - goes_on) * is_right;
        if (!last) {
          had[i] += goes_on * WordsIn(levels[i]->texts[e]);
          left[i] += goes_on * WordsIn(levels[i + 1]->texts[e]);
        }
        comes = goes_on;
      }
      const double change = right_here - IsRight(alone, e);
      difference += change / count;
      squares += change * change / count;
    }
    double accuracy = 0;
    for (size_t i = 0; i < levels.size(); ++i) {
      EXPECT_NEAR(cut.shares[i], answered[i] / count, kSameNumber);
      EXPECT_NEAR(cut.accuracies[i], answered[i] > 1e-9 ? right[i] / answered[i] : 0, 1e-4);
      accuracy += right[i] / count;
      if (i + 1 == levels.size()) break;
      EXPECT_NEAR(cut.words_left[i], had[i] > 1e-9 ? left[i] / had[i] : 1, 1e-4);
      EXPECT_NEAR(cut.weights[i], weights[2][i], 1e-4);
    }
    EXPECT_NEAR(cut.accuracy, accuracy, kSameNumber);
    EXPECT_NEAR(cut.difference_error, std::sqrt((squares - difference * difference) / (count - 1)),
                1e-5);
  }
};

TEST_F(SecondCounts, OfCascadesAreThoseOfDirectRuns) {
  const CascadeChoice choice{{{1, 1, 3}, {2, 1, 4}, {2, 2, 32}, {3, 2, 5}}, {0.4, 0.8}};
  auto file = ContainerFile::Open(path_);
  ASSERT_TRUE(Succeeded(file));
  const auto scores =
      MeasureCascades(std::move(file).value(), tokenizer_, examples_, choice, ImportanceOptions());
  ASSERT_TRUE(Succeeded(scores));
  std::vector<PlainLevel> alone;
  for (size_t i = 0; i < choice.levels.size(); ++i) {
    PlainLevel& level = alone.emplace_back(Run(choice.levels[i], Whole()));
    double nll = 0;
    double calibrated_nll = 0;
    Calibrate(&level, &nll, &calibrated_nll);
    const CascadeLevelScore& score = scores->levels[i];
    EXPECT_EQ(score.bits, choice.levels[i].bits);
    EXPECT_NEAR(score.nll, nll, kSameNumber);
    EXPECT_NEAR(score.calibrated_nll, calibrated_nll, kSameNumber);
    EXPECT_NEAR(score.ece, EceOf(level, {1, 1, 1}), kSameNumber);
    EXPECT_NEAR(score.calibrated_ece, EceOf(level, level.temperature), 1e-4);
    EXPECT_NEAR(score.temperature, level.temperature[2], kSameTemperature * score.temperature);
  }
  size_t triples = 0;
  size_t together = 0;
  size_t early = 0;
  for (const CascadeScore& score : scores->cascades) {
    std::vector<PlainLevel> after;
    after.reserve(score.levels.size());
    std::vector<const PlainLevel*> levels = {&alone[score.levels[0]]};
    for (size_t i = 1; i < score.levels.size(); ++i) {
      const uint32_t index = score.levels[i];
      PlainLevel& level =
          after.emplace_back(Run(choice.levels[index], Pruned(*levels.back(), score.alpha)));
      level.temperature = alone[index].temperature;
      levels.push_back(&level);
    }
    triples += levels.size() == 3 ? 1 : 0;
    for (const CascadeCut& cut : score.cuts) {
      together += cut.HasEnsemble() ? 1 : 0;
      early += cut.shares[0] > 0.1 && cut.shares[0] < 0.9 ? 1 : 0;
      ExpectCut(levels, alone[score.levels.back()], cut);
      ASSERT_FALSE(HasFailure()) << "alpha " << score.alpha << " of " << levels.size()
                                 << " levels, cut-off " << cut.cutoff << " slope "
                                 << cut.slope.value_or(0) << " ensemble " << cut.HasEnsemble();
    }
  }
  EXPECT_EQ(triples, 4U * 3);
  EXPECT_GT(together, 30U);
  EXPECT_GT(early, 100U);
}

}  // namespace
}  // namespace sti
