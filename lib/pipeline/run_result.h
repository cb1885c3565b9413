// The account of a run: when its layers and reads began and ended, and which shards ran below their
// planned bits. Times of the IO lane and the compute lane have one origin, the run's begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "types/shard_id.h"

namespace sti {

struct LoadSchedule;

/// The lane's work: none, the reads that Wake began, those of a run, or what is still in flight
/// behind one.
enum class LaneState : uint8_t { kIdle, kWoken, kRunning, kTrailing };

/// One layer of one run, in microseconds since the run began.
struct LayerTrace {
  uint32_t layer = 0;      ///< original index
  double io_begin_us = 0;  ///< its first read was begun; may be before the run, after Wake
  double io_ready_us = 0;  ///< its last byte had arrived and was checked
  double start_us = 0;     ///< its computation began
  double end_us = 0;
  double decode_us = 0;  ///< decoding shards within it, mean over threads; 0 unless metered
  uint32_t slices = 0;   ///< number of slices that it was computed with
};

/// One read of one run.
struct ReadSpan {
  double begin_us = 0;
  double end_us = 0;
  uint32_t read = 0;  ///< index in the schedule
};

/// A shard that did not run at its planned bits.
struct DegradedShard {
  ShardId id;
  uint32_t bits = 0;  ///< bits that it ran at; 0: it was left out
  uint32_t planned_bits = 0;
};

/// Says how a run gave up on IO and went on with its plan's fallback.
struct GivenUp {
  uint32_t layers_before = 0;  ///< layers of the plan that it had computed and went on from
  bool reads_failed = false;   ///< a read had failed; else the reads were late
  uint32_t rows_missing = 0;   ///< tokens whose embedding rows were not in memory
};

/// The account of the agents that read a run's layers side by side.
struct AgentsReport {
  uint32_t agents = 0;
  double stopped_us = 0;           ///< of all together: a read was next, and had no place yet
  uint64_t staged_peak_bytes = 0;  ///< the most of the arena that was taken at once
};

/// The account of one run, in microseconds since it began.
struct RunReport {
  double latency_us = 0;  ///< from input to output
  double embeddings_io_begin_us = 0;
  double embeddings_io_us = 0;     ///< the embedding rows had arrived
  double embeddings_begin_us = 0;  ///< their summing began
  double embeddings_us = 0;        ///< the embedding rows were summed
  double head_us = 0;              ///< the head alone
  double stall_us = 0;             ///< compute lane waiting for IO, embeddings included
  double io_busy_us = 0;           ///< IO lane with reads in flight
  uint64_t bytes_read = 0;         ///< padding included
  uint32_t turn = 1;               ///< turn of the plan that the run was, from 1
  std::vector<LayerTrace> layers;
  std::vector<ReadSpan> reads;          ///< the reads that were made, in order of the schedule
  std::vector<DegradedShard> degraded;  ///< shards that ran below their planned bits
  std::optional<GivenUp> fallback;      ///< nothing: the run did not give up
  std::optional<AgentsReport> agents;   ///< nothing: reads went layer by layer
};

/// The account of a run of one sequence of tokens, and what its head gave.
struct RunResult : RunReport {
  std::vector<float> values;  ///< as PassOutput::values: logits [labels], or an embedding [d]
};

/// Returns the microseconds that the IO lane spent on the k-th layer's reads.
double LayerIoUs(const RunReport& run, size_t k);

/// A time in which an agent had a read to begin, and no place for it: what lay there had not been
/// computed (Hermes, III: from the stop signal until room returns).
struct AgentStop {
  uint32_t agent = 0;
  double begin_us = 0;
  double end_us = 0;
};

/// Returns the stops of a run whose layers so many agents read, by the schedule.
std::vector<AgentStop> StopsOf(const RunReport& run, const LoadSchedule& schedule, uint32_t agents);

/// A moment at which a run took bytes of the arena, or gave some back (negative).
struct StagedChange {
  double at_us = 0;
  int64_t bytes = 0;
};

/// Returns these moments of a run, in order: a read takes its bytes as it begins, and a layer gives
/// back its own as it ends.
std::vector<StagedChange> StagedChangesOf(const RunReport& run, const LoadSchedule& schedule);

/// Returns the account of so many agents.
AgentsReport ReportAgents(const RunReport& run, const LoadSchedule& schedule, uint32_t agents);

/// Returns the least that a pipeline could have taken with these times of its parts: the greatest
/// over layers k of all IO through layer k and all computation from layer k on.
double PipelineBoundUs(const RunReport& run);

}  // namespace sti
