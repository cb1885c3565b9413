#include <algorithm>
#include <limits>

#include "plan/lanes.h"

namespace sti {
namespace {

using Kind = LaneSpan::Kind;

constexpr double kNever = std::numeric_limits<double>::infinity();

/// A read of one agent.
struct AgentRead {
  Kind kind = Kind::kLoad;
  size_t index = 0;       ///< as LaneSpan::index
  uint32_t position = 0;  ///< of the layer, the head or a group of its words that wants it
  double bytes = 0;
  uint32_t after = 0;  ///< positions that must be computed before it may begin
};

/// Returns all reads in the order of their places: by position, the resident part first.
std::vector<AgentRead> ReadsInOrder(const ComputeLane& lane,
                                    std::span<const StreamedShard> shards) {
  std::vector<AgentRead> reads;
  const auto add_resident = [&](uint32_t position) {
    if (position >= lane.resident_bytes.size() || lane.resident_bytes[position] == 0) return;
    reads.push_back(
        {Kind::kResident, position, position, static_cast<double>(lane.resident_bytes[position])});
  };
  size_t next = 0;
  for (uint32_t position = 0; position <= lane.layers; ++position) {
    add_resident(position);
    for (; next < shards.size() && shards[next].position == position; ++next)
      reads.push_back({Kind::kLoad, next, position, static_cast<double>(shards[next].bytes)});
  }
  for (uint32_t group = 0; group < lane.words.groups; ++group) {
    reads.push_back({Kind::kResident, lane.layers, lane.layers + 1 + group,
                     static_cast<double>(lane.words.bytes)});
  }
  return reads;
}

/// Fills in what each read waits for. Returns false if one waits for its own layer.
bool FindRoom(std::optional<uint64_t> staging_bytes, std::vector<AgentRead>& reads) {
  if (!staging_bytes) return true;
  const auto most = static_cast<double>(*staging_bytes);
  double staged = 0;  // bytes of reads from `oldest` on
  size_t oldest = 0;
  for (size_t i = 0; i < reads.size(); ++i) {
    staged += reads[i].bytes;
    while (staged > most) {
      const uint32_t position = reads[oldest].position;
      if (position == reads[i].position) return false;
      for (; reads[oldest].position == position; ++oldest) staged -= reads[oldest].bytes;
      reads[i].after = position + 1;
    }
    if (i > 0) reads[i].after = std::max(reads[i].after, reads[i - 1].after);
  }
  return true;
}

/// The lanes at work: one of computation, and one of each agent.
class AgentLanes {
 public:
  AgentLanes(const ComputeLane& lane, const AgentRates& rates, std::vector<AgentRead> reads,
             std::vector<LaneSpan>* spans)
      : lane_(lane),
        rates_(rates),
        spans_(spans),
        reads_(std::move(reads)),
        missing_(lane.layers + 1 + lane.words.groups),
        agents_(rates.count()) {
    for (size_t i = 0; i < reads_.size(); ++i) {
      ++missing_[reads_[i].position];
      agents_[reads_[i].position % rates.count()].reads.push_back(i);
    }
  }

  double Play() {
    Note({Kind::kRows, 0, 0, lane_.fixed.embed_io_us});
    now_us_ = lane_.fixed.embed_io_us;
    Note({Kind::kEmbed, 0, now_us_, now_us_ + lane_.fixed.embed_us});
    compute_ends_us_ = now_us_ + lane_.fixed.embed_us;
    while (!(computes_ == missing_.size() && compute_ends_us_ == kNever)) Step();
    return now_us_;
  }

 private:
  struct Agent {
    std::vector<size_t> reads;
    size_t next = 0;
    bool reading = false;
    double left = 0;  ///< bytes of the read at hand
    double since_us = 0;
  };

  void Note(const LaneSpan& span) {
    if (spans_ != nullptr && span.end_us > span.start_us) spans_->push_back(span);
  }

  // Goes on to the next moment at which a read or a layer ends.
  void Step() {
    BeginWhatMay();
    const auto reading = static_cast<size_t>(
        std::ranges::count_if(agents_, [](const Agent& agent) { return agent.reading; }));
    const double rate =
        reading == 0 ? 0 : rates_.bytes_per_us[reading - 1] / static_cast<double>(reading);
    double next_us = compute_ends_us_;
    for (const Agent& agent : agents_) {
      if (agent.reading) next_us = std::min(next_us, now_us_ + agent.left / rate);
    }
    const double passed_us = next_us - now_us_;
    now_us_ = next_us;
    for (uint32_t i = 0; i < agents_.size(); ++i) {
      Agent& agent = agents_[i];
      if (!agent.reading) continue;
      agent.left -= passed_us * rate;
      if (agent.left <= kLeastBytes) EndRead(agent, i);
    }
    if (compute_ends_us_ <= now_us_) EndCompute();
  }

  void BeginWhatMay() {
    if (compute_ends_us_ == kNever && computes_ < missing_.size() && missing_[computes_] == 0)
      BeginCompute();
    for (Agent& agent : agents_) {
      if (agent.reading || agent.next == agent.reads.size()) continue;
      const AgentRead& read = reads_[agent.reads[agent.next]];
      if (read.after > computes_) continue;
      agent.reading = true;
      agent.left = read.bytes;
      agent.since_us = now_us_;
    }
  }

  void EndRead(Agent& agent, uint32_t number) {
    const AgentRead& read = reads_[agent.reads[agent.next++]];
    agent.reading = false;
    --missing_[read.position];
    Note({read.kind, read.index, agent.since_us, now_us_, number});
  }

  void BeginCompute() {
    const auto position = static_cast<uint32_t>(computes_);
    double time_us = 0;
    Kind kind = Kind::kHead;
    if (position < lane_.layers) {
      time_us = lane_.LayerUs(position);
      kind = Kind::kLayer;
    } else if (lane_.words.groups == 0) {
      time_us = lane_.fixed.head_us;
    } else if (position > lane_.layers) {
      time_us = lane_.GroupUs();
    }
    Note({kind, kind == Kind::kLayer ? position : 0, now_us_, now_us_ + time_us});
    compute_ends_us_ = now_us_ + time_us;
    computing_ = true;
  }

  // The first that ends is the embedding, which nothing waits for.
  void EndCompute() {
    if (computing_) ++computes_;
    computing_ = false;
    compute_ends_us_ = kNever;
  }

  static constexpr double kLeastBytes = 1e-3;  // fewer are rounding

  const ComputeLane& lane_;
  const AgentRates& rates_;
  std::vector<LaneSpan>* spans_;
  std::vector<AgentRead> reads_;
  std::vector<uint32_t> missing_;  ///< [positions] reads
  std::vector<Agent> agents_;
  double now_us_ = 0;
  double compute_ends_us_ = kNever;  ///< of what is computed now
  bool computing_ = false;           ///< whether that is a position
  size_t computes_ = 0;              ///< position that is computed now, or next
};

}  // namespace

std::optional<double> AgentsLatency(const ComputeLane& lane, std::span<const StreamedShard> shards,
                                    const AgentRates& agents, std::optional<uint64_t> staging_bytes,
                                    std::vector<LaneSpan>* spans) {
  std::vector<AgentRead> reads = ReadsInOrder(lane, shards);
  if (!FindRoom(staging_bytes, reads)) return std::nullopt;
  return AgentLanes(lane, agents, std::move(reads), spans).Play();
}

}  // namespace sti
