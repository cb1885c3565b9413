// Several models in one process, each asked by a thread of its own while its target, its plan and
// its preload buffer change. Built with ThreadSanitizer it shows that sessions share cores and
// flash without a race (make tsan).
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "api/session.h"
#include "base/thread_pool.h"
#include "io/container_file.h"
#include "pipeline/io_share.h"
#include "pipeline/whole_plan.h"
#include "support/expect.h"
#include "support/random.h"
#include "support/temp_folder.h"
#include "support/test_container.h"
#include "text/tokenizer.h"

namespace sti {
namespace {

constexpr int kModels = 3;
constexpr int kRounds = 60;
constexpr double kNever_us = 1e-3;  // no machine answers in a nanosecond
constexpr double kAlways_us = 3600e6;
const std::vector<std::string> kTexts = {"a", "a b c", "d c b a b c d", "b b"};

/// A model of a shape of its own, and what it answers alone, by bits and text.
class Model {
 public:
  Model(const std::string& path, const TinyModelOptions& options) : path_(path) {
    EXPECT_TRUE(Succeeded(WriteTinyContainer(path, options)));
  }

  [[nodiscard]] std::unique_ptr<Session> Open(uint32_t bits, const SessionOptions& options) const {
    auto file = ContainerFile::Open(path_);
    EXPECT_TRUE(Succeeded(file));
    auto session = Session::Open(std::move(file).value(), PlanAt(bits), options);
    EXPECT_TRUE(Succeeded(session));
    return std::move(session).value();
  }

  [[nodiscard]] Plan PlanAt(uint32_t bits) const {
    auto file = ContainerFile::Open(path_);
    EXPECT_TRUE(Succeeded(file));
    WholePlanOptions whole;
    whole.bits = bits;
    auto plan = MakeWholePlan(file->index(), whole);
    EXPECT_TRUE(Succeeded(plan));
    return std::move(plan).value();
  }

  void Learn() {
    for (uint32_t bits : {2U, 4U, 6U, kFullBits}) {
      const auto session = Open(bits, {});
      for (size_t text = 0; text < kTexts.size(); ++text) {
        Answer answer;
        const auto encoding = session->Encode(kTexts[text]);
        EXPECT_TRUE(Succeeded(encoding));
        EXPECT_TRUE(Succeeded(session->Ask(*encoding, Clock::now(), &answer)));
        alone_[{bits, text}] = answer.run.values;
      }
    }
  }
  [[nodiscard]] const std::vector<float>& Alone(uint32_t bits, size_t text) const {
    return alone_.at({bits, text});
  }

 private:
  std::string path_;
  std::map<std::pair<uint32_t, size_t>, std::vector<float>> alone_;
};

/// One thread's session: it is changed between questions, and its answers are compared.
class Asker {
 public:
  Asker(const Model& model, uint64_t seed, const SessionOptions& options)
      : model_(model), random_(seed), session_(model.Open(bits_, options)) {}

  void AskAll() {
    for (int round = 0; round < kRounds; ++round) {
      Change();
      const auto text = random_.Below(kTexts.size());
      const auto encoding = session_->Encode(kTexts[text]);
      ASSERT_TRUE(Succeeded(encoding));
      Answer answer;
      ASSERT_TRUE(Succeeded(session_->Ask(*encoding, Clock::now(), &answer)));
      ASSERT_EQ(answer.run.values, model_.Alone(bits_, text)) << "round " << round;
      ASSERT_EQ(answer.turn, ++turn_) << "round " << round;
      ASSERT_EQ(answer.deadline_met, met_) << "round " << round;
    }
  }

 private:
  void Change() {
    switch (random_.Below(6)) {
      case 0:
        return ChangePlan();
      case 1:
        ASSERT_TRUE(Succeeded(session_->SetBuffer(random_.Below(1 << 16))));
        return;
      case 2:
        ASSERT_TRUE(Succeeded(session_->Wake()));
        return;
      case 3:
        ASSERT_TRUE(Succeeded(session_->EndEngagement()));
        turn_ = 0;
        return;
      default:
        return;
    }
  }

  void ChangePlan() {
    bits_ = std::vector<uint32_t>{2, 4, 6, kFullBits}[random_.Below(4)];
    met_ = random_.Below(2) == 0;
    Plan plan = model_.PlanAt(bits_);
    plan.target_us = *met_ ? kAlways_us : kNever_us;
    ASSERT_TRUE(Succeeded(session_->SetPlan(std::move(plan))));
    turn_ = 0;
  }

  const Model& model_;
  TestRandom random_;
  uint32_t bits_ = 6;
  uint64_t turn_ = 0;
  std::optional<bool> met_;  // nothing before the first target
  std::unique_ptr<Session> session_;
};

TEST(ManyModels, AnswerAsAloneWhileTargetsAndBuffersChange) {
  TempFolder folder;
  std::vector<Model> models;
  const TinyModelOptions shapes[kModels] = {
      {.layers = 3, .seed = 1},
      {.layers = 2, .heads = 4, .hidden = 64, .ffn = 128, .labels = 5, .seed = 2},
      {.layers = 4, .heads = 3, .hidden = 48, .ffn = 96, .max_positions = 48, .seed = 3}};
  for (int at = 0; at < kModels; ++at) {
    models.emplace_back(folder.File("model" + std::to_string(at) + ".sti"), shapes[at]);
    models.back().Learn();
  }
  ThreadPool cores(2);
  IoShare io(uint64_t{64} << 10);
  SessionOptions options;
  options.cores = &cores;
  options.io = &io;
  std::vector<std::thread> threads;
  for (int at = 0; at < kModels; ++at) {
    threads.emplace_back([&, at] { Asker(models[at], 100 + at, options).AskAll(); });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace sti
