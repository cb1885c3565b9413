// A walk through sti.h: calls drawn at random, over a flash that works, is slow, fails, hangs and
// recovers, for two models under one host. A reference of a few fields says what is in force: the
// plan, the options, the turn. After a step a model is opened anew and brought there the shortest
// way, and both answer the same texts with the same bits, out of the same memory and by the same
// reads. So a model that has been through anything equals a fresh one.
//
// STI_TEST_WALK_S: walks for so many seconds, from the seed STI_TEST_WALK_SEED on, where a few are
// walked otherwise. A walk that fails is shrunk to the fewest steps, which are printed as calls.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "callback_storage.h"
#include "format/profile_file.h"
#include "sti_fixture.h"
#include "support/random.h"
#include "walk_plans.h"
#include "walk_steps.h"
#include "walker.h"

namespace sti {
namespace {

class Walk : public ::testing::Test {
 protected:
  void SetUp() override {
    TinyModelOptions model = FiveByFour();
    model.extra_tokens = 200;
    model.labels = 7;
    auto report = WriteTinyContainer(path_, model);
    ASSERT_TRUE(Succeeded(report));
    bytes_ = FileBytes(path_);
    plans_ = WalkPlans(report->index).All();
    MakeProfile();
    extra_id_ = static_cast<uint32_t>(TinyVocabulary().size());
    ASSERT_EQ(sti_host_new(2, nullptr, nullptr, &host_, nullptr), STI_OK);
  }
  void TearDown() override { sti_host_free(host_); }

  /// Layers take seconds, so that no run under a plan that is made is late.
  void MakeProfile() {
    DeviceProfile profile;
    for (const uint32_t bits : {2U, 3U, 4U, 5U, 6U, 32U})
      profile.io.push_back({.bits = bits, .load_us = 6000.0 * bits, .p99_us = 6100.0 * bits});
    for (const uint64_t freq : {uint64_t{1'000'000}, uint64_t{2'000'000}}) {
      for (uint32_t width = 1; width <= 4; ++width) {
        const double layer_us = 1e12 / static_cast<double>(freq) * width;
        profile.compute.push_back({32, width, layer_us, 1.01 * layer_us, freq});
      }
    }
    const std::vector<uint8_t> bytes = EncodeProfile(profile);
    profile_.assign(bytes.begin(), bytes.end());
  }

  // ---- Calls of one model ----

  sti_model* Open(Storage* storage) {
    sti_model* model = nullptr;
    EXPECT_EQ(sti_open_read(host_, Storage::ReadAt, storage, bytes_.size(), &model, nullptr),
              STI_OK);
    return model;
  }
  static sti_code Give(sti_model* model, int32_t kind, const std::string& bytes) {
    return sti_give(model, kind, bytes.data(), bytes.size(), nullptr);
  }
  /// The drift that runs have shown is of the past, and begins anew with the profile.
  sti_code MakePlan(sti_model* model) const {
    const sti_code given = Give(model, STI_PROFILE, profile_);
    return given == STI_OK ? sti_plan(model, nullptr) : given;
  }
  // ---- The reference ----

  [[nodiscard]] const WalkPlan* Given(const InForce& in) const {
    return in.given ? &plans_[*in.given] : nullptr;
  }
  static int64_t OptionOf(const InForce& in, int32_t option) {
    const auto found = in.options.find(option);
    return found == in.options.end() ? 0 : found->second;
  }
  /// It holds what a trim cannot give back.
  [[nodiscard]] bool HasFallback(const InForce& in) const {
    if (in.given) return plans_[*in.given].guaranteed;
    return in.made && in.made->contains(STI_GUARANTEE);
  }
  /// A run is guaranteed to give up in time, and not only in tens of seconds.
  [[nodiscard]] bool IsGuaranteed(const InForce& in) const {
    const WalkPlan* plan = Given(in);
    return plan != nullptr && plan->guaranteed && !in.reload &&
           OptionOf(in, STI_LATE) == STI_LATE_DEGRADE;
  }

  /// Opens a model and brings it to what is in force the shortest way.
  sti_model* Fresh(const InForce& in, Storage* storage) {
    sti_model* model = Open(storage);
    const auto set = [&](const std::map<int32_t, int64_t>& options) {
      for (const auto& [option, value] : options) sti_set(model, option, value, nullptr);
    };
    if (in.given) {
      EXPECT_EQ(Give(model, STI_PLAN, plans_[*in.given].bytes), STI_OK);
    }
    if (in.made) {
      set(*in.made);
      EXPECT_EQ(MakePlan(model), STI_OK);
      for (const auto& [option, value] : *in.made) sti_set(model, option, 0, nullptr);
    }
    set(in.options);
    return model;
  }

  // ---- Comparing ----

  /// A run that may be degraded does not wait for its last reads: the shards that come with them
  /// are counted, and others given back, by the call after it.
  [[nodiscard]] static bool IsHeldKnown(const InForce& in) {
    return OptionOf(in, STI_LATE) == STI_LATE_WAIT;
  }
  /// Counts an answer, each window of which was a run.
  static void Count(Walker& walker) {
    ++walker.in_force.turn;
    walker.in_force.runs += static_cast<uint64_t>(sti_stat(walker.model, STI_WINDOWS));
  }
  /// Compares the walker with a fresh model. Returns what differs.
  std::string Compare(Walker& walker) {
    InForce& in = walker.in_force;
    if (in.reload) in.turn = in.runs = 0;
    const WalkPlan* plan = Given(in);
    Storage storage{bytes_};
    sti_model* const fresh = Fresh(in, &storage);
    const size_t turns = plan != nullptr ? plan->turns : 2;  // of plans that are made: two at most
    for (size_t i = 0; i < std::min<size_t>(in.runs, turns); ++i) (void)RunText(fresh, kProbes[0]);
    std::string text;
    for (const Text& probe : kProbes) {
      bool well = true;  // what a run that was degraded has not read, the next one does
      for (const bool again : {false, true}) {
        const bool held = again && well && IsHeldKnown(in);
        const Outcome walked = Ask(walker.model, probe, held);
        const Outcome expected = Ask(fresh, probe, held);
        if (walked.code == STI_OK) {
          Count(walker);
          in.reload = false;
          if (sti_stat(walker.model, STI_TURN) != static_cast<double>(in.turn))
            text += "turn " + std::to_string(sti_stat(walker.model, STI_TURN)) + ", not " +
                    std::to_string(in.turn) + "; ";
        }
        // On a machine that is busy reads may not come in time: nothing is compared then.
        if (walked.fell_back || expected.fell_back) {
          ++excused_;
          well = false;
          continue;
        }
        ++compared_;
        text += Differences(walked, expected);
        if (!IsRanked(walker.model)) text += "labels that are not in the order of their scores; ";
      }
    }
    sti_close(fresh);
    return text;
  }

  /// While reads hang, a guarantee that is in force answers as a fresh model's does.
  std::string CompareFallback(Walker& walker) {
    const uint32_t ids[] = {2, extra_id_ + next_unseen_++ % 200, 3};
    Storage storage{bytes_};
    sti_model* const fresh = Fresh(walker.in_force, &storage);
    EXPECT_EQ(RunText(fresh, kProbes[0]), STI_OK);
    const auto ask = [&](sti_model* model, Storage& flash) -> Outcome {
      Outcome out;
      const bool in_time = EndsWhileReadsHang(
          flash, [&] { out.code = sti_run_ids(model, ids, std::size(ids), nullptr); });
      out.scores = ScoresOf(model);
      out.figures["in time"] = in_time ? 1 : 0;
      out.figures["rows missing"] = sti_stat(model, STI_ROWS_MISSING);
      return out;
    };
    const Outcome walked = ask(walker.model, *walker.storage);
    const Outcome expected = ask(fresh, storage);
    sti_close(fresh);
    if (walked.code == STI_OK) Count(walker);
    ++fell_back_;
    return Differences(walked, expected);
  }

  // ---- Taking steps ----

  std::string GiveStep(Walker& walker, const Step& step) {
    InForce& in = walker.in_force;
    const auto which = static_cast<size_t>(step.which);
    const WalkPlan& plan = plans_[which];
    const sti_code code =
        Cancelled(walker, [&] { return Give(walker.model, STI_PLAN, plan.bytes); });
    if (code == STI_OK) {
      in.given = which;
      in.made.reset();
      in.turn = in.runs = 0;
      in.reload = false;
      return plan.code == STI_OK ? "" : "a plan that is refused otherwise was taken";
    }
    if (plan.code != STI_OK) return Wrong(walker, code, plan.code);
    const bool cannot_degrade = OptionOf(in, STI_LATE) == STI_LATE_DEGRADE && !plan.can_degrade;
    if (cannot_degrade && code == STI_USAGE) return "";
    // One with a cascade, or for shorter inputs.
    if (OptionOf(in, STI_WINDOW) != 0 && code == STI_USAGE) return "";
    const int64_t compute = OptionOf(in, STI_COMPUTE);
    const bool computes_otherwise =
        plan.computes && compute != STI_COMPUTE_AS_PLANNED && compute != STI_COMPUTE_INT8;
    if (computes_otherwise) return Wrong(walker, code, STI_USAGE);
    const bool bounded = OptionOf(in, STI_MEMORY_BYTES) != 0;
    if (bounded && code == STI_INFEASIBLE) return "";
    return Wrong(walker, code, STI_OK);
  }
  std::string PlanStep(Walker& walker) {
    InForce& in = walker.in_force;
    const sti_code code = Cancelled(walker, [&] { return MakePlan(walker.model); });
    if (code == STI_OK) {
      in.given.reset();
      in.made = in.options;
      in.turn = in.runs = 0;
      in.reload = false;
      return "";
    }
    // Whether there is a plan for these options is not this test's question, but a fresh model's.
    if (OfFlash(walker, code)) return "";
    Storage storage{bytes_};
    sti_model* const fresh = Open(&storage);
    for (const auto& [option, value] : in.options) sti_set(fresh, option, value, nullptr);
    const sti_code expected = MakePlan(fresh);
    sti_close(fresh);
    return Wrong(walker, code, expected);
  }
  std::string SetStep(Walker& walker, const Step& step) {
    InForce& in = walker.in_force;
    const OptionValues& option = Options()[static_cast<size_t>(step.which)];
    const int64_t before = OptionOf(in, option.option);
    const sti_code code = Cancelled(
        walker, [&] { return sti_set(walker.model, option.option, step.value, nullptr); });
    if (option.option == 99) return Wrong(walker, code, STI_USAGE);
    if (code != STI_OK) return Wrong(walker, code, STI_OK);
    if (step.value == 0)
      in.options.erase(option.option);
    else
      in.options[option.option] = step.value;
    in.reload = in.reload || (option.reloads && before != step.value);
    return "";
  }
  std::string RunStep(Walker& walker, const std::function<sti_code()>& run) {
    InForce& in = walker.in_force;
    const sti_code code = Cancelled(walker, run);
    if (in.reload && code == STI_OK) in.turn = in.runs = 0;
    if (code == STI_OK) {
      Count(walker);
      in.reload = false;
    }
    // Whatever else keeps a run from an answer keeps the fresh model's too: Compare sees that.
    return code == STI_BAD_INPUT ? "a text that is none" : "";
  }
  std::string TrimStep(Walker& walker, const Step& step) {
    const double held = sti_stat(walker.model, STI_OWN_BYTES);
    const double shards = sti_stat(walker.model, STI_PRELOADED_BYTES);
    const auto most = static_cast<uint64_t>(held * static_cast<double>(step.which) / 1000);
    const sti_code code = Cancelled(walker, [&] { return sti_trim(walker.model, most, nullptr); });
    const double after = sti_stat(walker.model, STI_OWN_BYTES);
    if (after == 0) walker.in_force.turn = walker.in_force.runs = 0;
    if (code == STI_OK && after > static_cast<double>(most))
      return "it holds more than it was trimmed to";
    const bool would_do = held - shards <= static_cast<double>(most) && held > 0;
    if (code == STI_OK && after == 0 && would_do && !HasFallback(walker.in_force))
      return "it was closed, where giving back what it preloads would have done";
    return Wrong(walker, code, STI_OK);
  }
  std::string CancelStep(Walker& walker) {
    std::atomic<bool> ended{false};
    std::thread cancelling([&] {
      while (!ended) sti_cancel(walker.model);
    });
    const std::string wrong = RunStep(walker, [&] { return RunText(walker.model, kWalkTexts[2]); });
    ended = true;
    cancelling.join();
    return wrong;
  }
  static std::string ForkStep(const Walker& walker) {
    const pid_t child = fork();
    if (child == 0) {
      const bool refused = sti_run(walker.model, "a", 1, nullptr, 0, nullptr) == STI_USAGE &&
                           sti_label(walker.model, 0) == -1;
      _exit(refused ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status == 0 ? "" : "a forked child's calls were not refused";
  }

  std::string Take(Walker& walker, const Step& step) {
    sti_model* const model = walker.model;
    switch (step.act) {
      case Act::kGive:
        return GiveStep(walker, step);
      case Act::kPlan:
        return PlanStep(walker);
      case Act::kSet:
        return SetStep(walker, step);
      case Act::kRun:
        return RunStep(walker, [&] {
          return RunText(model, kWalkTexts[step.which % std::ssize(kWalkTexts)]);
        });
      case Act::kIds: {
        const uint32_t ids[] = {2, static_cast<uint32_t>(step.which % 30), 3};
        return RunStep(walker, [&] { return sti_run_ids(model, ids, std::size(ids), nullptr); });
      }
      case Act::kWake:
        (void)Cancelled(walker, [&] { return sti_wake(model, nullptr); });
        return "";
      case Act::kEndTurns: {
        const sti_code code = Cancelled(walker, [&] { return sti_end_turns(model, nullptr); });
        if (code == STI_OK) walker.in_force.turn = walker.in_force.runs = 0;
        return Wrong(walker, code, STI_OK);
      }
      case Act::kTrim:
        return TrimStep(walker, step);
      case Act::kCancel:
        return CancelStep(walker);
      case Act::kFlash:
        SetFlash(walker, static_cast<Flash>(FlashOf(step)));
        return "";
      case Act::kReopen:
        SetFlash(walker, Flash::kWorks);
        sti_close(model);
        walker.model = Open(walker.storage.get());
        walker.in_force = {};
        return "";
      case Act::kFork:
        return ForkStep(walker);
    }
    return "";
  }

  /// Walks. Returns what is wrong, with the step at which that showed; nothing: all is well.
  std::optional<std::string> WalkAlong(const std::vector<Step>& steps) {
    std::vector<Walker> walkers(2);
    for (Walker& walker : walkers) {
      walker.storage = std::make_unique<Storage>(bytes_);
      walker.model = Open(walker.storage.get());
    }
    std::string wrong;
    size_t fallbacks = 0;  // each takes its time
    for (size_t i = 0; i < steps.size() && wrong.empty(); ++i) {
      Walker& walker = walkers[steps[i].model];
      wrong = Take(walker, steps[i]);
      const int64_t bound = OptionOf(walker.in_force, STI_MEMORY_BYTES);
      if (wrong.empty() && bound != 0 &&
          sti_stat(walker.model, STI_OWN_BYTES) > static_cast<double>(bound))
        wrong = "it holds more than STI_MEMORY_BYTES";
      if (wrong.empty() && fallbacks < 2 && walker.flash == Flash::kHangs &&
          IsGuaranteed(walker.in_force) && sti_stat(walker.model, STI_OWN_BYTES) > 0) {
        ++fallbacks;
        wrong = CompareFallback(walker);
      }
      const bool bad = walker.flash == Flash::kFails || walker.flash == Flash::kHangs;
      const bool is_last = i + 1 == steps.size();
      if (wrong.empty() && !bad && (steps[i].compared || is_last)) wrong = Compare(walker);
      if (!wrong.empty()) wrong = "after step " + std::to_string(i + 1) + ": " + wrong;
    }
    for (Walker& walker : walkers) {
      SetFlash(walker, Flash::kWorks);
      sti_close(walker.model);
    }
    return wrong.empty() ? std::nullopt : std::optional(wrong);
  }

  /// Leaves out what the failure does not need.
  std::vector<Step> Shrunk(std::vector<Step> steps) {
    for (bool shorter = true; shorter;) {
      shorter = false;
      for (size_t i = steps.size(); i-- > 0;) {
        std::vector<Step> fewer = steps;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        if (!WalkAlong(fewer)) continue;
        steps = fewer;
        shorter = true;
      }
    }
    return steps;
  }

  void WalkFrom(uint64_t seed) {
    TestRandom random(seed);
    const std::vector<Step> steps = DrawSteps(random, plans_);
    const std::optional<std::string> wrong = WalkAlong(steps);
    if (!wrong) return;
    const std::vector<Step> fewest = Shrunk(steps);
    std::string text;
    for (const Step& step : fewest) text += "  " + LineOf(step, plans_) + "\n";
    ADD_FAILURE() << "seed " << seed << ": "
                  << WalkAlong(fewest).value_or("not again; at first " + *wrong) << "\n"
                  << text;
  }

  TempFolder folder_;
  std::string path_ = folder_.File("a.sti");
  std::vector<uint8_t> bytes_;
  std::vector<WalkPlan> plans_;
  std::string profile_;
  uint32_t extra_id_ = 0;
  uint32_t next_unseen_ = 0;
  sti_host* host_ = nullptr;
  size_t compared_ = 0;
  size_t excused_ = 0;
  size_t fell_back_ = 0;
};

TEST_F(Walk, AModelThatHasBeenThroughAnythingEqualsAFreshOne) {
  const char* const seconds = std::getenv("STI_TEST_WALK_S");
  const char* const first = std::getenv("STI_TEST_WALK_SEED");
  uint64_t seed = first == nullptr ? 1 : std::strtoull(first, nullptr, 10);
  constexpr uint64_t kWalks = 24;
  const uint64_t begin = seed;
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::seconds(seconds == nullptr ? 0 : std::strtol(seconds, nullptr, 10));
  while (seed < begin + kWalks || std::chrono::steady_clock::now() < end) {
    WalkFrom(seed++);
    if (HasFailure()) break;
  }
  std::printf("%zu walks, %zu answers compared, %zu excused, %zu by a fallback\n",
              static_cast<size_t>(seed - begin), compared_, excused_, fell_back_);
  EXPECT_LT(excused_, compared_ / 3 + 10);
  if (seconds != nullptr) {
    EXPECT_GT(fell_back_, 0U);
  }
}

// Whichever plan was in force before, an open model goes on as a fresh one under the plan that it
// is given: its kinds of arithmetic, shards, words, levels and turns.
TEST_F(Walk, APlanAfterAnyOtherIsAsAFreshModels) {
  const auto asked_under = [](sti_model* model, const WalkPlan& plan) {
    EXPECT_EQ(Give(model, STI_PLAN, plan.bytes), STI_OK) << plan.name;
    std::vector<Outcome> outcomes;
    for (const bool held : {false, true}) outcomes.push_back(Ask(model, kProbes[1], held));
    return outcomes;
  };
  std::erase_if(plans_, [](const WalkPlan& plan) { return plan.code != STI_OK; });
  Storage storage{bytes_};
  std::vector<std::vector<Outcome>> fresh;
  for (const WalkPlan& plan : plans_) {
    sti_model* const model = Open(&storage);
    fresh.push_back(asked_under(model, plan));
    sti_close(model);
  }
  sti_model* const model = Open(&storage);
  for (const WalkPlan& before : plans_) {
    for (size_t i = 0; i < plans_.size(); ++i) {
      ASSERT_EQ(Give(model, STI_PLAN, before.bytes), STI_OK);
      const std::vector<Outcome> walked = asked_under(model, plans_[i]);
      for (size_t time = 0; time < walked.size(); ++time)
        EXPECT_EQ(Differences(walked[time], fresh[i][time]), "")
            << plans_[i].name << " after " << before.name;
    }
  }
  sti_close(model);
}

}  // namespace
}  // namespace sti
