#include "pipeline/core/pipeline_core.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "pipeline/routes.h"

namespace sti {
PipelineCore::PipelineCore(ContainerFile file, const PipelineOptions& options, bool lazy)
    : options_(options),
      file_(std::move(file)),
      loader_(file_, resident_, {lazy, options_.lock_memory, options_.io, options_.interrupt}) {
  options_.lazy = lazy;
  if (options_.cores != nullptr) return;
  own_cores_ = std::make_unique<ThreadPool>(options_.threads);
  options_.cores = own_cores_.get();
}

PipelineCore::~PipelineCore() = default;

Result<std::unique_ptr<PipelineCore>> PipelineCore::Create(ContainerFile&& file, Plan plan,
                                                           const PipelineOptions& options) {
  const bool lazy = options.lazy && !plan.fallback && plan.ends.whole();
  std::unique_ptr<PipelineCore> p(new PipelineCore(std::move(file), options, lazy));
  Status ready = p->MakeReady(std::move(plan));
  if (ready.ok()) return p;
  file = Close(std::move(p));
  return ready.error();
}

Status PipelineCore::MakeReady(Plan plan) {
  STI_RETURN_IF_ERROR(CheckPlan(file_, plan, options_.arithmetic.type));
  STI_ASSIGN_OR_RETURN(transformer_,
                       Transformer::Create(index().info, *options_.cores, options_.arithmetic));
  transformer_->MeterDecoding(options_.meter_decoding);
  status_.file = &file_;
  status_.kernel = transformer_->kernel();
  run_.emplace(file_, resident_, *transformer_, loader_, options_.keep_rows);
  force_ = std::make_unique<PlanInForce>(index(), std::move(plan), options_.clock_khz);
  ReserveWork();
  STI_RETURN_IF_ERROR(ReadResidents());
  (void)loader_.UsePlan(force_->plan, options_.staging_bytes);
  if (options_.lazy) {
    LimitBuffer();
  } else {
    STI_RETURN_IF_ERROR(LoadAhead());
  }
  return MakeRoom();
}

ContainerFile PipelineCore::Close(std::unique_ptr<PipelineCore> core) {
  // The lane goes on with the reader, which stays where it is, until its reads in flight are done.
  ContainerFile file = std::move(core->file_);
  core.reset();
  // Memory that is gone must not stay registered for reads: its pages would stay in use.
  file.reader().ExpectReadsInto({});
  return file;
}

void PipelineCore::ReserveWork() {
  PlanExtent extent = plan().PlanCore::Extent();
  extent.tokens = force_->most_tokens();
  extent.width = force_->MaxWidth();
  transformer_->Reserve(extent.tokens, extent.width, extent.context);
  run_->Reserve(extent, !options_.lazy);
  resting_ = false;
  LockWork();
}

void PipelineCore::LockWork() {
  if (!options_.lock_memory) return;
  const auto lock = [this](AlignedBuffer& memory) {
    if (lock_refusal_.ok()) lock_refusal_ = memory.Lock();
  };
  transformer_->VisitMemory(lock);
  run_->VisitMemory(lock);
}

// Preloaded rows lie at the bottom of the buffer, and a bound evicts from the top: rows are evicted
// when no shard is left.
std::span<const uint32_t> PipelineCore::PreloadedWords() const {
  const std::vector<uint32_t>& words = force_->plan.words;
  const uint64_t bytes = words.size() * index().words.row_bytes;
  if (!options_.keep_rows || (preload_limit_ && *preload_limit_ < bytes)) return {};
  return words;
}

// Shares the app's bound out: rows and fallbacks have what they need of it, shards what is left.
void PipelineCore::LimitBuffer() {
  const std::span<const uint32_t> words = PreloadedWords();
  std::vector<uint32_t> kept;
  std::ranges::set_union(words, words_before_, std::back_inserter(kept));
  run_->rows().Preload(kept);
  LockWork();
  std::optional<uint64_t> left = preload_limit_;
  if (left) {
    const uint64_t rows = words.size() * index().words.row_bytes + held_row_bytes();
    *left -= std::min(*left, rows + loader_.buffer().pinned_bytes());
  }
  force_->engagement.Limit(left);
  loader_.buffer().KeepOnly(force_->engagement.KeptBetween());
}

// A lazy pipeline has only what every run begins with; the rest comes through the arena.
Status PipelineCore::ReadResidents() {
  if (options_.lazy) {
    resident_ = ResidentModel::For(index().info, {});
    if (!HasEmbeddingPart(index().info)) return {};
    const PartLocation& part = index().Resident(ResidentKind::kEmbedding).part;
    STI_ASSIGN_OR_RETURN(const LoadedRange range,
                         file_.ReadPart(part, ResidentName(ResidentKind::kEmbedding, 0)));
    return resident_.SetEmbedding(index(), range.Bytes(part), file_.name());
  }
  STI_ASSIGN_OR_RETURN(resident_, LoadResidentModel(file_, force_->Layers(), plan().ends));
  return {};
}

// Makes the arena, for the largest of the routes that inputs take. Reads ahead may have had a
// larger one. A cascade level finds in memory what those before it have left there.
Status PipelineCore::MakeRoom() {
  uint64_t arena_bytes = 0;
  std::vector<ShardAtBits> left;
  for (const RouteId id : force_->in_use) {
    Route& route = force_->routes[id.index];
    LaneJob job = JobFor(id, {});
    job.held_then = left;
    STI_RETURN_IF_ERROR(loader_.Prepare(route, job));
    arena_bytes = std::max(arena_bytes, route.schedule()->arena_bytes);
    if (force_->plan.cascade) left.assign(job.keep.begin(), job.keep.end());
  }
  loader_.FitArena(arena_bytes);
  return {};
}

// The buffer is for the first route. A run on another leaves there what it shares with it; but one
// on a cascade level knows all that is to be there.
LaneJob PipelineCore::JobFor(RouteId route, const RunTerms& terms) {
  return {.route = route,
          .bits = force_->engagement.BitsOf(route),
          .keep = terms.keep ? *terms.keep : force_->engagement.KeptAfter(route),
          .evict = terms.keep || route == force_->FirstRoute() || force_->plan.cascade,
          .degrade = terms.degrade_for_us.has_value(),
          .tolerant = terms.degrade_for_us.has_value() && force_->plan.fallback.has_value()};
}

LaneJob PipelineCore::JobAhead(RouteId route) {
  return {.route = route,
          .bits = force_->engagement.BitsOf(route),
          .keep = force_->engagement.KeptBefore(route),
          .evict = route == force_->FirstRoute(),
          .only_ahead = true};
}

Status PipelineCore::Wake(bool may_degrade) {
  // While reads hang, the next run will do without.
  if (may_degrade && force_->plan.fallback && !loader_.IsLaneIdle()) return {};
  STI_RETURN_IF_ERROR(loader_.BecomeIdle());
  RunTerms terms;
  if (may_degrade) terms.degrade_for_us = 0;
  Route& route = force_->routes[force_->FirstRoute().index];
  const LaneJob job = JobFor(force_->FirstRoute(), terms);
  STI_RETURN_IF_ERROR(loader_.Prepare(route, job));
  loader_.Start(route, job, LaneState::kWoken, RowsCome::kLater);
  return {};
}

Status PipelineCore::LoadAhead() {
  Status loaded = LoadAllAhead();
  // Resting, no run is to come that has use for the arena that this was read through.
  if (resting_ && loader_.state() == LaneState::kIdle) loader_.GiveBackArena();
  return loaded;
}

Status PipelineCore::LoadAllAhead() {
  STI_RETURN_IF_ERROR(loader_.BecomeIdle());
  for (const RouteId id : force_->by_length) {
    Guarantee* const guarantee = force_->GuaranteeOf(id);
    if (guarantee != nullptr) STI_RETURN_IF_ERROR(LoadFallback(*guarantee));
  }
  STI_RETURN_IF_ERROR(HoldRows());
  LimitBuffer();
  for (const RouteId id : force_->in_use) {
    STI_RETURN_IF_ERROR(LoadAhead(force_->routes[id.index], JobAhead(id)));
  }
  return LoadRowsAhead();
}

Status PipelineCore::LoadRowsAhead() {
  RowStore& rows = run_->rows();
  while (const EmbeddingReads* reads = rows.PlanAhead()) {
    STI_RETURN_IF_ERROR(loader_.ReadRows(*reads, rows.blocks()));
    rows.Keep();
  }
  return {};
}

// Prepared once more, the fallback's route has nothing to read, and views what is held.
Status PipelineCore::LoadFallback(Guarantee& guarantee) {
  const LaneJob job{.route = guarantee.route().id(),
                    .bits = guarantee.plan().bits,
                    .keep = guarantee.shards(),
                    .only_ahead = true};
  STI_RETURN_IF_ERROR(LoadAhead(guarantee.route(), job));
  return loader_.Prepare(guarantee.route(), job);
}

// Reads the embedding rows that runs which give up have in any case. Interrupted, reads go on into
// the landing, which stays.
Status PipelineCore::HoldRows() {
  if (!force_->plan.fallback || force_->held_rows) return {};
  const std::vector<uint32_t> words = WordsOfNoText(index().info.tokenizer);
  landing_ = std::make_shared<RowLanding>();
  landing_->reads = PlanEmbeddingReads(index(), words, max_length());
  landing_->blocks = AlignedBuffer(landing_->reads.end);
  STI_RETURN_IF_ERROR(loader_.ReadRows(landing_->reads, landing_->blocks.span()));
  const auto find = [&](const RowTable& table, uint32_t row) {
    return LocateRow(landing_->reads, landing_->blocks.span(), table, row);
  };
  force_->held_rows = std::make_shared<const HeldRows>(index(), words, max_length(), find);
  landing_.reset();
  return {};
}

Status PipelineCore::LoadAhead(Route& route, const LaneJob& job) {
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
  STI_RETURN_IF_ERROR(loader_.BecomeIdle());
  return status;
}

Status PipelineCore::Rest() {
  // Nobody may wait here for reads that hang: the next input has a deadline.
  if (force_->plan.fallback && !loader_.AllLanesIdle()) return {};
  STI_RETURN_IF_ERROR(loader_.AwaitAllLanes());
  loader_.GiveBackArena();
  ReleaseWork();
  return {};
}

// Where they are to stay again, the next run brings them.
void PipelineCore::ForgetWordsUnlessKept() {
  if (plan().keeps_vocabulary) return;
  run_->rows().UseVocabulary({});
  resident_.ForgetWords();
}

void PipelineCore::ReleaseWork() {
  transformer_->Release();
  run_->Release();
  resting_ = true;
}

Status PipelineCore::EndTurns() {
  STI_RETURN_IF_ERROR(loader_.BecomeIdle());
  const Engagement before = force_->engagement;
  BeginTurnsAnew();
  Status loaded = LoadAhead();
  if (loaded.ok() && !resting_) loaded = MakeRoom();
  if (loaded.ok()) return loaded;
  refit_ = Refit::kAfterRun;
  force_->engagement = before;
  loader_.KeepLess(force_->engagement.KeptBetween());
  return loaded;
}

// Nothing is in flight.
void PipelineCore::BeginTurnsAnew() {
  force_->engagement.End();
  loader_.buffer().KeepOnly(force_->engagement.KeptBetween());
}

Status PipelineCore::ResizePreload(std::optional<uint64_t> bytes, Refill refill) {
  if (refill == Refill::kWithRuns) {
    preload_limit_ = bytes;
    LimitBuffer();
    refit_ = Refit::kAfterRun;
    return {};
  }
  STI_RETURN_IF_ERROR(loader_.AwaitAllLanes());
  const std::optional<uint64_t> before = std::exchange(preload_limit_, bytes);
  Status loaded = LoadAhead();
  if (loaded.ok() && !bytes && !resting_) loaded = MakeRoom();
  if (loaded.ok()) return loaded;
  refit_ = Refit::kAfterRun;
  preload_limit_ = before;
  LimitBuffer();
  loader_.KeepLess(force_->engagement.KeptBetween());
  return loaded;
}

Status PipelineCore::SetPlan(Plan plan, std::optional<uint64_t> staging_bytes) {
  STI_RETURN_IF_ERROR(CheckPlan(file_, plan, options_.arithmetic.type));
  if (plan.ends != this->plan().ends)
    return UsageError("a plan for other ends of the network than this pipeline computes");
  auto next = std::make_unique<PlanInForce>(index(), std::move(plan), options_.clock_khz);
  return GoOnUnder(std::move(next), staging_bytes.value_or(loader_.most_staging()));
}

Result<bool> PipelineCore::SetClock(uint64_t clock_khz) {
  const uint64_t before = std::exchange(options_.clock_khz, clock_khz);
  if (RoutesAtClock(plan(), clock_khz) == force_->by_length) return false;
  auto next = std::make_unique<PlanInForce>(index(), plan(), clock_khz);
  const Status set = GoOnUnder(std::move(next), loader_.most_staging());
  if (set.ok()) return true;
  options_.clock_khz = before;
  return set.error();
}

// Rows that guarantees need are the same for inputs of the same length; other plans hold none.
Status PipelineCore::GoOnUnder(std::unique_ptr<PlanInForce> next, uint64_t most_staging) {
  STI_RETURN_IF_ERROR(loader_.AwaitAllLanes());
  Before before;
  before.layers = resident_.Layers();
  before.resting = resting_;
  const std::span<const uint32_t> words = PreloadedWords();
  words_before_.assign(words.begin(), words.end());
  if (next->plan.fallback && next->max_length() == max_length())
    next->held_rows = force_->held_rows;
  before.force = std::exchange(force_, std::move(next));
  before.places = loader_.UsePlan(plan(), most_staging);
  ForgetWordsUnlessKept();
  ReserveWork();
  LimitBuffer();
  loader_.TakeFrom(before.places, force_->engagement.KeptBetween());
  Status loaded = LoadAhead();
  if (loaded.ok()) loaded = MakeRoom();
  if (!loaded.ok()) {
    GoBackTo(std::move(before));
    return loaded;
  }
  words_before_.clear();
  LimitBuffer();
  resident_.KeepLayers(force_->Layers());
  drift_.Forget();
  return {};
}

// Interrupted, reads are in flight for the plan that was tried.
void PipelineCore::GoBackTo(Before before) {
  std::shared_ptr<void> rows;
  if (!loader_.IsLaneIdle()) {
    rows = std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<void>>>(
        run_->LeaveRowMemory(), std::move(landing_));
  }
  landing_.reset();
  force_ = std::move(before.force);
  loader_.GoBack(std::move(before.places), force_->engagement.KeptBetween(), std::move(rows));
  resident_.KeepLayers(before.layers);
  ForgetWordsUnlessKept();
  ReserveWork();
  words_before_.clear();
  LimitBuffer();
  refit_ = Refit::kAfterRun;
  if (before.resting) ReleaseWork();
}

const PipelineStatus& PipelineCore::status() {
  status_.reader = &file_.reader();
  status_.max_length = max_length();
  status_.preload_bytes =
      loader_.buffer().bytes() + run_->rows().preload_bytes() + held_row_bytes();
  status_.staging_bytes = loader_.arena().size();
  status_.resident_bytes = resident_.bytes();
  status_.working_bytes = transformer_->working_bytes() + run_->working_bytes();
  status_.lock_refusal = lock_refusal_.ok() ? &loader_.lock_refusal() : &lock_refusal_;
  status_.lane = loader_.state();
  status_.settled = loader_.AllLanesIdle();
  status_.schedule = loader_.schedule();
  return status_;
}

}  // namespace sti
