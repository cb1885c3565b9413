#include "model/layer_layout.h"

#include <algorithm>

#include "base/checked.h"
#include "model/attention.h"

namespace sti {
namespace {

using Region = ValuePlace::Region;

// Returns whether any of `steps` reads a value or adds to it.
bool IsWantedBy(LayerProgram steps, LayerValue value) {
  return std::ranges::any_of(
      steps, [&](const LayerStep& step) { return Reads(step, value) || WrittenBy(step) == value; });
}

bool AreKeys(LayerProgram program, LayerValue value) {
  return std::ranges::any_of(program, [&](const LayerStep& step) {
    const auto* attend = std::get_if<AttendStep>(&step);
    return attend != nullptr && attend->keys == value;
  });
}

}  // namespace

LayerLayout::LayerLayout(LayerProgram program, const ModelShape& shape, bool packed,
                         const TransformerLimits& limits) {
  const uint32_t longest = std::min(std::max(limits.tokens, limits.context), shape.max_positions);
  scores_ = packed ? PackedAttentionScratch(longest, shape.head_dim()) : AttentionScratch(longest);
  sums_ = RoundUp(uint64_t{limits.tokens} * std::max(shape.hidden, shape.embedding_width()),
                  uint64_t{kReadPastEnd});
  places_[LayerValue::kInput].stride = shape.hidden;
  for (; !program.empty(); program = program.subspan(1)) {
    const LayerStep& step = program.front();
    if (const auto* linear = std::get_if<LinearStep>(&step)) {
      places_[linear->out] = PlaceOf(*linear, program, shape, packed, limits);
    } else if (const auto* attend = std::get_if<AttendStep>(&step)) {
      places_[attend->out] = places_[attend->queries];
    } else if (const auto* activate = std::get_if<ActivateStep>(&step)) {
      places_[activate->out] = places_[activate->in];
    } else if (const auto* norm = std::get_if<NormStep>(&step)) {
      places_[norm->out] = places_[LayerValue::kInput];
      if (IsWantedBy(program.subspan(1), LayerValue::kInput)) {
        places_[norm->out].region = Region::kSums;
      }
    }
  }
  slices_ = RoundUp(slices_ + kReadPastEnd, uint64_t{kReadPastEnd});
}

// Returns the place of what a linear map gives; `rest` begins with it.
ValuePlace LayerLayout::PlaceOf(const LinearStep& step, LayerProgram rest, const ModelShape& shape,
                                bool packed, const TransformerLimits& limits) {
  const TensorSpec& weight = SpecOf(step.weight);
  if (IsCutByInputs(weight)) return {.region = Region::kSums, .stride = shape.hidden};
  const uint64_t outs = SizeInSlice(weight, shape).rows;
  const uint64_t all = limits.width * outs;
  const bool transposed = !packed && AreKeys(rest, step.out);
  ValuePlace place = {.region = Region::kSlices, .transposed = transposed};
  place.stride = PaddedStride(transposed ? limits.tokens : all);
  place.slice_step = transposed ? outs * place.stride : outs;
  if (!AnyIsReadBy(rest)) next_ = 0;
  place.offset = next_;
  next_ += (transposed ? all : limits.tokens) * place.stride;
  slices_ = std::max(slices_, next_);
  return place;
}

// Returns whether one of `steps` reads a value of slices that has its place already.
bool LayerLayout::AnyIsReadBy(LayerProgram steps) const {
  for (const LayerValue value : kLayerValues) {
    if (places_[value].region != Region::kSlices) continue;
    if (std::ranges::any_of(steps, [&](const LayerStep& step) { return Reads(step, value); })) {
      return true;
    }
  }
  return false;
}

}  // namespace sti
