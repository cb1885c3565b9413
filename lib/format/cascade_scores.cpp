#include "format/cascade_scores.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>
#include <utility>

#include "format/flatbuffer_values.h"
#include "types/bits.h"
#include "types/cascade.h"
#include "types/limits.h"

namespace sti {
namespace {

constexpr size_t kMostLevels = 16;
constexpr size_t kMostCascades = 4096;
constexpr size_t kMostCuts = 256;
constexpr size_t kLeastMembers = 2;
constexpr size_t kMostMembers = 3;

constexpr const char* kLevelsProblem = "levels has more than 16 entries";
constexpr const char* kCascadesProblem = "cascades has more than 4096 entries";
constexpr const char* kMembersProblem = "cascades holds one of not 2 or 3 levels";
constexpr const char* kCutsProblem = "cascades holds one that has not 1 to 256 cuts";

bool AreShares(const std::vector<double>& numbers, size_t count) {
  return numbers.size() == count && std::all_of(numbers.begin(), numbers.end(), IsShare);
}

/// Returns what is wrong with a level behind `before`, null for the first; empty if nothing is.
std::string ProblemOfLevel(const CascadeLevelScore& level, const CascadeLevelScore* before,
                           const Importance& importance) {
  const auto cost = [](const CascadeLevelScore& of) {
    return std::tuple(of.depth * of.width, of.bits, of.depth);
  };
  const bool fits = level.depth >= 1 && level.depth <= importance.layers && level.width >= 1 &&
                    level.width <= importance.width && IsBits(level.bits);
  if (!fits) return "levels holds layers, width or bits that no such model has";
  if (before != nullptr && cost(*before) >= cost(level))
    return "levels is not sorted by layers x width, bits and layers, or has one twice";
  if (!IsTemperature(level.temperature))
    return "levels holds a temperature that is not from 0.001 to 1000";
  for (const double share : {level.accuracy, level.ece, level.calibrated_ece}) {
    if (!IsShare(share)) return "levels holds an accuracy or an ECE that is not from 0 to 1";
  }
  for (const double nll : {level.nll, level.calibrated_nll}) {
    if (!(IsFigure(nll) && nll >= 0))
      return std::string("levels holds an NLL that is negative or ") + kNoFigure;
  }
  return "";
}

/// Returns what is wrong with a cut of a cascade of so many levels; empty if nothing is.
std::string ProblemOfCut(const CascadeCut& cut, size_t levels) {
  if (!IsShare(cut.cutoff)) return "cascades holds a cutoff that is not from 0 to 1";
  if (cut.slope && !(*cut.slope > 0 && *cut.slope <= kMostSlope))
    return "cascades holds a slope that is not a number above 0, at most 1000000";
  if (!AreShares(cut.weights, levels - 1) || !AreShares(cut.words_left, levels - 1)) {
    return "cascades holds weights or words_left that are not a number from 0 to 1 for each level "
           "but the last";
  }
  if (!AreShares(cut.shares, levels) || !AreShares(cut.accuracies, levels))
    return "cascades holds shares or accuracies that are not a number from 0 to 1 for each level";
  if (!IsShare(cut.accuracy)) return "cascades holds an accuracy that is not from 0 to 1";
  if (!IsShare(cut.difference_error))
    return "cascades holds a difference_error that is not from 0 to 1";
  const double sum = std::accumulate(cut.shares.begin(), cut.shares.end(), 0.0);
  if (std::abs(sum - 1) > 1e-6) return "cascades holds shares whose sum is not 1";
  return "";
}

/// Returns what is wrong with a cascade of some of so many levels; empty if nothing is.
std::string ProblemOfCascade(const CascadeScore& cascade, size_t levels) {
  const std::vector<uint32_t>& members = cascade.levels;
  if (members.size() < kLeastMembers || members.size() > kMostMembers) return kMembersProblem;
  if (std::adjacent_find(members.begin(), members.end(), std::greater_equal<>()) != members.end() ||
      members.back() >= levels)
    return "cascades holds levels that do not ascend, or are not in levels";
  if (!IsShare(cascade.alpha)) return "cascades holds an alpha that is not from 0 to 1";
  if (cascade.cuts.empty() || cascade.cuts.size() > kMostCuts) return kCutsProblem;
  for (const CascadeCut& cut : cascade.cuts) {
    std::string problem = ProblemOfCut(cut, members.size());
    if (!problem.empty()) return problem;
  }
  return "";
}

std::vector<double> RowOf(const std::vector<double>& flat, size_t row, size_t width) {
  const auto first = flat.begin() + static_cast<ptrdiff_t>(row * width);
  return {first, first + static_cast<ptrdiff_t>(width)};
}

using Doubles = flatbuffers::Vector<double>;

size_t SizeOf(const Doubles* list) { return list == nullptr ? 0 : list->size(); }

/// Returns what is wrong with the lengths of the lists of a cascade; empty if nothing is.
std::string ProblemOfLengths(const fb::CascadeScore& table) {
  const size_t levels = table.levels() == nullptr ? 0 : table.levels()->size();
  if (levels < kLeastMembers || levels > kMostMembers) return kMembersProblem;
  const size_t cuts = SizeOf(table.cutoffs());
  if (cuts == 0 || cuts > kMostCuts) return kCutsProblem;
  const size_t errors = SizeOf(table.difference_errors());
  const bool agree =
      SizeOf(table.slopes()) == cuts && SizeOf(table.weights()) == cuts * (levels - 1) &&
      SizeOf(table.shares()) == cuts * levels && SizeOf(table.accuracies()) == cuts * levels &&
      SizeOf(table.accuracy()) == cuts && SizeOf(table.words_left()) == cuts * (levels - 1) &&
      (errors == 0 || errors == cuts);
  return agree ? "" : "the lists of a cascade do not have a number for each cut";
}

/// Reads a cascade whose lists agree in their lengths.
Status ReadCascade(const fb::CascadeScore& table, ListRoom* room, CascadeScore* cascade) {
  std::vector<double> lists[8];
  auto& [cutoffs, slopes, weights, shares, accuracies, accuracy, words_left, errors] = lists;
  cascade->alpha = table.alpha();
  STI_RETURN_IF_ERROR(room->Copy(table.levels(), &cascade->levels));
  STI_RETURN_IF_ERROR(room->Copy(table.cutoffs(), &cutoffs));
  STI_RETURN_IF_ERROR(room->Copy(table.slopes(), &slopes));
  STI_RETURN_IF_ERROR(room->Copy(table.weights(), &weights));
  STI_RETURN_IF_ERROR(room->Copy(table.shares(), &shares));
  STI_RETURN_IF_ERROR(room->Copy(table.accuracies(), &accuracies));
  STI_RETURN_IF_ERROR(room->Copy(table.accuracy(), &accuracy));
  STI_RETURN_IF_ERROR(room->Copy(table.words_left(), &words_left));
  STI_RETURN_IF_ERROR(room->Copy(table.difference_errors(), &errors));
  const size_t levels = cascade->levels.size();
  cascade->cuts.resize(cutoffs.size());
  for (size_t i = 0; i < cutoffs.size(); ++i) {
    CascadeCut& cut = cascade->cuts[i];
    cut.cutoff = cutoffs[i];
    if (slopes[i] != 0) cut.slope = slopes[i];
    cut.weights = RowOf(weights, i, levels - 1);
    cut.shares = RowOf(shares, i, levels);
    cut.accuracies = RowOf(accuracies, i, levels);
    cut.accuracy = accuracy[i];
    cut.words_left = RowOf(words_left, i, levels - 1);
    if (!errors.empty()) cut.difference_error = errors[i];
  }
  return {};
}

void ReadLevel(JsonFields& fields, CascadeLevelScore* level) {
  fields.Get("layers", Need::kRequired, &level->depth);
  fields.Get("width", Need::kRequired, &level->width);
  fields.Get("bits", Need::kRequired, &level->bits);
  for (const auto& [key, value] :
       {std::pair("accuracy", &level->accuracy), std::pair("temperature", &level->temperature),
        std::pair("nll", &level->nll), std::pair("calibrated_nll", &level->calibrated_nll),
        std::pair("ece", &level->ece), std::pair("calibrated_ece", &level->calibrated_ece)}) {
    fields.Get(key, Need::kRequired, value);
    *value += 0.0;  // a table leaves out -0, which comes back as 0
  }
}

void ReadCut(JsonFields& fields, CascadeCut* cut) {
  fields.Get("cutoff", Need::kRequired, &cut->cutoff);
  fields.Get("slope", Need::kOptional, &cut->slope);
  fields.Get("weights", Need::kRequired, &cut->weights);
  fields.Get("shares", Need::kRequired, &cut->shares);
  fields.Get("accuracies", Need::kRequired, &cut->accuracies);
  fields.Get("accuracy", Need::kRequired, &cut->accuracy);
  fields.Get("words_left", Need::kRequired, &cut->words_left);
  fields.Get("difference_error", Need::kOptional, &cut->difference_error);
  cut->difference_error += 0.0;
}

void Append(std::vector<double>* all, const std::vector<double>& more) {
  all->insert(all->end(), more.begin(), more.end());
}

flatbuffers::Offset<fb::CascadeScore> Encode(flatbuffers::FlatBufferBuilder& builder,
                                             const CascadeScore& cascade) {
  std::vector<double> lists[8];
  auto& [cutoffs, slopes, weights, shares, accuracies, accuracy, words_left, errors] = lists;
  for (const CascadeCut& cut : cascade.cuts) {
    cutoffs.push_back(cut.cutoff);
    slopes.push_back(cut.slope.value_or(0));
    Append(&weights, cut.weights);
    Append(&shares, cut.shares);
    Append(&accuracies, cut.accuracies);
    accuracy.push_back(cut.accuracy);
    Append(&words_left, cut.words_left);
    errors.push_back(cut.difference_error);
  }
  // A file without any is one of an older version.
  const bool has_errors =
      std::any_of(errors.begin(), errors.end(), [](double e) { return e != 0; });
  const auto levels = builder.CreateVector(cascade.levels);
  std::vector<flatbuffers::Offset<flatbuffers::Vector<double>>> stored;
  for (const std::vector<double>& list : lists) {
    if (&list != &errors || has_errors) stored.push_back(builder.CreateVector(list));
  }
  stored.resize(std::size(lists));
  return fb::CreateCascadeScore(builder, levels, cascade.alpha, stored[0], stored[1], stored[2],
                                stored[3], stored[4], stored[5], stored[6], stored[7]);
}

}  // namespace

std::string ProblemOfCascades(const Importance& importance) {
  if (importance.cascade_levels.size() > kMostLevels) return kLevelsProblem;
  if (importance.cascades.size() > kMostCascades) return kCascadesProblem;
  const CascadeLevelScore* before = nullptr;
  for (const CascadeLevelScore& level : importance.cascade_levels) {
    std::string problem = ProblemOfLevel(level, before, importance);
    if (!problem.empty()) return problem;
    before = &level;
  }
  for (const CascadeScore& cascade : importance.cascades) {
    std::string problem = ProblemOfCascade(cascade, importance.cascade_levels.size());
    if (!problem.empty()) return problem;
  }
  return "";
}

Status ReadCascades(const fb::Importance& table, const std::string& name, ListRoom* room,
                    Importance* importance) {
  if (const auto* list = table.cascade_levels()) {
    if (list->size() > kMostLevels) return TableError(name, kLevelsProblem);
    for (const fb::CascadeLevelScore* level : *list) {
      importance->cascade_levels.push_back(
          {level->layers(), level->width(), level->bits(), level->accuracy(), level->temperature(),
           level->nll(), level->calibrated_nll(), level->ece(), level->calibrated_ece()});
    }
  }
  if (table.cascades() == nullptr) return {};
  if (table.cascades()->size() > kMostCascades) return TableError(name, kCascadesProblem);
  for (const fb::CascadeScore* stored : *table.cascades()) {
    const std::string problem = ProblemOfLengths(*stored);
    if (!problem.empty()) return TableError(name, problem);
    STI_RETURN_IF_ERROR(ReadCascade(*stored, room, &importance->cascades.emplace_back()));
  }
  return {};
}

void ReadCascades(JsonFields& fields, Importance* importance) {
  fields.ForEach("levels", Need::kOptional, [&](JsonFields& item) {
    ReadLevel(item, &importance->cascade_levels.emplace_back());
  });
  fields.ForEach("cascades", Need::kOptional, [&](JsonFields& item) {
    CascadeScore& cascade = importance->cascades.emplace_back();
    item.Get("levels", Need::kRequired, &cascade.levels);
    item.Get("alpha", Need::kRequired, &cascade.alpha);
    cascade.alpha += 0.0;
    item.ForEach("cuts", Need::kRequired,
                 [&](JsonFields& cut) { ReadCut(cut, &cascade.cuts.emplace_back()); });
  });
}

CascadeLists::CascadeLists(flatbuffers::FlatBufferBuilder& builder, const Importance& importance) {
  std::vector<flatbuffers::Offset<fb::CascadeLevelScore>> stored_levels;
  for (const CascadeLevelScore& level : importance.cascade_levels) {
    stored_levels.push_back(fb::CreateCascadeLevelScore(
        builder, level.depth, level.width, level.bits, level.accuracy, level.temperature, level.nll,
        level.calibrated_nll, level.ece, level.calibrated_ece));
  }
  std::vector<flatbuffers::Offset<fb::CascadeScore>> stored_cascades;
  for (const CascadeScore& cascade : importance.cascades)
    stored_cascades.push_back(Encode(builder, cascade));
  if (!stored_levels.empty()) levels = builder.CreateVector(stored_levels);
  if (!stored_cascades.empty()) cascades = builder.CreateVector(stored_cascades);
}

void WriteCascades(const Importance& importance, JsonWriter* json) {
  using Json = nlohmann::ordered_json;
  if (!importance.cascade_levels.empty()) {
    json->List("levels", importance.cascade_levels.size(), [&](size_t i) -> Json {
      const CascadeLevelScore& level = importance.cascade_levels[i];
      return {{"layers", level.depth},
              {"width", level.width},
              {"bits", level.bits},
              {"accuracy", level.accuracy},
              {"temperature", level.temperature},
              {"nll", level.nll},
              {"calibrated_nll", level.calibrated_nll},
              {"ece", level.ece},
              {"calibrated_ece", level.calibrated_ece}};
    });
  }
  if (importance.cascades.empty()) return;
  json->List("cascades", importance.cascades.size(), [&](size_t i) -> Json {
    const CascadeScore& cascade = importance.cascades[i];
    auto cuts = Json::array();
    for (const CascadeCut& cut : cascade.cuts) {
      cuts.push_back({{"cutoff", cut.cutoff},
                      {"slope", cut.slope ? Json(*cut.slope) : nullptr},
                      {"weights", cut.weights},
                      {"shares", cut.shares},
                      {"accuracies", cut.accuracies},
                      {"accuracy", cut.accuracy},
                      {"words_left", cut.words_left}});
      if (cut.difference_error != 0) cuts.back()["difference_error"] = cut.difference_error;
    }
    return {{"levels", cascade.levels}, {"alpha", cascade.alpha}, {"cuts", std::move(cuts)}};
  });
}

}  // namespace sti
