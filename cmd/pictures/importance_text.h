// What an importance file says, in words.
#pragma once

#include <optional>
#include <string>

#include "importance/rank_statistics.h"
#include "types/importance.h"

namespace sti {

/// A score as people read the metric: "93.10 %" of accuracy, the loss or divergence otherwise.
std::string ScoreText(const Importance& importance, double score);

/// "300 examples: accuracy 93.1 % to 94.0 % with a shard raised, 92.9 % without"
std::string DescribeImportance(const Importance& importance);

/// Two lines on how much of the ranking is noise; empty where the file holds no standard errors.
std::string DescribeNoise(const Importance& importance);

/// Returns what to tell whoever measured a ranking that is mostly noise: how bad, and what helps.
/// Nothing if it is not, or if the file holds no standard errors.
std::optional<std::string> NoiseWarning(const Importance& importance);

/// One line: "ranks: Spearman 0.81, Kendall 0.63; 24 of the top 36 shards are in both"
std::string DescribeAgreement(const RankAgreement& agreement);

}  // namespace sti
