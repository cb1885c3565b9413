#include "base/json_depth.h"

#include <gtest/gtest.h>

#include <string>

namespace sti {
namespace {

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
