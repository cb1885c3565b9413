#include "io/block_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/aligned_buffer.h"
#include "support/expect.h"
#include "support/random.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"

namespace sti {
namespace {

class BlockReaderTest : public ::testing::TestWithParam<ReadPath> {
 protected:
  void SetUp() override {
    TestRandom random(1);
    content_.resize(50 * kBlockBytes);
    for (char& byte : content_) byte = static_cast<char>(random.Next());
    ASSERT_TRUE(WriteBytes(path_, content_).ok());
    auto reader = OpenBlockReader(path_, GetParam());
    // A way that a machine forbids (io_uring in a container, O_DIRECT on a file system) is no
    // failure.
    if (!reader.ok() && reader.error().kind == ErrorKind::kMachine) {
      GTEST_SKIP() << ReadPathName(GetParam()) << " cannot read here: " << reader.error().Message();
    }
    ASSERT_TRUE(Succeeded(reader));
    reader_ = std::move(reader).value();
  }

  [[nodiscard]] bool Holds(const AlignedBuffer& buffer, uint64_t offset) const {
    return std::equal(buffer.data(), buffer.data() + buffer.size(),
                      reinterpret_cast<const uint8_t*>(content_.data()) + offset);
  }

  TempFolder folder_;
  std::string path_ = folder_.File("blocks");
  std::string content_;
  std::unique_ptr<BlockReader> reader_;
};

TEST_P(BlockReaderTest, SaysWhatItReads) {
  EXPECT_EQ(reader_->file_bytes(), content_.size());
  EXPECT_EQ(reader_->name(), path_);
  EXPECT_GE(reader_->depth(), 1U);
  EXPECT_LE(reader_->depth(), BlockReader::kDefaultDepth);
  EXPECT_EQ(reader_->in_flight(), 0U);
  if (GetParam() != ReadPath::kAuto) {
    EXPECT_EQ(reader_->path(), GetParam());
  }
}

TEST_P(BlockReaderTest, ReadsAnyRangeOfBlocks) {
  for (const auto& [first, count] :
       std::vector<std::pair<uint64_t, uint64_t>>{{0, 1}, {0, 50}, {49, 1}, {7, 13}}) {
    AlignedBuffer buffer(count * kBlockBytes);
    ASSERT_TRUE(Succeeded(reader_->Read(first * kBlockBytes, buffer.span())));
    EXPECT_TRUE(Holds(buffer, first * kBlockBytes));
  }
}

// The same file, whatever its name means by now.
TEST_P(BlockReaderTest, AnotherReadsTheSameFileAndOutlivesTheFirst) {
  ASSERT_TRUE(WriteBytes(path_ + ".new", std::string(content_.size(), 'x')).ok());
  ASSERT_EQ(std::rename((path_ + ".new").c_str(), path_.c_str()), 0);
  auto clone = reader_->Clone();
  ASSERT_TRUE(Succeeded(clone));
  EXPECT_EQ((*clone)->path(), reader_->path());
  EXPECT_EQ((*clone)->depth(), reader_->depth());
  EXPECT_EQ((*clone)->file_bytes(), content_.size());
  reader_.reset();
  AlignedBuffer buffer(content_.size());
  ASSERT_TRUE(Succeeded((*clone)->Read(0, buffer.span())));
  EXPECT_TRUE(Holds(buffer, 0));
}

TEST_P(BlockReaderTest, KeepsManyReadsInFlightAndReturnsEachTagOnce) {
  TestRandom random(2);
  constexpr uint64_t kReads = 200;
  std::vector<AlignedBuffer> buffers;
  std::vector<uint64_t> offsets;
  std::vector<uint64_t> tags;
  for (uint64_t i = 0; i < kReads; ++i) {
    if (reader_->in_flight() == reader_->depth()) {
      const auto tag = reader_->Wait();
      ASSERT_TRUE(Succeeded(tag));
      tags.push_back(*tag);
    }
    const uint64_t count = 1 + random.Below(5);
    offsets.push_back(random.Below(50 - count + 1) * kBlockBytes);
    buffers.emplace_back(count * kBlockBytes);
    ASSERT_TRUE(Succeeded(reader_->Submit({offsets.back(), buffers.back().span(), 1000 + i})));
  }
  while (reader_->in_flight() > 0) {
    const auto tag = reader_->Wait();
    ASSERT_TRUE(Succeeded(tag));
    tags.push_back(*tag);
  }
  std::sort(tags.begin(), tags.end());
  ASSERT_EQ(tags.size(), kReads);
  for (uint64_t i = 0; i < kReads; ++i) {
    EXPECT_EQ(tags[i], 1000 + i);
    EXPECT_TRUE(Holds(buffers[i], offsets[i])) << i;
  }
}

TEST_P(BlockReaderTest, RefusesMoreInFlightThanItsDepth) {
  std::vector<AlignedBuffer> buffers;
  const uint32_t depth = reader_->depth();
  for (uint32_t i = 0; i <= depth; ++i) buffers.emplace_back(kBlockBytes);
  for (uint32_t i = 0; i < depth; ++i) {
    ASSERT_TRUE(Succeeded(reader_->Submit({0, buffers[i].span(), i})));
  }
  EXPECT_EQ(reader_->in_flight(), depth);
  EXPECT_TRUE(
      FailedWith(reader_->Submit({0, buffers[depth].span(), 9}), ErrorKind::kUsage, "in flight"));
  for (uint32_t i = 0; i < depth; ++i) EXPECT_TRUE(Succeeded(reader_->Wait()));
  EXPECT_EQ(reader_->in_flight(), 0U);
}

TEST_P(BlockReaderTest, MayBeDroppedWithReadsInFlight) {
  AlignedBuffer buffer(20 * kBlockBytes);
  for (uint32_t i = 0; i < reader_->depth(); ++i) {
    auto part = buffer.span().subspan(2 * i * kBlockBytes, 2 * kBlockBytes);
    ASSERT_TRUE(Succeeded(reader_->Submit({0, part, i})));
  }
  reader_.reset();
  std::fill(buffer.data(), buffer.data() + buffer.size(), uint8_t{0x5A});
  EXPECT_EQ(std::count(buffer.data(), buffer.data() + buffer.size(), 0x5A),
            static_cast<ptrdiff_t>(buffer.size()));
}

TEST_P(BlockReaderTest, ReadsMoreRequestsThanFitInFlight) {
  AlignedBuffer buffer(40 * kBlockBytes);
  std::vector<ReadRequest> requests;
  for (uint64_t i = 0; i < 40; ++i) {
    requests.push_back({i * kBlockBytes, buffer.span().subspan(i * kBlockBytes, kBlockBytes), 0});
  }
  ASSERT_TRUE(Succeeded(reader_->ReadAll(requests)));
  EXPECT_EQ(reader_->in_flight(), 0U);
  EXPECT_TRUE(Holds(buffer, 0));
}

TEST_P(BlockReaderTest, AFailureAmongManyLeavesNothingInFlight) {
  std::filesystem::resize_file(path_, 20 * kBlockBytes);
  AlignedBuffer buffer(40 * kBlockBytes);
  std::vector<ReadRequest> requests;
  for (uint64_t i = 0; i < 40; ++i) {
    requests.push_back({i * kBlockBytes, buffer.span().subspan(i * kBlockBytes, kBlockBytes), 0});
  }
  EXPECT_TRUE(FailedWith(reader_->ReadAll(requests), ErrorKind::kDamaged, "ends at byte"));
  EXPECT_EQ(reader_->in_flight(), 0U);
}

TEST_P(BlockReaderTest, AReadBehindTheEndSaysWhereTheFileEnds) {
  std::filesystem::resize_file(path_, 10 * kBlockBytes);
  AlignedBuffer buffer(kBlockBytes);
  EXPECT_TRUE(FailedWith(reader_->Read(30 * kBlockBytes, buffer.span()), ErrorKind::kDamaged,
                         "ends at byte " + std::to_string(10 * kBlockBytes) + ","));
}

TEST_P(BlockReaderTest, EndOfFileInsideARequestIsADataError) {
  for (const uint64_t size : {50 * kBlockBytes - kBlockBytes, 49 * kBlockBytes + 100}) {
    std::filesystem::resize_file(path_, size);
    AlignedBuffer buffer(4 * kBlockBytes);
    const Status status = reader_->Read(46 * kBlockBytes, buffer.span());
    EXPECT_TRUE(FailedWith(status, ErrorKind::kDamaged, "ends at byte " + std::to_string(size)));
    EXPECT_EQ(reader_->in_flight(), 0U);
    ASSERT_TRUE(WriteBytes(path_, content_).ok());
    EXPECT_TRUE(Succeeded(reader_->Read(46 * kBlockBytes, buffer.span())));
    EXPECT_TRUE(Holds(buffer, 46 * kBlockBytes));
  }
}

TEST_P(BlockReaderTest, AFileMayEndAfterAnyByteOfABlock) {
  AlignedBuffer buffer(kBlockBytes);
  for (uint64_t bytes = 1; bytes <= 16; ++bytes) {
    std::filesystem::resize_file(path_, kBlockBytes + bytes);
    EXPECT_TRUE(FailedWith(reader_->Read(kBlockBytes, buffer.span()), ErrorKind::kDamaged,
                           "ends at byte " + std::to_string(kBlockBytes + bytes)));
  }
}

std::string NameOf(const ::testing::TestParamInfo<ReadPath>& info) {
  return ReadPathName(info.param);
}

INSTANTIATE_TEST_SUITE_P(Paths, BlockReaderTest,
                         ::testing::Values(ReadPath::kAuto, ReadPath::kUring, ReadPath::kThreads,
                                           ReadPath::kBuffered),
                         NameOf);

TEST(OpenBlockReader, SaysWhatIsNoFile) {
  const TempFolder folder;
  for (const ReadPath path :
       {ReadPath::kAuto, ReadPath::kUring, ReadPath::kThreads, ReadPath::kBuffered}) {
    const auto none = OpenBlockReader(folder.File("none"), path);
    EXPECT_TRUE(FailedWith(none, ErrorKind::kNoSuchFile, "no such file"));
  }
  const auto directory = OpenBlockReader(folder.path(), ReadPath::kBuffered);
  EXPECT_TRUE(FailedWith(directory, ErrorKind::kNoSuchFile, "not a regular file"));
}

}  // namespace
}  // namespace sti
