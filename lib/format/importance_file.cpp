#include "format/importance_file.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/remedy.h"
#include "format/cascade_scores.h"
#include "format/framed_file.h"
#include "format/importance_file_parts.h"
#include "format/importance_part_file.h"
#include "format/importance_rules.h"
#include "types/share.h"

namespace sti {
namespace {

bool AllFinite(const std::vector<double>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
}

/// Returns what is wrong with the texts; empty if nothing is.
std::string ProblemOfTexts(const Importance& importance) {
  const std::string problem = ProblemOfText("estimate", importance.estimate);
  return problem.empty() ? ProblemOfText("kernel", importance.kernel) : problem;
}

/// Returns what is wrong with the standard errors; empty if nothing is.
std::string ProblemOfErrors(const Importance& importance) {
  const std::vector<double>& errors = importance.errors;
  if (!errors.empty() && errors.size() != importance.scores.size())
    return "errors is not layers rows of width numbers";
  const auto is_error = [](double x) { return std::isfinite(x) && x >= 0; };
  if (!is_error(importance.standard_error))
    return "standard_error is negative or not a finite number";
  if (!std::all_of(errors.begin(), errors.end(), is_error))
    return "errors holds what is negative or not a finite number";
  return "";
}

/// Returns what is wrong with the fields of 1.1; empty if nothing is.
std::string ProblemOfValues(const Importance& importance) {
  const auto problem_of = [](const SubmodelScore& score) -> std::string {
    if (!IsShare(score.accuracy)) return "submodels holds an accuracy that is not from 0 to 1";
    if (!std::isfinite(score.loss)) return "submodels holds a loss that is not a finite number";
    return "";
  };
  std::string problem =
      ProblemOfSubmodels(importance.submodels, importance.layers, importance.width, problem_of);
  if (!problem.empty()) return problem;
  const std::vector<uint32_t>& bits = importance.gain_bits;
  if (!std::all_of(bits.begin(), bits.end(), IsBits) || (!bits.empty() && bits[0] == 2))
    return "gain_bits holds what is not 3 to 6 or 32";
  if (std::adjacent_find(bits.begin(), bits.end(), std::greater_equal<>()) != bits.end())
    return "gain_bits does not ascend";
  if (importance.gains.size() != importance.scores.size() * bits.size())
    return "gains is not layers rows of width lists of one number for each of gain_bits";
  if (!AllFinite(importance.gains)) return "gains holds what is not a finite number";
  return "";
}

/// Returns what is wrong with the fields of 1.3; empty if nothing is.
std::string ProblemOfSorting(const Importance& importance) {
  if (importance.order == ModelOrder()) return "";
  return ProblemOfOrder(importance.order, importance.layers, importance.width);
}

/// Returns what is wrong with the fields of 1.4; empty if nothing is.
std::string ProblemOfUse(const Importance& importance) {
  return ProblemOfWordUse(importance.word_use);
}

Status Validate(const Importance& importance, const std::string& name) {
  auto fail = [&](const std::string& problem) {
    return DataError(problem).At(name).Fix(Remedy::kCorrectImportance);
  };
  if (importance.model.empty()) return fail("model is missing");
  const std::string shape = ProblemOfShape(importance.metric, importance.layers, importance.width);
  if (!shape.empty()) return fail(shape);
  const size_t shards = size_t{importance.layers} * importance.width;
  if (importance.scores.size() != shards) return fail("scores is not layers rows of width numbers");
  if (!importance.losses.empty() && importance.losses.size() != shards)
    return fail("losses is not layers rows of width numbers");
  if (!AllFinite(importance.scores)) return fail("scores holds what is not a finite number");
  if (!AllFinite(importance.losses)) return fail("losses holds what is not a finite number");
  if (!std::isfinite(importance.baseline)) return fail("baseline is not a finite number");
  for (const auto& problem_of : {ProblemOfTexts, ProblemOfErrors, ProblemOfValues, ProblemOfSorting,
                                 ProblemOfUse, ProblemOfCascades}) {
    const std::string problem = problem_of(importance);
    if (!problem.empty()) return fail(problem);
  }
  return {};
}

}  // namespace

Result<Importance> ParseImportance(std::span<const uint8_t> bytes, const std::string& name) {
  return ParseImportanceNoting(bytes, name, nullptr);
}

Result<Importance> ParseImportanceNoting(std::span<const uint8_t> bytes, const std::string& name,
                                         UnknownKeys* unknown) {
  if (IsImportancePart(bytes)) {
    STI_ASSIGN_OR_RETURN(const ImportancePart part, ParseImportancePart(bytes, name));
    return ForeignError("is part " + std::to_string(part.part) + "/" + std::to_string(part.parts) +
                        " of an importance")
        .At(name)
        .Fix(Remedy::kJoinParts);
  }
  STI_ASSIGN_OR_RETURN(Importance importance, LooksLikeJson(bytes)
                                                  ? ImportanceFromJson(bytes, name, unknown)
                                                  : ImportanceFromBinary(bytes, name));
  STI_RETURN_IF_ERROR(Validate(importance, name));
  return importance;
}

}  // namespace sti
