// A container of a later minor version: fields and parts that this reader does not know.
#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "format/next_version/next_version.h"
#include "io/container_file.h"
#include "model/verify.h"
#include "pipeline/pipeline_world.h"

namespace sti {
namespace {

class NewerMinor : public PipelineTest {
 protected:
  std::vector<uint8_t> Whole() { return FileBytes(path_); }
};

TEST_F(NewerMinor, RunsWithTheSameLogitsUnderTheSamePlan) {
  const Plan plan = WithPreload(Mixed(), 3);
  const std::vector<float> logits = Logits(plan);
  ASSERT_FALSE(logits.empty());
  const auto next = NextVersion(Whole());
  ASSERT_GT(next.size(), Whole().size() + 6 * 4096 - 1);
  ASSERT_TRUE(WriteFileAtomically(path_, next).ok());
  const auto file = ContainerFile::Open(path_);
  ASSERT_TRUE(Succeeded(file));
  EXPECT_TRUE(file->index().newer_minor);
  EXPECT_EQ(file->index().model, index_.model);
  EXPECT_EQ(Logits(plan), logits);
}

TEST_F(NewerMinor, VerifiesWhatItKnows) {
  ASSERT_TRUE(WriteFileAtomically(path_, NextVersion(Whole())).ok());
  auto file = ContainerFile::Open(path_);
  ASSERT_TRUE(Succeeded(file));
  const auto report = VerifyContainer(*file, {});
  ASSERT_TRUE(Succeeded(report));
  EXPECT_TRUE(report->damaged.empty()) << report->damaged.front().Message();
  const PartLocation base = file->index().shard({1, 1}).parts[PartKind::kBase];
  ASSERT_TRUE(DamageByte(path_, base.offset + 5).ok());
  auto damaged = ContainerFile::Open(path_);
  ASSERT_TRUE(Succeeded(damaged));
  const auto found = VerifyContainer(*damaged, {});
  ASSERT_TRUE(Succeeded(found));
  ASSERT_EQ(found->damaged.size(), 1U);
  EXPECT_NE(found->damaged[0].Message().find("layer 1 slice 1 base"), std::string::npos);
}

TEST_F(NewerMinor, OnlyANewerMinorMayHaveUnknownParts) {
  ASSERT_TRUE(WriteFileAtomically(path_, NextContainerOfThisMinor(Whole())).ok());
  EXPECT_TRUE(FailedWith(ContainerFile::Open(path_), ErrorKind::kDamaged, "a hole between parts"));
}

}  // namespace
}  // namespace sti
