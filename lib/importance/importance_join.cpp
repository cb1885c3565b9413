#include "importance/importance_join.h"

#include <algorithm>
#include <tuple>

#include "base/remedy.h"
#include "importance/tally.h"

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

// Not the mean negated, so that no loss at all is 0 and not -0.
double ScoreOf(bool accuracy, const Tally& tally) {
  return accuracy ? ShareRight(tally) : 0.0 - MeanLoss(tally);
}

void FillShards(const ImportancePart& sum, Importance* importance) {
  const Tally& base = sum.tallies[0];
  const bool accuracy = importance->metric == Metric::kAccuracy;
  const size_t stride = sum.job.raised_bits.size();
  const size_t shards = size_t{sum.job.layers} * sum.job.width;
  for (size_t shard = 0; shard < shards; ++shard) {
    const Tally* raised = &sum.tallies[1 + shard * stride];
    const Tally& most = raised[stride - 1];  // scores are of the most bits, which come last
    importance->scores.push_back(ScoreOf(accuracy, most));
    importance->errors.push_back(accuracy ? ShareRightChangeError(most)
                                          : LossChangeError(most, base));
    if (importance->metric != Metric::kKl) importance->losses.push_back(MeanLoss(most));
    for (size_t i = 0; sum.job.gains && i < stride; ++i) {
      importance->gains.push_back(MeanLoss(base) - MeanLoss(raised[i]));
    }
  }
}

Importance ImportanceOf(const ImportancePart& sum) {
  const ImportanceJob& job = sum.job;
  const Tally& base = sum.tallies[0];
  Importance importance;
  importance.model = job.model;
  importance.data = job.data;
  importance.metric = job.metric;
  importance.examples = job.examples;
  importance.layers = job.layers;
  importance.width = job.width;
  importance.kernel = job.kernel;
  const bool accuracy = job.metric == Metric::kAccuracy;
  importance.baseline = ScoreOf(accuracy, base);
  importance.standard_error = accuracy ? ShareRightError(base) : MeanLossError(base);
  if (job.gains) importance.gain_bits = job.raised_bits;
  importance.word_use = job.word_use;
  FillShards(sum, &importance);
  const size_t first = sum.tallies.size() - job.submodels.size();
  importance.submodels.reserve(job.submodels.size());
  for (size_t i = 0; i < job.submodels.size(); ++i) {
    const SubmodelCell& cell = job.submodels[i];
    const Tally& tally = sum.tallies[first + i];
    importance.submodels.push_back(
        {cell.depth, cell.width, cell.bits, ShareRight(tally), MeanLoss(tally)});
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
  // After the metric: by kl the same data is named without its labels.
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
    if (tally.examples != sum.job.examples) {
      return DataError(parts[0].name + " or another part counts examples of a shard twice or not " +
                       "at all; the parts are damaged, make them again");
    }
  }
  return ImportanceOf(sum);
}

}  // namespace sti
