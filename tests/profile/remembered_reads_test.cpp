#include "profile/remembered_reads.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/aligned_buffer.h"
#include "io/container_file.h"
#include "support/expect.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"
#include "support/test_container.h"

namespace sti {
namespace {

TEST(RememberingReader, GivesTheSameBlocksWhenTheFileIsNoLongerTheSame) {
  TempFolder folder;
  const std::string path = folder.File("blocks");
  std::string content;
  for (const char letter : {'a', 'b', 'c', 'd'}) content += std::string(kBlockBytes, letter);
  ASSERT_TRUE(Succeeded(WriteBytes(path, content)));
  const auto source = OpenBlockReader(path, ReadPath::kBuffered);
  ASSERT_TRUE(Succeeded(source));
  BlockMemory memory;
  AlignedBuffer first(2 * kBlockBytes);
  RememberingReader reader(**source, memory);
  EXPECT_EQ(reader.file_bytes(), 4 * kBlockBytes);
  EXPECT_EQ(reader.name(), path);
  ASSERT_TRUE(Succeeded(reader.Read(kBlockBytes, first.span())));
  EXPECT_EQ(first.data()[0], 'b');
  EXPECT_EQ(first.data()[kBlockBytes], 'c');
  EXPECT_EQ(reader.in_flight(), 0U);

  ASSERT_TRUE(Succeeded(WriteBytes(path, std::string(4 * kBlockBytes, 'x'))));
  AlignedBuffer again(3 * kBlockBytes);
  RememberingReader later(**source, memory);
  ASSERT_TRUE(Succeeded(later.Read(2 * kBlockBytes, again.span().first(kBlockBytes))));
  EXPECT_EQ(again.data()[0], 'c');
  // A range of which one block is new is read as a whole.
  ASSERT_TRUE(Succeeded(later.Read(kBlockBytes, again.span())));
  EXPECT_EQ(again.data()[0], 'x');
}

TEST(RememberingReader, ErrorsOfTheSourceAreItsOwn) {
  TempFolder folder;
  const std::string path = folder.File("blocks");
  ASSERT_TRUE(Succeeded(WriteBytes(path, std::string(2 * kBlockBytes, 'x'))));
  const auto source = OpenBlockReader(path, ReadPath::kBuffered);
  ASSERT_TRUE(Succeeded(source));
  std::filesystem::resize_file(path, kBlockBytes);
  BlockMemory memory;
  RememberingReader reader(**source, memory);
  AlignedBuffer block(kBlockBytes);
  EXPECT_TRUE(
      FailedWith(reader.Read(kBlockBytes, block.span()), ErrorKind::kDamaged, "ends at byte"));
  EXPECT_TRUE(Succeeded(reader.Read(0, block.span())));
}

// A start can be measured wherever a container can be opened: inside a longer file too.
TEST(RememberingReader, AContainerWithBytesBehindItOpensThroughIt) {
  TempFolder folder;
  const std::string path = folder.File("a.sti");
  ASSERT_TRUE(Succeeded(WriteTinyContainer(path)));
  std::ofstream(path, std::ios::app | std::ios::binary) << "behind";
  const FileHandle handle(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto source = DescriptorSource(handle.get(), 0, 0);
  ASSERT_TRUE(Succeeded(source));
  const auto reader = OpenBlockReader(*source);
  ASSERT_TRUE(Succeeded(reader));
  BlockMemory memory;
  const auto file = ContainerFile::Open(std::make_unique<RememberingReader>(**reader, memory));
  EXPECT_TRUE(Succeeded(file));
}

}  // namespace
}  // namespace sti
