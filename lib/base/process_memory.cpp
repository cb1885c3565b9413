#include "base/process_memory.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace sti {
namespace {

uint64_t StatusField(const char* field) {
  FILE* status = std::fopen("/proc/self/status", "re");
  if (status == nullptr) return 0;
  char line[256];
  unsigned long kilobytes = 0;
  size_t length = std::strlen(field);
  while (std::fgets(line, sizeof(line), status) != nullptr) {
    if (std::strncmp(line, field, length) == 0) {
      kilobytes = std::strtoul(line + length, nullptr, 10);
      break;
    }
  }
  std::fclose(status);
  return uint64_t{kilobytes} * 1024;
}

}  // namespace

uint64_t CurrentRssBytes() { return StatusField("VmRSS:"); }
uint64_t PeakRssBytes() { return StatusField("VmHWM:"); }

}  // namespace sti
