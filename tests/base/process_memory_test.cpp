#include "base/process_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "support/sanitizers.h"

namespace sti {
namespace {

constexpr size_t kBytes = size_t{32} << 20;

TEST(ProcessMemory, PagesThatAreWrittenCountInFull) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes memory beside what is written";
  const uint64_t before = SettledRssBytes();
  const std::vector<char> written(kBytes, 1);
  EXPECT_NEAR(static_cast<double>(SettledRssBytes() - before), static_cast<double>(kBytes), 2e6);
  EXPECT_GE(CurrentRssBytes(), kBytes);
  EXPECT_GE(PeakRssBytes(), kBytes);
}

/// A file of zeros that has no pages in memory, as the code of a program has before it runs. Takes
/// over its descriptor.
class MappedFile {
 public:
  explicit MappedFile(int descriptor) {
    if (descriptor < 0) return;
    if (ftruncate(descriptor, kBytes) == 0)
      data_ = mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
    close(descriptor);
  }
  ~MappedFile() {
    if (mapped()) munmap(data_, kBytes);
  }
  [[nodiscard]] bool mapped() const { return data_ != MAP_FAILED; }
  [[nodiscard]] const volatile char* data() const { return static_cast<const char*>(data_); }

 private:
  void* data_ = MAP_FAILED;
};

TEST(ProcessMemory, AMappedFileCountsWhetherItsPagesAreThereOrNot) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes memory beside what is read";
  FILE* on_disk = std::tmpfile();
  ASSERT_NE(on_disk, nullptr);
  for (const int descriptor : {dup(fileno(on_disk)), memfd_create("file", MFD_CLOEXEC)}) {
    const uint64_t before = SettledRssBytes();
    const MappedFile file(descriptor);
    ASSERT_TRUE(file.mapped());
    const uint64_t untouched = SettledRssBytes();
    EXPECT_NEAR(static_cast<double>(untouched - before), 0.8 * kBytes, 2e6);
    char sum = 0;
    for (size_t i = 0; i < kBytes / 2; i += 4096) sum = static_cast<char>(sum + file.data()[i]);
    EXPECT_EQ(sum, 0);
    EXPECT_NEAR(static_cast<double>(SettledRssBytes()), static_cast<double>(untouched), 2e6);
  }
  std::fclose(on_disk);
}

}  // namespace
}  // namespace sti
