// Each rule of a plan, broken once, under the bounds of everybody who asks: the limits of the
// format, a catalog, a container, a model folder.
#include "types/plan_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace sti {
namespace {

constexpr ErrorKind kBroken = ErrorKind::kDamaged;
constexpr ErrorKind kForeign = ErrorKind::kForeign;

Digest Model() {
  Digest model;
  model.bytes[0] = 0xAB;
  return model;
}

/// 2 x 2 shards of a 5 x 4 model, all but one preloaded.
Plan Sound() {
  Plan plan;
  plan.model = Model();
  plan.length = 16;
  plan.layers = {1, 4};
  plan.width = 2;
  plan.slices = {{0, 1}, {3, 2}};
  plan.bits = {{2, 6}, {32, 3}};
  plan.preload = {{{1, 0}, 2}, {{1, 1}, 6}, {{4, 3}, 32}};
  plan.aib_us = {1, -1};
  plan.times.emplace().layer_io_us = {1, 2};
  plan.turn_bytes = 100;
  plan.words = {0, 7, 100};
  return plan;
}

Plan WithTurns() {
  Plan plan = Sound();
  plan.turns.resize(3);
  plan.turns[0].bits = plan.bits;
  plan.turns[0].preload = plan.preload;
  plan.turns[1].bits = {{2, 6}, {32, 5}};
  plan.turns[1].preload = {{{1, 0}, 2}, {{1, 1}, 5}};
  plan.turns[1].preload_bytes = 100;
  plan.turns[2].bits = {{3, 6}, {32, 32}};
  return plan;
}

Plan WithVariants() {
  Plan plan = Sound();
  plan.variants = {Sound(), Sound()};
  plan.variants[0].length = 8;
  plan.variants[1].freq = 1800000;
  plan.variants[1].preload.pop_back();
  return plan;
}

/// The last of three cascade levels.
Plan WithCascade() {
  Plan plan = Sound();
  PlanCascade& cascade = plan.cascade.emplace();
  cascade.levels.resize(2);
  for (CascadeLevel& level : cascade.levels) level.plan = Sound();
  cascade.levels[1].plan.preload.clear();
  cascade.return_share = {0.5, 0.5};
  cascade.path_us = {1, 2, 3};
  return plan;
}

struct Rule {
  Plan (*sound)();
  void (*break_it)(Plan&);
  ErrorKind kind;
  const char* text;
};

const std::vector<Rule>& SizeRules() {
  static const std::vector<Rule> kRules = {
      {Sound, [](Plan& p) { p.model = {}; }, kBroken, "model is missing"},
      {Sound, [](Plan& p) { p.layers.clear(); }, kBroken, "layers is empty"},
      {Sound,
       [](Plan& p) {
         p.layers = {4, 1};
       },
       kBroken, "layers does not ascend"},
      {Sound,
       [](Plan& p) {
         p.layers = {4, 4};
       },
       kBroken, "layers does not ascend"},
      {Sound,
       [](Plan& p) {
         p.layers = {1, 5000};
       },
       kForeign, "layer 5000 is beyond the last"},
      {Sound, [](Plan& p) { p.width = 0; }, kBroken, "width is 0"},
      {Sound, [](Plan& p) { p.agents = 17; }, kBroken, "agents is above 16"},
      {Sound, [](Plan& p) { p.read_streams = 17; }, kBroken, "read_streams is above 16"},
      {Sound, [](Plan& p) { p.width = 300; }, kForeign,
       "width 300 is more than a layer has slices"},
      {Sound, [](Plan& p) { p.length = 0; }, kForeign, "length 0 is less than any input has"},
      {Sound, [](Plan& p) { p.length = 1048577; }, kForeign,
       "length 1048577 is more than any input has"},
      {Sound,
       [](Plan& p) {
         p.slices = {{0, 1}};
       },
       kBroken, "slices and bits do not have one row a layer"},
      {Sound,
       [](Plan& p) {
         p.bits = {{2, 2}, {2, 2}, {2, 2}};
       },
       kBroken, "slices and bits do not have one row a layer"},
      {Sound,
       [](Plan& p) {
         p.slices = {{0}, {0}};
       },
       kBroken, "the rows of slices and bits do not have 2 entries"},
      {Sound,
       [](Plan& p) {
         p.bits = {{2, 2, 2}, {2, 2, 2}};
       },
       kBroken, "the rows of slices and bits do not have 2 entries"},
      {Sound, [](Plan& p) { p.slices.At(1, 0) = 256; }, kForeign,
       "layer 4 slice 256 is beyond the last slice"},
      {Sound, [](Plan& p) { p.bits.At(0, 1) = 7; }, kBroken,
       "layer 1 slice 1: bits is not 2 to 6, or 32"},
      {Sound, [](Plan& p) { p.slices.At(0, 1) = 0; }, kBroken, "layer 1 slice 0 is there twice"},
      {Sound, [](Plan& p) { p.preload[1].bits = 5; }, kBroken,
       "preload: layer 1 slice 1 at 5 bits is not what the plan runs, or is there twice"},
      {Sound, [](Plan& p) { p.preload[1] = p.preload[0]; }, kBroken,
       "preload: layer 1 slice 0 at 2 bits is not what the plan runs, or is there twice"},
      {Sound,
       [](Plan& p) {
         p.preload[1].id = {2, 0};
       },
       kBroken, "preload: layer 2 slice 0 at 6 bits is not what the plan runs, or is there twice"},
      {Sound, [](Plan& p) { p.quality.cosine = -1.5; }, kBroken,
       "predicted_cosine is not from -1 to 1"},
      {Sound, [](Plan& p) { p.quality.spearman = std::nan(""); }, kBroken,
       "predicted_spearman is not from -1 to 1"}};
  return kRules;
}

const std::vector<Rule>& NumberRules() {
  static const double kNever = std::numeric_limits<double>::quiet_NaN();
  static const std::vector<Rule> kRules = {
      {Sound, [](Plan& p) { p.slack_us = -1e16; }, kBroken,
       "slack_us is not a finite number up to 10^15"},
      {Sound, [](Plan& p) { p.target_us = 1e16; }, kBroken,
       "target_us is above 10^15, which is thirty years"},
      {Sound, [](Plan& p) { p.wake_us = 1e308; }, kBroken,
       "wake_us is above 10^15, which is thirty years"},
      {Sound, [](Plan& p) { p.predicted_p99_us = 1e308; }, kBroken,
       "predicted_p99_us is above 10^15, which is thirty years"},
      {Sound, [](Plan& p) { p.quality.accuracy = 7; }, kBroken,
       "predicted_accuracy is not from 0 to 1"},
      {Sound, [](Plan& p) { p.quality.agreement = 1.5; }, kBroken,
       "predicted_agreement is not from 0 to 1"},
      {Sound, [](Plan& p) { p.quality.loss = 1e308; }, kBroken,
       "predicted_loss is not a finite number up to 10^15"},
      {Sound, [](Plan& p) { p.read_bytes = 5; }, kBroken,
       "read_bytes is not a multiple of 4096 up to 67108864"},
      {Sound, [](Plan& p) { p.read_depth = 257; }, kBroken, "read_depth is above 256"},
      {Sound, [](Plan& p) { p.slack_us = kNever; }, kBroken,
       "slack_us is not a finite number up to 10^15"},
      {Sound, [](Plan& p) { p.target_us = -1; }, kBroken,
       "target_us is negative or not a finite number"},
      {Sound, [](Plan& p) { p.wake_us = -1; }, kBroken,
       "wake_us is negative or not a finite number"},
      {Sound, [](Plan& p) { p.times->head_us = kNever; }, kBroken,
       "times.head_us is negative or not a finite number"},
      {Sound, [](Plan& p) { p.times->layer_io_us.pop_back(); }, kBroken,
       "times.layer_io_us does not have one entry a layer"},
      {Sound, [](Plan& p) { p.times->layer_io_us[1] = -1; }, kBroken,
       "times.layer_io_us is negative or not a finite number"},
      {Sound, [](Plan& p) { p.staging_bytes = (uint64_t{1} << 40) + 1; }, kBroken,
       "staging_bytes is more than 1 TiB"},
      {Sound, [](Plan& p) { p.aib_us.push_back(0); }, kBroken,
       "aib_us does not have one entry a layer"},
      {Sound, [](Plan& p) { p.aib_us[0] = kNever; }, kBroken,
       "aib_us is not a finite number up to 10^15"},
      {Sound, [](Plan& p) { p.predicted_latency_us = -1; }, kBroken,
       "predicted_latency_us is negative or not a finite number"},
      {Sound, [](Plan& p) { p.predicted_p99_us = kNever; }, kBroken,
       "predicted_p99_us is negative or not a finite number"},
      {Sound, [](Plan& p) { p.quality.loss = kNever; }, kBroken,
       "predicted_loss is not a finite number up to 10^15"},
      {Sound, [](Plan& p) { p.quality.accuracy = -1; }, kBroken,
       "predicted_accuracy is not from 0 to 1"},
      {Sound, [](Plan& p) { p.quality.agreement = -1; }, kBroken,
       "predicted_agreement is not from 0 to 1"},
      {Sound, [](Plan& p) { p.threads = 257; }, kBroken, "threads is above 256"},
      {Sound, [](Plan& p) { p.cold = true; }, kBroken,
       "a cold plan has a preload, turns or a lead time"},
      {Sound, [](Plan& p) { p.other_strategy.assign(65, 'a'); }, kBroken,
       "strategy is not at most 64 bytes of printable ASCII"},
      {Sound, [](Plan& p) { p.kernel.name.assign(65, 'a'); }, kBroken,
       "kernel is not at most 64 bytes of printable ASCII"},
      {Sound, [](Plan& p) { p.cpus = std::string(32769, '1'); }, kBroken,
       "cpus is not at most 32768 bytes of printable ASCII"},
      {Sound, [](Plan& p) { p.read_path.assign(65, 'a'); }, kBroken,
       "read_path is not at most 64 bytes of printable ASCII"},
      {Sound, [](Plan& p) { p.other_strategy = "a\x1b[2J"; }, kBroken,
       "strategy is not at most 64 bytes of printable ASCII"},
      {Sound, [](Plan& p) { p.kernel.name = "a\nb"; }, kBroken,
       "kernel is not at most 64 bytes of printable ASCII"},
      {Sound, [](Plan& p) { p.read_path = "\xC2\x9B"; }, kBroken,
       "read_path is not at most 64 bytes of printable ASCII"}};
  return kRules;
}

const std::vector<Rule>& CascadeLevelRules() {
  static const double kNever = std::numeric_limits<double>::quiet_NaN();
  static const std::vector<Rule> kRules = {
      {WithCascade, [](Plan& p) { p.agents = 2; }, kBroken,
       "a plan with agents has turns, a cascade, a fallback or stages"},
      {WithCascade, [](Plan& p) { p.cascade->levels[1].plan.agents = 2; }, kBroken,
       "a plan with agents has turns, a cascade, a fallback or stages"},
      {WithCascade, [](Plan& p) { p.cascade->levels[1].plan.microbatch = 2; }, kBroken,
       "a plan with a batch has turns, a cascade, a fallback, a context or stages"},
      {WithCascade, [](Plan& p) { p.cascade->levels[1].rule.cutoff = -0.1; }, kBroken,
       "cascade.levels[1]: cutoff is not from 0 to 1"},
      {WithCascade, [](Plan& p) { p.cascade->levels[1].rule.cutoff = 1.1; }, kBroken,
       "cascade.levels[1]: cutoff is not from 0 to 1"},
      {WithCascade, [](Plan& p) { p.cascade->levels[1].rule.cutoff = kNever; }, kBroken,
       "cascade.levels[1]: cutoff is not from 0 to 1"},
      {WithCascade, [](Plan& p) { p.cascade->levels[1].rule.slope = -1; }, kBroken,
       "cascade.levels[1]: slope is not from 0 to 1000000"},
      {WithCascade, [](Plan& p) { p.cascade->levels[1].rule.slope = 1e7; }, kBroken,
       "cascade.levels[1]: slope is not from 0 to 1000000"},
      {WithCascade, [](Plan& p) { p.cascade->levels[1].rule.slope = kNever; }, kBroken,
       "cascade.levels[1]: slope is not from 0 to 1000000"},
      {WithCascade, [](Plan& p) { p.cascade->levels[1].rule.prune_alpha = -0.1; }, kBroken,
       "cascade.levels[1]: prune_alpha is not from 0 to 1"},
      {WithCascade, [](Plan& p) { p.cascade->levels[1].rule.prune_alpha = 1.1; }, kBroken,
       "cascade.levels[1]: prune_alpha is not from 0 to 1"},
      {WithCascade, [](Plan& p) { p.cascade->levels[1].rule.prune_alpha = kNever; }, kBroken,
       "cascade.levels[1]: prune_alpha is not from 0 to 1"},
      {WithCascade, [](Plan& p) { p.cascade->levels[1].rule.ensemble_weight = -0.1; }, kBroken,
       "cascade.levels[1]: ensemble_weight is not from 0 to 1"},
      {WithCascade, [](Plan& p) { p.cascade->levels[1].rule.ensemble_weight = 1.1; }, kBroken,
       "cascade.levels[1]: ensemble_weight is not from 0 to 1"},
      {WithCascade, [](Plan& p) { p.cascade->levels[1].rule.ensemble_weight = kNever; }, kBroken,
       "cascade.levels[1]: ensemble_weight is not from 0 to 1"},
      {WithCascade, [](Plan& p) { p.cascade->levels[1].temperature = 0; }, kBroken,
       "cascade.levels[1]: temperature is not from 0.001 to 1000"},
      {WithCascade, [](Plan& p) { p.cascade->levels[1].temperature = 1001; }, kBroken,
       "cascade.levels[1]: temperature is not from 0.001 to 1000"},
      {WithCascade, [](Plan& p) { p.cascade->levels[1].temperature = kNever; }, kBroken,
       "cascade.levels[1]: temperature is not from 0.001 to 1000"}};
  return kRules;
}

const std::vector<Rule>& CascadeRules() {
  static const double kNever = std::numeric_limits<double>::quiet_NaN();
  constexpr const char* kOwn =
      "cascade.levels[1]: a cascade level has variants, turns, words, a fallback or a cascade of "
      "its own";
  constexpr const char* kAlone =
      "a plan with a cascade has variants, turns or a fallback, or is cold";
  static const std::vector<Rule> kRules = {
      {WithCascade, [](Plan& p) { p.cascade->temperature = 0; }, kBroken,
       "cascade: temperature is not from 0.001 to 1000"},
      {WithCascade, [](Plan& p) { p.cascade->levels.clear(); }, kBroken,
       "cascade.levels does not have 1 or 2 entries"},
      {WithCascade, [](Plan& p) { p.cascade->levels.push_back(p.cascade->levels[1]); }, kBroken,
       "cascade.levels does not have 1 or 2 entries"},
      {WithCascade, [](Plan& p) { p.cascade->return_share = {0.5}; }, kBroken,
       "cascade: return_share does not have one entry a level"},
      {WithCascade, [](Plan& p) { p.cascade->return_share[0] = -0.5; }, kBroken,
       "cascade: return_share is not from 0 to 1"},
      {WithCascade, [](Plan& p) { p.cascade->return_share[0] = 0.625; }, kBroken,
       "cascade: return_share adds up to more than 1"},
      {WithCascade, [](Plan& p) { p.cascade->path_us.pop_back(); }, kBroken,
       "cascade: path_us does not have one entry a level"},
      {WithCascade, [](Plan& p) { p.cascade->path_us[1] = -1; }, kBroken,
       "cascade: path_us is negative or not a finite number"},
      {WithCascade, [](Plan& p) { p.cascade->mean_us = kNever; }, kBroken,
       "cascade: mean_us is negative or not a finite number"},
      {WithCascade, [](Plan& p) { p.cascade->worst_path_us = -1; }, kBroken,
       "cascade: worst_path_us is negative or not a finite number"},
      {WithCascade, [](Plan& p) { p.cascade->quality.loss = kNever; }, kBroken,
       "cascade: predicted_loss is not a finite number up to 10^15"},
      {WithCascade, [](Plan& p) { p.cascade->quality.accuracy = -1; }, kBroken,
       "cascade: predicted_accuracy is not from 0 to 1"},
      {WithCascade, [](Plan& p) { p.variants = WithVariants().variants; }, kBroken, kAlone},
      {WithCascade, [](Plan& p) { p.turns = WithTurns().turns; }, kBroken, kAlone},
      {WithCascade, [](Plan& p) { p.cascade->levels[1].plan.fallback.emplace(); }, kBroken, kOwn},
      {WithCascade, [](Plan& p) { p.cascade->levels[1].plan.model.bytes[3] = 9; }, kBroken,
       "cascade.levels[1]: it is for another model"},
      {WithCascade, [](Plan& p) { p.cascade->levels[1].plan.cold = true; }, kBroken,
       "cascade.levels[1]: a cascade level starts cold"},
      {WithCascade, [](Plan& p) { p.cascade->levels[1].plan.length = 8; }, kBroken,
       "cascade.levels[1]: its length or freq is not the plan's"},
      {WithCascade, [](Plan& p) { p.cascade->levels[1].plan.freq = 8; }, kBroken,
       "cascade.levels[1]: its length or freq is not the plan's"},
      {WithCascade, [](Plan& p) { p.cascade->levels[1].plan.kernel.name = "x-int8"; }, kBroken,
       "cascade.levels[1]: its kernel is not the plan's"},
      {WithCascade,
       [](Plan& p) { p.cascade->levels[1].plan.preload = p.cascade->levels[0].plan.preload; },
       kBroken, "cascade.levels[1]: only the first cascade level has a preload"},
      {WithCascade, [](Plan& p) { p.cascade->levels[1].plan.bits.At(0, 0) = 7; }, kBroken,
       "cascade.levels[1]: layer 1 slice 0: bits is not 2 to 6, or 32"}};
  return kRules;
}

const std::vector<Rule>& TurnAndVariantRules() {
  static const std::vector<Rule> kRules = {
      {Sound, [](Plan& p) { p.words.resize(65537); }, kBroken, "words has more than 65536 entries"},
      {Sound, [](Plan& p) { p.row_share = 1.5; }, kBroken, "row_share is not from 0 to 1"},
      {Sound, [](Plan& p) { p.row_p99_share = std::nan(""); }, kBroken,
       "row_p99_share is not from 0 to 1"},
      {Sound, [](Plan& p) { p.words[1] = 0; }, kBroken, "words do not ascend"},
      {Sound, [](Plan& p) { p.words[1] = 200; }, kBroken, "words do not ascend"},
      {Sound, [](Plan& p) { p.words[2] = kMaxVocabulary; }, kBroken,
       "words has an entry of 2^22 or more"},
      {WithTurns, [](Plan& p) { p.turns.resize(65, p.turns[2]); }, kBroken, "more than 64 turns"},
      {WithTurns,
       [](Plan& p) {
         p.turns[1].bits = {{2, 6}};
       },
       kBroken, "turns[1]: bits does not have one row a layer"},
      {WithTurns,
       [](Plan& p) {
         p.turns[1].bits = {{2}, {32}};
       },
       kBroken, "turns[1]: the rows of bits do not have 2 entries"},
      {WithTurns, [](Plan& p) { p.turns[1].bits.At(0, 0) = 33; }, kBroken,
       "turns[1]: layer 1 slice 0: bits is not 2 to 6, or 32"},
      {WithTurns, [](Plan& p) { p.turns[2].bits.At(1, 1) = 4; }, kBroken,
       "turns[2]: layer 4 slice 2 has fewer bits than in the turn before"},
      {WithTurns, [](Plan& p) { p.turns[0].bits.At(0, 0) = 3; }, kBroken,
       "turns[0]: the first turn's bits are not the plan's"},
      {WithTurns, [](Plan& p) { p.turns[1].preload[1].bits = 32; }, kBroken,
       "turns[1]: preload: layer 1 slice 1 at 32 bits is more than the turn runs, or is there "
       "twice"},
      {WithTurns, [](Plan& p) { p.turns[1].preload[1].bits = 1; }, kBroken,
       "turns[1]: preload: layer 1 slice 1 at 1 bits is more than the turn runs, or is there "
       "twice"},
      {WithTurns,
       [](Plan& p) {
         p.turns[1].preload[1].id = {1, 0};
       },
       kBroken,
       "turns[1]: preload: layer 1 slice 0 at 5 bits is more than the turn runs, or is there "
       "twice"},
      {WithTurns, [](Plan& p) { p.turns[1].preload_bytes = 101; }, kBroken,
       "turns[1]: preload_bytes is more than turn_bytes"},
      {WithTurns, [](Plan& p) { p.turns[2].predicted_p99_us = -1; }, kBroken,
       "turns[2]: predicted_p99_us is negative or not a finite number"},
      {WithVariants, [](Plan& p) { p.variants.resize(65, p.variants[0]); }, kBroken,
       "more than 64 variants"},
      {WithVariants, [](Plan& p) { p.variants[0].model.bytes[3] = 9; }, kBroken,
       "variants[0]: it is for another model"},
      {WithVariants, [](Plan& p) { p.variants[0].cold = true; }, kBroken,
       "variants[0]: of it and the plan only one starts cold"},
      {WithVariants, [](Plan& p) { p.variants[0].bits.At(1, 1) = 7; }, kBroken,
       "variants[0]: layer 4 slice 2: bits is not 2 to 6, or 32"},
      {WithVariants, [](Plan& p) { p.preload.pop_back(); }, kBroken,
       "variants[0]: preload: layer 4 slice 3 at 32 bits is not preloaded by the plan"},
      {WithVariants, [](Plan& p) { p.variants[0].length = p.length; }, kBroken,
       "variants[0]: its length, batch and freq are planned already"},
      {WithVariants, [](Plan& p) { p.variants[1].freq.reset(), p.variants[1].length = 8; }, kBroken,
       "variants[1]: its length, batch and freq are planned already"}};
  return kRules;
}

/// Returns the bounds that ParsePlan, a judge of plans, a pipeline and sti-shard --for set a plan.
std::vector<PlanBounds> AllBounds() {
  const auto holds = [](const ShardAtBits& shard) { return shard.id.layer < 5; };
  PlanBounds judge;
  judge.layers = 5;
  judge.width = 4;
  judge.holds = holds;
  PlanBounds pipeline = judge;
  pipeline.least_length = 2;
  pipeline.most_length = 32;
  pipeline.model = Model();
  PlanBounds folder;
  folder.layers = 5;
  folder.width = 4;
  folder.model = Model();
  return {{}, judge, pipeline, folder};
}

TEST(PlanCheck, SoundPlansHaveNoFault) {
  for (const PlanBounds& bounds : AllBounds()) {
    for (const Plan& plan : {Sound(), WithTurns(), WithVariants(), WithCascade()}) {
      const auto fault = FindPlanFault(plan, bounds);
      EXPECT_FALSE(fault) << fault->text();
    }
  }
}

TEST(PlanCheck, EveryRuleHasOneSentenceUnderAllBounds) {
  for (const auto* rules : {&SizeRules(), &NumberRules(), &CascadeLevelRules(), &CascadeRules(),
                            &TurnAndVariantRules()}) {
    for (const Rule& rule : *rules) {
      Plan plan = rule.sound();
      rule.break_it(plan);
      for (const PlanBounds& bounds : AllBounds()) {
        const auto fault = FindPlanFault(plan, bounds);
        ASSERT_TRUE(fault) << rule.text;
        EXPECT_EQ(fault->text(), rule.text);
        EXPECT_EQ(fault->kind, rule.kind) << rule.text;
      }
    }
  }
}

TEST(PlanCheck, WhatTheBoundsDoNotHaveIsForeign) {
  const auto text = [](const Plan& plan, const PlanBounds& bounds) {
    const auto fault = FindPlanFault(plan, bounds);
    if (!fault) return std::string();
    EXPECT_EQ(fault->kind, kForeign);
    return fault->text();
  };
  PlanBounds bounds = AllBounds()[2];
  bounds.model.bytes[0] = 1;
  EXPECT_EQ(text(Sound(), bounds), "it was made for model ab000000…, not 01000000…");
  bounds = {};
  bounds.vocabulary = 100;
  EXPECT_EQ(text(Sound(), bounds), "word 100 is outside the vocabulary of 100");
  bounds = {};
  bounds.layers = 4;
  EXPECT_EQ(text(Sound(), bounds), "layer 4 is beyond the last");
  bounds = {};
  bounds.width = 3;
  EXPECT_EQ(text(Sound(), bounds), "layer 4 slice 3 is beyond the last slice");
  bounds.width = 1;
  EXPECT_EQ(text(Sound(), bounds), "width 2 is more than a layer has slices");
  bounds = {};
  bounds.least_length = 17;
  EXPECT_EQ(text(Sound(), bounds), "length 16 is less than any input has");
  bounds = {};
  bounds.most_length = 15;
  EXPECT_EQ(text(Sound(), bounds), "length 16 is more than any input has");
  bounds = {};
  bounds.holds = [](const ShardAtBits& shard) { return shard.bits != 5; };
  EXPECT_EQ(text(Sound(), bounds), "");
  EXPECT_EQ(text(WithTurns(), bounds), "turns[1]: layer 4 slice 2 at 5 bits is not stored");
  bounds.holds = [](const ShardAtBits& shard) {
    return shard.bits != 5 || shard.id == ShardId{4, 2};
  };
  EXPECT_EQ(text(WithTurns(), bounds), "turns[1]: layer 1 slice 1 at 5 bits is not stored");
  bounds.holds = [](const ShardAtBits& shard) { return shard.bits != 3; };
  Plan exact = WithVariants();
  exact.bits.At(1, 1) = 4;
  EXPECT_EQ(text(exact, bounds), "variants[0]: layer 4 slice 2 at 3 bits is not stored");
  Plan cascade = WithCascade();
  cascade.bits.At(1, 1) = 4;
  EXPECT_EQ(text(cascade, bounds), "cascade.levels[0]: layer 4 slice 2 at 3 bits is not stored");
}

}  // namespace
}  // namespace sti
