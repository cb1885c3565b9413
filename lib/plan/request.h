// A planner is given a *request*, which is what a person asks for, and an *input*, which is what is
// known of the model and the device. Every other header of this room stands on these two, and the
// planner on top of all. What depends on an input takes it checked.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "types/device_profile.h"
#include "types/importance.h"
#include "types/limits.h"
#include "types/model_info.h"
#include "types/plan.h"
#include "types/shard_id.h"
#include "types/stage.h"
#include "types/strategy.h"
#include "types/submodel.h"

namespace sti {

/// A plan and its variants are so many plans at most.
inline constexpr size_t kMostPlans = 1 + kMaxVariants;

/// Holds all that judging a plan takes beside plan and input.
struct Judging {
  Risk risk = Risk::kP99;                ///< times that decide what is in time
  std::optional<uint64_t> memory_bytes;  ///< bound for the process; nothing: none
  bool interpolate = false;              ///< estimate T_comp of widths between profiled ones
};

/// The cascade that inputs shall go through before the plan's own submodel (Tabi): that of least
/// mean latency of those that the importance file has measured.
struct CascadeWish {
  uint32_t max_levels = kMaxCascadeLevels;  ///< most levels, the plan's own counted: 2 or 3
};

/// A plan that a person asks for. Times in microseconds, sizes in bytes.
struct PlanRequest {
  /// One input after another, of a process that is warm.
  struct Warm {};
  /// The same, where every input shall have a label by T whatever the reads do: the plan then has a
  /// fallback in its preload buffer. Needs a target and strategy kSti.
  struct Guaranteed {};
  /// Times count from process start to label: all else that is loaded, in the order of need, is in
  /// the plan's times too. Such a plan has no preload and no lead time, and its strategy is not
  /// kPreload.
  struct Cold {};
  /// So many inputs back to back (STI 3.3).
  struct Turns {
    uint32_t count = 1;                  ///< 1 to kMaxTurns
    std::optional<uint64_t> bytes = {};  ///< buffer between turns, at least S; absent: S
  };
  /// How inputs come and what they are promised, of which a plan has one. A cascade needs a target,
  /// and is for strategy kSti or kTabi, one length and one clock. `min_accuracy` is then what its
  /// labels reach; absent: what the best plan without a cascade is predicted to reach, and by kTabi
  /// what its heuristic keeps.
  using Mode = std::variant<Warm, Guaranteed, Cold, Turns, CascadeWish>;

  Mode mode;
  Strategy strategy = Strategy::kSti;  ///< not kWhole or kOther, by which nothing is planned
  /// T; may be absent where `submodel` is given, and of the strategy kPipeload, which then runs the
  /// whole model as fast as memory allows.
  std::optional<double> target_us;
  Judging judging;
  uint64_t preload_bytes = 0;  ///< S
  /// Input length in tokens; 0: the longest profiled. Without further lengths 0 also asks for a
  /// variant of each shorter profiled length, as memory allows, of strategy kSti; a cold start and
  /// `io_budget_bytes` are for one length.
  uint32_t length = 0;
  /// Further lengths and clocks, each a variant that shares the preload buffer. The plan itself is
  /// for the longest length at the first clock.
  std::vector<uint32_t> further_lengths;
  std::vector<uint64_t> clocks;  ///< kHz, see ProfileReading::freq; empty: the highest profiled
  /// The most tokens of a text that is continued, those that are made of it included; 0: as many as
  /// the plan's own length has. Of a model that continues texts alone. Without a length the plan's
  /// own is no longer than this.
  uint32_t context = 0;
  /// How many images a pass has, of a model of images: the plan itself is for the most of them, and
  /// each other number is a variant. Empty: one.
  std::vector<uint32_t> batches;
  /// One bitwidth for all shards. Absent: chosen per shard; 6 for stdpl and preload, 32 for
  /// load-exec and pipeload.
  std::optional<uint32_t> uniform_bits;
  /// Agents of the strategy kPipeload, 1 to kMaxReadStreams; nothing: as many as are fastest.
  std::optional<uint32_t> agents;
  std::optional<Submodel> submodel;
  uint32_t width_min = 1;
  /// Lead time in which shards are read before the text is there; nothing or 0: none.
  std::optional<double> wake_us;
  /// Least accuracy, 0 to 1: the plan is the fastest that is predicted to reach it. Needs an
  /// importance file with A(n, m).
  std::optional<double> min_accuracy;
  /// Accuracy A of the full model, 0 to 1. With it an importance that was measured without labels
  /// can serve `min_accuracy`: a plan that agrees with the full model on a share a of the inputs
  /// has at least A - (1 - a).
  std::optional<double> full_accuracy;
  double similar = 0.2;          ///< how much fewer shards still are "a similar number" (STI 5.3)
  bool allow_untrained = false;  ///< plan submodels of a model that was not trained for them
  uint64_t seed = 0;             ///< seed of the strategy kRandom
  /// Bytes of STI Table 7: start with all shards at the fewest bits and raise shards to 6 bits
  /// until this many further bytes are spent.
  std::optional<uint64_t> io_budget_bytes;

  [[nodiscard]] bool cold() const { return std::holds_alternative<Cold>(mode); }
  [[nodiscard]] bool guarantee() const { return std::holds_alternative<Guaranteed>(mode); }
  /// Returns the turns that are asked for; null: none.
  [[nodiscard]] const Turns* turns() const { return std::get_if<Turns>(&mode); }
  /// Returns the cascade that is asked for; null: none.
  [[nodiscard]] const CascadeWish* cascade() const { return std::get_if<CascadeWish>(&mode); }
};

/// The modes of requests as options name them, each by itself.
struct ModeOptions {
  bool guarantee = false;
  bool cold = false;
  uint32_t turns = 0;                       ///< 0: none
  std::optional<uint64_t> turn_bytes = {};  ///< counts with `turns`
  std::optional<CascadeWish> cascade = {};
};

/// Returns the mode that is named, Warm if none is. kUsage if several are.
Result<PlanRequest::Mode> ModeOf(const ModeOptions& options);

/// Holds the bytes that a process reads once beside shards, each part in whole blocks.
struct ColdBytes {
  uint64_t index = 0;            ///< header and index
  uint64_t vocabulary = 0;       ///< merges of its tokens included
  uint64_t embedding = 0;        ///< parameters beside the rows of tables
  uint64_t head = 0;             ///< pooler and classifier
  std::vector<uint64_t> layers;  ///< [N] resident parts: biases and norms
};

/// Holds the bytes that a process takes before shards. Whoever lays memory out tells these numbers;
/// they depend on model and profile alone, so that a plan is equal on every machine.
struct MemoryBeforeShards {
  std::optional<uint64_t> process;  ///< code, libraries, stacks; nothing: not known
  uint64_t resident = 0;            ///< biases, norms, head and tokenizer of an open model
  uint32_t row_bytes = 0;  ///< one row of word embeddings that is preloaded; 0: none can be
  /// Returns the bytes that a run works in; pure.
  std::function<uint64_t(const PlanExtent& extent)> working = nullptr;
  /// Returns what takes the place of `resident` in a process that runs a stage alone; pure.
  std::function<uint64_t(const StageExtent& stage)> stage_resident = nullptr;
  /// Returns the bytes of the passes that a stage of this extent receives and sends ahead; pure.
  std::function<uint64_t(const PlanExtent& extent)> link = nullptr;
  /// Returns the bytes of embedding rows that a fallback holds for inputs of `tokens` tokens; pure.
  std::function<uint64_t(uint32_t tokens)> fallback_rows = nullptr;
};

/// The facts that a plan is made from. References must outlive whatever is made from them.
struct PlanInput {
  const ModelInfo& info;
  const ShardCatalog& catalog;
  const DeviceProfile& profile;
  const Importance* importance = nullptr;  ///< null: layer, then slice order
  Digest model;
  Digest shape;
  MemoryBeforeShards memory = {};
  const ColdBytes* cold = nullptr;  ///< null: not known, and no cold start can be planned
  /// Token ids, those that are likely the most common first, for where the importance has counted
  /// no words.
  std::span<const uint32_t> common_words = {};
};

/// Returns kUsage unless the request makes sense for some model and device.
Status ValidateRequest(const PlanRequest& request);

/// Returns kUsage if the request asks of a model that embeds what is for labels, or for variants:
/// vectors of two submodels, or of one at two fidelities, do not compare.
Status ValidateForModel(const PlanRequest& request, const ModelInfo& info);

/// A PlanInput that has been validated, once. All code behind MakePlan takes this.
class CheckedInput {
 public:
  /// Returns kDamaged if the catalog, the model or the profile contradicts itself, or the
  /// importance does not have the model's shards; kForeign or kDamaged if profile or importance is
  /// for another model.
  static Result<CheckedInput> Make(const PlanInput& input);

  const PlanInput* operator->() const { return &input_; }

 private:
  explicit CheckedInput(const PlanInput& input) : input_(input) {}

  PlanInput input_;
};

/// Returns a request that `plan`, of the model `info`, answers: its target, the bytes that it
/// preloads, its lengths and clocks, turns and lead time, and whether it has a cascade. What a plan
/// does not tell is as nobody had asked for it: a least width or accuracy, a share that counts as
/// similar, fewer levels of a cascade. Times count by medians where the plan's own 99th percentile,
/// or that through all levels, misses its target, and submodels that were not trained are allowed
/// where it is one. A plan by agents is answered by one of the same submodel and bits, with as many
/// agents as are fastest in the memory that it has. Returns kUsage if no plan can take its place:
/// another without a target, one of a cold start, or of a strategy that does not choose bits by
/// shard.
Result<PlanRequest> RequestOf(const Plan& plan, const ModelInfo& info);

}  // namespace sti
