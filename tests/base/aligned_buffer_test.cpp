#include "base/aligned_buffer.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace sti {
namespace {

TEST(AlignedVector, BeginsWithACacheLineWhateverItHolds) {
  for (const size_t count : {1U, 15U, 1000U, 100'000U}) {
    AlignedVector<float> numbers(count, 0.5F);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(numbers.data()) % kLineBytes, 0U);
    numbers.resize(2 * count);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(numbers.data()) % kLineBytes, 0U);
    EXPECT_EQ(numbers[count - 1], 0.5F);
    EXPECT_EQ(numbers[count], 0.0F);
  }
}

}  // namespace
}  // namespace sti
