// The two spellings of a plan file. Which fields a plan has, types/plan_fields.h says; here are the
// plans inside a plan, what a file can say of them that none has, and what one spelling can get
// wrong.
#include "format/plan_file.h"

#include <cassert>
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
constexpr const char* kVariantWords = "a variant has words of its own";
constexpr const char* kVariantCascade = "a variant has a cascade";
constexpr const char* kInsideStages = "a variant or a cascade level has stages";

Error PlanError(const std::string& name, const std::string& problem) {
  return DataError(problem).At(name).Fix(Remedy::kCorrectPlan);
}

/// A plan as a file says it. Of one inside it, which has a submodel alone, a file may say more.
struct Said {
  Plan plan;
  std::string problem;  ///< the first turns or words of one inside; empty: none has any

  void AddVariant(const Plan& said) {
    Note(said, "variants", plan.variants.size(), kVariantTurns, kVariantWords);
    plan.variants.push_back(said);
  }
  CascadeLevel& AddLevel(const Plan& said) {
    Note(said, "cascade.levels", plan.cascade->levels.size(), kLevelHasMore, kLevelHasMore);
    return plan.cascade->levels.emplace_back(CascadeLevel{said});
  }

 private:
  void Note(const Plan& said, const char* list, size_t entry, const char* turns,
            const char* words) {
    if (!problem.empty() || (said.turns.empty() && said.words.empty())) return;
    problem = std::string(list) + "[" + std::to_string(entry) +
              "]: " + (said.turns.empty() ? words : turns);
  }
};

// --- JSON ----------------------------------------------------------------------------------------

/// Reads a plan inside one of this model.
Plan ReadInside(JsonFields& item, const Digest& model, const char* nests, const char* cascades) {
  Plan plan;
  plan.model = model;  // where it does not say
  JsonFieldReader reader(item);
  Fields(reader, plan);
  reader(kTurnsField, plan.turns);
  item.ForEach("variants", Need::kOptional, [&](JsonFields& nested) { nested.Fail(nests); });
  if (item.Has("cascade")) item.Fail(cascades);
  if (item.Has(kStagesField.name)) item.Fail(kInsideStages);
  return plan;
}

void ReadCascade(JsonFields& fields, Said* said) {
  fields.Within("cascade", Need::kOptional, [&](JsonFields& within) {
    PlanCascade& cascade = said->plan.cascade.emplace();
    within.ForEach("levels", Need::kRequired, [&](JsonFields& item) {
      JsonFieldReader reader(item);
      Fields(reader,
             said->AddLevel(ReadInside(item, said->plan.model, "a cascade level has variants",
                                       "a cascade level has a cascade of its own")));
    });
    JsonFieldReader reader(within);
    Fields(reader, cascade);
  });
}

Result<Said> FromJson(std::span<const uint8_t> bytes, const std::string& name,
                      UnknownKeys* unknown) {
  STI_ASSIGN_OR_RETURN(const nlohmann::json object, ParseJsonObject(bytes, name));
  JsonFields fields(object, name, unknown);
  JsonFieldReader reader(fields);
  Said said;
  fields.Get("model", Need::kRequired, &said.plan.model);
  Fields(reader, said.plan);
  reader(kTurnsField, said.plan.turns);
  ReadCascade(fields, &said);
  if (fields.Has(kStagesField.name)) Fields(reader, said.plan.staged.emplace());
  fields.ForEach("variants", Need::kOptional, [&](JsonFields& item) {
    said.AddVariant(ReadInside(item, said.plan.model, kVariantNests, kVariantCascade));
  });
  STI_RETURN_IF_ERROR(fields.status());
  fields.NoteUnknown();
  return said;
}

/// Adds the fields of a described value to those of an object.
template <typename T>
void Spell(const T& value, Json* object) {
  JsonFieldWriter speller(*object);
  Fields(speller, value);
}

Json ToJson(const Plan& plan) {
  Json json;
  Spell(plan, &json);
  if (plan.cascade) {
    Json& cascade = json["cascade"];
    cascade["levels"] = Json::array();
    for (const CascadeLevel& level : plan.cascade->levels) {
      Json& item = cascade["levels"].emplace_back();
      Spell(level.plan, &item);
      Spell(level, &item);
    }
    Spell(*plan.cascade, &cascade);
  }
  if (plan.staged) Spell(*plan.staged, &json);
  json["variants"] = Json::array();
  for (const PlanCore& variant : plan.variants) json["variants"].push_back(ToJson(Plan{variant}));
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

void ReadVariants(FlatReader& reader, FlatFile& file, const std::string& name, Said* said) {
  const FlatReader::Tables* list = reader.FindTables(kVariantsField);
  if (list == nullptr) return;
  said->plan.variants.reserve(list->size());
  for (const Table* entry : *list) {
    FlatReader variant(file, *entry, name + ": variants");
    if (HasEntries(variant, kVariantsField)) reader.Fail(kVariantNests);
    if (HasEntries(variant, kTurnsField)) reader.Fail(kVariantTurns);
    if (variant.Find<Table>(kCascadeField) != nullptr) reader.Fail(kVariantCascade);
    if (HasEntries(variant, kStagesField)) reader.Fail(kInsideStages);
    Plan stored;
    Fields(variant, stored);
    said->AddVariant(stored);
  }
}

/// Reads the levels before the last. They do not nest, so neither does this.
void ReadLevels(FlatReader& reader, const FlatReader::Tables& levels, Said* said) {
  for (const Table* entry : levels) {
    const size_t number = said->plan.cascade->levels.size();
    FlatReader level(reader, *entry, "cascade.levels", number);
    const auto* stored = level.Find<Table>(kPlanOfLevel);
    if (stored == nullptr) return level.Fail("plan is missing");
    FlatReader plan(reader, *stored, "cascade.levels", number);
    if (HasEntries(plan, kVariantsField) || HasEntries(plan, kTurnsField) ||
        plan.Find<Table>(kCascadeField) != nullptr)
      return plan.Fail("a cascade level has variants, turns or a cascade of its own");
    if (HasEntries(plan, kStagesField)) return plan.Fail(kInsideStages);
    Plan its_own;
    Fields(plan, its_own);
    Fields(level, said->AddLevel(its_own));
  }
}

void ReadCascade(FlatReader& reader, FlatFile& file, const std::string& name, Said* said) {
  const auto* stored = reader.Find<Table>(kCascadeField);
  if (stored == nullptr) return;
  PlanCascade& cascade = said->plan.cascade.emplace();
  FlatReader fields(file, *stored, name);
  const auto* levels = fields.Find<FlatReader::Tables>(kLevels);
  if (levels != nullptr && levels->size() >= kMaxCascadeLevels)
    return fields.Fail("cascade.levels does not have 1 or 2 entries");
  if (levels != nullptr) ReadLevels(reader, *levels, said);
  Fields(fields, cascade);
}

Result<Said> FromTables(std::span<const uint8_t> bytes, const std::string& name) {
  STI_ASSIGN_OR_RETURN(const std::span<const uint8_t> framed, FindPayload(kPlanMagic, bytes, name));
  const AlignedPayload payload(framed);
  flatbuffers::Verifier verifier(payload.data(), payload.size());
  if (!fb::VerifyPlanBuffer(verifier)) return TableError(name, kNoTable);
  FlatFile file{Remedy::kCorrectPlan, ListRoom(payload.size(), PlanError(name, kFullProblem))};
  FlatReader reader(file, *flatbuffers::GetRoot<Table>(payload.data()), name);
  Said said;
  Fields(reader, said.plan);
  ReadTurns(reader, &said.plan);
  ReadCascade(reader, file, name, &said);
  if (HasEntries(reader, kStagesField)) Fields(reader, said.plan.staged.emplace());
  ReadVariants(reader, file, name, &said);
  STI_RETURN_IF_ERROR(file.status);
  return said;
}

Place PlanTable(FlatWriter::Builder& builder, const Plan& plan);

Place CascadeTable(FlatWriter::Builder& builder, const PlanCascade& cascade) {
  Places levels;
  for (const CascadeLevel& level : cascade.levels) {
    const Place plan = PlanTable(builder, Plan{level.plan});
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
  for (const PlanCore& variant : plan.variants)
    variants.emplace_back(PlanTable(builder, Plan{variant}));
  FlatWriter writer(builder);
  if (!variants.empty()) writer.PointToList(kVariantsField.number, std::move(variants));
  writer(kTurnsField, plan.turns);
  if (plan.cascade) {
    writer.Point(kCascadeField.number,
                 [&builder, &plan] { return CascadeTable(builder, *plan.cascade); });
  }
  Fields(writer, plan);
  if (plan.staged) Fields(writer, *plan.staged);
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
      Said said, LooksLikeJson(bytes) ? FromJson(bytes, name, unknown) : FromTables(bytes, name));
  if (!said.problem.empty()) return PlanError(name, said.problem);
  if (const auto fault = FindPlanFault(said.plan, {})) return PlanError(name, fault->text());
  return std::move(said.plan);
}

std::vector<uint8_t> EncodePlan(const Plan& plan) {
  assert(plan.ends.whole());  // a stage's plan is of no file
  FlatWriter::Builder builder;
  builder.Finish(flatbuffers::Offset<void>(PlanTable(builder, plan)));
  return WrapFrame(kPlanMagic, {builder.GetBufferPointer(), builder.GetSize()});
}

Digest DigestOfPlan(const Plan& plan) {
  Digester digester;
  digester.Add(EncodePlan(plan));
  return digester.Finish();
}

std::string PlanToJson(const Plan& plan) { return PrintJson(ToJson(plan)); }

}  // namespace sti
