#include <nlohmann/json.hpp>

#include "format/json_fields.h"
#include "format/plan_file_parts.h"

namespace sti {
namespace {

using Json = nlohmann::ordered_json;

void ReadPreload(JsonFields& fields, std::vector<ShardAtBits>* preload) {
  fields.ForEach("preload", Need::kOptional, [&](JsonFields& item) {
    ShardAtBits shard;
    item.Get("layer", Need::kRequired, &shard.id.layer);
    item.Get("slice", Need::kRequired, &shard.id.slice);
    item.Get("bits", Need::kRequired, &shard.bits);
    preload->push_back(shard);
  });
}

// Reads the fields that plans and turns have in common.
template <typename Plan>
void ReadPredictions(JsonFields& fields, Plan* plan) {
  fields.Get("bits", Need::kRequired, &plan->bits);
  ReadPreload(fields, &plan->preload);
  fields.Get("preload_bytes", Need::kOptional, &plan->preload_bytes);
  fields.Get("aib_us", Need::kOptional, &plan->aib_us);
  fields.RefuseEmpty({"aib_us"});
  fields.Get("predicted_latency_us", Need::kOptional, &plan->predicted_latency_us);
  fields.Get("predicted_p99_us", Need::kOptional, &plan->predicted_p99_us);
  fields.Get("predicted_loss", Need::kOptional, &plan->quality.loss);
  fields.Get("predicted_accuracy", Need::kOptional, &plan->quality.accuracy);
  fields.Get("predicted_agreement", Need::kOptional, &plan->quality.agreement);
}

void ReadTimes(JsonFields& fields, Plan* plan) {
  fields.Within("times", Need::kOptional, [&](JsonFields& item) {
    PlanTimes& times = plan->times.emplace();
    item.Get("start_us", Need::kOptional, &times.start_us);
    item.Get("open_io_us", Need::kOptional, &times.open_io_us);
    item.Get("embed_io_us", Need::kOptional, &times.embed_io_us);
    item.Get("embed_us", Need::kOptional, &times.embed_us);
    item.Get("layer_us", Need::kOptional, &times.layer_us);
    item.Get("layer_p99_us", Need::kOptional, &times.layer_p99_us);
    item.Get("head_us", Need::kOptional, &times.head_us);
    item.Get("stall_us", Need::kOptional, &times.stall_us);
    item.Get("layer_io_us", Need::kRequired, &times.layer_io_us);
    item.Get("last_layer_us", Need::kOptional, &times.last_layer_us);
    item.Get("last_layer_p99_us", Need::kOptional, &times.last_layer_p99_us);
  });
}

void ReadFallback(JsonFields& fields, Plan* plan) {
  fields.Within("fallback", Need::kOptional, [&](JsonFields& item) {
    Fallback& fallback = plan->fallback.emplace();
    item.Get("layers", Need::kRequired, &fallback.layers);
    item.Get("width", Need::kRequired, &fallback.width);
    item.Get("bits", Need::kRequired, &fallback.bits);
    item.Get("bytes", Need::kOptional, &fallback.bytes);
    item.Get("embed_us", Need::kOptional, &fallback.embed_us);
    item.Get("layer_us", Need::kOptional, &fallback.layer_us);
    item.Get("last_layer_us", Need::kOptional, &fallback.last_layer_us);
    item.Get("head_us", Need::kOptional, &fallback.head_us);
    item.Get("margin_us", Need::kOptional, &fallback.margin_us);
    item.Get("cost_bits", Need::kOptional, &fallback.cost_bits);
    item.Get("predicted_loss", Need::kOptional, &fallback.quality.loss);
    item.Get("predicted_accuracy", Need::kOptional, &fallback.quality.accuracy);
    item.Get("predicted_agreement", Need::kOptional, &fallback.quality.agreement);
  });
}

void ReadPlan(JsonFields& fields, Plan* plan) {
  fields.Get("shape", Need::kOptional, &plan->shape);
  std::string strategy;
  fields.Get("strategy", Need::kOptional, &strategy);
  SetStrategy(std::move(strategy), plan);
  fields.Get("length", Need::kRequired, &plan->length);
  fields.Get("layers", Need::kRequired, &plan->layers);
  fields.Get("width", Need::kRequired, &plan->width);
  fields.Get("slices", Need::kRequired, &plan->slices);
  ReadPredictions(fields, plan);
  fields.Get("slack_us", Need::kOptional, &plan->slack_us);
  fields.Get("target_us", Need::kOptional, &plan->target_us);
  fields.Get("meets_target", Need::kOptional, &plan->meets_target);
  fields.Get("predicted_peak_bytes", Need::kOptional, &plan->predicted_peak_bytes);
  fields.Get("parameter_bytes", Need::kOptional, &plan->parameter_bytes);
  std::string kernel;
  fields.Get("kernel", Need::kOptional, &kernel);
  plan->kernel = ParseKernel(std::move(kernel));
  fields.Get("read_path", Need::kOptional, &plan->read_path);
  fields.Get("freq", Need::kOptional, &plan->freq);
  fields.Get("wake_us", Need::kOptional, &plan->wake_us);
  fields.Get("turn_bytes", Need::kOptional, &plan->turn_bytes);
  ReadTimes(fields, plan);
  fields.Get("staging_bytes", Need::kOptional, &plan->staging_bytes);
  fields.Get("read_bytes", Need::kOptional, &plan->read_bytes);
  fields.Get("read_depth", Need::kOptional, &plan->read_depth);
  fields.Get("cold", Need::kOptional, &plan->cold);
  fields.Get("threads", Need::kOptional, &plan->threads);
  fields.Get("cpus", Need::kOptional, &plan->cpus);
  fields.Get("words", Need::kOptional, &plan->words);
  fields.Get("row_share", Need::kOptional, &plan->row_share);
  fields.Get("row_p99_share", Need::kOptional, &plan->row_p99_share);
  ReadFallback(fields, plan);
  fields.ForEach("turns", Need::kOptional, [&](JsonFields& item) {
    PlanTurn& turn = plan->turns.emplace_back();
    auto number = static_cast<uint32_t>(plan->turns.size());
    item.Get("turn", Need::kOptional, &number);
    if (number != plan->turns.size()) item.Fail("turn does not count from 1");
    ReadPredictions(item, &turn);
    item.Get("read_bytes", Need::kOptional, &turn.read_bytes);
  });
}

void ReadCascade(JsonFields& fields, Plan* plan) {
  fields.Within("cascade", Need::kOptional, [&](JsonFields& item) {
    PlanCascade& cascade = plan->cascade.emplace();
    item.ForEach("levels", Need::kRequired, [&](JsonFields& each) {
      CascadeLevel& level = cascade.levels.emplace_back();
      level.plan.model = plan->model;  // where a level does not say
      each.Get("model", Need::kOptional, &level.plan.model);
      ReadPlan(each, &level.plan);
      each.ForEach("variants", Need::kOptional,
                   [](JsonFields& nested) { nested.Fail("a cascade level has variants"); });
      if (each.Has("cascade")) each.Fail("a cascade level has a cascade of its own");
      each.Get("temperature", Need::kOptional, &level.temperature);
      each.Get("cutoff", Need::kRequired, &level.rule.cutoff);
      each.Get("slope", Need::kOptional, &level.rule.slope);
      each.Get("prune_alpha", Need::kOptional, &level.rule.prune_alpha);
      each.Get("ensemble_weight", Need::kOptional, &level.rule.ensemble_weight);
      each.Get("upgrade_bytes", Need::kOptional, &level.upgrade_bytes);
    });
    item.Get("temperature", Need::kOptional, &cascade.temperature);
    item.Get("return_share", Need::kRequired, &cascade.return_share);
    item.Get("path_us", Need::kOptional, &cascade.path_us);
    item.Get("mean_us", Need::kOptional, &cascade.mean_us);
    item.Get("worst_path_us", Need::kOptional, &cascade.worst_path_us);
    item.Get("predicted_loss", Need::kOptional, &cascade.quality.loss);
    item.Get("predicted_accuracy", Need::kOptional, &cascade.quality.accuracy);
    item.Get("predicted_agreement", Need::kOptional, &cascade.quality.agreement);
  });
}

template <typename T>
Json JsonOrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json PreloadJson(const std::vector<ShardAtBits>& preload) {
  auto list = Json::array();
  for (const ShardAtBits& shard : preload)
    list.push_back({{"layer", shard.id.layer}, {"slice", shard.id.slice}, {"bits", shard.bits}});
  return list;
}

Json RowsJson(const Grid<uint32_t>& grid) {
  auto rows = Json::array();
  for (uint32_t row = 0; row < grid.rows(); ++row) rows.push_back(grid.Row(row));
  return rows;
}

Json AibJson(const std::vector<double>& aib_us) {
  return aib_us.empty() ? Json(nullptr) : Json(aib_us);
}

Json TimesJson(const std::optional<PlanTimes>& times) {
  if (!times) return nullptr;
  Json json;
  json["start_us"] = times->start_us;
  json["open_io_us"] = times->open_io_us;
  json["embed_io_us"] = times->embed_io_us;
  json["embed_us"] = times->embed_us;
  json["layer_us"] = times->layer_us;
  json["layer_p99_us"] = times->layer_p99_us;
  json["head_us"] = times->head_us;
  json["stall_us"] = times->stall_us;
  json["layer_io_us"] = times->layer_io_us;
  if (times->last_layer_us != 0) json["last_layer_us"] = times->last_layer_us;
  if (times->last_layer_p99_us != 0) json["last_layer_p99_us"] = times->last_layer_p99_us;
  return json;
}

void AddQuality(const PredictedQuality& quality, Json& json) {
  json["predicted_loss"] = JsonOrNull(quality.loss);
  json["predicted_accuracy"] = JsonOrNull(quality.accuracy);
  if (quality.agreement) json["predicted_agreement"] = *quality.agreement;
}

Json FallbackJson(const Fallback& fallback) {
  Json json;
  json["layers"] = fallback.layers;
  json["width"] = fallback.width;
  json["bits"] = fallback.bits;
  json["bytes"] = fallback.bytes;
  json["embed_us"] = fallback.embed_us;
  json["layer_us"] = fallback.layer_us;
  json["last_layer_us"] = fallback.last_layer_us;
  json["head_us"] = fallback.head_us;
  json["margin_us"] = fallback.margin_us;
  json["cost_bits"] = fallback.cost_bits;
  AddQuality(fallback.quality, json);
  return json;
}

Json TurnsJson(const Plan& plan) {
  auto list = Json::array();
  for (const PlanTurn& turn : plan.turns) {
    Json json;
    json["turn"] = list.size() + 1;
    json["bits"] = RowsJson(turn.bits);
    json["preload"] = PreloadJson(turn.preload);
    json["preload_bytes"] = turn.preload_bytes;
    json["read_bytes"] = turn.read_bytes;
    json["aib_us"] = AibJson(turn.aib_us);
    json["predicted_latency_us"] = turn.predicted_latency_us;
    json["predicted_p99_us"] = turn.predicted_p99_us;
    AddQuality(turn.quality, json);
    list.push_back(std::move(json));
  }
  return list;
}

Json CascadeJson(const PlanCascade& cascade) {
  Json json;
  json["levels"] = Json::array();
  for (const CascadeLevel& level : cascade.levels) {
    Json one = PlanJson(level.plan);
    for (const char* list : {"variants", "turns"}) {
      if (one[list].empty()) one.erase(list);
    }
    one["temperature"] = level.temperature;
    one["cutoff"] = level.rule.cutoff;
    one["slope"] = JsonOrNull(level.rule.slope);
    one["prune_alpha"] = level.rule.prune_alpha;
    one["ensemble_weight"] = level.rule.ensemble_weight;
    one["upgrade_bytes"] = level.upgrade_bytes;
    json["levels"].push_back(std::move(one));
  }
  json["temperature"] = cascade.temperature;
  json["return_share"] = cascade.return_share;
  json["path_us"] = cascade.path_us;
  json["mean_us"] = cascade.mean_us;
  json["worst_path_us"] = cascade.worst_path_us;
  AddQuality(cascade.quality, json);
  return json;
}

}  // namespace

Result<Plan> PlanFromJson(std::span<const uint8_t> bytes, const std::string& name,
                          UnknownKeys* unknown) {
  STI_ASSIGN_OR_RETURN(const nlohmann::json object, ParseJsonObject(bytes, name));
  JsonFields fields(object, name, unknown);
  Plan plan;
  fields.Get("model", Need::kRequired, &plan.model);
  ReadPlan(fields, &plan);
  ReadCascade(fields, &plan);
  fields.ForEach("variants", Need::kOptional, [&](JsonFields& item) {
    Plan variant;
    variant.model = plan.model;  // where a variant does not say
    item.Get("model", Need::kOptional, &variant.model);
    ReadPlan(item, &variant);
    item.ForEach("variants", Need::kOptional,
                 [](JsonFields& nested) { nested.Fail("a variant has variants of its own"); });
    if (item.Has("cascade")) item.Fail("a variant has a cascade");
    plan.variants.push_back(std::move(variant));
  });
  STI_RETURN_IF_ERROR(fields.status());
  fields.NoteUnknown();
  return plan;
}

Json PlanJson(const Plan& plan) {
  Json json;
  json["model"] = plan.model.Hex();
  json["shape"] = plan.shape.empty() ? Json(nullptr) : Json(plan.shape.Hex());
  json["strategy"] = plan.strategy_name();
  json["length"] = plan.length;
  json["layers"] = plan.layers;
  json["width"] = plan.width;
  json["slices"] = RowsJson(plan.slices);
  json["bits"] = RowsJson(plan.bits);
  json["preload"] = PreloadJson(plan.preload);
  json["preload_bytes"] = plan.preload_bytes;
  json["aib_us"] = AibJson(plan.aib_us);
  json["slack_us"] = JsonOrNull(plan.slack_us);
  json["target_us"] = JsonOrNull(plan.target_us);
  json["meets_target"] = plan.meets_target;
  json["predicted_latency_us"] = plan.predicted_latency_us;
  json["predicted_p99_us"] = plan.predicted_p99_us;
  json["predicted_peak_bytes"] = plan.predicted_peak_bytes;
  AddQuality(plan.quality, json);
  json["parameter_bytes"] = plan.parameter_bytes;
  json["kernel"] = plan.kernel.name;
  json["read_path"] = plan.read_path;
  json["freq"] = plan.freq;
  json["wake_us"] = plan.wake_us;
  json["turn_bytes"] = plan.turn_bytes;
  json["times"] = TimesJson(plan.times);
  json["staging_bytes"] = plan.staging_bytes;
  json["read_bytes"] = plan.read_bytes;
  json["read_depth"] = plan.read_depth;
  json["cold"] = plan.cold;
  if (plan.threads != 0) json["threads"] = plan.threads;
  if (!plan.cpus.empty()) json["cpus"] = plan.cpus;
  if (!plan.words.empty()) json["words"] = plan.words;
  if (plan.row_share != 1) json["row_share"] = plan.row_share;
  if (plan.row_p99_share != 1) json["row_p99_share"] = plan.row_p99_share;
  if (plan.fallback) json["fallback"] = FallbackJson(*plan.fallback);
  if (plan.cascade) json["cascade"] = CascadeJson(*plan.cascade);
  json["variants"] = Json::array();
  for (const Plan& variant : plan.variants) json["variants"].push_back(PlanJson(variant));
  json["turns"] = TurnsJson(plan);
  return json;
}

}  // namespace sti
