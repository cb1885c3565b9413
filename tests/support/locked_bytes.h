// The memory that this process has locked, as the kernel counts it.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace sti {

/// Returns VmLck of /proc/self/status in bytes.
inline uint64_t LockedBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmLck:")) return std::stoull(line.substr(6)) * 1024;
  }
  return 0;
}

}  // namespace sti
