// Whatever an app does between its inputs, an answer has the bits of the model computed directly,
// and an error is one that the device gave.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>

#include "pipeline_world.h"
#include "support/fault_reader.h"
#include "support/memory_reader.h"

namespace sti {
namespace {

constexpr size_t kSequences = 10000;
constexpr size_t kSequencesAPipeline = 25;

struct Input {
  Ids ids;
  Ids types;
};

class RandomSequences : public PipelineTest {
 protected:
  void SetUp() override {
    TinyModelOptions model;
    model.layers = 3;
    auto report = WriteTinyContainer(path_, model);
    ASSERT_TRUE(Succeeded(report));
    index_ = report->index;
    bytes_ = std::make_shared<const std::vector<uint8_t>>(FileBytes(path_));
    direct_ = std::make_unique<DirectModel>(path_);
    inputs_ = {{{2, 5, 7, 9, 11, 14, 16, 32, 3}, {0, 0, 0, 0, 0, 1, 1, 1, 1}},
               {{2, 8, 3}, {0, 0, 0}},
               {{2, 20, 21, 22, 3}, {0, 0, 1, 1, 1}}};
    MakePlans();
  }

  uint32_t AnyBits() { return index_.bits[random_.Below(index_.bits.size())]; }
  uint32_t Below(uint64_t limit) { return static_cast<uint32_t>(random_.Below(limit)); }

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
        plan.variants = {variant};
      }
      plans_.push_back(Timed(plan, 50, 5));
    }
  }

  void Open() {
    auto reader = std::make_unique<FaultReader>(std::make_unique<MemoryReader>(path_, bytes_),
                                                std::vector<Fault>{}, random_.Below(4) == 0);
    PipelineOptions options;
    options.lazy = random_.Below(4) == 0;
    options.threads = 1 + Below(2);
    if (random_.Below(3) == 0) options.staging_bytes = 64 * kBlockBytes;
    auto pipeline = MakeOver(std::move(reader), plans_[random_.Below(plans_.size())], options);
    ASSERT_TRUE(Succeeded(pipeline));
    pipeline_ = std::move(*pipeline);
    faulty_ = false;
  }
  /// Null once a late lane was set aside, and the reader with it.
  FaultReader* Faults() { return dynamic_cast<FaultReader*>(&pipeline_->reader()); }

  /// What fails may do so because of a fault, and for no other reason.
  void ExpectSoundOr(const Status& status) {
    if (status.ok()) return;
    const bool of_device =
        status.error().kind == ErrorKind::kReadFailed || status.error().kind == ErrorKind::kDamaged;
    EXPECT_TRUE(faulty_ && of_device) << status.error().Message();
    ++failed_;
  }

  void Answer(std::optional<double> degrade_for_us = {}) {
    const Input& input = inputs_[random_.Below(inputs_.size())];
    RunTerms terms;
    terms.degrade_for_us = degrade_for_us;
    if (random_.Below(8) == 0) terms.route = RouteId{};
    const Status status = pipeline_->Run(input.ids, input.types, terms, &result_);
    ExpectSoundOr(status);
    if (!status.ok()) return;
    ++answered_;
    if (!result_.degraded.empty()) ++degraded_;
    const Plan& plan = terms.route ? pipeline_->plan() : pipeline_->PlanFor(input.ids.size());
    Plan ran = plan;
    if (!plan.turns.empty()) ran.bits = plan.turns[result_.turn - 1].bits;
    EXPECT_EQ(result_.logits, Expected(Degraded(ran, result_.degraded), input));
  }

  /// Computed once for each input and all bits.
  const std::vector<float>& Expected(const Plan& plan, const Input& input) {
    std::vector<uint32_t> key{static_cast<uint32_t>(&input - inputs_.data())};
    key.insert(key.end(), plan.bits.values().begin(), plan.bits.values().end());
    auto [found, is_new] = expected_.try_emplace(std::move(key));
    if (is_new) found->second = direct_->Logits(plan, input.ids, input.types);
    return found->second;
  }

  void InjectFault() {
    constexpr std::array kKinds = {FaultKind::kError, FaultKind::kTorn, FaultKind::kDelay};
    if (Faults() == nullptr) return;
    Fault fault;
    fault.kind = kKinds[random_.Below(kKinds.size())];
    fault.nth = Faults()->reads() + random_.Below(6);
    fault.delay = std::chrono::microseconds(random_.Below(400));
    faulty_ = true;
    Faults()->Inject(fault);
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

  /// One step of an app, by chance.
  void Step() {
    switch (random_.Below(10)) {
      case 0:
        return ExpectSoundOr(pipeline_->Wake(random_.Below(2) == 0));
      case 1:
        return ExpectSoundOr(pipeline_->ResizePreload(random_.Below(30) * kBlockBytes));
      case 2:
        return pipeline_->EndTurns();
      case 3:
        return ExpectSoundOr(pipeline_->SetPlan(plans_[random_.Below(plans_.size())]));
      case 4:
        return InjectFault();
      case 5:
        return random_.Below(8) == 0 ? AnswerTwiceWithALateRead() : InjectFault();
      case 6:
      case 7:
        return Answer(static_cast<double>(random_.Below(600)));
      default:
        return Answer();
    }
  }

  TestRandom random_{2024};
  MemoryReader::Bytes bytes_;
  std::unique_ptr<DirectModel> direct_;
  std::vector<Input> inputs_;
  std::vector<Plan> plans_;
  std::map<std::vector<uint32_t>, std::vector<float>> expected_;
  std::unique_ptr<Pipeline> pipeline_;
  RunResult result_;
  bool faulty_ = false;  ///< something has been injected below this pipeline
  size_t answered_ = 0;
  size_t degraded_ = 0;
  size_t failed_ = 0;
  size_t set_aside_ = 0;
};

TEST_F(RandomSequences, GiveTheBitsOfTheModelComputedDirectly) {
  for (size_t sequence = 0; sequence < kSequences; ++sequence) {
    if (sequence % kSequencesAPipeline == 0) Open();
    for (size_t step = 0; step < 4; ++step) Step();
    if (Faults() != nullptr) Faults()->Heal();
    Answer();
    ASSERT_FALSE(HasFailure()) << "in sequence " << sequence;
  }
  EXPECT_GT(answered_, kSequences);
  EXPECT_GT(degraded_, kSequences / 20);
  EXPECT_GT(failed_, kSequences / 20);
  EXPECT_GT(set_aside_, 0);
}

}  // namespace
}  // namespace sti
