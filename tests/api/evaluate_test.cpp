// A data set through a session: what a row's answer comes to, and what ends or outlives an error.
#include "api/evaluate.h"

#include "io/container_file.h"
#include "pipeline/whole_plan.h"
#include "support/expect.h"
#include "support/fault_reader.h"
#include "support/temp_folder.h"
#include "support/test_container.h"
#include "support/tiny_model.h"
#include "types/score.h"

namespace sti {
namespace {

// Returns the answer of a pipeline without layers, whose bound is its head's 100 us, of which label
// 1 is the likelier.
Answer MakeAnswer(double latency_us) {
  Answer answer;
  answer.latency_us = latency_us;
  answer.run.latency_us = latency_us;
  answer.run.head_us = 100;
  answer.run.values = {1, 2};
  return answer;
}

const std::vector<uint32_t> kSecond = {1};

AnsweredRow RowOf(const Answer& answer, const std::vector<uint32_t>& truth = kSecond) {
  return AnsweredRowOf(answer, Problem::kSingleLabel, truth, 0.5);
}

TEST(AnsweredRow, HasTheNumbersOfTheAnswer) {
  Plan plan;
  Answer answer = MakeAnswer(200);
  answer.plan = &plan;
  answer.run.stall_us = 30;
  answer.run.bytes_read = 1000;
  answer.deadline_met = true;
  AnsweredRow row = RowOf(answer);
  EXPECT_TRUE(row.judged.right);
  EXPECT_EQ(row.judged.loss, CrossEntropy(answer.run.values, 1));
  EXPECT_EQ(row.given, kSecond);
  EXPECT_EQ(row.latency_us, 200);
  EXPECT_EQ(row.stall_us, 30);
  EXPECT_EQ(row.over_bound, 2);
  EXPECT_EQ(row.bytes_read, 1000U);
  EXPECT_FALSE(row.late || row.degraded || row.guaranteed || row.fallback_rows_missing ||
               row.cascade);
  answer.deadline_met = false;
  answer.run.degraded.resize(2);
  answer.run.fallback = GivenUp{.rows_missing = 3};
  plan.fallback.emplace();
  row = RowOf(answer, {0});
  EXPECT_FALSE(row.judged.right);
  EXPECT_TRUE(row.late && row.degraded && row.guaranteed);
  EXPECT_EQ(row.fallback_rows_missing, 3U);
}

TEST(AnsweredRow, WithoutATargetNothingIsLate) { EXPECT_FALSE(RowOf(MakeAnswer(20)).late); }

TEST(AnsweredRow, OfACascadeItIsThatOfAllLevelsTogether) {
  Answer answer = MakeAnswer(400);
  answer.run.bytes_read = 1000;
  answer.run.latency_us = 300;
  answer.cascade.emplace();
  answer.cascade->level = 2;
  answer.cascade->words_pruned = 3;
  CascadeLevelRun& before = answer.cascade->runs[0];
  before.run.bytes_read = 500;
  before.run.latency_us = before.run.head_us = 100;
  AnsweredRow row = RowOf(answer);
  EXPECT_EQ(row.bytes_read, 1500U);
  EXPECT_EQ(row.over_bound, 2) << "400 us of both levels, whose bound is 200";
  ASSERT_TRUE(row.cascade);
  EXPECT_EQ(row.cascade->level, 2U);
  EXPECT_EQ(row.cascade->words_pruned, 3U);
  EXPECT_FALSE(row.cascade->for_want_of_time);
  answer.cascade->returned = Returned::kDeadline;
  EXPECT_TRUE(RowOf(answer).cascade->for_want_of_time);
  answer.cascade->returned = Returned::kEarly;
  EXPECT_FALSE(RowOf(answer).cascade->for_want_of_time);
}

TEST(AnsweredRow, OfATextInWindowsItIsThatOfAllTogether) {
  Answer answer = MakeAnswer(400);
  answer.run.latency_us = 300;
  answer.windows.emplace();
  answer.windows->windows = 3;
  answer.windows->run_us = 500;
  answer.windows->bound_us = 300;
  const AnsweredRow row = RowOf(answer);
  EXPECT_EQ(row.over_bound, 2) << "800 us of all windows, whose bound is 400";
  EXPECT_EQ(row.windows, 3U);
}

// Two levels of an ensemble that agree on label 0, which the last of them alone does not give.
TEST(AnsweredRow, OfAnEnsembleItIsTheLabelThatItGives) {
  Answer answer = MakeAnswer(400);
  answer.cascade.emplace();
  answer.cascade->level = 2;
  answer.cascade->together = {0.7F, 0.3F};
  answer.content = LabelScores{.scores = {0.7F, 0.3F}, .labels = {}};
  const AnsweredRow row = RowOf(answer, {0});
  EXPECT_TRUE(row.judged.right);
  EXPECT_EQ(row.given, std::vector<uint32_t>{0});
  EXPECT_NEAR(row.judged.loss, -std::log(0.7), 1e-6);
  EXPECT_FALSE(RowOf(answer).judged.right);
}

class EvaluateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string path = folder_.File("a.sti");
    ASSERT_TRUE(Succeeded(WriteTinyContainer(path, {})));
    if (Embeds()) {
      ASSERT_TRUE(Succeeded(AddSentenceModules(path + ".model")));
      const auto folder = ModelFolder::Open(path + ".model");
      ASSERT_TRUE(Succeeded(folder));
      ASSERT_TRUE(Succeeded(ShardModel(*folder, {}, path)));
    }
    auto file = ContainerFile::Open(path);
    ASSERT_TRUE(Succeeded(file));
    auto reader = file->reader().Clone();
    ASSERT_TRUE(Succeeded(reader));
    auto faulty = std::make_unique<FaultReader>(std::move(*reader));
    faults_ = faulty.get();
    (void)file->ReplaceReader(std::move(faulty));
    auto plan = MakeWholePlan(file->index(), {});
    ASSERT_TRUE(Succeeded(plan));
    auto session = Session::Open(std::move(*file), std::move(*plan), {});
    ASSERT_TRUE(Succeeded(session));
    session_ = std::move(*session);
    examples_.resize(3);
    for (size_t i = 0; i < examples_.size(); ++i) {
      examples_[i].text = std::string("a b c").substr(0, 2 * i + 1);
      examples_[i].label = 0;
    }
  }

  [[nodiscard]] virtual bool Embeds() const { return false; }

  TempFolder folder_;
  FaultReader* faults_ = nullptr;  // the session's own
  std::unique_ptr<Session> session_;
  std::vector<Example> examples_;
};

TEST_F(EvaluateTest, AsksForEachRowAndComparesWithTheBaseline) {
  std::vector<uint64_t> turns;
  std::vector<bool> right;
  EvaluationRun run;
  run.answered = [&](const Answer& answer) {
    turns.push_back(answer.turn);
    right.push_back(answer.labels().label == 0);
  };
  const auto first = EvaluateRows(*session_, examples_, run);
  ASSERT_TRUE(Succeeded(first));
  EXPECT_EQ(turns, (std::vector<uint64_t>{1, 1, 1}));
  EXPECT_EQ(first->right, right);
  EXPECT_EQ(first->answers(), 3U);
  EXPECT_EQ(first->rows, DigestOfRows(examples_, session_->info().labels));
  EXPECT_GT(first->peak_rss_bytes, 0U);
  EXPECT_FALSE(first->compared);
  turns.clear();
  const Baseline baseline{first->rows, std::vector<bool>(3, true)};
  run.in_one_engagement = true;
  run.baseline = &baseline;
  const auto second = EvaluateRows(*session_, examples_, run);
  ASSERT_TRUE(Succeeded(second));
  EXPECT_EQ(turns[2] - turns[0], 2U);
  ASSERT_TRUE(second->compared);
  EXPECT_EQ(second->compared->lost, 3 - second->right_count());
}

TEST_F(EvaluateTest, WhatIsStoppedHasTheRowsBefore) {
  uint64_t asked = 0;
  const Baseline baseline{{}, std::vector<bool>(3, true)};
  EvaluationRun run;
  run.progress = [&](uint64_t done, uint64_t total) {
    asked = done;
    EXPECT_EQ(total, 3U);
  };
  run.cancelled = [&] { return asked == 2; };
  run.baseline = &baseline;
  const auto evaluation = EvaluateRows(*session_, examples_, run);
  ASSERT_TRUE(Succeeded(evaluation));
  EXPECT_EQ(evaluation->examples(), 2U);
  EXPECT_EQ(evaluation->rows, DigestOfRows(std::span(examples_).first(2), session_->info().labels));
  EXPECT_FALSE(evaluation->compared) << "the baseline has rows that were not asked";
}

TEST_F(EvaluateTest, ARowWhoseReadsFailIsUnansweredAndTheNextIsNot) {
  std::vector<uint64_t> failed;
  std::vector<uint64_t> turns;
  EvaluationRun run;
  run.in_one_engagement = true;
  run.answered = [&](const Answer& answer) {
    turns.push_back(answer.turn);
    if (turns.size() == 1) faults_->Inject({});
  };
  run.unanswered = [&](const Error& error, uint64_t row) {
    EXPECT_EQ(error.kind, ErrorKind::kReadFailed);
    failed.push_back(row);
    faults_->Heal();
    return "no read in row " + std::to_string(row);
  };
  auto evaluation = EvaluateRows(*session_, examples_, run);
  ASSERT_TRUE(Succeeded(evaluation));
  EXPECT_EQ(failed, std::vector<uint64_t>{2});
  EXPECT_EQ(turns, (std::vector<uint64_t>{1, 3}));
  EXPECT_TRUE(evaluation->reads_failed);
  ASSERT_EQ(evaluation->errors.size(), 1U);
  EXPECT_EQ(evaluation->errors[0].row, 2U);
  EXPECT_EQ(evaluation->errors[0].reason, "no read in row 2");
  EXPECT_FALSE(evaluation->right[1]);
  EXPECT_EQ(evaluation->answers(), 2U);
  // Without a teller the record has the error's own words.
  faults_->Inject({});
  run = {};
  evaluation = EvaluateRows(*session_, std::span(examples_).first(1), run);
  ASSERT_TRUE(Succeeded(evaluation));
  EXPECT_NE(evaluation->errors.at(0).reason, "");
}

TEST_F(EvaluateTest, AnErrorBetweenRowsEndsIt) {
  EvaluationRun run;
  run.before_row = [] { return Status(MachineError("gone")); };
  EXPECT_TRUE(FailedWith(EvaluateRows(*session_, examples_, run), ErrorKind::kMachine, "gone"));
}

// The path by which half of the inputs of a cascade have ended, and all levels at their 99th
// percentiles.
TEST_F(EvaluateTest, PredictionsAreThoseOfThePathOfACascade) {
  Plan plan = session_->plan();
  plan.predicted_latency_us = 7;
  plan.predicted_p99_us = 8;
  CascadeLevel level{.plan = plan};
  level.rule.cutoff = 1;
  plan.cascade.emplace().levels = {level};
  plan.cascade->return_share = {0.4};
  plan.cascade->path_us = {10, 30};
  plan.cascade->worst_path_us = 50;
  ASSERT_TRUE(Succeeded(session_->SetPlan(plan, 0)));
  const auto evaluation = EvaluateRows(*session_, examples_, {});
  ASSERT_TRUE(Succeeded(evaluation));
  EXPECT_EQ(evaluation->predicted_latency_us, 30);
  EXPECT_EQ(evaluation->predicted_p99_us, 50);
}

class EvaluatePairsTest : public EvaluateTest {
 protected:
  [[nodiscard]] bool Embeds() const override { return true; }

  void SetUp() override {
    EvaluateTest::SetUp();
    for (size_t i = 0; i < examples_.size(); ++i) {
      examples_[i].label.reset();
      examples_[i].pair = "the movie";
      examples_[i].score = static_cast<double>(3 - i);
    }
  }

  std::vector<float> EmbeddingOf(const std::string& text) {
    const auto encoding = session_->Encode(text);
    EXPECT_TRUE(Succeeded(encoding));
    Answer answer;
    EXPECT_TRUE(Succeeded(session_->Ask(*encoding, Clock::now(), &answer)));
    return std::get<Embedding>(answer.content).values;
  }
};

TEST_F(EvaluatePairsTest, AsksForEachTextAlone) {
  std::vector<double> cosines;
  for (const Example& example : examples_)
    cosines.push_back(Cosine(EmbeddingOf(example.text), EmbeddingOf("the movie")));
  std::vector<uint64_t> turns;
  EvaluationRun run;
  run.answered = [&](const Answer& answer) { turns.push_back(answer.turn); };
  const auto evaluation = EvaluateRows(*session_, examples_, run);
  ASSERT_TRUE(Succeeded(evaluation));
  EXPECT_EQ(turns, (std::vector<uint64_t>(6, 1)));
  ASSERT_TRUE(evaluation->pairs);
  EXPECT_EQ(evaluation->pairs->cosines, cosines);
  EXPECT_EQ(evaluation->pairs->scores, (std::vector<double>{3, 2, 1}));
  EXPECT_EQ(evaluation->latency_us.count(), 6U);
  EXPECT_EQ(evaluation->rows, DigestOfRows(examples_, {}));
}

TEST_F(EvaluatePairsTest, APairOfWhichOneTextFailsIsUnanswered) {
  uint64_t answered = 0;
  EvaluationRun run;
  run.answered = [&](const Answer&) {
    if (++answered == 3) faults_->Inject({});  // the first text of the second pair
  };
  run.unanswered = [&](const Error&, uint64_t row) {
    faults_->Heal();
    return "row " + std::to_string(row);
  };
  const auto evaluation = EvaluateRows(*session_, examples_, run);
  ASSERT_TRUE(Succeeded(evaluation));
  EXPECT_EQ(evaluation->examples(), 3U);
  EXPECT_EQ(evaluation->pairs->scores, (std::vector<double>{3, 1}));
  ASSERT_EQ(evaluation->errors.size(), 1U);
  EXPECT_EQ(evaluation->errors[0].row, 2U);
  EXPECT_EQ(evaluation->errors[0].reason, "row 2");
  EXPECT_TRUE(evaluation->reads_failed);
}

}  // namespace
}  // namespace sti
