#include "support/fault_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "support/expect.h"
#include "support/random.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"

namespace sti {
namespace {

constexpr uint64_t kReadBlocks = 20;

class FaultReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    TestRandom random(7);
    content_.resize(kReadBlocks * kBlockBytes);
    for (char& byte : content_) byte = static_cast<char>(random.Next());
    ASSERT_TRUE(WriteBytes(path_, content_).ok());
  }

  void Open(std::vector<Fault> faults, bool reversed = false) {
    auto inner = OpenBlockReader(path_, ReadPath::kBuffered);
    ASSERT_TRUE(Succeeded(inner));
    reader_ = std::make_unique<FaultReader>(std::move(inner).value(), std::move(faults), reversed);
  }
  Status ReadBlock(uint64_t block) {
    return reader_->Read(block * kBlockBytes, buffer_.span().first(kBlockBytes));
  }
  /// Bytes of buffer_ that differ from the file's from `block` on.
  [[nodiscard]] std::vector<size_t> Differing(uint64_t block) const {
    std::vector<size_t> at;
    for (size_t i = 0; i < kBlockBytes; ++i) {
      const auto expected = static_cast<uint8_t>(content_[block * kBlockBytes + i]);
      if (buffer_.data()[i] != expected) at.push_back(i);
    }
    return at;
  }

  TempFolder folder_;
  std::string path_ = folder_.File("blocks");
  std::string content_;
  AlignedBuffer buffer_{kReadBlocks * kBlockBytes};
  std::unique_ptr<FaultReader> reader_;
};

TEST_F(FaultReaderTest, WithoutFaultsIsTheReaderInside) {
  Open({});
  EXPECT_EQ(reader_->name(), path_);
  EXPECT_EQ(reader_->file_bytes(), content_.size());
  ASSERT_TRUE(Succeeded(reader_->Read(0, buffer_.span())));
  EXPECT_TRUE(Differing(0).empty());
  EXPECT_EQ(reader_->reads(), 1U);
  EXPECT_EQ(reader_->injected(), 0U);
}

TEST_F(FaultReaderTest, FailsTheReadWithANumber) {
  Open({{.kind = FaultKind::kError, .nth = 2}});
  EXPECT_TRUE(Succeeded(ReadBlock(0)));
  EXPECT_TRUE(Succeeded(ReadBlock(1)));
  EXPECT_TRUE(FailedWith(ReadBlock(2), ErrorKind::kReadFailed, "Input/output error"));
  EXPECT_TRUE(Succeeded(ReadBlock(2)));
  EXPECT_EQ(reader_->in_flight(), 0U);
}

TEST_F(FaultReaderTest, FailsReadsThatTouchARangeUntilHealed) {
  Open({{.kind = FaultKind::kError, .offset = 5 * kBlockBytes + 100, .length = 1}});
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(Succeeded(ReadBlock(4)));
    EXPECT_TRUE(FailedWith(ReadBlock(5), ErrorKind::kReadFailed, path_));
    EXPECT_TRUE(Succeeded(ReadBlock(6)));
  }
  EXPECT_EQ(reader_->injected(), 2U);
  reader_->Heal();
  EXPECT_TRUE(Succeeded(ReadBlock(5)));
}

TEST_F(FaultReaderTest, TearsTheBytesOfARangeOnceOrAlways) {
  Open({{.kind = FaultKind::kTorn, .offset = 3 * kBlockBytes + 7, .length = 2, .times = 1}});
  EXPECT_TRUE(Succeeded(ReadBlock(3)));
  EXPECT_EQ(Differing(3), (std::vector<size_t>{7, 8}));
  EXPECT_TRUE(Succeeded(ReadBlock(3)));
  EXPECT_TRUE(Differing(3).empty());
  reader_->Inject({.kind = FaultKind::kTorn, .offset = 3 * kBlockBytes, .length = 1});
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(Succeeded(ReadBlock(3)));
    EXPECT_EQ(Differing(3), (std::vector<size_t>{0}));
  }
}

TEST_F(FaultReaderTest, DelaysOneReadAndNotTheDevice) {
  constexpr auto kDelay = std::chrono::milliseconds(20);
  Open({{.kind = FaultKind::kDelay, .offset = 0, .length = 1, .delay = kDelay}});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(Succeeded(ReadBlock(0)));
  // At least, so no machine is too slow for it.
  EXPECT_GE(std::chrono::steady_clock::now() - begin, kDelay);
  EXPECT_TRUE(Differing(0).empty());
}

// Whoever uses the memory of a late read too early shall not find the right bytes there.
TEST_F(FaultReaderTest, ALateReadHoldsUpNoOtherAndFillsItsMemoryWhenItIsDue) {
  Open({{.kind = FaultKind::kDelay,
         .offset = 0,
         .length = 1,
         .delay = std::chrono::milliseconds(100)}});
  constexpr uint8_t kBefore = 0xAA;
  std::fill_n(buffer_.data(), buffer_.size(), kBefore);
  for (const uint64_t block : {0U, 1U}) {
    const auto place = buffer_.span().subspan(block * kBlockBytes, kBlockBytes);
    ASSERT_TRUE(Succeeded(reader_->Submit({block * kBlockBytes, place, block})));
  }
  const auto first = reader_->Wait();
  ASSERT_TRUE(Succeeded(first));
  ASSERT_EQ(*first, 1U);
  EXPECT_EQ(std::count(buffer_.data(), buffer_.data() + kBlockBytes, kBefore), kBlockBytes);
  const auto second = reader_->Wait();
  ASSERT_TRUE(Succeeded(second));
  EXPECT_EQ(*second, 0U);
  EXPECT_TRUE(std::equal(buffer_.data(), buffer_.data() + 2 * kBlockBytes,
                         reinterpret_cast<const uint8_t*>(content_.data())));
}

TEST_F(FaultReaderTest, ReturnsTheLastReadFirst) {
  Open({}, true);
  const uint32_t depth = reader_->depth();
  ASSERT_GT(depth, 1U);
  for (uint32_t i = 0; i < depth; ++i) {
    const auto place = buffer_.span().subspan(i * kBlockBytes, kBlockBytes);
    ASSERT_TRUE(Succeeded(reader_->Submit({i * kBlockBytes, place, i})));
  }
  EXPECT_TRUE(FailedWith(reader_->Submit({0, buffer_.span(), 99}), ErrorKind::kUsage));
  for (uint32_t i = depth; i-- > 0;) {
    const auto tag = reader_->Wait();
    ASSERT_TRUE(Succeeded(tag));
    EXPECT_EQ(*tag, i);
  }
  EXPECT_TRUE(std::equal(buffer_.data(), buffer_.data() + depth * kBlockBytes,
                         reinterpret_cast<const uint8_t*>(content_.data())));
}

TEST_F(FaultReaderTest, AnErrorOfTheReaderInsideCostsNoPlaceInFlight) {
  Open({}, true);
  std::filesystem::resize_file(path_, 10 * kBlockBytes);
  for (int round = 0; round < 20; ++round) {
    EXPECT_TRUE(FailedWith(ReadBlock(12), ErrorKind::kDamaged, "ends at byte"));
    EXPECT_TRUE(Succeeded(ReadBlock(1)));
    EXPECT_EQ(reader_->in_flight(), 0U);
  }
}

}  // namespace
}  // namespace sti
