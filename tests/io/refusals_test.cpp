// Systems that refuse one way of reading or another: the next one reads the same bytes, and says
// why it was taken.
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/aligned_buffer.h"
#include "base/remedy.h"
#include "io/block_reader.h"
#include "support/expect.h"
#include "support/in_child.h"
#include "support/random.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"

namespace sti {
namespace {

class RefusalsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    TestRandom random(11);
    content_.resize(30 * kBlockBytes);
    for (char& byte : content_) byte = static_cast<char>(random.Next());
    ASSERT_TRUE(WriteBytes(path_, content_).ok());
    uring_ = OpenBlockReader(path_, ReadPath::kUring).ok();
    direct_ = OpenBlockReader(path_, ReadPath::kThreads).ok();
  }

  /// "WAY: REASONS" if the whole file is read, with and without expected memory; else what failed.
  [[nodiscard]] std::string ReadAs(ReadPath wanted) const {
    auto reader = OpenBlockReader(path_, wanted);
    if (reader.ok()) return ReadWith(**reader);
    const bool others = reader.error().remedy == Remedy::kTryOtherReads;
    return reader.error().Message() + (others ? "; other ways may work" : "");
  }
  [[nodiscard]] std::string ReadWith(BlockReader& reader) const {
    AlignedBuffer buffer(content_.size());
    for (const std::span<uint8_t> memory : {std::span<uint8_t>(), buffer.span()}) {
      std::fill(buffer.span().begin(), buffer.span().end(), uint8_t{0});
      reader.ExpectReadsInto(memory);
      const Status status = reader.Read(0, buffer.span());
      if (!status.ok()) return status.error().Message();
      if (!std::equal(content_.begin(), content_.end(),
                      reinterpret_cast<const char*>(buffer.data()))) {
        return "other bytes";
      }
    }
    return std::string(ReadPathName(reader.path())) + ": " + reader.fallback_reason();
  }
  /// The way that is taken where there is no io_uring.
  [[nodiscard]] std::string WithoutUring(const std::string& reason) const {
    return direct_ ? "threads: " + reason
                   : "buffered: " + reason + "; the file system refuses direct reads";
  }

  TempFolder folder_;
  std::string path_ = folder_.File("blocks");
  std::string content_;
  bool uring_ = false;
  bool direct_ = false;
};

#define NEEDS_FILTER(text) \
  if ((text) == "no filter") GTEST_SKIP() << "no seccomp filters here"

TEST_F(RefusalsTest, TheFirstWayThatWorksHasNoReasons) {
  if (!uring_) GTEST_SKIP() << "no io_uring here";
  EXPECT_EQ(ReadAs(ReadPath::kAuto), "uring: ");
  EXPECT_EQ(ReadAs(ReadPath::kBuffered), "buffered: ");
}

TEST_F(RefusalsTest, IoUringForbidden) {
  const auto read = [this](ReadPath way, int error_number) {
    return InChild([&] {
      if (!ForbidSystemCalls({SYS_io_uring_setup}, error_number)) return std::string("no filter");
      return ReadAs(way);
    });
  };
  const std::string text = read(ReadPath::kAuto, EPERM);
  NEEDS_FILTER(text);
  // Where direct reads are refused, that is said first: a file is opened before its ring.
  if (!direct_) GTEST_SKIP() << "no direct reads here";
  EXPECT_EQ(text, WithoutUring("io_uring is not permitted here (Operation not permitted)"));
  EXPECT_EQ(read(ReadPath::kAuto, ENOSYS),
            WithoutUring("this kernel has no io_uring (Function not implemented)"));
  EXPECT_EQ(read(ReadPath::kAuto, ENOMEM),
            WithoutUring("io_uring cannot start here (Cannot allocate memory)"));
  EXPECT_EQ(
      read(ReadPath::kUring, EPERM),
      path_ + ": io_uring is not permitted here (Operation not permitted); other ways may work");
}

TEST_F(RefusalsTest, NothingMayBeRegistered) {
  if (!uring_) GTEST_SKIP() << "no io_uring here";
  const std::string text = InChild([this] {
    if (!ForbidSystemCalls({SYS_io_uring_register}, EPERM)) return std::string("no filter");
    return ReadAs(ReadPath::kUring);
  });
  NEEDS_FILTER(text);
  EXPECT_EQ(text, "uring: ");
}

TEST_F(RefusalsTest, NoMemoryMayBeLocked) {
  if (!uring_) GTEST_SKIP() << "no io_uring here";
  const std::string text = InChild([this] {
    auto reader = OpenBlockReader(path_, ReadPath::kUring);
    if (!reader.ok()) return reader.error().Message();
    const rlimit none{0, 0};
    // Root may lock memory whatever the limit, so this stops being root.
    if (setrlimit(RLIMIT_MEMLOCK, &none) != 0) return std::string("no limit");
    if (geteuid() == 0 && (setgroups(0, nullptr) != 0 || setresuid(65534, 65534, 65534) != 0)) {
      return std::string("no limit");
    }
    return ReadWith(**reader);
  });
  if (text == "no limit") GTEST_SKIP() << "cannot give up being root here";
  EXPECT_EQ(text, "uring: ");
}

TEST_F(RefusalsTest, DescriptorsForTheFileButNotForARing) {
  if (!uring_ || !direct_) GTEST_SKIP() << "no io_uring or no direct reads here";
  EXPECT_EQ(InChild([this] {
              return LeaveDescriptors(1) ? ReadAs(ReadPath::kAuto) : std::string("no limit");
            }),
            "threads: io_uring cannot start here (Too many open files)");
}

TEST_F(RefusalsTest, NoDescriptorsAtAll) {
  for (const ReadPath way : {ReadPath::kAuto, ReadPath::kBuffered}) {
    const std::string text =
        InChild([&] { return LeaveDescriptors(0) ? ReadAs(way) : std::string("no limit"); });
    EXPECT_TRUE(text.starts_with(path_ + ": cannot read: Too many open files")) << text;
  }
}

TEST_F(RefusalsTest, NoThreads) {
  const auto read = [this](const std::vector<long>& calls) {
    return InChild([&] {
      if (!ForbidSystemCalls(calls, EAGAIN)) return std::string("no filter");
      return ReadAs(ReadPath::kAuto);
    });
  };
  const std::string text = read({SYS_clone, SYS_clone3, SYS_io_uring_setup});
  NEEDS_FILTER(text);
  EXPECT_EQ(text, path_ + ": cannot start a thread to read (Resource temporarily unavailable)");
  if (uring_) {
    EXPECT_EQ(read({SYS_clone, SYS_clone3}), "uring: ");
  }
}

}  // namespace
}  // namespace sti
