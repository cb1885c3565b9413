#include "kernels/fp32/blas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "kernels/backend.h"

namespace sti {
namespace {

// Asked before any test opens the library, which sets it itself.
const bool kUserChose = std::getenv("OPENBLAS_CORETYPE") != nullptr;

TEST(BlasBackend, AddsAProduct) {
  const auto blas = BlasBackend::Open(1);
  if (!blas.ok()) GTEST_SKIP() << blas.error().Message();
  const std::vector<float> a = {1, 2, 0, 3, 4, 0};  // stride 3
  const std::vector<float> b = {1, 10, 100, 1000};
  std::vector<float> c = {0.5f, 0.5f, 0.5f, 0.5f};
  (*blas).Sgemm(2, 2, 2, a.data(), 3, b.data(), 2, c.data(), 2);
  EXPECT_EQ(c, (std::vector<float>{201.5f, 2010.5f, 403.5f, 4030.5f}));
}

TEST(BlasBackend, DoesNotFallBackToHaswellOnAvx512) {
  const auto blas = BlasBackend::Open(1);
  if (!blas.ok()) GTEST_SKIP() << blas.error().Message();
  if (kUserChose) GTEST_SKIP() << "OPENBLAS_CORETYPE is set";
  const auto sets = InstructionSets();
  if (std::find(sets.begin(), sets.end(), "avx512") == sets.end()) GTEST_SKIP() << "no AVX-512";
  EXPECT_NE((*blas).core(), "Haswell");
}

}  // namespace
}  // namespace sti
