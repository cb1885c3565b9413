#include "kernels/elementwise.h"

#include <cstring>
#include <iterator>
#include <limits>

// clang-format off
#include "kernels/cpu/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fp32/elementwise.cpp"  // NOLINT: Highway's way
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

// e^x for x <= 0. Highway's gives 0 for NaN.
HWY_INLINE V ExpOrNan(V x) { return hn::IfThenElse(hn::Eq(x, x), hn::Exp(kTag, x), x); }

// x * Phi(x) = max(x, 0) - h(|x|), where h(u) = u * erfc(u / sqrt(2)) / 2.
#if HWY_TARGET <= HWY_AVX3
// With sixteen lanes, h(u) = u * q(u). Within 3/16 of each multiple of 3/8 up to 45/8, q is a
// polynomial of degree 4 in the distance to that multiple. Its coefficients, highest power first,
// are a column of the table; they were computed for this file, for the least error of h. There is
// none at 0, where q is 1/2, and from 45/8 on q is 0. Error with rounding: 2.5e-7, of which the
// last rounding of numbers above 4 has 2.4e-7; 1.3e-7 below 1.
struct Gelu {
  static constexpr float kTable[5][16] = {
      {-5.014948547e-03f, -1.678715274e-02f, -2.276160382e-02f, -1.706278138e-02f,
       -6.042544264e-03f, 2.716314746e-03f, 6.080227438e-03f, 5.389775150e-03f, 3.324114252e-03f,
       1.590553788e-03f, 6.160037592e-04f, 1.972930040e-04f, 5.291974958e-05f, 1.198516111e-05f,
       2.304794634e-06f, -9.763583075e-04f},
      {6.739497185e-02f, 5.297682062e-02f, 2.196246758e-02f, -9.150401689e-03f, -2.672641724e-02f,
       -2.869581059e-02f, -2.146975510e-02f, -1.253436413e-02f, -5.957657937e-03f,
       -2.354143653e-03f, -7.827049703e-04f, -2.206362551e-04f, -5.300360863e-05f,
       -1.089132820e-05f, -1.919466740e-06f, -3.658128262e-04f},
      {-6.812736683e-05f, 6.973158568e-02f, 1.129239500e-01f, 1.191764250e-01f, 9.713643789e-02f,
       6.448744237e-02f, 3.570796177e-02f, 1.670101471e-02f, 6.647891365e-03f, 2.263076371e-03f,
       6.610405981e-04f, 1.660715061e-04f, 3.594632290e-05f, 6.712382401e-06f, 1.082437620e-06f,
       -4.256060129e-05f},
      {-3.989405036e-01f, -3.718527853e-01f, -3.011374474e-01f, -2.118786424e-01f,
       -1.295198351e-01f, -6.878753752e-02f, -3.173983470e-02f, -1.272381376e-02f,
       -4.431422800e-03f, -1.340840943e-03f, -3.524630738e-04f, -8.049066673e-05f,
       -1.596855509e-05f, -2.752107093e-06f, -4.120362007e-07f, -1.648375928e-06f},
      {5.000000000e-01f, 3.538301885e-01f, 2.266273648e-01f, 1.302945316e-01f, 6.680721045e-02f,
       3.039636277e-02f, 1.222447027e-02f, 4.332446493e-03f, 1.349897357e-03f, 3.690783924e-04f,
       8.841739327e-05f, 1.853682261e-05f, 3.397710316e-06f, 5.440543305e-07f, 7.605267172e-08f, 0},
  };

  HWY_INLINE V operator()(V x) const {
    const hn::RebindToUnsigned<D> bits;
    const V units = hn::Set(kTag, 0x1p23f);  // its last bit is 1: sums round to whole
    const V u = AtMost(hn::Set(kTag, 5.625f), hn::Abs(x));
    const V nearest = hn::MulAdd(u, hn::Set(kTag, 8 / 3.0f), units);
    const V s = hn::NegMulAdd(hn::Sub(nearest, units), hn::Set(kTag, 0.375f), u);
    const auto column =
        hn::IndicesFromVec(kTag, hn::And(hn::BitCast(bits, nearest), hn::Set(bits, 15)));
    V q = hn::TableLookupLanes(hn::LoadU(kTag, kTable[0]), column);
#pragma GCC unroll 4
    for (size_t i = 1; i < std::size(kTable); ++i) {
      q = hn::MulAdd(q, s, hn::TableLookupLanes(hn::LoadU(kTag, kTable[i]), column));
    }
    return hn::NegMulAdd(u, q, AtLeast(hn::Zero(kTag), x));
  }
};
#else
// h is smooth, under 0.17 and under 1.1e-7 from 5.5 on. The coefficients, highest power first,
// interpolate it on [0, 5.5] at Chebyshev nodes in s = u / 2.75 - 1; computed for this file. Error
// with rounding: 3e-7 below 1, 4e-7 at most.
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
#endif

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

// Ends of rows come after all whole vectors: they call memcpy, and over a call no constant of `f`
// stays in its register, which would cost rows of 32 a seventh of their time.
template <class F>
void MapRows(const F& f, float* x, size_t stride, uint32_t rows, uint32_t width) {
  size_t whole = 0;
  for (uint32_t r = 0; r < rows; ++r) whole = MapWhole(x + r * stride, width, f);
  if (whole == width) return;
  for (uint32_t r = 0; r < rows; ++r) Map(x + r * stride + whole, width - whole, f);
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
  const V inverse = hn::Div(hn::Set(kTag, 1.0f), hn::Sqrt(hn::Add(variance, hn::Set(kTag, eps))));
  // A variance that overflows would scale by 0, and leave the bias as if it were an answer.
  const V scale = hn::MulAdd(variance, hn::Zero(kTag), inverse);
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

void AddToOn(const float* x, uint32_t count, float* sums) {
  const size_t lanes = hn::Lanes(kTag);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::Add(hn::LoadU(kTag, sums + i), hn::LoadU(kTag, x + i)), kTag, sums + i);
  }
  for (; i < count; ++i) sums[i] += x[i];
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

#include "kernels/cpu/dispatch.h"

namespace sti {

STI_EXPORT(ActivateOn);
STI_EXPORT(SoftmaxRowOn);
STI_EXPORT(LayerNormRowOn);
STI_EXPORT(AddToOn);
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

void AddTo(const float* x, uint32_t count, float* sums) { STI_DISPATCH(AddToOn)(x, count, sums); }

void TanhRow(float* x, uint32_t count) { STI_DISPATCH(TanhRowOn)(x, count); }

float Dot(const float* a, const float* b, uint32_t count) {
  return STI_DISPATCH(DotOn)(a, b, count);
}

void FillRows(const float* bias, uint32_t width, uint32_t rows, float* out, size_t out_stride) {
  // Rows of a tile are short: a call of memcpy for each takes longer than the copy.
  for (uint32_t r = 0; r < rows; ++r) {
    float* row = out + r * out_stride;
    uint32_t o = 0;
    for (; o + 16 <= width; o += 16) std::memcpy(row + o, bias + o, 16 * sizeof(float));
    for (; o < width; ++o) row[o] = bias[o];
  }
}

void TransposeTile(const float* tile, size_t tile_stride, uint32_t rows, uint32_t width, float* out,
                   size_t out_stride) {
  for (uint32_t c = 0; c < width; ++c) {
    for (uint32_t r = 0; r < rows; ++r) out[c * out_stride + r] = tile[r * tile_stride + c];
  }
}

}  // namespace sti
#endif  // HWY_ONCE
