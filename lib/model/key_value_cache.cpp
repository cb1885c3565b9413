#include "model/key_value_cache.h"

#include <cassert>

#include "base/checked.h"
#include "model/layer_layout.h"

namespace sti {
namespace {

// Floats of a layer: its keys, and behind them its values, with what vectors read past both.
struct LayerFloats {
  size_t key_stride;
  size_t keys;
  size_t all;
};

LayerFloats FloatsOf(size_t values_width, uint32_t context) {
  const size_t stride = PaddedStride(context);
  const size_t keys = values_width * stride;
  return {stride, keys,
          RoundUp(uint64_t{keys + context * values_width + kReadPastEnd}, uint64_t{kReadPastEnd})};
}

size_t ValuesWidth(const ModelShape& shape, uint32_t width) {
  return size_t{width} * shape.head_dim();
}

}  // namespace

KeyValueCache::KeyValueCache(const ModelShape& shape, uint32_t layers, uint32_t width,
                             uint32_t context)
    : context_(context), values_width_(ValuesWidth(shape, width)) {
  const LayerFloats floats = FloatsOf(values_width_, context);
  key_stride_ = floats.key_stride;
  layer_floats_ = floats.all;
  buffer_ = AlignedBuffer(BytesFor(shape, layers, width, context));
}

uint64_t KeyValueCache::BytesFor(const ModelShape& shape, uint32_t layers, uint32_t width,
                                 uint32_t context) {
  return uint64_t{layers} * FloatsOf(ValuesWidth(shape, width), context).all * sizeof(float);
}

CachedLayer KeyValueCache::Layer(uint32_t k) {
  auto* floats = reinterpret_cast<float*>(buffer_.data()) + k * layer_floats_;
  assert((k + 1) * layer_floats_ * sizeof(float) <= buffer_.size());
  return {floats, key_stride_, floats + values_width_ * key_stride_, values_width_, count_};
}

}  // namespace sti
