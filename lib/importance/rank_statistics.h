// Statistics of rankings of shards: how far two of them agree, and how much of one is noise.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "types/importance.h"

namespace sti {

/// Returns Kendall's tau-b of two series of one length, corrected for ties, in n log n steps.
/// Nothing if one of them holds no two different values. Pure.
std::optional<double> Kendall(std::span<const double> a, std::span<const double> b);

/// Returns [layers, width] the place of each shard, 1 the most important: by score, then by loss
/// where there are losses, as ImportanceRank has it. Shards that tie in both share the mean of
/// their places. Pure.
std::vector<double> Places(const Importance& importance);

/// Says how far two rankings of one shape agree.
struct RankAgreement {
  std::optional<double> spearman;  ///< Spearman's correlation of the places
  std::optional<double> kendall;   ///< Kendall's tau-b of the places
  size_t top = 0;                  ///< a quarter of the shards, rounded up
  size_t top_shared = 0;           ///< shards among the first `top` of both
};

/// Returns how far two importances of one shape agree. Pure.
RankAgreement Agreement(const Importance& a, const Importance& b);

/// Says how much of a ranking is noise.
struct RankNoise {
  size_t different = 0;    ///< shards further than two standard errors from the baseline
  double error = 0;        ///< root mean square of Importance::errors
  double reliability = 0;  ///< 0 to 1
};

/// Returns how much of a ranking is noise; nothing without errors. Reliability is the share of the
/// variance among scores that noise does not explain: 1 - mean(errors^2) / variance(scores). Its
/// root is about the correlation of these scores with those that endless examples would give. What
/// all errors share, the noise of the baseline, counts against it but moves no rank, so it errs
/// towards caution. One example is no evidence: its reliability is 0. Pure.
std::optional<RankNoise> NoiseOf(const Importance& importance);

}  // namespace sti
