#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "pipeline/cascade_run.h"

namespace sti {
namespace {

using PairIds = std::vector<uint32_t>;

// [CLS] un ##believ ##able [SEP] a b [SEP]
const PairIds kPairIds{2, 10, 11, 12, 3, 20, 21, 3};
const PairIds kPairTypes{0, 0, 0, 0, 0, 1, 1, 1};
const PairIds kPairWords{kNoWord, 0, 0, 0, kNoWord, 1, 2, kNoWord};
const CascadeInput kPair{{kPairIds, kPairTypes}, kPairWords};

Plan WithRules(const std::vector<CascadeRule>& rules) {
  Plan plan;
  plan.cascade.emplace();
  for (const CascadeRule& rule : rules) plan.cascade->levels.push_back({.plan = {}, .rule = rule});
  return plan;
}

PairIds Copy(std::span<const uint32_t> ids) { return {ids.begin(), ids.end()}; }

TEST(CascadePolicy, AnInputGoesOnUntilALevelIsSure) {
  Plan plan = WithRules({{.cutoff = 0.9}, {.cutoff = 0.5}});
  CascadePolicy policy(plan, kPair, 0);
  EXPECT_TRUE(policy.GoesOn(0.9, false)) << "at the cut-off";
  EXPECT_FALSE(policy.GoesOn(0.91, false));
  EXPECT_TRUE(policy.GoesOn(std::nan(""), false));
  policy.GoOn(std::vector<float>{1, 0}, {});
  EXPECT_EQ(policy.level(), 1U);
  EXPECT_FALSE(policy.GoesOn(0.6, false));
  EXPECT_TRUE(policy.GoesOn(0.4, false));
  policy.GoOn(std::vector<float>{1, 0}, {});
  EXPECT_FALSE(policy.GoesOn(0.1, false)) << "there is no other level";
  EXPECT_FALSE(policy.GoesOn(0.1, true));
}

TEST(CascadePolicy, ADegradedLevelIsNotBelieved) {
  const Plan plan = WithRules({{.cutoff = 0}});
  const CascadePolicy policy(plan, kPair, 0);
  EXPECT_FALSE(policy.GoesOn(1, false));
  EXPECT_TRUE(policy.GoesOn(1, true));
}

TEST(CascadePolicy, EachLevelHasItsTemperature) {
  Plan plan = WithRules({{.cutoff = 1}});
  plan.cascade->levels[0].temperature = 2;
  plan.cascade->temperature = 0.5;
  const std::vector<float> logits{3, 1};
  CascadePolicy policy(plan, kPair, 0);
  EXPECT_DOUBLE_EQ(policy.ConfidenceIn(logits), 1 / (1 + std::exp(-1.0)));
  policy.GoOn(logits, {});
  EXPECT_DOUBLE_EQ(policy.ConfidenceIn(logits), 1 / (1 + std::exp(-4.0)));
}

TEST(CascadePolicy, WordsOfLittleAttentionStayBehindWithTheirTypes) {
  const Plan plan = WithRules({{.cutoff = 1, .prune_alpha = 0.5}, {.cutoff = 1}});
  CascadePolicy policy(plan, kPair, 0);
  EXPECT_TRUE(policy.wants_attention());
  // Mean 1: of "un ##believ ##able" one token is wanted, of "a b" only b.
  policy.GoOn(std::vector<float>{1, 0}, std::vector<float>{1, 0.1F, 2, 0.1F, 2, 0.4F, 1.4F, 1});
  EXPECT_EQ(Copy(policy.tokens().ids), (PairIds{2, 10, 11, 12, 3, 21, 3}));
  EXPECT_EQ(Copy(policy.tokens().types), (PairIds{0, 0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(policy.words_pruned(), 1U);
  EXPECT_FALSE(policy.wants_attention()) << "the second level prunes nothing";
}

// A word that is left keeps its type, whichever sentence has lost others.
TEST(CascadePolicy, TypesGoWithTheirWordsWhicheverSentenceLosesOne) {
  const Plan plan = WithRules({{.cutoff = 1, .prune_alpha = 0.5}, {.cutoff = 1, .prune_alpha = 1}});
  CascadePolicy policy(plan, kPair, 0);
  policy.GoOn(std::vector<float>{1, 0}, std::vector<float>{1, 0.1F, 0.2F, 0.1F, 2, 2, 1.6F, 1});
  EXPECT_EQ(Copy(policy.tokens().ids), (PairIds{2, 10, 11, 12, 3, 20, 21, 3}))
      << "the first would be empty";
  const PairIds ids{2, 8, 9, 3, 20, 21, 22, 3};
  const PairIds types{0, 0, 0, 0, 1, 1, 1, 1};
  const PairIds words{kNoWord, 0, 1, kNoWord, 2, 3, 4, kNoWord};
  CascadePolicy both(plan, {{ids, types}, words}, 0);
  both.GoOn(std::vector<float>{1, 0}, std::vector<float>{1, 0.1F, 2, 1, 1, 1, 1, 1});
  EXPECT_EQ(Copy(both.tokens().ids), (PairIds{2, 9, 3, 20, 21, 22, 3}));
  EXPECT_EQ(Copy(both.tokens().types), (PairIds{0, 0, 0, 1, 1, 1, 1}));
  // Again, of what is left.
  both.GoOn(std::vector<float>{1, 0}, std::vector<float>{1, 3, 1, 0.1F, 1.4F, 0.2F, 1});
  EXPECT_EQ(Copy(both.tokens().ids), (PairIds{2, 9, 3, 21, 3}));
  EXPECT_EQ(Copy(both.tokens().types), (PairIds{0, 0, 0, 1, 1}));
  EXPECT_EQ(both.words_pruned(), 3U);
}

TEST(CascadePolicy, WithoutWordsOrAlphaAllTokensGoOn) {
  const std::vector<float> attention{1, 0, 0, 0, 1, 0, 1, 1};
  const Plan unpruned = WithRules({{.cutoff = 1}});
  CascadePolicy whole(unpruned, kPair, 0);
  EXPECT_FALSE(whole.wants_attention());
  whole.GoOn(std::vector<float>{1, 0}, attention);
  EXPECT_EQ(Copy(whole.tokens().ids), kPairIds);
  const Plan pruning = WithRules({{.cutoff = 1, .prune_alpha = 0.5}});
  CascadePolicy wordless(pruning, {{kPairIds, kPairTypes}, {}}, 0);
  EXPECT_FALSE(wordless.wants_attention());
  wordless.GoOn(std::vector<float>{1, 0}, attention);
  EXPECT_EQ(Copy(wordless.tokens().ids), kPairIds);
  EXPECT_EQ(wordless.words_pruned(), 0U);
}

TEST(CascadePolicy, TwoLevelsCountTogetherByTheirWeight) {
  const std::vector<float> first{4, 0};
  const std::vector<float> second{0, 1};
  Plan plan = WithRules({{.cutoff = 1, .ensemble_weight = 0.25}});
  plan.cascade->levels[0].temperature = 2;
  CascadePolicy policy(plan, kPair, 0);
  EXPECT_TRUE(policy.Together(first).empty()) << "there is none before it";
  policy.GoOn(first, {});
  const std::vector<float> together = policy.Together(second);
  ASSERT_EQ(together.size(), 2U);
  EXPECT_NEAR(together[0], 0.25 / (1 + std::exp(1.0)) + 0.75 / (1 + std::exp(-2.0)), 1e-6);
  EXPECT_NEAR(together[0] + together[1], 1, 1e-6);
  const Plan alone = WithRules({{.cutoff = 1}});
  CascadePolicy own(alone, kPair, 0);
  own.GoOn(first, {});
  EXPECT_TRUE(own.Together(second).empty());
}

TEST(CascadePolicy, ChanceHangsOnSeedIdsAndLevel) {
  // At the middle of its way the sigmoid is one half for any slope.
  const Plan plan = WithRules({{.cutoff = 0, .slope = 1}, {.cutoff = 0, .slope = 1}});
  int first = 0;
  int both = 0;
  constexpr int kSeeds = 400;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    CascadePolicy policy(plan, kPair, seed);
    const bool goes_on = policy.GoesOn(0.5, false);
    EXPECT_EQ(CascadePolicy(plan, kPair, seed).GoesOn(0.5, false), goes_on);
    if (!goes_on) continue;
    ++first;
    policy.GoOn(std::vector<float>{1, 0}, {});
    both += policy.GoesOn(0.5, false) ? 1 : 0;
  }
  EXPECT_NEAR(first, kSeeds / 2, 60);
  EXPECT_NEAR(both, first / 2, 45) << "who went on once is drawn anew";
}

}  // namespace
}  // namespace sti
