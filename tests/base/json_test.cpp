#include "base/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/remedy.h"
#include "support/expect.h"
#include "support/memory_meter.h"
#include "support/text.h"

namespace sti {
namespace {

using Json = nlohmann::json;

TEST(ParseJson, GivesWhatTheTextSays) {
  for (const char* text :
       {"null", "true", "-1", "18446744073709551615", "1.5e3", "\"caf\\u00e9 \xC3\xA9\"", "[]",
        "{}", R"({"a": [1, [], {"b": {"c": null}}, "x"], "d": {"e": [[[2]]]}, "f": -0.0})",
        R"([{"a": 1}, [[]], [{}], {"b": [3, 4]}])", R"({"a": 1, "b": 2, "a": 3})"}) {
    const auto parsed = ParseJson(text);
    ASSERT_TRUE(Succeeded(parsed));
    EXPECT_EQ(*parsed, Json::parse(text)) << text;
    EXPECT_EQ(parsed->dump(), Json::parse(text).dump());
  }
}

TEST(ParseJson, RefusesWhatIsNotWellFormed) {
  for (const char* text : {"", "{", "[1,]", "{\"a\"}", "{\"a\":1}x", "nul", "1e999", "\"\xFF\"",
                           "\"a\nb\"", "]", "{1:2}"}) {
    EXPECT_TRUE(FailedWith(ParseJson(text), ErrorKind::kDamaged, "not well-formed JSON")) << text;
  }
}

// The parser behind this one takes a NUL byte for the end of the text.
TEST(ParseJson, RefusesANulByteWhereverItIs) {
  const std::string nul(1, '\0');
  for (const std::string& text : {"{}" + nul, "{}" + nul + "garbage", nul + "{}",
                                  "{\"a" + nul + "\":1}", "[1," + nul + "2]"}) {
    EXPECT_TRUE(FailedWith(ParseJson(text), ErrorKind::kDamaged, "no NUL byte"));
  }
  EXPECT_TRUE(Succeeded(ParseJson("{\"a\":\"\\u0000\"}")));
}

TEST(ParseJson, NestsAsDeepAsIsAllowed) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(Succeeded(ParseJson(nested(64))));
  EXPECT_TRUE(FailedWith(ParseJson(nested(65)), ErrorKind::kDamaged, "nested too deep"));
  EXPECT_TRUE(FailedWith(ParseJson(std::string(1000000, '[')), ErrorKind::kDamaged, "too deep"));
  EXPECT_TRUE(Succeeded(ParseJson("[\"" + std::string(100, '[') + "\"]")));
}

/// A list of so many items.
std::string ListOf(const std::string& item, size_t count) {
  std::string text = "[" + item;
  for (size_t i = 1; i < count; ++i) text += "," + item;
  return text + "]";
}

// Values for which most memory is needed beside their text.
TEST(ParseJson, TakesNoMoreMemoryThanItMay) {
  constexpr uint64_t kMemory = uint64_t{1} << 20;
  constexpr uint64_t kOther = uint64_t{32} << 10;
  std::string members = "{\"0\":0";
  for (int i = 1; i < 100000; ++i) members += ",\"" + std::to_string(i) + "\":0";
  members += "}";
  const std::string texts[] = {ListOf("0", 100000),
                               ListOf("[]", 100000),
                               ListOf("{}", 100000),
                               ListOf("\"\"", 100000),
                               ListOf("\"0123456789abcdef\"", 100000),
                               ListOf("{\"a\":0}", 100000),
                               ListOf("[[[[0]]]]", 100000),
                               ListOf("{\"0123456789abcdef\":[{}]}", 100000),
                               members};
  for (const std::string& text : texts) {
    const MemoryMeter meter;
    EXPECT_TRUE(FailedWith(ParseJson(text, kMemory), ErrorKind::kDamaged, "too much memory",
                           Remedy::kUseBinaryForm))
        << text.substr(0, 40);
    EXPECT_LT(meter.peak_bytes(), kMemory + kOther) << text.substr(0, 40);
    EXPECT_TRUE(Succeeded(ParseJson(text)));
  }
}

// A person finds the place by its byte, and what cannot be seen by its name.
TEST(JsonParse, SaysWhereAndWhy) {
  EXPECT_EQ(ParseJson("{\"a\": 1,}").error().what, "not well-formed JSON at byte 9");
  EXPECT_TRUE(Contains(ParseJson("{\"a\": NaN}").error().what, ", where NaN and Infinity are no"));
  EXPECT_TRUE(Contains(ParseJson("[Infinity]").error().what, ", where NaN and Infinity are no"));
  EXPECT_TRUE(Contains(ParseJson("[\"\\ud83d\"]").error().what, ", half of a surrogate pair"));
  EXPECT_FALSE(Contains(ParseJson("[x]").error().what, ","));
}

TEST(JsonParse, EqualNamesAreRefusedWhereTheReaderAsks) {
  const char* const text = R"({"a": {"b": 1, "c": 2, "b": 3}})";
  EXPECT_EQ((*ParseJson(text))["a"]["b"], 3);
  EXPECT_EQ(ParseJson(text, kMaxJsonMemory, EqualNames::kRefused).error().what,
            "JSON with a name that stands twice");
  EXPECT_TRUE(ParseJson(R"([{"a": 1}, {"a": 2}])", kMaxJsonMemory, EqualNames::kRefused).ok());
}

TEST(JsonDepth, CountsBracketsOfBothKinds) {
  EXPECT_FALSE(JsonIsTooDeep(""));
  EXPECT_FALSE(JsonIsTooDeep(std::string(64, '[')));
  EXPECT_TRUE(JsonIsTooDeep(std::string(65, '[')));
  std::string both;
  for (int i = 0; i < 33; ++i) both += "{\"a\":[";
  EXPECT_TRUE(JsonIsTooDeep(both));
  both.resize(both.size() - 12);
  EXPECT_FALSE(JsonIsTooDeep(both));
}

TEST(JsonDepth, ClosedBracketsAndTextsDoNotCount) {
  std::string wide;
  for (int i = 0; i < 1000; ++i) wide += "[{}],";
  EXPECT_FALSE(JsonIsTooDeep(wide));
  EXPECT_FALSE(JsonIsTooDeep("\"" + std::string(100, '[') + "\""));
  EXPECT_FALSE(JsonIsTooDeep("\"\\\"" + std::string(100, '[') + "\""));
  EXPECT_TRUE(JsonIsTooDeep("\"\\\\\"" + std::string(100, '[')));
  EXPECT_FALSE(JsonIsTooDeep("\"\\"));
}

}  // namespace

}  // namespace sti
