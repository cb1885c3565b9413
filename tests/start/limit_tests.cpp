// Part of every test binary. Ends it when one test takes so long that it must be hanging: a lane
// that waits for a release which never comes would otherwise hold up all tests behind it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "support/sanitizers.h"

namespace sti {
namespace {

// The longest test, of published accuracies, takes half of it, and longer under a sanitizer.
constexpr unsigned kLimit_s = kSanitized ? 900 : 300;

char running[256];  // the test's name, and a line's end

void EndBinary(int /*signal*/) {
  constexpr char kWords[] = "takes over its limit of time: ";
  (void)!::write(STDERR_FILENO, kWords, sizeof(kWords) - 1);
  (void)!::write(STDERR_FILENO, running, std::strlen(running));
  std::_Exit(1);
}

class TestLimit : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo& test) override {
    const std::string name = std::string(test.test_suite_name()) + "." + test.name() + "\n";
    std::strncpy(running, name.c_str(), sizeof(running) - 1);
    const char* limit_s = std::getenv("STI_TEST_LIMIT_S");
    std::signal(SIGALRM, EndBinary);
    ::alarm(limit_s == nullptr ? kLimit_s : static_cast<unsigned>(std::atoi(limit_s)));
  }
  void OnTestEnd(const ::testing::TestInfo& /*test*/) override { ::alarm(0); }
};

[[maybe_unused]] const bool kLimited = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new TestLimit);
  return true;
}();

}  // namespace
}  // namespace sti
