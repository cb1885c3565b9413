// What packed.cpp and packed_attention.cpp choose between; not for others.
#pragma once

#include "kernels/packed.h"

namespace sti {

/// 8-bit rows whose largest magnitude is smaller become zeros: 127 over it may be infinite.
constexpr float kLeastRow = 1e-36f;

/// The instructions of this CPU, on the instruction set in force.
bool HasPackedInstructions(ComputeType type);

/// As in packed.h, with the instructions of `type`.
void PackRowsAvx512(ComputeType type, const RowsRef& in, const float* scales,
                    const PackedRows& out);
void MultiplyPackedAvx512(ComputeType type, const PackedProduct& product);

/// As in packed_attention.h, with the instructions of kBf16.
void PackKeysAvx512(const RowsRef& keys, uint32_t* out);
void PackValuesAvx512(const RowsRef& values, uint32_t* out);
void SoftmaxPackedAvx512(float* row, uint32_t count);

/// A panel of 16 outputs, `ins` a multiple of four, that begins at a whole byte of the planes.
struct PackedLookUp {
  const ShardView& shard;
  uint64_t first = 0;  ///< stream index
  uint32_t ins = 0;
  const uint16_t* table = nullptr;  ///< PackedTable's words
  PackedOverlay overlay;
  PackedPanel panel;
};

/// Looks its codes up, the overlay's in place of those it has, and multiplies `leading`.
void LookUpPackedAvx512(ComputeType type, const PackedLookUp& look_up,
                        const LeadingProduct& leading);

/// What outliers of a panel of 16 outputs need to become codes: divided by a scale, if there are
/// any, and times a factor.
struct OutlierPatch {
  PackedOverlay overlay;
  float factor = 0;
  const float* scales = nullptr;  ///< of the panel's outputs or of the inputs
  bool by_output = false;
};

/// Puts `count` outliers, at most kOutlierChunk, as ForEachOutlierChunk gives them. Returns those
/// that no code reaches, a bit for each.
uint64_t PutOutliersAvx512(ComputeType type, const OutlierPatch& patch, int64_t offset,
                           const uint8_t* lows, const float* weights, uint32_t count);

/// Packs weights [ins, 16], `ins` a multiple of four, each times its output's factor [16]; codes of
/// 8 bits beyond 127 become 127. True if there were any, or numbers that are not finite.
bool PackWeightsAvx512(ComputeType type, const float* weights, uint32_t ins, const float* factors,
                       uint32_t* out);

/// Per output of weights [ins, 16]: the sum of squares and the largest magnitude.
void MeasureOutputsAvx512(const float* weights, uint32_t ins, float* squares, float* largest);

}  // namespace sti
