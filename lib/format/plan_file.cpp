// The two spellings of a plan file. Which fields a plan has, types/plan_fields.h says; here are the
// plans inside a plan, and what only one spelling can get wrong.
#include "format/plan_file.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/remedy.h"
#include "format/framed_file.h"
#include "format/json_fields.h"
#include "format/json_spelling.h"
#include "format/table_spelling.h"
#include "plan_generated.h"
#include "types/plan_check.h"
#include "types/plan_fields.h"

namespace sti {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kVariantNests = "a variant has variants of its own";
constexpr const char* kVariantTurns = "a variant has turns";
constexpr const char* kVariantCascade = "a variant has a cascade";

Error PlanError(const std::string& name, const std::string& problem) {
  return DataError(problem).At(name).Fix(Remedy::kCorrectPlan);
}

// --- JSON ----------------------------------------------------------------------------------------

void ReadLevels(JsonFields& fields, const Plan& plan, std::vector<CascadeLevel>* levels) {
  fields.ForEach("levels", Need::kRequired, [&](JsonFields& item) {
    CascadeLevel& level = levels->emplace_back();
    level.plan.model = plan.model;  // where a level does not say
    JsonFieldReader reader(item);
    Fields(reader, level.plan);
    reader(kTurnsField, level.plan.turns);
    item.ForEach("variants", Need::kOptional,
                 [](JsonFields& nested) { nested.Fail("a cascade level has variants"); });
    if (item.Has("cascade")) item.Fail("a cascade level has a cascade of its own");
    Fields(reader, level);
  });
}

void ReadCascade(JsonFields& fields, Plan* plan) {
  fields.Within("cascade", Need::kOptional, [&](JsonFields& item) {
    PlanCascade& cascade = plan->cascade.emplace();
    ReadLevels(item, *plan, &cascade.levels);
    JsonFieldReader reader(item);
    Fields(reader, cascade);
  });
}

void ReadVariants(JsonFields& fields, Plan* plan) {
  fields.ForEach("variants", Need::kOptional, [&](JsonFields& item) {
    Plan variant;
    variant.model = plan->model;  // where a variant does not say
    JsonFieldReader reader(item);
    Fields(reader, variant);
    reader(kTurnsField, variant.turns);
    item.ForEach("variants", Need::kOptional,
                 [](JsonFields& nested) { nested.Fail(kVariantNests); });
    if (item.Has("cascade")) item.Fail(kVariantCascade);
    plan->variants.push_back(std::move(variant));
  });
}

Result<Plan> FromJson(std::span<const uint8_t> bytes, const std::string& name,
                      UnknownKeys* unknown) {
  STI_ASSIGN_OR_RETURN(const nlohmann::json object, ParseJsonObject(bytes, name));
  JsonFields fields(object, name, unknown);
  JsonFieldReader reader(fields);
  Plan plan;
  fields.Get("model", Need::kRequired, &plan.model);
  Fields(reader, plan);
  reader(kTurnsField, plan.turns);
  ReadCascade(fields, &plan);
  ReadVariants(fields, &plan);
  STI_RETURN_IF_ERROR(fields.status());
  fields.NoteUnknown();
  return plan;
}

/// Adds the fields of a described value to those of an object.
template <typename T>
void Spell(const T& value, Json* object) {
  JsonFieldWriter speller(*object);
  Fields(speller, value);
}

Json ToJson(const Plan& plan);

Json CascadeJson(const PlanCascade& cascade) {
  Json json;
  json["levels"] = Json::array();
  for (const CascadeLevel& level : cascade.levels) {
    Json& item = json["levels"].emplace_back(ToJson(level.plan));
    for (const char* list : {"variants", "turns"}) {
      if (item[list].empty()) item.erase(list);
    }
    Spell(level, &item);
  }
  Spell(cascade, &json);
  return json;
}

Json ToJson(const Plan& plan) {
  Json json;
  Spell(plan, &json);
  if (plan.cascade) json["cascade"] = CascadeJson(*plan.cascade);
  json["variants"] = Json::array();
  for (const Plan& variant : plan.variants) json["variants"].push_back(ToJson(variant));
  json["turns"] = Json::array();
  JsonFieldWriter speller(json);
  speller(kTurnsField, plan.turns);
  return json;
}

// --- Binary --------------------------------------------------------------------------------------

using Table = flatbuffers::Table;
using Places = std::vector<flatbuffers::Offset<void>>;
using Place = FlatWriter::Place;

constexpr uint16_t kReadPath = 19;
constexpr uint16_t kCpus = 33;
constexpr Field kLevels{"levels", 0};
constexpr Field kPlanOfLevel{"plan", 0};

bool HasEntries(const FlatReader& reader, const Field& field) {
  const auto* list = reader.Find<FlatReader::Tables>(field);
  return list != nullptr && list->size() > 0;
}

/// Reads the turns, whose bits a table holds without the length of their rows.
void ReadTurns(FlatReader& reader, Plan* plan) {
  if (HasEntries(reader, kTurnsField) && plan->width > kMaxWidth)
    reader.Fail("width is more than 256");
  reader(kTurnsField, plan->turns);
  const auto rows = static_cast<uint32_t>(plan->layers.size());
  for (PlanTurn& turn : plan->turns) {
    if (turn.bits.columns() != uint64_t{rows} * plan->width) {
      const auto number = static_cast<size_t>(&turn - plan->turns.data());
      return reader.Fail("turns[" + std::to_string(number) +
                         "]: bits does not have one entry a shard");
    }
    Grid<uint32_t> bits(rows, plan->width);
    std::copy(turn.bits.values().begin(), turn.bits.values().end(), bits.values().begin());
    turn.bits = std::move(bits);
  }
}

void ReadVariants(FlatReader& reader, FlatFile& file, const std::string& name, Plan* plan) {
  const FlatReader::Tables* list = reader.FindTables(kVariantsField);
  if (list == nullptr) return;
  plan->variants.reserve(list->size());
  for (const Table* entry : *list) {
    FlatReader variant(file, *entry, name + ": variants");
    if (HasEntries(variant, kVariantsField)) reader.Fail(kVariantNests);
    if (HasEntries(variant, kTurnsField)) reader.Fail(kVariantTurns);
    if (variant.Find<Table>(kCascadeField) != nullptr) reader.Fail(kVariantCascade);
    Fields(variant, plan->variants.emplace_back());
  }
}

/// Reads a level before the last. Levels do not nest, so neither does this.
void ReadLevel(FlatReader& reader, FlatFile& file, const std::string& where, CascadeLevel* level) {
  const auto* stored = reader.Find<Table>(kPlanOfLevel);
  if (stored == nullptr) return reader.Fail("plan is missing");
  FlatReader plan(file, *stored, where);
  if (HasEntries(plan, kVariantsField) || HasEntries(plan, kTurnsField) ||
      plan.Find<Table>(kCascadeField) != nullptr)
    return plan.Fail("a cascade level has variants, turns or a cascade of its own");
  Fields(plan, level->plan);
  Fields(reader, *level);
}

void ReadCascade(FlatReader& reader, FlatFile& file, const std::string& name, Plan* plan) {
  const auto* stored = reader.Find<Table>(kCascadeField);
  if (stored == nullptr) return;
  PlanCascade& cascade = plan->cascade.emplace();
  FlatReader fields(file, *stored, name);
  if (const auto* levels = fields.Find<FlatReader::Tables>(kLevels)) {
    if (levels->size() >= kMaxCascadeLevels)
      return fields.Fail("cascade.levels does not have 1 or 2 entries");
    for (const Table* entry : *levels) {
      const std::string where =
          name + ": cascade.levels[" + std::to_string(cascade.levels.size()) + "]";
      FlatReader level(file, *entry, where);
      ReadLevel(level, file, where, &cascade.levels.emplace_back());
    }
  }
  Fields(fields, cascade);
}

Result<Plan> FromTables(std::span<const uint8_t> bytes, const std::string& name) {
  STI_ASSIGN_OR_RETURN(const std::span<const uint8_t> framed, FindPayload(kPlanMagic, bytes, name));
  const AlignedPayload payload(framed);
  flatbuffers::Verifier verifier(payload.data(), payload.size());
  if (!fb::VerifyPlanBuffer(verifier)) return TableError(name, kNoTable);
  FlatFile file{Remedy::kCorrectPlan, ListRoom(payload.size(), PlanError(name, kFullProblem))};
  FlatReader reader(file, *flatbuffers::GetRoot<Table>(payload.data()), name);
  Plan plan;
  Fields(reader, plan);
  ReadTurns(reader, &plan);
  ReadCascade(reader, file, name, &plan);
  ReadVariants(reader, file, name, &plan);
  STI_RETURN_IF_ERROR(file.status);
  return plan;
}

Place PlanTable(FlatWriter::Builder& builder, const Plan& plan);

Place CascadeTable(FlatWriter::Builder& builder, const PlanCascade& cascade) {
  Places levels;
  for (const CascadeLevel& level : cascade.levels) {
    const Place plan = PlanTable(builder, level.plan);
    FlatWriter writer(builder);
    writer.Point(kPlanOfLevel.number, [plan] { return plan; });
    Fields(writer, level);
    levels.emplace_back(writer.Finish());
  }
  FlatWriter writer(builder);
  writer.PointToList(kLevels.number, std::move(levels));
  Fields(writer, cascade);
  return writer.Finish();
}

/// Writes a plan. In this order since 1.0: the same plan stays the same bytes.
Place PlanTable(FlatWriter::Builder& builder, const Plan& plan) {
  Places variants;
  for (const Plan& variant : plan.variants) variants.emplace_back(PlanTable(builder, variant));
  FlatWriter writer(builder);
  if (!variants.empty()) writer.PointToList(kVariantsField.number, std::move(variants));
  writer(kTurnsField, plan.turns);
  if (plan.cascade) {
    writer.Point(kCascadeField.number,
                 [&builder, &plan] { return CascadeTable(builder, *plan.cascade); });
  }
  Fields(writer, plan);
  writer.Move(kCpus, kReadPath);
  return writer.Finish();
}

}  // namespace

Result<Plan> ParsePlan(std::span<const uint8_t> bytes, const std::string& name) {
  return ParsePlanNoting(bytes, name, nullptr);
}

Result<Plan> ParsePlanNoting(std::span<const uint8_t> bytes, const std::string& name,
                             UnknownKeys* unknown) {
  STI_ASSIGN_OR_RETURN(
      Plan plan, LooksLikeJson(bytes) ? FromJson(bytes, name, unknown) : FromTables(bytes, name));
  if (const auto fault = FindPlanFault(plan, {})) return PlanError(name, fault->text());
  return plan;
}

std::vector<uint8_t> EncodePlan(const Plan& plan) {
  FlatWriter::Builder builder;
  builder.Finish(flatbuffers::Offset<void>(PlanTable(builder, plan)));
  return WrapFrame(kPlanMagic, {builder.GetBufferPointer(), builder.GetSize()});
}

std::string PlanToJson(const Plan& plan) { return PrintJson(ToJson(plan)); }

}  // namespace sti
