#include "shard/parts.h"

#include <gtest/gtest.h>

namespace sti {
namespace {

TEST(PartKind, NamesTheBitsThatItCompletes) {
  for (const uint32_t bits : {2U, 3U, 4U, 5U, 6U, 32U}) EXPECT_EQ(BitsOf(PartAt(bits)), bits);
  EXPECT_EQ(PartAt(2), PartKind::kBase);
  EXPECT_EQ(PartAt(32), PartKind::kFull);
}

TEST(PartSet, OfBitsIsTheBaseAndItsPlanes) {
  const PartSet four = PartSet::For(4);
  for (const PartKind part : kPartKinds) {
    EXPECT_EQ(four.Has(part), part <= PartKind::kPlane4) << BitsOf(part);
    EXPECT_EQ(PartSet::For(32).Has(part), part == PartKind::kFull) << BitsOf(part);
  }
}

TEST(PartSet, JoinsMeetsAndDiffers) {
  const PartSet five = PartSet::For(5);
  const PartSet missing = five.Without(PartSet::For(3));
  EXPECT_EQ(missing, PartSet(PartKind::kPlane4).With(PartKind::kPlane5));
  EXPECT_EQ(five.Within(PartSet::For(2)), PartSet(PartKind::kBase));
  EXPECT_TRUE(five.Has(missing));
  EXPECT_FALSE(missing.Has(five));
  EXPECT_TRUE(five.Within(PartSet::For(32)).empty());
  EXPECT_TRUE(PartSet().empty());
}

TEST(PartSet, UsableBitsEndAtTheFirstPlaneThatIsMissing) {
  EXPECT_EQ(PartSet::For(6).UsableBits(6), 6U);
  EXPECT_EQ(PartSet::For(6).UsableBits(4), 4U);
  EXPECT_EQ(PartSet::For(6).Without(PartKind::kPlane4).UsableBits(6), 3U);
  EXPECT_EQ(PartSet::For(6).Without(PartKind::kBase).UsableBits(6), 0U);
  EXPECT_EQ(PartSet::For(6).UsableBits(32), 0U) << "full fidelity shares no plane";
  EXPECT_EQ(PartSet::For(32).UsableBits(32), 32U);
  EXPECT_EQ(PartSet::For(32).UsableBits(6), 0U);
}

}  // namespace
}  // namespace sti
