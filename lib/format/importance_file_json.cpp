// The JSON spelling of the importance file.
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "format/cascade_scores.h"
#include "format/importance_file.h"
#include "format/importance_rules.h"
#include "format/json_fields.h"
#include "format/json_writer.h"
#include "types/importance.h"

namespace sti {
namespace {

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

/// Writes a list [rows, width] as rows.
template <typename Number>
void WriteRows(const char* key, const std::vector<Number>& flat, size_t width, JsonWriter* json) {
  json->List(key, width == 0 ? 0 : flat.size() / width, [&](size_t row) {
    const auto first = flat.begin() + static_cast<ptrdiff_t>(row * width);
    return std::vector<Number>(first, first + static_cast<ptrdiff_t>(width));
  });
}

/// Writes [layers, width, gain_bits] as rows of lists.
void WriteGains(const Importance& importance, JsonWriter* json) {
  const size_t bits = importance.gain_bits.size();
  if (bits == 0) return;
  json->Field("gain_bits", importance.gain_bits);
  json->List("gains", importance.layers, [&](size_t layer) {
    auto row = nlohmann::ordered_json::array();
    const double* at = &importance.gains[layer * importance.width * bits];
    for (uint32_t slice = 0; slice < importance.width; ++slice, at += bits)
      row.push_back(std::vector<double>(at, at + bits));
    return row;
  });
}

void WriteSubmodels(const Importance& importance, JsonWriter* json) {
  if (importance.submodels.empty()) return;
  json->List("submodels", importance.submodels.size(), [&](size_t i) -> nlohmann::ordered_json {
    const SubmodelScore& score = importance.submodels[i];
    return {{"layers", score.depth},
            {"width", score.width},
            {"bits", score.bits},
            {"accuracy", score.accuracy},
            {"loss", score.loss}};
  });
}

void WriteOrder(const Importance& importance, JsonWriter* json) {
  const ModelOrder& order = importance.order;
  if (order.empty()) return;
  WriteRows("head_order", order.heads, importance.width, json);
  WriteRows("neuron_order", order.neurons, order.neurons.size() / importance.layers, json);
  json->List("depth_layers", order.depth_layers.size(),
             [&](size_t depth) { return order.depth_layers[depth]; });
}

void WriteWordUse(const WordUse& use, JsonWriter* json) {
  if (use.empty()) return;
  json->Field("words", use.words);
  json->List("row_reads", use.reads.size(), [&](size_t i) {
    const RowReads& reads = use.reads[i];
    nlohmann::ordered_json entry = {{"length", reads.length},
                                    {"words", reads.words},
                                    {"share", reads.share},
                                    {"p99_share", reads.p99_share}};
    for (const RowRoom& room : reads.rooms) {
      entry["rooms"].push_back(
          {{"tokens", room.tokens}, {"share", room.share}, {"p99_share", room.p99_share}});
    }
    return entry;
  });
}

}  // namespace

Result<Importance> ImportanceFromJson(std::span<const uint8_t> bytes, const std::string& name,
                                      UnknownKeys* unknown) {
  STI_ASSIGN_OR_RETURN(const nlohmann::json object, ParseJsonObject(bytes, name));
  JsonFields fields(object, name, unknown);
  fields.Ignore("rank");  // derived
  Importance importance;
  std::string metric;
  std::vector<std::vector<double>> scores;
  std::vector<std::vector<double>> losses;
  std::vector<std::vector<double>> errors;
  fields.Get("model", Need::kRequired, &importance.model);
  fields.Get("metric", Need::kRequired, &metric);
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
  fields.RefuseEmpty({"losses", "errors"});
  STI_RETURN_IF_ERROR(fields.status());
  STI_RETURN_IF_ERROR(ReadMetric(metric, name, &importance.metric));
  fields.NoteUnknown();
  return importance;
}

void WriteImportanceJson(const Importance& importance, const TextSink& sink) {
  JsonWriter json(sink);
  json.Field("model", importance.model.Hex());
  json.Field("metric", NameOf(importance.metric));
  json.Field("examples", importance.examples);
  json.Field("baseline", importance.baseline);
  json.Field("layers", importance.layers);
  json.Field("width", importance.width);
  WriteRows("scores", importance.scores, importance.width, &json);
  if (!importance.losses.empty()) WriteRows("losses", importance.losses, importance.width, &json);
  json.Field("standard_error", importance.standard_error);
  if (!importance.errors.empty()) WriteRows("errors", importance.errors, importance.width, &json);
  const std::vector<ShardId> rank = ImportanceRank(importance);
  json.List("rank", rank.size(), [&](size_t i) -> nlohmann::ordered_json {
    return {rank[i].layer, rank[i].slice};
  });
  json.Field("kernel", importance.kernel);
  if (!importance.data.empty()) json.Field("data", importance.data.Hex());
  if (!importance.estimate.empty()) json.Field("estimate", importance.estimate);
  WriteSubmodels(importance, &json);
  WriteGains(importance, &json);
  WriteOrder(importance, &json);
  WriteWordUse(importance.word_use, &json);
  WriteCascades(importance, &json);
  json.End();
}

std::string ImportanceToJson(const Importance& importance) {
  std::string text;
  WriteImportanceJson(importance, [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace sti
