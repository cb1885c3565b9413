// One pipeline for several input lengths: each input gives what its plan gives alone, and the
// preloaded shards are there once.
#include <algorithm>

#include "pipeline_world.h"
#include "types/plan.h"

namespace sti {
namespace {

class Variants : public PipelineTest {
 protected:
  /// Long inputs run 5x4 at mixed bits, with `count` shards preloaded; inputs of up to 9 tokens
  /// four layers of three slices; of up to 4 tokens two wide layers at full bits.
  [[nodiscard]] Plan WithVariants(size_t count) const {
    Plan plan = WholeAt(4);
    SetRow(plan, 1, {2, 3, 32, 6});
    plan = WithPreload(plan, count);
    Plan middle = Mixed();
    middle.length = 9;
    Plan narrow = WholeAt(kFullBits);
    narrow.length = 4;
    narrow.layers = {1, 4};
    narrow.slices = {{0, 1, 2, 3}, {0, 1, 2, 3}};
    narrow.bits = {{2, 3, 32, 6}, {32, 32, 32, 32}};
    plan.variants = {Sharing(plan, middle), Sharing(plan, narrow)};
    return plan;
  }
  /// `variant` with what of its shards `plan` preloads.
  static Plan Sharing(const Plan& plan, Plan variant) {
    variant.preload.clear();
    for (const ShardAtBits& shard : plan.preload) {
      for (uint32_t k = 0; k < variant.layers.size(); ++k) {
        for (uint32_t i = 0; i < variant.width; ++i) {
          if (shard == ShardAtBits{variant.Id(k, i), variant.bits.At(k, i)})
            variant.preload.push_back(shard);
        }
      }
    }
    return variant;
  }
  static Ids SomeIds(size_t count) {
    Ids ids(count);
    for (size_t i = 0; i < count; ++i) ids[i] = static_cast<uint32_t>(2 + i * 7 % 40);
    return ids;
  }
  static Plan Alone(Plan plan) {
    plan.variants.clear();
    return plan;
  }
};

TEST_F(Variants, EachInputGivesWhatItsPlanGivesAlone) {
  for (const size_t preloaded : {size_t{0}, size_t{6}, size_t{20}}) {
    const Plan plan = WithVariants(preloaded);
    auto together = Make(plan);
    ASSERT_TRUE(Succeeded(together));
    EXPECT_EQ((*together)->status().max_length, 32u);
    auto whole = Make(Alone(plan));
    auto middle = Make(Plan{plan.variants[0]});
    auto narrow = Make(Plan{plan.variants[1]});
    ASSERT_TRUE(Succeeded(whole) && Succeeded(middle) && Succeeded(narrow));
    // Back and forth, so that what one leaves in the arena could harm the next.
    for (const size_t tokens : {2, 32, 4, 9, 5, 1, 10, 3, 9, 31, 4}) {
      Pipeline& alone = tokens <= 4 ? **narrow : tokens <= 9 ? **middle : **whole;
      const Ids ids = SomeIds(tokens);
      const Ids types(tokens, 0);
      const auto expected = RunTokens(alone, ids, types);
      const auto seen = RunTokens(**together, ids, types);
      ASSERT_TRUE(Succeeded(expected) && Succeeded(seen));
      EXPECT_EQ(seen->values, expected->values) << tokens;
      // Fewer where the buffer holds a shard of the input's plan at other bits.
      EXPECT_LE(seen->bytes_read, expected->bytes_read) << tokens;
      EXPECT_EQ(seen->layers.size(), alone.plan().layers.size()) << tokens;
      EXPECT_EQ((*together)->PlanFor(tokens).length, alone.plan().length) << tokens;
    }
  }
}

TEST_F(Variants, PreloadIsLoadedOnceAndRoomIsForTheLargest) {
  const Plan plan = WithVariants(6);
  ASSERT_EQ(plan.variants[1].preload.size(), 2u) << "the test has shards that both run";
  auto together = Make(plan);
  auto whole = Make(Alone(plan));
  auto middle = Make(Plan{plan.variants[0]});
  auto narrow = Make(Plan{plan.variants[1]});
  ASSERT_TRUE(Succeeded(together) && Succeeded(whole) && Succeeded(middle) && Succeeded(narrow));
  EXPECT_EQ((*together)->status().preload_bytes, (*whole)->status().preload_bytes);
  EXPECT_EQ((*together)->status().staging_bytes,
            std::max({(*whole)->status().staging_bytes, (*middle)->status().staging_bytes,
                      (*narrow)->status().staging_bytes}));
  EXPECT_EQ((*together)->status().working_bytes, (*whole)->status().working_bytes);
}

TEST_F(Variants, LayersThatOnlyAVariantRunsAreResident) {
  Plan plan = Mixed();
  plan.layers = {0, 1, 2, 3};
  plan.variants = {Mixed()};
  plan.variants[0].length = 9;
  plan.variants[0].layers = {1, 2, 3, 4};
  auto together = Make(plan);
  auto alone = Make(Plan{plan.variants[0]});
  ASSERT_TRUE(Succeeded(together) && Succeeded(alone));
  const auto expected = RunTokens(**alone, kTextIds, kTextTypes);
  const auto seen = RunTokens(**together, kTextIds, kTextTypes);
  ASSERT_TRUE(Succeeded(expected) && Succeeded(seen));
  EXPECT_EQ(seen->values, expected->values);
  EXPECT_GT((*together)->status().resident_bytes, (*alone)->status().resident_bytes);
}

TEST_F(Variants, TheClockChoosesAmongPlansOfOneLength) {
  Plan plan = WholeAt(6);
  plan.freq = 2000000;
  Plan slow = WholeAt(2);
  slow.freq = 1000000;
  plan.variants = {slow};
  const auto fast_logits = Logits(WholeAt(6));
  const auto slow_logits = Logits(WholeAt(2));
  ASSERT_NE(fast_logits, slow_logits);
  PipelineOptions options;
  EXPECT_EQ(Logits(plan, options), fast_logits);
  for (const uint64_t khz : {1999999, 1000000, 500000}) {
    options.clock_khz = khz;
    EXPECT_EQ(Logits(plan, options), slow_logits) << khz;
  }
  options.clock_khz = 2000000;
  EXPECT_EQ(Logits(plan, options), fast_logits);
}

TEST_F(Variants, AVariantThatStandsInForThePlanPreloadsItsPart) {
  Plan plan = WithPreload(WholeAt(4), 6);
  plan.freq = 2000000;
  Plan slow = plan;
  slow.freq = 1000000;
  slow.preload.resize(4);
  plan.variants = {slow};
  PipelineOptions options;
  options.clock_khz = 1000000;
  auto pipeline = Make(plan, options);
  auto alone = Make(slow);
  ASSERT_TRUE(Succeeded(pipeline) && Succeeded(alone));
  EXPECT_GT((*pipeline)->status().preload_bytes, 0U);
  EXPECT_EQ((*pipeline)->status().preload_bytes, (*alone)->status().preload_bytes);
  const auto expected = RunTokens(**alone, kTextIds, kTextTypes);
  const auto seen = RunTokens(**pipeline, kTextIds, kTextTypes);
  ASSERT_TRUE(Succeeded(expected) && Succeeded(seen));
  EXPECT_EQ(seen->values, expected->values);
  EXPECT_EQ(seen->bytes_read, expected->bytes_read);
}

TEST_F(Variants, SmallStagingServesAllOfThem) {
  const Plan plan = WithVariants(6);
  auto roomy = Make(plan);
  ASSERT_TRUE(Succeeded(roomy));
  PipelineOptions options;
  options.staging_bytes = (*roomy)->status().staging_bytes * 3 / 4;
  auto tight = Make(plan, options);
  ASSERT_TRUE(Succeeded(tight));
  EXPECT_LE((*tight)->status().staging_bytes, options.staging_bytes);
  for (const size_t tokens : {32, 3, 9, 2, 32}) {
    const Ids ids = SomeIds(tokens);
    const auto expected = RunTokens(**roomy, ids, Ids(tokens, 0));
    const auto seen = RunTokens(**tight, ids, Ids(tokens, 0));
    ASSERT_TRUE(Succeeded(expected) && Succeeded(seen));
    EXPECT_EQ(seen->values, expected->values) << tokens;
  }
}

TEST_F(Variants, InputsLongerThanAllAreRefused) {
  Plan plan = WithVariants(0);
  plan.length = 12;
  auto pipeline = Make(plan);
  ASSERT_TRUE(Succeeded(pipeline));
  EXPECT_TRUE(Succeeded(RunTokens(**pipeline, SomeIds(12), Ids(12, 0))));
  EXPECT_TRUE(FailedWith(RunTokens(**pipeline, SomeIds(13), Ids(13, 0)), ErrorKind::kDamaged,
                         "13 tokens; the plan holds 12"));
  EXPECT_EQ((*pipeline)->PlanFor(1000).length, 12u);
}

TEST_F(Variants, VariantsThatDoNotFitAreRefused) {
  const auto refused = [&](const char* words, void (*edit)(PlanCore&),
                           ErrorKind kind = ErrorKind::kDamaged) {
    Plan plan = WithVariants(6);
    edit(plan.variants[0]);
    EXPECT_TRUE(FailedWith(Make(plan), kind, words));
  };
  refused(
      "variants[0]: layer 5 is beyond the last", [](PlanCore& v) { v.layers.back() = 5; },
      ErrorKind::kForeign);
  refused(
      "variants[0]: length 33 is more", [](PlanCore& v) { v.length = 33; }, ErrorKind::kForeign);
  refused("layer 4 slice 2 at 32 bits is not preloaded by the plan", [](PlanCore& v) {
    v.preload = {{4, 2, 32}};
  });
  refused("layer 0 slice 3 at 4 bits is not what the plan runs", [](PlanCore& v) {
    v.preload = {{0, 3, 4}};
  });
  refused("variants[0]: it is for another model", [](PlanCore& v) { v.model.bytes[1] ^= 1; });
}

}  // namespace
}  // namespace sti
