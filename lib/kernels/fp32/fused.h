// Decoding inside the product: the first rows are multiplied by weights while they are still in the
// registers that look-ups left them in. The two use different ports of the CPU, so the time of the
// one hides in that of the other; for short inputs that is most of the layer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shard/view.h"
#include "shard/weight_order.h"

namespace sti {

inline constexpr uint32_t kFusedRows = 16;  ///< most that are multiplied while decoding

/// Returns how many of `rows` are multiplied while decoding, at most kFusedRows. Of 17 to 23 rows
/// it takes 12, because a second product for one or a few rows would be wasteful.
constexpr uint32_t FusedRows(uint32_t rows) {
  constexpr uint32_t kFew = 24;
  if (rows > kFusedRows && rows < kFew) return kFew / 2;
  return rows < kFusedRows ? rows : kFusedRows;
}

/// Room for the outliers of a stretch, each where its weight is.
struct OutlierOverlay {
  float* values = nullptr;    ///< [ins, 16], aligned to 64 bytes; only what a mask shows is read
  uint16_t* masks = nullptr;  ///< [ins] a bit an output
};

/// Writes rows of `ins` numbers side by side, [ins, kFusedRows], so that one pointer reaches all of
/// them; zeros for rows that there are not. `rows` is at most kFusedRows. Thread-safe.
void InterleaveRows(const float* in, size_t stride, uint32_t rows, uint32_t ins, float* out);

/// c [rows, 16] = a [rows, ins] times a stretch, plus `start` or c as in PanelProduct; the
/// stretch's weights are also written to `decoded`, if that is given, as DecodePanel and
/// MultiplyPanels do it one after the other, to the bit.
struct FusedProduct {
  const ShardView& shard;
  const PanelStretch& stretch;
  OutlierOverlay overlay;
  const float* a = nullptr;  ///< [ins, kFusedRows], from InterleaveRows
  uint32_t rows = 0;         ///< 1..kFusedRows
  const float* start = nullptr;
  float* c = nullptr;
  size_t c_stride = 0;
  float* decoded = nullptr;  ///< [ins, 16], aligned to 64 bytes; null where no more rows follow
};

/// Returns whether this machine can multiply so: it has AVX-512 with VBMI and GFNI. Thread-safe.
bool CanFuseHere();
/// Returns whether this machine and this stretch can: sixteen outputs, inputs by fours, 2 to 6
/// bits. Thread-safe.
bool CanFuse(const ShardView& shard, const PanelStretch& stretch);

/// Computes the product. Thread-safe.
void MultiplyDecoding(const FusedProduct& product);

/// Returns whether AVX-512 with VBMI and GFNI is there and in force.
bool HasByteLookups();

/// Does what InterleaveRows does, for `ins` a multiple of four. Call only where HasByteLookups.
void InterleaveRowsAvx512(const float* in, size_t stride, uint32_t rows, uint32_t ins, float* out);

/// Does what MultiplyDecoding does, once the overlay is filled. Call only where CanFuse.
void MultiplyDecodingAvx512(const FusedProduct& product);

}  // namespace sti
