#include "importance/cascades.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/log.h"
#include "base/result.h"
#include "importance/cascade_counts.h"
#include "importance/examples.h"
#include "importance/layer_runner.h"
#include "types/bits.h"
#include "types/cascade.h"
#include "types/importance_part.h"
#include "types/submodel.h"

namespace sti {
namespace {

// The attention that each token received on one level: [batches][tokens].
using BatchAttention = std::vector<std::vector<float>>;

// The answers of one level to all examples.
struct LevelRun {
  std::vector<float> logits;  // [examples, labels]
  BatchAttention attention;
};

// The texts that come to a level, after another has read them.
struct PrunedTexts {
  std::vector<ExampleBatch> batches;
  std::vector<WordCount> words;  // [examples]
};

// Runs levels of a model whose bitwidths are loaded. One thread at a time.
class LevelRunner {
 public:
  LevelRunner(LayerRunner& runner, CancelCheck cancelled)
      : runner_(runner), cancelled_(std::move(cancelled)) {}

  // Runs the first slices of the layers that a depth has. A DataError if a logit is not finite.
  Result<LevelRun> Run(const SubmodelCell& level, std::span<const ExampleBatch> batches);

 private:
  [[nodiscard]] Status RunBatch(const SubmodelCell& level, const ExampleBatch& batch,
                                LevelRun* run);

  LayerRunner& runner_;
  CancelCheck cancelled_;
  AlignedVector<float> hidden_;  // [tokens, d]
  std::vector<float> firsts_;    // [sequences, d]
  std::vector<float> context_;   // likewise, and 16 more
};

/// Returns the number of words in a text.
uint32_t WordsOf(std::span<const uint32_t> words) {
  return WordsLeftOut(words, std::vector<bool>(words.size(), false));
}

// Returns the texts without the words that a level leaves out which gave them this attention
// (KeptTokens).
PrunedTexts Prune(std::span<const ExampleBatch> batches, const BatchAttention& attention,
                  double alpha) {
  PrunedTexts texts;
  for (size_t b = 0; b < batches.size(); ++b) {
    const ExampleBatch& batch = batches[b];
    std::vector<bool> kept;
    for (uint32_t s = 0; s < batch.batch().sequences(); ++s) {
      const size_t first = batch.offsets[s];
      const size_t count = batch.offsets[s + 1] - first;
      const auto words = std::span(batch.words).subspan(first, count);
      const std::vector<bool> of_text =
          KeptTokens(std::span(attention[b]).subspan(first, count), words, alpha);
      kept.insert(kept.end(), of_text.begin(), of_text.end());
      const uint32_t had = WordsOf(words);
      texts.words.push_back({had, had - WordsLeftOut(words, of_text)});
    }
    texts.batches.push_back(KeptOf(batch, kept));
  }
  return texts;
}

Result<LevelRun> LevelRunner::Run(const SubmodelCell& level,
                                  std::span<const ExampleBatch> batches) {
  LevelRun run;
  for (const ExampleBatch& batch : batches) {
    if (cancelled_ && cancelled_()) return CancelledError();
    STI_RETURN_IF_ERROR(RunBatch(level, batch, &run));
  }
  const auto finite = [](float logit) { return std::isfinite(logit); };
  if (std::all_of(run.logits.begin(), run.logits.end(), finite)) return run;
  return DataError("its weights overflow for an example at " +
                   NameOf(Submodel{level.depth, level.width}) + ", " + std::to_string(level.bits) +
                   " bits; shard a sound model")
      .At(runner_.name());
}

Status LevelRunner::RunBatch(const SubmodelCell& level, const ExampleBatch& batch, LevelRun* run) {
  const ModelShape& shape = runner_.shape();
  const uint32_t sequences = batch.batch().sequences();
  hidden_.resize(batch.ids.size() * shape.hidden);
  firsts_.resize(size_t{sequences} * shape.hidden);
  context_.resize(firsts_.size() + kReadPastEnd);
  std::vector<float>& received = run->attention.emplace_back(batch.ids.size());
  STI_RETURN_IF_ERROR(runner_.Embed(batch, {0, sequences}, hidden_.data()));
  const std::vector<uint32_t>& layers = runner_.index().info.depth_layers[level.depth - 1];
  for (size_t k = 0; k < layers.size(); ++k) {
    const std::vector<ShardView> views = runner_.Views(layers[k], level.width, level.bits);
    if (k + 1 < layers.size()) {
      runner_.Layer(batch.batch(), layers[k], views, hidden_.data(), received.data());
    } else {
      runner_.LastLayer(batch.batch(), layers[k], views, hidden_.data(), context_.data(),
                        firsts_.data(), received.data());
    }
  }
  const size_t before = run->logits.size();
  run->logits.resize(before + size_t{sequences} * shape.labels);
  runner_.Head(batch.batch(), firsts_.data(), run->logits.data() + before);
  return {};
}

// Tokens of a batch: enough that decoding a shard is small beside multiplying with it.
constexpr uint32_t kBatchTokens = 1024;
// The cut-offs of hard cuts. Below 1 / labels there is no confidence.
constexpr double kCutoffs[] = {0.2,  0.3, 0.4,  0.5, 0.55, 0.6,  0.65, 0.7,
                               0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99};
constexpr size_t kMostCutoffs = 13;
// Cuts that leave dispatch to chance: the cut-offs of the paper's figures, a mild and a steep k.
constexpr double kRandomCutoffs[] = {0.75, 0.85, 0.95};
constexpr double kSlopes[] = {2, 10};

/// Returns the cuts that are counted of every cascade: at most 32.
std::vector<CutChoice> CutsFor(uint32_t labels) {
  std::vector<double> cutoffs;
  for (const double cutoff : kCutoffs) {
    if (cutoff * labels >= 1) cutoffs.push_back(cutoff);
  }
  if (cutoffs.size() > kMostCutoffs)
    cutoffs.erase(cutoffs.begin(), cutoffs.end() - ptrdiff_t{kMostCutoffs});
  std::vector<CutChoice> cuts;
  for (const double cutoff : cutoffs) {
    for (const bool ensemble : {false, true}) cuts.push_back({cutoff, std::nullopt, ensemble});
  }
  for (const double cutoff : kRandomCutoffs) {
    for (const double slope : kSlopes) cuts.push_back({cutoff, slope, false});
  }
  return cuts;
}

auto CostOrder(const SubmodelCell& level) {
  return std::tuple(uint64_t{level.depth} * level.width, level.bits, level.depth);
}

std::string NameOf(const SubmodelCell& level) {
  return NameOf(Submodel{level.depth, level.width}, level.bits);
}

/// Returns the chosen levels, cheapest first.
Result<std::vector<SubmodelCell>> SoundLevels(const ContainerIndex& index,
                                              std::vector<SubmodelCell> levels) {
  if (levels.empty()) levels = DefaultCascadeLevels(index);
  std::sort(levels.begin(), levels.end(), [](const SubmodelCell& a, const SubmodelCell& b) {
    return CostOrder(a) < CostOrder(b);
  });
  if (std::adjacent_find(levels.begin(), levels.end()) != levels.end())
    return UsageError("a cascade level is named twice");
  if (levels.size() < 2 || levels.size() > kMostCascadeLevels) {
    return UsageError("cascades need two levels or more, at most " +
                      std::to_string(kMostCascadeLevels));
  }
  const ModelInfo& info = index.info;
  for (const SubmodelCell& level : levels) {
    const bool fits = level.depth >= info.min_depth && level.depth <= info.depth_layers.size() &&
                      level.width >= info.min_width && level.width <= info.shape.width;
    if (!fits) return UsageError(NameOf(level) + " is not a submodel of this model");
    if (std::find(index.bits.begin(), index.bits.end(), level.bits) == index.bits.end())
      return UsageError(NameOf(level) + " is not stored: the model has no such bits");
  }
  return levels;
}

/// Returns the one label of each example; a DataError if one has none.
Result<std::vector<uint32_t>> TruthsOf(std::span<const Example> examples) {
  std::vector<uint32_t> truths;
  for (const Example& example : examples) {
    const auto truth = example.Truth();
    if (!truth || truth->size() != 1)
      return DataError("some examples have no label, without which no cascade can be measured");
    truths.push_back(truth->front());
  }
  return truths;
}

/// Measures all cascades of some levels.
class CascadeMeter {
 public:
  CascadeMeter(LayerRunner& runner, std::vector<ExampleBatch> batches,
               std::vector<SubmodelCell> levels, std::vector<double> alphas,
               const ImportanceOptions& options)
      : runs_(runner, options.cancelled),
        batches_(std::move(batches)),
        levels_(std::move(levels)),
        alphas_(std::move(alphas)),
        cuts_(CutsFor(runner.shape().labels)),
        progress_(options.progress) {
    // Each level alone; and with words left out, each behind one before it, and each behind two.
    const size_t n = levels_.size();
    total_ = n + alphas_.size() * (n * (n - 1) / 2 + n * (n - 1) * (n - 2) / 6);
  }

  Result<CascadeScores> Measure(std::vector<uint32_t> truths) {
    truths_ = std::move(truths);
    STI_RETURN_IF_ERROR(RunAlone());
    for (uint32_t i = 0; i + 1 < levels_.size(); ++i) {
      BehindWhole(i);
      for (const double alpha : alphas_) STI_RETURN_IF_ERROR(BehindPruned(i, alpha));
    }
    return std::move(scores_);
  }

 private:
  Result<LevelRun> Run(uint32_t level, std::span<const ExampleBatch> batches) {
    auto run = runs_.Run(levels_[level], batches);
    if (run.ok() && progress_) progress_(++done_, total_);
    return run;
  }

  /// Runs and calibrates each level on the whole texts.
  Status RunAlone() {
    for (uint32_t i = 0; i < levels_.size(); ++i) {
      STI_ASSIGN_OR_RETURN(LevelRun run, Run(i, batches_));
      const LabelledLogits examples{run.logits, truths_};
      const Calibration& calibration = calibrations_.emplace_back(Calibrate(examples));
      const LevelAnswers& alone = alone_.emplace_back(examples, calibration);
      size_t right = 0;
      for (size_t e = 0; e < truths_.size(); ++e) right += alone.IsRight(e) ? 1 : 0;
      scores_.levels.push_back({levels_[i].depth, levels_[i].width, levels_[i].bits,
                                static_cast<double>(right) / static_cast<double>(truths_.size()),
                                calibration.temperature, calibration.nll,
                                calibration.calibrated_nll, calibration.ece,
                                calibration.calibrated_ece});
      attention_.push_back(std::move(run.attention));
    }
    whole_words_ = Prune(batches_, attention_.front(), 0).words;
    return {};
  }

  /// Counts the cascades that begin with level i and leave out no word.
  void BehindWhole(uint32_t i) {
    for (uint32_t j = i + 1; j < levels_.size(); ++j) {
      Count({i, j}, 0, {{&alone_[i], &alone_[j]}, {&whole_words_}, &alone_[j]});
      for (uint32_t k = j + 1; k < levels_.size(); ++k) {
        Count({i, j, k}, 0,
              {{&alone_[i], &alone_[j], &alone_[k]}, {&whole_words_, &whole_words_}, &alone_[k]});
      }
    }
  }

  /// Counts those that leave out words after level i and each one after it.
  Status BehindPruned(uint32_t i, double alpha) {
    const PrunedTexts first = Prune(batches_, attention_[i], alpha);
    for (uint32_t j = i + 1; j < levels_.size(); ++j) {
      STI_ASSIGN_OR_RETURN(const LevelRun second, Run(j, first.batches));
      const LevelAnswers after_one({second.logits, truths_}, calibrations_[j]);
      Count({i, j}, alpha, {{&alone_[i], &after_one}, {&first.words}, &alone_[j]});
      const PrunedTexts twice = Prune(first.batches, second.attention, alpha);
      for (uint32_t k = j + 1; k < levels_.size(); ++k) {
        STI_ASSIGN_OR_RETURN(const LevelRun third, Run(k, twice.batches));
        const LevelAnswers after_two({third.logits, truths_}, calibrations_[k]);
        Count({i, j, k}, alpha,
              {{&alone_[i], &after_one, &after_two}, {&first.words, &twice.words}, &alone_[k]});
      }
    }
    return {};
  }

  void Count(std::vector<uint32_t> members, double alpha, const CascadeAnswers& answers) {
    CascadeScore& score = scores_.cascades.emplace_back();
    score.levels = std::move(members);
    score.alpha = alpha;
    for (const CutChoice& choice : cuts_) {
      CascadeCut cut = CountCut(answers, choice);
      // Where nothing is re-routed, the ensemble is the cut before it.
      if (choice.ensemble == cut.HasEnsemble()) score.cuts.push_back(std::move(cut));
    }
  }

  LevelRunner runs_;
  std::vector<ExampleBatch> batches_;
  std::vector<SubmodelCell> levels_;
  std::vector<double> alphas_;
  std::vector<CutChoice> cuts_;
  ProgressSink progress_;
  uint64_t done_ = 0;
  uint64_t total_ = 0;
  std::vector<uint32_t> truths_;           ///< [examples]
  std::vector<Calibration> calibrations_;  ///< [levels], as are the next two
  std::vector<LevelAnswers> alone_;        ///< on the whole texts
  std::vector<BatchAttention> attention_;  ///< likewise
  std::vector<WordCount> whole_words_;     ///< [examples] where none is left out
  CascadeScores scores_;
};

}  // namespace

std::vector<SubmodelCell> DefaultCascadeLevels(const ContainerIndex& index) {
  const ModelInfo& info = index.info;
  const uint32_t width = info.shape.width;
  const auto depth = static_cast<uint32_t>(info.depth_layers.size());
  const uint32_t narrow = std::max(info.min_width, (width + 3) / 4);
  // The bits are the middle and the most of those with planes; without any, full fidelity.
  std::vector<uint32_t> planes = index.bits;
  if (planes.size() > 1) std::erase(planes, kFullBits);
  const uint32_t some = planes[planes.size() / 2];
  std::vector<SubmodelCell> levels = {{std::max(info.min_depth, (depth + 2) / 3), narrow, some},
                                      {std::max(info.min_depth, (2 * depth + 2) / 3), narrow, some},
                                      {depth, width, planes.back()}};
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  return levels;
}

Status CheckCascades(const ContainerIndex& index, std::span<const Example> examples,
                     const CascadeChoice& choice) {
  if (!index.info.has_labels())
    return UsageError("a cascade is for labels of texts, which the model does not give");
  if (index.info.problem != Problem::kSingleLabel)
    return UsageError("a model that gives several labels at once has no cascades");
  if (auto levels = SoundLevels(index, choice.levels); !levels.ok()) return levels.error();
  if (examples.empty()) return DataError("no examples to measure on");
  if (auto truths = TruthsOf(examples); !truths.ok()) return truths.error();
  return {};
}

Result<CascadeScores> MeasureCascades(ContainerFile file, const Tokenizer& tokenizer,
                                      std::span<const Example> examples,
                                      const CascadeChoice& choice,
                                      const ImportanceOptions& options) {
  STI_RETURN_IF_ERROR(CheckCascades(file.index(), examples, choice));
  STI_ASSIGN_OR_RETURN(std::vector<SubmodelCell> levels, SoundLevels(file.index(), choice.levels));
  STI_ASSIGN_OR_RETURN(std::vector<uint32_t> truths, TruthsOf(examples));
  auto batches = BatchExamples(tokenizer, examples, Metric::kAccuracy,
                               file.index().info.max_length(), kBatchTokens);
  std::set<uint32_t> bits;
  for (const SubmodelCell& level : levels) bits.insert(level.bits);
  const std::vector<uint32_t> needed(bits.begin(), bits.end());
  STI_ASSIGN_OR_RETURN(LoadedModel model, LoadedModel::Load(std::move(file), needed));
  STI_ASSIGN_OR_RETURN(std::unique_ptr<LayerRunner> runner,
                       LayerRunner::Create(std::move(model), options.compute, options.threads));
  CascadeMeter meter(*runner, std::move(batches), std::move(levels), choice.alphas, options);
  return meter.Measure(std::move(truths));
}

}  // namespace sti
