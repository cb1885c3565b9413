// Tests of what the pipeline refuses: plans that do not fit, inputs that are none, and damage that
// shows only while it runs.
#include <functional>

#include "base/remedy.h"
#include "pipeline_world.h"
#include "types/plan.h"

namespace sti {
namespace {

class PipelineErrors : public PipelineTest {
 protected:
  void ExpectRefused(ErrorKind kind, const std::string& words, Remedy remedy,
                     const std::function<void(Plan&)>& edit) {
    Plan plan = Mixed();
    edit(plan);
    EXPECT_TRUE(FailedWith(Make(plan), kind, words, remedy));
  }
  void Damage(const PartLocation& part) {
    ASSERT_TRUE(DamageByte(path_, part.offset + part.length / 2).ok());
  }
};

TEST_F(PipelineErrors, APlanOfAnotherModelSaysBothAndWhatToDo) {
  Plan plan = Mixed();
  plan.model.bytes[0] ^= 1;
  const auto pipeline = Make(plan);
  for (const std::string& words : {plan.model.Prefix(), index_.model.Prefix(), path_})
    EXPECT_TRUE(FailedWith(pipeline, ErrorKind::kForeign, words, Remedy::kPlanForModel));
}

// tests/types/plan_check_test.cpp breaks every rule; here are the bounds of a container.
TEST_F(PipelineErrors, PlansThatDoNotFitAreRefused) {
  const auto foreign = [&](const std::string& words, const std::function<void(Plan&)>& edit) {
    ExpectRefused(ErrorKind::kForeign, words, Remedy::kPlanForModel, edit);
  };
  foreign("layer 5 is beyond the last", [](Plan& p) { p.layers.back() = 5; });
  foreign("width 5 is more", [](Plan& p) { p.width = 5; });
  foreign("length 1 is less", [](Plan& p) { p.length = 1; });
  foreign("length 33 is more", [](Plan& p) { p.length = 33; });
  foreign("layer 3 slice 4 is beyond the last slice", [](Plan& p) { p.slices.At(2, 0) = 4; });
  ExpectRefused(ErrorKind::kDamaged, "layer 0 slice 1: bits is not 2 to 6", Remedy::kCorrectPlan,
                [](Plan& p) { p.bits.At(0, 1) = 7; });
}

TEST_F(PipelineErrors, BitsThatAreNotInTheFile) {
  ShardOptions options;
  options.bits = {2, 4};
  const Plan plan = Mixed();
  ASSERT_TRUE(Succeeded(WriteTinyContainer(path_, FiveByFour(), options)));
  EXPECT_TRUE(FailedWith(Make(plan), ErrorKind::kForeign, "layer 0 slice 1 at 6 bits is not stored",
                         Remedy::kPlanForModel));
  EXPECT_TRUE(Succeeded(Make(WholeAt(4))));
}

TEST_F(PipelineErrors, InputsThatAreNoneAreRefusedAndTheNextOneRuns) {
  Plan plan = Mixed();
  plan.length = 9;
  auto pipeline = Make(plan);
  ASSERT_TRUE(Succeeded(pipeline));
  auto run = [&](const Ids& ids, const Ids& types) { return RunTokens(**pipeline, ids, types); };
  EXPECT_TRUE(FailedWith(run({}, {}), ErrorKind::kDamaged, "without tokens"));
  EXPECT_TRUE(FailedWith(run(Ids(10, 2), Ids(10, 0)), ErrorKind::kDamaged, "10 tokens"));
  EXPECT_TRUE(FailedWith(run({2, 3}, {0}), ErrorKind::kUsage));
  EXPECT_TRUE(
      FailedWith(run({2, 47}, {0, 0}), ErrorKind::kDamaged, "47 is outside the vocabulary"));
  EXPECT_TRUE(FailedWith(run({2, 0xFFFFFFFF}, {0, 0}), ErrorKind::kDamaged, "outside"));
  EXPECT_TRUE(FailedWith(run({2, 3}, {0, 2}), ErrorKind::kDamaged, "token type"));
  EXPECT_TRUE(Succeeded(run(kTextIds, kTextTypes)));
  EXPECT_TRUE(Succeeded(run({46}, {1})));
}

TEST_F(PipelineErrors, DamageInAnyStreamedPartIsAnErrorAndNeverALabel) {
  const Plan plan = WholeAt(6);
  auto pipeline = Make(plan);
  ASSERT_TRUE(Succeeded(pipeline));
  const auto expected = RunTokens(**pipeline, kTextIds, kTextTypes);
  ASSERT_TRUE(Succeeded(expected));
  for (uint32_t layer = 0; layer < 5; ++layer) {
    for (uint32_t bits = 2; bits <= 6; ++bits) {
      const uint32_t slice = (layer + bits - 2) % 4;
      const PartLocation& place = index_.shard({layer, slice}).parts[PartAt(bits)];
      for (const uint64_t at : {place.offset, place.offset + place.length - 1}) {
        ASSERT_TRUE(DamageByte(path_, at).ok());
        const auto result = RunTokens(**pipeline, kTextIds, kTextTypes);
        EXPECT_TRUE(FailedWith(result, ErrorKind::kDamaged,
                               ShardPartName({layer, slice}, PartAt(bits)) + " is damaged"));
        ASSERT_TRUE(DamageByte(path_, at).ok());
      }
    }
  }
  // The same pipeline goes on once the file is whole again.
  const auto again = RunTokens(**pipeline, kTextIds, kTextTypes);
  ASSERT_TRUE(Succeeded(again));
  EXPECT_EQ(again->values, expected->values);
}

TEST_F(PipelineErrors, DamageWithATinyArenaEndsTheRunToo) {
  PipelineOptions options;
  options.staging_bytes = 16 * 4096;
  auto pipeline = Make(WholeAt(4), options);
  ASSERT_TRUE(Succeeded(pipeline));
  ASSERT_LT((*pipeline)->status().staging_bytes, 5U * 16 * 4096);
  Damage(index_.shard({3, 2}).parts[PartKind::kPlane3]);
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_TRUE(FailedWith(RunTokens(**pipeline, kTextIds, kTextTypes), ErrorKind::kDamaged,
                           "layer 3 slice 2 plane 3 is damaged"));
  }
}

TEST_F(PipelineErrors, DamageInWhatIsNotReadDoesNotMatter) {
  const auto expected = Logits(WholeAt(4));
  for (const ShardLocation& shard : index_.shards) {
    Damage(shard.parts[PartKind::kPlane5]);
    Damage(shard.parts[PartKind::kPlane6]);
    Damage(shard.parts[PartKind::kFull]);
  }
  EXPECT_EQ(Logits(WholeAt(4)), expected);
}

TEST_F(PipelineErrors, DamageInAShardAtBitsFailsTheOpening) {
  Damage(index_.shard({0, 1}).parts[PartKind::kBase]);
  EXPECT_TRUE(FailedWith(Make(WithPreload(WholeAt(4), 2)), ErrorKind::kDamaged,
                         "layer 0 slice 1 base is damaged"));
}

TEST_F(PipelineErrors, DamageInAnEmbeddingRowFailsInputsWithThatToken) {
  auto pipeline = Make(WholeAt(2));
  ASSERT_TRUE(Succeeded(pipeline));
  ASSERT_TRUE(
      DamageByte(path_, index_.words.offset + uint64_t{9} * index_.words.row_bytes + 3).ok());
  EXPECT_TRUE(FailedWith(RunTokens(**pipeline, kTextIds, kTextTypes), ErrorKind::kDamaged,
                         "word embedding row 9 is damaged"));
  EXPECT_TRUE(Succeeded(RunTokens(**pipeline, Ids{2, 5, 3}, Ids{0, 0, 0})));
}

TEST_F(PipelineErrors, AFileCutWhileOpenEndsTheRun) {
  auto pipeline = Make(WholeAt(kFullBits));
  ASSERT_TRUE(Succeeded(pipeline));
  std::filesystem::resize_file(path_, index_.shard({3, 0}).parts[PartKind::kBase].offset);
  EXPECT_TRUE(
      FailedWith(RunTokens(**pipeline, kTextIds, kTextTypes), ErrorKind::kDamaged, "ends at byte"));
}

}  // namespace
}  // namespace sti
