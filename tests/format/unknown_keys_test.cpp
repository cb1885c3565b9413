#include "format/unknown_keys.h"

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "format/frozen_file.h"
#include "format/importance_file.h"
#include "format/plan_file.h"
#include "format/profile_file.h"
#include "support/expect.h"

namespace sti {
namespace {

using Names = std::vector<std::string>;

template <typename Value>
Names UnknownIn(const std::string& json, Result<Value> (*parse)(std::span<const uint8_t>,
                                                                const std::string&, UnknownKeys*)) {
  UnknownKeys unknown;
  EXPECT_TRUE(Succeeded(parse(AsBytes(json), "a.json", &unknown)));
  return unknown.names();
}

TEST(UnknownKeys, OfAProfile) {
  const std::string json = R"({"fixd": [], "io": [{"bits": 2, "load_us": 5, "load_ms": 1},
      {"bits": 3, "load_us": 6, "load_ms": 1}], "compute": [{"length": 8, "width": 1,
      "layer_us": 10}], "thermal": {"hot": true}, "note\u001b": "by hand"})";
  EXPECT_EQ(UnknownIn(json, ParseProfileNoting),
            (Names{"io[].load_ms", "thermal.hot", "fixd", "note?"}));
}

TEST(UnknownKeys, AreNoMoreThanEight) {
  std::string json = R"({"io": [{"bits": 2, "load_us": 5}],
      "compute": [{"length": 8, "width": 1, "layer_us": 10}])";
  for (int i = 0; i < 100; ++i)
    json += ", \"" + std::string(1000, 'a') + std::to_string(i) + "\": 1";
  for (int i = 0; i < 100; ++i) json += ", \"b" + std::to_string(i) + "\": 1";
  const Names names = UnknownIn(json + "}", ParseProfileNoting);
  EXPECT_EQ(names.size(), 8U);
  for (const std::string& name : names) EXPECT_LE(name.size(), 50U);
}

// Tools know what they write: no field of the frozen files is unknown.
TEST(UnknownKeys, FilesOfToolsHaveNone) {
  for (const char* version : {"v1", "v1.1", "v1.2", "v1.3", "v1.4"}) {
    const std::string tiny = std::string(version) + "/tiny.";
    EXPECT_EQ(UnknownIn(test::Frozen(tiny + "profile.json"), ParseProfileNoting), Names{}) << tiny;
  }
  for (const char* version : {"v1", "v1.1", "v1.2", "v1.3", "v1.4", "v1.5", "v1.6"}) {
    const std::string tiny = std::string(version) + "/tiny.";
    EXPECT_EQ(UnknownIn(test::Frozen(tiny + "plan.json"), ParsePlanNoting), Names{}) << tiny;
    EXPECT_EQ(UnknownIn(test::Frozen(tiny + "importance.json"), ParseImportanceNoting), Names{});
  }
}

}  // namespace
}  // namespace sti
