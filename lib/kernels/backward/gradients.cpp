#include <cstddef>
#include <iterator>

#include "kernels/elementwise.h"

// clang-format off
#include "kernels/cpu/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/backward/gradients.cpp"  // NOLINT: Highway's way
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "hwy/contrib/math/math-inl.h"
#include "kernels/cpu/row_loops-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace sti {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// y[i] = f(y[i], x[i]), a vector at a time.
template <class F>
HWY_INLINE void MapPairs(float* y, const float* x, size_t count, const F& f) {
  const size_t lanes = hn::Lanes(kTag);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(f(hn::LoadU(kTag, y + i), hn::LoadU(kTag, x + i)), kTag, y + i);
  }
  if (i == count) return;
  const size_t part = count - i;
  StorePart(f(LoadPart(y + i, part, 0), LoadPart(x + i, part, 0)), y + i, part);
}

// Phi(x) + x * phi(x). The tail of Phi is Abramowitz and Stegun 7.1.26, whose error is 8e-8 here;
// it shares its exponential with phi.
struct GeluSlope {
  HWY_INLINE V operator()(V x) const {
    constexpr float kCoefficients[] = {1.061405429f, -1.453152027f, 1.421413741f, -0.284496736f,
                                       0.254829592f};
    constexpr float kPerRoot = 0.3275911f * 0.70710678f;
    const V one = hn::Set(kTag, 1.0f);
    const V t = hn::Div(one, hn::MulAdd(hn::Abs(x), hn::Set(kTag, kPerRoot), one));
    V tail = hn::Set(kTag, kCoefficients[0]);
#pragma GCC unroll 4
    for (size_t i = 1; i < std::size(kCoefficients); ++i) {
      tail = hn::MulAdd(tail, t, hn::Set(kTag, kCoefficients[i]));
    }
    const V bell = hn::Exp(kTag, hn::Mul(hn::Mul(x, x), hn::Set(kTag, -0.5f)));
    tail = hn::Mul(hn::Mul(tail, t), hn::Mul(bell, hn::Set(kTag, 0.5f)));
    const V phi = hn::IfThenElse(hn::Lt(x, hn::Zero(kTag)), tail, hn::Sub(one, tail));
    return hn::MulAdd(hn::Mul(x, bell), hn::Set(kTag, 0.3989422804f), phi);
  }
};

// (1 + t) / 2 + x / 2 * (1 - t^2) * u', with t = tanh(u(x)). Beyond 10 it is 0 or 1.
struct GeluTanhSlope {
  HWY_INLINE V operator()(V any) const {
    const V limit = hn::Set(kTag, 10.0f);
    const V x = AtLeast(hn::Neg(limit), AtMost(limit, any));
    const V one = hn::Set(kTag, 1.0f);
    const V root = hn::Set(kTag, 0.7978845608f);
    const V square = hn::Mul(hn::Mul(x, x), hn::Set(kTag, 0.044715f));
    const V t = TanhOrNan(hn::Mul(hn::MulAdd(square, x, x), root));
    const V slope = hn::Mul(hn::MulAdd(square, hn::Set(kTag, 3.0f), one), root);
    const V bend = hn::Mul(hn::Mul(x, slope), hn::NegMulAdd(t, t, one));
    return hn::Mul(hn::Add(hn::Add(one, t), bend), hn::Set(kTag, 0.5f));
  }
};

struct ReluSlope {
  HWY_INLINE V operator()(V x) const {
    return hn::IfThenElseZero(hn::Gt(x, hn::Zero(kTag)), hn::Set(kTag, 1.0f));
  }
};

template <class F>
void MultiplyBySlope(const F& slope, const float* x, uint32_t count, float* gradient) {
  MapPairs(gradient, x, count, [&](V g, V v) HWY_ATTR { return hn::Mul(g, slope(v)); });
}

HWY_INLINE float Sum(const float* x, uint32_t count) {
  const V sums =
      Fold(x, count, 0, hn::Zero(kTag), [](V sum, V v) HWY_ATTR { return hn::Add(sum, v); });
  return hn::GetLane(hn::SumOfLanes(kTag, sums));
}

// f(sum, a vector of x, a vector of y) over both.
template <class F>
HWY_INLINE float FoldPairs(const float* x, const float* y, uint32_t count, const F& f) {
  const size_t lanes = hn::Lanes(kTag);
  V sum = hn::Zero(kTag);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    sum = f(sum, hn::LoadU(kTag, x + i), hn::LoadU(kTag, y + i));
  }
  if (i < count) {
    sum = f(sum, LoadPart(x + i, count - i, 0), LoadPart(y + i, count - i, 0));
  }
  return hn::GetLane(hn::SumOfLanes(kTag, sum));
}

}  // namespace

void ActivationGradientOn(Activation activation, const float* x, uint32_t count, float* gradient) {
  switch (activation) {
    case Activation::kGelu:
      return MultiplyBySlope(GeluSlope(), x, count, gradient);
    case Activation::kGeluTanh:
      return MultiplyBySlope(GeluTanhSlope(), x, count, gradient);
    case Activation::kRelu:
      return MultiplyBySlope(ReluSlope(), x, count, gradient);
  }
}

// With n = (x - mean) / deviation and g the gradient at n: (g - mean(g) - n * mean(g * n)) /
// deviation.
void LayerNormGradientRowOn(const float* x, const float* weight, uint32_t count, float eps,
                            float* gradient) {
  const auto size = static_cast<float>(count);
  const V mean = hn::Set(kTag, Sum(x, count) / size);
  const float filler = hn::GetLane(mean);  // lanes past the end add nothing to the variance
  const V squares = Fold(x, count, filler, hn::Zero(kTag), [=](V sum, V v) HWY_ATTR {
    const V centred = hn::Sub(v, mean);
    return hn::MulAdd(centred, centred, sum);
  });
  const float variance = hn::GetLane(hn::SumOfLanes(kTag, squares)) / size;
  const V scale = hn::Div(hn::Set(kTag, 1.0f), hn::Sqrt(hn::Set(kTag, variance + eps)));
  MapPairs(gradient, weight, count, [](V g, V w) HWY_ATTR { return hn::Mul(g, w); });
  const V level = hn::Set(kTag, Sum(gradient, count) / size);
  const float tilt = FoldPairs(gradient, x, count, [=](V sum, V g, V v) HWY_ATTR {
    return hn::MulAdd(g, hn::Mul(hn::Sub(v, mean), scale), sum);
  });
  const V slope = hn::Set(kTag, tilt / size);
  MapPairs(gradient, x, count, [=](V g, V v) HWY_ATTR {
    const V normal = hn::Mul(hn::Sub(v, mean), scale);
    return hn::Mul(hn::NegMulAdd(normal, slope, hn::Sub(g, level)), scale);
  });
}

void SoftmaxGradientRowOn(const float* p, uint32_t count, float scale, float* gradient) {
  const float mean = FoldPairs(p, gradient, count, [](V sum, V probability, V g) HWY_ATTR {
    return hn::MulAdd(probability, g, sum);
  });
  const V level = hn::Set(kTag, mean);
  const V factor = hn::Set(kTag, scale);
  MapPairs(gradient, p, count, [=](V g, V probability) HWY_ATTR {
    return hn::Mul(hn::Mul(hn::Sub(g, level), probability), factor);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace sti
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cassert>

#include "kernels/cpu/dispatch.h"

namespace sti {

STI_EXPORT(ActivationGradientOn);
STI_EXPORT(LayerNormGradientRowOn);
STI_EXPORT(SoftmaxGradientRowOn);

void ActivationGradient(Activation activation, const float* x, uint32_t count, float* gradient) {
  STI_DISPATCH(ActivationGradientOn)(activation, x, count, gradient);
}

void LayerNormGradientRow(const float* x, const float* weight, uint32_t count, float eps,
                          float* gradient) {
  assert(count > 0);
  STI_DISPATCH(LayerNormGradientRowOn)(x, weight, count, eps, gradient);
}

void SoftmaxGradientRow(const float* p, uint32_t count, float scale, float* gradient) {
  assert(count > 0);
  STI_DISPATCH(SoftmaxGradientRowOn)(p, count, scale, gradient);
}

}  // namespace sti
#endif  // HWY_ONCE
