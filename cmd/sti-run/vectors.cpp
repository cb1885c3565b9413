#include "vectors.h"

#include <bit>
#include <cstdio>
#include <limits>
#include <string>

#include "base/little_endian.h"

namespace sti {
namespace {

/// Returns the head of an NPY file of [rows, columns] floats; what follows it is aligned to 64.
std::string NpyHead(uint64_t rows, uint32_t columns) {
  constexpr size_t kBeforeText = 10;  // magic, version, length
  constexpr size_t kAlignment = 64;
  std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(rows) +
                     ", " + std::to_string(columns) + "), }";
  text.append((kAlignment - (kBeforeText + text.size() + 1) % kAlignment) % kAlignment, ' ');
  text += '\n';
  std::string head("\x93NUMPY\x01\x00", 8);
  head += static_cast<char>(text.size() & 0xFF);
  head += static_cast<char>(text.size() >> 8);
  return head + text;
}

}  // namespace

void VectorWriter::Add(std::span<const float> row) {
  const size_t begin = held_.size();
  held_.resize(begin + row.size() * sizeof(float));
  for (size_t i = 0; i < row.size(); ++i)
    StoreLittle<uint32_t>(&held_[begin + i * sizeof(float)], std::bit_cast<uint32_t>(row[i]));
  ++rows_;
  if (format_ == VectorFormat::kNpy) return;
  std::fwrite(held_.data(), 1, held_.size(), stdout);
  held_.clear();
}

void VectorWriter::AddMissing() {
  Add(std::vector<float>(columns_, std::numeric_limits<float>::quiet_NaN()));
}

Status VectorWriter::Finish() {
  if (format_ == VectorFormat::kNpy) {
    const std::string head = NpyHead(rows_, columns_);
    std::fwrite(head.data(), 1, head.size(), stdout);
    std::fwrite(held_.data(), 1, held_.size(), stdout);
  }
  if (std::fflush(stdout) == 0) return {};
  return MachineError("stdout takes no more; is the disk full?");
}

}  // namespace sti
