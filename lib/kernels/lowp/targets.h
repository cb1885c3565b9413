// The steps of panels.h that need instructions of the CPU: AVX-512 on x86, NEON's extensions on
// aarch64, elsewhere none. A program has one set of them, from this folder's files that end in
// _avx512.cpp or _neon.cpp, or from panels.cpp; those of attention exist for AVX-512 alone. Only
// lib/kernels includes this.
#pragma once

#include <limits>

#include "kernels/lowp/panels.h"

namespace sti {

/// 8-bit rows whose largest magnitude is smaller become zeros: 127 over it may be infinite.
constexpr float kLeastRow = 1e-36f;

/// Says how a row is rounded to bytes, given its largest magnitude.
struct ByteScale {
  explicit ByteScale(float largest)
      // Infinite and NaN compare false: the codes are zero then, and the scale becomes NaN.
      : finite(largest <= std::numeric_limits<float>::max()),
        usable(finite && largest >= kLeastRow),
        scale(finite ? largest / 127 : std::numeric_limits<float>::quiet_NaN()),
        factor(usable ? 127 / largest : 0) {}
  bool finite;
  bool usable;
  float scale;
  float factor;
};

/// Returns whether this CPU, with the instruction set in force, can multiply in `type`. Functions
/// whose name ends in Fast may be called only then.
bool HasPackedInstructions(ComputeType type);

/// Whether look-ups and products are worth doing side by side: on x86 they use different ports. On
/// aarch64 one follows the other, and outliers are put into a panel once it has its codes.
#if defined(__aarch64__)
inline constexpr bool kFusesPacked = false;
#else
inline constexpr bool kFusesPacked = true;
#endif

/// Whether the compiler knows the instructions of aarch64; older clangs hide them.
#if defined(__aarch64__) && (!defined(__clang__) || __clang_major__ >= 16)
#define STI_PACKED_NEON 1
#else
#define STI_PACKED_NEON 0
#endif

/// Do what PackRows and MultiplyPacked do (panels.h), with the instructions of `type`. Rows in
/// chunks are for fused products alone.
void PackRowsFast(ComputeType type, const RowsRef& in, const float* scales, const PackedRows& out);
void MultiplyPackedFast(ComputeType type, const PackedProduct& product);

/// Do what the functions for attention in panels.h do, with AVX-512's instructions of kBf16.
void PackKeysAvx512(const RowsRef& keys, uint32_t* out);
void PackValuesAvx512(const RowsRef& values, uint32_t* out);
void SoftmaxPackedAvx512(float* row, uint32_t count);

/// A panel of 16 outputs, `ins` a multiple of four, that begins at a whole byte of the planes.
struct PackedLookUp {
  const ShardView& shard;
  uint64_t first = 0;  ///< stream index
  uint32_t ins = 0;
  const uint16_t* table = nullptr;  ///< PackedTable's words
  uint32_t* overlay = nullptr;      ///< overlay of this panel
  PackedPanel panel;
};

/// Looks up the codes of a panel. Where kFusesPacked, also changes words by those of the overlay,
/// which become zeros, and multiplies `leading`.
void LookUpPackedFast(ComputeType type, const PackedLookUp& look_up, const LeadingProduct& leading);

/// The numbers by which outliers of panels of 16 outputs become codes: divided by a scale, if there
/// are any, and times a factor.
struct OutlierPatch {
  uint32_t* overlay = nullptr;  ///< where kFusesPacked, kOverlayFront dwords lie in front
  float factor = 0;
  const float* scales = nullptr;  ///< [panels, 16] of outputs, or [ins] of inputs; null: none
  bool by_output = false;
  uint32_t ins = 0;     ///< inputs of a panel
  uint32_t panels = 0;  ///< panels of the overlay; one where nothing is fused
  uint16_t base = 0;    ///< what codes are put as differences from
};

/// Puts `count` outliers, at most kOutlierChunk, as ForEachOutlierChunk gives them, into the
/// overlay; where nothing is fused, that is the panel. Writes to `far` which ones no code reaches,
/// and returns how many these are.
uint32_t PutOutliersFast(ComputeType type, const OutlierPatch& patch, int64_t offset,
                         const uint8_t* lows, const float* weights, uint32_t count, uint8_t* far);

/// Packs weights [ins, 16], `ins` a multiple of four, each times its output's factor [16]; codes of
/// 8 bits beyond 127 become 127. Returns whether there were any, or numbers that are not finite.
bool PackWeightsFast(ComputeType type, const float* weights, uint32_t ins, const float* factors,
                     uint32_t* out);

/// Measures each output of weights [ins, 16]: the sum of squares and the largest magnitude, [16].
void MeasureOutputsFast(const float* weights, uint32_t ins, float* squares, float* largest);

}  // namespace sti
