// Images become hidden rows: each patch is projected to d, a class token stands in front of them,
// and each token's position is added (Dosovitskiy et al., 2021, section 3.1).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "model/layer_parameters.h"
#include "types/model_info.h"

namespace sti {

/// Returns the bytes that `scratch` of EmbedImages grows to; 0 of a model of texts.
uint64_t ImageScratchBytes(const ModelShape& shape, uint32_t threads);

/// Goes from `images` [images, channels, size, size] to `hidden` [images, patches + 1, d]. The bits
/// of an image's rows do not depend on the others, nor on the threads. `scratch` is used again: it
/// allocates nothing once that has grown.
void EmbedImages(const ModelShape& shape, const EmbeddingParameters& parameters,
                 std::span<const float> images, ThreadPool& pool, std::vector<float>& scratch,
                 float* hidden);

}  // namespace sti
