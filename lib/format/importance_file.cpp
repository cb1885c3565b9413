#include "format/importance_file.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "format/flatbuffer_values.h"
#include "format/framed_file.h"
#include "format/json_fields.h"
#include "importance_generated.h"
#include "types/importance_rank.h"

namespace sti {
namespace {

constexpr uint32_t kMaxLayers = 1024;
constexpr uint32_t kMaxWidth = 256;

bool AllFinite(const std::vector<double>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
}

Status Validate(const Importance& importance, const std::string& name) {
  auto fail = [&](const std::string& problem) {
    return DataError(name + ": " + problem + "; correct it or run sti-importance again");
  };
  if (importance.model.empty()) return fail("model is missing");
  if (importance.metric != "accuracy" && importance.metric != "loss" && importance.metric != "kl")
    return fail("metric is not accuracy, loss or kl");
  if (importance.layers == 0 || importance.layers > kMaxLayers)
    return fail("layers is not from 1 to 1024");
  if (importance.width == 0 || importance.width > kMaxWidth)
    return fail("width is not from 1 to 256");
  const size_t shards = size_t{importance.layers} * importance.width;
  if (importance.scores.size() != shards) return fail("scores is not layers rows of width numbers");
  if (!importance.losses.empty() && importance.losses.size() != shards)
    return fail("losses is not layers rows of width numbers");
  if (!AllFinite(importance.scores)) return fail("scores holds what is not a finite number");
  if (!AllFinite(importance.losses)) return fail("losses holds what is not a finite number");
  if (!std::isfinite(importance.baseline)) return fail("baseline is not a finite number");
  if (!std::isfinite(importance.standard_error) || importance.standard_error < 0)
    return fail("standard_error is negative or not a finite number");
  return {};
}

Result<Importance> FromBinary(std::span<const uint8_t> bytes, const std::string& name) {
  STI_ASSIGN_OR_RETURN(const std::vector<uint8_t> payload,
                       UnwrapFrame(kImportanceMagic, bytes, name));
  flatbuffers::Verifier verifier(payload.data(), payload.size());
  if (!fb::VerifyImportanceBuffer(verifier))
    return DataError(name + ": the payload is not a valid table; make the file again");
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

Result<Importance> FromJson(std::span<const uint8_t> bytes, const std::string& name) {
  STI_ASSIGN_OR_RETURN(const nlohmann::json object, ParseJsonObject(bytes, name));
  JsonFields fields(object, name);
  Importance importance;
  std::vector<std::vector<double>> scores;
  std::vector<std::vector<double>> losses;
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
  STI_RETURN_IF_ERROR(fields.status());
  return importance;
}

nlohmann::ordered_json Rows(const std::vector<double>& flat, uint32_t width) {
  auto rows = nlohmann::ordered_json::array();
  for (size_t at = 0; at + width <= flat.size() && width > 0; at += width)
    rows.push_back(std::vector<double>(flat.data() + at, flat.data() + at + width));
  return rows;
}

}  // namespace

Result<Importance> ParseImportance(std::span<const uint8_t> bytes, const std::string& name) {
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
  builder.Finish(fb::CreateImportance(builder, model, metric, importance.examples,
                                      importance.baseline, importance.layers, importance.width,
                                      scores, losses, importance.standard_error, kernel));
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
  json["rank"] = nlohmann::ordered_json::array();
  for (const auto& [layer, slice] : ImportanceRank(importance))
    json["rank"].push_back({layer, slice});
  json["kernel"] = importance.kernel;
  return PrintJson(json);
}

}  // namespace sti
