// Plans with a fallback over the container of pipeline_world.h, and pipelines whose reads hang or
// fail.
#pragma once

#include <chrono>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "model/held_rows.h"
#include "pipeline_world.h"
#include "support/fault_reader.h"
#include "support/hanging_reader.h"

namespace sti {

// Whoever shares the machine may hold a run up for so long without making it late.
inline constexpr double kMargin_us = 30e6;
inline constexpr double kDeadline_us = kMargin_us + 80e3;
// For layers that are read before one that hangs.
inline constexpr double kLater_us = kMargin_us + 1.5e6;
// For runs whose reads come: before they fell back, there is as much time again.
inline constexpr double kQuiet_us = 3 * kMargin_us;

// So short that the drift of a run on kTextIds counts.
inline constexpr uint32_t kGuaranteedLength = 12;

/// Gives a plan of 5 x 4 shards a target, times, and a fallback of these layers.
inline Plan WithFallback(Plan plan, std::vector<uint32_t> layers, uint32_t width = 2) {
  plan = Timed(std::move(plan), 1000);
  plan.target_us = kDeadline_us;
  plan.length = kGuaranteedLength;
  plan.fallback = FallbackOf(std::move(layers), width, 2, kMargin_us);
  return plan;
}

/// Returns the fallback of a plan, alone.
inline Plan Alone(const Plan& plan) {
  Plan alone = plan;
  alone.fallback.reset();
  alone.layers = plan.fallback->layers;
  alone.width = plan.fallback->width;
  const auto depth = static_cast<uint32_t>(alone.layers.size());
  alone.slices = Grid<uint32_t>(depth, alone.width);
  for (uint32_t k = 0; k < depth; ++k) {
    for (uint32_t i = 0; i < alone.width; ++i) alone.slices.At(k, i) = i;
  }
  alone.bits = Grid<uint32_t>(depth, alone.width, plan.fallback->bits);
  alone.preload.clear();
  alone.times.reset();
  return alone;
}

class Guarantees : public PipelineTest {
 protected:
  void SetUp() override {
    PipelineTest::SetUp();
    door_.Open();
  }
  void TearDown() override {
    door_.Open();
    layer_door_.Open();
    pipeline_.reset();
  }

  /// Unless rows are kept, each run reads all of its own.
  void Open(const Plan& plan, PipelineOptions options = {}, bool keep_rows = false) {
    options.keep_rows = keep_rows;
    auto inner = OpenBlockReader(path_);
    ASSERT_TRUE(Succeeded(inner));
    auto faults = std::make_unique<FaultReader>(std::move(*inner));
    faults_ = faults.get();
    auto pipeline =
        MakeOver(std::make_unique<HangingReader>(std::move(faults), door_), plan, options);
    ASSERT_TRUE(Succeeded(pipeline));
    pipeline_ = std::move(*pipeline);
  }
  static Ids TypesOf(const Ids& ids) { return ids == kTextIds ? kTextTypes : Ids(ids.size(), 0); }
  RunResult RunOnce(double deadline_us, const Ids& ids = kTextIds) {
    RunTerms terms;
    terms.degrade_for_us = deadline_us;
    RunResult result;
    const size_t known = pipeline_->drift().runs();
    EXPECT_TRUE(Succeeded(RunTokens(*pipeline_, ids, TypesOf(ids), terms, &result)));
    EXPECT_LT(result.latency_us, deadline_us);
    EXPECT_EQ(pipeline_->drift().runs() - known, result.fallback ? 0U : 1U)
        << "a run that gave up on its plan says nothing of the plan's times";
    return result;
  }
  /// Lets reads go, and returns the first run that they come in time for. Until those that hung
  /// have come back, and their lanes with them, runs fall back as before.
  RunResult RunOnceReadsComeAgain(const Ids& ids = kTextIds) {
    door_.Open();
    RunResult result = RunOnce(kQuiet_us, ids);
    for (int tries = 0; result.fallback && tries < 1000; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      result = RunOnce(kQuiet_us, ids);
    }
    return result;
  }
  /// Returns a text whose words but those of no text are the unknown one.
  [[nodiscard]] Ids AsUnknown(Ids ids) const {
    const TokenizerInfo& tokenizer = index_.info.tokenizer;
    const std::vector<uint32_t> known = WordsOfNoText(tokenizer);
    const std::set<uint32_t> held(known.begin(), known.end());
    for (uint32_t& id : ids) id = held.contains(id) ? id : tokenizer.unknown_id;
    return ids;
  }
  /// Returns the logits of the fallback alone, for a text whose words count as unknown.
  std::vector<float> UnknownByFallback(const Plan& plan, const Ids& text = kTextIds) {
    return DirectModel(path_).Logits(Alone(plan), AsUnknown(text), TypesOf(text));
  }

  Door door_;        ///< of all reads
  Door layer_door_;  ///< of those that StrikeLayer lets hang
  FaultReader* faults_ = nullptr;
  std::unique_ptr<Pipeline> pipeline_;
};

/// Strikes all that a layer reads at these bits: with an error, or so that it hangs before a door.
inline void StrikeLayer(FaultReader* reader, const ContainerIndex& index, uint32_t layer,
                        uint32_t bits, Door* door = nullptr) {
  for (uint32_t slice = 0; slice < index.info.shape.width; ++slice) {
    for (const PartKind kind : kPartKinds) {
      if (!PartSet::For(bits).Has(kind)) continue;
      const PartLocation& part = index.shard({layer, slice}).parts[kind];
      Fault fault;
      fault.kind = door != nullptr ? FaultKind::kHang : FaultKind::kError;
      fault.door = door;
      fault.offset = part.offset;
      fault.length = part.length;
      reader->Inject(fault);
    }
  }
}

/// A model whose depth n runs its first n layers, so that a run goes on from where it is.
class GuaranteesOfFirstLayers : public Guarantees {
 protected:
  void SetUp() override {
    Guarantees::SetUp();
    TinyModelOptions model = FiveByFour();
    model.elastic = false;
    path_ = folder_.File("first-layers.sti");
    auto report = WriteTinyContainer(path_, model);
    ASSERT_TRUE(Succeeded(report));
    index_ = report->index;
  }
};

}  // namespace sti
