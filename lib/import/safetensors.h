// Safetensors files, read and written: a JSON header that says what all tensors are called and how
// large they are, then their bytes, one after the other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/result.h"
#include "import/weight_file.h"
#include "types/model_info.h"

namespace sti {

inline constexpr uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;
inline constexpr uint64_t kMaxTensors = uint64_t{1} << 20;

/// Returns the tensors of `file`, whose name is `path` for messages. DataError for a file whose
/// header is not sound, or whose tensors overlap or lie outside it. Pure.
Result<ParsedWeights> ParseSafetensors(const std::string& path, std::span<const uint8_t> file);

/// A tensor that will be written.
struct TensorPlan {
  std::string name;
  DataType type = DataType::kF32;
  std::vector<uint64_t> shape;

  [[nodiscard]] uint64_t bytes() const;
};

/// One thread at a time. Nothing appears at the path before Finish.
class SafetensorsWriter {
 public:
  static Result<SafetensorsWriter> Create(const std::string& path, std::vector<TensorPlan> tensors);

  /// Appends bytes of the tensors in their order; a call may hold any part of one or several.
  [[nodiscard]] Status Append(std::span<const uint8_t> bytes);
  /// Ends the file. MachineError unless all bytes came.
  [[nodiscard]] Status Finish();

 private:
  explicit SafetensorsWriter(AtomicFile file) : file_(std::move(file)) {}

  AtomicFile file_;
  uint64_t next_ = 0;
  uint64_t end_ = 0;
};

}  // namespace sti
