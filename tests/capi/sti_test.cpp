// The C library through sti.h alone: codes, plans, memory given back, threads.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "io/block_reader.h"
#include "sti_fixture.h"
#include "support/locked_bytes.h"
#include "support/sanitizers.h"
#include "text/tokenizer.h"

namespace sti {
namespace {

constexpr std::string_view kTexts[] = {"a", "b c", "a b c d", "c a b"};

TEST_F(StiTest, ACascadesLevelAndConfidenceAreFigures) {
  ASSERT_TRUE(Is(STI_OK, Run("a"), error_));
  EXPECT_TRUE(std::isnan(sti_stat(model_, STI_LEVEL)));
  EXPECT_TRUE(std::isnan(sti_stat(model_, STI_CONFIDENCE)));
  const auto file = ContainerFile::Open(path_);
  auto plan = MakeWholePlan(file->index(), WholeAt(6));
  ASSERT_TRUE(Succeeded(plan));
  const Plan level = *MakeWholePlan(file->index(), WholeAt(3));
  for (const double cutoff : {0.0, 1.0}) {
    plan->cascade = {.levels = {{.plan = level, .rule = {.cutoff = cutoff}}},
                     .return_share = {0.25},
                     .path_us = {100, 300},
                     .worst_path_us = 400};
    ASSERT_TRUE(Is(STI_OK, Give(STI_PLAN, PlanToJson(*plan)), error_));
    ASSERT_TRUE(Is(STI_OK, Run("a b"), error_));
    EXPECT_EQ(ScoresOf(model_), Expected("a b", cutoff == 0 ? 3 : 6));
    EXPECT_EQ(sti_stat(model_, STI_LEVEL), cutoff == 0 ? 1 : 2);
    EXPECT_GT(sti_stat(model_, STI_CONFIDENCE), 1.0 / 3);
    EXPECT_LE(sti_stat(model_, STI_CONFIDENCE), 1);
    EXPECT_EQ(sti_stat(model_, STI_PREDICTED_US), 300) << "of the middle one of all inputs";
    EXPECT_EQ(sti_stat(model_, STI_PREDICTED_P99_US), 400);
  }
}

TEST_F(StiTest, AnswersAsASessionDoes) {
  for (const std::string_view text : kTexts) {
    ASSERT_TRUE(Is(STI_OK, Run(text), error_));
    EXPECT_EQ(ScoresOf(model_), Expected(text));
    EXPECT_EQ(ScoresOf(model_).size(), sti_stat(model_, STI_LABELS));
    const int32_t best = sti_label(model_, 0);
    for (uint32_t rank = 1; sti_label(model_, rank) >= 0; ++rank)
      EXPECT_GE(sti_score(model_, best), sti_score(model_, sti_label(model_, rank)));
    EXPECT_STRNE(sti_name(model_, best), nullptr);
  }
  EXPECT_EQ(sti_stat(model_, STI_TURN), 4);
  EXPECT_EQ(sti_stat(model_, STI_DEPTH), 3);
  EXPECT_EQ(sti_stat(model_, STI_IS_LATE), 0);
  EXPECT_GT(sti_stat(model_, STI_LATENCY_US), 0);
  ASSERT_TRUE(Is(STI_OK, sti_end_turns(model_, &error_), error_));
  ASSERT_TRUE(Is(STI_OK, Run("a"), error_));
  EXPECT_EQ(sti_stat(model_, STI_TURN), 1);
}

TEST_F(StiTest, LongTextsAreReadInWindows) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "a b c ";
  ASSERT_TRUE(Is(STI_OK, Run(text), error_));
  EXPECT_EQ(sti_stat(model_, STI_TRUNCATED), 1);
  EXPECT_EQ(sti_stat(model_, STI_WINDOWS), 1);
  ASSERT_TRUE(Is(STI_OK, sti_set(model_, STI_WINDOW, 12, &error_), error_));
  ASSERT_TRUE(Is(STI_OK, Run(text), error_));
  EXPECT_EQ(sti_stat(model_, STI_TRUNCATED), 0);
  EXPECT_EQ(sti_stat(model_, STI_TOKENS), 92);
  const double half = sti_stat(model_, STI_WINDOWS);
  ASSERT_TRUE(Is(STI_OK, sti_set(model_, STI_STRIDE, 12, &error_), error_));
  ASSERT_TRUE(Is(STI_OK, Run(text), error_));
  EXPECT_EQ(sti_stat(model_, STI_WINDOWS), 9) << "ten tokens each";
  EXPECT_GT(half, 9);
  EXPECT_EQ(sti_stat(model_, STI_TURN), 1) << "a text is one input";
  // Ids are of no text, and fit or not.
  std::vector<uint32_t> ids(20, 5);
  ASSERT_TRUE(Is(STI_OK, sti_run_ids(model_, ids.data(), ids.size(), &error_), error_));
  EXPECT_EQ(sti_stat(model_, STI_WINDOWS), 1);
  for (const auto& [option, value] : {std::pair(STI_STRIDE, 13), std::pair(STI_WINDOW, 2)}) {
    ASSERT_TRUE(Is(STI_OK, sti_set(model_, option, value, &error_), error_));
    EXPECT_TRUE(Is(STI_USAGE, Run(text), error_));
    ASSERT_TRUE(Is(STI_OK, sti_set(model_, option, 12, &error_), error_));
    EXPECT_TRUE(Is(STI_OK, Run(text), error_));
  }
}

TEST_F(StiTest, IdsAreAnsweredAsTheirText) {
  ASSERT_TRUE(Is(STI_OK, Run("a b"), error_));
  const std::vector<double> expected = ScoresOf(model_);
  std::vector<uint32_t> ids = OpenSession()->Encode("a b")->ids;
  EXPECT_EQ(ids.size(), sti_stat(model_, STI_TOKENS));
  ASSERT_TRUE(Is(STI_OK, sti_run_ids(model_, ids.data(), ids.size(), &error_), error_));
  EXPECT_EQ(ScoresOf(model_), expected);
  ids.back() = UINT32_MAX;
  EXPECT_TRUE(Is(STI_BAD_INPUT, sti_run_ids(model_, ids.data(), ids.size(), &error_), error_));
  EXPECT_EQ(sti_label(model_, 0), -1) << "a run that failed leaves no answer";
  EXPECT_TRUE(Is(STI_BAD_INPUT, sti_run_ids(model_, ids.data(), 0, &error_), error_));
}

TEST_F(StiTest, NullsAndUnknownNumbersAreUsage) {
  sti_model* model = nullptr;
  sti_host* host = nullptr;
  size_t size = 0;
  const std::vector<std::function<sti_code(sti_error*)>> calls = {
      [&](sti_error* e) { return sti_host_new(1, nullptr, nullptr, nullptr, e); },
      [&](sti_error* e) { return sti_host_new(257, nullptr, nullptr, &host, e); },
      [&](sti_error* e) { return sti_open(nullptr, "a", &model, e); },
      [&](sti_error* e) { return sti_open(host_, nullptr, &model, e); },
      [&](sti_error* e) { return sti_open(host_, "a", nullptr, e); },
      [&](sti_error* e) { return sti_open_fd(nullptr, 0, 0, 0, &model, e); },
      [&](sti_error* e) { return sti_open_read(host_, nullptr, nullptr, 1, &model, e); },
      [&](sti_error* e) { return sti_give(nullptr, STI_PLAN, "", 0, e); },
      [&](sti_error* e) { return sti_give(model_, STI_PLAN, nullptr, 0, e); },
      [&](sti_error* e) { return sti_give(model_, 0, "", 0, e); },
      [&](sti_error* e) { return sti_give(model_, 5, "", 0, e); },
      [&](sti_error* e) { return sti_profile(nullptr, 0, nullptr, 0, &size, e); },
      [&](sti_error* e) { return sti_profile(model_, 0, nullptr, 0, nullptr, e); },
      [&](sti_error* e) { return sti_profile(model_, 0, nullptr, 0, &size, e); },
      [&](sti_error* e) { return sti_set(nullptr, STI_TARGET_US, 1, e); },
      [&](sti_error* e) { return sti_set(model_, 0, 1, e); },
      [&](sti_error* e) { return sti_set(model_, 15, 1, e); },
      [&](sti_error* e) { return sti_set(model_, STI_LATE, 2, e); },
      [&](sti_error* e) { return sti_set(model_, STI_GUARANTEE, 2, e); },
      [&](sti_error* e) { return sti_set(model_, STI_COMPUTE, 4, e); },
      [&](sti_error* e) { return sti_set(model_, STI_TARGET_US, -1, e); },
      [&](sti_error* e) { return sti_set(model_, STI_MIN_ACCURACY_PPM, 1'000'001, e); },
      [&](sti_error* e) { return sti_plan(nullptr, e); },
      [&](sti_error* e) { return sti_plan(model_, e); },
      [&](sti_error* e) { return sti_wake(nullptr, e); },
      [&](sti_error* e) { return sti_run(nullptr, "a", 1, nullptr, 0, e); },
      [&](sti_error* e) { return sti_run(model_, nullptr, 1, nullptr, 0, e); },
      [&](sti_error* e) { return sti_run(model_, "a", SIZE_MAX, nullptr, 0, e); },
      [&](sti_error* e) { return sti_run_ids(nullptr, nullptr, 0, e); },
      [&](sti_error* e) { return sti_run_ids(model_, nullptr, 1, e); },
      [&](sti_error* e) { return sti_run_image(nullptr, "", 0, e); },
      [&](sti_error* e) { return sti_run_image(model_, nullptr, 1, e); },
      [&](sti_error* e) { return sti_run_image(model_, "P6 1 1 255\n...", 14, e); },
      [&](sti_error* e) { return sti_generate(nullptr, "a", 1, 1, nullptr, nullptr, e); },
      [&](sti_error* e) { return sti_generate(model_, "a", 1, 1, nullptr, nullptr, e); },
      [&](sti_error* e) { return sti_generate(model_, nullptr, 1, 1, nullptr, nullptr, e); },
      [&](sti_error* e) { return sti_end_turns(nullptr, e); },
      [&](sti_error* e) { return sti_trim(nullptr, 0, e); },
  };
  for (size_t i = 0; i < calls.size(); ++i) {
    EXPECT_TRUE(Is(STI_USAGE, calls[i](&error_), error_)) << "call " << i;
    EXPECT_NE(std::string(error_.text), "") << "call " << i;
    EXPECT_EQ(calls[i](nullptr), STI_USAGE) << "call " << i;
  }
  EXPECT_EQ(sti_cancel(nullptr), STI_USAGE);
  EXPECT_EQ(sti_label(nullptr, 0), -1);
  EXPECT_TRUE(std::isnan(sti_score(nullptr, 0)));
  EXPECT_EQ(sti_text(nullptr, nullptr, 0), 0U);
  EXPECT_EQ(sti_name(nullptr, 0), nullptr);
  EXPECT_EQ(sti_name(model_, -1), nullptr);
  EXPECT_EQ(sti_name(model_, 1000), nullptr);
  EXPECT_TRUE(std::isnan(sti_stat(nullptr, STI_LABELS)));
  EXPECT_TRUE(std::isnan(sti_stat(model_, 0)));
  EXPECT_TRUE(std::isnan(sti_stat(model_, 31)));
  EXPECT_TRUE(std::isnan(sti_stat(model_, 1000)));
  EXPECT_TRUE(std::isnan(sti_stat(model_, INT32_MIN)));
  sti_close(nullptr);
  sti_host_free(nullptr);
  ASSERT_TRUE(Is(STI_OK, Run("a"), error_)) << "and the model goes on";
}

TEST_F(StiTest, ACallThatAnswersNothingLeavesNoAnswer) {
  const uint32_t ids[] = {2, 3};
  const uint32_t unknown[] = {2, UINT32_MAX};
  const std::vector<std::function<sti_code()>> calls = {
      [&] { return sti_run(model_, nullptr, 1, nullptr, 0, nullptr); },
      [&] { return sti_run(model_, "a", SIZE_MAX, nullptr, 0, nullptr); },
      [&] { return sti_run(model_, "a", 1, "b", SIZE_MAX, nullptr); },
      [&] { return sti_run_ids(model_, nullptr, 1, nullptr); },
      [&] { return sti_run_ids(model_, ids, 0, nullptr); },
      [&] { return sti_run_ids(model_, ids, SIZE_MAX, nullptr); },
      [&] { return sti_run_ids(model_, unknown, 2, nullptr); },
      [&] { return sti_run_image(model_, "", 0, nullptr); },
      [&] { return sti_generate(model_, "a", 1, 1, nullptr, nullptr, nullptr); },
  };
  for (size_t i = 0; i < calls.size(); ++i) {
    ASSERT_TRUE(Is(STI_OK, Run("a"), error_));
    ASSERT_GE(sti_label(model_, 0), 0);
    EXPECT_NE(calls[i](), STI_OK) << "call " << i;
    EXPECT_EQ(sti_label(model_, 0), -1) << "call " << i;
    EXPECT_TRUE(std::isnan(sti_score(model_, 0))) << "call " << i;
    EXPECT_TRUE(std::isnan(sti_stat(model_, STI_TOKENS))) << "call " << i;
  }
}

TEST_F(StiTest, CodesTellFilesApart) {
  sti_model* model = model_;
  EXPECT_TRUE(
      Is(STI_NO_SUCH_FILE, sti_open(host_, folder_.File("no").c_str(), &model, &error_), error_));
  EXPECT_EQ(model, nullptr);
  EXPECT_TRUE(Is(STI_NO_SUCH_FILE, sti_open(host_, "/", &model, &error_), error_));
  std::ofstream(folder_.File("cut"), std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes_.data()), 8192);
  EXPECT_TRUE(
      Is(STI_DAMAGED, sti_open(host_, folder_.File("cut").c_str(), &model, &error_), error_));
  EXPECT_TRUE(Is(STI_READ_FAILED, sti_open_fd(host_, -1, 0, 0, &model, &error_), error_));
  EXPECT_TRUE(Is(STI_DAMAGED, Give(STI_PLAN, "{}"), error_));
  EXPECT_EQ(error_.about, STI_PLAN);
  EXPECT_TRUE(Is(STI_FOREIGN, Give(STI_PROFILE, "x"), error_));
  EXPECT_EQ(error_.about, STI_PROFILE);
  EXPECT_TRUE(Is(STI_FOREIGN, Give(STI_IMPORTANCE, ""), error_));
  EXPECT_EQ(error_.about, STI_IMPORTANCE);
}

TEST_F(StiTest, APlanThatFailsLeavesTheOldOne) {
  ASSERT_TRUE(Is(STI_OK, Give(STI_PLAN, PlanAt(3)), error_));
  ASSERT_TRUE(Is(STI_OK, Run("a b"), error_));
  EXPECT_EQ(ScoresOf(model_), Expected("a b", 3));
  std::string foreign = PlanAt(4);
  const size_t digest = foreign.find("\"model\": \"") + std::strlen("\"model\": \"");
  foreign[digest] = foreign[digest] == '0' ? '1' : '0';
  EXPECT_TRUE(Is(STI_FOREIGN, Give(STI_PLAN, foreign), error_));
  EXPECT_EQ(error_.about, STI_PLAN);
  ASSERT_TRUE(Is(STI_OK, Run("a b"), error_));
  EXPECT_EQ(ScoresOf(model_), Expected("a b", 3));
  // In the other spelling, and where the model was given back meanwhile.
  ASSERT_TRUE(Is(STI_OK, sti_trim(model_, 0, &error_), error_));
  EXPECT_TRUE(Is(STI_FOREIGN, Give(STI_PLAN, foreign), error_));
  ASSERT_TRUE(Is(STI_OK, Run("a b"), error_));
  EXPECT_EQ(ScoresOf(model_), Expected("a b", 3));
  ASSERT_TRUE(Is(STI_OK, Give(STI_PLAN, PlanAt(4, false)), error_));
  ASSERT_TRUE(Is(STI_OK, Run("a b"), error_));
  EXPECT_EQ(ScoresOf(model_), Expected("a b", 4));
}

TEST_F(StiTest, TrimGivesBackAllButTheIndexAndTheNextRunLoadsIt) {
  ASSERT_TRUE(Is(STI_OK, Run("a b"), error_));
  const double own = sti_stat(model_, STI_OWN_BYTES);
  EXPECT_GT(own, 0);
  ASSERT_TRUE(Is(STI_OK, sti_trim(model_, static_cast<uint64_t>(own), &error_), error_));
  EXPECT_EQ(sti_stat(model_, STI_OWN_BYTES), own) << "no more than was asked for";
  ASSERT_TRUE(Is(STI_OK, sti_trim(model_, 0, &error_), error_));
  EXPECT_EQ(sti_stat(model_, STI_OWN_BYTES), 0);
  EXPECT_EQ(ScoresOf(model_), Expected("a b")) << "the answer stays";
  ASSERT_TRUE(Is(STI_OK, Run("c"), error_));
  EXPECT_EQ(ScoresOf(model_), Expected("c"));
  EXPECT_EQ(sti_stat(model_, STI_OWN_BYTES), own);
}

// A container stays open, whatever fails meanwhile and whatever takes its name.
TEST_F(StiTest, AFileThatIsReplacedIsReadOn) {
  const std::vector<double> expected = Expected("a");
  ASSERT_TRUE(Is(STI_OK, sti_set(model_, STI_MEMORY_BYTES, 1, &error_), error_));
  EXPECT_TRUE(Is(STI_INFEASIBLE, Run("a"), error_));
  EXPECT_TRUE(Is(STI_INFEASIBLE, Give(STI_PLAN, PlanAt(3)), error_));
  ASSERT_TRUE(Is(STI_OK, sti_set(model_, STI_MEMORY_BYTES, 0, &error_), error_));
  ASSERT_TRUE(Is(STI_OK, sti_set(model_, STI_LATE, STI_LATE_DEGRADE, &error_), error_));
  EXPECT_TRUE(Is(STI_USAGE, Run("a"), error_)) << "the plan has no target";
  ASSERT_TRUE(Is(STI_OK, sti_set(model_, STI_LATE, STI_LATE_WAIT, &error_), error_));
  TinyModelOptions other;
  other.layers = 2;
  ASSERT_TRUE(Succeeded(WriteTinyContainer(path_, other)));
  ASSERT_TRUE(Is(STI_OK, Run("a"), error_));
  EXPECT_EQ(ScoresOf(model_), expected);
}

TEST_F(StiTest, MemoryBoundsTheModelsOwn) {
  ASSERT_TRUE(Is(STI_OK, Run("a"), error_));
  const auto own = static_cast<int64_t>(sti_stat(model_, STI_OWN_BYTES));
  const auto staged = own - static_cast<int64_t>(sti_stat(model_, STI_PRELOADED_BYTES));
  ASSERT_TRUE(Is(STI_OK, sti_set(model_, STI_MEMORY_BYTES, staged - 4096, &error_), error_));
  ASSERT_TRUE(Is(STI_OK, Run("a"), error_));
  EXPECT_LE(sti_stat(model_, STI_OWN_BYTES), staged - 4096);
  EXPECT_EQ(ScoresOf(model_), Expected("a"));
  ASSERT_TRUE(Is(STI_OK, sti_set(model_, STI_MEMORY_BYTES, 1000, &error_), error_));
  EXPECT_TRUE(Is(STI_INFEASIBLE, Run("a"), error_));
  EXPECT_NE(std::string(error_.text).find("STI_MEMORY_BYTES"), std::string::npos) << error_.text;
  ASSERT_TRUE(Is(STI_OK, sti_set(model_, STI_MEMORY_BYTES, 0, &error_), error_));
  ASSERT_TRUE(Is(STI_OK, Run("a"), error_));
}

TEST_F(StiTest, MemoryIsLockedWhileThatIsWanted) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer lets mlock do nothing";
  const uint64_t outside = LockedBytes();
  ASSERT_TRUE(Is(STI_OK, Run("a"), error_));
  EXPECT_EQ(LockedBytes(), outside);
  ASSERT_TRUE(Is(STI_OK, sti_set(model_, STI_LOCK_MEMORY, 1, &error_), error_));
  ASSERT_TRUE(Is(STI_OK, Run("a"), error_));
  EXPECT_GT(LockedBytes(), outside + (64 << 10));
  EXPECT_EQ(ScoresOf(model_), Expected("a"));
  ASSERT_TRUE(Is(STI_OK, sti_trim(model_, 0, &error_), error_));
  EXPECT_EQ(LockedBytes(), outside) << "what is given back is no longer locked";
  ASSERT_TRUE(Is(STI_OK, sti_set(model_, STI_LOCK_MEMORY, 0, &error_), error_));
  ASSERT_TRUE(Is(STI_OK, Run("a"), error_));
  EXPECT_EQ(LockedBytes(), outside);
}

// Measures, plans, keeps the profile for the next time.
TEST_F(StiTest, PlansByTheProfileThatItMeasured) {
  size_t size = 0;
  std::vector<uint8_t> profile(1 << 16);
  ASSERT_TRUE(
      Is(STI_USAGE, sti_profile(model_, 50'000, profile.data(), 10, &size, &error_), error_))
      << "measured, but no room";
  ASSERT_GT(size, 10U);
  ASSERT_TRUE(
      Is(STI_OK, sti_profile(model_, 0, profile.data(), profile.size(), &size, &error_), error_));
  EXPECT_TRUE(Is(STI_USAGE, sti_plan(model_, &error_), error_));
  EXPECT_NE(std::string(error_.text).find("STI_TARGET_US"), std::string::npos) << error_.text;
  ASSERT_TRUE(Is(STI_OK, sti_set(model_, STI_TARGET_US, 1, &error_), error_));
  EXPECT_TRUE(Is(STI_INFEASIBLE, sti_plan(model_, &error_), error_));
  EXPECT_NE(std::string(error_.text).find("STI_TARGET_US"), std::string::npos) << error_.text;
  ASSERT_TRUE(Is(STI_OK, sti_set(model_, STI_TARGET_US, 2'000'000, &error_), error_));
  ASSERT_TRUE(Is(STI_OK, sti_plan(model_, &error_), error_));
  ASSERT_TRUE(Is(STI_OK, Run("a b"), error_));
  EXPECT_GT(sti_stat(model_, STI_PREDICTED_US), 0);
  EXPECT_EQ(sti_stat(model_, STI_DEPTH), 3) << "two seconds are enough for all";

  sti_model* again = nullptr;
  ASSERT_TRUE(Is(STI_OK, sti_open(host_, path_.c_str(), &again, &error_), error_));
  ASSERT_TRUE(Is(STI_OK, sti_give(again, STI_PROFILE, profile.data(), size, &error_), error_));
  ASSERT_TRUE(Is(STI_OK, sti_set(again, STI_TARGET_US, 2'000'000, &error_), error_));
  ASSERT_TRUE(Is(STI_OK, sti_plan(again, &error_), error_));
  EXPECT_EQ(sti_stat(again, STI_PREDICTED_US), sti_stat(model_, STI_PREDICTED_US));
  sti_close(again);
}

TEST_F(StiTest, ADescriptorAtAnyOffsetIsTheSameModel) {
  for (const size_t offset : {size_t{0}, size_t{4096}, size_t{100}}) {
    const std::string archive = folder_.File("archive");
    std::string content(offset, 'x');
    content.append(bytes_.begin(), bytes_.end());
    std::ofstream(archive, std::ios::binary) << content << "behind";
    const int fd = ::open(archive.c_str(), O_RDONLY | O_CLOEXEC);
    sti_model* model = nullptr;
    ASSERT_TRUE(Is(STI_OK, sti_open_fd(host_, fd, offset, bytes_.size(), &model, &error_), error_));
    ::close(fd);
    ASSERT_TRUE(Is(STI_OK, RunOn(model, "a b"), error_));
    EXPECT_EQ(ScoresOf(model), Expected("a b"));
    sti_close(model);
  }
}

TEST_F(StiTest, ThreadsTakeTurnsAndEachReadsItsOwnAnswer) {
  std::vector<std::vector<double>> expected;
  for (const std::string_view text : kTexts) expected.push_back(Expected(text));
  std::vector<std::thread> threads;
  for (size_t t = 0; t < std::size(kTexts); ++t) {
    threads.emplace_back([&, t] {
      EXPECT_EQ(sti_label(model_, 0), -1) << "another's";
      for (int i = 0; i < 20; ++i) {
        sti_error error;
        ASSERT_TRUE(Is(STI_OK,
                       sti_run(model_, kTexts[t].data(), kTexts[t].size(), nullptr, 0, &error),
                       error));
        EXPECT_EQ(ScoresOf(model_), expected[t]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Three models share a host; plans change and runs are cancelled meanwhile.
TEST_F(StiTest, ModelsOfOneHostDoNotDisturbEachOther) {
  const std::string plans[] = {PlanAt(2), PlanAt(4)};
  const std::vector<double> expected[] = {Expected("a b c d", 2), Expected("a b c d", 4)};
  sti_model* models[3] = {};
  for (sti_model*& model : models)
    ASSERT_TRUE(Is(STI_OK, sti_open(host_, path_.c_str(), &model, &error_), error_));
  std::atomic<bool> done{false};
  std::atomic<int> cancelled{0};
  const auto use = [&](sti_model* model, bool may_be_cancelled) {
    for (int i = 0; i < 30; ++i) {
      sti_error error;
      const std::string& plan = plans[i % 2];
      sti_code code = sti_give(model, STI_PLAN, plan.data(), plan.size(), &error);
      if (code == STI_OK) code = sti_run(model, "a b c d", 7, nullptr, 0, &error);
      if (may_be_cancelled && code == STI_CANCELLED) {
        ++cancelled;
        continue;
      }
      ASSERT_TRUE(Is(STI_OK, code, error));
      ASSERT_EQ(ScoresOf(model), expected[i % 2]);
      if (i % 5 == 0 && !may_be_cancelled) code = sti_trim(model, 0, &error);
      ASSERT_TRUE(Is(STI_OK, code, error));
    }
  };
  std::vector<std::thread> threads;
  for (sti_model* model : models) threads.emplace_back(use, model, model == models[2]);
  std::thread cancelling([&] {
    while (!done) {
      EXPECT_EQ(sti_cancel(models[2]), STI_OK);
      EXPECT_GE(sti_stat(models[2], STI_OWN_BYTES), 0);
      std::this_thread::yield();
    }
  });
  for (std::thread& thread : threads) thread.join();
  done = true;
  cancelling.join();
  EXPECT_GT(cancelled, 0);
  for (sti_model* model : models) sti_close(model);
}

TEST_F(StiTest, KeepsTheAnswersOfTheLast256Threads) {
  ASSERT_TRUE(Is(STI_OK, Run("a"), error_));
  for (int i = 0; i < 255; ++i)
    std::thread([&] { ASSERT_EQ(sti_run(model_, "b", 1, nullptr, 0, nullptr), STI_OK); }).join();
  EXPECT_EQ(ScoresOf(model_), Expected("a"));
  std::thread([&] { ASSERT_EQ(sti_run(model_, "b", 1, nullptr, 0, nullptr), STI_OK); }).join();
  EXPECT_EQ(sti_label(model_, 0), -1);
}

TEST_F(StiTest, AHostMayBeFreedBeforeItsModels) {
  sti_host_free(std::exchange(host_, nullptr));
  ASSERT_TRUE(Is(STI_OK, Run("a"), error_));
}

TEST_F(StiTest, TheLogHasLinesWithoutOptionsOfTools) {
  std::vector<std::string> lines;
  sti_host* host = nullptr;
  const sti_log log = [](void* user, int32_t level, const char* line) {
    static_cast<std::vector<std::string>*>(user)->push_back(std::to_string(level) + " " + line);
  };
  ASSERT_TRUE(Is(STI_OK, sti_host_new(1, log, &lines, &host, &error_), error_));
  sti_model* model = nullptr;
  ASSERT_TRUE(Is(STI_OK, sti_open(host, path_.c_str(), &model, &error_), error_));
  std::string plan = PlanAt(3);
  const std::string path = "\"read_path\": \"";
  plan.insert(plan.find(path) + path.size(), "tape");
  EXPECT_TRUE(Is(STI_OK, sti_give(model, STI_PLAN, plan.data(), plan.size(), &error_), error_));
  sti_close(model);
  sti_host_free(host);
  // Where the kernel has no io_uring, a line more says so.
  const bool has_uring = OpenBlockReader(path_, ReadPath::kUring).ok();
  ASSERT_EQ(lines.size(), has_uring ? 2U : 3U);
  EXPECT_EQ(lines.front().substr(0, 17), "0 reading through");
  EXPECT_EQ(lines.back().substr(0, 39), "1 the plan counts on reads through tape");
}

TEST_F(StiTest, AnErrorsTextIsCutBetweenCharacters) {
  std::string path = folder_.File("");
  for (int i = 0; i < 400; ++i) path += "\u00e9";
  sti_model* model = nullptr;
  EXPECT_NE(sti_open(host_, path.c_str(), &model, &error_), STI_OK);
  const std::string_view text = error_.text;
  EXPECT_LT(text.size(), sizeof(error_.text));
  // The cut is behind a whole character: ASCII, or the second byte of one of these.
  const auto last = static_cast<uint8_t>(text.back());
  EXPECT_TRUE(last < 0x80 || last == 0xa9) << text;
}

}  // namespace
}  // namespace sti
