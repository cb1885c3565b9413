#include "pipeline/pipeline.h"

#include <algorithm>
#include <set>
#include <utility>

#include "pipeline/plan_choice.h"
#include "pipeline/plan_fit.h"

namespace sti {

Pipeline::Pipeline(ContainerFile file, Plan plan, const PipelineOptions& options)
    : file_(std::move(file)), plan_(std::move(plan)), options_(options), cores_(options.cores) {
  if (cores_ != nullptr) return;
  own_cores_ = std::make_unique<ThreadPool>(options.threads);
  cores_ = own_cores_.get();
}

Pipeline::~Pipeline() = default;

Result<std::unique_ptr<Pipeline>> Pipeline::Create(ContainerFile file, Plan plan,
                                                   const PipelineOptions& options) {
  std::unique_ptr<Pipeline> p(new Pipeline(std::move(file), std::move(plan), options));
  STI_RETURN_IF_ERROR(CheckPlanFits(p->index(), p->plan_, p->file_.name()));
  STI_RETURN_IF_ERROR(CheckPlanComputes(p->plan_, options.arithmetic.type));
  const ContainerIndex& index = p->index();
  STI_ASSIGN_OR_RETURN(p->transformer_,
                       Transformer::Create(index.info, *p->cores_, options.arithmetic));
  p->compute_ = options.arithmetic.type;
  STI_RETURN_IF_ERROR(p->MakeRoutes());
  STI_RETURN_IF_ERROR(p->ReadResidents());
  p->lane_ = p->MakeLane(p->file_.reader());
  if (!options.lazy) STI_RETURN_IF_ERROR(p->LoadAhead());
  STI_RETURN_IF_ERROR(p->MakeRoom());
  return p;
}

std::unique_ptr<IoLane> Pipeline::MakeLane(BlockReader& reader) {
  const uint32_t depth = plan_.read_depth != 0 ? plan_.read_depth : BlockReader::kDefaultDepth;
  return std::make_unique<IoLane>(reader, index(), depth, options_.io);
}

Status Pipeline::MakeRoutes() {
  const std::vector<const Plan*> plans = PlansAtClock(plan_, options_.clock_khz);
  uint32_t width = 0;
  routes_.clear();
  paces_.clear();
  routes_.reserve(plans.size());
  paces_.reserve(plans.size());
  for (const Plan* plan : plans) {
    routes_.emplace_back(index(), *plan);
    paces_.emplace_back(plan->times.value_or(PlanTimes{}), routes_.back().layers(), plan->width);
    width = std::max(width, plan->width);
  }
  transformer_->Reserve(max_length(), width);
  hidden_.resize(size_t{max_length()} * index().info.shape.hidden);
  embedding_blocks_ = AlignedBuffer(MaxEmbeddingReadBytes(index(), max_length()));
  last_ = &routes_.back();
  preload_ = PreloadBuffer(index(), plan_);
  return {};
}

// A lazy pipeline has only what every run begins with; the rest comes through the arena.
Status Pipeline::ReadResidents() {
  if (options_.lazy) {
    const PartLocation& part = index().Resident(ResidentKind::kEmbedding).part;
    STI_ASSIGN_OR_RETURN(const LoadedRange range,
                         file_.ReadPart(part, ResidentName(ResidentKind::kEmbedding, 0)));
    return resident_.SetEmbedding(index(), range.Bytes(part), file_.name());
  }
  std::set<uint32_t> layers;
  for (const Route& route : routes_)
    layers.insert(route.plan().layers.begin(), route.plan().layers.end());
  const std::vector<uint32_t> ascending(layers.begin(), layers.end());
  STI_ASSIGN_OR_RETURN(resident_, LoadResidentModel(file_, ascending));
  return {};
}

// The arena, for the largest of the routes.
Status Pipeline::MakeRoom() {
  uint64_t arena_bytes = 0;
  for (Route& route : routes_) {
    ChooseKept(route, turn_ + 1);
    STI_RETURN_IF_ERROR(Prepare(route, false, false));
    arena_bytes = std::max(arena_bytes, route.schedule().arena_bytes);
  }
  GrowArena(arena_bytes);
  return {};
}

void Pipeline::GrowArena(uint64_t bytes) {
  if (bytes <= arena_.size()) return;
  file_.reader().Expect({});
  arena_.Renew(bytes);
  // Touched now, so that the first input does not pay for page faults.
  if (!options_.lazy) std::fill_n(arena_.data(), arena_.size(), uint8_t{0});
  file_.reader().Expect(arena_.span());
}

size_t Pipeline::RouteFor(size_t tokens) const {
  size_t at = 0;
  while (at + 1 < routes_.size() && routes_[at].plan().length < tokens) ++at;
  return at;
}

const Plan& Pipeline::PlanFor(size_t tokens) const { return routes_[RouteFor(tokens)].plan(); }

// The plan itself is for the longest inputs; at another clock a variant stands in for it.
Route& Pipeline::MainRoute() { return routes_.back(); }

Pace& Pipeline::PaceOf(const Route& route) {
  return paces_[static_cast<size_t>(&route - routes_.data())];
}

Status Pipeline::CheckInput(std::span<const uint32_t> ids, std::span<const uint32_t> types) const {
  const ModelShape& shape = index().info.shape;
  if (ids.empty()) return DataError("an input without tokens");
  if (ids.size() > max_length()) {
    return DataError("an input of " + std::to_string(ids.size()) + " tokens; the plan holds " +
                     std::to_string(max_length()));
  }
  if (types.size() != ids.size()) return UsageError("types and ids differ in number");
  for (uint32_t id : ids) {
    if (id >= shape.vocabulary) {
      return DataError("token id " + std::to_string(id) + " is outside the vocabulary of " +
                       std::to_string(shape.vocabulary));
    }
  }
  for (uint32_t type : types) {
    if (type >= shape.token_types) return DataError("a token type the model does not have");
  }
  return {};
}

size_t Pipeline::TurnIndex() const {
  return plan_.turns.empty() ? 0 : std::min(turn_, plan_.turns.size() - 1);
}

const Grid<uint32_t>& Pipeline::BitsFor(const Route& route) const {
  const bool has_turns = &route.plan() == &plan_ && !plan_.turns.empty();
  return has_turns ? plan_.turns[TurnIndex()].bits : route.plan().bits;
}

// What is in memory when a turn begins: as the plan says, or as much from the bottom as a new bound
// holds.
void Pipeline::ChooseKept(const Route& route, size_t turn) {
  kept_.clear();
  if (&route.plan() != &plan_ && !(preload_limit_ && &route == &MainRoute())) {
    // A part of what the plan itself preloads; turns may have other use for the room.
    if (!preload_limit_ && plan_.turns.empty()) kept_ = route.plan().preload;
    return;
  }
  if (!preload_limit_) {
    const size_t last = plan_.turns.empty() ? 0 : plan_.turns.size() - 1;
    const auto& kept =
        plan_.turns.empty() ? plan_.preload : plan_.turns[std::min(turn, last)].preload;
    kept_.assign(kept.begin(), kept.end());
    return;
  }
  const Grid<uint32_t>& bits = BitsFor(route);
  uint64_t bytes = 0;
  const Plan& plan = route.plan();
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    for (uint32_t i = 0; i < plan.width; ++i) {
      const ShardAtBits shard{plan.Id(k, i), bits.At(k, i)};
      bytes += preload_.BytesOf(shard);
      if (bytes > *preload_limit_) return;
      kept_.push_back(shard);
    }
  }
}

Status Pipeline::Prepare(Route& route, bool only_ahead, bool refinements_apart) {
  ScheduleLimits limits;
  limits.arena_bytes = options_.staging_bytes != 0 ? options_.staging_bytes : plan_.staging_bytes;
  // The plan's own bound is for its own reads; what is read before the first label, or because the
  // buffer was made smaller, may take more.
  limits.grow = only_ahead || options_.lazy || options_.staging_bytes == 0;
  if (plan_.read_bytes != 0) limits.read_bytes = plan_.read_bytes;
  RouteNeed need{&BitsFor(route), kept_, only_ahead, refinements_apart, limits};
  Status status = route.Prepare(preload_, resident_, need);
  if (status.ok() || !refinements_apart) return status;
  need.refinements_apart = false;  // which takes less room
  return route.Prepare(preload_, resident_, need);
}

void Pipeline::StartLane(Route& route, bool rows_follow) {
  GrowArena(route.schedule().arena_bytes);
  last_ = &route;
  settled_ = false;
  lane_->Start(
      {route.shared_schedule(), arena_.span(), preload_.span(), route.groups(), rows_follow});
}

// What a degraded run has not waited for may take seconds more; the next run has a deadline too. So
// it gets another lane and another arena, and the late one is let go when its reads have come.
void Pipeline::SetLateLaneAside() {
  constexpr auto kPatience = std::chrono::milliseconds(2);
  constexpr size_t kMostLate = 3;
  std::erase_if(late_lanes_, [](const LateLane& late) { return late.lane->Idle(); });
  // Not where memory is counted, nor where a late read may still land in what others use.
  const bool may = last_ok_ && options_.staging_bytes == 0 && !last_->FillsBuffer();
  if (settled_ || !may || late_lanes_.size() == kMostLate || lane_->WaitIdleFor(kPatience)) return;
  auto reader = file_.reader().Another();
  if (!reader.ok()) return;
  auto lane = MakeLane(**reader);
  AlignedBuffer arena(arena_.size());
  lane->ExpectBandwidth(lane_->bytes_per_us());
  late_lanes_.reserve(kMostLate);
  (*reader)->Expect(arena.span());
  std::swap(arena, arena_);
  std::swap(lane, lane_);
  late_lanes_.push_back(
      {file_.ReplaceReader(std::move(*reader)), std::move(arena), std::move(lane)});
  settled_ = true;
}

// Takes over what the last job has left in the buffer, and evicts what is not to stay.
void Pipeline::Settle() {
  woken_ = false;
  if (settled_) return;
  lane_->WaitIdle();
  const LoadSchedule& schedule = last_->schedule();
  const auto arrived = lane_->arrived();
  for (const ScheduledPart& part : schedule.parts) {
    const bool stays = part.landing == Landing::kBuffer || part.copy_place >= 0;
    if (!stays || !part.kind || !arrived[part.request].Has(*part.kind)) continue;
    const ShardRequest& shard = schedule.requests[part.request];
    preload_.Add(shard.layer, shard.slice, *part.kind);
  }
  if (last_ == &MainRoute()) preload_.KeepOnly(kept_);
  settled_ = true;
}

Status Pipeline::Wake(bool may_degrade) {
  Settle();
  Route& route = MainRoute();
  ChooseKept(route, turn_ + 1);
  STI_RETURN_IF_ERROR(Prepare(route, false, may_degrade));
  StartLane(route, true);
  woken_ = true;
  degrading_ = may_degrade;
  return {};
}

Status Pipeline::LoadAhead() {
  Settle();
  for (Route& route : routes_) {
    ChooseKept(route, turn_);
    STI_RETURN_IF_ERROR(Prepare(route, true, false));
    if (route.schedule().reads.empty()) continue;
    StartLane(route, false);
    Status status;
    for (uint32_t group = 0; group < route.groups() && status.ok(); ++group) {
      status = lane_->WaitForGroup(group);
      if (status.ok()) status = TakeResident(route, group);
      lane_->GroupComputed(group);
    }
    Settle();
    STI_RETURN_IF_ERROR(status);
  }
  return {};
}

void Pipeline::EndTurns() {
  Settle();
  turn_ = 0;
  if (plan_.turns.empty()) return;
  const std::vector<ShardAtBits>& first = plan_.turns.front().preload;
  if (!preload_limit_) preload_.KeepOnly(first);
}

Status Pipeline::ResizePreload(uint64_t bytes) {
  Settle();
  late_lanes_.clear();  // whose reads may land in the buffer
  preload_limit_ = bytes;
  ChooseKept(MainRoute(), turn_);
  preload_.KeepOnly(kept_);
  return LoadAhead();
}

Status Pipeline::SetPlan(Plan plan) {
  Settle();
  late_lanes_.clear();  // whose reads may land in the buffer
  STI_RETURN_IF_ERROR(CheckPlanFits(index(), plan, file_.name()));
  STI_RETURN_IF_ERROR(CheckPlanComputes(plan, compute_));
  std::swap(plan_, plan);
  PreloadBuffer before = std::move(preload_);
  STI_RETURN_IF_ERROR(MakeRoutes());
  turn_ = 0;
  preload_limit_.reset();
  drift_.Forget();
  ChooseKept(MainRoute(), turn_);
  preload_.TakeFrom(before, kept_);
  before = PreloadBuffer();
  file_.reader().Expect({});
  arena_ = AlignedBuffer();
  lane_.reset();
  lane_ = MakeLane(file_.reader());
  STI_RETURN_IF_ERROR(LoadAhead());
  return MakeRoom();
}

}  // namespace sti
