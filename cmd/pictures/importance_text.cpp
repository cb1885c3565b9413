#include "pictures/importance_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/log.h"
#include "common/lines.h"

namespace sti {
namespace {

// Below it, most of what sets shards apart is chance.
constexpr double kReliable = 0.5;
// Hundreds of digits would say no more; no metric is as large.
constexpr double kLarge = 1e9;

std::string ErrorText(const Importance& importance, double error) {
  if (!TraitsOf(importance.metric).is_counted) return Format("%.2g", error);
  // Not doubles, whose hundredfold may be infinite.
  if (error > kLarge) return Format("%.2Lg points", error * 100.0L);
  return Format("%.2f points", error * 100);
}

std::string LessNoise(const Importance& importance) {
  if (TraitsOf(importance.metric).is_counted) return "more examples, or --metric loss or kl";
  if (importance.metric == Metric::kLoss) return "more examples, or --metric kl";
  if (importance.metric == Metric::kSpearman) return "more pairs, or --metric cosine";
  return "more examples";
}

}  // namespace

std::string ScoreText(const Importance& importance, double score) {
  const bool large = std::abs(score) > kLarge;
  if (TraitsOf(importance.metric).is_counted)
    return large ? Format("%Lg %%", score * 100.0L) : Format("%.2f %%", score * 100);
  if (!TraitsOf(importance.metric).is_loss) return Format(large ? "%g" : "%.4f", score);
  if (large) return Format("%g", -score);
  return Format("%.4f", 0.0 - score);  // not -score, so that no loss is not -0
}

std::string DescribeImportance(const Importance& importance) {
  const auto [low, high] = std::minmax_element(importance.scores.begin(), importance.scores.end());
  const char* what = importance.metric == Metric::kSpearman ? "pair" : "example";
  const std::string text = Counted(importance.examples, what) + ": " + NameOf(importance.metric) +
                           " " + ScoreText(importance, *low) + " to " +
                           ScoreText(importance, *high) + " with a shard raised, " +
                           ScoreText(importance, importance.baseline) + " without";
  return importance.estimate.empty() ? text : text + " (" + importance.estimate + " estimate)";
}

std::string DescribeNoise(const Importance& importance) {
  const std::optional<RankNoise> noise = NoiseOf(importance);
  if (!noise) return "";
  std::string text = std::to_string(noise->different) + " of " +
                     std::to_string(importance.scores.size()) +
                     " shards differ by more than two standard errors (one is " +
                     ErrorText(importance, noise->error) + ")\n" +
                     Format("reliability of ranks %.2f", noise->reliability);
  if (noise->reliability < kReliable) text += ", mostly noise: " + LessNoise(importance);
  return text + "\n";
}

std::optional<std::string> NoiseWarning(const Importance& importance) {
  const std::optional<RankNoise> noise = NoiseOf(importance);
  if (!noise || noise->reliability >= kReliable) return std::nullopt;
  return "the ranks are mostly noise (reliability " + Format("%.2f", noise->reliability) +
         ", standard error " + ErrorText(importance, noise->error) + "); use " +
         LessNoise(importance);
}

std::string DescribeAgreement(const RankAgreement& agreement) {
  const std::string top = std::to_string(agreement.top_shared) + " of the top " +
                          std::to_string(agreement.top) + " shards are in both";
  if (!agreement.spearman || !agreement.kendall) {
    return "no rank correlation, for all shards of one file are equal; " + top;
  }
  return "ranks: " +
         Format("Spearman %.2f, Kendall %.2f; ", *agreement.spearman, *agreement.kendall) + top;
}

std::string DescribeImportancePart(const ImportancePart& part) {
  const std::string missing =
      part.end == part.due ? "" : ", unfinished: " + std::to_string(part.due - part.end) + " to do";
  const std::string units = part.begin == part.end ? "no units"
                                                   : "units " + std::to_string(part.begin + 1) +
                                                         " to " + std::to_string(part.end);
  return "part " + std::to_string(part.part) + "/" + std::to_string(part.parts) +
         " of an importance: " + units + " of " + std::to_string(part.job.units) + missing;
}

std::string ImportancePartText(const ImportancePart& part) {
  const ImportanceJob& job = part.job;
  std::string more;
  if (job.gains) more += ", with gains";
  if (!job.submodels.empty()) more += ", with submodels";
  return DescribeImportancePart(part) + "\nmodel    " + job.model.Hex() + "\ndata     " +
         job.data.Hex() + ", " + std::to_string(job.examples) + " examples\nmetric   " +
         NameOf(job.metric) + more + "\nkernel   " + job.kernel + "\n";
}

}  // namespace sti
