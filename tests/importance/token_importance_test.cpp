// Importance of models that label tokens: by the F1 of spans, and by the loss of words. All is held
// against plain evaluations, an example at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "importance/importance_world.h"
#include "importance/word_truth.h"
#include "score/spans.h"
#include "text/model_tokenizer.h"

namespace sti {
namespace {

constexpr Metric kAll[] = {Metric::kF1, Metric::kLoss, Metric::kKl};
const std::string kData = STI_SOURCE_DIR "/tests/data/";

// The findings of a plain evaluation of one text.
struct Found {
  double loss = 0;
  std::vector<WordSpan> given;
  std::vector<WordSpan> truth;
};

class TokenImportance : public ImportanceWorld {
 protected:
  void SetUp() override {
    Shard(kData + "spans-roberta", {2, 3, 6, 32});
    auto file = ContainerFile::Open(path_);
    ASSERT_TRUE(Succeeded(file));
    auto tokenizer = LoadTokenizer(*file);
    ASSERT_TRUE(Succeeded(tokenizer));
    tokenizer_ = std::move(tokenizer).value();
    tags_ = TagScheme::Of(info().labels).value();
    MakeTexts(25);
  }

  // Texts of the reference, words by blanks, most with the tags that the full model gives them and
  // the others with any; the last is longer than inputs.
  void MakeTexts(size_t count) {
    examples_.clear();
    std::ifstream lines(kData + "spans.jsonl");
    TestRandom random(4);
    std::string line;
    while (examples_.size() < count && std::getline(lines, line)) {
      std::string text = nlohmann::json::parse(line).at("text");
      if (examples_.size() + 1 == count) {
        for (int i = 0; i < 200; ++i) text += " Berlin";
      }
      AddText(text, random);
    }
    while (examples_.size() < count) AddText("Anna van der Beek, Berlin 3.14 in May", random);
  }

  void AddText(const std::string& text, TestRandom& random) {
    Example example;
    TaggedWords tagged;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find(' ', begin), text.size());
      if (end > begin) {
        tagged.words.push_back(RangeOf(begin, end));
        tagged.tags.push_back((*tags_)[static_cast<uint32_t>(random.Below(tags_->size()))]);
      }
      begin = end + 1;
    }
    const Encoding e = tokenizer_.Encode(text, std::nullopt, info().max_length());
    const std::vector<float> full = ValuesOf(e, {0, 1}, 2, AllAt(32));
    const WordTruth words = WordTruthOf(*tags_, e, tagged);
    const auto given = LabelsGiven(words, {full, info().shape.labels});
    for (size_t w = 0; w < given.size(); ++w) {
      if (given[w] && random.Below(10) < 8) tagged.tags[w] = (*tags_)[*given[w]];
    }
    example.text = text;
    example.tagged = std::move(tagged);
    examples_.push_back(std::move(example));
  }

  const ModelInfo& info() { return model_->index().info; }

  // Rows of words: of those of the data by their first tokens, or by kl of those of the tokenizer.
  std::vector<std::optional<uint32_t>> RowsOf(const Example& example, Metric metric, Encoding* e) {
    std::vector<std::optional<uint32_t>> rows;
    if (metric == Metric::kKl) {
      tokenizer_.MarkContinuations(example.text, e);
      bool first = true;
      for (uint32_t t = 0; t < e->ids.size(); ++t) {
        if (e->words[t] == kNoWord) continue;
        if (first || !e->continues_word[t]) rows.emplace_back(t);
        first = false;
      }
      return rows;
    }
    for (const ByteRange& word : example.tagged->words) {
      rows.emplace_back();
      for (uint32_t t = static_cast<uint32_t>(e->ids.size()); t-- > 0;) {
        const bool is_own = e->words[t] != kNoWord && e->offsets[t].begin >= word.begin &&
                            e->offsets[t].begin < word.end;
        if (is_own) rows.back() = t;
      }
    }
    return rows;
  }

  // The labels of the model, which is in BIO, that say the tags of an example.
  std::vector<uint32_t> TruthOf(const Example& example) {
    std::vector<uint32_t> truth;
    for (size_t w = 0; w < example.tagged->tags.size(); ++w) {
      const Tag& tag = example.tagged->tags[w];
      const bool goes_on = w > 0 && GoesOn(example.tagged->tags[w - 1], tag);
      std::string name = "O";
      if (tag.place != TagPlace::kOutside)
        name = (goes_on ? "I-" : "B-") + tags_->names()[tag.kind];
      const auto& labels = info().labels;
      truth.push_back(static_cast<uint32_t>(std::ranges::find(labels, name) - labels.begin()));
    }
    return truth;
  }

  std::vector<WordSpan> SpansOfRows(const std::vector<std::optional<uint32_t>>& rows,
                                    const std::vector<float>& logits) {
    const size_t labels = info().shape.labels;
    std::vector<Tag> tags;
    for (const auto& row : rows) {
      tags.emplace_back();
      if (row) tags.back() = (*tags_)[ArgMax({&logits[*row * labels], labels})];
    }
    return WordSpansOf(tags);
  }

  std::vector<Found> Plain(Metric metric, const std::vector<uint32_t>& layers, uint32_t width,
                           const ShardBits& bits) {
    const size_t labels = info().shape.labels;
    std::vector<Found> all;
    for (const Example& example : examples_) {
      Encoding e = tokenizer_.Encode(example.text, std::nullopt, info().max_length());
      const auto rows = RowsOf(example, metric, &e);
      const std::vector<float> logits = ValuesOf(e, layers, width, bits);
      const std::vector<float> full = ValuesOf(e, {0, 1}, 2, AllAt(32));
      Found found{0, SpansOfRows(rows, logits), {}};
      found.truth =
          metric == Metric::kKl ? SpansOfRows(rows, full) : WordSpansOf(example.tagged->tags);
      RunningMean mean;
      const std::vector<uint32_t> truth = TruthOf(example);
      for (size_t w = 0; w < rows.size(); ++w) {
        if (!rows[w]) continue;
        const std::span<const float> row(&logits[*rows[w] * labels], labels);
        const std::span<const float> reference(&full[*rows[w] * labels], labels);
        mean.Add(metric == Metric::kKl ? KlDivergence(reference, row)
                                       : CrossEntropy(row, truth[w]));
      }
      found.loss = mean.mean();
      all.push_back(std::move(found));
    }
    return all;
  }

  static double MeanLossOf(const std::vector<Found>& plain) {
    PlainSum sum;
    for (const Found& found : plain) sum.Add(false, found.loss);
    return sum.loss();
  }

  static double RightOf(const Found& found) {
    double right = 0;
    for (const WordSpan& span : found.given)
      right += std::ranges::count(found.truth, span) > 0 ? 1 : 0;
    return right;
  }

  static double F1Of(const std::vector<Found>& plain) {
    double right = 0;
    double both = 0;
    for (const Found& found : plain) {
      right += RightOf(found);
      both += static_cast<double>(found.given.size() + found.truth.size());
    }
    return 2 * right / both;
  }

  // Returns how much each example adds to the F1, to first order, times their number.
  static std::vector<double> Influence(const std::vector<Found>& plain) {
    const double f = F1Of(plain);
    double both = 0;
    for (const Found& found : plain)
      both += static_cast<double>(found.given.size() + found.truth.size());
    std::vector<double> all;
    for (const Found& found : plain) {
      const auto own = static_cast<double>(found.given.size() + found.truth.size());
      all.push_back((2 * RightOf(found) - f * own) * static_cast<double>(plain.size()) / both);
    }
    return all;
  }

  static std::vector<double> Values(Metric metric, const std::vector<Found>& plain) {
    if (metric == Metric::kF1) return Influence(plain);
    std::vector<double> losses;
    for (const Found& found : plain) losses.push_back(found.loss);
    return losses;
  }

  static double ScoreOf(Metric metric, const std::vector<Found>& plain) {
    return metric == Metric::kF1 ? F1Of(plain) : -MeanLossOf(plain);
  }

  std::optional<TagScheme> tags_;
};

TEST_F(TokenImportance, EqualsOneEvaluationAShard) {
  for (const Metric metric : kAll) {
    const auto measured = Measure(By(metric, true));
    ASSERT_TRUE(Succeeded(measured));
    EXPECT_EQ(measured->losses.empty(), metric == Metric::kKl);
    const auto base = Plain(metric, {0, 1}, 2, AllAt(2));
    EXPECT_EQ(measured->baseline, ScoreOf(metric, base)) << NameOf(metric);
    EXPECT_GT(F1Of(base), 0.1);
    EXPECT_LT(F1Of(base), 0.9);
    EXPECT_NEAR(measured->standard_error, ErrorOf(Values(metric, base), {}), 1e-9);
    const std::vector<uint32_t> bits = {3, 6, 32};
    EXPECT_EQ(measured->gain_bits, bits);
    for (uint32_t shard = 0; shard < 4; ++shard) {
      for (size_t i = 0; i < bits.size(); ++i) {
        const auto raised = Plain(metric, {0, 1}, 2, [&](uint32_t layer, uint32_t slice) {
          return layer * 2 + slice == shard ? bits[i] : 2U;
        });
        EXPECT_NEAR(measured->gains[shard * 3 + i], MeanLossOf(base) - MeanLossOf(raised), 1e-12);
        if (bits[i] != 32) continue;
        EXPECT_EQ(measured->scores[shard], ScoreOf(metric, raised)) << NameOf(metric) << shard;
        EXPECT_NEAR(measured->errors[shard], ErrorOf(Values(metric, raised), Values(metric, base)),
                    1e-8);
      }
    }
  }
}

TEST_F(TokenImportance, SubmodelsEqualOneEvaluationEach) {
  for (const Metric metric : kAll) {
    const auto measured = Measure(By(metric, false, true));
    ASSERT_TRUE(Succeeded(measured));
    ASSERT_FALSE(measured->submodels.empty());
    for (const SubmodelScore& score : measured->submodels) {
      const auto plain =
          Plain(metric, info().depth_layers[score.depth - 1], score.width, AllAt(score.bits));
      EXPECT_EQ(score.accuracy, F1Of(plain)) << score.depth << "x" << score.width;
      EXPECT_EQ(score.loss, MeanLossOf(plain));
    }
    if (metric == Metric::kKl) {
      EXPECT_EQ(measured->submodels.back().accuracy, 1) << "the full model";
    }
  }
}

TEST_F(TokenImportance, CostsAreWhatTheRunnerCounts) {
  for (const Metric metric : kAll) ExpectCostsAreWhatTheRunnerCounts(By(metric, true, true));
}

TEST_F(TokenImportance, PartsJoinToTheSameBytesWhateverTheMemory) {
  MakeTexts(60);  // more than one chunk
  for (const Metric metric : kAll) {
    ExpectPartsJoin(By(metric, true, true),
                    [](const ImportancePart& part) { EXPECT_TRUE(part.job.of_spans); });
  }
}

TEST_F(TokenImportance, IsResumedWhereItWasStopped) {
  MakeTexts(60);
  ImportanceOptions options = By(Metric::kF1, true);
  const ImportancePart stopped = ExpectIsResumed(options, [](const ImportancePart&) {});
  options.resume = &stopped;
  const size_t words = examples_[3].tagged->tags.size();
  examples_[3].tagged->tags.assign(words, Tag());
  EXPECT_TRUE(FailedWith(Measure(options), ErrorKind::kForeign, "other data"));
}

// The definition of the estimate, an example at a time: a slope s of a mean over n words is worth
// -s - n s^2 / 2.
TEST_F(TokenImportance, EstimateIsWhatTheSlopesOfEachExampleSay) {
  const uint32_t labels = info().shape.labels;
  for (const Metric metric : {Metric::kLoss, Metric::kKl}) {
    const auto estimate = Estimate(By(metric));
    ASSERT_TRUE(Succeeded(estimate));
    const auto base = Plain(metric, {0, 1}, 2, AllAt(2));
    EXPECT_NEAR(estimate->baseline, ScoreOf(metric, base), 1e-6);
    std::vector<double> sums(4);
    for (size_t i = 0; i < examples_.size(); ++i) {
      Encoding e = tokenizer_.Encode(examples_[i].text, std::nullopt, info().max_length());
      const auto rows = RowsOf(examples_[i], metric, &e);
      const std::vector<float> logits = ValuesOf(e, {0, 1}, 2, AllAt(2));
      const std::vector<float> full = ValuesOf(e, {0, 1}, 2, AllAt(32));
      const std::vector<uint32_t> truth = TruthOf(examples_[i]);
      const auto words =
          static_cast<double>(std::ranges::count_if(rows, [](const auto& row) { return !!row; }));
      std::vector<float> gradient(logits.size());
      for (size_t w = 0; w < rows.size(); ++w) {
        if (!rows[w]) continue;
        const auto softmax = [&](const std::vector<float>& values, uint32_t label) {
          const std::span<const float> row(&values[*rows[w] * labels], labels);
          return std::exp(-CrossEntropy(row, label));
        };
        for (uint32_t l = 0; l < labels; ++l) {
          const double wanted = metric == Metric::kKl ? softmax(full, l) : truth[w] == l ? 1 : 0;
          gradient[*rows[w] * labels + l] +=
              static_cast<float>((softmax(logits, l) - wanted) / words);
        }
      }
      const auto slopes = SlopesOf(e, gradient);
      for (size_t shard = 0; shard < 4; ++shard) {
        const double s = slopes[shard];
        sums[shard] += base[i].loss + s + std::max(1.0, words) / 2 * s * s;
      }
    }
    for (size_t shard = 0; shard < 4; ++shard) {
      const double loss = sums[shard] / static_cast<double>(examples_.size());
      EXPECT_NEAR(estimate->scores[shard], -loss, 1e-5) << NameOf(metric) << shard;
    }
  }
}

TEST_F(TokenImportance, EstimateAndOrderAreTheSameForAnyThreadsAndBatches) {
  for (const Metric metric : {Metric::kLoss, Metric::kKl})
    ExpectEstimateAndOrderAreTheSame(By(metric, true));
}

TEST_F(TokenImportance, OrderLeavesOutTheLayerThatIsMissedLeast) {
  const auto order = Order(By(Metric::kF1));
  ASSERT_TRUE(Succeeded(order));
  const double without_last = MeanLossOf(Plain(Metric::kLoss, {0}, 2, AllAt(32)));
  const double without_first = MeanLossOf(Plain(Metric::kLoss, {1}, 2, AllAt(32)));
  const std::vector<uint32_t> kept{without_last <= without_first ? 0U : 1U};
  EXPECT_EQ(order->depth_layers[0], kept);
}

TEST_F(TokenImportance, RefusesWhatSaysNothing) {
  for (const Metric metric : {Metric::kAccuracy, Metric::kCosine, Metric::kSpearman}) {
    EXPECT_TRUE(FailedWith(Measure(By(metric)), ErrorKind::kUsage,
                           "is not for models that label tokens, as this one does; take loss, kl "
                           "or f1"));
    EXPECT_FALSE(Order(By(metric)).ok());
  }
  EXPECT_TRUE(FailedWith(Estimate(By(Metric::kF1)), ErrorKind::kUsage, "accuracy and f1"));
  for (Example& example : examples_) {
    for (Tag& tag : example.tagged->tags) tag = {};
  }
  EXPECT_TRUE(FailedWith(Measure(By(Metric::kF1)), ErrorKind::kDamaged, "outside of spans"));
  examples_[2].tagged.reset();
  EXPECT_TRUE(FailedWith(Measure(By(Metric::kLoss)), ErrorKind::kDamaged, "have no tags"));
  EXPECT_TRUE(Succeeded(Measure(By(Metric::kKl))));
}

}  // namespace
}  // namespace sti
