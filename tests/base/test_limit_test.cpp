// The limit of time that every test has (tests/start/limit_tests.cpp).
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

namespace sti {
namespace {

TEST(TestLimit, IsSetForThisTestToo) {
  const unsigned left_s = ::alarm(0);
  EXPECT_GT(left_s, 0U);
  ::alarm(left_s);
}

TEST(TestLimitDeathTest, NamesTheTestThatHangs) {
  EXPECT_EXIT(std::raise(SIGALRM), ::testing::ExitedWithCode(1),
              "over its limit of time: TestLimitDeathTest.NamesTheTestThatHangs");
}

}  // namespace
}  // namespace sti
