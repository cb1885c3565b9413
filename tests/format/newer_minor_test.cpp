// Small files of a later minor version mean what they mean without the fields we do not know.
#include <gtest/gtest.h>

#include <string>

#include "base/atomic_file.h"
#include "base/utf8.h"
#include "format/importance_file.h"
#include "format/importance_part_file.h"
#include "format/label_vectors_file.h"
#include "format/next_version/next_version.h"
#include "format/plan_file.h"
#include "format/profile_file.h"
#include "format/small_file_test.h"
#include "support/expect.h"

namespace sti {
namespace {

template <typename Value>
void ExpectSameMeaning(const std::string& name,
                       Result<Value> (*parse)(std::span<const uint8_t>, const std::string&),
                       std::string (*to_json)(const Value&)) {
  const auto content = ReadWholeFile(std::string(STI_SOURCE_DIR) + "/tests/data/" + name, 1 << 20);
  ASSERT_TRUE(Succeeded(content));
  const auto now = parse(AsBytes(*content), name);
  ASSERT_TRUE(Succeeded(now));
  const test::Bin next = NextVersion(AsBytes(*content));
  ASSERT_GT(next.size(), content->size() + 800);
  const auto later = parse(next, name);
  ASSERT_TRUE(Succeeded(later));
  EXPECT_EQ(to_json(*later), to_json(*now));
  // It is still a checked file.
  test::ExpectDamageIsFound(next, [&](std::span<const uint8_t> bytes) -> Status {
    const auto parsed = parse(bytes, "a.file");
    return parsed.ok() ? Status() : Status(parsed.error());
  });
}

TEST(NewerMinor, Importance) {
  ExpectSameMeaning<Importance>("v1/tiny.importance", ParseImportance, ImportanceToJson);
  ExpectSameMeaning<Importance>("v1.6/tiny.importance", ParseImportance, ImportanceToJson);
  ExpectSameMeaning<Importance>("v1.8/sentences.importance", ParseImportance, ImportanceToJson);
  ExpectSameMeaning<Importance>("v1.9/tokens.importance", ParseImportance, ImportanceToJson);
}
TEST(NewerMinor, PartOfAnImportance) {
  for (const char* name : {"v1/tiny.part", "v1.3/sentences.part", "v1.4/tokens.part"}) {
    const auto content =
        ReadWholeFile(std::string(STI_SOURCE_DIR) + "/tests/data/" + name, 1 << 20);
    ASSERT_TRUE(Succeeded(content));
    const test::Bin next = NextVersion(AsBytes(*content));
    ASSERT_GT(next.size(), content->size() + 800);
    const auto later = ParseImportancePart(next, "a.part");
    ASSERT_TRUE(Succeeded(later));
    const auto encoded = EncodeImportancePart(*later);
    EXPECT_EQ(std::string(encoded.begin(), encoded.end()), *content);
  }
}
TEST(NewerMinor, LabelVectors) {
  const auto content =
      ReadWholeFile(std::string(STI_SOURCE_DIR) + "/tests/data/v1.8/tiny.vectors", 1 << 20);
  ASSERT_TRUE(Succeeded(content));
  const auto later = ParseLabelVectors(NextVersion(AsBytes(*content)), "tiny.vectors");
  ASSERT_TRUE(Succeeded(later));
  const auto encoded = EncodeLabelVectors(*later);
  ASSERT_TRUE(Succeeded(encoded));
  EXPECT_EQ(std::string(encoded->begin(), encoded->end()), *content);
}
TEST(NewerMinor, Profile) {
  ExpectSameMeaning<DeviceProfile>("v1/tiny.profile", ParseProfile, ProfileToJson);
  ExpectSameMeaning<DeviceProfile>("v1.1/tiny.profile", ParseProfile, ProfileToJson);
  ExpectSameMeaning<DeviceProfile>("v1.2/tiny.profile", ParseProfile, ProfileToJson);
  ExpectSameMeaning<DeviceProfile>("v1.5/tiny.profile", ParseProfile, ProfileToJson);
}
TEST(NewerMinor, Plan) {
  ExpectSameMeaning<Plan>("v1/tiny.plan", ParsePlan, PlanToJson);
  ExpectSameMeaning<Plan>("v1.1/tiny.plan", ParsePlan, PlanToJson);
  ExpectSameMeaning<Plan>("v1.2/tiny.plan", ParsePlan, PlanToJson);
  ExpectSameMeaning<Plan>("v1.3/tiny.plan", ParsePlan, PlanToJson);
  ExpectSameMeaning<Plan>("v1.6/tiny.plan", ParsePlan, PlanToJson);
  ExpectSameMeaning<Plan>("v1.7/sentences.plan", ParsePlan, PlanToJson);
  ExpectSameMeaning<Plan>("v1.8/tokens.plan", ParsePlan, PlanToJson);
  ExpectSameMeaning<Plan>("v1.9/stages.plan", ParsePlan, PlanToJson);
  ExpectSameMeaning<Plan>("v1.10/gpt2.plan", ParsePlan, PlanToJson);
  ExpectSameMeaning<Plan>("v1.10/images.plan", ParsePlan, PlanToJson);
}

}  // namespace
}  // namespace sti
