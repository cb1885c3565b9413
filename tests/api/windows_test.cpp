// Texts in windows, through a session, against a straight computation: each window as an input of
// its own, joined as said.

#include "text/windows.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <string>
#include <variant>

#include "api/evaluate.h"
#include "api/session.h"
#include "api/window_join.h"
#include "import/model_folder.h"
#include "import/shard_model.h"
#include "io/container_file.h"
#include "model/head.h"
#include "pipeline/whole_plan.h"
#include "support/expect.h"
#include "support/temp_folder.h"
#include "support/test_container.h"
#include "support/tiny_model.h"
#include "text/tokenizer.h"

namespace sti {
namespace {

const std::string kLong = "the good movie played a b c the houses, good! the movie a b c i good";

class WindowsOfTexts : public ::testing::Test {
 protected:
  /// Makes the container of a folder of the test data, as one that embeds if `pooling` is not
  /// empty.
  void MakeModel(const std::string& name, const std::string& pooling = "",
                 bool unit_length = true) {
    const std::string dir = folder_.File(name);
    std::filesystem::copy(STI_SOURCE_DIR "/tests/data/" + name, dir,
                          std::filesystem::copy_options::recursive);
    if (!pooling.empty()) {
      ASSERT_TRUE(Succeeded(AddSentenceModules(dir, {pooling, unit_length, 12})));
    }
    const auto source = ModelFolder::Open(dir);
    ASSERT_TRUE(Succeeded(source));
    ASSERT_TRUE(Succeeded(ShardModel(*source, {}, path_)));
  }

  [[nodiscard]] ContainerFile File() const {
    auto file = ContainerFile::Open(path_);
    EXPECT_TRUE(Succeeded(file));
    return std::move(*file);
  }
  [[nodiscard]] Plan Whole() const { return *MakeWholePlan(File().index(), {}); }

  [[nodiscard]] Result<std::unique_ptr<Session>> TryOpen(std::optional<WindowSizes> windows,
                                                         const Plan& plan) const {
    SessionOptions options;
    options.windows = windows;
    options.keeps_window_runs = true;
    return Session::Open(File(), plan, options);
  }
  [[nodiscard]] std::unique_ptr<Session> Open(std::optional<WindowSizes> windows) const {
    auto session = TryOpen(windows, Whole());
    EXPECT_TRUE(Succeeded(session));
    return std::move(*session);
  }

  /// Opens a session whose windows are degraded where they are late.
  [[nodiscard]] std::unique_ptr<Session> OpenDegrading(double target_us) const {
    Plan plan = Whole();
    plan.target_us = target_us;
    plan.times.emplace().layer_io_us.assign(plan.layers.size(), 0);
    SessionOptions options;
    options.windows = WindowSizes{8, 4};
    options.keeps_window_runs = true;
    options.late = Late::kDegrade;
    auto session = Session::Open(File(), plan, options);
    EXPECT_TRUE(Succeeded(session));
    return std::move(*session);
  }

  static Answer Ask(Session& session, const Encoding& encoding) {
    Answer answer;
    EXPECT_TRUE(Succeeded(session.Ask(encoding, Clock::now(), &answer)));
    return answer;
  }
  static Answer Ask(Session& session, const std::string& text,
                    std::optional<std::string_view> pair = {}) {
    const auto encoding = session.Encode(text, pair);
    EXPECT_TRUE(Succeeded(encoding));
    return Ask(session, *encoding);
  }

  /// The mean over windows of the probabilities that each has as an input of its own.
  std::vector<double> MeanOfWindows(const Encoding& text, const WindowSizes& sizes) const {
    const auto session = Open({});
    std::vector<double> means(session->info().labels.size());
    const auto windows = SplitIntoWindows(text, sizes);
    EXPECT_GT(windows->size(), 2U);
    for (const TextWindow& window : *windows) {
      Encoding encoding;
      EncodeWindow(text, window, &encoding);
      const Answer answer = Ask(*session, encoding);
      for (size_t i = 0; i < means.size(); ++i)
        means[i] += double{answer.labels().scores[i]} / static_cast<double>(windows->size());
    }
    return means;
  }

  /// The row of each token of a text that it has in the window in whose middle it is nearest: the
  /// hidden row, or what the head makes of it.
  std::vector<std::vector<float>> RowsOfTokens(const Encoding& text, const WindowSizes& sizes,
                                               bool hidden) const {
    auto pipeline = Pipeline::Create(File(), Whole(), {});
    EXPECT_TRUE(Succeeded(pipeline));
    const ModelInfo info = File().index().info;
    const auto windows = *SplitIntoWindows(text, sizes);
    // All windows have what is in front of the first: a control token, or a pair's first text too.
    const uint32_t head = windows.front().begin;
    std::vector<std::vector<float>> rows(text.ids.size());
    std::vector<double> distances(text.ids.size(), 1e9);
    for (const TextWindow& window : windows) {
      Encoding encoding;
      EncodeWindow(text, window, &encoding);
      PassOutput output;
      output.hidden = hidden;
      RunReport report;
      EXPECT_TRUE(Succeeded(
          (*pipeline)->Run({TokenInput{encoding.ids, encoding.types}, {}}, {}, &output, &report)));
      const auto take = [&](size_t token, size_t row, double distance) {
        if (distance >= distances[token]) return;
        distances[token] = distance;
        const size_t width = hidden ? info.shape.hidden : info.shape.labels;
        const auto* from = output.values.data() + row * width;
        rows[token].assign(from, from + width);
      };
      for (uint32_t t = 0; window.begin == head && t < head; ++t) take(t, t, 0);
      if (window.end + 1 == text.ids.size()) take(window.end, encoding.ids.size() - 1, 0);
      for (uint32_t t = window.begin; t < window.end; ++t)
        take(t, head + t - window.begin, std::abs(t + 0.5 - (window.begin + window.end) / 2.0));
    }
    return rows;
  }

  std::vector<double> PoolOfTokens(const Encoding& text, const WindowSizes& sizes) const {
    const std::vector<std::vector<float>> rows = RowsOfTokens(text, sizes, true);
    const ModelInfo info = File().index().info;
    std::vector<double> pooled(info.shape.hidden, 0);
    double squares = 0;
    for (size_t i = 0; i < pooled.size(); ++i) {
      const bool mean = info.head.pooling == Pooling::kMean;
      if (!mean) pooled[i] = -1e9;
      for (const auto& row : rows) {
        if (mean) pooled[i] += double{row[i]} / static_cast<double>(rows.size());
        if (!mean) pooled[i] = std::max(pooled[i], double{row[i]});
      }
      squares += pooled[i] * pooled[i];
    }
    if (info.head.unit_length) {
      for (double& value : pooled) value /= std::sqrt(squares);
    }
    return pooled;
  }

  TempFolder folder_;
  std::string path_ = folder_.File("model.sti");
};

TEST_F(WindowsOfTexts, LabelsAreTheMeanOfProbabilities) {
  MakeModel("distilbert-tiny");
  for (const WindowSizes sizes : {WindowSizes{8, 4}, WindowSizes{5, 1}, WindowSizes{6, 6}}) {
    const auto session = Open(sizes);
    const auto text = session->Encode(kLong);
    ASSERT_TRUE(Succeeded(text));
    const Answer answer = Ask(*session, *text);
    const std::vector<double> means = MeanOfWindows(*text, sizes);
    ASSERT_EQ(answer.labels().scores.size(), means.size());
    for (size_t i = 0; i < means.size(); ++i)
      EXPECT_NEAR(double{answer.labels().scores[i]}, means[i], 1e-6);
    EXPECT_EQ(answer.labels().label, std::max_element(means.begin(), means.end()) - means.begin());
    EXPECT_EQ(answer.window_count(), SplitIntoWindows(*text, sizes)->size());
    EXPECT_EQ(answer.tokens, text->ids.size());
    EXPECT_FALSE(answer.truncated);
  }
}

TEST_F(WindowsOfTexts, EachLabelOfManyIsTheMeanOfItsOwn) {
  MakeModel("multilabel-tiny");
  const WindowSizes sizes{8, 4};
  const auto session = Open(sizes);
  const auto text = session->Encode(kLong);
  const Answer answer = Ask(*session, *text);
  const std::vector<double> means = MeanOfWindows(*text, sizes);
  for (size_t i = 0; i < means.size(); ++i) {
    EXPECT_NEAR(double{answer.labels().scores[i]}, means[i], 1e-6);
    EXPECT_EQ(std::ranges::count(answer.labels().labels, i), means[i] >= 0.5 ? 1 : 0);
  }
}

TEST_F(WindowsOfTexts, OfAPairTheSecondIsSplit) {
  MakeModel("roberta-tiny");
  const WindowSizes sizes{10, 3};
  const auto session = Open(sizes);
  const auto pair = session->Encode("a b", kLong);
  ASSERT_TRUE(Succeeded(pair));
  const Answer answer = Ask(*session, *pair);
  const std::vector<double> means = MeanOfWindows(*pair, sizes);
  for (size_t i = 0; i < means.size(); ++i)
    EXPECT_NEAR(double{answer.labels().scores[i]}, means[i], 1e-6);
  // The first text alone is too long. That is this input's own error.
  const auto too_long = session->Encode(kLong, kLong);
  Answer none;
  const Status asked = session->Ask(*too_long, Clock::now(), &none);
  ASSERT_TRUE(FailedWith(asked, ErrorKind::kDamaged, "leaves the second no room"));
  EXPECT_NE(OwnErrorOf(asked), nullptr);
  EXPECT_EQ(Ask(*session, *pair).labels().scores, answer.labels().scores);
}

TEST_F(WindowsOfTexts, ATextThatFitsIsReadAsEver) {
  MakeModel("distilbert-tiny");
  const auto plain = Open({});
  const auto windowed = Open(WindowSizes{8, 4});
  for (const std::string text : {"", "a b", "the good movie a"}) {
    const Answer answer = Ask(*windowed, text);
    EXPECT_EQ(answer.run.values, Ask(*plain, text).run.values) << text;
    EXPECT_EQ(answer.window_count(), 1U);
  }
  EXPECT_FALSE(Ask(*plain, "a b").windows);
}

TEST_F(WindowsOfTexts, EmbeddingsPoolEachTokenOnce) {
  for (const auto& [pooling, unit_length] :
       {std::pair("mean", true), std::pair("mean", false), std::pair("max", false)}) {
    std::filesystem::remove_all(folder_.File("distilbert-tiny"));
    std::filesystem::remove(path_);
    MakeModel("distilbert-tiny", pooling, unit_length);
    for (const WindowSizes sizes : {WindowSizes{8, 4}, WindowSizes{5, 1}, WindowSizes{12, 12}}) {
      const auto session = Open(sizes);
      const auto text = session->Encode(kLong);
      const Answer answer = Ask(*session, *text);
      EXPECT_GT(answer.window_count(), 1U);
      const auto& values = std::get<Embedding>(answer.content).values;
      const std::vector<double> expected = PoolOfTokens(*text, sizes);
      ASSERT_EQ(values.size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(double{values[i]}, expected[i], 1e-5) << pooling;
    }
  }
}

TEST_F(WindowsOfTexts, AnEmbeddedPairPoolsItsFirstTextOnce) {
  MakeModel("roberta-tiny", "mean");
  for (const WindowSizes sizes : {WindowSizes{10, 3}, WindowSizes{12, 4}}) {
    const auto session = Open(sizes);
    const auto pair = session->Encode("a b", kLong);
    ASSERT_TRUE(Succeeded(pair));
    const Answer answer = Ask(*session, *pair);
    EXPECT_GT(answer.window_count(), 2U);
    const auto& values = std::get<Embedding>(answer.content).values;
    const std::vector<double> expected = PoolOfTokens(*pair, sizes);
    ASSERT_EQ(values.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(double{values[i]}, expected[i], 1e-5) << i;
  }
}

TEST_F(WindowsOfTexts, ATokenHasTheLabelsOfTheWindowInWhoseMiddleItIsNearest) {
  for (const std::string model : {"spans-bert", "spans-roberta"}) {
    std::filesystem::remove(path_);
    MakeModel(model);
    for (const WindowSizes sizes : {WindowSizes{8, 4}, WindowSizes{5, 1}, WindowSizes{6, 6}}) {
      const auto session = Open(sizes);
      const auto text = session->Encode(kLong);
      const Answer answer = Ask(*session, *text);
      EXPECT_GT(answer.window_count(), 2U);
      std::vector<float> expected;
      for (const std::vector<float>& row : RowsOfTokens(*text, sizes, false))
        expected.insert(expected.end(), row.begin(), row.end());
      EXPECT_EQ(answer.run.values, expected) << model;
      EXPECT_EQ(Ask(*session, *text).run.values, expected) << "nothing is left of a text before";
      // Spans are made of all tokens, wherever windows end.
      const auto& spans = std::get<TextSpans>(answer.content).spans;
      for (size_t i = 1; i < spans.size(); ++i)
        EXPECT_GE(spans[i].bytes.begin, spans[i - 1].bytes.begin);
      EXPECT_LE(spans.back().bytes.end, kLong.size());
      EXPECT_GT(spans.back().bytes.end, kLong.size() / 2);
    }
  }
}

TEST_F(WindowsOfTexts, WithTheFirstTokensPoolingTheFirstWindowCounts) {
  MakeModel("distilbert-tiny", "cls");
  std::vector<Notice::Kind> notices;
  SessionOptions options;
  options.windows = WindowSizes{8, 4};
  options.notices = [&](const Notice& notice) { notices.push_back(notice.kind); };
  auto session = Session::Open(File(), Whole(), options);
  ASSERT_TRUE(Succeeded(session));
  EXPECT_EQ(std::ranges::count(notices, Notice::Kind::kFirstWindowCounts), 1);
  const auto text = (*session)->Encode(kLong);
  const Answer answer = Ask(**session, *text);
  Encoding first;
  EncodeWindow(*text, SplitIntoWindows(*text, *options.windows)->front(), &first);
  EXPECT_EQ(answer.run.values, Ask(*Open({}), first).run.values);
  EXPECT_TRUE(answer.truncated);
  EXPECT_EQ(answer.window_count(), 1U);
  EXPECT_EQ(answer.tokens, first.ids.size());
}

TEST_F(WindowsOfTexts, EachWindowHasTheTarget) {
  MakeModel("distilbert-tiny");
  Plan plan = Whole();
  for (const double target_us : {0.001, 1e9}) {
    plan.target_us = target_us;
    auto session = TryOpen(WindowSizes{8, 4}, plan);
    ASSERT_TRUE(Succeeded(session));
    const Answer answer = Ask(**session, kLong);
    const WindowsReport& report = *answer.windows;
    const bool all_late = target_us < 1;
    EXPECT_EQ(report.late, all_late ? report.windows : 0);
    EXPECT_EQ(answer.late(), all_late);
    if (all_late) {
      EXPECT_DOUBLE_EQ(answer.late_by_us(), report.slowest_us - target_us);
    }
    EXPECT_LT(report.slowest_us, answer.latency_us);
    ASSERT_EQ(report.before.size() + 1, report.windows);
    uint64_t bytes = answer.run.bytes_read;
    double run_us = 0;
    for (const WindowRun& window : report.before) {
      bytes += window.run.bytes_read;
      run_us += window.run.latency_us;
      EXPECT_LT(window.began_us, report.began_us);
    }
    EXPECT_EQ(answer.bytes_read(), bytes);
    EXPECT_DOUBLE_EQ(report.run_us, run_us);
    EXPECT_LE(run_us + answer.run.latency_us, answer.latency_us) << "a run begins with its window";
    EXPECT_EQ(answer.turn, 1U) << "a text is one input, whatever its windows";
  }
}

// A target between the time of the slowest window and that of the text, which a busy machine may
// take some attempts to show.
TEST_F(WindowsOfTexts, ATextIsInTimeIfItsWindowsAre) {
  MakeModel("distilbert-tiny");
  bool is_seen = false;
  for (int attempt = 0; attempt < 500 && !is_seen; ++attempt) {
    Plan plan = Whole();
    const auto untimed = Ask(*Open(WindowSizes{5, 1}), kLong);
    plan.target_us = std::sqrt(untimed.windows->slowest_us * untimed.latency_us);
    auto session = TryOpen(WindowSizes{5, 1}, plan);
    ASSERT_TRUE(Succeeded(session));
    const Answer answer = Ask(**session, kLong);
    EXPECT_EQ(answer.late(), answer.windows->late > 0);
    is_seen = answer.windows->late == 0 && answer.latency_us > *plan.target_us;
  }
  EXPECT_TRUE(is_seen);
}

TEST_F(WindowsOfTexts, ShardsOfEachWindowAreDegraded) {
  MakeModel("distilbert-tiny");
  const auto session = OpenDegrading(1);
  const Answer answer = Ask(*session, kLong);
  size_t degraded = answer.run.degraded.size();
  for (const WindowRun& window : answer.windows->before) degraded += window.run.degraded.size();
  EXPECT_GT(degraded, answer.run.degraded.size());
  EXPECT_EQ(answer.degraded().size(), degraded);
}

// A text that has waited for an hour is late in its first window alone: the next has a target of
// its own, in time for which nothing has to be degraded.
TEST_F(WindowsOfTexts, OnlyTheFirstWindowCountsFromTheText) {
  MakeModel("distilbert-tiny");
  const auto session = OpenDegrading(1800e6);
  Answer answer;
  const auto text = session->Encode(kLong);
  ASSERT_TRUE(Succeeded(session->Ask(*text, Clock::now() - std::chrono::hours(1), &answer)));
  EXPECT_EQ(answer.windows->late, 1U);
  ASSERT_GT(answer.windows->before.size(), 1U);
  EXPECT_FALSE(answer.windows->before[0].run.degraded.empty());
  EXPECT_TRUE(answer.windows->before[1].run.degraded.empty());
  EXPECT_TRUE(answer.run.degraded.empty());
}

TEST_F(WindowsOfTexts, DegradedShardsAndFallbacksAreThoseOfAllWindows) {
  Answer answer;
  EXPECT_TRUE(answer.degraded().empty());
  answer.run.degraded.resize(1);
  answer.run.fallback = GivenUp{.layers_before = 2, .rows_missing = 3};
  EXPECT_EQ(answer.fallback()->rows_missing, 3U);
  answer.windows.emplace().degraded.resize(2);
  EXPECT_EQ(answer.degraded().size(), 3U);
  EXPECT_EQ(answer.fallback()->rows_missing, 3U);
  answer.windows->fallback = GivenUp{.reads_failed = true, .rows_missing = 4};
  EXPECT_EQ(answer.fallback()->rows_missing, 7U);
  EXPECT_TRUE(answer.fallback()->reads_failed);
  answer.run.fallback.reset();
  EXPECT_EQ(answer.fallback()->rows_missing, 4U);
}

TEST_F(WindowsOfTexts, AnEvaluationCountsThem) {
  MakeModel("distilbert-tiny");
  const auto session = Open(WindowSizes{8, 4});
  std::vector<Example> examples(2);
  examples[0].text = "a b";
  examples[1].text = kLong;
  for (Example& example : examples) example.label = 0;
  EvaluationRun run;
  uint32_t windows = 0;
  run.answered = [&](const Answer& answer) { windows += answer.window_count(); };
  const auto evaluation = EvaluateRows(*session, examples, run);
  ASSERT_TRUE(Succeeded(evaluation));
  EXPECT_GT(windows, 3U);
  EXPECT_EQ(evaluation->windows, windows);
  const auto plain = EvaluateRows(*Open({}), examples, {});
  EXPECT_FALSE(plain->windows);
}

TEST_F(WindowsOfTexts, SizesAndPlansThatDoNotGo) {
  MakeModel("distilbert-tiny");
  const uint32_t longest = Whole().length;
  const auto refused = [&](WindowSizes sizes, const Plan& plan, const std::string& why) {
    EXPECT_TRUE(FailedWith(TryOpen(sizes, plan), ErrorKind::kUsage, why));
  };
  refused({2, 1}, Whole(), "no room for text beside the 2 control tokens");
  refused({8, 9}, Whole(), "a stride of 1 to 8");
  refused({longest + 1, 4}, Whole(), "longer than the plan's inputs");
  const auto session = Open(WindowSizes{longest, 4});
  Plan shorter = Whole();
  shorter.length = longest - 1;
  EXPECT_TRUE(
      FailedWith(session->SetPlan(shorter), ErrorKind::kUsage, "longer than the plan's inputs"));
  EXPECT_GT(Ask(*session, kLong + " " + kLong + " " + kLong).window_count(), 1U);
  Plan cascade = Whole();
  cascade.cascade.emplace();
  EXPECT_TRUE(FailedWith(session->SetPlan(cascade), ErrorKind::kUsage, "the plan has a cascade"));
}

}  // namespace
}  // namespace sti
