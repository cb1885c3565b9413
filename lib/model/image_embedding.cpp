#include "model/image_embedding.h"

#include <algorithm>

#include "kernels/elementwise.h"
#include "kernels/gemm.h"
#include "network/tensors.h"
#include "shard/weight_order.h"

namespace sti {
namespace {

using enum TensorRole;

// Inputs of a tile of weights, which is turned for the product: so many that it takes 32 KiB.
constexpr uint32_t kTileIns = 256;

// Returns how many patches share a tile of weights: so many that to turn it takes little beside.
uint32_t PatchesATask(const ImageShape& image) { return std::min(48U, image.patches()); }

// Returns the floats that a worker has for itself: patches, and a tile of weights.
size_t ScratchFloats(const ImageShape& image) {
  return size_t{PatchesATask(image)} * image.patch_values() + kTileWidth * kTileIns;
}

// Copies a patch to `values` [channels, patch, patch], as the weights of a convolution lie.
void CopyPatch(const ImageShape& shape, const float* image, uint32_t number, float* values) {
  const uint32_t patches_a_row = shape.size / shape.patch;
  const size_t row = size_t{number / patches_a_row} * shape.patch;
  const size_t column = size_t{number % patches_a_row} * shape.patch;
  for (uint32_t channel = 0; channel < shape.channels; ++channel) {
    for (uint32_t y = 0; y < shape.patch; ++y) {
      const float* from = image + (size_t{channel} * shape.size + row + y) * shape.size + column;
      values = std::copy_n(from, shape.patch, values);
    }
  }
}

// rows [patches, d] = bias + patches [patches, ins] times the weights [d, ins], turned tile by tile
// into `tile` [kTileIns, kTileWidth].
void Project(const float* patches, uint32_t count, uint32_t ins, const float* weights,
             std::span<const float> bias, float* tile, float* rows) {
  const auto d = static_cast<uint32_t>(bias.size());
  for (uint32_t out = 0; out < d; out += kTileWidth) {
    const uint32_t width = std::min(kTileWidth, d - out);
    for (uint32_t in = 0; in < ins; in += kTileIns) {
      const uint32_t stretch = std::min(kTileIns, ins - in);
      TransposeTile(weights + size_t{out} * ins + in, ins, width, stretch, tile, kTileWidth);
      MultiplyPanels({.a = patches + in,
                      .a_stride = ins,
                      .rows = count,
                      .ins = stretch,
                      .panels = {{tile, kTileWidth}, {tile + kPanelWidth, kTileWidth}},
                      .c = rows + out,
                      .c_stride = d,
                      .width = width,
                      .start = in == 0 ? bias.data() + out : nullptr});
    }
  }
}

}  // namespace

uint64_t ImageScratchBytes(const ModelShape& shape, uint32_t threads) {
  if (!shape.image) return 0;
  return threads * ScratchFloats(*shape.image) * sizeof(float);
}

void EmbedImages(const ModelShape& shape, const EmbeddingParameters& parameters,
                 std::span<const float> images, ThreadPool& pool, std::vector<float>& scratch,
                 float* hidden) {
  const ImageShape& image = *shape.image;
  const uint32_t d = shape.hidden;
  const uint32_t width = image.patch_values();
  const uint32_t patches = image.patches();
  const auto count = static_cast<uint32_t>(images.size() / image.values());
  const uint32_t a_task = PatchesATask(image);
  const uint32_t tasks = (patches + a_task - 1) / a_task;
  const float* const weights = parameters[kPatchWeight].data();
  const float* const positions = parameters[kPatchPositions].data();
  scratch.resize(ImageScratchBytes(shape, pool.threads()) / sizeof(float));
  pool.ParallelFor(count * tasks, [&](uint32_t task, uint32_t worker) {
    const float* const pixels = images.data() + (task / tasks) * image.values();
    float* const rows = hidden + size_t{task / tasks} * (patches + 1) * d;
    const uint32_t first = task % tasks * a_task;
    const uint32_t end = std::min(patches, first + a_task);
    float* const values = scratch.data() + worker * ScratchFloats(image);
    for (uint32_t p = first; p < end; ++p)
      CopyPatch(image, pixels, p, values + size_t{p - first} * width);
    Project(values, end - first, width, weights, parameters[kPatchBias],
            values + size_t{a_task} * width, rows + size_t{first + 1} * d);
    for (uint32_t p = first; p < end; ++p)
      AddTo(positions + size_t{p + 1} * d, d, rows + size_t{p + 1} * d);
    if (first != 0) return;
    std::copy_n(parameters[kClassToken].data(), d, rows);
    AddTo(positions, d, rows);
  });
}

}  // namespace sti
