// Texts that tell a person what an importance file says, or a part of one: its scores, how much of
// its ranking is noise, and how far two rankings agree. sti-importance and sti-inspect say the same
// of one.
#pragma once

#include <optional>
#include <string>

#include "importance/rank_statistics.h"
#include "types/importance.h"
#include "types/importance_part.h"

namespace sti {

/// Returns a score as people read the metric: "93.10 %" of accuracy, a loss or divergence that is
/// not negated, or a correlation or cosine.
std::string ScoreText(const Importance& importance, double score);

/// Returns a line like "300 examples: accuracy 93.1 % to 94.0 % with a shard raised, 92.9 %
/// without".
std::string DescribeImportance(const Importance& importance);

/// Returns two lines on how much of the ranking is noise; empty where the file holds no standard
/// errors.
std::string DescribeNoise(const Importance& importance);

/// Returns what to tell whoever measured a ranking that is mostly noise: how bad, and what helps.
/// Returns nothing if it is not, or if the file holds no standard errors.
std::optional<std::string> NoiseWarning(const Importance& importance);

/// Returns one line: "ranks: Spearman 0.81, Kendall 0.63; 24 of the top 36 shards are in both"
std::string DescribeAgreement(const RankAgreement& agreement);

/// "part 2/8 of an importance: units 11 to 20 of 80, 300 examples, metric loss"
std::string DescribeImportancePart(const ImportancePart& part);

/// Describes a part and what it belongs to, for a terminal of 80 columns.
std::string ImportancePartText(const ImportancePart& part);

}  // namespace sti
