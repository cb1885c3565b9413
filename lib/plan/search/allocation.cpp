#include "plan/search/allocation.h"

#include <algorithm>
#include <limits>

namespace sti {

Allocation::Allocation(const ShardCosts& costs, std::span<const uint32_t> layers, uint32_t width,
                       const Budget& budget, std::vector<LevelRange> ranges)
    : costs_(&costs),
      layers_(layers.begin(), layers.end()),
      width_(width),
      budget_(budget),
      ranges_(std::move(ranges)),
      levels_(layers.size() * width, 0),
      streamed_us_(layers.size()),
      streamed_bytes_(layers.size()),
      room_us_(layers.size()),
      capacities_us_(budget.Capacities()) {
  if (costs.bits_take_time()) budget_.lane.decode_us.assign(layers.size(), 0);
  if (ranges_.empty()) ranges_.assign(levels_.size(), {0, costs.levels() - 1});
  SetUniform(0);
}

uint64_t Allocation::BytesAt(size_t shard, size_t level) const {
  return costs_->bytes(IdOf(shard), level);
}

double Allocation::LoadAt(size_t shard, size_t level) const {
  return costs_->load_us(IdOf(shard), level);
}

void Allocation::Preload(size_t at_most) {
  preloaded_ = 0;
  preloaded_bytes_ = 0;
  while (preloaded_ < at_most) {
    const uint64_t bytes = BytesAt(preloaded_, levels_[preloaded_]);
    if (bytes > budget_.preload_bytes || preloaded_bytes_ > budget_.preload_bytes - bytes) break;
    preloaded_bytes_ += bytes;
    ++preloaded_;
  }
  Recount(0, layers_.size() - 1);
}

void Allocation::Recount(size_t first_layer, size_t last_layer) {
  for (size_t k = first_layer; k <= last_layer; ++k) {
    streamed_us_[k] = 0;
    streamed_bytes_[k] = budget_.lane.resident_bytes.empty() ? 0 : budget_.lane.resident_bytes[k];
    for (size_t shard = std::max(k * width_, preloaded_); shard < (k + 1) * width_; ++shard) {
      streamed_us_[k] += LoadAt(shard, levels_[shard]);
      streamed_bytes_[k] += BytesAt(shard, levels_[shard]);
    }
  }
}

void Allocation::RecountDecoding(size_t first_layer, size_t last_layer) {
  std::vector<double>& decode_us = budget_.lane.decode_us;
  if (decode_us.empty()) return;
  for (size_t k = first_layer; k <= last_layer; ++k) {
    decode_us[k] = 0;
    for (size_t shard = k * width_; shard < (k + 1) * width_; ++shard)
      decode_us[k] += costs_->decode_us(levels_[shard]);
  }
  capacities_us_ = budget_.Capacities();
}

bool Allocation::FitsTime() const {
  return KeepsWithin(capacities_us_, budget_.wake_us, streamed_us_);
}

std::optional<double> Allocation::StagedLatency() const {
  std::vector<StreamedShard> streamed;
  for (size_t shard = preloaded_; shard < levels_.size(); ++shard) {
    streamed.push_back({static_cast<uint32_t>(shard / width_), BytesAt(shard, levels_[shard]),
                        LoadAt(shard, levels_[shard])});
  }
  return PipelineLatency(budget_.lane, streamed, *budget_.shard_bytes - preloaded_bytes_,
                         budget_.wake_us);
}

bool Allocation::FitsMemory() const {
  if (!budget_.shard_bytes) return true;
  uint64_t most = *std::max_element(streamed_bytes_.begin(), streamed_bytes_.end());
  if (!budget_.lane.resident_bytes.empty())
    most = std::max(most, budget_.lane.resident_bytes.back());
  most = std::max(most, budget_.lane.words.bytes);
  return preloaded_bytes_ + most <= *budget_.shard_bytes;
}

bool Allocation::Fits() const {
  if (!FitsMemory() || !FitsTime()) return false;
  if (!budget_.shard_bytes || !budget_.target_us) return true;
  if (budget_.lane.resident_bytes.empty() && budget_.lane.words.groups == 0 &&
      preloaded_bytes_ + streamed_bytes() <= *budget_.shard_bytes)
    return true;
  // AIBs know nothing of a full staging buffer, so play it through.
  const std::optional<double> latency_us = StagedLatency();
  return latency_us && *latency_us <= *budget_.target_us + kTimeTolerance_us;
}

double Allocation::SmallestTarget() const {
  const double target_us = LeastTarget(budget_, streamed_us_);
  if (!budget_.shard_bytes) return target_us;
  return std::max(target_us, StagedLatency().value_or(target_us));
}

bool Allocation::SetUniform(size_t level) {
  for (size_t shard = 0; shard < levels_.size(); ++shard)
    levels_[shard] = std::clamp(level, ranges_[shard].floor, ranges_[shard].ceiling);
  return PreloadAndRecount();
}

bool Allocation::SetLevels(std::span<const size_t> levels) {
  levels_.assign(levels.begin(), levels.end());
  return PreloadAndRecount();
}

bool Allocation::PreloadAndRecount() {
  RecountDecoding(0, layers_.size() - 1);
  Preload(levels_.size());
  bool fits = Fits();
  if (budget_.shard_bytes && !fits) fits = PreloadFewer();
  UpdateRoom();
  return fits;
}

bool Allocation::PreloadFewer() {
  const size_t most = preloaded_;
  std::optional<size_t> within_memory;
  if (FitsMemory()) within_memory = most;
  for (size_t layer = (most + width_ - 1) / width_; layer-- > 0;) {
    Preload(layer * width_);
    if (Fits()) return true;
    if (!within_memory && FitsMemory()) within_memory = preloaded_;
  }
  Preload(within_memory.value_or(0));
  return false;
}

void Allocation::Raise(size_t shard, size_t level) {
  const size_t first = std::min(preloaded_, shard) / width_;
  size_t last = shard / width_;
  if (shard < preloaded_) {
    preloaded_bytes_ += BytesAt(shard, level) - BytesAt(shard, levels_[shard]);
    last = (preloaded_ - 1) / width_;
  }
  levels_[shard] = level;
  RecountDecoding(shard / width_, shard / width_);
  const size_t before = preloaded_;
  while (preloaded_bytes_ > budget_.preload_bytes) {
    --preloaded_;
    preloaded_bytes_ -= BytesAt(preloaded_, levels_[preloaded_]);
  }
  if (shard < before && preloaded_ == before) return;  // nothing streamed has changed
  Recount(std::min(first, preloaded_ / width_), last);
}

bool Allocation::TryRaise(size_t shard, size_t level) {
  if (level > ranges_[shard].ceiling) return false;
  const double extra_us = LoadAt(shard, level) - LoadAt(shard, levels_[shard]);
  // A layer that takes less gives its own budget that much.
  const double given_us =
      std::max(0.0, costs_->decode_us(levels_[shard]) - costs_->decode_us(level));
  if (shard >= preloaded_ && extra_us > room_us_[shard / width_] + given_us + 2 * kTimeTolerance_us)
    return false;
  const size_t old_level = levels_[shard];
  const size_t old_preloaded = preloaded_;
  const uint64_t old_bytes = preloaded_bytes_;
  Raise(shard, level);
  if (Fits()) {
    UpdateRoom();
    return true;
  }
  levels_[shard] = old_level;
  RecountDecoding(shard / width_, shard / width_);
  const size_t first = std::min({preloaded_, old_preloaded, shard}) / width_;
  const size_t last = std::max(old_preloaded == 0 ? 0 : old_preloaded - 1, shard) / width_;
  preloaded_ = old_preloaded;
  preloaded_bytes_ = old_bytes;
  Recount(first, last);
  return false;
}

void Allocation::UpdateRoom() {
  double spent_us = 0;
  for (size_t k = 0; k < room_us_.size(); ++k) {
    spent_us += streamed_us_[k];
    room_us_[k] = capacities_us_[k] - spent_us;
  }
  for (size_t k = room_us_.size(); k-- > 1;)
    room_us_[k - 1] = std::min(room_us_[k - 1], room_us_[k]);
}

std::optional<size_t> SetHighestUniform(Allocation* allocation) {
  for (size_t level = allocation->costs().levels(); level-- > 0;) {
    if (allocation->SetUniform(level)) return level;
  }
  return std::nullopt;
}

void RaiseByLevel(Allocation* allocation, std::span<const size_t> order) {
  for (size_t level = 1; level < allocation->costs().levels(); ++level) {
    for (size_t shard : order) {
      if (allocation->level(shard) + 1 == level) allocation->TryRaise(shard, level);
    }
  }
}

void RaiseToHighest(Allocation* allocation, std::span<const size_t> order) {
  for (size_t shard : order) {
    for (size_t level = allocation->costs().levels() - 1; level > allocation->level(shard); --level)
      if (allocation->TryRaise(shard, level)) break;
  }
}

}  // namespace sti
