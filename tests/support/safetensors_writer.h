// Writes safetensors files for tests, the sound ones and (by hand) the broken ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sti {

/// One tensor as it will lie in the file. `bytes` is row-major, little endian.
struct TensorToWrite {
  std::string name;
  std::string dtype;  ///< "F32", "F16", "BF16", or anything else a test wants
  std::vector<uint64_t> shape;
  std::vector<uint8_t> bytes;
};

/// Writes `bytes` to `path`, replacing what was there.
Status WriteBytes(const std::string& path, std::string_view bytes);

/// The bytes of a safetensors file: header length, JSON header, tensors in the order given.
std::string SafetensorsBytes(const std::vector<TensorToWrite>& tensors);

/// The bytes of a file with this very header, for headers that are wrong.
std::string SafetensorsBytes(std::string_view header, std::string_view data);

/// Writes SafetensorsBytes(tensors) to `path`.
Status WriteSafetensors(const std::string& path, const std::vector<TensorToWrite>& tensors);

}  // namespace sti
