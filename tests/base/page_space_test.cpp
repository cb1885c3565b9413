#include "base/page_space.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/aligned_buffer.h"
#include "support/locked_bytes.h"
#include "support/sanitizers.h"

namespace sti {
namespace {

const uint64_t kPage = PageSpace::PageBytes();

TEST(MemoryLock, ABufferIsLockedUntilItGoes) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer lets mlock do nothing";
  const uint64_t before = LockedBytes();
  {
    AlignedBuffer buffer(8 * kPage);
    ASSERT_TRUE(buffer.Lock().ok());
    EXPECT_EQ(LockedBytes(), before + 8 * kPage);
    ASSERT_TRUE(buffer.Lock().ok());
    EXPECT_EQ(LockedBytes(), before + 8 * kPage) << "locked twice";
    AlignedBuffer moved = std::move(buffer);
    EXPECT_EQ(LockedBytes(), before + 8 * kPage);
    moved.Renew(2 * kPage);
    EXPECT_EQ(LockedBytes(), before) << "new memory is not locked";
    ASSERT_TRUE(moved.Lock().ok());
  }
  EXPECT_EQ(LockedBytes(), before);
}

TEST(MemoryLock, DiscardedPagesGoThoughTheyWereLocked) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer lets mlock do nothing";
  const uint64_t before = LockedBytes();
  PageSpace space(8 * kPage);
  std::memset(space.span().data(), 1, 8 * kPage);
  ASSERT_TRUE(space.Lock(kPage, 4 * kPage).ok());
  EXPECT_EQ(LockedBytes(), before + 4 * kPage);
  space.Discard(2 * kPage, 2 * kPage);
  EXPECT_EQ(LockedBytes(), before + 2 * kPage);
  EXPECT_EQ(space.span()[2 * kPage], 0);
  EXPECT_EQ(space.span()[kPage], 1);
  EXPECT_EQ(space.span()[4 * kPage], 1);
}

TEST(MemoryLock, ARefusalHasItsReason) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer lets mlock do nothing";
  const std::span<const uint8_t> nowhere(reinterpret_cast<const uint8_t*>(kPage), kPage);
  const Status refused = LockMemory(nowhere);  // no memory is there
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kMachine);
  EXPECT_TRUE(refused.error().what.starts_with("memory cannot be locked ("))
      << refused.error().what;
  EXPECT_TRUE(LockMemory({}).ok());
}

}  // namespace
}  // namespace sti
