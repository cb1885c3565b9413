#include "format/importance_file.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/remedy.h"
#include "base/utf8.h"
#include "format/cascade_scores.h"
#include "format/flatbuffer_values.h"
#include "format/framed_file.h"
#include "format/importance_part_file.h"
#include "format/importance_rules.h"
#include "format/json_fields.h"
#include "importance_generated.h"
#include "types/importance_rank.h"
#include "types/share.h"

namespace sti {
namespace {

bool AllFinite(const std::vector<double>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
}

/// Returns what is wrong with the texts; empty if nothing is.
std::string ProblemOfTexts(const Importance& importance) {
  const char* rule = " is not at most 64 bytes of printable ASCII";
  if (!IsPlainText(importance.estimate, kMaxShortTextBytes)) return std::string("estimate") + rule;
  if (!IsPlainText(importance.kernel, kMaxShortTextBytes)) return std::string("kernel") + rule;
  return "";
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

Result<Importance> FromBinary(std::span<const uint8_t> bytes, const std::string& name) {
  STI_ASSIGN_OR_RETURN(const std::vector<uint8_t> payload,
                       UnwrapFrame(kImportanceMagic, bytes, name));
  flatbuffers::Verifier verifier(payload.data(), payload.size());
  if (!fb::VerifyImportanceBuffer(verifier))
    return DataError("the payload is not a valid table").At(name).Fix(Remedy::kMakeFileAgain);
  const fb::Importance* table = fb::GetImportance(payload.data());
  Importance importance;
  if (const auto* model = table->model()) {
    STI_ASSIGN_OR_RETURN(importance.model,
                         DigestFromBytes(model->data(), model->size(), name + ": model"));
  }
  importance.metric = TextOf(table->metric());
  importance.examples = table->examples();
  importance.baseline = table->baseline();
  importance.layers = table->layers();
  importance.width = table->width();
  importance.scores = NumbersOf(table->scores());
  importance.losses = NumbersOf(table->losses());
  importance.standard_error = table->standard_error();
  importance.kernel = TextOf(table->kernel());
  if (const auto* list = table->submodels()) {
    importance.submodels.reserve(list->size());
    for (const fb::SubmodelScore* score : *list) {
      importance.submodels.push_back(
          {score->layers(), score->width(), score->bits(), score->accuracy(), score->loss()});
    }
  }
  importance.gain_bits = NumbersOf(table->gain_bits());
  importance.gains = NumbersOf(table->gains());
  if (const auto* data = table->data()) {
    STI_ASSIGN_OR_RETURN(importance.data,
                         DigestFromBytes(data->data(), data->size(), name + ": data"));
  }
  importance.errors = NumbersOf(table->errors());
  importance.estimate = TextOf(table->estimate());
  importance.order.heads = NumbersOf(table->head_order());
  importance.order.neurons = NumbersOf(table->neuron_order());
  importance.order.depth_layers = DepthsOf(NumbersOf(table->depth_layers()));
  importance.word_use = WordUseOf(*table);
  STI_RETURN_IF_ERROR(ReadCascades(*table, name, &importance));
  return importance;
}

/// Rows of `width` into one row-major list; false if a row has another length.
bool Flatten(const std::vector<std::vector<double>>& rows, uint32_t layers, uint32_t width,
             std::vector<double>* flat) {
  if (rows.size() != layers) return false;
  for (const std::vector<double>& row : rows) {
    if (row.size() != width) return false;
    flat->insert(flat->end(), row.begin(), row.end());
  }
  return true;
}

/// Rows of lists of numbers into one row-major list; false if they are not so, or of other sizes.
bool FlattenLists(const nlohmann::json& rows, const Importance& importance,
                  std::vector<double>* flat) {
  if (!rows.is_array() || rows.size() != importance.layers) return false;
  for (const nlohmann::json& row : rows) {
    if (!row.is_array() || row.size() != importance.width) return false;
    for (const nlohmann::json& list : row) {
      if (!list.is_array() || list.size() != importance.gain_bits.size()) return false;
      for (const nlohmann::json& number : list) {
        if (!number.is_number()) return false;
        flat->push_back(number.get<double>());
      }
    }
  }
  return true;
}

void ReadSubmodel(JsonFields& fields, Importance* importance) {
  SubmodelScore score;
  fields.Get("layers", Need::kRequired, &score.depth);
  fields.Get("width", Need::kRequired, &score.width);
  fields.Get("bits", Need::kRequired, &score.bits);
  fields.Get("accuracy", Need::kRequired, &score.accuracy);
  fields.Get("loss", Need::kRequired, &score.loss);
  importance->submodels.push_back(score);
}

/// Rows of one length into one row-major list.
std::vector<uint32_t> FlatRows(JsonFields& fields, const char* key) {
  Grid<uint32_t> grid;
  fields.Get(key, Need::kOptional, &grid);
  return {grid.values().begin(), grid.values().end()};
}

void ReadOrder(JsonFields& fields, ModelOrder* order) {
  order->heads = FlatRows(fields, "head_order");
  order->neurons = FlatRows(fields, "neuron_order");
  fields.Get("depth_layers", Need::kOptional, &order->depth_layers);
}

void ReadWordUse(JsonFields& fields, WordUse* use) {
  fields.Get("words", Need::kOptional, &use->words);
  fields.ForEach("row_reads", Need::kOptional, [&](JsonFields& item) {
    RowReads& reads = use->reads.emplace_back();
    item.Get("length", Need::kRequired, &reads.length);
    item.Get("words", Need::kRequired, &reads.words);
    item.Get("share", Need::kRequired, &reads.share);
    item.Get("p99_share", Need::kRequired, &reads.p99_share);
    item.ForEach("rooms", Need::kOptional, [&](JsonFields& in_room) {
      RowRoom& room = reads.rooms.emplace_back();
      in_room.Get("tokens", Need::kRequired, &room.tokens);
      in_room.Get("share", Need::kRequired, &room.share);
      in_room.Get("p99_share", Need::kRequired, &room.p99_share);
    });
  });
}

Result<Importance> FromJson(std::span<const uint8_t> bytes, const std::string& name) {
  STI_ASSIGN_OR_RETURN(const nlohmann::json object, ParseJsonObject(bytes, name));
  JsonFields fields(object, name);
  Importance importance;
  std::vector<std::vector<double>> scores;
  std::vector<std::vector<double>> losses;
  std::vector<std::vector<double>> errors;
  fields.Get("model", Need::kRequired, &importance.model);
  fields.Get("metric", Need::kRequired, &importance.metric);
  fields.Get("examples", Need::kOptional, &importance.examples);
  fields.Get("baseline", Need::kOptional, &importance.baseline);
  fields.Get("layers", Need::kRequired, &importance.layers);
  fields.Get("width", Need::kRequired, &importance.width);
  fields.Get("scores", Need::kRequired, &scores);
  fields.Get("losses", Need::kOptional, &losses);
  fields.Get("standard_error", Need::kOptional, &importance.standard_error);
  fields.Get("kernel", Need::kOptional, &importance.kernel);
  if (!Flatten(scores, importance.layers, importance.width, &importance.scores))
    fields.Fail("scores is not layers rows of width numbers");
  if (!losses.empty() && !Flatten(losses, importance.layers, importance.width, &importance.losses))
    fields.Fail("losses is not layers rows of width numbers");
  fields.Get("data", Need::kOptional, &importance.data);
  fields.Get("errors", Need::kOptional, &errors);
  fields.Get("estimate", Need::kOptional, &importance.estimate);
  if (!errors.empty() && !Flatten(errors, importance.layers, importance.width, &importance.errors))
    fields.Fail("errors is not layers rows of width numbers");
  fields.ForEach("submodels", Need::kOptional,
                 [&](JsonFields& item) { ReadSubmodel(item, &importance); });
  fields.Get("gain_bits", Need::kOptional, &importance.gain_bits);
  if (fields.Has("gains") && !FlattenLists(object["gains"], importance, &importance.gains))
    fields.Fail("gains is not layers rows of width lists of one number for each of gain_bits");
  ReadOrder(fields, &importance.order);
  ReadWordUse(fields, &importance.word_use);
  ReadCascades(fields, &importance);
  STI_RETURN_IF_ERROR(fields.status());
  return importance;
}

template <typename Number>
nlohmann::ordered_json Rows(const std::vector<Number>& flat, uint32_t width) {
  auto rows = nlohmann::ordered_json::array();
  for (size_t at = 0; at + width <= flat.size() && width > 0; at += width)
    rows.push_back(std::vector<Number>(flat.data() + at, flat.data() + at + width));
  return rows;
}

/// [layers, width, gain_bits] as rows of lists.
nlohmann::ordered_json RowsOfLists(const Importance& importance) {
  const size_t lists = importance.gain_bits.size();
  auto rows = nlohmann::ordered_json::array();
  for (uint32_t layer = 0; layer < importance.layers; ++layer) {
    const double* first = &importance.gains[size_t{layer} * importance.width * lists];
    const std::vector<double> row(first, first + size_t{importance.width} * lists);
    rows.push_back(Rows(row, static_cast<uint32_t>(lists)));
  }
  return rows;
}

void WriteValues(const Importance& importance, nlohmann::ordered_json* json) {
  for (const SubmodelScore& score : importance.submodels) {
    (*json)["submodels"].push_back({{"layers", score.depth},
                                    {"width", score.width},
                                    {"bits", score.bits},
                                    {"accuracy", score.accuracy},
                                    {"loss", score.loss}});
  }
  if (importance.gain_bits.empty()) return;
  (*json)["gain_bits"] = importance.gain_bits;
  (*json)["gains"] = RowsOfLists(importance);
}

void WriteOrder(const Importance& importance, nlohmann::ordered_json* json) {
  const ModelOrder& order = importance.order;
  if (order.empty()) return;
  (*json)["head_order"] = Rows(order.heads, importance.width);
  (*json)["neuron_order"] =
      Rows(order.neurons, static_cast<uint32_t>(order.neurons.size() / importance.layers));
  (*json)["depth_layers"] = order.depth_layers;
}

void WriteWordUse(const WordUse& use, nlohmann::ordered_json* json) {
  if (use.empty()) return;
  (*json)["words"] = use.words;
  for (const RowReads& reads : use.reads) {
    nlohmann::ordered_json entry = {{"length", reads.length},
                                    {"words", reads.words},
                                    {"share", reads.share},
                                    {"p99_share", reads.p99_share}};
    for (const RowRoom& room : reads.rooms) {
      entry["rooms"].push_back(
          {{"tokens", room.tokens}, {"share", room.share}, {"p99_share", room.p99_share}});
    }
    (*json)["row_reads"].push_back(std::move(entry));
  }
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

}  // namespace

Result<Importance> ParseImportance(std::span<const uint8_t> bytes, const std::string& name) {
  if (IsImportancePart(bytes)) {
    STI_ASSIGN_OR_RETURN(const ImportancePart part, ParseImportancePart(bytes, name));
    return ForeignError("is part " + std::to_string(part.part) + "/" + std::to_string(part.parts) +
                        " of an importance")
        .At(name)
        .Fix(Remedy::kJoinParts);
  }
  STI_ASSIGN_OR_RETURN(Importance importance,
                       LooksLikeJson(bytes) ? FromJson(bytes, name) : FromBinary(bytes, name));
  STI_RETURN_IF_ERROR(Validate(importance, name));
  return importance;
}

std::vector<uint8_t> EncodeImportance(const Importance& importance) {
  flatbuffers::FlatBufferBuilder builder;
  const auto model =
      builder.CreateVector(importance.model.bytes.data(), importance.model.bytes.size());
  const auto metric = builder.CreateString(importance.metric);
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

std::string ImportanceToJson(const Importance& importance) {
  nlohmann::ordered_json json;
  json["model"] = importance.model.Hex();
  json["metric"] = importance.metric;
  json["examples"] = importance.examples;
  json["baseline"] = importance.baseline;
  json["layers"] = importance.layers;
  json["width"] = importance.width;
  json["scores"] = Rows(importance.scores, importance.width);
  if (!importance.losses.empty()) json["losses"] = Rows(importance.losses, importance.width);
  json["standard_error"] = importance.standard_error;
  if (!importance.errors.empty()) json["errors"] = Rows(importance.errors, importance.width);
  json["rank"] = nlohmann::ordered_json::array();
  for (const auto& [layer, slice] : ImportanceRank(importance))
    json["rank"].push_back({layer, slice});
  json["kernel"] = importance.kernel;
  if (!importance.data.empty()) json["data"] = importance.data.Hex();
  if (!importance.estimate.empty()) json["estimate"] = importance.estimate;
  WriteValues(importance, &json);
  WriteOrder(importance, &json);
  WriteWordUse(importance.word_use, &json);
  WriteCascades(importance, &json);
  return PrintJson(std::move(json));
}

}  // namespace sti
