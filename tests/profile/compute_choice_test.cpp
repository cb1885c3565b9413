#include "profile/compute_choice.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace sti {
namespace {

TEST(ComputeChoice, TheLeastTimesOfWorksInTurns) {
  std::string order;
  const std::vector<double> first{1, 9, 5, 7};  // the one for warmth counts for nothing
  const std::vector<double> second{9, 6, 6, 8};
  size_t a = 0;
  size_t b = 0;
  const std::vector<std::function<double()>> works{[&] {
                                                     order += 'a';
                                                     return first[a++];
                                                   },
                                                   [&] {
                                                     order += 'b';
                                                     return second[b++];
                                                   }};
  EXPECT_EQ(LeastTimes(works, 3), (std::vector<double>{5, 6}));
  EXPECT_EQ(order, "abababab");
}

}  // namespace
}  // namespace sti
