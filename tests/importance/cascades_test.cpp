#include "importance/cascades.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "importance/cascade_counts.h"
#include "importance/importance_world.h"
#include "types/cascade.h"

namespace sti {
namespace {

/// Logits whose softmax at `temperature` gives label 0 of two the probability that examples have:
/// of each ten, six are right at 0.6, nine at 0.9.
struct HonestLogits {
  explicit HonestLogits(double temperature) {
    for (int i = 0; i < 400; ++i) {
      const double probability = i % 4 < 2 ? 0.6 : 0.9;
      const bool right = i / 4 % 10 < std::lround(probability * 10);
      logits.push_back(static_cast<float>(temperature * std::log(probability / (1 - probability))));
      logits.push_back(0);
      truths.push_back(right ? 0 : 1);
    }
  }
  std::vector<float> logits;
  std::vector<uint32_t> truths;
};

TEST(Calibrate, FindsTheTemperatureThatMakesConfidenceHonest) {
  for (const double temperature : {0.25, 2.0, 5.0}) {
    const HonestLogits honest(temperature);
    const Calibration found = Calibrate({honest.logits, honest.truths});
    EXPECT_NEAR(found.temperature, temperature, 1e-4 * temperature);
    EXPECT_NEAR(found.for_half[0], temperature, 1e-4 * temperature);
    EXPECT_LT(found.calibrated_nll, found.nll);
    EXPECT_NEAR(found.calibrated_ece, 0, 1e-4);
    EXPECT_GT(found.ece, 0.02);
  }
}

TEST(Calibrate, LeavesWhatAnotherHalfDoesNotBear) {
  // Each half alone asks for another temperature: one is surer than it may be, one is not.
  std::vector<float> logits;
  std::vector<uint32_t> truths;
  for (int i = 0; i < 200; ++i) {
    logits.insert(logits.end(), {1, 0});
    truths.push_back(i % 2 == 0 ? 0 : static_cast<uint32_t>(i / 2 % 2));
  }
  const Calibration found = Calibrate({logits, truths});
  EXPECT_EQ(found.temperature, 1);
  EXPECT_EQ(found.for_half, (std::array<double, 2>{1, 1}));
  EXPECT_EQ(found.calibrated_nll, found.nll);
  EXPECT_EQ(found.calibrated_ece, found.ece);
  const std::vector<float> one = {3, 1};
  const std::vector<uint32_t> truth = {0};
  EXPECT_EQ(Calibrate({one, truth}).temperature, 1);
}

/// Answers whose confidences in label 0 of two are given, at a temperature of 1.
LevelAnswers AnswersOf(const std::vector<double>& confidences,
                       const std::vector<uint32_t>& truths) {
  std::vector<float> logits;
  for (const double p : confidences) {
    logits.push_back(static_cast<float>(std::log(p / (1 - p))));
    logits.push_back(0);
  }
  return {{logits, truths}, Calibration()};
}

TEST(CountCut, CountsWhatEachLevelAnswers) {
  const std::vector<uint32_t> truths = {0, 1, 0, 1};
  const LevelAnswers first = AnswersOf({0.95, 0.9, 0.6, 0.7}, truths);    // right: yes no yes no
  const LevelAnswers second = AnswersOf({0.2, 0.3, 0.8, 0.1}, truths);    // no yes yes yes
  const std::vector<WordCount> words = {{4, 4}, {4, 1}, {4, 3}, {4, 1}};  // of the last two, half
  const CascadeAnswers cascade = {{&first, &second}, {&words}, &second};
  const CascadeCut cut = CountCut(cascade, {0.8, std::nullopt, false});
  EXPECT_EQ(cut.weights, (std::vector<double>{1}));
  EXPECT_EQ(cut.shares, (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(cut.accuracies, (std::vector<double>{0.5, 1}));
  EXPECT_EQ(cut.accuracy, 0.75);
  EXPECT_EQ(cut.words_left, (std::vector<double>{0.5}));
  // Beside the second level alone: +1, -1, 0, 0.
  EXPECT_NEAR(cut.difference_error, std::sqrt(2.0 / 3 / 4), 1e-12);
  EXPECT_EQ(CountCut(cascade, {1, std::nullopt, false}).difference_error, 0);
  // At 1 every example goes on, at 0 none.
  EXPECT_EQ(CountCut(cascade, {1, std::nullopt, false}).accuracy, 0.75);
  EXPECT_EQ(CountCut(cascade, {1, std::nullopt, false}).shares, (std::vector<double>{0, 1}));
  const CascadeCut none = CountCut(cascade, {0, std::nullopt, true});
  EXPECT_EQ(none.shares, (std::vector<double>{1, 0}));
  EXPECT_EQ(none.accuracies, (std::vector<double>{0.5, 0}));
  EXPECT_EQ(none.weights, (std::vector<double>{1}));
  EXPECT_EQ(none.words_left, (std::vector<double>{1}));
}

TEST(CountCut, WeighsByTheAccuracyOfTheOtherHalf) {
  const std::vector<uint32_t> truths = {0, 0, 0, 0, 1, 0};
  const LevelAnswers first = AnswersOf({0.6, 0.6, 0.6, 0.6, 0.6, 0.6}, truths);
  // All of the even ones are right, and one of the three odd ones.
  const LevelAnswers second = AnswersOf({0.7, 0.3, 0.7, 0.3, 0.3, 0.7}, truths);
  const std::vector<WordCount> words(6, {1, 1});
  const CascadeCut cut =
      CountCut({{&first, &second}, {&words}, &second}, {0.9, std::nullopt, true});
  ASSERT_EQ(cut.weights.size(), 1U);
  EXPECT_NEAR(cut.weights[0], (4.0 / 6) / (5.0 / 6 + 4.0 / 6), 1e-12);
  // The even ones: w = (1/3)/(1 + 1/3) = 1/4, so that the last, 1/4 x 0.3 + 3/4 x 0.6 for label 0,
  // is 0 and wrong. The odd ones: w = 1/(2/3 + 1) = 0.6, and 0.6 x 0.3 + 0.4 x 0.6 is below a half.
  EXPECT_NEAR(cut.accuracy, (2 + 1) / 6.0, 1e-12);
}

// Each half counts as if its temperatures were those of all.
TEST(LevelAnswers, NumbersOfAHalfHaveItsOwnTemperature) {
  TestRandom random(5);
  constexpr uint32_t kExamples = 400;
  std::vector<uint32_t> truths;
  std::vector<float> first_logits;
  std::vector<float> second_logits;
  for (uint32_t e = 0; e < kExamples; ++e) {
    truths.push_back(static_cast<uint32_t>(random.Below(3)));
    for (int label = 0; label < 3; ++label) {
      first_logits.push_back(static_cast<float>(random.Below(100)) / 20);
      second_logits.push_back(static_cast<float>(random.Below(100)) / 20);
    }
  }
  Calibration calibration;
  calibration.temperature = 2;
  calibration.for_half = {0.25, 8};
  const LevelAnswers first({first_logits, truths}, calibration);
  const LevelAnswers second({second_logits, truths}, calibration);
  const auto at = [&](const std::vector<float>& logits, double temperature) {
    return LevelAnswers({logits, truths}, {temperature, {temperature, temperature}});
  };
  uint32_t of_all = 0;
  for (const size_t half : {0, 1}) {
    const double temperature = calibration.for_half[half];
    const LevelAnswers first_alone = at(first_logits, temperature);
    const LevelAnswers second_alone = at(second_logits, temperature);
    const LevelAnswers first_at_all = at(first_logits, calibration.temperature);
    const LevelAnswers second_at_all = at(second_logits, calibration.temperature);
    for (size_t e = half; e < kExamples; e += 2) {
      const bool right = second_alone.IsRightAfter(first_alone, 0.5, e);
      EXPECT_EQ(second.IsRightAfter(first, 0.5, e), right) << e;
      EXPECT_EQ(second.ConfidenceOf(e, half), second_alone.ConfidenceOf(e, 2)) << e;
      of_all += second_at_all.IsRightAfter(first_at_all, 0.5, e) == right ? 0 : 1;
    }
  }
  EXPECT_GT(of_all, 10U) << "the temperature of all would say the same";
}

TEST(CountCut, LeavesDispatchToExpectation) {
  const std::vector<uint32_t> truths = {0, 0, 0};
  const LevelAnswers first = AnswersOf({0.85, 0.95, 0.6}, truths);
  const LevelAnswers second = AnswersOf({0.9, 0.1, 0.9}, truths);
  const LevelAnswers third = AnswersOf({0.9, 0.9, 0.9}, truths);
  const std::vector<WordCount> words(3, {2, 1});
  const CascadeAnswers cascade = {{&first, &second, &third}, {&words, &words}, &third};
  const CascadeRule rule{.cutoff = 0.8, .slope = 4};
  const CascadeCut cut = CountCut(cascade, {0.8, 4, false});
  double shares[3] = {};
  const double one[3] = {0.85, 0.95, 0.6};
  for (int e = 0; e < 3; ++e) {
    const double from_first = GoOnProbability(one[e], rule);
    const double from_second = from_first * GoOnProbability(0.9, rule);
    shares[0] += (1 - from_first) / 3;
    shares[1] += (from_first - from_second) / 3;
    shares[2] += from_second / 3;
  }
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(cut.shares[static_cast<size_t>(i)], shares[i], 1e-6);
  EXPECT_EQ(cut.words_left, (std::vector<double>{0.5, 0.5}));
  EXPECT_LT(cut.accuracies[1], 1);
}

class CascadesTest : public ImportanceWorld {
 protected:
  Result<CascadeScores> Cascades(const CascadeChoice& choice, uint32_t threads = 1) {
    STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(path_));
    ImportanceOptions options;
    options.threads = threads;
    return MeasureCascades(std::move(file), tokenizer_, examples_, choice, options);
  }
  std::vector<uint32_t> LayersOf(uint32_t depth) {
    return model_->index().info.depth_layers[depth - 1];
  }
  /// Returns what tokens receive in 1x1 at 2 bits.
  std::vector<float> Attention(const Encoding& text) {
    std::vector<float> received(text.ids.size());
    Logits(
        text, LayersOf(1), 1, [](uint32_t, uint32_t) { return 2U; }, received.data());
    return received;
  }
  /// The label of 3x2 at 6 bits for the tokens that are kept.
  uint32_t LabelOf(const Encoding& text, const std::vector<bool>& kept) {
    Encoding rest;
    for (size_t i = 0; i < kept.size(); ++i) {
      if (!kept[i]) continue;
      rest.ids.push_back(text.ids[i]);
      rest.types.push_back(text.types[i]);
    }
    return ArgMax(Logits(rest, LayersOf(3), 2, [](uint32_t, uint32_t) { return 6U; }));
  }
};

TEST_F(CascadesTest, LevelsAreThoseSubmodelsAlone) {
  const auto scores = Cascades({{{3, 2, 6}, {1, 1, 2}, {2, 1, 4}}, {}});
  ASSERT_TRUE(Succeeded(scores));
  ASSERT_EQ(scores->levels.size(), 3U);
  EXPECT_EQ(scores->levels[0].depth, 1U);
  EXPECT_EQ(scores->levels[2].bits, 6U);
  for (const CascadeLevelScore& level : scores->levels) {
    PlainSum sum;
    for (const Example& example : examples_) {
      const auto logits = Logits(example, LayersOf(level.depth), level.width,
                                 [&](uint32_t, uint32_t) { return level.bits; });
      sum.Add(ArgMax(logits) == *example.label, CrossEntropy(logits, *example.label));
    }
    EXPECT_EQ(level.accuracy, sum.right());
    EXPECT_NEAR(level.nll, sum.loss(), 1e-6);
    EXPECT_LE(level.calibrated_nll, level.nll);
  }
  ASSERT_EQ(scores->cascades.size(), 4U);  // three pairs and a triple
  for (const CascadeScore& cascade : scores->cascades) EXPECT_EQ(cascade.alpha, 0);
}

// With a cut-off of 1 - 0.01 of three labels nearly all go on, on the text without pruned words.
TEST_F(CascadesTest, PrunedTextsAreTheTextsWithoutTheseWords) {
  const auto scores = Cascades({{{1, 1, 2}, {3, 2, 6}}, {0.5, 1}});
  ASSERT_TRUE(Succeeded(scores));
  ASSERT_EQ(scores->cascades.size(), 3U);
  for (const CascadeScore& cascade : scores->cascades) {
    const auto cut = std::find_if(cascade.cuts.begin(), cascade.cuts.end(), [](const auto& each) {
      return each.cutoff == 0.99 && each.weights == std::vector<double>{1};
    });
    ASSERT_NE(cut, cascade.cuts.end());
    double right = 0;
    double had = 0;
    double left = 0;
    for (const Example& example : examples_) {
      Encoding text = tokenizer_.Encode(example.text, example.pair, 512);
      const auto first = Attention(text);
      const auto kept = KeptTokens(first, text.words, cascade.alpha);
      had += WordsLeftOut(text.words, std::vector<bool>(text.words.size(), false));
      left -= WordsLeftOut(text.words, kept);
      right += LabelOf(text, kept) == *example.label ? 1 : 0;
    }
    ASSERT_EQ(cut->shares[1], 1);  // of a model that has learnt nothing, none is sure
    EXPECT_NEAR(cut->accuracy, right / static_cast<double>(examples_.size()), 1e-12);
    EXPECT_NEAR(cut->words_left[0], (had + left) / had, 1e-12);
    EXPECT_EQ(cut->words_left[0]<1, cascade.alpha> 0);
  }
}

// The third level has the text without the words that the second, which had no more of it than the
// first left, gave little attention.
TEST_F(CascadesTest, TheThirdLevelHasWhatTheSecondLeavesOfWhatTheFirstLeft) {
  const auto scores = Cascades({{{1, 1, 2}, {2, 1, 4}, {3, 2, 6}}, {0.8}});
  ASSERT_TRUE(Succeeded(scores));
  const auto triple = std::ranges::find_if(scores->cascades, [](const CascadeScore& cascade) {
    return cascade.levels.size() == 3 && cascade.alpha > 0;
  });
  ASSERT_NE(triple, scores->cascades.end());
  const auto cut = std::ranges::find_if(triple->cuts, [](const CascadeCut& each) {
    return each.cutoff == 0.99 && each.weights == std::vector<double>{1, 1};
  });
  ASSERT_NE(cut, triple->cuts.end());
  ASSERT_EQ(cut->shares[2], 1);
  double right = 0;
  double had = 0;
  double left_out = 0;
  for (const Example& example : examples_) {
    const Encoding text = tokenizer_.Encode(example.text, example.pair, 512);
    const auto once = KeptTokens(Attention(text), text.words, triple->alpha);
    Encoding rest;
    for (size_t i = 0; i < once.size(); ++i) {
      if (!once[i]) continue;
      rest.ids.push_back(text.ids[i]);
      rest.types.push_back(text.types[i]);
      rest.words.push_back(text.words[i]);
    }
    std::vector<float> received(rest.ids.size());
    Logits(
        rest, LayersOf(2), 1, [](uint32_t, uint32_t) { return 4U; }, received.data());
    const auto twice = KeptTokens(received, rest.words, triple->alpha);
    had += WordsLeftOut(rest.words, std::vector<bool>(rest.words.size(), false));
    left_out += WordsLeftOut(rest.words, twice);
    right += LabelOf(rest, twice) == *example.label ? 1 : 0;
  }
  EXPECT_NEAR(cut->accuracy, right / static_cast<double>(examples_.size()), 1e-12);
  EXPECT_NEAR(cut->words_left[1], 1 - left_out / had, 1e-12);
}

TEST_F(CascadesTest, AreTheSameForAnyThreads) {
  const CascadeChoice choice{{{1, 1, 2}, {2, 2, 4}, {3, 2, 6}}, {0.6}};
  const auto one = Cascades(choice, 1);
  const auto three = Cascades(choice, 3);
  ASSERT_TRUE(Succeeded(one));
  ASSERT_TRUE(Succeeded(three));
  EXPECT_EQ(one->levels, three->levels);
  EXPECT_EQ(one->cascades, three->cascades);
}

TEST_F(CascadesTest, RefusesWhatIsNoCascadeOfTheModel) {
  const auto refused = [&](const std::vector<SubmodelCell>& levels, const std::string& why) {
    const auto scores = Cascades({levels, {}});
    ASSERT_FALSE(scores.ok()) << why;
    EXPECT_EQ(scores.error().kind, ErrorKind::kUsage);
    EXPECT_EQ(scores.error().Message(), why);
  };
  refused({{1, 1, 2}}, "cascades need two levels or more, at most 6");
  refused({{1, 1, 2}, {1, 1, 2}}, "a cascade level is named twice");
  refused({{1, 1, 2}, {4, 1, 2}}, "4x1@2 is not a submodel of this model");
  refused({{1, 1, 2}, {3, 3, 2}}, "3x3@2 is not a submodel of this model");
  refused({{1, 1, 2}, {3, 2, 7}}, "3x2@7 is not stored: the model has no such bits");
  examples_[5].label.reset();
  EXPECT_EQ(Cascades({{{1, 1, 2}, {3, 2, 6}}, {}}).error().kind, ErrorKind::kDamaged);
}

}  // namespace
}  // namespace sti
