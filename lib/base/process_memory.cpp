#include "base/process_memory.h"

#include <malloc.h>

#include <algorithm>
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

// Returns the size in bytes of all files that are mapped into this process.
uint64_t MappedFileBytes() {
  FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return 0;
  char line[4352];  // a path has up to 4,096 bytes
  uint64_t bytes = 0;
  while (std::fgets(line, sizeof(line), maps) != nullptr) {
    unsigned long begin = 0;
    unsigned long end = 0;
    unsigned long inode = 0;
    const int fields = std::sscanf(line, "%lx-%lx %*s %*s %*s %lu", &begin, &end, &inode);
    if (fields == 3 && inode != 0 && end > begin) bytes += end - begin;
  }
  std::fclose(maps);
  return bytes;
}

}  // namespace

uint64_t CurrentRssBytes() { return StatusField("VmRSS:"); }
uint64_t PeakRssBytes() { return StatusField("VmHWM:"); }

uint64_t SettledRssBytes() {
  const uint64_t now = CurrentRssBytes();
  // Files of a file system in memory (tmpfs, an initramfs) count as shared memory.
  const uint64_t of_files = std::min(now, StatusField("RssFile:") + StatusField("RssShmem:"));
  return now - of_files + std::max(of_files, MappedFileBytes() / 4 * 3);
}

void GiveBackFreeMemory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace sti
