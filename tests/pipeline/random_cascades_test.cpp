// Whatever an app does between the inputs of a cascade, each level gives the bits of its model
// computed directly, the rules alone decide which one answers, and no part is read twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "cascade_world.h"
#include "random_app.h"

namespace sti {
namespace {

class RandomCascades : public RandomApp<CascadeWorld> {
 protected:
  RandomCascades() : RandomApp(2025) {}

  static constexpr size_t kSequences = 1000;
  static constexpr size_t kSequencesAPipeline = 25;
  static constexpr double kLong_us = 600e6;  // longer than any test

  void SetUp() override {
    CascadeWorld::SetUp();
    TakeContainer();
    for (int i = 0; i < 16; ++i) plans_.push_back(AnyCascade());
  }

  std::vector<uint32_t> AnyOf(uint32_t count, uint32_t least) {
    std::vector<uint32_t> all(count);
    std::iota(all.begin(), all.end(), 0);
    for (uint32_t i = count - 1; i > 0; --i) std::swap(all[i], all[Below(i + 1)]);
    all.resize(least + Below(count - least + 1));
    return all;
  }
  /// Any layers, any slices of each, at any bits, with times, so that it can be degraded.
  Plan AnySubmodel(uint32_t least_depth) {
    const ModelShape& shape = index_.info.shape;
    std::vector<uint32_t> layers = AnyOf(shape.layers, least_depth);
    std::ranges::sort(layers);
    const uint32_t width = 1 + Below(shape.width);
    Plan plan = Uniform(layers, width, 2);
    for (uint32_t k = 0; k < layers.size(); ++k)
      std::ranges::copy_n(AnyOf(shape.width, width).begin(), width, plan.slices.Row(k).begin());
    for (uint32_t& bits : plan.bits.values()) bits = AnyBits();
    return Timed(plan, 20, 5);
  }
  /// A rule whose cut-off lies at, below or above the confidence that the level has in the text.
  CascadeRule AnyRule(const Plan& level, double temperature) {
    constexpr std::array kNear = {0.0, 0.9, 1.0, 1.1, 10.0};
    CascadeRule rule;
    rule.cutoff =
        std::min(1.0, Confidence(Expected(level), temperature) * kNear[Below(kNear.size())]);
    if (Below(3) == 0) rule.slope = 2;
    if (Below(2) == 0) rule.ensemble_weight = 0.6;
    return rule;
  }
  /// A cascade of two or three levels, of which the first holds some shards.
  Plan AnyCascade() {
    Plan plan = AnySubmodel(3);
    plan.cascade.emplace();
    const uint32_t before = 1 + Below(kMaxCascadeLevels - 1);
    for (uint32_t i = 0; i < before; ++i) {
      Plan level = AnySubmodel(1);
      const double temperature = 0.5 + 0.25 * Below(6);
      const CascadeRule rule = AnyRule(level, temperature);
      if (i == 0) level = WithPreload(level, Below(7));
      plan.cascade->levels.push_back({.plan = level, .temperature = temperature, .rule = rule});
      plan.cascade->return_share.push_back(0);
    }
    return plan;
  }

  void Open() {
    auto reader = AnyReader();
    PipelineOptions options;
    options.lazy = Below(4) == 0;
    options.threads = 1 + Below(2);
    ASSERT_NO_FATAL_FAILURE(OpenOver(std::move(reader), plans_[Below(plans_.size())], options));
    limit_.reset();
  }
  [[nodiscard]] const Plan& plan() const { return pipeline_->plan(); }
  [[nodiscard]] const std::vector<ShardAtBits>& held() const {
    return plan().cascade->levels[0].plan.preload;
  }

  /// The logits of the text under a submodel, computed once for all that have the same shards.
  const std::vector<float>& Expected(const PlanCore& submodel) {
    std::vector<uint32_t> key = submodel.layers;
    key.push_back(submodel.width);
    for (const auto* grid : {&submodel.slices, &submodel.bits})
      key.insert(key.end(), grid->values().begin(), grid->values().end());
    auto [found, is_new] = expected_.try_emplace(std::move(key));
    if (is_new) found->second = direct_->Logits(submodel, kTextIds, kTextTypes);
    return found->second;
  }

  void Answer(std::optional<double> degrade_for_us = {}) {
    const uint64_t seed = Below(5);
    RunTerms terms;
    terms.degrade_for_us = degrade_for_us;
    const bool is_known = !limit_ && pipeline_->status().lane == LaneState::kIdle &&
                          pipeline_->status().preload_bytes == BytesOf(held());
    const Status status = RunCascade(*pipeline_, Text(), terms, seed, &result_, &report_);
    ExpectSoundOr(status);
    if (status.ok()) ExpectAnswer(seed, degrade_for_us.has_value(), is_known);
    ExpectHeld(status.ok() && !degrade_for_us);
  }

  void ExpectAnswer(uint64_t seed, bool may_degrade, bool held_is_known) {
    ++answered_[report_.level - 1];
    bool is_whole = result_.degraded.empty();
    double ended_us = 0;  // a level begins when the one before it has ended
    for (uint32_t level = 0; level < report_.level; ++level) {
      const RunResult& run = RunOf(level);
      const bool last = level + 1 == report_.level;
      const double began_us = last ? report_.began_us : report_.before()[level].began_us;
      EXPECT_GE(began_us + 1e-3, ended_us);
      ended_us = began_us + run.latency_us;
      is_whole = is_whole && run.degraded.empty();
      EXPECT_EQ(run.values, Expected(Degraded(LevelAlone(plan(), level), run.degraded)));
    }
    EXPECT_EQ(report_.returned == Returned::kFinal, report_.level == CascadeLevelsOf(plan()));
    if (!is_whole) ++degraded_;
    if (!is_whole || report_.returned == Returned::kDeadline) {
      EXPECT_TRUE(may_degrade);
      return;
    }
    EXPECT_EQ(report_.level, ExpectedLevel(seed));
    EXPECT_EQ(report_.together, ExpectedTogether());
    ExpectReads(held_is_known && healthy_);
  }
  [[nodiscard]] const RunResult& RunOf(uint32_t level) const {
    return level + 1 == report_.level ? result_ : report_.before()[level].run;
  }
  /// The level, from 1, that answers the text by the rules.
  uint32_t ExpectedLevel(uint64_t seed) {
    uint32_t level = 1;
    for (const CascadeLevel& one : plan().cascade->levels) {
      const double confidence = Confidence(Expected(one.plan), one.temperature);
      if (!GoesOn(confidence, one.rule, kTextIds, seed + level - 1)) break;
      ++level;
    }
    return level;
  }
  /// The probabilities of the level that answers and the one before it together.
  std::vector<float> ExpectedTogether() {
    if (report_.level == 1) return {};
    const auto& levels = plan().cascade->levels;
    const CascadeLevel& before = levels[report_.level - 2];
    if (before.rule.ensemble_weight == 1) return {};
    const double temperature = report_.level > levels.size()
                                   ? plan().cascade->temperature
                                   : levels[report_.level - 1].temperature;
    std::vector<float> together(result_.values.size());
    Ensemble(Expected(before.plan), before.temperature, result_.values, temperature,
             before.rule.ensemble_weight, together);
    return together;
  }

  /// No part is read twice; where it is known what is held, just what is missing is.
  void ExpectReads(bool held_is_known) {
    const Parts read = PartsRead(report_, (*pipeline_->status().schedule));
    Parts wanted = PartsOfLevels(plan(), report_.level);
    for (const auto& [part, times] : read) {
      EXPECT_EQ(times, 1) << NameOf(part.first);
      EXPECT_TRUE(wanted.contains(part)) << NameOf(part.first);
    }
    if (!held_is_known) return;
    Remove(held(), &wanted);
    EXPECT_EQ(read, wanted);
    ++counted_;
  }

  /// Between inputs the buffer has what the first level preloads, once a run went well; never more
  /// but what reads bring that are still under way.
  void ExpectHeld(bool all) {
    if (pipeline_->status().lane == LaneState::kTrailing) return;
    EXPECT_LE(pipeline_->status().preload_bytes, limit_.value_or(BytesOf(held())));
    if (all && !limit_) {
      EXPECT_EQ(pipeline_->status().preload_bytes, BytesOf(held()));
    }
  }

  void Resize() {
    const bool unbounded = Below(2) == 0;
    const auto limit = unbounded ? std::optional<uint64_t>() : Below(30) * kBlockBytes;
    const Status status = pipeline_->ResizePreload(limit);
    ExpectSoundOr(status);
    if (status.ok()) limit_ = limit;
  }
  void SetPlan() { ExpectSoundOr(pipeline_->SetPlan(plans_[Below(plans_.size())])); }

  /// One step of an app, by chance.
  void Step() {
    switch (Below(9)) {
      case 0:
        return ExpectSoundOr(pipeline_->Wake(Below(2) == 0));
      case 1:
        return Resize();
      case 2:
        return SetPlan();
      case 3:
      case 4:
        return InjectFault(12);
      case 5:
        return ExpectSoundOr(pipeline_->Rest());
      case 6:
        return Answer(static_cast<double>(Below(600)));
      case 7:
        return Answer(kLong_us);
      default:
        return Answer();
    }
  }

  std::map<std::vector<uint32_t>, std::vector<float>> expected_;
  CascadeReport report_;
  std::optional<uint64_t> limit_;                     ///< of the preload buffer
  std::array<size_t, kMaxCascadeLevels> answered_{};  ///< inputs, by level
  size_t degraded_ = 0;
  size_t counted_ = 0;  ///< inputs whose reads are exactly those that were missing
};

TEST_F(RandomCascades, EachLevelGivesTheBitsOfItsModelAndNoPartIsReadTwice) {
  for (size_t sequence = 0; sequence < kSequences; ++sequence) {
    if (sequence % kSequencesAPipeline == 0) Open();
    for (size_t step = 0; step < 4; ++step) Step();
    Heal();
    Answer();
    ASSERT_FALSE(HasFailure()) << "in sequence " << sequence;
  }
  for (const size_t answered : answered_) EXPECT_GT(answered, kSequences / 20);
  EXPECT_GT(degraded_, kSequences / 20);
  EXPECT_GT(counted_, kSequences / 4);
  EXPECT_GT(failed_, kSequences / 20);
}

}  // namespace
}  // namespace sti
