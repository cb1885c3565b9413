// The two lanes of a pipeline, played through. The IO lane reads, the compute lane computes, and a
// layer waits for its reads. Where agents read (Hermes, III), several read whole layers side by
// side, each as an IO lane of its own. A picture of the lanes and a predicted latency come from one
// play, so they cannot differ.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/device_model.h"
#include "types/shard_id.h"

namespace sti {

/// A shard that is read while the pipeline runs.
struct StreamedShard {
  uint32_t position = 0;  ///< index of its layer among the executed ones; ascending
  uint64_t bytes = 0;
  double load_us = 0;
  ShardAtBits shard = {};  ///< for who draws it; no time hangs on it
};

/// The rows of all words, as a run reads them for the head: in `groups` equal ones, behind all
/// shards. The head takes one after the other, and none is kept.
struct WordReads {
  uint32_t groups = 0;  ///< 0: the run reads none
  /// The bytes of a group, which takes staging as shards do; those that stay take it when they
  /// come.
  uint64_t bytes = 0;
  double load_us = 0;  ///< of a group

  [[nodiscard]] double io_us() const { return groups * load_us; }  ///< of all
};

/// Holds the times of what the compute lane does: embeddings, `layers` layers, head.
struct ComputeLane {
  FixedTimes fixed;
  uint32_t layers = 0;
  double layer_us = 0;        ///< each layer but the last, whatever its bits
  double last_us = layer_us;  ///< the last layer, likewise
  /// [layers + 1] microseconds that a cold start takes to read the resident part of each layer,
  /// before its shards, and that of the head, behind the last shard. Empty for a warm run.
  std::vector<double> resident_us = {};
  /// [layers + 1] bytes of these resident parts, which take staging as shards do.
  std::vector<uint64_t> resident_bytes = {};
  /// [layers] microseconds that the bits of a layer's shards add to it; empty: nothing.
  std::vector<double> decode_us = {};
  WordReads words = {};

  [[nodiscard]] double LayerUs(size_t k) const {
    return (k + 1 < layers ? layer_us : last_us) + DecodeUs(k, k + 1);
  }
  /// Returns the time of the first `count` layers, which are not all.
  [[nodiscard]] double UntilUs(size_t count) const {
    return static_cast<double>(count) * layer_us + DecodeUs(0, count);
  }
  /// Returns the time of all layers together.
  [[nodiscard]] double layers_us() const {
    return layers == 0 ? 0 : UntilUs(layers - 1) + LayerUs(layers - 1);
  }
  /// Returns the part of the head's time that goes to one group of words.
  [[nodiscard]] double GroupUs() const { return fixed.head_us / words.groups; }
  /// Returns the time of all that is computed.
  [[nodiscard]] double compute_us() const { return fixed.compute_us() + layers_us(); }

 private:
  /// Returns what bits add to layers `first` up to, but not including, `end`.
  [[nodiscard]] double DecodeUs(size_t first, size_t end) const {
    double sum_us = 0;
    for (size_t k = first; k < end && k < decode_us.size(); ++k) sum_us += decode_us[k];
    return sum_us;
  }
};

/// One stretch of what a lane does, in microseconds from the moment the text is there. Spans of one
/// lane follow each other and never overlap; what lies between two of them is waiting.
struct LaneSpan {
  /// Up to kLoad on the IO lane, from kEmbed on the compute lane. kOpen is what a cold start does
  /// before its rows; a play counts it to them.
  enum class Kind : uint8_t { kOpen, kRows, kResident, kLoad, kEmbed, kLayer, kHead };
  Kind kind = Kind::kRows;
  /// For kLoad the index in the list of shards; for kLayer and kResident the position among the
  /// executed layers, or the number of layers for the head's part and its words, which are one.
  size_t index = 0;
  double start_us = 0;
  double end_us = 0;
  uint32_t agent = 0;  ///< that reads, of several
};

/// Returns whether spans of this kind are the IO lane's.
constexpr bool IsIo(LaneSpan::Kind kind) { return kind <= LaneSpan::Kind::kLoad; }

/// Returns the microseconds from the start of the input to its label; nothing if one layer alone
/// needs more staging than there is. The IO lane reads the embedding rows, then `shards` in order;
/// in a cold start, the shards of a layer come behind its resident part, and the words of the head
/// behind them all. A layer starts when the one before has ended and its shards are there (STI
/// 5.5). `staging_bytes` bounds what is read and not yet freed; the shards of a layer are freed
/// when it ends.
///
/// With a lead of `wake_us` the shards start that much before the text is there; the embedding rows
/// are known only then and go first, so a read under way ends later by their time.
///
/// `spans`, where given, receives what was played, lane by lane in the order it was decided; what
/// takes no time is left out, layers and loads are not.
std::optional<double> PipelineLatency(const ComputeLane& lane,
                                      std::span<const StreamedShard> shards,
                                      std::optional<uint64_t> staging_bytes, double wake_us = 0,
                                      std::vector<LaneSpan>* spans = nullptr);

/// Returns the microseconds from the start of the input to its label when all IO comes before all
/// compute (load-exec). `spans`, where given, receives what was played.
double SerialLatency(const ComputeLane& lane, std::span<const StreamedShard> shards,
                     std::vector<LaneSpan>* spans = nullptr);

/// The agents of a run, and what the device gives them.
struct AgentRates {
  /// [agents] bytes a microsecond that 1, 2, ... of them bring together while so many read.
  std::vector<double> bytes_per_us;

  [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(bytes_per_us.size()); }
  /// Returns what all of them bring; there is one.
  [[nodiscard]] double together() const { return bytes_per_us.back(); }
};

/// Returns the microseconds from the start of the input to its label; nothing if one layer alone
/// needs more staging than there is. `agents` has one or more, whose rates are above 0.
///
/// Embedding rows come first. Agent i of m then reads the shards of the layers at positions i,
/// i + m, ..., in a cold start the resident part of each before them, and what the head reads as
/// positions behind the last layer. Those that read at one time share what they bring together. A
/// shard is read as soon as it has a place: places go by layer, of `staging_bytes` in all, and a
/// layer gives its own back when it has been computed.
///
/// `spans`, where given, receives what was played; loads overlap, each of its agent.
std::optional<double> AgentsLatency(const ComputeLane& lane, std::span<const StreamedShard> shards,
                                    const AgentRates& agents, std::optional<uint64_t> staging_bytes,
                                    std::vector<LaneSpan>* spans = nullptr);

}  // namespace sti
