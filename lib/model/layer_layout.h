// Where the values of a layer lie in working memory while a transformer computes them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/checked.h"
#include "network/layer_program.h"
#include "types/model_info.h"

namespace sti {

/// Floats that vectors may read past the end of a row.
inline constexpr uint32_t kReadPastEnd = 16;

/// Returns the floats from one padded row of `width` numbers to the next. The slack also keeps rows
/// of a power of two from falling on the same cache sets.
constexpr uint64_t PaddedStride(uint64_t width) {
  return RoundUp(width, uint64_t{kReadPastEnd}) + kReadPastEnd;
}

/// The largest batches and layers that working buffers are laid out for.
struct TransformerLimits {
  uint32_t tokens = 0;   ///< most of a batch; no sequence is longer than the model's max_positions
  uint32_t width = 0;    ///< most slices of a layer
  uint32_t context = 0;  ///< most tokens of a sequence whose first ones are kept; 0: none are

  friend bool operator==(const TransformerLimits&, const TransformerLimits&) = default;
};

/// The place of a value of a layer. Slices have parts side by side, a row a token; transposed, a
/// column a token.
struct ValuePlace {
  enum class Region : uint8_t {
    kHidden,  ///< the caller's hidden rows, [tokens, d]
    kSums,    ///< sums over slices, [tokens, d]
    kSlices,  ///< what slices compute each for itself
  };

  Region region = Region::kHidden;
  uint64_t offset = 0;      ///< first number, from the beginning of the region
  uint64_t stride = 0;      ///< between rows
  uint64_t slice_step = 0;  ///< between slices
  bool transposed = false;
};

/// Lays out working memory for a program of layers, in floats: values that slices make lie behind
/// one another until none of them is wanted any more, and the next begin where they began.
/// Attention puts its context in the place of the queries, an activation stays where its input is,
/// and what a norm gives replaces the hidden rows, or where those are still wanted, the sums.
class LayerLayout {
 public:
  /// `packed`: attention takes its keys row by row, and not transposed.
  LayerLayout(LayerProgram program, const ModelShape& shape, bool packed,
              const TransformerLimits& limits);

  [[nodiscard]] const ValuePlace& operator[](LayerValue value) const { return places_[value]; }
  /// Returns where sums over slices begin.
  [[nodiscard]] uint64_t sums() const { return slices_; }
  /// Returns where the first thread's scratch of attention begins.
  [[nodiscard]] uint64_t scores() const { return slices_ + sums_; }
  /// Returns how far the threads' scratch lies apart.
  [[nodiscard]] uint64_t scores_stride() const { return scores_; }
  [[nodiscard]] uint64_t bytes(uint32_t threads) const {
    return (scores() + scores_ * threads) * sizeof(float);
  }

 private:
  ValuePlace PlaceOf(const LinearStep& step, LayerProgram rest, const ModelShape& shape,
                     bool packed, const TransformerLimits& limits);
  [[nodiscard]] bool AnyIsReadBy(LayerProgram steps) const;

  ByValue<ValuePlace> places_;
  uint64_t next_ = 0;    // where the next value of slices may begin
  uint64_t slices_ = 0;  // room for values of slices
  uint64_t sums_ = 0;
  uint64_t scores_ = 0;  // of each thread
};

}  // namespace sti
