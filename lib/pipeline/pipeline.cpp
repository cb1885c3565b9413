#include "pipeline/pipeline.h"

#include <algorithm>
#include <set>
#include <utility>

#include "pipeline/cascade_shards.h"
#include "pipeline/plan_choice.h"
#include "pipeline/plan_fit.h"
#include "types/plan_check.h"

namespace sti {
namespace {

/// Returns DataError unless the container can serve the plan, its turns and its variants.
Status CheckFits(const ContainerFile& file, const Plan& plan) {
  const ContainerIndex& index = file.index();
  PlanBounds bounds;
  bounds.layers = index.info.shape.layers;
  bounds.width = index.info.shape.width;
  bounds.least_length = kMinLength;
  bounds.most_length = index.info.max_length();
  bounds.vocabulary = index.info.shape.vocabulary;
  bounds.model = index.model;
  bounds.holds = [&](const ShardAtBits& shard) { return index.Holds(shard); };
  const std::optional<PlanFault> fault = FindPlanFault(plan, bounds);
  if (!fault) return {};
  return Error{fault->kind, "the plan does not fit " + file.name() + ": " + fault->text()}.Fix(
      RemedyFor(*fault));
}

}  // namespace

Pipeline::Pipeline(ContainerFile file, Plan plan, const PipelineOptions& options)
    : options_(options),
      file_(std::move(file)),
      plan_(std::move(plan)),
      loader_(file_, resident_,
              {options.staging_bytes, options.lazy && !plan_.fallback, options.lock_memory,
               options.io, options.interrupt}) {
  options_.lazy = options.lazy && !plan_.fallback;
  if (options_.cores != nullptr) return;
  own_cores_ = std::make_unique<ThreadPool>(options_.threads);
  options_.cores = own_cores_.get();
}

Pipeline::~Pipeline() = default;

Status Pipeline::CheckPlan(const ContainerFile& file, const Plan& plan, ComputeType type) {
  STI_RETURN_IF_ERROR(CheckFits(file, plan));
  if (plan.cascade && file.index().info.problem == Problem::kMultiLabel) {
    return UsageError(
        "the plan has a cascade, which is for one label an input, and the model gives any number; "
        "make a plan without one");
  }
  return CheckPlanComputes(plan, type);
}

Result<std::unique_ptr<Pipeline>> Pipeline::Create(ContainerFile&& file, Plan plan,
                                                   const PipelineOptions& options) {
  std::unique_ptr<Pipeline> p(new Pipeline(std::move(file), std::move(plan), options));
  Status ready = p->MakeReady();
  if (ready.ok()) return p;
  file = Close(std::move(p));
  return ready.error();
}

Status Pipeline::MakeReady() {
  STI_RETURN_IF_ERROR(CheckPlan(file_, plan_, options_.arithmetic.type));
  STI_ASSIGN_OR_RETURN(transformer_,
                       Transformer::Create(index().info, *options_.cores, options_.arithmetic));
  run_.emplace(file_, resident_, *transformer_, loader_, options_.keep_rows);
  MakeRoutes();
  STI_RETURN_IF_ERROR(ReadResidents());
  loader_.UsePlan(plan_);
  if (!options_.lazy) STI_RETURN_IF_ERROR(LoadAhead());
  return MakeRoom();
}

ContainerFile Pipeline::Close(std::unique_ptr<Pipeline> pipeline) {
  // The lane goes on with the reader, which stays where it is, until its reads in flight are done.
  ContainerFile file = std::move(pipeline->file_);
  pipeline.reset();
  // Memory that is gone must not stay registered for reads: its pages would stay in use.
  file.reader().ExpectReadsInto({});
  return file;
}

void Pipeline::MakeRoutes() {
  by_length_ = in_use_ = RoutesAtClock(plan_, options_.clock_khz);
  if (plan_.cascade) in_use_.clear();
  for (size_t level = 0; level < CascadeLevelsOf(plan_); ++level)
    in_use_.push_back(CascadeRoute(plan_, level));
  routes_.clear();
  routes_.reserve(RoutesOf(plan_));
  guarantees_.clear();
  guarantees_.resize(RoutesOf(plan_));
  holds_rows_ = false;
  for (RouteId id; id.index < RoutesOf(plan_); ++id.index) {
    const Plan& plan = PlanOf(plan_, id);
    std::optional<uint64_t> reads;
    if (plan_.cascade && id.index > 0)  // it has no variants
      reads = PlannedReads(plan_, CascadeLevelOf(plan_, id), index().words.row_bytes);
    routes_.emplace_back(index(), plan, id, reads);
    if (plan.fallback) guarantees_[id.index].emplace(index(), plan, id);
  }
  ReserveWork();
  engagement_ = Engagement(plan_, FirstRoute(), [this](const ShardAtBits& shard) {
    return loader_.buffer().BytesOf(shard);
  });
}

void Pipeline::ReserveWork() {
  uint32_t width = 0;
  for (const RouteId id : in_use_) {
    const Plan& plan = PlanOf(plan_, id);
    width = std::max({width, plan.width, plan.fallback ? plan.fallback->width : 0});
  }
  transformer_->Reserve(max_length(), width);
  run_->Reserve(max_length(), !options_.lazy);
  run_->rows().Preload(PreloadedWords());
  resting_ = false;
  if (!options_.lock_memory) return;
  const auto lock = [this](AlignedBuffer& memory) {
    if (lock_refusal_.ok()) lock_refusal_ = memory.Lock();
  };
  transformer_->VisitMemory(lock);
  run_->VisitMemory(lock);
}

// Rows are at the bottom of the buffer: they go when all shards have.
std::span<const uint32_t> Pipeline::PreloadedWords() const {
  const uint64_t bytes = plan_.words.size() * index().words.row_bytes;
  if (preload_limit_ && *preload_limit_ < bytes) return {};
  return plan_.words;
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
  for (const RouteId id : in_use_) {
    const Plan& plan = PlanOf(plan_, id);
    layers.insert(plan.layers.begin(), plan.layers.end());
    if (plan.fallback) layers.insert(plan.fallback->layers.begin(), plan.fallback->layers.end());
  }
  const std::vector<uint32_t> ascending(layers.begin(), layers.end());
  STI_ASSIGN_OR_RETURN(resident_, LoadResidentModel(file_, ascending));
  return {};
}

// Makes the arena, for the largest of the routes that inputs take. A cascade level finds in memory
// what those before it have left there.
Status Pipeline::MakeRoom() {
  uint64_t arena_bytes = 0;
  std::vector<ShardAtBits> left;
  for (const RouteId id : in_use_) {
    Route& route = routes_[id.index];
    LaneJob job = JobFor(id, {});
    job.held_then = left;
    STI_RETURN_IF_ERROR(loader_.Prepare(route, job));
    arena_bytes = std::max(arena_bytes, route.schedule()->arena_bytes);
    if (plan_.cascade) left.assign(job.keep.begin(), job.keep.end());
  }
  loader_.GrowArena(arena_bytes);
  return {};
}

RouteId Pipeline::RouteFor(size_t tokens) const {
  const auto holds = [&](RouteId id) { return PlanOf(plan_, id).length >= tokens; };
  const auto shortest = std::find_if(by_length_.begin(), by_length_.end(), holds);
  return shortest == by_length_.end() ? MainRoute() : *shortest;
}

const Plan& Pipeline::PlanFor(size_t tokens) const { return PlanOf(plan_, RouteFor(tokens)); }

// The buffer is for the first route. A run on another leaves there what it shares with it; but one
// on a cascade level knows all that is to be there.
LaneJob Pipeline::JobFor(RouteId route, const RunTerms& terms) {
  return {.route = route,
          .bits = engagement_.BitsOf(route),
          .keep = terms.keep ? *terms.keep : engagement_.KeptAfter(route),
          .evict = terms.keep || route == FirstRoute() || plan_.cascade,
          .degrade = terms.degrade_for_us.has_value(),
          .tolerant = terms.degrade_for_us.has_value() && plan_.fallback.has_value()};
}

LaneJob Pipeline::JobAhead(RouteId route) {
  return {.route = route,
          .bits = engagement_.BitsOf(route),
          .keep = engagement_.KeptBefore(route),
          .evict = route == FirstRoute(),
          .only_ahead = true};
}

Status Pipeline::Wake(bool may_degrade) {
  // While reads hang, the next run will do without.
  if (may_degrade && plan_.fallback && !loader_.CanSettle()) return {};
  STI_RETURN_IF_ERROR(loader_.Settle());
  RunTerms terms;
  if (may_degrade) terms.degrade_for_us = 0;
  Route& route = routes_[FirstRoute().index];
  const LaneJob job = JobFor(FirstRoute(), terms);
  STI_RETURN_IF_ERROR(loader_.Prepare(route, job));
  loader_.Start(route, job, LaneState::kWoken, RowsCome::kLater);
  return {};
}

Status Pipeline::LoadAhead() {
  STI_RETURN_IF_ERROR(loader_.Settle());
  for (const RouteId id : by_length_) {
    if (Guarantee* const guarantee = GuaranteeOf(id)) STI_RETURN_IF_ERROR(LoadFallback(*guarantee));
  }
  for (const RouteId id : in_use_) {
    STI_RETURN_IF_ERROR(LoadAhead(routes_[id.index], JobAhead(id)));
    if (plan_.cascade) break;  // the buffer is for the first level alone
  }
  STI_RETURN_IF_ERROR(HoldRows());
  return LoadRowsAhead();
}

Status Pipeline::LoadRowsAhead() {
  RowStore& rows = run_->rows();
  while (const EmbeddingReads* reads = rows.PlanAhead()) {
    STI_RETURN_IF_ERROR(loader_.ReadRows(*reads, rows.blocks()));
    rows.Keep();
  }
  return {};
}

Guarantee* Pipeline::GuaranteeOf(RouteId route) {
  std::optional<Guarantee>& guarantee = guarantees_[route.index];
  return guarantee ? &*guarantee : nullptr;
}

// Prepared once more, the fallback's route has nothing to read, and views what is held.
Status Pipeline::LoadFallback(Guarantee& guarantee) {
  const LaneJob job{.route = guarantee.route().id(),
                    .bits = guarantee.plan().bits,
                    .keep = guarantee.shards(),
                    .only_ahead = true};
  STI_RETURN_IF_ERROR(LoadAhead(guarantee.route(), job));
  return loader_.Prepare(guarantee.route(), job);
}

// Reads the embedding rows that runs which give up have in any case.
Status Pipeline::HoldRows() {
  if (!plan_.fallback || holds_rows_) return {};
  STI_ASSIGN_OR_RETURN(HeldRows rows,
                       HeldRows::Load(file_, WordsOfNoText(index().info.tokenizer), max_length()));
  run_->HoldRows(std::move(rows));
  holds_rows_ = true;
  return {};
}

Status Pipeline::LoadAhead(Route& route, const LaneJob& job) {
  STI_RETURN_IF_ERROR(loader_.Prepare(route, job));
  if (route.schedule()->reads.empty()) return {};
  loader_.Start(route, job, LaneState::kRunning, RowsCome::kNever);
  Status status;
  for (uint32_t group = 0; group < route.groups() && status.ok(); ++group) {
    status = loader_.lane().WaitForGroup(group);
    if (status.ok()) status = loader_.TakeResident(route, group);
    loader_.lane().GroupComputed(group);
  }
  // Interrupted, reads are still in flight, whatever else went wrong.
  STI_RETURN_IF_ERROR(loader_.Settle());
  return status;
}

Status Pipeline::Rest() {
  // Nobody may wait here for reads that hang: the next input has a deadline.
  if (plan_.fallback && !loader_.CanSettleAll()) return {};
  STI_RETURN_IF_ERROR(loader_.SettleAll());
  loader_.GiveBackArena();
  transformer_->Release();
  run_->Release();
  resting_ = true;
  return {};
}

Status Pipeline::EndTurns() {
  STI_RETURN_IF_ERROR(loader_.Settle());
  engagement_.End();
  if (!plan_.turns.empty() && !engagement_.limited())
    loader_.buffer().KeepOnly(plan_.turns.front().preload);
  return {};
}

Status Pipeline::ResizePreload(std::optional<uint64_t> bytes) {
  STI_RETURN_IF_ERROR(loader_.SettleAll());
  preload_limit_ = bytes;
  run_->rows().Preload(PreloadedWords());
  if (bytes) {
    const uint64_t rows = run_->rows().preload_bytes() + run_->held_row_bytes();
    *bytes -= std::min(*bytes, rows + loader_.buffer().pinned_bytes());
  }
  engagement_.Limit(bytes);
  loader_.buffer().KeepOnly(engagement_.KeptBetween());
  return LoadAhead();
}

Status Pipeline::SetPlan(Plan plan, std::optional<uint64_t> staging_bytes) {
  STI_RETURN_IF_ERROR(CheckPlan(file_, plan, options_.arithmetic.type));
  STI_RETURN_IF_ERROR(loader_.SettleAll());
  const Engagement before = engagement_;
  const uint64_t staging_before = options_.staging_bytes;
  Exchange(plan);
  Bound(staging_bytes.value_or(staging_before));
  loader_.UsePlan(plan_, engagement_.KeptBetween());
  Status loaded = LoadAhead();
  if (loaded.ok()) loaded = MakeRoom();
  if (loaded.ok() || loaded.error().kind == ErrorKind::kCancelled) {
    drift_.Forget();
    return loaded;
  }
  Exchange(plan);
  engagement_ = before;
  Bound(staging_before);
  // The next run loads what is missing.
  loader_.UsePlan(plan_, engagement_.KeptBetween());
  if (plan_.fallback) (void)LoadAhead();  // but a fallback, which no run loads
  return loaded;
}

void Pipeline::Bound(uint64_t staging_bytes) {
  options_.staging_bytes = staging_bytes;
  loader_.LimitStaging(staging_bytes);
}

Result<bool> Pipeline::SetClock(uint64_t clock_khz) {
  const uint64_t before = std::exchange(options_.clock_khz, clock_khz);
  if (RoutesAtClock(plan_, clock_khz) == by_length_) return false;
  const Status set = SetPlan(plan_);
  if (set.ok()) return true;
  if (set.error().kind != ErrorKind::kCancelled) {
    options_.clock_khz = before;
    MakeRoutes();
    loader_.UsePlan(plan_, engagement_.KeptBetween());
  }
  return set.error();
}

void Pipeline::Exchange(Plan& plan) {
  std::swap(plan_, plan);
  MakeRoutes();
}

}  // namespace sti
