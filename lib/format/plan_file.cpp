#include "format/plan_file.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "format/flatbuffer_values.h"
#include "format/framed_file.h"
#include "format/json_fields.h"
#include "plan_generated.h"

namespace sti {
namespace {

constexpr uint32_t kMaxLayers = 1024;
constexpr uint32_t kMaxWidth = 256;
constexpr uint32_t kMaxLength = 1u << 20;
constexpr size_t kMaxVariants = 64;
constexpr size_t kMaxTextBytes = 65536;

bool BitsExist(uint32_t bits) { return (bits >= 2 && bits <= 6) || bits == kFullBits; }

Error PlanError(const std::string& name, const std::string& problem) {
  return DataError(name + ": " + problem + "; correct it or run sti-plan again");
}

std::string ShardName(uint32_t layer, uint32_t slice) {
  return "layer " + std::to_string(layer) + " slice " + std::to_string(slice);
}

/// Layers, slices and bits; fills `shards` with what the plan runs.
Status ValidateRows(const Plan& plan, const std::string& name,
                    std::map<std::pair<uint32_t, uint32_t>, uint32_t>* shards) {
  const size_t n = plan.layers.size();
  if (n == 0 || n > kMaxLayers) return PlanError(name, "layers does not have 1 to 1024 entries");
  if (plan.width == 0 || plan.width > kMaxWidth)
    return PlanError(name, "width is not from 1 to 256");
  if (std::adjacent_find(plan.layers.begin(), plan.layers.end(), std::greater_equal<>()) !=
      plan.layers.end())
    return PlanError(name, "layers does not ascend");
  if (plan.layers.back() >= kMaxLayers) return PlanError(name, "layers names one above 1023");
  if (plan.slices.size() != n || plan.bits.size() != n)
    return PlanError(name, "slices and bits do not have one row a layer");
  for (size_t k = 0; k < n; ++k) {
    if (plan.slices[k].size() != plan.width || plan.bits[k].size() != plan.width) {
      return PlanError(name, "row " + std::to_string(k) + " of slices or bits does not have " +
                                 std::to_string(plan.width) + " entries");
    }
    for (size_t i = 0; i < plan.width; ++i) {
      const uint32_t slice = plan.slices[k][i];
      const std::string shard = ShardName(plan.layers[k], slice);
      if (slice >= kMaxWidth) return PlanError(name, shard + ": slices end at 255");
      if (!BitsExist(plan.bits[k][i]))
        return PlanError(name, shard + ": bits is not 2 to 6, or 32");
      if (!shards->emplace(std::pair(plan.layers[k], slice), plan.bits[k][i]).second)
        return PlanError(name, shard + " is there twice");
    }
  }
  return {};
}

Status ValidateNumbers(const Plan& plan, const std::string& name) {
  auto check = [&](const char* field, double number, bool negative_allowed) -> Status {
    if (std::isfinite(number) && (negative_allowed || number >= 0)) return {};
    return PlanError(name, std::string(field) + " is negative or not a finite number");
  };
  if (plan.length == 0 || plan.length > kMaxLength)
    return PlanError(name, "length is not from 1 to 1048576");
  if (!plan.aib_us.empty() && plan.aib_us.size() != plan.layers.size())
    return PlanError(name, "aib_us does not have one entry a layer");
  for (double aib_us : plan.aib_us) STI_RETURN_IF_ERROR(check("aib_us", aib_us, true));
  STI_RETURN_IF_ERROR(check("slack_us", plan.slack_us.value_or(0), true));
  STI_RETURN_IF_ERROR(check("target_us", plan.target_us.value_or(0), false));
  STI_RETURN_IF_ERROR(check("predicted_latency_us", plan.predicted_latency_us, false));
  STI_RETURN_IF_ERROR(check("predicted_p99_us", plan.predicted_p99_us, false));
  return check("predicted_accuracy", plan.predicted_accuracy.value_or(0), false);
}

Status ValidatePlan(const Plan& plan, const std::string& name) {
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> shards;
  STI_RETURN_IF_ERROR(ValidateRows(plan, name, &shards));
  STI_RETURN_IF_ERROR(ValidateNumbers(plan, name));
  for (const PreloadedShard& shard : plan.preload) {
    auto found = shards.find({shard.layer, shard.slice});
    if (found == shards.end() || found->second != shard.bits) {
      return PlanError(name, "preload: " + ShardName(shard.layer, shard.slice) + " at " +
                                 std::to_string(shard.bits) +
                                 " bits is not what the plan runs, or is there twice");
    }
    shards.erase(found);
  }
  if (plan.model.empty()) return PlanError(name, "model is missing");
  for (const std::string* text : {&plan.strategy, &plan.kernel, &plan.read_path}) {
    if (text->size() > kMaxTextBytes) return PlanError(name, "a text is longer than 65536 bytes");
  }
  return {};
}

Status Validate(const Plan& plan, const std::string& name) {
  STI_RETURN_IF_ERROR(ValidatePlan(plan, name));
  if (plan.variants.size() > kMaxVariants) return PlanError(name, "more than 64 variants");
  for (size_t i = 0; i < plan.variants.size(); ++i) {
    const Plan& variant = plan.variants[i];
    const std::string where = name + ": variants[" + std::to_string(i) + "]";
    if (!variant.variants.empty()) return PlanError(where, "a variant has variants of its own");
    if (variant.model != plan.model) return PlanError(where, "it is for another model");
    STI_RETURN_IF_ERROR(ValidatePlan(variant, where));
  }
  return {};
}

// Binary

using Builder = flatbuffers::FlatBufferBuilder;

flatbuffers::Offset<flatbuffers::Vector<uint8_t>> DigestBytes(Builder* builder,
                                                              const Digest& digest) {
  if (digest.empty()) return 0;
  return builder->CreateVector(digest.bytes.data(), digest.bytes.size());
}

/// Refuses what Validate would refuse before it is copied: offsets may name one list many times, so
/// that copies outgrow the file.
Status CheckSizes(const fb::Plan& table, const std::string& name) {
  for (const flatbuffers::String* text : {table.strategy(), table.kernel(), table.read_path()}) {
    if (text != nullptr && text->size() > kMaxTextBytes)
      return PlanError(name, "a text is longer than 65536 bytes");
  }
  if (table.layers() != nullptr && table.layers()->size() > kMaxLayers)
    return PlanError(name, "layers does not have 1 to 1024 entries");
  if (table.aib_us() != nullptr && table.aib_us()->size() > kMaxLayers)
    return PlanError(name, "aib_us does not have one entry a layer");
  if (table.preload() != nullptr && table.preload()->size() > kMaxLayers * kMaxWidth)
    return PlanError(name, "preload has more entries than a plan has shards");
  return {};
}

Status ReadRows(const fb::Plan& table, const std::string& name, Plan* plan) {
  if (table.rows() == nullptr) return {};
  if (table.rows()->size() > kMaxLayers) return PlanError(name, "more than 1024 rows");
  for (const fb::PlanRow* row : *table.rows()) {
    if ((row->slices() != nullptr && row->slices()->size() > kMaxWidth) ||
        (row->bits() != nullptr && row->bits()->size() > kMaxWidth))
      return PlanError(name, "a row has more than 256 entries");
    plan->slices.push_back(NumbersOf(row->slices()));
    plan->bits.push_back(NumbersOf(row->bits()));
  }
  return {};
}

Result<Plan> FromTable(const fb::Plan& table, const std::string& name, int depth) {
  Plan plan;
  if (const auto* model = table.model()) {
    STI_ASSIGN_OR_RETURN(plan.model,
                         DigestFromBytes(model->data(), model->size(), name + ": model"));
  }
  if (const auto* shape = table.shape()) {
    STI_ASSIGN_OR_RETURN(plan.shape,
                         DigestFromBytes(shape->data(), shape->size(), name + ": shape"));
  }
  STI_RETURN_IF_ERROR(CheckSizes(table, name));
  plan.strategy = TextOf(table.strategy());
  plan.length = table.length();
  plan.layers = NumbersOf(table.layers());
  plan.width = table.width();
  STI_RETURN_IF_ERROR(ReadRows(table, name, &plan));
  if (const auto* list = table.preload()) {
    for (const fb::PreloadEntry* entry : *list)
      plan.preload.push_back({entry->layer(), entry->slice(), entry->bits()});
  }
  plan.preload_bytes = table.preload_bytes();
  plan.aib_us = NumbersOf(table.aib_us());
  plan.slack_us = table.slack_us();
  plan.target_us = table.target_us();
  plan.meets_target = table.meets_target();
  plan.predicted_latency_us = table.predicted_latency_us();
  plan.predicted_p99_us = table.predicted_p99_us();
  plan.predicted_peak_bytes = table.predicted_peak_bytes();
  plan.predicted_accuracy = table.predicted_accuracy();
  plan.parameter_bytes = table.parameter_bytes();
  plan.kernel = TextOf(table.kernel());
  plan.read_path = TextOf(table.read_path());
  if (table.variants() == nullptr) return plan;
  if (depth > 0 || table.variants()->size() > kMaxVariants)
    return PlanError(name, "variants are nested or more than 64");
  for (const fb::Plan* variant : *table.variants()) {
    STI_ASSIGN_OR_RETURN(Plan read, FromTable(*variant, name + ": variants", depth + 1));
    plan.variants.push_back(std::move(read));
  }
  return plan;
}

Result<Plan> FromBinary(std::span<const uint8_t> bytes, const std::string& name) {
  STI_ASSIGN_OR_RETURN(const std::vector<uint8_t> payload, UnwrapFrame(kPlanMagic, bytes, name));
  flatbuffers::Verifier verifier(payload.data(), payload.size());
  if (!fb::VerifyPlanBuffer(verifier))
    return DataError(name + ": the payload is not a valid table; make the file again");
  return FromTable(*fb::GetPlan(payload.data()), name, 0);
}

flatbuffers::Offset<fb::Plan> ToTable(Builder* builder, const Plan& plan) {
  std::vector<flatbuffers::Offset<fb::Plan>> variants;
  for (const Plan& variant : plan.variants) variants.push_back(ToTable(builder, variant));
  std::vector<flatbuffers::Offset<fb::PlanRow>> rows;
  for (size_t k = 0; k < plan.slices.size() && k < plan.bits.size(); ++k) {
    const auto slices = builder->CreateVector(plan.slices[k]);
    rows.push_back(fb::CreatePlanRow(*builder, slices, builder->CreateVector(plan.bits[k])));
  }
  std::vector<flatbuffers::Offset<fb::PreloadEntry>> preload;
  for (const PreloadedShard& shard : plan.preload)
    preload.push_back(fb::CreatePreloadEntry(*builder, shard.layer, shard.slice, shard.bits));
  const auto model = DigestBytes(builder, plan.model);
  const auto shape = DigestBytes(builder, plan.shape);
  const auto strategy = builder->CreateString(plan.strategy);
  const auto layers = builder->CreateVector(plan.layers);
  const auto row_list = builder->CreateVector(rows);
  const auto preload_list = builder->CreateVector(preload);
  flatbuffers::Offset<flatbuffers::Vector<double>> aibs;
  if (!plan.aib_us.empty()) aibs = builder->CreateVector(plan.aib_us);
  const auto kernel = builder->CreateString(plan.kernel);
  const auto read_path = builder->CreateString(plan.read_path);
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::Plan>>> variant_list;
  if (!variants.empty()) variant_list = builder->CreateVector(variants);
  return fb::CreatePlan(*builder, model, shape, strategy, plan.length, layers, plan.width, row_list,
                        preload_list, plan.preload_bytes, aibs, plan.slack_us, plan.target_us,
                        plan.meets_target, plan.predicted_latency_us, plan.predicted_p99_us,
                        plan.predicted_peak_bytes, plan.predicted_accuracy, plan.parameter_bytes,
                        kernel, read_path, variant_list);
}

// JSON

void ReadPlan(JsonFields& fields, Plan* plan) {
  fields.Get("shape", Need::kOptional, &plan->shape);
  fields.Get("strategy", Need::kOptional, &plan->strategy);
  fields.Get("length", Need::kRequired, &plan->length);
  fields.Get("layers", Need::kRequired, &plan->layers);
  fields.Get("width", Need::kRequired, &plan->width);
  fields.Get("slices", Need::kRequired, &plan->slices);
  fields.Get("bits", Need::kRequired, &plan->bits);
  fields.ForEach("preload", Need::kOptional, [&](JsonFields& item) {
    PreloadedShard shard;
    item.Get("layer", Need::kRequired, &shard.layer);
    item.Get("slice", Need::kRequired, &shard.slice);
    item.Get("bits", Need::kRequired, &shard.bits);
    plan->preload.push_back(shard);
  });
  fields.Get("preload_bytes", Need::kOptional, &plan->preload_bytes);
  fields.Get("aib_us", Need::kOptional, &plan->aib_us);
  fields.Get("slack_us", Need::kOptional, &plan->slack_us);
  fields.Get("target_us", Need::kOptional, &plan->target_us);
  fields.Get("meets_target", Need::kOptional, &plan->meets_target);
  fields.Get("predicted_latency_us", Need::kOptional, &plan->predicted_latency_us);
  fields.Get("predicted_p99_us", Need::kOptional, &plan->predicted_p99_us);
  fields.Get("predicted_peak_bytes", Need::kOptional, &plan->predicted_peak_bytes);
  fields.Get("predicted_accuracy", Need::kOptional, &plan->predicted_accuracy);
  fields.Get("parameter_bytes", Need::kOptional, &plan->parameter_bytes);
  fields.Get("kernel", Need::kOptional, &plan->kernel);
  fields.Get("read_path", Need::kOptional, &plan->read_path);
}

Result<Plan> FromJson(std::span<const uint8_t> bytes, const std::string& name) {
  STI_ASSIGN_OR_RETURN(const nlohmann::json object, ParseJsonObject(bytes, name));
  JsonFields fields(object, name);
  Plan plan;
  fields.Get("model", Need::kRequired, &plan.model);
  ReadPlan(fields, &plan);
  fields.ForEach("variants", Need::kOptional, [&](JsonFields& item) {
    Plan variant;
    variant.model = plan.model;  // where a variant does not say
    item.Get("model", Need::kOptional, &variant.model);
    ReadPlan(item, &variant);
    item.ForEach("variants", Need::kOptional,
                 [](JsonFields& nested) { nested.Fail("a variant has variants of its own"); });
    plan.variants.push_back(std::move(variant));
  });
  STI_RETURN_IF_ERROR(fields.status());
  return plan;
}

template <typename T>
nlohmann::ordered_json OrNull(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json ToJson(const Plan& plan) {
  using nlohmann::ordered_json;
  ordered_json json;
  json["model"] = plan.model.Hex();
  json["shape"] = plan.shape.empty() ? ordered_json(nullptr) : ordered_json(plan.shape.Hex());
  json["strategy"] = plan.strategy;
  json["length"] = plan.length;
  json["layers"] = plan.layers;
  json["width"] = plan.width;
  json["slices"] = plan.slices;
  json["bits"] = plan.bits;
  json["preload"] = ordered_json::array();
  for (const PreloadedShard& shard : plan.preload) {
    json["preload"].push_back(
        {{"layer", shard.layer}, {"slice", shard.slice}, {"bits", shard.bits}});
  }
  json["preload_bytes"] = plan.preload_bytes;
  json["aib_us"] = plan.aib_us.empty() ? ordered_json(nullptr) : ordered_json(plan.aib_us);
  json["slack_us"] = OrNull(plan.slack_us);
  json["target_us"] = OrNull(plan.target_us);
  json["meets_target"] = plan.meets_target;
  json["predicted_latency_us"] = plan.predicted_latency_us;
  json["predicted_p99_us"] = plan.predicted_p99_us;
  json["predicted_peak_bytes"] = plan.predicted_peak_bytes;
  json["predicted_accuracy"] = OrNull(plan.predicted_accuracy);
  json["parameter_bytes"] = plan.parameter_bytes;
  json["kernel"] = plan.kernel;
  json["read_path"] = plan.read_path;
  json["variants"] = ordered_json::array();
  for (const Plan& variant : plan.variants) json["variants"].push_back(ToJson(variant));
  json["turns"] = ordered_json::array();
  return json;
}

}  // namespace

Result<Plan> ParsePlan(std::span<const uint8_t> bytes, const std::string& name) {
  STI_ASSIGN_OR_RETURN(Plan plan,
                       LooksLikeJson(bytes) ? FromJson(bytes, name) : FromBinary(bytes, name));
  STI_RETURN_IF_ERROR(Validate(plan, name));
  return plan;
}

std::vector<uint8_t> EncodePlan(const Plan& plan) {
  Builder builder;
  builder.Finish(ToTable(&builder, plan));
  return WrapFrame(kPlanMagic, {builder.GetBufferPointer(), builder.GetSize()});
}

std::string PlanToJson(const Plan& plan) { return PrintJson(ToJson(plan)); }

}  // namespace sti
