#include "second_cascade.h"

#include <algorithm>

#include "second_quality.h"

namespace sti::test {
namespace {

/// The opinion on one cascade.
class SecondCascade {
 public:
  SecondCascade(const PlanInput& input, const PlanRequest& request, const Plan& plan,
                SecondNotes* notes)
      : input_(input), request_(request), plan_(plan), notes_(*notes) {
    for (const CascadeLevel& level : plan.cascade->levels) levels_.push_back(&level.plan);
    levels_.push_back(&plan);
    SecondHeld there;
    there.Put(levels_[0]->preload);
    for (const PlanCore* level : levels_) {
      SecondPass pass = PassOf(*level);
      pass.held = there;
      pass.wake_us = level == levels_[0] ? request.wake_us.value_or(0) : 0;
      pass.reads_rows = level == levels_[0];
      there.Put(SecondShardsOf(pass));
      figures_.push_back(SecondTimesOf(input, request, pass, plan.target_us));
    }
  }

  void Hold() {
    Memory();
    Levels();
    Paths();
    Alone();
    Cut();
  }

 private:
  [[nodiscard]] SecondPass PassOf(const PlanCore& level) const {
    SecondPass pass;
    pass.plan = &level;
    pass.bits = &level.bits;
    pass.share = SecondShareOf(input_.importance, plan_.length, plan_.length, plan_.words.size());
    return pass;
  }
  [[nodiscard]] size_t before() const { return levels_.size() - 1; }
  [[nodiscard]] uint64_t WordBytes() const {
    return uint64_t{input_.memory.row_bytes} * plan_.words.size();
  }
  [[nodiscard]] double LabelUs(const SecondRun& run) const {
    return *SecondPlay(run, std::nullopt);
  }

  /// The shards that levels before the last have read stay, beside the preload and the last level's
  /// staging. The plan alone has its own preload in place of that, and runs through the same
  /// staging, which holds its largest layer at least.
  void Memory() {
    uint32_t width = 0;
    uint64_t read = 0;
    for (size_t i = 0; i < levels_.size(); ++i) {
      width = std::max(width, levels_[i]->width);
      if (i < before()) read += figures_[i].read_bytes;
    }
    const uint64_t both = SecondBeforeShards(input_, plan_.length, width) + WordBytes();
    const uint64_t beside = both + SecondBytes(input_.catalog, levels_[0]->preload) + read;
    const uint64_t beside_alone = both + SecondBytes(input_.catalog, plan_.preload);
    const SecondTimes& last = figures_.back();
    const std::vector<SecondRun> runs = {last.median, last.p99};
    staging_ = std::min(last.read_bytes,
                        SecondLeastArena(runs) + SecondLostBytes(input_.profile, last.median));
    const auto bound = [&](uint64_t taken) {
      const auto memory = request_.judging.memory_bytes;
      if (memory) staging_ = std::min(staging_, *memory - std::min(*memory, taken));
    };
    bound(beside);
    staging_ = std::max(staging_, AloneTimes().median.LargestLayerBytes());
    bound(beside_alone);
    notes_.Bytes("staging_bytes", plan_.staging_bytes.value_or(0), staging_);
    notes_.Bytes("predicted_peak_bytes", plan_.predicted_peak_bytes,
                 std::max(beside, beside_alone) + staging_);
  }
  /// Each level's own run, from where it begins.
  void Levels() {
    for (size_t i = 0; i < before(); ++i) {
      const PlanCore& level = *levels_[i];
      const SecondTimes& figures = figures_[i];
      const std::string name = "cascade.levels[" + std::to_string(i) + "].";
      const uint64_t words = i == 0 ? WordBytes() : 0;
      notes_.That(name + "preload of a later level", i == 0 || level.preload.empty());
      notes_.Bytes(name + "preload_bytes", level.preload_bytes,
                   SecondBytes(input_.catalog, level.preload) + words);
      notes_.Bytes(name + "parameter_bytes", level.parameter_bytes,
                   SecondBytes(input_.catalog, SecondShardsOf(PassOf(level))));
      if (i == 0) {
        notes_.Bytes(name + "bytes of shards that are read", StreamedBytes(level, words),
                     figures.read_bytes);
      }
      Quality(name, level);
      notes_.Bytes(name + "upgrade_bytes", plan_.cascade->levels[i].upgrade_bytes,
                   figures_[i + 1].read_bytes);
      notes_.Time(name + "predicted_latency_us", level.predicted_latency_us,
                  LabelUs(figures.median));
      notes_.Time(name + "predicted_p99_us", level.predicted_p99_us, LabelUs(figures.p99));
      notes_.Times(name + "aib_us", level.aib_us, figures.aib_us);
      notes_.Time(name + "slack_us", level.slack_us.value_or(0), figures.slack_us);
      if (!level.times) return notes_.That(name + "times are missing", false);
      PlanTimes times = figures.times;
      times.stall_us = LabelUs(figures.median) - figures.median.ComputeUs();
      HoldTimes(name + "times.", *level.times, times, level, &notes_);
    }
  }
  /// A path takes the sum of its levels; the mean weighs paths by the shares that return.
  void Paths() {
    const PlanCascade& cascade = *plan_.cascade;
    std::vector<double> paths_us;
    double path_us = 0;
    double worst_us = 0;
    double mean_us = 0;
    double left = 1;
    for (size_t i = 0; i < levels_.size(); ++i) {
      const auto room = i < before() ? std::optional<uint64_t>() : staging_;
      path_us += SecondPlay(figures_[i].median, room).value_or(0);
      worst_us += SecondPlay(figures_[i].p99, room).value_or(0);
      const double share = i < before() ? cascade.return_share[i] : left;
      left -= share;
      mean_us += share * path_us;
      paths_us.push_back(path_us);
    }
    notes_.Times("cascade.path_us", cascade.path_us, paths_us);
    notes_.Time("cascade.worst_path_us", cascade.worst_path_us, worst_us);
    notes_.Time("cascade.mean_us", cascade.mean_us, mean_us);
  }
  [[nodiscard]] SecondTimes AloneTimes() const {
    SecondPass pass = PassOf(plan_);
    pass.held.Put(plan_.preload);
    pass.wake_us = request_.wake_us.value_or(0);
    return SecondTimesOf(input_, request_, pass, plan_.target_us);
  }
  /// The plan itself, as it runs without its cascade.
  void Alone() {
    const SecondTimes figures = AloneTimes();
    Quality("", plan_);
    const double median_us = SecondPlay(figures.median, staging_).value_or(0);
    notes_.Time("predicted_latency_us", plan_.predicted_latency_us, median_us);
    notes_.Time("predicted_p99_us", plan_.predicted_p99_us,
                SecondPlay(figures.p99, staging_).value_or(0));
    notes_.Times("aib_us", plan_.aib_us, figures.aib_us);
    notes_.Time("slack_us", plan_.slack_us.value_or(0), figures.slack_us);
    if (!plan_.times) return notes_.That("times are missing", false);
    PlanTimes times = figures.times;
    times.stall_us = median_us - figures.median.ComputeUs();
    HoldTimes("times.", *plan_.times, times, plan_, &notes_);
  }
  /// Where A(n, m) is not known, the accuracy is that of the measured cascade level.
  void Quality(const std::string& name, const PlanCore& level) {
    PredictedQuality quality = SecondQualityOf(input_, level, level.bits);
    for (const CascadeLevelScore& score : input_.importance->cascade_levels) {
      if (!quality.accuracy && IsLevel(score, level)) quality.accuracy = score.accuracy;
    }
    HoldQuality(name, level.quality, quality, &notes_);
  }
  static bool IsLevel(const CascadeLevelScore& score, const PlanCore& level) {
    return score.depth == level.layers.size() && score.width == level.width &&
           std::ranges::all_of(level.bits.values(),
                               [&](uint32_t bits) { return bits == score.bits; });
  }
  /// Rules, shares and accuracy are those of one cut of the importance file.
  void Cut() {
    bool found = false;
    for (const CascadeScore& score : input_.importance->cascades) {
      for (const CascadeCut& cut : score.cuts) found = found || Is(score, cut);
    }
    notes_.That("the cascade is no measured one", found);
  }
  [[nodiscard]] bool Is(const CascadeScore& score, const CascadeCut& cut) const {
    if (score.levels.size() != levels_.size()) return false;
    const PlanCascade& cascade = *plan_.cascade;
    for (size_t i = 0; i < levels_.size(); ++i) {
      const CascadeLevelScore& level = input_.importance->cascade_levels[score.levels[i]];
      if (!IsLevel(level, *levels_[i])) return false;
      if (i == before()) return cascade.temperature == level.temperature && IsOf(cut);
      const CascadeLevel& planned = cascade.levels[i];
      const CascadeRule rule{cut.cutoff, cut.slope, score.alpha, cut.weights[i]};
      if (planned.temperature != level.temperature || !(planned.rule == rule)) return false;
      if (cascade.return_share[i] != cut.shares[i]) return false;
    }
    return false;
  }
  [[nodiscard]] bool IsOf(const CascadeCut& cut) const {
    return plan_.cascade->quality.accuracy == cut.accuracy;
  }

  const PlanInput& input_;
  const PlanRequest& request_;
  const Plan& plan_;
  SecondNotes& notes_;
  std::vector<const PlanCore*> levels_;
  std::vector<SecondTimes> figures_;
  uint64_t staging_ = 0;
};

}  // namespace

void HoldCascade(const PlanInput& input, const PlanRequest& request, const Plan& plan,
                 SecondNotes* notes) {
  SecondCascade(input, request, plan, notes).Hold();
}

void HoldTimes(const std::string& name, const PlanTimes& got, const PlanTimes& wanted,
               const PlanCore& plan, SecondNotes* notes) {
  notes->Time(name + "start_us", got.start_us, wanted.start_us);
  notes->Time(name + "open_io_us", got.open_io_us, wanted.open_io_us);
  notes->Time(name + "embed_io_us", got.embed_io_us, wanted.embed_io_us);
  notes->Time(name + "embed_us", got.embed_us, wanted.embed_us);
  notes->Time(name + "head_us", got.head_us, wanted.head_us);
  notes->Time(name + "stall_us", got.stall_us, wanted.stall_us);
  notes->Times(name + "layer_io_us", got.layer_io_us, wanted.layer_io_us);
  // "Both 0: as any other layer; only the p99 0: the median".
  const bool last_is_other = !got.last_layer_us && !got.last_layer_p99_us;
  const double last_us = last_is_other ? got.layer_us : got.last_layer_us.value_or(0);
  const double last_p99_us =
      last_is_other ? got.layer_p99_us : got.last_layer_p99_us.value_or(last_us);
  notes->Time(name + "last_layer_us", last_us, *wanted.last_layer_us);
  notes->Time(name + "last_layer_p99_us", last_p99_us, *wanted.last_layer_p99_us);
  if (plan.layers.size() == 1) return;  // there is no other layer
  notes->Time(name + "layer_us", got.layer_us, wanted.layer_us);
  notes->Time(name + "layer_p99_us", got.layer_p99_us, wanted.layer_p99_us);
}

}  // namespace sti::test
