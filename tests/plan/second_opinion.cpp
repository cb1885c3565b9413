#include "second_opinion.h"

#include <algorithm>
#include <set>

#include "second_cascade.h"
#include "second_figures.h"
#include "second_quality.h"

namespace sti::test {
namespace {

/// The opinion on one plan, with its variants and turns.
class SecondOpinion {
 public:
  SecondOpinion(const PlanInput& input, const PlanRequest& request, const Plan& plan)
      : input_(input), request_(request), plan_(plan), longest_(plan.length) {
    for (const PlanCore& variant : plan.variants) longest_ = std::max(longest_, variant.length);
    buffer_.Put(plan.preload);
    if (plan.fallback) PutFallback(*plan.fallback);
    for (const PlanCore& variant : plan.variants) {
      if (variant.fallback) PutFallback(*variant.fallback);
    }
  }

  std::vector<std::string> Differences() {
    Preload();
    Words();
    Echoes("", plan_);
    for (const auto& [name, one] : Routes()) {
      Quantities(name, *one);
      if (one->fallback) FallbackTimes(name, *one);
    }
    if (plan_.cascade) {
      HoldCascade(input_, request_, plan_, &notes_);
      return notes_.lines();
    }
    const uint64_t arena = Staging();
    for (const auto& [name, one] : Routes()) RunFigures(name, *one, arena);
    TurnFigures(arena);
    Peak(arena);
    CostBits();
    return notes_.lines();
  }

 private:
  std::vector<std::pair<std::string, const PlanCore*>> Routes() const {
    std::vector<std::pair<std::string, const PlanCore*>> routes = {{"", &plan_}};
    for (size_t i = 0; i < plan_.variants.size(); ++i)
      routes.emplace_back("variants[" + std::to_string(i) + "].", &plan_.variants[i]);
    return routes;
  }
  void PutFallback(const Fallback& fallback) {
    for (const uint32_t layer : fallback.layers) {
      for (uint32_t slice = 0; slice < fallback.width; ++slice)
        buffer_.Put({{layer, slice}, fallback.bits});
    }
  }
  [[nodiscard]] uint64_t WordBytes() const {
    return uint64_t{input_.memory.row_bytes} * plan_.words.size();
  }
  [[nodiscard]] SecondPass PassOf(const PlanCore& one, const PlanTurn* turn = nullptr) const {
    SecondPass pass;
    pass.plan = &one;
    pass.bits = turn == nullptr ? &one.bits : &turn->bits;
    if (one.strategy == Strategy::kPreload) {
      pass.held.Put(SecondShardsOf(pass));
    } else if (turn != nullptr) {
      pass.held.Put(turn->preload);
    } else {
      pass.held = buffer_;
    }
    pass.wake_us = request_.wake_us.value_or(0);
    if (!one.cold)
      pass.share = SecondShareOf(input_.importance, one.length, longest_, plan_.words.size());
    return pass;
  }
  [[nodiscard]] SecondTimes TimesOf(const PlanCore& one, const PlanTurn* turn = nullptr) const {
    return SecondTimesOf(input_, request_, PassOf(one, turn), one.target_us);
  }

  void Preload() {
    const std::vector<ShardAtBits> all = SecondShardsOf(PassOf(plan_));
    notes_.That("preload is more than the plan runs", plan_.preload.size() <= all.size());
    notes_.Shards("preload", plan_.preload,
                  {all.begin(), all.begin() + static_cast<ptrdiff_t>(
                                                  std::min(all.size(), plan_.preload.size()))});
    for (const auto& [name, one] : Routes()) {
      if (one == &plan_) continue;
      std::vector<ShardAtBits> runs;
      const std::vector<ShardAtBits> shards = SecondShardsOf(PassOf(*one));
      for (const ShardAtBits& shard : shards) {
        if (std::ranges::find(plan_.preload, shard) != plan_.preload.end()) runs.push_back(shard);
        const bool other = std::ranges::any_of(plan_.preload, [&](const ShardAtBits& held) {
          return held.id == shard.id && held.bits != shard.bits;
        });
        notes_.That(name + "preload has a shard at other bits", !other);
      }
      notes_.Shards(name + "preload", one->preload, runs);
    }
  }
  /// The most frequent words, as many as there are.
  void Words() {
    std::vector<uint32_t> frequent(input_.common_words.begin(), input_.common_words.end());
    if (input_.importance != nullptr && !input_.importance->word_use.reads.empty())
      frequent = input_.importance->word_use.words;
    notes_.That("words nobody counted", plan_.words.size() <= frequent.size());
    frequent.resize(std::min(frequent.size(), plan_.words.size()));
    std::ranges::sort(frequent);
    notes_.That("words that are not the most frequent", plan_.words == frequent);
  }
  void Echoes(const std::string& name, const PlanCore& one) {
    notes_.Time(name + "wake_us", one.wake_us.value_or(0), request_.wake_us.value_or(0));
    notes_.Bytes(name + "threads", one.threads.value_or(0), input_.profile.threads);
    notes_.Bytes(name + "read_bytes", one.read_bytes.value_or(0), input_.profile.read_bytes);
    notes_.Bytes(name + "read_depth", one.read_depth.value_or(0), input_.profile.read_depth);
  }
  void Quantities(const std::string& name, const PlanCore& one) {
    const uint64_t words = &one == &plan_ ? WordBytes() : 0;
    notes_.Bytes(name + "preload_bytes", one.preload_bytes,
                 SecondBytes(input_.catalog, one.preload) + words);
    notes_.Bytes(name + "parameter_bytes", one.parameter_bytes,
                 SecondBytes(input_.catalog, SecondShardsOf(PassOf(one))));
    const SecondShare share = PassOf(one).share;
    if (!plan_.cascade)
      HoldQuality(name, one.quality, SecondQualityOf(input_, one, one.bits), &notes_);
    notes_.Time(name + "row_share", one.row_share, share.median);
    notes_.Time(name + "row_p99_share", one.row_p99_share, share.p99);
  }

  /// Returns the need of one route: the least arena that delays nothing, and what a ring loses.
  [[nodiscard]] uint64_t StagingOf(const SecondTimes& times) const {
    const std::vector<SecondRun> runs = {times.median, times.p99};
    const uint64_t least = SecondLeastArena(runs);
    return std::min(times.median.AllBytes(), least + SecondLostBytes(input_.profile, times.median));
  }
  /// Enough for all of them, or what the memory leaves.
  uint64_t Staging() {
    uint64_t staging = 0;
    for (const auto& [name, one] : Routes()) {
      const uint64_t own = StagingOf(TimesOf(*one));
      if (one != &plan_)
        notes_.Bytes(name + "staging_bytes", one->staging_bytes.value_or(0), Bounded(own));
      staging = std::max(staging, own);
    }
    for (const PlanTurn& turn : plan_.turns)
      staging = std::max(staging, StagingOf(TimesOf(plan_, &turn)));
    staging = Bounded(staging);
    notes_.Bytes("staging_bytes", plan_.staging_bytes.value_or(0), staging);
    return staging;
  }
  [[nodiscard]] uint64_t Bounded(uint64_t staging) const {
    if (!request_.judging.memory_bytes) return staging;
    const uint64_t taken = BeforeStaging();
    const uint64_t left =
        *request_.judging.memory_bytes - std::min(taken, *request_.judging.memory_bytes);
    return std::min(staging, left);
  }

  void RunFigures(const std::string& name, const PlanCore& one, uint64_t arena) {
    const SecondTimes figures = TimesOf(one);
    const std::optional<double> median_us = SecondPlay(figures.median, arena);
    const std::optional<double> p99_us = SecondPlay(figures.p99, arena);
    if (!median_us || !p99_us) return notes_.That(name + "staging holds no layer", false);
    if (!one.fallback && !one.cold) {
      notes_.Bytes(name + "bytes of shards that are read",
                   StreamedBytes(one, &one == &plan_ ? WordBytes() : 0), figures.read_bytes);
    }
    notes_.Time(name + "predicted_latency_us", one.predicted_latency_us, *median_us);
    notes_.Time(name + "predicted_p99_us", one.predicted_p99_us, *p99_us);
    const bool keeps_budgets = DelayModelFor(one.strategy) == DelayModel::kBudgets ||
                               DelayModelFor(one.strategy) == DelayModel::kPipeline;
    if (keeps_budgets) notes_.Times(name + "aib_us", one.aib_us, figures.aib_us);
    notes_.That(name + "slack_us has no target",
                one.slack_us.has_value() == one.target_us.has_value());
    if (one.slack_us) notes_.Time(name + "slack_us", *one.slack_us, figures.slack_us);
    if (one.target_us) {
      const double deciding_us = request_.judging.risk == Risk::kMedian ? *median_us : *p99_us;
      const bool in_time = deciding_us <= *one.target_us + 1e-3 && KeepsBudgets(one, figures);
      const bool may_miss =
          one.strategy == Strategy::kStiPaper || one.strategy == Strategy::kRandom;
      notes_.That(name + "misses its target", one.meets_target || may_miss);
      notes_.That(name + "meets_target", one.meets_target == in_time);
    }
    if (!one.times) return notes_.That(name + "times are missing", false);
    PlanTimes times = figures.times;
    times.stall_us = *median_us - figures.median.ComputeUs() - figures.median.start_us;
    HoldTimes(name + "times.", *one.times, times, one, &notes_);
  }

  /// "In time if, with preloaded shards left out on both sides, none is negative".
  [[nodiscard]] bool KeepsBudgets(const PlanCore& one, const SecondTimes& figures) const {
    if (DelayModelFor(one.strategy) != DelayModel::kBudgets) return true;
    return std::ranges::all_of(figures.streamed_aib_us, [](double us) { return us >= -1e-3; });
  }

  void TurnFigures(uint64_t arena) {
    const PlanRequest::Turns* asked = request_.turns();
    notes_.Bytes("turns, as many,", plan_.turns.size(), asked != nullptr ? asked->count : 0);
    if (asked == nullptr || plan_.turns.empty()) return;
    const uint64_t buffer = asked->bytes.value_or(request_.preload_bytes);
    notes_.Bytes("turn_bytes", plan_.turn_bytes.value_or(0), buffer);
    for (size_t t = 0; t < plan_.turns.size(); ++t) {
      const PlanTurn& turn = plan_.turns[t];
      const std::string name = "turns[" + std::to_string(t) + "].";
      std::vector<ShardAtBits> kept = t == 0 ? plan_.preload : KeptOf(t - 1);
      // Bounded memory may leave less, so that there is room for the largest layer that is read.
      if (request_.judging.memory_bytes) kept.resize(std::min(kept.size(), turn.preload.size()));
      notes_.Shards(name + "preload", turn.preload, kept);
      notes_.Bytes(name + "preload_bytes", turn.preload_bytes,
                   SecondBytes(input_.catalog, turn.preload));
      const SecondTimes figures = TimesOf(plan_, &turn);
      notes_.Bytes(name + "read_bytes", turn.read_bytes, figures.read_bytes);
      notes_.Times(name + "aib_us", turn.aib_us, figures.aib_us);
      const std::optional<double> median_us = SecondPlay(figures.median, arena);
      const std::optional<double> p99_us = SecondPlay(figures.p99, arena);
      if (!median_us || !p99_us) return notes_.That(name + "staging holds no layer", false);
      notes_.Time(name + "predicted_latency_us", turn.predicted_latency_us, *median_us);
      notes_.Time(name + "predicted_p99_us", turn.predicted_p99_us, *p99_us);
      HoldQuality(name, turn.quality, SecondQualityOf(input_, plan_, turn.bits), &notes_);
    }
    notes_.That("turns[0].bits", plan_.turns[0].bits == plan_.bits);
  }
  /// The longest prefix of a turn's shards that fits the buffer between turns.
  [[nodiscard]] std::vector<ShardAtBits> KeptOf(size_t t) const {
    std::vector<ShardAtBits> kept;
    for (const ShardAtBits& shard : SecondShardsOf(PassOf(plan_, &plan_.turns[t]))) {
      kept.push_back(shard);
      if (SecondBytes(input_.catalog, kept) <= plan_.turn_bytes.value_or(0)) continue;
      kept.pop_back();
      break;
    }
    return kept;
  }
  /// Returns the bytes that a later turn reads of shards that it holds or keeps, beside the buffer
  /// between turns.
  [[nodiscard]] uint64_t BesideTurnBuffer() const {
    uint64_t most = 0;
    for (size_t t = 1; t < plan_.turns.size(); ++t) {
      SecondHeld there;
      there.Put(plan_.turns[t].preload);
      if (t + 1 < plan_.turns.size()) there.Put(plan_.turns[t + 1].preload);
      SecondHeld held;
      held.Put(plan_.turns[t].preload);
      uint64_t bytes = 0;
      for (const ShardAtBits& shard : SecondShardsOf(PassOf(plan_, &plan_.turns[t]))) {
        if (there.Has(shard.id))
          bytes += SecondMissing(input_.catalog, shard.id, held.BitsOf(shard.id, shard.bits),
                                 shard.bits);
      }
      most = std::max(most, bytes);
    }
    return most;
  }

  /// Returns the bytes of fallbacks beside the preload, rows of special words and positions
  /// included.
  [[nodiscard]] uint64_t FallbackBytes() const {
    if (!plan_.fallback) return 0;
    std::vector<const Fallback*> fallbacks;
    for (const auto& [name, one] : Routes()) fallbacks.push_back(&*one->fallback);
    return BesidePreload(plan_, fallbacks) + input_.memory.fallback_rows(longest_);
  }
  /// The shards of fallbacks that the preload of a plan or variant has not, each once.
  [[nodiscard]] uint64_t BesidePreload(const PlanCore& one,
                                       const std::vector<const Fallback*>& fallbacks) const {
    std::set<ShardId> known;
    for (const ShardAtBits& shard : one.preload) {
      // Planes serve a fallback of fewer bits, and full fidelity one of full fidelity alone.
      if ((shard.bits == 32) == (fallbacks.front()->bits == 32)) known.insert(shard.id);
    }
    std::vector<ShardAtBits> beside;
    for (const Fallback* fallback : fallbacks) {
      for (const uint32_t layer : fallback->layers) {
        for (uint32_t slice = 0; slice < fallback->width; ++slice) {
          if (known.insert({layer, slice}).second)
            beside.push_back({{layer, slice}, fallback->bits});
        }
      }
    }
    return SecondBytes(input_.catalog, beside);
  }
  [[nodiscard]] uint64_t BeforeStaging() const {
    uint32_t width = plan_.width;
    for (const auto& [name, one] : Routes()) {
      width = std::max(width, one->width);
      if (one->fallback) width = std::max(width, one->fallback->width);
    }
    const uint64_t before = SecondBeforeShards(input_, longest_, width);
    if (!plan_.turns.empty()) return before + plan_.turn_bytes.value_or(0) + BesideTurnBuffer();
    return before + SecondBytes(input_.catalog, plan_.preload) + WordBytes() + FallbackBytes();
  }
  void Peak(uint64_t arena) {
    notes_.Bytes("predicted_peak_bytes", plan_.predicted_peak_bytes, BeforeStaging() + arena);
    for (const auto& [name, one] : Routes()) {
      if (one == &plan_) continue;  // a variant, as if it were the only plan
      uint32_t width = one->width;
      if (one->fallback) width = std::max(width, one->fallback->width);
      const uint64_t alone = SecondBeforeShards(input_, one->length, width) + one->preload_bytes +
                             (one->fallback ? one->fallback->bytes : 0) +
                             one->staging_bytes.value_or(0);
      notes_.Bytes(name + "predicted_peak_bytes", one->predicted_peak_bytes, alone);
    }
    if (plan_.turns.empty() && DelayModelFor(plan_.strategy) == DelayModel::kBudgets) {
      notes_.That("the buffer holds more than it may",
                  plan_.preload_bytes + FallbackBytes() <= request_.preload_bytes);
    }
    if (request_.judging.memory_bytes)
      notes_.That("the peak is beyond the memory",
                  plan_.predicted_peak_bytes <= *request_.judging.memory_bytes);
  }

  void FallbackTimes(const std::string& name, const PlanCore& one) {
    const Fallback& fallback = *one.fallback;
    const SecondDevice device(input_.profile, one.length, one.freq.value_or(0), Risk::kP99,
                              one.target_us.value_or(0), {});
    const double extra_us = fallback.width * device.ExtraUs(fallback.bits);
    notes_.Time(name + "fallback.embed_us", fallback.embed_us, device.EmbedUs());
    notes_.Time(name + "fallback.head_us", fallback.head_us, device.HeadUs());
    notes_.Time(name + "fallback.layer_us", fallback.layer_us,
                device.LayerUs(fallback.width, false) + extra_us);
    notes_.Time(name + "fallback.last_layer_us", fallback.last_layer_us,
                device.LayerUs(fallback.width, true) + extra_us);
    notes_.Time(name + "fallback.margin_us", fallback.margin_us,
                std::max(1000.0, 0.03 * one.target_us.value_or(0)));
    if (&one == &plan_) {
      notes_.Bytes("fallback.bytes", fallback.bytes, FallbackBytes());
      return;
    }
    notes_.Bytes(name + "fallback.bytes", fallback.bytes,
                 BesidePreload(one, {&fallback}) + input_.memory.fallback_rows(one.length));
  }
  /// Bits of all shards that the plan without the guarantee has more, variant by variant.
  void CostBits() {
    if (!plan_.fallback) return;
    PlanRequest without = request_;
    without.mode = PlanRequest::Warm{};
    const Result<Plan> free = MakePlan(input_, without);
    if (!free.ok()) return notes_.That("no plan without the guarantee", false);
    const auto bits_of = [](const PlanCore& plan) {
      double bits = 0;
      for (const uint32_t one : plan.bits.values()) bits += one;
      return bits;
    };
    notes_.Time("fallback.cost_bits", plan_.fallback->cost_bits, bits_of(*free) - bits_of(plan_));
    for (const auto& [name, one] : Routes()) {
      for (const PlanCore& other : free->variants) {
        if (other.length != one->length || other.freq != one->freq || one == &plan_) continue;
        notes_.Time(name + "fallback.cost_bits", one->fallback->cost_bits,
                    bits_of(other) - bits_of(*one));
      }
    }
  }

  const PlanInput& input_;
  const PlanRequest& request_;
  const Plan& plan_;
  uint32_t longest_;
  SecondHeld buffer_;
  SecondNotes notes_;
};

}  // namespace

std::vector<std::string> FiguresThatDiffer(const PlanInput& input, const PlanRequest& request,
                                           const Plan& plan) {
  return SecondOpinion(input, request, plan).Differences();
}

}  // namespace sti::test
