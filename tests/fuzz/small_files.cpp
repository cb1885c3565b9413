#include <algorithm>
#include <vector>

#include "format/framed_file.h"
#include "format/importance_file.h"
#include "format/importance_part_file.h"
#include "format/plan_file.h"
#include "format/profile_file.h"
#include "fuzz/targets.h"
#include "types/plan_check.h"

namespace sti::fuzz {
namespace {

using Bin = std::vector<uint8_t>;

template <typename Value>
struct Codec {
  std::string_view magic;
  Result<Value> (*parse)(std::span<const uint8_t>, const std::string&);
  Bin (*encode)(const Value&);
  std::string (*to_json)(const Value&);
};

// Requires that a value that is read can be written in both spellings, and that both read back as
// the same.
template <typename Value>
void Check(const Codec<Value>& codec, Input input) {
  const auto value = codec.parse(input, "f");
  if (!value.ok()) return RequireDataError(value.error());
  const std::string json = codec.to_json(*value);
  const auto from_binary = codec.parse(codec.encode(*value), "f");
  Require(from_binary.ok(), "the binary spelling of a value is read");
  Require(codec.to_json(*from_binary) == json, "the binary spelling means the same");
  const auto from_json =
      codec.parse({reinterpret_cast<const uint8_t*>(json.data()), json.size()}, "f");
  if (!from_json.ok()) RequireDataError(from_json.error());
  Require(from_json.ok(), "the JSON spelling of a value is read");
  Require(codec.to_json(*from_json) == json, "the JSON spelling means the same");
}

// Checks the input as it is; then what follows the magic and 32 bytes in a frame whose checksums
// are right.
template <typename Value>
void CheckBoth(const Codec<Value>& codec, Input input) {
  constexpr size_t kHeaderBytes = 40;
  Check(codec, input);
  if (input.size() < kHeaderBytes ||
      !std::equal(codec.magic.begin(), codec.magic.end(), input.begin())) {
    return;
  }
  Check(codec, WrapFrame(codec.magic, input.subspan(kHeaderBytes)));
}

}  // namespace

void Importance(Input input) {
  CheckBoth<sti::Importance>(
      {kImportanceMagic, ParseImportance, EncodeImportance, ImportanceToJson}, input);
}

// Checks a part, which has one spelling, as it is; then with its checksums put right.
void ImportancePart(Input input) {
  constexpr size_t kHeaderBytes = 40;
  const auto check = [](Input bytes) {
    const auto part = ParseImportancePart(bytes, "f");
    if (!part.ok()) return RequireDataError(part.error());
    const auto again = ParseImportancePart(EncodeImportancePart(*part), "f");
    Require(again.ok(), "a part that was read is read again");
    Require(again->job == part->job && again->tallies == part->tallies, "and means the same");
  };
  check(input);
  if (input.size() < kHeaderBytes || !IsImportancePart(input)) return;
  check(WrapFrame(kImportancePartMagic, input.subspan(kHeaderBytes)));
}

void Profile(Input input) {
  CheckBoth<DeviceProfile>({kProfileMagic, ParseProfile, EncodeProfile, ProfileToJson}, input);
}

// Requires that a plan that was read keeps the rules of plans. Asked whether it fits a small model,
// the check answers in one short line.
Result<sti::Plan> ParseAndCheckPlan(Input input, const std::string& name) {
  auto plan = ParsePlan(input, name);
  if (!plan.ok()) return plan;
  Require(!FindPlanFault(*plan, {}), "a plan that was read has no fault");
  PlanBounds small;
  small.layers = 4;
  small.width = 2;
  small.least_length = 2;
  small.most_length = 128;
  small.holds = [](const ShardAtBits& shard) { return shard.bits % 2 == 0; };
  const auto fault = FindPlanFault(*plan, small);
  if (fault) RequireDataError(DataError(fault->text()));
  return plan;
}

void Plan(Input input) {
  CheckBoth<sti::Plan>({kPlanMagic, ParseAndCheckPlan, EncodePlan, PlanToJson}, input);
}

}  // namespace sti::fuzz
