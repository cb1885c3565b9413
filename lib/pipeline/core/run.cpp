#include "pipeline/core/run.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <variant>

#include "model/head.h"
#include "network/tensors.h"

namespace sti {

PassRun::PassRun(ContainerFile& file, const ResidentModel& resident, Transformer& transformer,
                 Loader& loader, bool keeps_rows)
    : file_(file),
      resident_(resident),
      transformer_(transformer),
      loader_(loader),
      rows_(std::make_shared<RowStore>(file.index(), keeps_rows)) {}

void PassRun::Reserve(const PlanExtent& extent, bool touch) {
  const ModelShape& shape = file_.index().info.shape;
  const size_t count = size_t{extent.tokens} * shape.hidden;
  hidden_buffer_.Renew(count * sizeof(float));
  hidden_ = {reinterpret_cast<float*>(hidden_buffer_.data()), count};
  std::fill(hidden_.begin(), hidden_.end(), 0.0F);  // so that the first input pays no page faults
  if (extent.ends.text && file_.index().info.has_text())
    rows_->Reserve(extent.tokens, extent.context, touch);
  cache_ = {};  // before the next is made: there is no room for both
  if (extent.context > 0) cache_ = {shape, extent.depth, extent.width, extent.context};
}

void PassRun::Release() {
  hidden_ = {};
  hidden_buffer_ = AlignedBuffer();
  cache_ = {};
  rows_->Release();
}

void PassRun::VisitMemory(FunctionRef<void(AlignedBuffer&)> visit) {
  visit(hidden_buffer_);
  visit(cache_.memory());
  rows_->VisitMemory(visit);
}

void PassRun::Begin(Route& route, const RunTerms& terms, Clock::time_point began,
                    PassOutput* output, RunReport* report) {
  route_ = &route;
  terms_ = terms;
  began_ = began;
  taken_ = terms.taken.value_or(began);
  output_ = output;
  report_ = report;
  report_->embeddings_begin_us = report_->embeddings_us = 0;
  report_->stall_us = 0;
  report_->head_us = 0;
  report_->layers.clear();
  report_->degraded.clear();
  report_->fallback.reset();
  next_layer_ = 0;
  guarantee_ = nullptr;
  has_lane_ = true;
  has_rows_ = false;
  reads_failed_ = false;
  if (degrades()) BeginDegraded();
}

void PassRun::BeginDegraded() {
  route_->pace().Begin(*terms_.degrade_for_us);
  planned_rate_ = route_->PlannedRate();
  loader_.lane().ExpectBandwidth(planned_rate_);
  SetStartTimes();
}

Status PassRun::Embed(const Pass& pass) {
  const auto* tokens = std::get_if<TokenInput>(&pass.input);
  const auto* images = std::get_if<ImageInput>(&pass.input);
  const auto* hidden = std::get_if<HiddenInput>(&pass.input);
  const ModelShape& shape = file_.index().info.shape;
  tokens_ = static_cast<uint32_t>(TokensOf(pass, shape));
  first_position_ = pass.first_position;
  if (first_position_) cache_.Cut(*first_position_);
  offsets_.assign(pass.offsets.begin(), pass.offsets.end());
  if (offsets_.empty()) {
    const uint32_t step = images != nullptr ? shape.max_positions : tokens_;
    for (uint32_t at = 0; at <= tokens_; at += step) offsets_.push_back(at);
  }
  if (output_->wants_attention) output_->attention.assign(tokens_, 0);
  if (tokens != nullptr) return EmbedTokens(*tokens);
  if (images != nullptr) return EmbedImages(*images);
  std::copy(hidden->rows.begin(), hidden->rows.end(), hidden_.begin());
  return ReadsBeforeComputing(route_->plan()) ? AwaitReads() : Status();
}

Status PassRun::EmbedTokens(const TokenInput& input) {
  tokens_in_ = input;
  if (!has_lane_) return FallBackBeforeRows();
  rows_->UseVocabulary(resident_.has_words ? resident_.words.span() : std::span<const uint8_t>());
  loader_.lane().ReadTableRows(rows_->Plan(input.ids, Positions()), rows_->blocks());
  if (degrades()) SetStartTimes();
  const double waiting = Now();
  if (ReadsBeforeComputing(route_->plan())) STI_RETURN_IF_ERROR(AwaitReads());
  STI_ASSIGN_OR_RETURN(has_rows_, RowsCome());
  if (degrades() && has_rows_) SetStartTimes();
  report_->embeddings_begin_us = Now();
  report_->stall_us += report_->embeddings_begin_us - waiting;
  if (!has_rows_) return FallBackBeforeRows();
  STI_RETURN_IF_ERROR(SumTableRows(input));
  transformer_.FinishEmbeddings(hidden_.data(), tokens_, resident_.embedding);
  report_->embeddings_us = Now();
  return {};
}

// Returns how many positions the pass has rows read of. A sequence that is continued has those of
// all its tokens to come with its first ones: a pass for each token would wait for one row each.
uint32_t PassRun::Positions() const {
  if (!first_position_) return batch().longest();
  return rows_->keeps() ? route_->plan().context : *first_position_ + batch().longest();
}

// An image has no rows to be read.
Status PassRun::EmbedImages(const ImageInput& input) {
  const double waiting = Now();
  if (ReadsBeforeComputing(route_->plan())) STI_RETURN_IF_ERROR(AwaitReads());
  report_->embeddings_begin_us = Now();
  report_->stall_us += report_->embeddings_begin_us - waiting;
  transformer_.EmbedImages(input.values, resident_.embedding, hidden_.data());
  report_->embeddings_us = Now();
  return {};
}

// Each sequence begins at the first position, but one that is continued.
Status PassRun::SumTableRows(const TokenInput& input) {
  const size_t width = file_.index().info.shape.embedding_width();
  float* const sums = transformer_.EmbeddingSums(tokens_, hidden_.data());
  for (uint32_t s = 0; s < batch().sequences(); ++s) {
    const uint32_t first = offsets_[s];
    const uint32_t count = offsets_[s + 1] - first;
    STI_RETURN_IF_ERROR(
        rows_->Sum({input.ids.subspan(first, count), input.types.subspan(first, count),
                    resident_.embedding[TensorRole::kTypeEmbeddings], first_position_.value_or(0)},
                   file_.name(), sums + first * width));
  }
  return {};
}

// A plan that counts on all IO before all computation runs so. Where the arena is too small for
// that, what is read before the first layer is as much as it holds; and a degraded run goes on when
// its first layer must start.
Status PassRun::AwaitReads() {
  const LoadSchedule& schedule = *loader_.schedule();
  const auto overwrites = std::find_if(schedule.reads.begin(), schedule.reads.end(),
                                       [](const ScheduledRead& read) { return read.after > 0; });
  const uint32_t end = overwrites == schedule.reads.end() ? route_->groups() : overwrites->group;
  for (uint32_t group = 0; group < end; ++group) {
    std::optional<Clock::time_point> latest;
    if (degrades()) latest = taken_ + Microseconds(route_->pace().LatestStartUs(0));
    STI_RETURN_IF_ERROR(loader_.lane().WaitForGroup(group, latest));
  }
  return {};
}

Status PassRun::Layers(uint32_t first, uint32_t last) {
  if (first != next_layer_ || last < first || last > layers()) {
    return UsageError("layers " + std::to_string(first) + " to " + std::to_string(last) +
                      " of a run are not the next");
  }
  while (next_layer_ < last && !report_->fallback) {
    STI_RETURN_IF_ERROR(ComputeLayer(next_layer_));
    if (!report_->fallback) ++next_layer_;
  }
  next_layer_ = last;  // a run that gave up has computed all that it will
  return {};
}

Status PassRun::ComputeLayer(uint32_t k) {
  const double waiting = Now();
  if (guarantee_ == nullptr) {
    STI_RETURN_IF_ERROR(WaitForLayer(k));
    return ComputePlanned(k, waiting);
  }
  STI_ASSIGN_OR_RETURN(const bool comes, LayerComes(k));
  if (comes) return ComputePlanned(k, waiting);
  report_->stall_us += Now() - waiting;
  return FallBackAfter(k);
}

Status PassRun::ComputePlanned(uint32_t k, double waiting) {
  IoLane& lane = loader_.lane();
  STI_RETURN_IF_ERROR(loader_.TakeResident(*route_, k));
  report_->stall_us += Now() - waiting;
  STI_RETURN_IF_ERROR(ComputeFrom({.route = *route_,
                                   .arrived = lane.TakeArrived(k),
                                   .arena = loader_.arena().span(),
                                   .degraded = &report_->degraded},
                                  k));
  lane.GroupComputed(k);
  if (degrades()) SetStartTimes();
  return {};
}

Status PassRun::ComputeFrom(const ShardSupply& supply, uint32_t k) {
  Route& route = supply.route;
  const PlanCore& plan = route.plan();
  LayerTrace trace;
  trace.layer = plan.layers[k];
  trace.start_us = Now();
  const uint32_t most = degrades() ? route.pace().SlicesFor(k, SinceTaken()) : plan.width;
  STI_ASSIGN_OR_RETURN(const Route::Layer layer, route.ViewLayer(k, most,
                                                                 {.arrived = supply.arrived,
                                                                  .arena = supply.arena,
                                                                  .buffer = loader_.buffer(),
                                                                  .file = file_.name()},
                                                                 supply.degraded));
  const bool before_head = k + 1 == plan.layers.size() && !output_->hidden;
  transformer_.RunLayer({batch(),
                         {layer.views, layer.slices, resident_.layers[trace.layer]},
                         before_head ? head_rows() : OutputRows::kAll,
                         attention(),
                         first_position_ ? std::optional(cache_.Layer(k)) : std::nullopt},
                        hidden_.data());
  trace.end_us = Now();
  trace.decode_us = transformer_.TakeDecodeUs();
  trace.slices = static_cast<uint32_t>(layer.slices.size());
  if (degrades()) route.pace().Observe(k, trace.slices, trace.end_us - trace.start_us);
  report_->layers.push_back(trace);
  return {};
}

Status PassRun::WaitForLayer(uint32_t k) {
  IoLane& lane = loader_.lane();
  if (!degrades()) return lane.WaitForGroup(k);
  const Result<bool> came = lane.WaitInTime(k, !route_->HoldsBase(k, loader_.buffer()));
  return came.ok() ? Status() : Status(came.error());
}

Status PassRun::Finish() {
  if (next_layer_ != layers()) return UsageError("a run has layers left before its head");
  const ModelInfo& info = file_.index().info;
  if (output_->hidden) {
    output_->values.assign(hidden_.begin(), hidden_.begin() + size_t{tokens_} * info.shape.hidden);
    return {};
  }
  const double waiting = Now();
  // A run that may give up has its head in memory, and no read may fail it any more.
  if (guarantee_ == nullptr) {
    STI_RETURN_IF_ERROR(loader_.lane().WaitForGroup(layers()));
    STI_RETURN_IF_ERROR(loader_.TakeResident(*route_, layers()));
  }
  const double begin = Now();
  report_->stall_us += begin - waiting;
  output_->values.resize(size_t{batch().Results(info.head)} * info.head_values());
  if (info.continues_texts()) {
    STI_RETURN_IF_ERROR(ComputeWords());
  } else {
    transformer_.Head(batch(), hidden_.data(), resident_.head, output_->values.data());
    report_->head_us = Now() - begin;
  }
  return CheckHeadValues(info, output_->values);
}

// All words that are in memory at once, or group after group of those that are read.
Status PassRun::ComputeWords() {
  const RowTable& words = file_.index().words;
  const uint32_t rows = batch().sequences();
  IoLane& lane = loader_.lane();
  double begin = Now();
  transformer_.BeginWords(rows, hidden_.data(), resident_.head);
  const auto score = [&](uint32_t first, std::span<const uint8_t> stored) {
    transformer_.ScoreWords(words, first, stored, rows, output_->values.data());
    report_->head_us += Now() - begin;
  };
  if (resident_.has_words) {
    score(0, resident_.words.span());
    return {};
  }
  report_->head_us += Now() - begin;
  lane.GroupComputed(layers());
  for (uint32_t group = route_->first_word_group(); group < route_->groups(); ++group) {
    const double waiting = Now();
    STI_RETURN_IF_ERROR(lane.WaitForGroup(group));
    begin = Now();
    report_->stall_us += begin - waiting;
    score(route_->WordsOf(group).first,
          route_->ResidentBytes(group, std::as_const(loader_.arena()).span()));
    STI_RETURN_IF_ERROR(loader_.TakeResident(*route_, group));
    lane.GroupComputed(group);
  }
  return {};
}

void PassRun::End(bool well) {
  report_->latency_us = Now();
  if (has_lane_) loader_.lane().Stop(&io_);
  if (degrades()) route_->pace().Ended(SinceTaken() - *terms_.degrade_for_us);
  if (!well) return rows_->Forget();
  if (first_position_) cache_.Add(tokens_);
  if (has_rows_) rows_->Keep();
  ReportReads();
}

void PassRun::SetStartTimes() {
  const Pace& pace = route_->pace();
  start_by_.resize(route_->groups());
  for (uint32_t group = 0; group < route_->groups(); ++group)
    start_by_[group] = taken_ + Microseconds(pace.LatestStartUs(group));
  // A plan that was forged may count on any rate.
  constexpr double kMostRowBytes = 1e15;
  const double row_bytes = planned_rate_ * route_->plan().times->embed_io_us;
  loader_.lane().ShareOutTime(start_by_, planned_rate_,
                              row_bytes < kMostRowBytes ? static_cast<uint64_t>(row_bytes) : 0);
}

void PassRun::ReportReads() {
  const auto since_start = [&](Clock::time_point moment) {
    return MicrosecondsBetween(began_, moment);
  };
  if (!has_lane_) return NoteNoReads();
  report_->bytes_read = io_.bytes;
  report_->io_busy_us = io_.busy_us;
  report_->embeddings_io_begin_us = since_start(io_.table_rows_begin);
  report_->embeddings_io_us = since_start(io_.table_rows_ready);
  // Layers behind those of the plan are the fallback's, which reads nothing.
  const size_t planned =
      report_->fallback ? report_->fallback->layers_before : report_->layers.size();
  for (size_t k = 0; k < planned; ++k) {
    LayerTrace& layer = report_->layers[k];
    const bool read = io_.begin[k] != Clock::time_point{};
    layer.io_ready_us = since_start(io_.ready[k]);
    layer.io_begin_us = read ? since_start(io_.begin[k]) : layer.io_ready_us;
  }
  report_->reads.clear();
  for (uint32_t read = 0; read < io_.reads.size(); ++read) {
    const ReadTrace& trace = io_.reads[read];
    if (trace.end <= trace.begin) continue;
    report_->reads.push_back({since_start(trace.begin), since_start(trace.end), read});
  }
  report_->agents.reset();
  if (const uint32_t agents = route_->plan().agents; agents > 0)
    report_->agents = ReportAgents(*report_, *loader_.schedule(), agents);
}

void PassRun::LetGiveUp(Guarantee& guarantee, const HeldRows& held_rows) {
  guarantee_ = &guarantee;
  held_rows_ = &held_rows;
}

std::shared_ptr<void> PassRun::LeaveRowMemory() { return std::exchange(rows_, rows_->Leave()); }

// A run that may give up takes a read that fails for one that does not come. Only an interrupt ends
// it.
Result<bool> PassRun::FalseIfReadFailed(Result<bool> came) {
  if (came.ok() || guarantee_ == nullptr || came.error().kind == ErrorKind::kCancelled) return came;
  reads_failed_ = true;
  return false;
}

Result<bool> PassRun::RowsCome() {
  std::optional<Clock::time_point> latest;
  if (guarantee_ != nullptr)
    latest = taken_ + Microseconds(guarantee_->RowsByUs(*terms_.degrade_for_us, route_->pace()));
  return FalseIfReadFailed(loader_.lane().WaitForTableRows(latest));
}

// Past its last moment a layer is begun only if the run will need no more reads: another moment to
// give up does not come.
Result<bool> PassRun::LayerComes(uint32_t k) {
  const double deadline_us = *terms_.degrade_for_us;
  const bool need_base = !route_->HoldsBase(k, loader_.buffer());
  const auto latest = taken_ + Microseconds(guarantee_->LayerByUs(k, deadline_us, route_->pace()));
  STI_ASSIGN_OR_RETURN(const bool comes,
                       FalseIfReadFailed(loader_.lane().WaitInTime(k, need_base, latest)));
  if (!comes) return false;
  return SinceTaken() <= guarantee_->PastLayerByUs(k, deadline_us, route_->pace()) ||
         HasAllFrom(k + 1);
}

bool PassRun::HasAllFrom(uint32_t k) {
  for (; k < layers(); ++k) {
    if (!loader_.lane().CanStart(k, !route_->HoldsBase(k, loader_.buffer()))) return false;
  }
  return true;
}

Status PassRun::FallBackBeforeRows() {
  GiveUp(0);
  SumRowsAtHand();
  return ComputeFallback(0);
}

// The embeddings have been summed, and `done` layers of the plan computed.
Status PassRun::FallBackAfter(uint32_t done) {
  GiveUp(done);
  const std::optional<size_t> first = guarantee_->GoesOnAt(done);
  if (!first) SumRowsAtHand();
  return ComputeFallback(first.value_or(0));
}

void PassRun::GiveUp(uint32_t done) {
  rows_arrived_.clear();
  if (has_lane_) {
    loader_.lane().Stop(nullptr);
    loader_.lane().CopyArrivedRows(&rows_arrived_);
  }
  const bool goes_on = guarantee_->GoesOnAt(done).has_value();
  GivenUp& given_up = report_->fallback.emplace();
  given_up.layers_before = goes_on ? done : 0;
  given_up.reads_failed = reads_failed_;
  if (goes_on) return;
  report_->layers.clear();
  report_->degraded.clear();
}

// Sums the embedding rows that are in memory: all of them, if they have come.
void PassRun::SumRowsAtHand() {
  report_->embeddings_begin_us = Now();
  const ContainerIndex& index = file_.index();
  const size_t width = index.info.shape.embedding_width();
  float* const sums = transformer_.EmbeddingSums(tokens_, hidden_.data());
  uint32_t missing = 0;
  for (uint32_t s = 0; s < batch().sequences(); ++s) {
    const uint32_t first = offsets_[s];
    const uint32_t count = offsets_[s + 1] - first;
    missing += SumRowsInMemory(
        index, [&](const RowTable& table, uint32_t row) { return RowAtHand(table, row); },
        {tokens_in_.ids.subspan(first, count), tokens_in_.types.subspan(first, count),
         resident_.embedding[TensorRole::kTypeEmbeddings]},
        sums + first * width);
  }
  transformer_.FinishEmbeddings(hidden_.data(), tokens_, resident_.embedding);
  report_->embeddings_us = Now();
  report_->fallback->rows_missing = missing;
}

void PassRun::NoteNoReads() {
  report_->bytes_read = 0;
  report_->io_busy_us = 0;
  report_->embeddings_io_begin_us = report_->embeddings_io_us = 0;
  report_->reads.clear();
  report_->agents.reset();
}

const uint8_t* PassRun::RowAtHand(const RowTable& table, uint32_t row) const {
  const uint8_t* const found = rows_->Find(table, row, rows_arrived_);
  return found != nullptr ? found : held_rows_->Find(table, row);
}

Status PassRun::ComputeFallback(size_t first) {
  Route& route = guarantee_->route();
  const PlanCore& plan = route.plan();
  route.pace().Begin(*terms_.degrade_for_us);
  route.pace().ExpectSlowdown(route_->pace().slowdown());
  const std::vector<PartSet> nothing_arrived(plan.width);
  std::vector<DegradedShard> narrower;
  for (auto k = static_cast<uint32_t>(first); k < plan.layers.size(); ++k) {
    STI_RETURN_IF_ERROR(ComputeFrom(
        {.route = route, .arrived = nothing_arrived, .arena = {}, .degraded = &narrower}, k));
  }
  if (first >= plan.layers.size()) {  // as a last layer leaves them
    const uint32_t d = file_.index().info.shape.hidden;
    CopyRows(batch(), head_rows(), d, hidden_.data(), hidden_.data());
  }
  route_->pace().ExpectSlowdown(route.pace().slowdown());
  report_->degraded.insert(report_->degraded.end(), narrower.begin(), narrower.end());
  return {};
}

}  // namespace sti
