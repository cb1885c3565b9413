// The runs of a pipeline: which passes and terms are sound, the steps of each run, and what goes on
// between the levels of a cascade.
#include <algorithm>
#include <functional>
#include <string>
#include <variant>

#include "base/remedy.h"
#include "model/batch.h"
#include "pipeline/core/pipeline_core.h"
#include "types/finite.h"

namespace sti {
namespace {

Status Compute(PassRun& run, const Pass& pass) {
  STI_RETURN_IF_ERROR(run.Embed(pass));
  STI_RETURN_IF_ERROR(run.Layers(0, run.layers()));
  return run.Finish();
}

Error TooLong(size_t tokens, uint32_t length) {
  return DataError("an input of " + std::to_string(tokens) + " tokens; the plan holds " +
                   std::to_string(length));
}

Status CheckOffsets(std::span<const uint32_t> offsets, size_t tokens) {
  if (offsets.empty()) return {};
  const bool ascends =
      std::adjacent_find(offsets.begin(), offsets.end(), std::greater_equal<>()) == offsets.end();
  if (offsets.size() >= 2 && offsets.front() == 0 && offsets.back() == tokens && ascends) return {};
  return UsageError("offsets that do not split the tokens into sequences");
}

}  // namespace

Status PipelineCore::Run(const Pass& pass, const RunTerms& terms, PassOutput* output,
                         RunReport* report) {
  STI_ASSIGN_OR_RETURN(PassRun* const run, Begin(pass, terms, output, report));
  return End(Compute(*run, pass));
}

Result<PassRun*> PipelineCore::Begin(const Pass& pass, const RunTerms& terms, PassOutput* output,
                                     RunReport* report) {
  STI_RETURN_IF_ERROR(Check(pass));
  if (!plan().ends.head && !output->hidden)
    return UsageError("a stage without a head is asked for what a head gives");
  const Clock::time_point began = Clock::now();
  const size_t tokens = TokensOf(pass, index().info.shape);
  const RouteId route = terms.route.value_or(force_->RouteFor(tokens));
  STI_RETURN_IF_ERROR(CheckTerms(terms, route, tokens));
  if (resting_) ReserveWork();
  const bool has_tokens = std::holds_alternative<TokenInput>(pass.input);
  // A run can fall back that has a text, and is asked for its label.
  const bool guaranteed =
      terms.degrade_for_us && has_tokens && !output->hidden && force_->held_rows != nullptr;
  Guarantee* guarantee = guaranteed ? force_->GuaranteeOf(route) : nullptr;
  if (guarantee != nullptr && !guarantee->IsHeld(loader_.buffer())) guarantee = nullptr;
  STI_ASSIGN_OR_RETURN(const bool reads,
                       StartReads(route, terms, has_tokens ? RowsCome::kNext : RowsCome::kNever,
                                  guarantee != nullptr));
  report->turn = static_cast<uint32_t>(force_->engagement.turn() + 1);
  run_->Begin(force_->routes[route.index], terms, began, output, report);
  if (guarantee != nullptr) {
    run_->LetGiveUp(*guarantee, *force_->held_rows);
    if (!reads) run_->GoWithoutReads();
  }
  return &*run_;
}

Status PipelineCore::End(Status status) {
  run_->End(status.ok());
  if (status.ok()) {
    CompareWithPlan(run_->report());
    force_->engagement.NoteRun(run_->route().id(),
                               run_->terms().keep ? KeptBy::kCaller : KeptBy::kPlan);
  }
  if (run_->has_lane()) loader_.EndRun(status.ok());
  const RunReport& report = run_->report();
  const bool loaded = status.ok() && !report.fallback && report.degraded.empty();
  if (loaded && refit_ == Refit::kAfterRun) refit_ = Refit::kNow;
  if (loader_.state() == LaneState::kIdle) (void)RefitArena();  // else before the next run
  return status;
}

// Nothing is in flight.
Status PipelineCore::RefitArena() {
  if (refit_ != Refit::kNow) return {};
  refit_ = Refit::kNo;
  return MakeRoom();
}

// The lane's job is the one that Wake began, or a new one. Returns false if there is none, because
// earlier reads still hang and the run can do without.
Result<bool> PipelineCore::StartReads(RouteId id, const RunTerms& terms, RowsCome rows_come,
                                      bool may_do_without) {
  if (loader_.TakeOver(JobFor(id, terms))) return true;
  if (terms.degrade_for_us) loader_.SetLateLaneAside([this] { return run_->LeaveRowMemory(); });
  if (may_do_without && !loader_.IsLaneIdle()) return false;
  STI_RETURN_IF_ERROR(loader_.BecomeIdle());
  STI_RETURN_IF_ERROR(RefitArena());
  Route& route = force_->routes[id.index];
  Status prepared = loader_.Prepare(route, JobFor(id, terms));
  if (!prepared.ok() && force_->engagement.turn() > 0) {
    BeginTurnsAnew();  // a later turn may need room that the first does not
    prepared = loader_.Prepare(route, JobFor(id, terms));
  }
  STI_RETURN_IF_ERROR(prepared);
  loader_.Start(route, JobFor(id, terms), LaneState::kRunning, rows_come);
  return true;
}

Status PipelineCore::Check(const Pass& pass) const {
  const ModelShape& shape = index().info.shape;
  const size_t hidden = shape.hidden;
  const bool has_images = std::holds_alternative<ImageInput>(pass.input);
  if (has_images && !shape.image) return UsageError("a model of texts is given images");
  const size_t tokens = TokensOf(pass, shape);
  if (tokens == 0) return DataError("an input without tokens");
  STI_RETURN_IF_ERROR(CheckOffsets(pass.offsets, tokens));
  if (has_images) return CheckImages(std::get<ImageInput>(pass.input), pass.offsets);
  STI_RETURN_IF_ERROR(CheckExtent(pass.offsets, tokens));
  STI_RETURN_IF_ERROR(CheckPlace(pass, tokens));
  if (const auto* input = std::get_if<TokenInput>(&pass.input)) {
    if (!plan().ends.text) return UsageError("a stage that takes hidden rows is given tokens");
    if (shape.image) return UsageError("a model of images is given tokens");
    return CheckTokens(*input);
  }
  if (std::get<HiddenInput>(pass.input).rows.size() == tokens * hidden) return {};
  return UsageError("hidden rows that are not whole");
}

// Sequences of a plan that takes one at a time are one input together.
Status PipelineCore::CheckExtent(std::span<const uint32_t> offsets, size_t tokens) const {
  if (tokens > force_->most_tokens()) return TooLong(tokens, force_->most_tokens());
  const uint32_t most = plan().microbatch;
  if (most == 1) return {};
  const Batch batch{offsets};
  const size_t sequences = offsets.empty() ? 1 : batch.sequences();
  if (sequences > most) {
    return UsageError("a pass of " + std::to_string(sequences) + " sequences; the plan takes " +
                      std::to_string(most));
  }
  const size_t longest = offsets.empty() ? tokens : batch.longest();
  return longest > max_length() ? Status(TooLong(longest, max_length())) : Status();
}

Status PipelineCore::CheckPlace(const Pass& pass, size_t tokens) const {
  if (!pass.first_position) return {};
  const uint32_t first = *pass.first_position;
  const uint32_t context = plan().context;
  if (context == 0) return UsageError("a plan without a context is given a piece of a sequence");
  if (pass.offsets.size() > 2) return UsageError("one pass is given pieces of several sequences");
  if (first > run_->kept_tokens()) {
    return UsageError("a sequence is continued at token " + std::to_string(first) + ", of which " +
                      std::to_string(run_->kept_tokens()) + " are there");
  }
  if (first + tokens <= context) return {};
  return DataError("a text of " + std::to_string(first + tokens) +
                   " tokens, with those made of it" + "; the plan has a context of " +
                   std::to_string(context));
}

Status PipelineCore::CheckImages(const ImageInput& input, std::span<const uint32_t> offsets) const {
  if (!plan().ends.text) return UsageError("a stage that takes hidden rows is given images");
  const ModelShape& shape = index().info.shape;
  if (input.values.size() % shape.image->values() != 0)
    return UsageError("images that are not whole");
  const uint64_t count = input.values.size() / shape.image->values();
  if (count > plan().microbatch) {
    return UsageError("a pass of " + std::to_string(count) + " images; the plan takes " +
                      std::to_string(plan().microbatch));
  }
  for (size_t s = 1; s < offsets.size(); ++s) {
    if (offsets[s] - offsets[s - 1] != shape.max_positions)
      return UsageError("offsets that do not split the tokens into images");
  }
  if (AllFinite(input.values)) return {};
  return DataError("an image with a number that is not finite").In(Source::kInput);
}

Status PipelineCore::CheckTokens(const TokenInput& input) const {
  const ModelShape& shape = index().info.shape;
  if (input.types.size() != input.ids.size()) return UsageError("types and ids differ in number");
  for (uint32_t id : input.ids) {
    if (id >= shape.vocabulary) {
      return DataError("token id " + std::to_string(id) + " is outside the vocabulary of " +
                       std::to_string(shape.vocabulary));
    }
  }
  for (uint32_t type : input.types) {
    if (type >= std::max(1U, shape.token_types))
      return DataError("a token type the model does not have");
  }
  return {};
}

Status PipelineCore::CheckTerms(const RunTerms& terms, RouteId route, size_t tokens) const {
  if (route.index >= force_->routes.size()) return UsageError("the plan has no such variant");
  const PlanCore& plan = PlanOf(force_->plan, route);
  if (tokens > plan.most_tokens()) return TooLong(tokens, plan.most_tokens());
  if (terms.degrade_for_us && index().info.continues_texts())
    return UsageError("a model that continues texts is given a deadline, which it cannot keep");
  if (terms.degrade_for_us && plan.agents > 0)
    return UsageError("a plan whose layers are read by agents is given a deadline to keep");
  if (terms.degrade_for_us && !plan.times)
    return UsageError("the plan does not say how long its layers take").Fix(Remedy::kPlanAgain);
  return terms.keep ? CheckKeep(*terms.keep) : Status();
}

// Only the plan's own shards have places in the buffer.
Status PipelineCore::CheckKeep(std::span<const ShardAtBits> keep) const {
  const PreloadBuffer& buffer = loader_.buffer();
  for (const ShardAtBits& shard : keep) {
    const bool held = shard.id.layer < index().info.shape.layers &&
                      shard.id.slice < index().info.shape.width && index().Holds(shard);
    if (held && buffer.HasPlace(shard.id, PartAt(shard.bits))) continue;
    return UsageError(NameOf(shard) + " cannot stay in memory: the plan does not run it so");
  }
  return {};
}

// Only what the plan speaks of: first turns, no fallbacks, inputs of about its length. What is left
// of a degraded run counts for what it is: a read takes its share of the plan's bytes, a narrower
// layer or a shorter input at least half of what does not depend on that, so that neither makes a
// device look slow that is not. The last layer counts only if the plan has a time of its own for
// it. Reads of a cascade level behind the first hang on those before it; a run that fills the
// buffer again, which a change has emptied, reads what the plan has there.
void PipelineCore::CompareWithPlan(const RunReport& report) {
  if (report.fallback) return;
  const PlanCore& plan = run_->route().plan();
  const bool as_long = run_->tokens() * 3 >= plan.most_tokens() * 2;
  if (!plan.times || plan.cold || !as_long) return;
  const double length_share = static_cast<double>(run_->tokens()) / plan.most_tokens();
  double compute_us = 0;
  double planned_us = 0;
  const size_t known = report.layers.size() - (plan.times->last_layer_us ? 0 : 1);
  for (size_t k = 0; k < known; ++k) {
    const double width_share = static_cast<double>(report.layers[k].slices) / plan.width;
    compute_us += report.layers[k].end_us - report.layers[k].start_us;
    planned_us += plan.times->LayerUs(k) * (1 + length_share) / 2 * (1 + width_share) / 2;
  }
  double io_us = 0;
  for (double layer_us : plan.times->layer_io_us) io_us += layer_us;
  io_us += plan.times->head_io_us;
  io_us = io_us * ShareRead(report) + plan.times->embed_io_us * length_share;
  const bool is_later_level = force_->plan.cascade && run_->route().id() != force_->FirstRoute();
  const bool fills_buffer = refit_ == Refit::kAfterRun;
  const bool reads_as_planned = report.turn == 1 && force_->engagement.buffer_as_planned() &&
                                !fills_buffer && !is_later_level;
  drift_.Add(planned_us > 0 ? compute_us / planned_us : 0,
             reads_as_planned && io_us > 0 ? report.io_busy_us / io_us : 0);
}

// Returns the share of the schedule's bytes that the run read; 1 if it has none.
double PipelineCore::ShareRead(const RunReport& report) const {
  const LoadSchedule& schedule = *loader_.schedule();
  if (schedule.read_bytes == 0) return 1;
  uint64_t bytes = 0;
  for (const ReadSpan& span : report.reads) bytes += schedule.reads[span.read].length;
  return static_cast<double>(bytes) / static_cast<double>(schedule.read_bytes);
}

void PipelineCore::EndInput() {
  if (force_->plan.cascade) loader_.KeepLess(force_->engagement.KeptBetween());
}

// As the run would: a layer is in time whose slices all fit in what is left when its reads have
// come. Reads go on at the rate that they have had lately. What a degraded level has not brought
// may be more than a bounded arena has room for.
bool PipelineCore::HasTimeFor(RouteId id, const RunTerms& terms) {
  Route& route = force_->routes[id.index];
  Pace& pace = route.pace();
  pace.Begin(*terms.degrade_for_us);
  pace.ExpectSlowdown(run_->route().pace().slowdown());
  if (!loader_.BecomeIdleBy(*terms.taken + Microseconds(pace.LatestStartUs(0)))) return false;
  if (!loader_.Prepare(route, JobFor(id, terms)).ok()) return false;
  const double known_rate = loader_.lane().bytes_per_us();
  const double rate = known_rate > 0 ? known_rate : route.PlannedRate();
  const double begin_us = MicrosecondsBetween(*terms.taken, Clock::now()) +
                          pace.slowdown() * route.plan().times->embed_us;
  double bytes = 0;
  for (uint32_t k = 0; k < route.layers(); ++k) {
    bytes += static_cast<double>(route.EssentialBytes(k, loader_.buffer()));
    const double io_us = rate > 0 ? bytes / rate : 0;
    if (pace.SlicesFor(k, begin_us + io_us) < route.plan().width) return false;
  }
  return true;
}

}  // namespace sti
