#include "plan/lanes.h"

#include <algorithm>

namespace sti {
namespace {

using Kind = LaneSpan::Kind;

/// The pipeline at work: what each lane has reached.
class Lanes {
 public:
  Lanes(const ComputeLane& lane, std::optional<uint64_t> staging_bytes, double wake_us,
        std::vector<LaneSpan>* spans)
      : lane_(lane),
        staging_bytes_(staging_bytes),
        spans_(spans),
        staged_(lane.layers + 1 + lane.words.groups),
        waits_(staged_.size()),
        ends_us_(staged_.size()),
        io_us_(-wake_us),
        compute_us_(lane.fixed.embed_io_us) {
    if (io_us_ >= 0) ReadTableRows();
    Compute(Kind::kEmbed, 0, lane.fixed.embed_us);
  }

  /// Runs layers up to, but not including, `position`; their shards have all been read.
  void ComputeUntil(uint32_t position) {
    for (; next_ < position; ++next_) {
      compute_us_ = std::max(compute_us_, waits_[next_] ? io_us_ : 0.0);
      Compute(Kind::kLayer, next_, lane_.LayerUs(next_));
      ends_us_[next_] = compute_us_;
    }
  }

  /// Reads the parts of layers up to and including `position`, the head's behind the last layer's;
  /// false if there never is room for one.
  bool ReadResidentsUntil(uint32_t position) {
    for (; residents_read_ < lane_.resident_us.size() && residents_read_ <= position;
         ++residents_read_) {
      ComputeUntil(residents_read_);
      const uint64_t bytes = lane_.resident_bytes[residents_read_];
      if (!MakeRoom(bytes)) return false;
      Load(Kind::kResident, residents_read_, lane_.resident_us[residents_read_]);
      Stage(residents_read_, bytes);
    }
    return true;
  }

  /// Reads one shard as soon as there is room; false if there never is.
  bool Read(const StreamedShard& shard, size_t index) {
    if (!MakeRoom(shard.bytes)) return false;
    Load(Kind::kLoad, index, shard.load_us);
    Stage(shard.position, shard.bytes);
    return true;
  }

  /// The label's moment, where there is room for the head's part and a group of its words.
  std::optional<double> Finish() {
    if (!ReadResidentsUntil(lane_.layers)) return std::nullopt;
    ComputeUntil(lane_.layers);
    if (!rows_read_) ReadTableRows();
    if (!lane_.resident_us.empty()) compute_us_ = std::max(compute_us_, io_us_);
    if (lane_.words.groups > 0) return FinishWords();
    Compute(Kind::kHead, 0, lane_.fixed.head_us);
    return compute_us_;
  }

 private:
  /// Reads the words of the head and computes it, group by group: nothing if there is no room for
  /// one. Both lanes' stretches are shown as one each.
  std::optional<double> FinishWords() {
    ends_us_[next_++] = compute_us_;
    std::optional<double> io_start_us;
    double start_us = 0;
    for (uint32_t group = 0; group < lane_.words.groups; ++group) {
      if (!MakeRoom(lane_.words.bytes)) return std::nullopt;
      if (!io_start_us) io_start_us = io_us_;
      io_us_ += lane_.words.load_us;
      Stage(next_, lane_.words.bytes);
      compute_us_ = std::max(compute_us_, io_us_);
      if (group == 0) start_us = compute_us_;
      compute_us_ += lane_.GroupUs();
      ends_us_[next_++] = compute_us_;
    }
    Note(Kind::kResident, lane_.layers, *io_start_us, io_us_);
    Note(Kind::kHead, 0, start_us, compute_us_);
    return compute_us_;
  }

  void Note(Kind kind, size_t index, double start_us, double end_us) {
    const bool shown = end_us > start_us || kind == Kind::kLoad || kind == Kind::kLayer;
    if (spans_ != nullptr && shown) spans_->push_back({kind, index, start_us, end_us});
  }

  void Compute(Kind kind, size_t index, double time_us) {
    Note(kind, index, compute_us_, compute_us_ + time_us);
    compute_us_ += time_us;
  }

  void Load(Kind kind, size_t index, double load_us) {
    double left_us = load_us;
    if (!rows_read_ && io_us_ + left_us > 0) {
      // The text comes while this read is under way, or while the lane waits for room.
      if (io_us_ < 0) {
        left_us += io_us_;
        Note(kind, index, io_us_, 0);
      }
      ReadTableRows();
    }
    Note(kind, index, io_us_, io_us_ + left_us);
    io_us_ += left_us;
  }

  void Stage(uint32_t position, uint64_t bytes) {
    used_ += bytes;
    staged_[position] += bytes;
    waits_[position] = true;
  }

  /// At time 0, whatever the lane has been doing or waiting for.
  void ReadTableRows() {
    Note(Kind::kRows, 0, 0, lane_.fixed.embed_io_us);
    io_us_ = std::max(io_us_, 0.0) + lane_.fixed.embed_io_us;
    rows_read_ = true;
  }

  bool MakeRoom(uint64_t bytes) {
    if (!staging_bytes_) return true;
    while (bytes > *staging_bytes_ || used_ > *staging_bytes_ - bytes) {
      if (oldest_ >= next_) return false;  // only this very layer is staged
      if (staged_[oldest_] > 0) WaitUntil(ends_us_[oldest_]);
      used_ -= staged_[oldest_];
      ++oldest_;
    }
    return true;
  }

  /// No layer ends before the rows are read, so a lane that waits for one reads them meanwhile.
  void WaitUntil(double time_us) {
    if (!rows_read_) ReadTableRows();
    io_us_ = std::max(io_us_, time_us);
  }

  const ComputeLane& lane_;
  const std::optional<uint64_t> staging_bytes_;
  std::vector<LaneSpan>* spans_;
  std::vector<uint64_t> staged_;  ///< bytes read for each layer, the head, and groups of its words
  std::vector<bool> waits_;       ///< for each of them, that something is read for it
  std::vector<double> ends_us_;   ///< when each layer ended, the head began, and had each group
  double io_us_;
  double compute_us_;
  bool rows_read_ = false;
  uint64_t used_ = 0;  ///< bytes staged now
  uint32_t next_ = 0;  ///< layer to compute next, then the head and its groups
  uint32_t residents_read_ = 0;
  uint32_t oldest_ = 0;  ///< first layer not freed
};

}  // namespace

std::optional<double> PipelineLatency(const ComputeLane& lane,
                                      std::span<const StreamedShard> shards,
                                      std::optional<uint64_t> staging_bytes, double wake_us,
                                      std::vector<LaneSpan>* spans) {
  Lanes lanes(lane, staging_bytes, wake_us, spans);
  for (size_t i = 0; i < shards.size(); ++i) {
    if (!lanes.ReadResidentsUntil(shards[i].position)) return std::nullopt;
    lanes.ComputeUntil(shards[i].position);
    if (!lanes.Read(shards[i], i)) return std::nullopt;
  }
  return lanes.Finish();
}

double SerialLatency(const ComputeLane& lane, std::span<const StreamedShard> shards,
                     std::vector<LaneSpan>* spans) {
  double now_us = 0;
  const auto work = [&](Kind kind, size_t index, double time_us) {
    const bool shown = time_us > 0 || kind == Kind::kLoad || kind == Kind::kLayer;
    if (spans != nullptr && shown) spans->push_back({kind, index, now_us, now_us + time_us});
    now_us += time_us;
  };
  work(Kind::kRows, 0, lane.fixed.embed_io_us);
  size_t parts = 0;
  const auto read_parts = [&](size_t until) {
    for (; parts < lane.resident_us.size() && parts <= until; ++parts)
      work(Kind::kResident, parts, lane.resident_us[parts]);
  };
  for (size_t i = 0; i < shards.size(); ++i) {
    read_parts(shards[i].position);
    work(Kind::kLoad, i, shards[i].load_us);
  }
  read_parts(lane.layers);
  work(Kind::kResident, lane.layers, lane.words.io_us());
  work(Kind::kEmbed, 0, lane.fixed.embed_us);
  for (size_t k = 0; k < lane.layers; ++k) work(Kind::kLayer, k, lane.LayerUs(k));
  work(Kind::kHead, 0, lane.fixed.head_us);
  return now_us;
}

}  // namespace sti
