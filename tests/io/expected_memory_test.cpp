// Memory that a reader was told about, of which it may make fixed buffers: whatever lands where,
// the bytes are those of the file.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include "base/aligned_buffer.h"
#include "io/block_reader.h"
#include "support/expect.h"
#include "support/random.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"

namespace sti {
namespace {

constexpr uint64_t kBlocks = 40;

class ExpectedMemoryTest : public ::testing::TestWithParam<std::tuple<ReadPath, uint32_t>> {
 protected:
  void SetUp() override {
    TestRandom random(3);
    content_.resize(kBlocks * kBlockBytes);
    for (char& byte : content_) byte = static_cast<char>(random.Next());
    ASSERT_TRUE(WriteBytes(path_, content_).ok());
    const auto [way, depth] = GetParam();
    auto reader = OpenBlockReader(path_, way, depth);
    if (!reader.ok() && reader.error().kind == ErrorKind::kMachine) {
      GTEST_SKIP() << reader.error().Message();
    }
    ASSERT_TRUE(Succeeded(reader));
    reader_ = std::move(reader).value();
    EXPECT_LE(reader_->depth(), depth);
  }

  std::span<uint8_t> Blocks(uint64_t first, uint64_t count) {
    return arena_.span().subspan(first * kBlockBytes, count * kBlockBytes);
  }
  /// Reads the file's `count` blocks from `from` to the arena's from `to`, each read `step` blocks.
  void ReadAndCompare(uint64_t from, uint64_t to, uint64_t count, uint64_t step) {
    std::fill(arena_.span().begin(), arena_.span().end(), uint8_t{0});
    std::vector<ReadRequest> requests;
    for (uint64_t i = 0; i < count; i += step) {
      requests.push_back({(from + i) * kBlockBytes, Blocks(to + i, std::min(step, count - i)), 0});
    }
    ASSERT_TRUE(Succeeded(reader_->ReadAll(requests)));
    EXPECT_TRUE(std::equal(content_.begin() + static_cast<ptrdiff_t>(from * kBlockBytes),
                           content_.begin() + static_cast<ptrdiff_t>((from + count) * kBlockBytes),
                           reinterpret_cast<const char*>(Blocks(to, count).data())));
  }

  TempFolder folder_;
  std::string path_ = folder_.File("blocks");
  std::string content_;
  AlignedBuffer arena_{kBlocks * kBlockBytes};
  std::unique_ptr<BlockReader> reader_;
};

TEST_P(ExpectedMemoryTest, ReadsIntoAllOfIt) {
  reader_->ExpectReadsInto(arena_.span());
  for (const uint64_t step : {1, 3, 40}) ReadAndCompare(0, 0, kBlocks, step);
}

TEST_P(ExpectedMemoryTest, ReadsBesideItAndAcrossItsEnds) {
  reader_->ExpectReadsInto(Blocks(10, 10));
  ReadAndCompare(5, 10, 10, 1);            // exactly there
  ReadAndCompare(0, 0, 8, 2);              // before
  ReadAndCompare(0, 25, 15, 4);            // behind
  ReadAndCompare(7, 7, 6, 6);              // across its begin
  ReadAndCompare(17, 17, 6, 6);            // across its end
  ReadAndCompare(0, 0, kBlocks, kBlocks);  // around it
}

TEST_P(ExpectedMemoryTest, MayBeToldOfOtherMemoryOrOfNone) {
  for (int round = 0; round < 3; ++round) {
    reader_->ExpectReadsInto(Blocks(0, 20));
    ReadAndCompare(0, 0, kBlocks, 7);
    reader_->ExpectReadsInto(Blocks(20, 20));
    ReadAndCompare(0, 0, kBlocks, 7);
    reader_->ExpectReadsInto({});
    ReadAndCompare(0, 0, kBlocks, 7);
  }
}

TEST_P(ExpectedMemoryTest, MayGoAfterItWasTakenBack) {
  {
    AlignedBuffer other(8 * kBlockBytes);
    reader_->ExpectReadsInto(other.span());
    ASSERT_TRUE(Succeeded(reader_->Read(0, other.span())));
    reader_->ExpectReadsInto({});
  }
  ReadAndCompare(0, 0, kBlocks, 5);
}

TEST_P(ExpectedMemoryTest, AnEndOfFileIsTheSameError) {
  reader_->ExpectReadsInto(arena_.span());
  std::filesystem::resize_file(path_, 30 * kBlockBytes + 100);
  EXPECT_TRUE(FailedWith(reader_->Read(28 * kBlockBytes, Blocks(0, 10)), ErrorKind::kDamaged,
                         "ends at byte " + std::to_string(30 * kBlockBytes + 100)));
  EXPECT_EQ(reader_->in_flight(), 0U);
  ReadAndCompare(0, 0, 30, 3);
}

INSTANTIATE_TEST_SUITE_P(Ways, ExpectedMemoryTest,
                         ::testing::Combine(::testing::Values(ReadPath::kAuto, ReadPath::kUring,
                                                              ReadPath::kThreads,
                                                              ReadPath::kBuffered),
                                            ::testing::Values(1U, 2U, 3U, 8U, 64U)),
                         [](const auto& test) {
                           return std::string(ReadPathName(std::get<0>(test.param))) + "Depth" +
                                  std::to_string(std::get<1>(test.param));
                         });

// Returns how many buffers this process's ring has, as the kernel says it: "UserBufs:\t1".
std::string RegisteredBuffers() {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry.path(), gone) != "anon_inode:[io_uring]") continue;
    std::ifstream info("/proc/self/fdinfo/" + entry.path().filename().string());
    for (std::string line; std::getline(info, line);) {
      if (line.starts_with("UserBufs:")) return line.substr(line.find_first_of("0123456789"));
    }
  }
  return "";
}

TEST(ExpectedMemory, IsRegisteredWithTheKernelAndTakenBack) {
  const TempFolder folder;
  const std::string path = folder.File("blocks");
  ASSERT_TRUE(WriteBytes(path, std::string(4 * kBlockBytes, 'x')).ok());
  auto reader = OpenBlockReader(path, ReadPath::kUring);
  if (!reader.ok()) GTEST_SKIP() << reader.error().Message();
  if (RegisteredBuffers() != "0") GTEST_SKIP() << "this kernel does not show a ring's buffers";
  AlignedBuffer arena(4 * kBlockBytes);
  (*reader)->ExpectReadsInto(arena.span());
  EXPECT_EQ(RegisteredBuffers(), "1");
  (*reader)->ExpectReadsInto({});
  EXPECT_EQ(RegisteredBuffers(), "0");
}

}  // namespace
}  // namespace sti
