// How two series of numbers agree in their order, and how sure that is.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace sti {

/// Returns the place of each of `count` elements, from 1, in the order that `before` says; a run of
/// equals shares the mean of its places. Pure.
std::vector<double> SharedPlaces(size_t count, const std::function<bool(size_t, size_t)>& before);

/// Returns the sum of the products of two series' distances from their means; both have as many
/// numbers, at least one. Pure.
double CoMoment(std::span<const double> a, std::span<const double> b);

/// Returns Spearman's correlation of two series of one length: Pearson's of their ranks, ties
/// sharing the mean of theirs. Nothing if one of them holds no two different values. Pure.
std::optional<double> Spearman(std::span<const double> a, std::span<const double> b);

/// Returns for each element how far Spearman's correlation of two series of one length leans on it:
/// the derivative by the element's share of the whole (its influence, the infinitesimal jackknife).
/// The numbers add up to 0. Their standard error as a mean is that of the correlation, and that of
/// their differences is that of the difference between the correlations of two models on the same
/// pairs. All 0 where there is no correlation. Takes n log n steps. Pure.
std::vector<double> SpearmanInfluence(std::span<const double> a, std::span<const double> b);

}  // namespace sti
