// Sources other than a path: part of somebody's descriptor, and a callback.
#include "io/block_source.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "io/container_file.h"
#include "support/expect.h"
#include "support/temp_folder.h"
#include "support/test_container.h"

namespace sti {
namespace {

std::vector<uint8_t> ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Sources : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Succeeded(WriteTinyContainer(path_)));
    bytes_ = ReadAll(path_);
  }

  // A file with the container at `offset` and `behind` more bytes behind it.
  std::string Archive(uint64_t offset, uint64_t behind) {
    const std::string path = folder_.File("archive");
    std::vector<uint8_t> content(offset, 0xaa);
    content.insert(content.end(), bytes_.begin(), bytes_.end());
    content.insert(content.end(), behind, 0xbb);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(content.data()),
               static_cast<std::streamsize>(content.size()));
    return path;
  }

  static Result<ContainerFile> OpenDescriptor(const std::string& path, uint64_t offset,
                                              uint64_t bytes) {
    const FileHandle handle(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    STI_ASSIGN_OR_RETURN(const BlockSourcePtr source,
                         DescriptorSource(handle.get(), offset, bytes));
    return ContainerFile::Open(source);  // the caller's descriptor is closed on return
  }

  // All that there is is where the path has it.
  void ExpectWhole(Result<ContainerFile> file) {
    ASSERT_TRUE(Succeeded(file));
    const auto range = file->ReadRange(0, bytes_.size());
    ASSERT_TRUE(Succeeded(range));
    EXPECT_TRUE(std::ranges::equal(range->blocks.span(), bytes_));
  }

  TempFolder folder_;
  std::string path_ = folder_.File("a.sti");
  std::vector<uint8_t> bytes_;
};

TEST_F(Sources, ADescriptorAtABlockIsReadAsThePathIs) {
  auto by_path = ContainerFile::Open(path_);
  ASSERT_TRUE(Succeeded(by_path));
  for (const uint64_t offset : {uint64_t{0}, kBlockBytes, 5 * kBlockBytes}) {
    auto file = OpenDescriptor(Archive(offset, 0), offset, bytes_.size());
    ASSERT_TRUE(Succeeded(file));
    EXPECT_EQ(file->reader().path(), by_path->reader().path());
    ExpectWhole(std::move(file));
  }
}

TEST_F(Sources, ADescriptorElsewhereIsReadThroughThePageCache) {
  for (const uint64_t offset : {1, 100, 4097}) {
    auto file = OpenDescriptor(Archive(offset, 3), offset, bytes_.size());
    ASSERT_TRUE(Succeeded(file));
    EXPECT_EQ(file->reader().path(), ReadPath::kBuffered);
    ExpectWhole(std::move(file));
  }
}

TEST_F(Sources, WithoutALengthTheContainerSaysWhereItEnds) {
  for (const uint64_t behind : {uint64_t{0}, uint64_t{1}, kBlockBytes, 3 * kBlockBytes + 7})
    ExpectWhole(OpenDescriptor(Archive(kBlockBytes, behind), kBlockBytes, 0));
  EXPECT_TRUE(FailedWith(OpenDescriptor(Archive(0, kBlockBytes), 0, bytes_.size() + kBlockBytes),
                         ErrorKind::kDamaged, "its header says"))
      << "a length is taken at its word";
}

TEST_F(Sources, ACutContainerIsDamaged) {
  const std::string path = Archive(0, 0);
  std::filesystem::resize_file(path, bytes_.size() - kBlockBytes);
  EXPECT_TRUE(FailedWith(OpenDescriptor(path, 0, 0), ErrorKind::kDamaged, "its header says"));
  std::filesystem::resize_file(path, 100);
  EXPECT_TRUE(FailedWith(OpenDescriptor(path, 0, 0), ErrorKind::kDamaged, "is cut short"));
}

TEST_F(Sources, TheCallersDescriptorStaysAsItIs) {
  const FileHandle handle(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  const int flags = ::fcntl(handle.get(), F_GETFL);
  ::lseek(handle.get(), 17, SEEK_SET);
  auto source = DescriptorSource(handle.get(), 0, 0);
  ASSERT_TRUE(Succeeded(source));
  ExpectWhole(ContainerFile::Open(*source));
  EXPECT_EQ(::fcntl(handle.get(), F_GETFL), flags);
  EXPECT_EQ(::lseek(handle.get(), 0, SEEK_CUR), 17);
}

TEST_F(Sources, DescriptorsThatAreNone) {
  EXPECT_TRUE(FailedWith(DescriptorSource(-1, 0, 0), ErrorKind::kReadFailed));
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const FileHandle out(ends[0]);
  const FileHandle in(ends[1]);
  EXPECT_TRUE(FailedWith(DescriptorSource(ends[0], 0, 0), ErrorKind::kNoSuchFile));
  const FileHandle file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(
      FailedWith(DescriptorSource(file.get(), kBlockBytes, bytes_.size()), ErrorKind::kDamaged));
  EXPECT_TRUE(FailedWith(DescriptorSource(file.get(), ~uint64_t{0}, 1), ErrorKind::kDamaged));
  EXPECT_TRUE(FailedWith(DescriptorSource(file.get(), 1, ~uint64_t{0}), ErrorKind::kDamaged));
  const FileHandle write_only(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
  auto source = DescriptorSource(write_only.get(), 0, 0);
  ASSERT_TRUE(Succeeded(source));
  const auto opened = ContainerFile::Open(*source, ReadPath::kBuffered);
  EXPECT_TRUE(FailedWith(opened, ErrorKind::kReadFailed));
}

TEST_F(Sources, ManyReadersOfOneSource) {
  auto file = OpenDescriptor(Archive(kBlockBytes, 9), kBlockBytes, 0);
  ASSERT_TRUE(Succeeded(file));
  auto clone = file->reader().Clone();
  ASSERT_TRUE(Succeeded(clone));
  auto again = OpenBlockReader((*clone)->source(), ReadPath::kThreads);
  if (!again.ok()) again = OpenBlockReader((*clone)->source(), ReadPath::kBuffered);
  ASSERT_TRUE(Succeeded(again));
  AlignedBuffer block(kBlockBytes);
  for (BlockReader* reader : {clone->get(), again->get()}) {
    ASSERT_TRUE(Succeeded(reader->Read(kBlockBytes, block.span())));
    EXPECT_TRUE(std::equal(block.span().begin(), block.span().end(), bytes_.begin() + kBlockBytes));
  }
}

class Callbacks : public Sources {
 protected:
  // How many bytes a call of the callback gives, of those that are asked for.
  template <typename Give>
  Result<ContainerFile> OpenOver(Give give) {
    return ContainerFile::Open(CallbackSource(
        [this, give](uint64_t offset, std::span<uint8_t> buffer) -> int64_t {
          const int64_t count = give(static_cast<int64_t>(buffer.size()));
          for (int64_t i = 0; i < std::min(count, static_cast<int64_t>(buffer.size())); ++i)
            buffer[i] = bytes_[offset + i];
          return count;
        },
        bytes_.size()));
  }
};

TEST_F(Callbacks, AreReadLikeAFile) {
  auto file = OpenOver([](int64_t asked) { return asked; });
  ASSERT_TRUE(Succeeded(file));
  EXPECT_EQ(file->reader().path(), ReadPath::kBuffered);
  ExpectWhole(std::move(file));
}

TEST_F(Callbacks, MayGiveLessThanAskedFor) {
  ExpectWhole(OpenOver([](int64_t asked) { return std::min<int64_t>(asked, 1000); }));
}

TEST_F(Callbacks, ThatFailOrLie) {
  EXPECT_TRUE(FailedWith(OpenOver([](int64_t) { return -1; }), ErrorKind::kReadFailed));
  EXPECT_TRUE(FailedWith(OpenOver([](int64_t) { return INT64_MIN; }), ErrorKind::kReadFailed));
  EXPECT_TRUE(
      FailedWith(OpenOver([](int64_t asked) { return asked + 1; }), ErrorKind::kReadFailed));
  EXPECT_TRUE(FailedWith(OpenOver([](int64_t) { return 0; }), ErrorKind::kDamaged));
  auto file = OpenOver([calls = std::make_shared<std::atomic<int>>(0)](int64_t asked) {
    return ++*calls > 2 ? -1 : asked;
  });
  ASSERT_TRUE(Succeeded(file));
  EXPECT_TRUE(FailedWith(file->ReadRange(0, bytes_.size()), ErrorKind::kReadFailed));
}

}  // namespace
}  // namespace sti
