// Files as they were written once, and what they must still mean.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/atomic_file.h"

namespace sti::test {

/// The content of a file of tests/data.
inline std::string Frozen(const std::string& name) {
  auto content = ReadWholeFile(std::string(STI_SOURCE_DIR) + "/tests/data/" + name, 1 << 20);
  EXPECT_TRUE(content.ok()) << name;
  return content.ok() ? *content : "";
}

/// Later versions add fields; none that was there means anything else.
inline void ExpectHolds(const nlohmann::json& written, const nlohmann::json& meaning,
                        const std::string& where) {
  ASSERT_EQ(written.type(), meaning.type()) << where;
  if (!meaning.is_structured()) {
    EXPECT_EQ(written, meaning) << where;
    return;
  }
  if (meaning.is_array()) {
    ASSERT_EQ(written.size(), meaning.size()) << where;
  }
  for (const auto& [key, value] : meaning.items()) {
    if (meaning.is_object()) {
      ASSERT_TRUE(written.contains(key)) << where << "." << key;
    }
    const nlohmann::json& now = meaning.is_object() ? written[key] : written[std::stoul(key)];
    ExpectHolds(now, value, where + "." + key);
  }
}

}  // namespace sti::test
