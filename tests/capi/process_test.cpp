// The C library in a process that forks, and on threads that compute otherwise than usual.
#include <fenv.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/process_memory.h"
#include "sti_fixture.h"
#include "support/sanitizers.h"

namespace sti {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

class ProcessTest : public StiTest {
 protected:
  // Returns what `body` returned in a forked child: its number of steps done, 0 if it hung.
  template <typename Body>
  static int InFork(const Body& body) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);
      ::_exit(body());
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  }

  // Counts what holds of a child that uses its parent's handles, and then its own.
  int UseInChild(const std::vector<double>& expected) {
    int done = 1;
    if (Run("a b") != STI_USAGE) return done;
    if (!std::string_view(error_.text).starts_with("the model is of the process that")) return done;
    ++done;
    sti_model* none = nullptr;
    if (sti_open(host_, path_.c_str(), &none, &error_) != STI_USAGE || none != nullptr) return done;
    ++done;
    if (sti_cancel(model_) != STI_USAGE || sti_label(model_, 0) != -1) return done;
    if (!std::isnan(sti_score(model_, 0)) || !std::isnan(sti_stat(model_, STI_OWN_BYTES)))
      return done;
    ++done;
    sti_close(model_);
    sti_host_free(host_);
    ++done;
    sti_host* host = nullptr;
    sti_model* model = nullptr;
    if (sti_host_new(2, nullptr, nullptr, &host, &error_) != STI_OK) return done;
    if (sti_open(host, path_.c_str(), &model, &error_) != STI_OK) return done;
    ++done;
    if (RunOn(model, "a b") != STI_OK || ScoresOf(model) != expected) return done;
    sti_close(model);
    sti_host_free(host);
    return 7;
  }
};

TEST_F(ProcessTest, AForkedChildHasNothingOfItsParentsAndAllOfItsOwn) {
  if (kSanitized) GTEST_SKIP() << "sanitizers allow no threads in a fork of a process of several";
  ASSERT_TRUE(Is(STI_OK, Run("a b"), error_));
  const std::vector<double> scores = ScoresOf(model_);
  EXPECT_EQ(InFork([&] { return UseInChild(scores); }), 7);
  // While a call is under way, whatever locks that holds.
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    sti_error error;
    while (!stop) sti_run(model_, "c a b", 5, nullptr, 0, &error);
  });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(InFork([&] { return UseInChild(scores); }), 7);
  stop = true;
  busy.join();
  ASSERT_TRUE(Is(STI_OK, Run("a b"), error_));
  EXPECT_EQ(ScoresOf(model_), scores);
}

TEST_F(ProcessTest, ScoresAreTheSameHoweverTheAppRounds) {
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    ASSERT_EQ(::fesetround(mode), 0);
    sti_host* host = nullptr;
    sti_model* model = nullptr;
    EXPECT_TRUE(Is(STI_OK, sti_host_new(3, nullptr, nullptr, &host, &error_), error_));
    EXPECT_TRUE(Is(STI_OK, sti_open(host, path_.c_str(), &model, &error_), error_));
    for (const std::string_view text : {"a", "b c", "a b c d"}) {
      EXPECT_TRUE(Is(STI_OK, RunOn(model, text), error_));
      const std::vector<double> scores = ScoresOf(model);
      EXPECT_EQ(::fegetround(), mode);
      ::fesetround(FE_TONEAREST);
      EXPECT_EQ(scores, Expected(text)) << text;
      ::fesetround(mode);
    }
    sti_close(model);
    sti_host_free(host);
    EXPECT_EQ(::fegetround(), mode);
    ::fesetround(FE_TONEAREST);
  }
}

TEST_F(ProcessTest, ATrapOfTheAppsIsNotSprungAndStays) {
  if (::feenableexcept(FE_INEXACT) == -1 || ::fegetexcept() != FE_INEXACT)
    GTEST_SKIP() << "this CPU has no traps";
  const sti_code code = Run("a b");
  EXPECT_EQ(::fedisableexcept(FE_ALL_EXCEPT), FE_INEXACT);
  EXPECT_TRUE(Is(STI_OK, code, error_));
  EXPECT_EQ(ScoresOf(model_), Expected("a b"));
}

// Threads of an app each leave memory behind in the C library's pools, which only it gives back.
TEST_F(ProcessTest, ModelsThatAreTrimmedOrClosedLeaveNoMemoryBehind) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer keeps what is freed";
  const auto use = [&](sti_model* model) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i) {
      threads.emplace_back([&] {
        for (int run = 0; run < 5; ++run) RunOn(model, "a b c d e f g h");
      });
    }
    for (std::thread& thread : threads) thread.join();
  };
  use(model_);
  ASSERT_TRUE(Is(STI_OK, sti_trim(model_, 0, &error_), error_));
  const uint64_t before = CurrentRssBytes();
  std::vector<sti_model*> models(6, nullptr);
  for (sti_model*& model : models) {
    ASSERT_TRUE(Is(STI_OK, sti_open(host_, path_.c_str(), &model, &error_), error_));
    use(model);
  }
  EXPECT_GT(CurrentRssBytes(), before + kMiB);
  for (sti_model* model : models) sti_close(model);
  EXPECT_LT(CurrentRssBytes(), before + kMiB);
  use(model_);
  ASSERT_TRUE(Is(STI_OK, sti_trim(model_, 0, &error_), error_));
  EXPECT_LT(CurrentRssBytes(), before + kMiB);
}

}  // namespace
}  // namespace sti
