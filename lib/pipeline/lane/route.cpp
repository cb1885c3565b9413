#include "pipeline/lane/route.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "format/shard_codec.h"
#include "types/bits.h"
#include "types/strategy.h"

namespace sti {

bool ReadsBeforeComputing(const PlanCore& plan) {
  return DelayModelFor(plan.strategy) == DelayModel::kSerial;
}

Route::Route(const ContainerIndex& index, const PlanCore& plan, RouteId id, uint64_t planned_reads)
    : index_(&index),
      plan_(&plan),
      id_(id),
      planned_reads_(planned_reads),
      words_a_group_(WordGroupOf(plan.read_bytes, index.words.rows, index.words.row_bytes).rows),
      pace_(plan.times.value_or(PlanTimes{}), layers(), plan.width),
      schedule_(std::make_shared<const LoadSchedule>()) {
  if (plan.ends.head && index.info.continues_texts())
    word_groups_ = (index.words.rows + words_a_group_ - 1) / words_a_group_;
  requests_.reserve(plan.layers.size() * plan.width);
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    for (uint32_t i = 0; i < plan.width; ++i)
      requests_.push_back({plan.Id(k, i), plan.bits.At(k, i), k});
  }
  held_.resize(requests_.size());
  held_views_.resize(requests_.size());
  residents_.resize(groups());
  views_.reserve(plan.width);
  slices_.reserve(plan.width);
  order_.reserve(plan.width);
}

bool Route::IsPreparedFor(const Stamp& stamp, const PreloadBuffer& buffer,
                          const RouteNeed& need) const {
  const auto held_of = [&](const ShardRequest& shard) { return buffer.Held(shard.id); };
  return stamp_ == stamp && need.held_then.empty() && std::ranges::equal(kept_, need.keep) &&
         std::ranges::equal(requests_, need.bits.values(), {}, &ShardRequest::bits) &&
         std::ranges::equal(requests_, held_, {}, held_of);
}

void Route::NoteHeld(const PreloadBuffer& buffer, std::span<const ShardAtBits> held_then) {
  for (uint32_t r = 0; r < requests_.size(); ++r) {
    held_[r] = buffer.Held(requests_[r].id);
    for (const ShardAtBits& shard : held_then) {
      if (shard.id == requests_[r].id) held_[r] = held_[r].With(PartSet::For(shard.bits));
    }
  }
}

Status Route::Prepare(const PreloadBuffer& buffer, const ResidentModel& resident,
                      const RouteNeed& need) {
  Stamp stamp{0, need.only_ahead, need.refinements_apart, need.limits};
  for (uint32_t layer : plan_->layers) stamp.residents += resident.HasLayer(layer) ? 1 : 0;
  stamp.residents += resident.has_head ? 1 : 0;
  stamp.residents += resident.has_words ? 1 : 0;
  if (IsPreparedFor(stamp, buffer, need)) return {};
  stamp_.reset();  // until the schedule is made
  NoteHeld(buffer, need.held_then);
  kept_.assign(need.keep.begin(), need.keep.end());
  std::map<ShardId, PartSet> keep;
  for (const ShardAtBits& shard : need.keep)
    keep[shard.id] = keep[shard.id].With(PartSet::For(shard.bits));
  std::vector<ScheduledPart> parts;
  WantResidents(resident, parts);
  const bool wants_words = plan_->keeps_vocabulary || !need.only_ahead;
  if (!resident.has_words && wants_words) WantWords(parts);
  for (uint32_t r = 0; r < requests_.size(); ++r) {
    ShardRequest& request = requests_[r];
    request.bits = need.bits.values()[r];
    const auto kept = keep.find(request.id);
    WantShard(buffer, need, r, kept == keep.end() ? PartSet() : kept->second, parts);
  }
  STI_ASSIGN_OR_RETURN(LoadSchedule schedule, ScheduleParts(requests_, parts, need.limits));
  schedule_ = std::make_shared<const LoadSchedule>(std::move(schedule));
  std::fill(residents_.begin(), residents_.end(), nullptr);
  for (const ScheduledPart& part : schedule_->parts) {
    if (!part.kind) residents_[part.group] = &part;
  }
  std::fill(held_views_.begin(), held_views_.end(), ShardView{});
  stamp_ = stamp;
  return {};
}

void Route::WantResidents(const ResidentModel& resident, std::vector<ScheduledPart>& parts) const {
  ScheduledPart part;
  for (uint32_t k = 0; k < layers(); ++k) {
    if (resident.HasLayer(plan_->layers[k])) continue;
    part.part = index_->Resident(ResidentKind::kLayer, plan_->layers[k]).part;
    part.layer = plan_->layers[k];
    part.group = k;
    parts.push_back(part);
  }
  if (resident.has_head) return;
  part.part = index_->Resident(ResidentKind::kHead).part;
  part.layer = std::nullopt;
  part.group = layers();
  parts.push_back(part);
}

WordRange Route::WordsOf(uint32_t group) const {
  const uint32_t first = (group - first_word_group()) * words_a_group_;
  return {first, std::min(words_a_group_, index_->words.rows - first)};
}

void Route::WantWords(std::vector<ScheduledPart>& parts) const {
  const RowTable& words = index_->words;
  for (uint32_t group = first_word_group(); group < groups(); ++group) {
    const WordRange span = WordsOf(group);
    ScheduledPart part;
    part.part.offset = words.offset + uint64_t{span.first} * words.row_bytes;
    part.part.length = uint64_t{span.count} * words.row_bytes;
    part.words = span;
    part.group = group;
    parts.push_back(part);
  }
}

void Route::WantShard(const PreloadBuffer& buffer, const RouteNeed& need, uint32_t request,
                      PartSet keep, std::vector<ScheduledPart>& parts) const {
  const ShardRequest& wanted = requests_[request];
  const PartSet held = held_[request];
  const PartSet missing = PartSet::For(wanted.bits).Without(held);
  for (const PartKind kind : kPartKinds) {
    if (!missing.Has(kind)) continue;
    const bool kept = keep.Has(kind) && buffer.HasPlace(wanted.id, kind);
    if (need.only_ahead && !kept) continue;
    ScheduledPart part;
    part.part = index_->shard(wanted.id).parts[kind];
    part.request = request;
    part.kind = kind;
    part.group = wanted.group;
    part.refinement = need.refinements_apart && !IsEssential(kind);
    if (kept) {
      // A read moves whole blocks, and may bring what lies beside its part: only where nothing is
      // held or in use may it land in the buffer itself.
      const uint64_t place = buffer.Place(wanted.id, kind);
      if (!held.empty()) {
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
  const ScheduledPart* part = residents_[group];
  return part == nullptr ? std::span<const uint8_t>{}
                         : arena.subspan(part->place, part->part.length);
}

bool Route::HoldsBase(uint32_t k, const PreloadBuffer& buffer) const {
  const auto row = std::span(requests_).subspan(size_t{k} * plan_->width, plan_->width);
  return std::any_of(row.begin(), row.end(), [&](const ShardRequest& shard) {
    return buffer.Held(shard.id).UsableBits(shard.bits) > 0;
  });
}

double Route::PlannedRate() const {
  double io_us = 0;
  for (const double layer_us : plan_->times->layer_io_us) io_us += layer_us;
  return io_us > 0 ? static_cast<double>(planned_reads_) / io_us : 0;
}

uint64_t Route::EssentialBytes(uint32_t k, const PreloadBuffer& buffer) const {
  uint64_t bytes = 0;
  for (const ShardRequest& shard :
       std::span(requests_).subspan(size_t{k} * plan_->width, plan_->width)) {
    const PartKind needed = shard.bits == kFullBits ? PartKind::kFull : PartKind::kBase;
    if (buffer.Held(shard.id).Has(needed)) continue;
    const BlockRange blocks = BlocksAround(index_->shard(shard.id).parts[needed]);
    bytes += blocks.end - blocks.begin;
  }
  return bytes;
}

Result<Route::Layer> Route::ViewLayer(uint32_t k, uint32_t most, const LayerMemory& memory,
                                      std::vector<DegradedShard>* degraded) {
  const size_t first = size_t{k} * plan_->width;
  const auto bits_of = [&](uint32_t i) {
    const ShardRequest& shard = requests_[first + i];
    return memory.arrived[i].With(memory.buffer.Held(shard.id)).UsableBits(shard.bits);
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
    if (bits < shard.bits) degraded->push_back({shard.id, bits, shard.bits});
    if (bits == 0) continue;
    STI_ASSIGN_OR_RETURN(const ShardView view, ViewShardAt(first + i, bits, memory));
    views_.push_back(view);
    slices_.push_back(shard.id.slice);
  }
  return Layer{views_, slices_};
}

Result<ShardView> Route::ViewShardAt(size_t request, uint32_t bits, const LayerMemory& memory) {
  const ShardRequest& shard = requests_[request];
  const HeldParts held = memory.buffer.HeldPartsOf(shard.id);
  const bool all_held = held.held.Has(PartSet::For(bits));
  // A view of what is held stays valid until the next Prepare.
  if (all_held && held_views_[request].bits == bits) return held_views_[request];
  STI_ASSIGN_OR_RETURN(const ShardView view,
                       ViewScheduledShard(*index_, *schedule_, request, bits, held,
                                          {memory.arena, memory.buffer.span()}, memory.file));
  if (all_held) held_views_[request] = view;
  return view;
}

}  // namespace sti
