// Sessions of a whole model, and the check that texts which share a pass change nothing for each
// other.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/session.h"
#include "io/container_file.h"
#include "pipeline/pipeline.h"
#include "pipeline/whole_plan.h"
#include "support/expect.h"
#include "text/tokenizer.h"

namespace sti {

/// Returns the plan of all of the model in a container.
inline Result<Plan> WholePlan(const std::string& path) {
  STI_ASSIGN_OR_RETURN(const ContainerFile file, ContainerFile::Open(path));
  return MakeWholePlan(file.index(), {});
}

inline Result<std::unique_ptr<Session>> OpenUnder(const std::string& path, Plan plan,
                                                  const SessionOptions& options = {}) {
  STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(path));
  return Session::Open(std::move(file), std::move(plan), options);
}

inline Result<std::unique_ptr<Session>> OpenWhole(const std::string& path,
                                                  const SessionOptions& options = {}) {
  STI_ASSIGN_OR_RETURN(Plan plan, WholePlan(path));
  return OpenUnder(path, std::move(plan), options);
}

/// Returns what the head gives for an input that is asked alone.
using ValuesAlone = std::function<Result<std::vector<float>>(Session&, const Encoding&)>;

/// Expects that one pass of all texts gives the values that each gives alone, one after another.
inline void ExpectOnePassGivesWhatEachGives(const std::string& path,
                                            std::span<const char* const> texts,
                                            const ValuesAlone& values_alone) {
  auto session = OpenWhole(path);
  ASSERT_TRUE(Succeeded(session));
  std::vector<uint32_t> ids;
  std::vector<uint32_t> offsets{0};
  std::vector<float> expected;
  for (const char* text : texts) {
    const auto encoding = (*session)->Encode(text);
    ASSERT_TRUE(Succeeded(encoding));
    const auto alone = values_alone(**session, *encoding);
    ASSERT_TRUE(Succeeded(alone));
    expected.insert(expected.end(), alone->begin(), alone->end());
    ids.insert(ids.end(), encoding->ids.begin(), encoding->ids.end());
    offsets.push_back(static_cast<uint32_t>(ids.size()));
  }
  auto file = ContainerFile::Open(path);
  ASSERT_TRUE(Succeeded(file));
  auto plan = MakeWholePlan(file->index(), {});
  ASSERT_TRUE(Succeeded(plan));
  auto pipeline = Pipeline::Create(std::move(*file), std::move(*plan), {});
  ASSERT_TRUE(Succeeded(pipeline));
  const std::vector<uint32_t> types(ids.size(), 0);
  PassOutput output;
  RunReport report;
  ASSERT_TRUE(Succeeded((*pipeline)->Run({TokenInput{ids, types}, offsets}, {}, &output, &report)));
  EXPECT_EQ(output.values, expected);
}

}  // namespace sti
