// The runs of a pipeline: the compute lane.
#include <algorithm>

#include "pipeline/pipeline.h"

namespace sti {

Result<RunResult> Pipeline::Run(std::span<const uint32_t> ids, std::span<const uint32_t> types) {
  RunResult result;
  STI_RETURN_IF_ERROR(Run(ids, types, {}, &result));
  return result;
}

Status Pipeline::Run(std::span<const uint32_t> ids, std::span<const uint32_t> types,
                     const RunTerms& terms, RunResult* result) {
  STI_RETURN_IF_ERROR(CheckInput(ids, types));
  run_start_ = Clock::now();
  taken_ = terms.taken.value_or(run_start_);
  Route& route = routes_[RouteFor(ids.size())];
  const bool degrade = terms.degrade_for_us.has_value();
  if (degrade && !route.plan().times) {
    return UsageError("the plan does not say how long its layers take; run sti-plan again");
  }
  STI_RETURN_IF_ERROR(TakeOver(route, degrade));
  if (degrade) {
    PaceOf(route).Begin(*terms.degrade_for_us);
    const PlanTimes& times = *route.plan().times;
    double io_us = 0;
    for (double layer_us : times.layer_io_us) io_us += layer_us;
    const Plan& plan = route.plan();
    const uint64_t streamed =
        plan.parameter_bytes - std::min(plan.parameter_bytes, plan.preload_bytes);
    if (io_us > 0) lane_->ExpectBandwidth(static_cast<double>(streamed) / io_us);
    reads_begin_us_ = SinceTaken();
    SetStartTimes(route);
  }
  PlanEmbeddingReads(index(), ids, static_cast<uint32_t>(ids.size()), &embedding_reads_);
  lane_->ReadRows(embedding_reads_, embedding_blocks_.span());
  result->turn = static_cast<uint32_t>(TurnIndex() + 1);
  Status status = Compute(route, ids, types, *result);
  result->latency_us = Now();
  lane_->Stop(&report_);
  last_ok_ = status.ok();
  if (degrade) PaceOf(route).Ended(SinceTaken() - *terms.degrade_for_us);
  if (status.ok()) {
    Report(route, *result);
    CompareWithPlan(route, static_cast<uint32_t>(ids.size()), *result);
  }
  // A read that is late for this run shall not delay its label too.
  if (!degrade || lane_->Idle()) Settle();
  if (status.ok() && &route.plan() == &plan_) ++turn_;
  return status;
}

// The lane's job is the one that Wake began, or a new one.
Status Pipeline::TakeOver(Route& route, bool degrade) {
  const bool fits = woken_ && last_ == &route && degrading_ == degrade;
  if (fits) {
    woken_ = false;
    return {};
  }
  if (degrading_ && degrade) SetLateLaneAside();
  Settle();
  degrading_ = degrade;
  ChooseKept(route, turn_ + 1);
  Status prepared = Prepare(route, false, degrade);
  if (!prepared.ok() && turn_ > 0) {
    EndTurns();  // a later turn may need room that the first does not
    ChooseKept(route, turn_ + 1);
    prepared = Prepare(route, false, degrade);
  }
  STI_RETURN_IF_ERROR(prepared);
  StartLane(route, true);
  return {};
}

Status Pipeline::Compute(Route& route, std::span<const uint32_t> ids,
                         std::span<const uint32_t> types, RunResult& result) {
  result.layers.clear();
  result.degraded.clear();
  const double begin = Now();
  STI_RETURN_IF_ERROR(lane_->WaitForRows());
  result.stall_us = Now() - begin;
  const auto tokens = static_cast<uint32_t>(ids.size());
  STI_RETURN_IF_ERROR(SumEmbeddings(index(), embedding_reads_, embedding_blocks_.span(), ids, types,
                                    resident_.type_rows, file_.name(), hidden_.data()));
  transformer_->FinishEmbeddings(hidden_.data(), tokens, resident_.embedding_norm);
  result.embeddings_us = Now();
  const uint32_t offsets[2] = {0, tokens};
  const Batch batch{offsets};
  for (uint32_t k = 0; k < route.layers(); ++k)
    STI_RETURN_IF_ERROR(ComputeLayer(route, k, batch, result));
  return ComputeHead(route, batch, result);
}

Status Pipeline::ComputeLayer(Route& route, uint32_t k, const Batch& batch, RunResult& result) {
  const double waiting = Now();
  STI_RETURN_IF_ERROR(WaitForLayer(route, k));
  STI_RETURN_IF_ERROR(TakeResident(route, k));
  LayerTrace trace;
  trace.layer = route.plan().layers[k];
  trace.start_us = Now();
  result.stall_us += trace.start_us - waiting;
  const uint32_t most = degrading_ ? PaceOf(route).SlicesFor(k, SinceTaken()) : route.plan().width;
  STI_ASSIGN_OR_RETURN(const Route::Layer layer,
                       route.ViewLayer(k, lane_->TakeArrived(k), most, preload_, arena_.span(),
                                       file_.name(), &result.degraded));
  // The head looks at the first token only.
  const OutputRows rows = k + 1 == route.layers() ? OutputRows::kFirst : OutputRows::kAll;
  transformer_->RunLayer(batch, layer.views, layer.slices, resident_.layers[trace.layer],
                         hidden_.data(), rows);
  lane_->GroupComputed(k);
  trace.end_us = Now();
  trace.decode_us = transformer_->TakeDecodeUs();
  trace.slices = static_cast<uint32_t>(layer.slices.size());
  if (degrading_) {
    PaceOf(route).Observe(k, trace.slices, trace.end_us - trace.start_us);
    SetStartTimes(route);
  }
  result.layers.push_back(trace);
  return {};
}

Status Pipeline::WaitForLayer(const Route& route, uint32_t k) {
  if (!degrading_) return lane_->WaitForGroup(k);
  return lane_->WaitForGroupUntil(k, start_by_[k], !route.HoldsBase(k, preload_));
}

// Parameters that a lazy pipeline has not had so far.
Status Pipeline::TakeResident(const Route& route, uint32_t group) {
  const auto bytes = route.ResidentBytes(group, arena_.span());
  if (bytes.empty()) return {};
  if (group == route.layers()) return resident_.SetHead(index(), bytes, file_.name());
  return resident_.SetLayer(index(), route.plan().layers[group], bytes, file_.name());
}

Status Pipeline::ComputeHead(Route& route, const Batch& batch, RunResult& result) {
  const double waiting = Now();
  STI_RETURN_IF_ERROR(lane_->WaitForGroup(route.layers()));
  STI_RETURN_IF_ERROR(TakeResident(route, route.layers()));
  const double begin = Now();
  result.stall_us += begin - waiting;
  result.logits.resize(index().info.shape.labels);
  transformer_->Head(batch, hidden_.data(), resident_.head, result.logits.data());
  result.head_us = Now() - begin;
  return {};
}

// A layer starts while there is time to compute what follows, and also to read it: the arena lets
// the lane be only so far ahead, so a layer that waited to the last for its own reads would keep
// those of later layers waiting too. Where all can be read in time, the slack is any layer's; where
// not, each has its share of the time, by its bytes.
void Pipeline::SetStartTimes(const Route& route) {
  const Pace& pace = PaceOf(route);
  double total = 0;
  for (const ScheduledRead& read : route.schedule().reads)
    total += static_cast<double>(read.length);
  const double rate = lane_->bytes_per_us();
  const double window_us = std::max(0.0, pace.LatestStartUs(route.layers() - 1) - reads_begin_us_);
  const double slack_us = rate > 0 ? std::max(0.0, window_us - total / rate) : 0;
  start_by_.resize(route.groups());
  double bytes = 0;
  auto read = route.schedule().reads.begin();
  for (uint32_t group = 0; group < route.groups(); ++group) {
    for (; read != route.schedule().reads.end() && read->group == group; ++read)
      bytes += static_cast<double>(read->length);
    const double share = total > 0 ? bytes / total : 1;
    const double io_us = reads_begin_us_ + slack_us + share * (window_us - slack_us);
    start_by_[group] = taken_ + Microseconds(std::min(pace.LatestStartUs(group), io_us));
  }
  lane_->StartBy(start_by_);
}

void Pipeline::Report(const Route& route, RunResult& result) {
  const auto since_start = [&](Clock::time_point moment) {
    return MicrosecondsBetween(run_start_, moment);
  };
  result.bytes_read = report_.bytes;
  result.io_busy_us = report_.busy_us;
  result.embeddings_io_begin_us = since_start(report_.rows_begin);
  result.embeddings_io_us = since_start(report_.rows_ready);
  for (size_t k = 0; k < result.layers.size(); ++k) {
    const bool read = report_.begin[k] != Clock::time_point{};
    result.layers[k].io_ready_us = since_start(report_.ready[k]);
    result.layers[k].io_begin_us =
        read ? since_start(report_.begin[k]) : result.layers[k].io_ready_us;
  }
  result.reads.clear();
  for (uint32_t read = 0; read < route.schedule().reads.size(); ++read) {
    const ReadTrace& trace = report_.reads[read];
    if (trace.end <= trace.begin) continue;
    result.reads.push_back({since_start(trace.begin), since_start(trace.end), read});
  }
}

// Only what the plan speaks of: inputs of about its length, undegraded, in its first turn; of the
// last layer only if it has a time of its own.
void Pipeline::CompareWithPlan(const Route& route, uint32_t tokens, const RunResult& result) {
  const Plan& plan = route.plan();
  if (!plan.times || plan.cold || !result.degraded.empty() || tokens * 10 < plan.length * 9) return;
  double compute_us = 0;
  double planned_us = 0;
  const size_t known = result.layers.size() - (plan.times->last_layer_us > 0 ? 0 : 1);
  for (size_t k = 0; k < known; ++k) {
    compute_us += result.layers[k].end_us - result.layers[k].start_us;
    planned_us += plan.times->LayerUs(k);
  }
  double io_us = plan.times->embed_io_us;
  for (double layer_us : plan.times->layer_io_us) io_us += layer_us;
  const bool first_turn = result.turn == 1 && !preload_limit_;
  drift_.Add(planned_us > 0 ? compute_us / planned_us : 0,
             first_turn && io_us > 0 ? result.io_busy_us / io_us : 0);
}

}  // namespace sti
