// Passes: cut between layers, handed on as hidden rows, of several sequences, and on named routes.
#include "pipeline/pass.h"

#include "model/head.h"
#include "model/memory.h"
#include "pipeline/lane/preload_buffer.h"
#include "pipeline_world.h"
#include "schedule/load_schedule.h"
#include "support/plans.h"

namespace sti {
namespace {

class Passes : public PipelineTest {
 protected:
  static Pass TextPass() { return {TokenInput{kTextIds, kTextTypes}, {}}; }
  /// The values of one pass; nothing after a failure.
  static std::vector<float> Values(Pipeline& pipeline, const Pass& pass, bool hidden = false) {
    PassOutput output;
    output.hidden = hidden;
    RunReport report;
    const Status status = pipeline.Run(pass, {}, &output, &report);
    EXPECT_TRUE(Succeeded(status));
    return status.ok() ? output.values : std::vector<float>{};
  }
};

TEST_F(Passes, APassCutAtAnyLayerHasTheBitsOfTheWhole) {
  for (const uint64_t staging : {0, 24 * 4096}) {
    PipelineOptions options;
    options.staging_bytes = staging;
    auto pipeline = Make(WithPreload(Mixed(), 3), options);
    ASSERT_TRUE(Succeeded(pipeline));
    const auto expected = DirectLogits(path_, Mixed());
    PassOutput output;
    RunReport report;
    for (uint32_t cut = 0; cut <= 4; ++cut) {
      auto run = (*pipeline)->Begin(TextPass(), {}, &output, &report);
      ASSERT_TRUE(Succeeded(run));
      ASSERT_TRUE(Succeeded((*run)->Embed(TextPass())));
      ASSERT_TRUE(Succeeded((*run)->Layers(0, cut)));
      ASSERT_TRUE(Succeeded((*run)->Layers(cut, (*run)->layers())));
      ASSERT_TRUE(Succeeded((*pipeline)->End((*run)->Finish())));
      EXPECT_EQ(output.values, expected) << cut;
      EXPECT_EQ(report.layers.size(), 4U);
    }
  }
}

TEST_F(Passes, LayersAreTakenInOrderAndOnce) {
  auto pipeline = Make(Mixed());
  ASSERT_TRUE(Succeeded(pipeline));
  PassOutput output;
  RunReport report;
  auto run = (*pipeline)->Begin(TextPass(), {}, &output, &report);
  ASSERT_TRUE(Succeeded(run));
  ASSERT_TRUE(Succeeded((*run)->Embed(TextPass())));
  EXPECT_TRUE(FailedWith((*run)->Layers(1, 2), ErrorKind::kUsage, "not the next"));
  EXPECT_TRUE(FailedWith((*run)->Layers(0, 5), ErrorKind::kUsage, "not the next"));
  ASSERT_TRUE(Succeeded((*run)->Layers(0, 2)));
  EXPECT_TRUE(FailedWith((*run)->Layers(0, 2), ErrorKind::kUsage, "not the next"));
  EXPECT_TRUE(FailedWith((*run)->Layers(2, 1), ErrorKind::kUsage, "not the next"));
  EXPECT_TRUE(FailedWith((*run)->Finish(), ErrorKind::kUsage, "layers left"));
  // It is left there, and another run begins.
  EXPECT_EQ(Values(**pipeline, TextPass()), DirectLogits(path_, Mixed()));
}

TEST_F(Passes, HiddenRowsGoOnInAnotherPipeline) {
  const auto expected = DirectLogits(path_, Mixed());
  for (uint32_t cut = 1; cut < 4; ++cut) {
    auto first = Make(LayersOf(Mixed(), 0, cut));
    auto second = Make(LayersOf(Mixed(), cut, 4));
    ASSERT_TRUE(Succeeded(first) && Succeeded(second));
    for (int turn = 0; turn < 2; ++turn) {
      const auto rows = Values(**first, TextPass(), true);
      ASSERT_EQ(rows.size(), kTextIds.size() * 64);
      EXPECT_EQ(Values(**second, {HiddenInput{rows}, {}}), expected) << cut;
    }
    ASSERT_TRUE(Succeeded((*second)->Wake())) << "for tokens, which then do not come";
    const auto rows = Values(**first, TextPass(), true);
    EXPECT_EQ(Values(**second, {HiddenInput{rows}, {}}), expected) << cut;
  }
}

TEST_F(Passes, SeveralSequencesGiveWhatEachGivesAlone) {
  const Ids other{2, 8, 3};
  Ids ids(kTextIds);
  ids.insert(ids.end(), other.begin(), other.end());
  ids.insert(ids.end(), kTextIds.begin(), kTextIds.end());
  Ids types(kTextTypes);
  types.insert(types.end(), {0, 0, 0});
  types.insert(types.end(), kTextTypes.begin(), kTextTypes.end());
  const Ids offsets{0, 9, 12, 21};
  const Pass pass{TokenInput{ids, types}, offsets};
  DirectModel direct(path_);
  std::vector<float> expected;
  for (const auto& [of, with] : {std::pair(kTextIds, kTextTypes), std::pair(other, Ids{0, 0, 0}),
                                 std::pair(kTextIds, kTextTypes)}) {
    const auto logits = direct.Logits(Mixed(), of, with);
    expected.insert(expected.end(), logits.begin(), logits.end());
  }
  for (const uint32_t threads : {1U, 3U}) {
    PipelineOptions options;
    options.threads = threads;
    auto whole = Make(Mixed(), options);
    ASSERT_TRUE(Succeeded(whole));
    EXPECT_EQ(Values(**whole, pass), expected);
    auto first = Make(LayersOf(Mixed(), 0, 2), options);
    auto second = Make(LayersOf(Mixed(), 2, 4), options);
    ASSERT_TRUE(Succeeded(first) && Succeeded(second));
    const auto rows = Values(**first, pass, true);
    EXPECT_EQ(Values(**second, {HiddenInput{rows}, offsets}), expected);
  }
}

/// A plan of layers [first, last) of Mixed, as a stage runs them.
Plan StageOf(Plan piece, bool text, bool head, uint32_t microbatch) {
  piece.ends = {.text = text, .head = head};
  piece.microbatch = microbatch;
  return piece;
}

TEST_F(Passes, AStageHoldsWhatItRunsAndNoMore) {
  auto first = Make(StageOf(LayersOf(Mixed(), 0, 2), true, false, 1));
  auto middle = Make(StageOf(LayersOf(Mixed(), 2, 3), false, false, 1));
  auto last = Make(StageOf(LayersOf(Mixed(), 3, 4), false, true, 1));
  ASSERT_TRUE(Succeeded(first) && Succeeded(middle) && Succeeded(last));
  const auto rows = Values(**first, TextPass(), true);
  const auto more = Values(**middle, {HiddenInput{rows}, {}}, true);
  EXPECT_EQ(Values(**last, {HiddenInput{more}, {}}), DirectLogits(path_, Mixed()));
  auto whole = Make(Mixed());
  ASSERT_TRUE(Succeeded(whole));
  const ContainerIndex& index = *&(*whole)->status().file->index();
  const uint64_t all = (*whole)->status().resident_bytes;
  const auto held = [](auto& pipeline) { return (*pipeline)->status().resident_bytes; };
  EXPECT_EQ(held(first), ResidentBytes(index, {0, 2, {true, false}}));
  EXPECT_EQ(held(middle), ResidentBytes(index, {2, 3, {false, false}}));
  EXPECT_EQ(held(last), ResidentBytes(index, {3, 4, {false, true}}));
  EXPECT_EQ(held(first) + held(middle) + held(last), all);
  for (auto* pipeline : {&first, &middle, &last}) {
    const PipelineStatus& status = (**pipeline)->status();
    const Plan& plan = (**pipeline)->plan();
    EXPECT_EQ(status.working_bytes, WorkingBytes(index, {status.kernel, 1, plan.Extent()}) -
                                        (plan.ends.head ? ClassifierHead::RoomFor(64, 1, 1) : 0));
  }
  PassOutput output;
  RunReport report;
  EXPECT_TRUE(FailedWith((*middle)->Run(TextPass(), {}, &output, &report), ErrorKind::kUsage,
                         "is given tokens"));
  EXPECT_TRUE(FailedWith((*middle)->Run({HiddenInput{rows}, {}}, {}, &output, &report),
                         ErrorKind::kUsage, "asked for what a head gives"));
  EXPECT_TRUE(FailedWith((*middle)->SetPlan(LayersOf(Mixed(), 2, 3)), ErrorKind::kUsage,
                         "other ends of the network"));
}

TEST_F(Passes, AMicrobatchBoundsSequencesAndEachOfThem) {
  Plan plan = StageOf(Mixed(), true, true, 2);
  plan.length = 12;
  auto pipeline = Make(plan);
  ASSERT_TRUE(Succeeded(pipeline));
  Ids ids(kTextIds);
  ids.insert(ids.end(), kTextIds.begin(), kTextIds.end());
  Ids types(kTextTypes);
  types.insert(types.end(), kTextTypes.begin(), kTextTypes.end());
  auto expected = DirectLogits(path_, Mixed());
  expected.insert(expected.end(), expected.begin(), expected.end());
  EXPECT_EQ(Values(**pipeline, {TokenInput{ids, types}, Ids{0, 9, 18}}), expected);
  PassOutput output;
  RunReport report;
  const auto refused = [&](const Ids& offsets, ErrorKind kind, const char* words) {
    return FailedWith((*pipeline)->Run({TokenInput{ids, types}, offsets}, {}, &output, &report),
                      kind, words);
  };
  EXPECT_TRUE(refused({0, 13, 18}, ErrorKind::kDamaged, "13 tokens; the plan holds 12"));
  EXPECT_TRUE(refused({0, 6, 12, 18}, ErrorKind::kUsage, "3 sequences; the plan takes 2"));
  ids.resize(25, 2);
  types.resize(25);
  EXPECT_TRUE(refused({0, 12, 25}, ErrorKind::kDamaged, "25 tokens; the plan holds 24"));
}

TEST_F(Passes, UnsoundPassesAreRefusedAndTheNextOneRuns) {
  auto pipeline = Make(Mixed());
  ASSERT_TRUE(Succeeded(pipeline));
  PassOutput output;
  RunReport report;
  const auto refused = [&](const Pass& pass, ErrorKind kind, const char* words) {
    return FailedWith((*pipeline)->Run(pass, {}, &output, &report), kind, words);
  };
  for (const Ids& offsets :
       {Ids{0}, Ids{1, 9}, Ids{0, 8}, Ids{0, 10}, Ids{0, 5, 5, 9}, Ids{0, 6, 5, 9}}) {
    EXPECT_TRUE(refused({TokenInput{kTextIds, kTextTypes}, offsets}, ErrorKind::kUsage, "offsets"));
  }
  const std::vector<float> rows(64 * 40);
  EXPECT_TRUE(refused({HiddenInput{std::span(rows).first(65)}, {}}, ErrorKind::kUsage, "whole"));
  EXPECT_TRUE(refused({HiddenInput{}, {}}, ErrorKind::kDamaged, "without tokens"));
  EXPECT_TRUE(
      refused({HiddenInput{rows}, {}}, ErrorKind::kDamaged, "40 tokens; the plan holds 32"));
  EXPECT_EQ(Values(**pipeline, TextPass()), DirectLogits(path_, Mixed()));
}

TEST_F(Passes, ANamedRouteIsTakenWhateverTheLength) {
  Plan plan = WholeAt(4);
  Plan narrow = Mixed();
  narrow.length = 16;
  Plan slow = WholeAt(6);
  slow.length = 12;
  slow.freq = 1;
  Plan fast = WholeAt(2);
  fast.length = 12;
  fast.freq = 2;
  plan.variants = {narrow, slow, fast};
  auto pipeline = Make(plan);
  ASSERT_TRUE(Succeeded(pipeline));
  RunTerms terms;
  RunResult result;
  const auto logits = [&](std::optional<RouteId> route) {
    terms.route = route;
    EXPECT_TRUE(Succeeded(RunTokens(**pipeline, kTextIds, kTextTypes, terms, &result)));
    return result.values;
  };
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(logits(RouteId{0}), DirectLogits(path_, plan));
    EXPECT_EQ(logits(RouteId{1}), DirectLogits(path_, narrow));
    EXPECT_EQ(logits(RouteId{2}), DirectLogits(path_, slow)) << "which this clock does not take";
    EXPECT_EQ(logits(RouteId{3}), DirectLogits(path_, fast));
    EXPECT_EQ(logits(std::nullopt), DirectLogits(path_, fast)) << "the shortest that holds it";
  }
  terms.route = RouteId{4};
  EXPECT_TRUE(FailedWith(RunTokens(**pipeline, kTextIds, kTextTypes, terms, &result),
                         ErrorKind::kUsage, "no such variant"));
  terms.route = RouteId{1};
  EXPECT_TRUE(FailedWith(RunTokens(**pipeline, Ids(17, 2), Ids(17, 0), terms, &result),
                         ErrorKind::kDamaged, "17 tokens; the plan holds 16"));
}

TEST_F(Passes, WhatTheCallerKeepsStaysAndTheRestGoes) {
  const Plan plan = WithPreload(WholeAt(4), 6);
  auto pipeline = Make(plan);
  ASSERT_TRUE(Succeeded(pipeline));
  const uint64_t as_planned = (*pipeline)->status().preload_bytes;
  const auto expected = DirectLogits(path_, plan);
  RunTerms terms;
  RunResult result;
  const std::vector<ShardAtBits> keep{{3, 2, 4}, {0, 1, 2}};
  terms.keep = keep;
  uint64_t kept_bytes = 0;
  for (const ShardAtBits& shard : keep) kept_bytes += PreloadBuffer::BytesOf(index_, shard);
  for (int run = 0; run < 3; ++run) {
    ASSERT_TRUE(Succeeded(RunTokens(**pipeline, kTextIds, kTextTypes, terms, &result)));
    EXPECT_EQ(result.values, expected);
    EXPECT_EQ((*pipeline)->status().preload_bytes, kept_bytes);
  }
  for (const ScheduledPart& part : (*pipeline)->status().schedule->parts) {
    const ShardRequest& shard = (*pipeline)->status().schedule->requests[part.request];
    EXPECT_FALSE(shard.id.layer == 3 && shard.id.slice == 2) << "it is held, and not read again";
  }
  terms.keep.reset();
  ASSERT_TRUE(Succeeded(RunTokens(**pipeline, kTextIds, kTextTypes, terms, &result)));
  EXPECT_EQ(result.values, expected);
  EXPECT_EQ((*pipeline)->status().preload_bytes, as_planned);
  const std::vector<ShardAtBits> none;
  terms.keep = none;
  ASSERT_TRUE(Succeeded(RunTokens(**pipeline, kTextIds, kTextTypes, terms, &result)));
  EXPECT_EQ((*pipeline)->status().preload_bytes, 0U);
  for (const ShardAtBits& wrong :
       {ShardAtBits{5, 0, 4}, ShardAtBits{0, 4, 4}, ShardAtBits{0, 0, 5}, ShardAtBits{0, 0, 7}}) {
    const std::vector<ShardAtBits> one{wrong};
    terms.keep = one;
    EXPECT_TRUE(FailedWith(RunTokens(**pipeline, kTextIds, kTextTypes, terms, &result),
                           ErrorKind::kUsage, "cannot stay in memory"));
  }
}

}  // namespace
}  // namespace sti
