// Options of sti.h two at a time: set in either order, set twice and set back to 0, a model is as a
// fresh one with the options that are left; each option is seen to be at work beside some other.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "format/importance_file.h"
#include "sti_fixture.h"
#include "support/locked_bytes.h"
#include "support/sanitizers.h"

namespace sti {
namespace {

struct OptionRow {
  int32_t number;
  const char* name;
  int64_t value;
  int64_t other;  ///< another value, which must leave nothing behind
};

// Seconds, so that no input is late on whatever machine: what is planned is what runs.
constexpr int64_t kTarget_us = 30'000'000;
constexpr OptionRow kRows[] = {
    {STI_TARGET_US, "STI_TARGET_US", kTarget_us, 2 * kTarget_us},
    {STI_PRELOAD_BYTES, "STI_PRELOAD_BYTES", 20'000, 1'000},
    {STI_MEMORY_BYTES, "STI_MEMORY_BYTES", 290'000, 40'000'000},
    {STI_LENGTH, "STI_LENGTH", 8, 16},
    {STI_LEAD_TIME_US, "STI_LEAD_TIME_US", 4'000'000, 1'000'000},
    {STI_TURNS, "STI_TURNS", 2, 3},
    {STI_MIN_ACCURACY_PPM, "STI_MIN_ACCURACY_PPM", 600'000, 500'000},
    {STI_FULL_ACCURACY_PPM, "STI_FULL_ACCURACY_PPM", 900'000, 800'000},
    {STI_GUARANTEE, "STI_GUARANTEE", 1, 1},
    {STI_LATE, "STI_LATE", STI_LATE_DEGRADE, STI_LATE_DEGRADE},
    {STI_COMPUTE, "STI_COMPUTE", STI_COMPUTE_INT8, STI_COMPUTE_FP32},
    {STI_THRESHOLD_PPM, "STI_THRESHOLD_PPM", 100'000, 900'000},
    {STI_CLOCK_KHZ, "STI_CLOCK_KHZ", 1'000'000, 2'000'000},
    {STI_LOCK_MEMORY, "STI_LOCK_MEMORY", 1, 1},
    {STI_WINDOW, "STI_WINDOW", 6, 8},
    {STI_STRIDE, "STI_STRIDE", 1, 2},
};

/// Holds what a model gives: codes, texts of errors, figures and scores, times left out.
struct Given {
  std::vector<std::string> said;
  std::vector<double> figures;
  friend bool operator==(const Given&, const Given&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Given& given) {
    for (const std::string& text : given.said) out << text << "; ";
    for (const double figure : given.figures) out << figure << ' ';
    return out;
  }
};

class OptionPairs : public StiTest {
 protected:
  void SetUp() override {
    StiTest::SetUp();
    const auto file = ContainerFile::Open(path_);
    ASSERT_TRUE(Succeeded(file));
    importance_ = ImportanceToJson(ImportanceOf(file->index()));
  }

  // Scores and A(n, m) by formula.
  static Importance ImportanceOf(const ContainerIndex& index) {
    Importance importance;
    importance.model = index.model;
    importance.metric = Metric::kLoss;
    importance.examples = 100;
    importance.baseline = -1;
    importance.layers = index.info.shape.layers;
    importance.width = index.info.shape.width;
    for (uint32_t i = 0; i < importance.layers * importance.width; ++i)
      importance.scores.push_back(-0.9 + 0.01 * ((5 * i) % 7));
    for (uint32_t depth = 1; depth <= importance.layers; ++depth) {
      for (uint32_t width = 1; width <= importance.width; ++width) {
        for (const uint32_t bits : {2U, 6U, 32U}) {
          const double share =
              static_cast<double>(depth * width) / (importance.layers * importance.width);
          importance.submodels.push_back(
              {depth, width, bits, 0.4 + 0.3 * share + 0.005 * bits, 2 - share - 0.01 * bits});
        }
      }
    }
    return importance;
  }

  // A device of two clocks where a layer takes seconds.
  static std::string Profile() {
    std::string compute;
    for (const int length : {8, 16}) {
      for (const int width : {1, 2}) {
        for (const int clock : {1, 2}) {
          compute +=
              std::string(compute.empty() ? "" : ", ") + "{\"length\": " + std::to_string(length) +
              ", \"width\": " + std::to_string(width) +
              ", \"freq\": " + std::to_string(clock * 1'000'000) +
              ", \"layer_us\": " + std::to_string(100'000 * length * (1 + width) / clock) + "}";
        }
      }
    }
    std::string io;
    for (const int bits : {2, 3, 4, 5, 6, 32}) {
      io += std::string(io.empty() ? "" : ", ") + "{\"bits\": " + std::to_string(bits) +
            ", \"load_us\": " + std::to_string(600'000 * bits) + "}";
    }
    return "{\"io\": [" + io + "], \"compute\": [" + compute +
           "], \"fixed\": [{\"length\": 8, \"embed_us\": 1000, \"embed_io_us\": 2000, "
           "\"head_us\": 500}, {\"length\": 16, \"embed_us\": 1000, \"embed_io_us\": 2000, "
           "\"head_us\": 500}]}";
  }

  void Open() {
    sti_close(std::exchange(model_, nullptr));
    ASSERT_TRUE(Is(STI_OK, sti_open(host_, path_.c_str(), &model_, &error_), error_));
    ASSERT_TRUE(Is(STI_OK, Give(STI_IMPORTANCE, importance_), error_));
  }
  void Set(int32_t option, int64_t value) {
    ASSERT_TRUE(Is(STI_OK, sti_set(model_, option, value, &error_), error_));
  }
  bool Note(Given* given, sti_code code) {
    given->said.emplace_back(code == STI_OK ? "ok" : error_.text);
    return code == STI_OK;
  }
  void NoteRun(Given* given) {
    for (const std::string_view text : {"a b c d a b c d a b c d", "c a"}) {
      Note(given, Run(text));
      for (const double score : ScoresOf(model_)) given->figures.push_back(score);
      for (const int32_t figure :
           {STI_TRUNCATED, STI_TOKENS, STI_CHOSEN, STI_TURN, STI_READ_BYTES, STI_DEGRADED_SHARDS,
            STI_DEPTH, STI_WIDTH, STI_FELL_BACK, STI_ROWS_MISSING, STI_WINDOWS, STI_OWN_BYTES,
            STI_PRELOADED_BYTES, STI_PREDICTED_US, STI_PREDICTED_P99_US}) {
        const double value = sti_stat(model_, figure);
        given->figures.push_back(std::isnan(value) ? -1 : value);
      }
    }
    given->figures.push_back(kSanitized ? 0 : static_cast<double>(LockedBytes()));
  }

  // All that the open model gives: under a plan of the whole model, and under that which it makes.
  // One that is refused leaves the plan before, which is another's. The profile is given anew, so
  // that it does not count on the times of earlier runs.
  Given Look() {
    Given given;
    const std::string whole = PlanAt(6);
    if (Note(&given, Give(STI_PLAN, whole))) NoteRun(&given);
    EXPECT_TRUE(Is(STI_OK, Give(STI_PROFILE, Profile()), error_));
    if (Note(&given, sti_plan(model_, &error_))) NoteRun(&given);
    // Read when it is loaded anew, whatever was loaded before.
    EXPECT_TRUE(Is(STI_OK, sti_trim(model_, 0, &error_), error_));
    return given;
  }

  using Settings = std::vector<std::pair<int32_t, int64_t>>;

  // All that a fresh model gives once these are set one after the other.
  Given Fresh(const Settings& settings) {
    Open();
    for (const auto& [option, value] : settings) Set(option, value);
    return Look();
  }

  std::string importance_;
};

TEST_F(OptionPairs, AreAsAFreshModelWithWhatIsLeft) {
  std::array<bool, std::size(kRows)> at_work{};
  for (size_t i = 0; i < std::size(kRows); ++i) {
    for (size_t j = i + 1; j < std::size(kRows); ++j) {
      const OptionRow& a = kRows[i];
      const OptionRow& b = kRows[j];
      SCOPED_TRACE(std::string(a.name) + " and " + b.name);
      // Most do something beside a target alone.
      Settings base;
      if (a.number != STI_TARGET_US) base.emplace_back(STI_TARGET_US, kTarget_us);
      const auto with = [&](Settings settings) {
        settings.insert(settings.begin(), base.begin(), base.end());
        return settings;
      };
      const Given both = Fresh(with({{a.number, a.value}, {b.number, b.value}}));
      const Given only_a = Fresh(with({{a.number, a.value}}));
      const Given only_b = Fresh(with({{b.number, b.value}}));
      EXPECT_EQ(Fresh(with({{b.number, b.value}, {a.number, a.value}})), both) << "other order";
      EXPECT_EQ(Fresh(with({{a.number, a.other},
                            {b.number, b.other},
                            {a.number, a.value},
                            {b.number, b.value}})),
                both)
          << "set twice";
      Set(a.number, 0);
      EXPECT_EQ(Look(), only_b) << a.name << " set back";
      Set(a.number, a.value);
      EXPECT_EQ(Look(), both) << a.name << " set again";
      Set(b.number, 0);
      EXPECT_EQ(Look(), only_a) << b.name << " set back";
      at_work[i] = at_work[i] || both != only_b;
      at_work[j] = at_work[j] || both != only_a;
    }
  }
  for (size_t i = 0; i < std::size(kRows); ++i) {
    // It takes a multi-label model, and a plan that has one for each clock, to see these.
    if (kRows[i].number == STI_THRESHOLD_PPM || kRows[i].number == STI_CLOCK_KHZ) continue;
    if (kSanitized && kRows[i].number == STI_LOCK_MEMORY) continue;
    EXPECT_TRUE(at_work[i]) << "no pair shows " << kRows[i].name << " at work";
  }
}

// A plan that was made for some memory has it while that is the bound, and no longer.
TEST_F(OptionPairs, ABoundOnMemoryHoldsWhateverThePlanWasMadeFor) {
  Open();
  ASSERT_TRUE(Is(STI_OK, Give(STI_PROFILE, Profile()), error_));
  Set(STI_TARGET_US, kTarget_us);
  for (const int64_t planned_for : {int64_t{290'000}, int64_t{40'000'000}}) {
    Set(STI_MEMORY_BYTES, planned_for);
    ASSERT_TRUE(Is(STI_OK, sti_plan(model_, &error_), error_));
    ASSERT_TRUE(Is(STI_OK, Run("a b c"), error_));
    const double as_planned = sti_stat(model_, STI_OWN_BYTES);
    const std::vector<double> scores = ScoresOf(model_);
    int refused = 0;
    for (int64_t bound = 4096; bound < 2'000'000; bound += bound / 4) {
      SCOPED_TRACE(std::to_string(bound) + " bytes for a plan for " + std::to_string(planned_for));
      Set(STI_MEMORY_BYTES, bound);
      const sti_code code = Run("a b c");
      EXPECT_LE(sti_stat(model_, STI_OWN_BYTES), bound);
      if (code != STI_OK) {
        EXPECT_TRUE(Is(STI_INFEASIBLE, code, error_));
        ++refused;
      } else {
        EXPECT_EQ(ScoresOf(model_), scores);
      }
    }
    EXPECT_GT(refused, 0);
    Set(STI_MEMORY_BYTES, planned_for);
    ASSERT_TRUE(Is(STI_OK, Run("a b c"), error_));
    EXPECT_EQ(sti_stat(model_, STI_OWN_BYTES), as_planned);
  }
}

}  // namespace
}  // namespace sti
