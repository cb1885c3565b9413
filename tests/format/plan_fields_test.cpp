// The description of a plan beside its schema: what flatc made of the schema checks a file before
// the description says where in a table to look, so both must mean the same.
#include "types/plan_fields.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace sti {
namespace {

/// The type and default of a field in a schema: "double = null".
std::string TypeOf(const Digest& /*value*/, const Rule& /*rule*/) { return "[ubyte]"; }
std::string TypeOf(const std::string& /*value*/, const Rule& /*rule*/) { return "string"; }
std::string TypeOf(const Grid<uint32_t>& /*value*/, const Rule& /*rule*/) { return "[uint]"; }
std::string TypeOf(bool /*value*/, const Rule& rule) {
  return rule.left_out != 0 ? "bool = true" : "bool";
}
std::string TypeOf(uint32_t /*value*/, const Rule& rule) {
  return rule.left_out != 0 ? "uint = 1" : "uint";
}
std::string TypeOf(uint64_t /*value*/, const Rule& /*rule*/) { return "ulong"; }
std::string TypeOf(double /*value*/, const Rule& rule) {
  return rule.left_out != 0 ? "double = 1" : "double";
}
std::string TypeOf(const std::optional<double>& /*value*/, const Rule& rule) {
  return rule.zero_is_nothing ? "double" : "double = null";
}
std::string TypeOf(const std::optional<uint32_t>& /*value*/, const Rule& rule) {
  return rule.zero_is_nothing ? "uint" : "uint = null";
}
std::string TypeOf(const std::optional<uint64_t>& /*value*/, const Rule& rule) {
  return rule.zero_is_nothing ? "ulong" : "ulong = null";
}
std::string TypeOf(const std::optional<std::string>& /*value*/, const Rule& /*rule*/) {
  return "string";
}
std::string TypeOf(const std::optional<PlanTimes>& /*value*/, const Rule& /*rule*/) {
  return "PlanTimes";
}
std::string TypeOf(const std::optional<Fallback>& /*value*/, const Rule& /*rule*/) {
  return "PlanFallback";
}
std::string TypeOf(const std::vector<ShardAtBits>& /*value*/, const Rule& /*rule*/) {
  return "[PreloadEntry]";
}
std::string TypeOf(const std::vector<PlanStage>& /*value*/, const Rule& /*rule*/) {
  return "[PlanStage]";
}
std::string TypeOf(const std::vector<uint32_t>& /*value*/, const Rule& /*rule*/) {
  return "[uint]";
}
std::string TypeOf(const std::vector<double>& /*value*/, const Rule& /*rule*/) {
  return "[double]";
}

using Table = std::map<uint16_t, std::string>;  // "layer_us: double" of each place

/// Collects a description.
struct Collector {
  Table table;
  template <typename T>
  void operator()(const Field& field, const T& value) {
    table[field.number] = std::string(field.name) + ": " + TypeOf(value, field.rule);
  }
  void Rows(const Field& first, const Grid<uint32_t>&, const Field&, const Grid<uint32_t>&) {
    table[first.number] = "rows: [PlanRow]";
  }
};

template <typename T>
Table Described(Table by_hand = {}) {
  Collector collector{std::move(by_hand)};
  const T value;
  Fields(collector, value);
  return collector.table;
}

Table InSchema(const std::string& name) {
  std::ifstream file(STI_SOURCE_DIR "/schemas/plan.fbs");
  const std::string schema(std::istreambuf_iterator<char>(file), {});
  const size_t begin = schema.find("table " + name + " {");
  std::istringstream lines(schema.substr(begin, schema.find('}', begin) - begin));
  const std::regex field(R"( *(\w+):([^;]+);.*)");
  Table table;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, field)) continue;
    table[static_cast<uint16_t>(table.size())] = match[1].str() + ": " + match[2].str();
  }
  return table;
}

TEST(PlanFields, StandInTheSchemaWhereTheirDescriptionSays) {
  EXPECT_EQ(Described<ShardAtBits>(), InSchema("PreloadEntry"));
  EXPECT_EQ(Described<PlanTurn>(), InSchema("PlanTurn"));
  EXPECT_EQ(Described<PlanTimes>(), InSchema("PlanTimes"));
  EXPECT_EQ(Described<Fallback>(), InSchema("PlanFallback"));
  EXPECT_EQ(Described<CascadeLevel>({{0, "plan: Plan"}}), InSchema("PlanCascadeLevel"));
  EXPECT_EQ(Described<PlanCascade>({{0, "levels: [PlanCascadeLevel]"}}), InSchema("PlanCascade"));
  Table plan = Described<Plan>({{kVariantsField.number, "variants: [Plan]"},
                                {kTurnsField.number, "turns: [PlanTurn]"},
                                {kCascadeField.number, "cascade: PlanCascade"}});
  plan.merge(Described<PlanStages>());
  EXPECT_EQ(plan, InSchema("Plan"));
  EXPECT_EQ(Described<PlanStage>(), InSchema("PlanStage"));
  EXPECT_EQ(InSchema("PlanRow"), (Table{{0, "slices: [uint]"}, {1, "bits: [uint]"}}));
}

}  // namespace
}  // namespace sti
