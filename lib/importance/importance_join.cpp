#include "importance/importance_join.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "base/remedy.h"
#include "importance/tally.h"
#include "types/rank_correlation.h"
#include "types/score.h"

namespace sti {
namespace {

std::string PartName(const ImportancePart& part) {
  return std::to_string(part.part) + "/" + std::to_string(part.parts);
}

std::string Units(uint64_t begin, uint64_t end) {
  return end - begin == 1 ? "unit " + std::to_string(begin + 1)
                          : "units " + std::to_string(begin + 1) + " to " + std::to_string(end);
}

Status CheckFinished(const NamedPart& named) {
  const ImportancePart& part = named.part;
  if (part.end == part.due) return {};
  return DataError("part " + PartName(part) + " is unfinished (" +
                   std::to_string(part.end - part.begin) + " of " +
                   std::to_string(part.due - part.begin) + " units done)")
      .At(named.name)
      .Fix(Remedy::kFinishPart);
}

Status CheckSameJob(const NamedPart& named, const NamedPart& first) {
  const std::string difference = DifferenceOf(named.part.job, first.part.job);
  if (difference.empty()) return {};
  return ForeignError("is of " + difference + ", unlike " + first.name +
                      "; join parts of one measurement only")
      .At(named.name);
}

// `next` comes after units up to `end`, the last of them in `last`.
Status CheckFollows(const NamedPart& next, uint64_t end, const NamedPart* last) {
  if (next.part.begin == end) return {};
  if (next.part.begin < end) {
    return DataError(last->name + " and " + next.name + " overlap: both have " +
                     Units(next.part.begin, std::min(end, next.part.end)) +
                     "; give each part once");
  }
  const std::string before = last == nullptr ? "" : " after " + last->name;
  return DataError("no part has " + Units(end, next.part.begin) + " of " +
                   std::to_string(next.part.job.units) + ", which come" + before + " before " +
                   next.name + " (part " + PartName(next.part) + "); give all parts");
}

Status CheckCover(const std::vector<NamedPart>& parts) {
  uint64_t end = 0;
  const NamedPart* last = nullptr;
  for (const NamedPart& named : parts) {
    if (named.part.begin == named.part.end) continue;
    STI_RETURN_IF_ERROR(CheckFollows(named, end, last));
    end = named.part.end;
    last = &named;
  }
  const uint64_t units = parts[0].part.job.units;
  if (end == units) return {};
  const std::string after =
      last == nullptr ? ""
                      : ", which come after " + last->name + " (part " + PartName(last->part) + ")";
  return DataError("no part has " + Units(end, units) + " of " + std::to_string(units) + after +
                   "; give all parts");
}

std::vector<double> CosinesOf(const Tally& cell) {
  return {cell.cosines.begin(), cell.cosines.end()};
}

double ErrorOfMean(const std::vector<double>& values) {
  RunningMean mean;
  for (const double value : values) mean.Add(value);
  return mean.standard_error();
}

// Scores the cells of a measurement whose work is done; the part outlives it. Most metrics are
// means over examples. The F1 of spans is a quotient of two sums. Spearman's correlation is one
// number of all pairs, so that each cell keeps all its cosines, and what a pair adds to the
// number's error is its influence (types/rank_correlation.h).
class CellScores {
 public:
  explicit CellScores(const ImportancePart& sum);

  // Returns the metric of a cell; higher is better.
  [[nodiscard]] double Score(const Tally& cell) const;
  // Returns the loss of a cell, and how good it is: SubmodelScore::loss and accuracy.
  [[nodiscard]] double Loss(const Tally& cell) const;
  [[nodiscard]] double Accuracy(const Tally& cell) const;
  // Returns the standard error of the base's score.
  [[nodiscard]] double BaseError() const;
  // Returns the standard error of a cell's score less the base's, each example its own control.
  [[nodiscard]] double ChangeError(const Tally& cell) const;

 private:
  [[nodiscard]] double Correlation(const Tally& cell) const;
  [[nodiscard]] std::vector<double> Influence(const Tally& cell) const;

  const ImportanceJob& job_;
  const Tally& base_;
  std::vector<double> base_influence_;  // [pairs], of kSpearman
};

CellScores::CellScores(const ImportancePart& sum) : job_(sum.job), base_(sum.tallies[0]) {
  if (job_.metric == Metric::kSpearman) base_influence_ = Influence(base_);
}

double CellScores::Score(const Tally& cell) const {
  // Not the mean negated, so that no loss at all is 0 and not -0.
  return TraitsOf(job_.metric).is_loss ? 0.0 - MeanLoss(cell) : Accuracy(cell);
}

double CellScores::Loss(const Tally& cell) const {
  return job_.metric == Metric::kSpearman ? 1 - Correlation(cell) : MeanLoss(cell);
}

double CellScores::Accuracy(const Tally& cell) const {
  if (job_.metric == Metric::kSpearman) return Correlation(cell);
  if (job_.metric == Metric::kCosine) return 1 - MeanLoss(cell);
  return job_.of_spans ? SpanF1(cell) : ShareRight(cell);
}

double CellScores::BaseError() const {
  if (job_.metric == Metric::kSpearman) return ErrorOfMean(base_influence_);
  if (job_.metric == Metric::kF1) return SpanF1Error(base_);
  return job_.metric == Metric::kAccuracy ? ShareRightError(base_) : MeanLossError(base_);
}

double CellScores::ChangeError(const Tally& cell) const {
  if (job_.metric == Metric::kAccuracy) return ShareRightChangeError(cell);
  if (job_.metric == Metric::kF1) return SpanF1ChangeError(cell, base_);
  if (job_.metric != Metric::kSpearman) return LossChangeError(cell, base_);
  std::vector<double> change = Influence(cell);
  for (size_t i = 0; i < change.size(); ++i) change[i] -= base_influence_[i];
  return ErrorOfMean(change);
}

// Equal cosines put the pairs in no order, which is worth nothing.
double CellScores::Correlation(const Tally& cell) const {
  return Spearman(CosinesOf(cell), job_.scores).value_or(0);
}

std::vector<double> CellScores::Influence(const Tally& cell) const {
  return SpearmanInfluence(CosinesOf(cell), job_.scores);
}

void FillShards(const ImportancePart& sum, const CellScores& scores, Importance* importance) {
  const Tally& base = sum.tallies[0];
  const size_t stride = sum.job.raised_bits.size();
  const size_t shards = size_t{sum.job.layers} * sum.job.width;
  // Other scores and losses say the same.
  const bool losses =
      TraitsOf(importance->metric).is_counted || importance->metric == Metric::kLoss;
  for (size_t shard = 0; shard < shards; ++shard) {
    const Tally* raised = &sum.tallies[1 + shard * stride];
    const Tally& most = raised[stride - 1];  // scores are of the most bits, which come last
    importance->scores.push_back(scores.Score(most));
    importance->errors.push_back(scores.ChangeError(most));
    if (losses) importance->losses.push_back(scores.Loss(most));
    for (size_t i = 0; sum.job.gains && i < stride; ++i) {
      importance->gains.push_back(scores.Loss(base) - scores.Loss(raised[i]));
    }
  }
}

Importance ImportanceOf(const ImportancePart& sum) {
  const ImportanceJob& job = sum.job;
  const CellScores scores(sum);
  Importance importance;
  importance.model = job.model;
  importance.data = job.data;
  importance.metric = job.metric;
  importance.examples = job.examples;
  importance.layers = job.layers;
  importance.width = job.width;
  importance.kernel = job.kernel;
  importance.baseline = scores.Score(sum.tallies[0]);
  importance.standard_error = scores.BaseError();
  if (job.gains) importance.gain_bits = job.raised_bits;
  importance.word_use = job.word_use;
  FillShards(sum, scores, &importance);
  const size_t first = sum.tallies.size() - job.submodels.size();
  importance.submodels.reserve(job.submodels.size());
  for (size_t i = 0; i < job.submodels.size(); ++i) {
    const SubmodelCell& cell = job.submodels[i];
    const Tally& tally = sum.tallies[first + i];
    importance.submodels.push_back(
        {cell.depth, cell.width, cell.bits, scores.Accuracy(tally), scores.Loss(tally)});
  }
  return importance;
}

}  // namespace

std::string DifferenceOf(const ImportanceJob& job, const ImportanceJob& other) {
  if (job.model != other.model) {
    return "another model (" + job.model.Prefix() + ", not " + other.model.Prefix() + ")";
  }
  if (job.metric != other.metric) {
    return "another metric (" + std::string(NameOf(job.metric)) + ", not " + NameOf(other.metric) +
           ")";
  }
  // After the metric: by kl, say, the same data is named without its labels.
  if (job.data != other.data || job.examples != other.examples) {
    return "other data (" + job.data.Prefix() + ", not " + other.data.Prefix() + ")";
  }
  if (job.kernel != other.kernel) {
    return "another kernel (" + job.kernel + ", not " + other.kernel + ")";
  }
  if (job.gains != other.gains) {
    return job.gains ? "a measurement with gains" : "a measurement without gains";
  }
  if (job.submodels != other.submodels) {
    if (job.submodels.empty()) return "a measurement without submodels";
    return other.submodels.empty() ? "a measurement with submodels" : "other submodels";
  }
  if (job.base_bits != other.base_bits || job.raised_bits != other.raised_bits) {
    return "a container with other bits";
  }
  if (job.word_use != other.word_use) {
    return job.word_use.empty() ? "a measurement that counted no words"
                                : "a measurement that counted words in another way";
  }
  return job == other ? "" : "other work";
}

Result<Importance> JoinImportanceParts(std::vector<NamedPart> parts) {
  if (parts.empty()) return UsageError("no parts to join; give their files");
  for (const NamedPart& named : parts) {
    STI_RETURN_IF_ERROR(CheckSameJob(named, parts[0]));
    STI_RETURN_IF_ERROR(CheckFinished(named));
  }
  std::sort(parts.begin(), parts.end(), [](const NamedPart& a, const NamedPart& b) {
    return std::tie(a.part.begin, a.part.end, a.name) < std::tie(b.part.begin, b.part.end, b.name);
  });
  STI_RETURN_IF_ERROR(CheckCover(parts));
  ImportancePart sum = std::move(parts[0].part);
  for (size_t p = 1; p < parts.size(); ++p) {
    for (size_t i = 0; i < sum.tallies.size(); ++i) {
      AddTally(sum.tallies[i], parts[p].part.tallies[i]);
    }
  }
  for (const Tally& tally : sum.tallies) {
    const bool all_cosines = tally.cosines.size() == sum.job.scores.size();
    if (tally.examples != sum.job.examples || !all_cosines) {
      return DataError(parts[0].name + " or another part counts examples of a shard twice or not " +
                       "at all; the parts are damaged, make them again");
    }
  }
  return ImportanceOf(sum);
}

}  // namespace sti
