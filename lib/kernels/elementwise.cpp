#include "kernels/elementwise.h"

#include <cstring>
#include <iterator>
#include <limits>

// clang-format off
#include "kernels/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise.cpp"  // NOLINT: Highway's way
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "hwy/contrib/math/math-inl.h"
#include "kernels/row_loops-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace sti {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// e^x for x <= 0. Highway's gives 0 for NaN.
HWY_INLINE V ExpOrNan(V x) { return hn::IfThenElse(hn::Eq(x, x), hn::Exp(kTag, x), x); }

// x * Phi(x) = max(x, 0) - h(|x|), where h(u) = u * erfc(u / sqrt(2)) / 2 is smooth, under 0.17 and
// under 1.1e-7 from 5.5 on. The coefficients, highest power first, interpolate h on [0, 5.5] at
// Chebyshev nodes in s = u / 2.75 - 1; computed for this file. Error with rounding: 2e-7.
struct Gelu {
  HWY_INLINE V operator()(V x) const {
    constexpr float kCoefficients[] = {-1.569692040e-02f, -5.220473562e-04f, 9.892436873e-02f,
                                       -3.746040777e-02f, -2.569062131e-01f, 2.324020761e-01f,
                                       2.722125251e-01f,  -5.452763993e-01f, 1.513838684e-01f,
                                       4.596973432e-01f,  -6.283229227e-01f, 2.604182648e-01f,
                                       1.789475822e-01f,  -3.086808967e-01f, 1.912633705e-01f,
                                       -6.057798078e-02f, 8.194370147e-03f};
    const V u = AtMost(hn::Set(kTag, 5.5f), hn::Abs(x));
    const V s = hn::MulAdd(u, hn::Set(kTag, 1 / 2.75f), hn::Set(kTag, -1.0f));
    V h = hn::Set(kTag, kCoefficients[0]);
#pragma GCC unroll 16
    for (size_t i = 1; i < std::size(kCoefficients); ++i) {
      h = hn::MulAdd(h, s, hn::Set(kTag, kCoefficients[i]));
    }
    return hn::Sub(AtLeast(hn::Zero(kTag), x), h);
  }
};

// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))). Below -10 it is 0; at minus infinity the
// form itself is infinity times 0.
struct GeluTanh {
  HWY_INLINE V operator()(V any) const {
    const V x = AtLeast(hn::Set(kTag, -10.0f), any);
    const V square = hn::Mul(x, x);
    const V inner = hn::MulAdd(hn::Mul(square, hn::Set(kTag, 0.044715f)), x, x);
    const V half = hn::Mul(x, hn::Set(kTag, 0.5f));
    return hn::MulAdd(half, TanhOrNan(hn::Mul(inner, hn::Set(kTag, 0.7978845608f))), half);
  }
};

struct Relu {
  HWY_INLINE V operator()(V x) const { return AtLeast(hn::Zero(kTag), x); }
};

template <class F>
void MapRows(const F& f, float* x, size_t stride, uint32_t rows, uint32_t width) {
  for (uint32_t r = 0; r < rows; ++r) Map(x + r * stride, width, f);
}

}  // namespace

void ActivateOn(Activation activation, float* x, size_t stride, uint32_t rows, uint32_t width) {
  switch (activation) {
    case Activation::kGelu:
      return MapRows(Gelu(), x, stride, rows, width);
    case Activation::kGeluTanh:
      return MapRows(GeluTanh(), x, stride, rows, width);
    case Activation::kRelu:
      return MapRows(Relu(), x, stride, rows, width);
  }
}

void SoftmaxRowOn(float* x, uint32_t count, float scale) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  const V top = Fold(x, count, kLowest, hn::Set(kTag, kLowest),
                     [](V best, V v) HWY_ATTR { return hn::Max(best, v); });
  const V max = hn::MaxOfLanes(kTag, top);
  const V factor = hn::Set(kTag, scale);
  Map(x, count, [=](V v) HWY_ATTR { return ExpOrNan(hn::Mul(hn::Sub(v, max), factor)); });
  const V sums =
      Fold(x, count, 0, hn::Zero(kTag), [](V sum, V v) HWY_ATTR { return hn::Add(sum, v); });
  const V inverse = hn::Div(hn::Set(kTag, 1.0f), hn::SumOfLanes(kTag, sums));
  Map(x, count, [=](V v) HWY_ATTR { return hn::Mul(v, inverse); });
}

void LayerNormRowOn(const float* x, const float* y, const float* weight, const float* bias,
                    uint32_t count, float eps, float* out) {
  const size_t lanes = hn::Lanes(kTag);
  const size_t whole = count - count % lanes;
  if (y == nullptr) {
    if (out != x) std::memcpy(out, x, count * sizeof(float));
  } else {
    size_t i = 0;
    for (; i < whole; i += lanes) {
      hn::StoreU(hn::Add(hn::LoadU(kTag, x + i), hn::LoadU(kTag, y + i)), kTag, out + i);
    }
    for (; i < count; ++i) out[i] = x[i] + y[i];
  }
  const V one_over = hn::Set(kTag, 1.0f / static_cast<float>(count));
  const V sums =
      Fold(out, count, 0, hn::Zero(kTag), [](V sum, V v) HWY_ATTR { return hn::Add(sum, v); });
  const V mean = hn::Mul(hn::SumOfLanes(kTag, sums), one_over);
  const float filler = hn::GetLane(mean);  // lanes past the end add nothing to the variance
  const V squares = Fold(out, count, filler, hn::Zero(kTag), [=](V sum, V v) HWY_ATTR {
    const V centred = hn::Sub(v, mean);
    return hn::MulAdd(centred, centred, sum);
  });
  const V variance = hn::Mul(hn::SumOfLanes(kTag, squares), one_over);
  const V scale = hn::Div(hn::Set(kTag, 1.0f), hn::Sqrt(hn::Add(variance, hn::Set(kTag, eps))));
  for (size_t i = 0; i < count; i += lanes) {
    const bool full = i < whole;
    const size_t part = count - i;
    const V v = full ? hn::LoadU(kTag, out + i) : LoadPart(out + i, part, 0);
    const V w = full ? hn::LoadU(kTag, weight + i) : LoadPart(weight + i, part, 0);
    const V b = full ? hn::LoadU(kTag, bias + i) : LoadPart(bias + i, part, 0);
    const V normal = hn::MulAdd(hn::Mul(hn::Sub(v, mean), scale), w, b);
    if (full) {
      hn::StoreU(normal, kTag, out + i);
    } else {
      StorePart(normal, out + i, part);
    }
  }
}

void TanhRowOn(float* x, uint32_t count) {
  Map(x, count, [](V v) HWY_ATTR { return TanhOrNan(v); });
}

float DotOn(const float* a, const float* b, uint32_t count) {
  const size_t lanes = hn::Lanes(kTag);
  V sums[4] = {hn::Zero(kTag), hn::Zero(kTag), hn::Zero(kTag), hn::Zero(kTag)};
  size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; ++j) {
      const size_t at = i + j * lanes;
      sums[j] = hn::MulAdd(hn::LoadU(kTag, a + at), hn::LoadU(kTag, b + at), sums[j]);
    }
  }
  for (; i < count; i += lanes) {
    const size_t part = count - i;
    const bool full = part >= lanes;
    const V x = full ? hn::LoadU(kTag, a + i) : LoadPart(a + i, part, 0);
    const V y = full ? hn::LoadU(kTag, b + i) : LoadPart(b + i, part, 0);
    sums[0] = hn::MulAdd(x, y, sums[0]);
  }
  const V all = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
  return hn::GetLane(hn::SumOfLanes(kTag, all));
}

}  // namespace HWY_NAMESPACE
}  // namespace sti
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cassert>

#include "kernels/dispatch.h"

namespace sti {

STI_EXPORT(ActivateOn);
STI_EXPORT(SoftmaxRowOn);
STI_EXPORT(LayerNormRowOn);
STI_EXPORT(TanhRowOn);
STI_EXPORT(DotOn);

void Activate(Activation activation, float* x, size_t stride, uint32_t rows, uint32_t width) {
  assert(rows <= 1 || stride >= width);
  STI_DISPATCH(ActivateOn)(activation, x, stride, rows, width);
}

void SoftmaxRow(float* x, uint32_t count, float scale) {
  assert(count > 0 && scale >= 0);
  STI_DISPATCH(SoftmaxRowOn)(x, count, scale);
}

void LayerNormRow(const float* x, const float* y, const float* weight, const float* bias,
                  uint32_t count, float eps, float* out) {
  assert(count > 0);
  STI_DISPATCH(LayerNormRowOn)(x, y, weight, bias, count, eps, out);
}

void TanhRow(float* x, uint32_t count) { STI_DISPATCH(TanhRowOn)(x, count); }

float Dot(const float* a, const float* b, uint32_t count) {
  return STI_DISPATCH(DotOn)(a, b, count);
}

}  // namespace sti
#endif  // HWY_ONCE
