// Loops over a row of floats, a vector at a time, and what their bodies share. Included once for
// each of Highway's targets, by files in the namespaces below.

#if defined(STI_ROW_LOOPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STI_ROW_LOOPS_INL_H_
#undef STI_ROW_LOOPS_INL_H_
#else
#define STI_ROW_LOOPS_INL_H_
#endif

#include <cstddef>
#include <cstring>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace sti {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr D kTag;
constexpr size_t kMaxLanes = HWY_MAX_BYTES / sizeof(float);

// The first `count` < Lanes numbers of x; the other lanes hold `fill`.
V LoadPart(const float* x, size_t count, float fill) {
  HWY_ALIGN float lanes[kMaxLanes];
  hn::Store(hn::Set(kTag, fill), kTag, lanes);
  std::memcpy(lanes, x, count * sizeof(float));
  return hn::Load(kTag, lanes);
}

void StorePart(V v, float* x, size_t count) {
  HWY_ALIGN float lanes[kMaxLanes];
  hn::Store(v, kTag, lanes);
  std::memcpy(x, lanes, count * sizeof(float));
}

// x[i] = f(x[i]) for all whole vectors; returns how many numbers they hold.
template <class F>
HWY_INLINE size_t MapWhole(float* x, size_t count, const F& f) {
  const size_t lanes = hn::Lanes(kTag);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(f(hn::LoadU(kTag, x + i)), kTag, x + i);
  return i;
}

// x[i] = f(x[i]), a vector at a time.
template <class F>
HWY_INLINE void Map(float* x, size_t count, const F& f) {
  const size_t i = MapWhole(x, count, f);
  if (i < count) StorePart(f(LoadPart(x + i, count - i, 0)), x + i, count - i);
}

// sum = f(sum, vector) over x, the lanes past the end holding `fill`.
template <class F>
HWY_INLINE V Fold(const float* x, size_t count, float fill, V sum, const F& f) {
  const size_t lanes = hn::Lanes(kTag);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) sum = f(sum, hn::LoadU(kTag, x + i));
  if (i < count) sum = f(sum, LoadPart(x + i, count - i, fill));
  return sum;
}

// Whether a maximum is its second operand where one of them is NaN, as on x86. Elsewhere it may be
// the other.
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR
constexpr bool kSecondIfNan = true;
#else
constexpr bool kSecondIfNan = false;
#endif

// The larger and the smaller of a bound and x, and NaN if x is NaN.
HWY_INLINE V AtLeast(V bound, V x) {
  return kSecondIfNan ? hn::Max(bound, x) : hn::IfThenElse(hn::Gt(bound, x), bound, x);
}
HWY_INLINE V AtMost(V bound, V x) {
  return kSecondIfNan ? hn::Min(bound, x) : hn::IfThenElse(hn::Lt(bound, x), bound, x);
}

// tanh(x). The argument is kept in the range where tanh is not 1 yet, since the exponential
// overflows far outside.
HWY_INLINE V TanhOrNan(V x) {
  const V limit = hn::Set(kTag, 10.0f);
  return hn::Tanh(kTag, AtLeast(hn::Neg(limit), AtMost(limit, x)));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace sti
HWY_AFTER_NAMESPACE();
#endif  // per target
