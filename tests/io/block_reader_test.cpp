#include "io/block_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
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

/// Returns the descriptors of this process that have the file at `path` open.
std::vector<int> DescriptorsOf(const std::string& path) {
  std::vector<int> descriptors;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code closed;
    if (std::filesystem::read_symlink(entry, closed).string().starts_with(path))
      descriptors.push_back(std::stoi(entry.path().filename()));
  }
  return descriptors;
}

TEST_P(BlockReaderTest, AStreamIsAnOpenFileOfItsOwn) {
  for (const uint32_t wanted : {3U, 16U, 1U, 4U, 99U, 0U}) {
    const uint32_t held = std::clamp(wanted, 1U, BlockReader::kMostStreams);
    reader_->HoldStreams(wanted);
    EXPECT_EQ(reader_->streams(), held);
    EXPECT_EQ(reader_->stream_refusal(), "");
    const std::vector<int> descriptors = DescriptorsOf(path_);
    ASSERT_EQ(descriptors.size(), held);
    // A position belongs to an open file; none of these shares it with another.
    for (const int fd : descriptors) EXPECT_EQ(::lseek(fd, 100 + fd, SEEK_SET), 100 + fd);
    for (const int fd : descriptors) EXPECT_EQ(::lseek(fd, 0, SEEK_CUR), 100 + fd);
    for (uint32_t stream = 0; stream < held; ++stream) {
      AlignedBuffer buffer(2 * kBlockBytes);
      ASSERT_TRUE(Succeeded(reader_->Submit({stream * kBlockBytes, buffer.span(), 7, stream})));
      const auto tag = reader_->Wait();
      ASSERT_TRUE(Succeeded(tag));
      EXPECT_EQ(*tag, 7U);
      EXPECT_TRUE(Holds(buffer, stream * kBlockBytes));
    }
    AlignedBuffer all(content_.size());
    ASSERT_TRUE(Succeeded(reader_->Read(0, all.span()))) << "through any of them";
    EXPECT_TRUE(Holds(all, 0));
  }
}

TEST_P(BlockReaderTest, AThreadReaderHasAsManyThreadsForEachStream) {
  const bool by_threads = reader_->path() != ReadPath::kUring;
  const uint32_t before = reader_->depth();
  reader_->HoldStreams(3);
  EXPECT_EQ(reader_->depth(), by_threads ? 3 * before : before);
  EXPECT_EQ((*reader_->Clone())->depth(), before);
  reader_->HoldStreams(16);
  EXPECT_EQ(reader_->depth(), by_threads ? BlockReader::kMostDepth : before);
  reader_->HoldStreams(1);
  EXPECT_EQ(reader_->depth(), before);
}

TEST_P(BlockReaderTest, StreamsAreOfTheFileThatIsOpenWhateverItsNameMeans) {
  ASSERT_TRUE(WriteBytes(path_ + ".new", std::string(content_.size(), 'x')).ok());
  ASSERT_EQ(std::rename((path_ + ".new").c_str(), path_.c_str()), 0);
  reader_->HoldStreams(2);
  ASSERT_EQ(reader_->streams(), 2U);
  AlignedBuffer buffer(kBlockBytes);
  ASSERT_TRUE(Succeeded(reader_->Submit({0, buffer.span(), 0, 1})));
  ASSERT_TRUE(Succeeded(reader_->Wait()));
  EXPECT_TRUE(Holds(buffer, 0));
  auto clone = reader_->Clone();
  ASSERT_TRUE(Succeeded(clone));
  EXPECT_EQ((*clone)->streams(), 1U);
}

TEST_P(BlockReaderTest, WhereDescriptorsRunOutStreamsAreFewer) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit two_more = before;
  {
    const FileHandle next_free(::open("/", O_RDONLY | O_CLOEXEC));
    two_more.rlim_cur = static_cast<rlim_t>(next_free.get()) + 2;
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &two_more), 0);
  reader_->HoldStreams(8);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_LT(reader_->streams(), 8U);
  EXPECT_EQ(reader_->streams(), DescriptorsOf(path_).size());
  EXPECT_EQ(reader_->stream_refusal(), "cannot be opened anew: Too many open files");
  AlignedBuffer buffer(content_.size());
  ASSERT_TRUE(Succeeded(reader_->Read(0, buffer.span())));
  EXPECT_TRUE(Holds(buffer, 0));
  reader_->HoldStreams(8);
  EXPECT_EQ(reader_->streams(), 8U);
  EXPECT_EQ(reader_->stream_refusal(), "");
}

TEST(StreamsTest, AReadThatNamesNoneGoesThroughTheLeastBusy) {
  const TempFolder folder;
  ASSERT_TRUE(WriteBytes(folder.File("blocks"), std::string(kBlockBytes, 'x')).ok());
  auto opened = FileSource(folder.File("blocks"))->Open(false);
  ASSERT_TRUE(Succeeded(opened));
  Streams streams(std::move(*opened));
  EXPECT_EQ(streams.Begin(std::nullopt), 0U);
  streams.End(0);
  ASSERT_EQ(streams.Hold(3), "");
  EXPECT_EQ(streams.Begin(2), 2U);
  EXPECT_EQ(streams.Begin(std::nullopt), 0U);
  EXPECT_EQ(streams.Begin(std::nullopt), 1U);
  EXPECT_EQ(streams.Begin(std::nullopt), 0U);
  streams.End(2);
  EXPECT_EQ(streams.Begin(std::nullopt), 2U);
}

TEST(StreamsTest, ACallbackHasOne) {
  auto reader = OpenBlockReader(CallbackSource(
      [](uint64_t, std::span<uint8_t> buffer) {
        std::ranges::fill(buffer, uint8_t{0x5A});
        return static_cast<int64_t>(buffer.size());
      },
      4 * kBlockBytes));
  ASSERT_TRUE(Succeeded(reader));
  (*reader)->HoldStreams(4);
  EXPECT_EQ((*reader)->streams(), 1U);
  EXPECT_EQ((*reader)->stream_refusal(), "a callback reads it, which is not opened");
  AlignedBuffer block(kBlockBytes);
  EXPECT_TRUE(Succeeded((*reader)->Read(0, block.span())));
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
