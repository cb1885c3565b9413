#include "model/image_embedding.h"

#include <algorithm>

#include "kernels/elementwise.h"
#include "network/tensors.h"

namespace sti {
namespace {

using enum TensorRole;

// Returns how many patches share a row of weights while it is near.
uint32_t PatchesATask(const ImageShape& image) { return std::min(8U, image.patches()); }

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

}  // namespace

uint64_t ImageScratchBytes(const ModelShape& shape, uint32_t threads) {
  if (!shape.image) return 0;
  return uint64_t{threads} * PatchesATask(*shape.image) * shape.image->patch_values() *
         sizeof(float);
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
    float* const values = scratch.data() + size_t{worker} * a_task * width;
    for (uint32_t p = first; p < end; ++p)
      CopyPatch(image, pixels, p, values + size_t{p - first} * width);
    for (uint32_t out = 0; out < d; ++out) {
      for (uint32_t p = first; p < end; ++p) {
        rows[size_t{p + 1} * d + out] =
            Dot(weights + size_t{out} * width, values + size_t{p - first} * width, width) +
            parameters[kPatchBias][out];
      }
    }
    for (uint32_t p = first; p < end; ++p)
      AddTo(positions + size_t{p + 1} * d, d, rows + size_t{p + 1} * d);
    if (first != 0) return;
    std::copy_n(parameters[kClassToken].data(), d, rows);
    AddTo(positions, d, rows);
  });
}

}  // namespace sti
