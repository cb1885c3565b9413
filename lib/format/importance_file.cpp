#include "format/importance_file.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/remedy.h"
#include "format/cascade_scores.h"
#include "format/flatbuffer_values.h"
#include "format/framed_file.h"
#include "format/importance_part_file.h"
#include "format/importance_rules.h"
#include "importance_generated.h"
#include "types/limits.h"

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
  const double least = TraitsOf(importance.metric).least;
  const auto problem_of = [least](const SubmodelScore& score) -> std::string {
    if (!(score.accuracy >= least && score.accuracy <= 1)) {
      return least == 0 ? "submodels holds an accuracy that is not from 0 to 1"
                        : "submodels holds an accuracy that is not from -1 to 1";
    }
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
  const std::string shape = ProblemOfShape(importance.layers, importance.width);
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

namespace {

/// Cuts a list into rows of 1, 2, 3 and so on; the last may be too short.
DepthMap DepthsOf(const std::vector<uint32_t>& flat) {
  DepthMap rows;
  for (size_t at = 0; at < flat.size(); at += rows.size()) {
    const size_t end = std::min(at + rows.size() + 1, flat.size());
    rows.emplace_back(flat.begin() + static_cast<ptrdiff_t>(at),
                      flat.begin() + static_cast<ptrdiff_t>(end));
  }
  return rows;
}

flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::SubmodelScore>>> EncodeSubmodels(
    flatbuffers::FlatBufferBuilder& builder, const std::vector<SubmodelScore>& scores) {
  if (scores.empty()) return {};
  std::vector<flatbuffers::Offset<fb::SubmodelScore>> list;
  list.reserve(scores.size());
  for (const SubmodelScore& score : scores) {
    list.push_back(fb::CreateSubmodelScore(builder, score.depth, score.width, score.bits,
                                           score.accuracy, score.loss));
  }
  return builder.CreateVector(list);
}

/// All rows one behind another.
std::vector<uint32_t> FlatDepths(const ModelOrder& order) {
  std::vector<uint32_t> flat;
  for (const auto& row : order.depth_layers) flat.insert(flat.end(), row.begin(), row.end());
  return flat;
}

Status ReadScalars(const fb::Importance& table, const std::string& name, Importance* importance) {
  if (const auto* model = table.model()) {
    STI_ASSIGN_OR_RETURN(importance->model,
                         DigestFromBytes(model->data(), model->size(), name + ": model"));
  }
  if (const auto* data = table.data()) {
    STI_ASSIGN_OR_RETURN(importance->data,
                         DigestFromBytes(data->data(), data->size(), name + ": data"));
  }
  STI_RETURN_IF_ERROR(ReadMetric(ViewOf(table.metric()), name, &importance->metric));
  importance->examples = table.examples();
  importance->baseline = table.baseline();
  importance->layers = table.layers();
  importance->width = table.width();
  importance->standard_error = table.standard_error();
  STI_RETURN_IF_ERROR(ReadShortText(table.kernel(), name, "kernel", &importance->kernel));
  STI_RETURN_IF_ERROR(ReadShortText(table.estimate(), name, "estimate", &importance->estimate));
  return {};
}

Status ReadLists(const fb::Importance& table, ListRoom* room, Importance* importance) {
  STI_RETURN_IF_ERROR(room->Copy(table.scores(), &importance->scores));
  STI_RETURN_IF_ERROR(room->Copy(table.losses(), &importance->losses));
  STI_RETURN_IF_ERROR(room->Copy(table.errors(), &importance->errors));
  STI_RETURN_IF_ERROR(room->Copy(table.gain_bits(), &importance->gain_bits));
  STI_RETURN_IF_ERROR(room->Copy(table.gains(), &importance->gains));
  STI_RETURN_IF_ERROR(room->Copy(table.head_order(), &importance->order.heads));
  STI_RETURN_IF_ERROR(room->Copy(table.neuron_order(), &importance->order.neurons));
  std::vector<uint32_t> depths;
  STI_RETURN_IF_ERROR(room->Copy(table.depth_layers(), &depths));
  importance->order.depth_layers = DepthsOf(depths);
  if (const auto* list = table.submodels()) {
    importance->submodels.reserve(list->size());
    for (const fb::SubmodelScore* score : *list) {
      importance->submodels.push_back(
          {score->layers(), score->width(), score->bits(), score->accuracy(), score->loss()});
    }
  }
  return {};
}

}  // namespace

Result<Importance> ImportanceFromBinary(std::span<const uint8_t> bytes, const std::string& name) {
  STI_ASSIGN_OR_RETURN(const std::span<const uint8_t> framed,
                       FindPayload(kImportanceMagic, bytes, name));
  const AlignedPayload payload(framed);
  flatbuffers::Verifier verifier(payload.data(), payload.size());
  if (!fb::VerifyImportanceBuffer(verifier)) return TableError(name, kNoTable);
  const fb::Importance& table = *fb::GetImportance(payload.data());
  Importance importance;
  STI_RETURN_IF_ERROR(ReadScalars(table, name, &importance));
  for (const auto* list : {table.losses(), table.errors()}) {
    if (list != nullptr && list->size() == 0)
      return TableError(name, "losses or errors is an empty list");
  }
  ListRoom room(payload.size(), TableError(name, kFullProblem));
  STI_RETURN_IF_ERROR(ReadLists(table, &room, &importance));
  STI_RETURN_IF_ERROR(ReadWordUse(table, name, &room, &importance.word_use));
  STI_RETURN_IF_ERROR(ReadCascades(table, name, &room, &importance));
  return importance;
}

std::vector<uint8_t> EncodeImportance(const Importance& importance) {
  flatbuffers::FlatBufferBuilder builder;
  const auto model =
      builder.CreateVector(importance.model.bytes.data(), importance.model.bytes.size());
  const auto metric = builder.CreateString(NameOf(importance.metric));
  const auto scores = builder.CreateVector(importance.scores);
  flatbuffers::Offset<flatbuffers::Vector<double>> losses;
  if (!importance.losses.empty()) losses = builder.CreateVector(importance.losses);
  const auto kernel = builder.CreateString(importance.kernel);
  const auto submodels = EncodeSubmodels(builder, importance.submodels);
  flatbuffers::Offset<flatbuffers::Vector<uint32_t>> gain_bits;
  flatbuffers::Offset<flatbuffers::Vector<double>> gains;
  if (!importance.gain_bits.empty()) {
    gain_bits = builder.CreateVector(importance.gain_bits);
    gains = builder.CreateVector(importance.gains);
  }
  flatbuffers::Offset<flatbuffers::Vector<uint8_t>> data;
  flatbuffers::Offset<flatbuffers::Vector<double>> errors;
  flatbuffers::Offset<flatbuffers::String> estimate;
  if (!importance.data.empty())
    data = builder.CreateVector(importance.data.bytes.data(), importance.data.bytes.size());
  if (!importance.errors.empty()) errors = builder.CreateVector(importance.errors);
  if (!importance.estimate.empty()) estimate = builder.CreateString(importance.estimate);
  flatbuffers::Offset<flatbuffers::Vector<uint32_t>> heads;
  flatbuffers::Offset<flatbuffers::Vector<uint32_t>> neurons;
  flatbuffers::Offset<flatbuffers::Vector<uint32_t>> depths;
  if (!importance.order.empty()) {
    heads = builder.CreateVector(importance.order.heads);
    neurons = builder.CreateVector(importance.order.neurons);
    depths = builder.CreateVector(FlatDepths(importance.order));
  }
  const WordUseLists use(builder, importance.word_use);
  const CascadeLists cascades(builder, importance);
  builder.Finish(fb::CreateImportance(
      builder, model, metric, importance.examples, importance.baseline, importance.layers,
      importance.width, scores, losses, importance.standard_error, kernel, submodels, gain_bits,
      gains, data, errors, estimate, heads, neurons, depths, use.words, use.row_lengths,
      use.row_words, use.row_shares, use.row_p99_shares, cascades.levels, cascades.cascades,
      use.room_entries, use.room_tokens, use.room_shares, use.room_p99_shares));
  return WrapFrame(kImportanceMagic, {builder.GetBufferPointer(), builder.GetSize()});
}

}  // namespace sti
