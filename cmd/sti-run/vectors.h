// Embeddings of sti-run on stdout for other programs: rows of 32-bit floats, bare or as an NPY file
// (numpy's format, version 1.0).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "options.h"

namespace sti {

/// Writes one row an input to stdout. Bare rows are written at once. An NPY file says in front how
/// many rows it has, so that its rows are held until the last one is there.
class VectorWriter {
 public:
  /// `columns` is the length of each row. `format` is not kText.
  VectorWriter(VectorFormat format, uint32_t columns) : format_(format), columns_(columns) {}

  /// Takes the row of one input.
  void Add(std::span<const float> row);
  /// Takes an input that got no answer: a row of NaN, so that rows and inputs stay side by side.
  void AddMissing();
  /// Writes what was held. kMachine if stdout takes no more.
  [[nodiscard]] Status Finish();

 private:
  VectorFormat format_;
  uint32_t columns_;
  uint64_t rows_ = 0;
  std::vector<uint8_t> held_;
};

}  // namespace sti
