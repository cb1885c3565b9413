// Parts of a measurement, cut anywhere and resumed anywhere, join to what the whole one gives.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/remedy.h"
#include "format/importance_file.h"
#include "importance/importance_join.h"
#include "importance/importance_world.h"

namespace sti {
namespace {

class ImportanceParts : public ImportanceWorld {
 protected:
  ImportanceParts() { options_.metric = Metric::kLoss; }

  std::vector<NamedPart> Parts(uint32_t parts) {
    std::vector<NamedPart> all;
    options_.parts = parts;
    for (options_.part = 1; options_.part <= parts; ++options_.part) {
      auto part = MeasurePart(options_);
      EXPECT_TRUE(Succeeded(part));
      if (part.ok()) all.push_back({"p" + std::to_string(options_.part), *std::move(part)});
    }
    options_.part = options_.parts = 1;
    return all;
  }

  std::vector<uint8_t> Whole() {
    const auto whole = Measure(options_);
    EXPECT_TRUE(Succeeded(whole));
    return whole.ok() ? EncodeImportance(*whole) : std::vector<uint8_t>();
  }

  void ExpectJoinsTo(const std::vector<uint8_t>& whole, std::vector<NamedPart> parts) {
    const auto joined = JoinImportanceParts(std::move(parts));
    ASSERT_TRUE(Succeeded(joined));
    EXPECT_EQ(EncodeImportance(*joined), whole);
  }

  ImportanceOptions options_;
};

TEST_F(ImportanceParts, AnyNumberJoinsToTheSameBytes) {
  const auto whole = Whole();
  for (const uint32_t parts : {1U, 2U, 3U, 8U, 13U, 14U, 40U}) {
    auto all = Parts(parts);
    std::reverse(all.begin(), all.end());
    ExpectJoinsTo(whole, std::move(all));
  }
}

TEST_F(ImportanceParts, EveryOptionJoinsToTheSameBytes) {
  for (const Metric metric : {Metric::kAccuracy, Metric::kKl}) {
    options_.metric = metric;
    options_.submodels = options_.gains = true;
    options_.threads = 1;
    options_.cache_bytes = 0;
    const auto whole = Whole();
    options_.threads = 2;
    options_.cache_bytes = uint64_t{1} << 30;
    ExpectJoinsTo(whole, Parts(5));
  }
}

TEST_F(ImportanceParts, PartsOfOneModelMayBeCutInSeveralWays) {
  const auto whole = Whole();
  auto halves = Parts(2);
  auto quarters = Parts(4);
  // Only if the cuts fall together, which those of equal cost need not do.
  if (quarters[1].part.end == halves[0].part.end) {
    ExpectJoinsTo(whole, {halves[0], quarters[2], quarters[3]});
  }
  const auto mixed = JoinImportanceParts({halves[0], quarters[3]});
  EXPECT_TRUE(FailedWith(mixed, ErrorKind::kDamaged, "before p4 (part 4/4); give all parts"));
}

TEST_F(ImportanceParts, GapsOverlapsAndDuplicatesAreRefused) {
  const auto parts = Parts(4);
  const auto refused = [&](const std::vector<size_t>& which, const std::string& words) {
    std::vector<NamedPart> some;
    some.reserve(which.size());
    for (const size_t i : which) some.push_back(parts[i]);
    EXPECT_TRUE(FailedWith(JoinImportanceParts(some), ErrorKind::kDamaged, words));
  };
  refused({1, 2, 3}, "no part has units 1 to ");
  refused({0, 1, 2}, "which come after p3 (part 3/4); give all parts");
  refused({0, 3, 1}, "which come after p2 before p4 (part 4/4); give all parts");
  refused({0, 1, 2, 3, 2}, "p3 and p3 overlap: both have unit");
  EXPECT_TRUE(FailedWith(JoinImportanceParts({}), ErrorKind::kUsage, "no parts"));
  auto halves = Parts(2);
  halves.push_back(parts[0]);
  EXPECT_TRUE(FailedWith(JoinImportanceParts(halves), ErrorKind::kDamaged, "p1 and p1 overlap"));
}

TEST_F(ImportanceParts, WhatDoesNotBelongIsRefused) {
  const auto parts = Parts(2);
  const struct {
    void (*change)(ImportancePart&);
    const char* words;
    ErrorKind kind = ErrorKind::kForeign;
  } cases[] = {
      {[](ImportancePart& p) { ++p.job.model.bytes[3]; }, "p2: is of another model ("},
      {[](ImportancePart& p) { ++p.job.data.bytes[3]; }, "p2: is of other data ("},
      {[](ImportancePart& p) { p.job.metric = Metric::kKl; },
       "another metric (kl, not loss), unlike p1"},
      {[](ImportancePart& p) { p.job.kernel = "x"; }, "another kernel (x, not native-"},
      {[](ImportancePart& p) { p.job.gains = true; }, "a measurement with gains"},
      {[](ImportancePart& p) {
         p.job.submodels = {{1, 1, 2}};
       },
       "a measurement with submodels"},
      {[](ImportancePart& p) { p.job.raised_bits = {6}; }, "a container with other bits"},
      {[](ImportancePart& p) { p.job.base_bits = 5; }, "a container with other bits"},
      {[](ImportancePart& p) { ++p.job.units; }, "p2: is of other work"},
      {[](ImportancePart& p) { --p.end; }, "p2: part 2/2 is unfinished (", ErrorKind::kDamaged},
      {[](ImportancePart& p) { ++p.tallies[3].examples; }, "the parts are damaged",
       ErrorKind::kDamaged},
  };
  for (const auto& one : cases) {
    auto changed = parts;
    one.change(changed[1].part);
    EXPECT_TRUE(FailedWith(JoinImportanceParts(changed), one.kind, one.words));
  }
}

class Resuming : public ImportanceParts {
 protected:
  // Everything that a run would write on its way.
  std::vector<ImportancePart> Checkpoints() {
    std::vector<ImportancePart> all;
    options_.checkpoint = [&](const ImportancePart& part, bool) -> Status {
      all.push_back(part);
      return {};
    };
    EXPECT_TRUE(Succeeded(MeasurePart(options_)));
    options_.checkpoint = nullptr;
    return all;
  }
};

TEST_F(Resuming, FromAnyCheckpointEndsInTheSameBytes) {
  options_.submodels = true;
  const auto whole = Whole();
  const auto checkpoints = Checkpoints();
  ASSERT_GT(checkpoints.size(), 10U);
  EXPECT_EQ(checkpoints.back().end, checkpoints.back().due);
  for (const ImportancePart& checkpoint : checkpoints) {
    options_.resume = &checkpoint;
    EXPECT_EQ(Whole(), whole) << checkpoint.end;
  }
}

TEST_F(Resuming, AStopHandsOverWhatIsDone) {
  const auto whole = Whole();
  ImportancePart so_far;
  bool stopped = false;
  options_.checkpoint = [&](const ImportancePart& part, bool stopping) -> Status {
    so_far = part;
    stopped = stopping;
    return {};
  };
  int asked = 0;
  options_.cancelled = [&] { return ++asked > 9; };
  EXPECT_FALSE(MeasurePart(options_).ok());
  EXPECT_TRUE(stopped);
  EXPECT_GT(so_far.end, 0U);
  EXPECT_LT(so_far.end, so_far.due);
  options_.cancelled = nullptr;
  options_.checkpoint = nullptr;
  options_.resume = &so_far;
  EXPECT_EQ(Whole(), whole);
}

TEST_F(Resuming, AFailingCheckpointEndsIt) {
  options_.checkpoint = [](const ImportancePart&, bool) { return Status(MachineError("full")); };
  EXPECT_TRUE(FailedWith(MeasurePart(options_), ErrorKind::kMachine, "full"));
}

TEST_F(Resuming, WhatDoesNotBelongIsRefused) {
  auto before = Checkpoints()[3];
  options_.resume = &before;
  options_.resume_name = "a.resume";
  options_.parts = 2;
  EXPECT_TRUE(FailedWith(MeasurePart(options_), ErrorKind::kForeign,
                         "a.resume: is of another part of the work, so it cannot be resumed",
                         Remedy::kBeginPartAnew));
  options_.parts = 1;
  options_.metric = Metric::kKl;
  EXPECT_TRUE(
      FailedWith(MeasurePart(options_), ErrorKind::kForeign, "another metric (loss, not kl)"));
  options_.metric = Metric::kLoss;
  options_.gains = true;
  EXPECT_TRUE(FailedWith(MeasurePart(options_), ErrorKind::kForeign, "without gains"));
}

}  // namespace
}  // namespace sti
