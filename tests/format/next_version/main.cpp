// next-version FILE OUT: for the command-line tests, FILE as a later minor version would write it.
#include <cstdio>
#include <vector>

#include "base/atomic_file.h"
#include "format/next_version/next_version.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto content = sti::ReadWholeFile(argv[1], uint64_t{1} << 30);
  if (!content.ok()) return 1;
  const std::vector<uint8_t> bytes(content->begin(), content->end());
  const auto next = sti::NextVersion(bytes);
  if (next.empty() || !sti::WriteFileAtomically(argv[2], next).ok()) return 1;
  std::printf("%zu bytes\n", next.size());
  return 0;
}
