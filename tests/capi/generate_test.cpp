// A model that continues texts, through sti.h: what it is asked, under plans and options that come
// and go.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "sti_fixture.h"

namespace sti {
namespace {

struct Row {
  std::string text;
  uint32_t prompt = 0;  ///< tokens
  std::vector<uint32_t> made;
  std::string made_text;
};

// The rows of tests/data/gpt2-tiny/expected.jsonl: greedy continuations by another library.
std::vector<Row> Rows() {
  std::ifstream lines(STI_SOURCE_DIR "/tests/data/gpt2-tiny/expected.jsonl");
  std::vector<Row> rows;
  for (std::string line; std::getline(lines, line);) {
    const auto row = nlohmann::json::parse(line);
    rows.push_back({row["text"], static_cast<uint32_t>(row["ids"].size()),
                    row["made"].get<std::vector<uint32_t>>(), row["made_text"]});
  }
  return rows;
}

// The tokens that a callback is given, and how many of them are enough; 0: none are.
struct Taken {
  std::vector<uint32_t> ids;
  std::string text;
  size_t enough = 0;
  sti_model* model = nullptr;  ///< that it cancels at the first token
  sti_code inside = STI_OK;    ///< of a call from the callback
};

int32_t Take(void* user, uint32_t id, const char* text, size_t size) {
  auto& taken = *static_cast<Taken*>(user);
  taken.ids.push_back(id);
  taken.text.append(text, size);
  if (taken.model != nullptr) {
    taken.inside = sti_wake(taken.model, nullptr);
    std::thread([&] { EXPECT_EQ(sti_cancel(taken.model), STI_OK); }).join();
  }
  return taken.ids.size() == taken.enough ? 1 : 0;
}

class GenerateTest : public StiTest {
 protected:
  void SetUp() override {
    StiTest::SetUp();
    path_ = folder_.File("gpt2.sti");
    const auto source = ModelFolder::Open(STI_SOURCE_DIR "/tests/data/gpt2-tiny");
    ASSERT_TRUE(Succeeded(source));
    ASSERT_TRUE(Succeeded(ShardModel(*source, {}, path_)));
    ASSERT_TRUE(Is(STI_OK, sti_open(host_, path_.c_str(), &gpt2_, &error_), error_));
  }
  void TearDown() override {
    sti_close(gpt2_);
    StiTest::TearDown();
  }

  sti_code Generate(std::string_view text, uint32_t most, Taken* taken = nullptr) {
    return sti_generate(gpt2_, text.data(), text.size(), most, taken != nullptr ? Take : nullptr,
                        taken, &error_);
  }
  [[nodiscard]] std::string Text() const {
    std::string text(sti_text(gpt2_, nullptr, 0), '\0');
    EXPECT_EQ(sti_text(gpt2_, text.data(), text.size()), text.size());
    return text;
  }
  // Whether a row comes out as expected, as far as the context goes.
  void Check(const Row& row, size_t most = 64) {
    Taken taken;
    ASSERT_TRUE(Is(STI_OK, Generate(row.text, static_cast<uint32_t>(most), &taken), error_));
    const auto made = static_cast<size_t>(sti_stat(gpt2_, STI_MADE));
    ASSERT_EQ(taken.ids.size(), made);
    ASSERT_EQ(made, std::min(most, row.made.size()));
    EXPECT_TRUE(std::ranges::equal(taken.ids, std::span(row.made).first(made))) << row.text;
    EXPECT_TRUE(Text().starts_with(taken.text));
    if (made == row.made.size()) {
      EXPECT_EQ(Text(), row.made_text);
    }
  }
  void Set(int32_t option, int64_t value) {
    ASSERT_TRUE(Is(STI_OK, sti_set(gpt2_, option, value, &error_), error_)) << option;
  }
  void Profile() {
    size_t size = 0;
    EXPECT_TRUE(Is(STI_USAGE, sti_profile(gpt2_, 10'000, nullptr, 0, &size, &error_), error_));
    ASSERT_GT(size, 0U) << error_.text;
  }

  sti_model* gpt2_ = nullptr;
};

TEST_F(GenerateTest, ContinuesAsAnotherLibraryDoes) {
  EXPECT_EQ(sti_stat(gpt2_, STI_CONTINUES), 1);
  EXPECT_EQ(sti_stat(model_, STI_CONTINUES), 0);
  EXPECT_EQ(sti_stat(gpt2_, STI_LONGEST), 96);
  EXPECT_EQ(sti_stat(gpt2_, STI_LABELS), 0);
  for (const Row& row : Rows()) {
    Check(row);
    EXPECT_EQ(sti_stat(gpt2_, STI_TOKENS), row.prompt);
    EXPECT_EQ(sti_stat(gpt2_, STI_CONTEXT_LEFT), 96 - row.prompt - row.made.size());
    EXPECT_GT(sti_stat(gpt2_, STI_FIRST_US), 0);
    EXPECT_GE(sti_stat(gpt2_, STI_LATENCY_US), sti_stat(gpt2_, STI_FIRST_US));
    EXPECT_EQ(sti_label(gpt2_, 0), -1);
  }
  // An answer is of the thread that asked for it; another kind of answer has no continuation.
  std::thread([&] { EXPECT_EQ(sti_text(gpt2_, nullptr, 0), 0U); }).join();
  ASSERT_TRUE(Is(STI_OK, Run("a"), error_));
  EXPECT_EQ(sti_text(model_, nullptr, 0), 0U);
  EXPECT_TRUE(std::isnan(sti_stat(model_, STI_MADE)));
  EXPECT_TRUE(std::isnan(sti_stat(model_, STI_CONTEXT_LEFT)));
}

TEST_F(GenerateTest, ACallbackEndsAContinuationAndIsNoPlaceForCalls) {
  const Row row = Rows().front();
  Taken taken;
  taken.enough = 3;
  ASSERT_TRUE(Is(STI_OK, Generate(row.text, 10, &taken), error_));
  EXPECT_EQ(sti_stat(gpt2_, STI_MADE), 3);
  EXPECT_TRUE(std::ranges::equal(taken.ids, std::span(row.made).first(3)));
  std::string small(sti_text(gpt2_, nullptr, 0) - 1, 'x');
  EXPECT_GT(sti_text(gpt2_, small.data(), small.size()), small.size());
  EXPECT_EQ(small.find_first_not_of('x'), std::string::npos) << "there was no room";
  // Cancelled between two tokens there is no answer, and the next call has one.
  Taken cancels;
  cancels.model = gpt2_;
  EXPECT_TRUE(Is(STI_CANCELLED, Generate(row.text, 10, &cancels), error_));
  EXPECT_EQ(cancels.ids.size(), 1U);
  EXPECT_EQ(cancels.inside, STI_USAGE);
  EXPECT_EQ(sti_text(gpt2_, nullptr, 0), 0U);
  Check(row);
}

TEST_F(GenerateTest, PlansAndOptionsComeAndGoWhileTokensStayTheSame) {
  const std::vector<Row> rows = Rows();
  Profile();
  Check(rows[0]);
  Set(STI_TARGET_US, 10'000'000);
  Set(STI_CONTEXT, 40);
  Set(STI_LENGTH, 32);
  ASSERT_TRUE(Is(STI_OK, sti_plan(gpt2_, &error_), error_));
  EXPECT_GT(sti_stat(gpt2_, STI_PREDICTED_US), 0);
  Check(rows[0], 33);  // the context is full
  EXPECT_EQ(sti_stat(gpt2_, STI_CONTEXT_LEFT), 0);
  EXPECT_TRUE(Is(STI_BAD_INPUT, Generate(rows[6].text, 1), error_)) << "54 tokens";
  Set(STI_CONTEXT, 0);
  Set(STI_LENGTH, 0);
  // Shards that stay, and the fewest bytes that do, which leave the words on the flash.
  Set(STI_PRELOAD_BYTES, 1 << 20);
  ASSERT_TRUE(Is(STI_OK, sti_plan(gpt2_, &error_), error_));
  Check(rows[1]);
  const double held = sti_stat(gpt2_, STI_OWN_BYTES);
  const double reads = sti_stat(gpt2_, STI_READ_BYTES);
  Set(STI_PRELOAD_BYTES, 0);
  Set(STI_MEMORY_BYTES, 4096);
  EXPECT_TRUE(Is(STI_INFEASIBLE, sti_plan(gpt2_, &error_), error_));
  const std::string said = error_.text;
  const auto least = std::stoll(said.substr(said.find("STI_MEMORY_BYTES to ") + 20));
  Set(STI_MEMORY_BYTES, least);
  ASSERT_TRUE(Is(STI_OK, sti_plan(gpt2_, &error_), error_));
  Check(rows[1]);
  EXPECT_LE(sti_stat(gpt2_, STI_OWN_BYTES), static_cast<double>(least));
  EXPECT_LT(sti_stat(gpt2_, STI_OWN_BYTES), held);
  EXPECT_GT(sti_stat(gpt2_, STI_READ_BYTES), reads);
  ASSERT_TRUE(Is(STI_OK, sti_trim(gpt2_, 0, &error_), error_));
  // The memory that a refusal of the plan in force names is enough for it.
  Set(STI_MEMORY_BYTES, 4096);
  ASSERT_TRUE(Is(STI_INFEASIBLE, sti_wake(gpt2_, &error_), error_));
  const std::string refused = error_.text;
  Set(STI_MEMORY_BYTES, std::stoll(refused.substr(refused.find("less than the ") + 14)));
  ASSERT_TRUE(Is(STI_OK, sti_wake(gpt2_, &error_), error_));
  for (const Row& row : rows) Check(row);
  // Options that are for labels are refused, and set back the model goes on.
  for (const auto& [option, value] : {std::pair(STI_TURNS, 2), {STI_GUARANTEE, 1}}) {
    Set(option, value);
    EXPECT_TRUE(Is(STI_USAGE, sti_plan(gpt2_, &error_), error_)) << option;
    Set(option, 0);
  }
  for (const auto& [option, value] : {std::pair(STI_WINDOW, 8), {STI_LATE, STI_LATE_DEGRADE}}) {
    Set(option, value);
    EXPECT_TRUE(Is(STI_USAGE, Generate("a", 1), error_)) << option;
    Set(option, 0);
  }
  Set(STI_CONTEXT, 97);
  EXPECT_TRUE(Is(STI_USAGE, sti_plan(gpt2_, &error_), error_));
  EXPECT_NE(std::string(error_.text).find("STI_CONTEXT"), std::string::npos) << error_.text;
  Set(STI_CONTEXT, 0);
  Check(rows[0]);
}

TEST_F(GenerateTest, WhatIsNoTextToContinueIsSaidAndChangesNothing) {
  const Row row = Rows().front();
  EXPECT_TRUE(Is(STI_BAD_INPUT, Generate("", 1), error_));
  EXPECT_TRUE(Is(STI_USAGE, Generate("a", 0), error_));
  EXPECT_TRUE(Is(STI_USAGE, RunOn(gpt2_, "a"), error_));
  EXPECT_STREQ(error_.text, "the model continues texts, and has no other answer to them");
  const uint32_t ids[] = {1, 2};
  EXPECT_TRUE(Is(STI_USAGE, sti_run_ids(gpt2_, ids, 2, &error_), error_));
  EXPECT_TRUE(Is(STI_USAGE, sti_run_image(gpt2_, "P6", 2, &error_), error_));
  EXPECT_TRUE(Is(STI_USAGE, sti_generate(model_, "a", 1, 1, nullptr, nullptr, &error_), error_));
  EXPECT_STREQ(error_.text, "the model continues no texts");
  const std::string examples = "text\tlabel\na b\tone\n";
  EXPECT_NE(sti_give(gpt2_, STI_EXAMPLES, examples.data(), examples.size(), &error_), STI_OK);
  // A plan of no context is one of as many tokens as its inputs may have.
  const auto file = ContainerFile::Open(path_);
  WholePlanOptions whole = WholeAt(4);
  whole.length = 20;
  const std::string plan = PlanToJson(*MakeWholePlan(file->index(), whole));
  ASSERT_TRUE(Is(STI_OK, sti_give(gpt2_, STI_PLAN, plan.data(), plan.size(), &error_), error_));
  ASSERT_TRUE(Is(STI_OK, Generate("x", 64), error_));
  EXPECT_EQ(sti_stat(gpt2_, STI_MADE), 19);
  sti_close(gpt2_);
  ASSERT_TRUE(Is(STI_OK, sti_open(host_, path_.c_str(), &gpt2_, &error_), error_));
  Check(row);
}

}  // namespace
}  // namespace sti
