// The file preprocessor_config.json of a folder, which says how the pixels of an image become the
// values that a model of images takes; read and written.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "types/model_info.h"

namespace sti {

/// Reads how pixels of `channels` values are scaled from the file at `path`. What it says of sizes
/// and of cutting is not looked at: images come in the model's size. kDamaged for what is no scale,
/// kForeign for one with steps that are not computed.
Result<PixelScale> ReadPreprocessorFile(const std::string& path, uint32_t channels);

/// Returns a text of preprocessor_config.json that is read as the same scale, for images of `size`
/// pixels a side.
std::string PreprocessorFileText(const PixelScale& pixels, uint32_t size);

}  // namespace sti
