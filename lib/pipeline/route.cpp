#include "pipeline/route.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/digest.h"
#include "format/shard_codec.h"

namespace sti {
namespace {

using Shard = std::pair<uint32_t, uint32_t>;  // layer, slice

uint64_t HashOf(std::span<const PreloadedShard> shards) {
  return shards.empty() ? 0
                        : Checksum({reinterpret_cast<const uint8_t*>(shards.data()),
                                    shards.size() * sizeof(PreloadedShard)});
}

/// Bits that a shard planned for `bits` can be computed at from these parts; 0 without its base.
uint32_t UsableBits(uint32_t bits, uint32_t kinds) {
  if (bits > kMaxCodeBits) return (kinds >> ShardPartIndex(bits) & 1U) != 0 ? bits : 0;
  uint32_t usable = 0;
  for (uint32_t kind = 0; HasPart(bits, kind) && (kinds >> kind & 1U) != 0; ++kind)
    usable = ShardPartBits(kind);
  return usable;
}

}  // namespace

Route::Route(const ContainerIndex& index, const Plan& plan)
    : index_(&index), plan_(&plan), schedule_(std::make_shared<const LoadSchedule>()) {
  requests_.reserve(plan.layers.size() * plan.width);
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    for (uint32_t i = 0; i < plan.width; ++i)
      requests_.push_back({plan.layers[k], plan.slices[k][i], plan.bits[k][i], k});
  }
  held_views_.resize(requests_.size());
  residents_.resize(groups());
  views_.reserve(plan.width);
  slices_.reserve(plan.width);
  order_.reserve(plan.width);
}

Status Route::Prepare(const PreloadBuffer& buffer, const ResidentModel& resident,
                      const RouteNeed& need) {
  Stamp stamp{need.bits,       buffer.version(),       HashOf(need.keep),      0,
              need.only_ahead, need.refinements_apart, need.limits.arena_bytes};
  for (uint32_t layer : plan_->layers) stamp.residents += resident.HasLayer(layer) ? 1 : 0;
  stamp.residents += resident.HasHead() ? 1 : 0;
  if (stamp == stamp_) return {};
  stamp_ = {};  // until the schedule is made
  std::map<Shard, uint32_t> keep;
  for (const PreloadedShard& shard : need.keep)
    keep[{shard.layer, shard.slice}] = KindsOf(shard.bits);
  std::vector<StagedPart> parts;
  WantResidents(resident, parts);
  for (uint32_t r = 0; r < requests_.size(); ++r) {
    ShardRequest& request = requests_[r];
    request.bits = (*need.bits)[r / plan_->width][r % plan_->width];
    const auto kept = keep.find({request.layer, request.slice});
    WantShard(buffer, need, r, kept == keep.end() ? 0 : kept->second, parts);
  }
  STI_ASSIGN_OR_RETURN(LoadSchedule schedule, ScheduleParts(requests_, parts, need.limits));
  schedule_ = std::make_shared<const LoadSchedule>(std::move(schedule));
  std::fill(residents_.begin(), residents_.end(), nullptr);
  for (const StagedPart& part : schedule_->parts) {
    if (part.kind == kResidentPart) residents_[part.group] = &part;
  }
  std::fill(held_views_.begin(), held_views_.end(), ShardView{});
  stamp_ = stamp;
  return {};
}

void Route::WantResidents(const ResidentModel& resident, std::vector<StagedPart>& parts) const {
  StagedPart part;
  part.kind = kResidentPart;
  for (uint32_t k = 0; k < layers(); ++k) {
    if (resident.HasLayer(plan_->layers[k])) continue;
    part.part = index_->Resident(ResidentKind::kLayer, plan_->layers[k]).part;
    part.request = plan_->layers[k];
    part.group = k;
    parts.push_back(part);
  }
  if (resident.HasHead()) return;
  part.part = index_->Resident(ResidentKind::kHead).part;
  part.request = kHeadOfModel;
  part.group = layers();
  parts.push_back(part);
}

void Route::WantShard(const PreloadBuffer& buffer, const RouteNeed& need, uint32_t request,
                      uint32_t keep_kinds, std::vector<StagedPart>& parts) const {
  const ShardRequest& wanted = requests_[request];
  const uint32_t missing = KindsOf(wanted.bits) & ~buffer.Held(wanted.layer, wanted.slice);
  for (uint32_t kind = 0; kind < kShardPartKinds; ++kind) {
    if ((missing >> kind & 1U) == 0) continue;
    const bool kept =
        (keep_kinds >> kind & 1U) != 0 && buffer.HasPlace(wanted.layer, wanted.slice, kind);
    if (need.only_ahead && !kept) continue;
    StagedPart part;
    part.part = index_->shard(wanted.layer, wanted.slice).parts[kind];
    part.request = request;
    part.kind = kind;
    part.group = wanted.group;
    part.refinement = need.refinements_apart && kind > 0 && kind < ShardPartIndex(kFullBits);
    if (kept) {
      // A read moves whole blocks, and may bring what lies beside its part: only where nothing is
      // held or in use may it land in the buffer itself.
      const uint64_t place = buffer.Place(wanted.layer, wanted.slice, kind);
      if (part.refinement || buffer.Held(wanted.layer, wanted.slice) != 0) {
        part.copy_place = static_cast<int64_t>(place);
      } else {
        part.landing = Landing::kBuffer;
        part.place = place;
      }
    }
    parts.push_back(part);
  }
}

std::span<const uint8_t> Route::ResidentBytes(uint32_t group,
                                              std::span<const uint8_t> arena) const {
  const StagedPart* part = residents_[group];
  return part == nullptr ? std::span<const uint8_t>{}
                         : arena.subspan(part->place, part->part.length);
}

bool Route::FillsBuffer() const {
  return std::any_of(schedule_->parts.begin(), schedule_->parts.end(), [](const StagedPart& part) {
    return part.landing == Landing::kBuffer || part.copy_place >= 0;
  });
}

bool Route::HoldsBase(uint32_t k, const PreloadBuffer& buffer) const {
  const auto row = std::span(requests_).subspan(size_t{k} * plan_->width, plan_->width);
  return std::any_of(row.begin(), row.end(), [&](const ShardRequest& shard) {
    return UsableBits(shard.bits, buffer.Held(shard.layer, shard.slice)) > 0;
  });
}

Result<Route::Layer> Route::ViewLayer(uint32_t k, std::span<const uint8_t> arrived, uint32_t most,
                                      const PreloadBuffer& buffer, std::span<const uint8_t> arena,
                                      const std::string& file,
                                      std::vector<DegradedShard>* degraded) {
  const size_t first = size_t{k} * plan_->width;
  const auto bits_of = [&](uint32_t i) {
    const ShardRequest& shard = requests_[first + i];
    return UsableBits(shard.bits, arrived[i] | buffer.Held(shard.layer, shard.slice));
  };
  order_.resize(plan_->width);
  std::iota(order_.begin(), order_.end(), 0U);
  if (most < plan_->width) {
    std::stable_sort(order_.begin(), order_.end(),
                     [&](uint32_t a, uint32_t b) { return bits_of(a) > bits_of(b); });
    std::sort(order_.begin(), order_.begin() + most);
  }
  views_.clear();
  slices_.clear();
  for (uint32_t at = 0; at < plan_->width; ++at) {
    const uint32_t i = order_[at];
    const ShardRequest& shard = requests_[first + i];
    const uint32_t bits = at < most ? bits_of(i) : 0;
    if (bits < shard.bits) degraded->push_back({shard.layer, shard.slice, bits, shard.bits});
    if (bits == 0) continue;
    STI_ASSIGN_OR_RETURN(const ShardView view, ViewShardAt(first + i, bits, buffer, arena, file));
    views_.push_back(view);
    slices_.push_back(shard.slice);
  }
  return Layer{views_, slices_};
}

Result<ShardView> Route::ViewShardAt(size_t request, uint32_t bits, const PreloadBuffer& buffer,
                                     std::span<const uint8_t> arena, const std::string& file) {
  const ShardRequest& shard = requests_[request];
  const uint32_t held = buffer.Held(shard.layer, shard.slice);
  const bool all_held = (KindsOf(bits) & ~held) == 0;
  // What is held stays where it is, and need not be looked at again.
  if (all_held && held_views_[request].bits == bits) return held_views_[request];
  std::array<std::span<const uint8_t>, kShardPartKinds> parts;
  for (uint32_t kind = 0; kind < kShardPartKinds; ++kind) {
    if (!HasPart(bits, kind)) continue;
    const uint64_t length = index_->shard(shard.layer, shard.slice).parts[kind].length;
    if ((held >> kind & 1U) != 0) {
      parts[kind] = buffer.span().subspan(buffer.Place(shard.layer, shard.slice, kind), length);
      continue;
    }
    const StagedPart& part =
        schedule_->parts[static_cast<size_t>(schedule_->places[request][kind])];
    const auto memory = part.landing == Landing::kBuffer ? buffer.span() : arena;
    parts[kind] = memory.subspan(part.place, length);
  }
  STI_ASSIGN_OR_RETURN(const ShardView view,
                       ViewShard(index_->info, index_->centroids[shard.layer], bits, parts, file));
  if (all_held) held_views_[request] = view;
  return view;
}

}  // namespace sti
