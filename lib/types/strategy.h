// How a plan was made. Plan files and options name a strategy by text, which becomes a value here
// once, where it is read. The planner predicts, and the pipeline runs, as DelayModelFor says.
#pragma once

#include <cstdint>
#include <string_view>

namespace sti {

enum class Strategy : uint8_t {
  kSti,       ///< submodel, bits and preload chosen together where IO binds
  kStiPaper,  ///< two stages, as STI 5.3 and 5.4 print them
  kRandom,    ///< kStiPaper with a shuffle in place of importance
  kLoadExec,  ///< STI Table 4: all IO, then all compute
  kStdpl,     ///< STI Table 4: a pipeline at one bitwidth
  kPreload,   ///< STI Table 4: all shards in memory
  kTabi,      ///< a cascade by the heuristic of Tabi 5
  kPipeload,  ///< Hermes III: agents that read whole layers side by side
  kWhole,     ///< no planning: one submodel at one bitwidth
  kOther,     ///< text that names none of these
};

/// How the time of a run adds up.
enum class DelayModel : uint8_t {
  kBudgets,   ///< a pipeline, in time if no accumulated IO budget is overdrawn
  kPipeline,  ///< a pipeline without preload, in time by its latency
  kSerial,    ///< IO, then compute
  kMemory,    ///< compute alone
};

/// Returns whether runs keep shards in a preload buffer.
constexpr bool KeepsShards(DelayModel model) {
  return model == DelayModel::kBudgets || model == DelayModel::kMemory;
}

/// Returns "sti-paper"; empty for kOther.
std::string_view NameOf(Strategy strategy);

/// Returns the strategy with this name, kOther if there is none.
Strategy ParseStrategy(std::string_view name);

constexpr DelayModel DelayModelFor(Strategy strategy) {
  switch (strategy) {
    case Strategy::kLoadExec:
      return DelayModel::kSerial;
    case Strategy::kStdpl:
    case Strategy::kPipeload:
      return DelayModel::kPipeline;
    case Strategy::kPreload:
      return DelayModel::kMemory;
    default:
      return DelayModel::kBudgets;
  }
}

}  // namespace sti
