// Whatever an app does between its inputs, an answer has the bits of the model computed directly,
// an error is one that the device gave, and what is held and read is what a reference says.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>

#include "model/embedding_rows.h"
#include "random_app.h"
#include "reference_buffer.h"
#include "schedule/load_schedule.h"

namespace sti {
namespace {

constexpr size_t kSequences = 10000;
constexpr size_t kSequencesAPipeline = 25;

struct Input {
  Ids ids;
  Ids types;
};

class RandomSequences : public RandomApp<PipelineTest> {
 protected:
  RandomSequences() : RandomApp(2024) {}

  void SetUp() override {
    TinyModelOptions model;
    model.layers = 3;
    model.hidden = 64;
    model.ffn = 256;  // so that some blocks hold refinements alone
    auto report = WriteTinyContainer(path_, model);
    ASSERT_TRUE(Succeeded(report));
    index_ = report->index;
    TakeContainer();
    inputs_ = {{{2, 5, 7, 9, 11, 14, 16, 32, 3}, {0, 0, 0, 0, 0, 1, 1, 1, 1}},
               {{2, 8, 3}, {0, 0, 0}},
               {{2, 20, 21, 22, 3}, {0, 0, 1, 1, 1}}};
    MakePlans();
  }

  /// Plans with and without turns, variants and preload; all can be degraded.
  void MakePlans() {
    for (int i = 0; i < 12; ++i) {
      Plan plan = WholeAt(2);
      for (uint32_t& bits : plan.bits.values()) bits = AnyBits();
      if (i % 3 == 1) plan.strategy = Strategy::kLoadExec;
      plan = WithPreload(plan, random_.Below(7));
      if (i % 2 == 1) plan = WithTurns(plan, 3, random_);
      if (i % 4 < 2) {
        Plan variant = Timed(WholeAt(AnyBits()), 50, 5);
        variant.length = 4;
        for (const ShardAtBits& shard : plan.preload) {
          if (i % 4 == 0) variant.bits.At(shard.id.layer, shard.id.slice) = shard.bits;
          if (i % 4 == 0) variant.preload.push_back(shard);
        }
        plan.variants = {variant};
      }
      plans_.push_back(Timed(plan, 50, 5));
    }
  }

  void Open() {
    auto reader = AnyReader();
    PipelineOptions options;
    options.lazy = random_.Below(4) == 0;
    options.threads = 1 + Below(2);
    if (random_.Below(3) == 0) options.staging_bytes = 64 * kBlockBytes;
    const Plan& plan = plans_[random_.Below(plans_.size())];
    ASSERT_NO_FATAL_FAILURE(OpenOver(std::move(reader), plan, options));
    reference_.emplace(index_, plan, !options.lazy);
    ForgetRows();
    ExpectHeld();
  }

  /// Some shards of the plan, at bits that it or a turn of it runs.
  std::vector<ShardAtBits> AnyShards() {
    const Plan& plan = pipeline_->plan();
    std::vector<ShardAtBits> shards;
    for (uint32_t k = 0; k < plan.layers.size(); ++k) {
      for (uint32_t i = 0; i < plan.width; ++i) {
        const auto& bits =
            plan.turns.empty() ? plan.bits : plan.turns[random_.Below(plan.turns.size())].bits;
        if (random_.Below(3) == 0) shards.push_back({plan.Id(k, i), bits.At(k, i)});
      }
    }
    return shards;
  }

  void Answer(std::optional<double> degrade_for_us = {}) {
    const Input& input = inputs_[random_.Below(inputs_.size())];
    RunTerms terms;
    terms.degrade_for_us = degrade_for_us;
    if (random_.Below(8) == 0) terms.route = RouteId{};
    ReferenceBuffer::Terms told;
    const bool is_short = &pipeline_->PlanFor(input.ids.size()) != &pipeline_->plan();
    told.route.index = is_short && !terms.route ? 1 : 0;
    told.degrade = degrade_for_us.has_value();
    if (random_.Below(8) == 0) told.keep = AnyShards();
    if (told.keep) terms.keep = *told.keep;
    BeginReads(reference_->TakesOver(told));
    const Status status = RunTokens(*pipeline_, input.ids, input.types, terms, &result_);
    ExpectSoundOr(status);
    if (status.ok()) ExpectAnswer(told.route, input);
    NoteRows(input, status.ok());
    const bool trails = pipeline_->status().lane == LaneState::kTrailing;
    reference_->Ran(told, (*pipeline_->status().schedule), status.ok(), result_.degraded, trails);
  }

  void ExpectAnswer(RouteId route, const Input& input) {
    ++answered_;
    if (!result_.degraded.empty()) ++degraded_;
    const auto& reads = pipeline_->status().schedule->reads;
    if (std::ranges::any_of(reads, [](const ScheduledRead& read) { return read.refinement; }))
      ++apart_;
    EXPECT_EQ(result_.turn, reference_->turn() + 1);
    const Plan& plan = pipeline_->plan();
    Plan ran{PlanOf(plan, route)};
    if (route == RouteId{} && !plan.turns.empty()) ran.bits = plan.turns[reference_->turn()].bits;
    EXPECT_EQ(result_.values, Expected(Degraded(ran, result_.degraded), input));
    if (healthy_ && result_.degraded.empty()) ExpectAllRead(input);
  }

  /// The rows of an input that the runs before it have not read: the store is large enough for
  /// all that there are.
  [[nodiscard]] EmbeddingReads MissingRows(const Input& input) const {
    const std::set<uint32_t> words(input.ids.begin(), input.ids.end());
    EmbeddingReads rows;
    std::ranges::set_difference(words, words_read_, std::back_inserter(rows.words));
    if (input.ids.size() > positions_read_)
      rows.end_position = static_cast<uint32_t>(input.ids.size());
    PlanEmbeddingReads(index_, 0, &rows);
    return rows;
  }
  /// A run that went well leaves its rows, one that failed none.
  void NoteRows(const Input& input, bool well) {
    if (!well) return ForgetRows();
    words_read_.insert(input.ids.begin(), input.ids.end());
    positions_read_ = std::max(positions_read_, input.ids.size());
  }
  void ForgetRows() {
    words_read_.clear();
    positions_read_ = 0;
  }

  /// A run that nothing has disturbed has read its schedule and the rows that were missing, once.
  void ExpectAllRead(const Input& input) {
    const EmbeddingReads rows = MissingRows(input);
    const LoadSchedule& schedule = (*pipeline_->status().schedule);
    EXPECT_EQ(result_.bytes_read, schedule.read_bytes + rows.bytes);
    if (Faults() == nullptr || !reads_before_) return;
    EXPECT_EQ(Faults()->reads() - *reads_before_, schedule.reads.size() + rows.ranges.size());
    ++counted_;
  }

  /// Counts reads from here; those of a lead count where the run goes on with them.
  void BeginReads(bool takes_over) {
    if (takes_over) return;
    reads_before_.reset();
    const bool idle = pipeline_->status().lane == LaneState::kIdle;
    if (Faults() != nullptr && idle) reads_before_ = Faults()->reads();
  }

  void ExpectHeld() {
    const auto [least, most] = reference_->Bytes();
    EXPECT_GE(pipeline_->status().preload_bytes, least);
    EXPECT_LE(pipeline_->status().preload_bytes, most);
    if (least == most) ++known_;
  }

  /// Computed once for each input and all bits.
  const std::vector<float>& Expected(const PlanCore& plan, const Input& input) {
    std::vector<uint32_t> key{static_cast<uint32_t>(&input - inputs_.data())};
    key.insert(key.end(), plan.bits.values().begin(), plan.bits.values().end());
    auto [found, is_new] = expected_.try_emplace(std::move(key));
    if (is_new) found->second = direct_->Logits(plan, input.ids, input.types);
    return found->second;
  }

  /// Two degraded runs, the first with a read that comes so late that the second may set the lane
  /// aside.
  void AnswerTwiceWithALateRead() {
    if (Faults() == nullptr) return;
    Fault late;
    late.kind = FaultKind::kDelay;
    late.nth = Faults()->reads() + 1 + random_.Below(5);
    late.delay = std::chrono::milliseconds(5);
    Faults()->Inject(late);
    Answer(0.0);
    Answer(0.0);
    if (Faults() == nullptr) ++set_aside_;
  }

  void Wake() {
    const bool degrade = random_.Below(2) == 0;
    BeginReads(false);
    ExpectSoundOr(pipeline_->Wake(degrade));
    reference_->Wake(degrade, (*pipeline_->status().schedule));
  }
  void Resize() {
    std::optional<uint64_t> bytes;
    if (random_.Below(3) != 0) bytes = random_.Below(30) * kBlockBytes;
    const Status status = pipeline_->ResizePreload(bytes);
    ExpectSoundOr(status);
    reference_->Resize(bytes, status.ok());
  }
  void SetPlan() {
    const Plan& plan = plans_[random_.Below(plans_.size())];
    const Status status = pipeline_->SetPlan(plan);
    ExpectSoundOr(status);
    reference_->SetPlan(plan, status.ok());
  }
  void Rest() {
    ASSERT_TRUE(Succeeded(pipeline_->Rest()));
    reference_->Rest();
    ForgetRows();
    EXPECT_EQ(pipeline_->status().staging_bytes, 0);
    EXPECT_EQ(pipeline_->status().working_bytes, 0);
  }
  void EndTurns() {
    const Status status = pipeline_->EndTurns();
    ExpectSoundOr(status);
    reference_->EndTurns(status.ok());
  }

  /// One step of an app, by chance.
  void Step() {
    switch (random_.Below(11)) {
      case 0:
        return Wake();
      case 1:
        return Resize();
      case 2:
        return EndTurns();
      case 3:
        return SetPlan();
      case 4:
        return InjectFault(6);
      case 5:
        return random_.Below(8) == 0 ? AnswerTwiceWithALateRead() : InjectFault(6);
      case 6:
      case 7:
        return Answer(static_cast<double>(random_.Below(600)));
      case 8:
        return Rest();
      default:
        return Answer();
    }
  }

  std::vector<Input> inputs_;
  std::map<std::vector<uint32_t>, std::vector<float>> expected_;
  std::optional<ReferenceBuffer> reference_;
  std::set<uint32_t> words_read_;  ///< rows of words that are kept
  size_t positions_read_ = 0;      ///< rows of positions that are kept
  std::optional<uint64_t> reads_before_;
  size_t known_ = 0;    ///< times that the bytes held were compared with a single figure
  size_t counted_ = 0;  ///< runs whose reads were counted
  size_t answered_ = 0;
  size_t degraded_ = 0;
  size_t apart_ = 0;  ///< answers whose refinements could be left out
  size_t set_aside_ = 0;
};

TEST_F(RandomSequences, GiveTheBitsOfTheModelComputedDirectly) {
  for (size_t sequence = 0; sequence < kSequences; ++sequence) {
    if (sequence % kSequencesAPipeline == 0) Open();
    for (size_t step = 0; step < 4; ++step) {
      Step();
      ExpectHeld();
    }
    Heal();
    Answer();
    ExpectHeld();
    ASSERT_FALSE(HasFailure()) << "in sequence " << sequence;
  }
  EXPECT_GT(answered_, kSequences);
  EXPECT_GT(degraded_, kSequences / 20);
  EXPECT_GT(apart_, kSequences / 4);
  EXPECT_GT(failed_, kSequences / 20);
  EXPECT_GT(set_aside_, 0);
  EXPECT_GT(known_, 4 * kSequences);
  EXPECT_GT(counted_, kSequences / 4);
}

}  // namespace
}  // namespace sti
