// The part of a run that gives up on IO: when it does, and what it computes from there on. Nothing
// here waits for a read but until the last moment at which the fallback is in time.
#include <algorithm>
#include <numeric>
#include <utility>

#include "network/tensors.h"
#include "pipeline/core/run.h"

namespace sti {

void Run::MayGiveUp(Guarantee& guarantee, const HeldRows& held_rows, bool has_lane) {
  guarantee_ = &guarantee;
  held_rows_ = &held_rows;
  has_lane_ = has_lane;
}

std::shared_ptr<void> Run::GiveUpRows() { return std::exchange(rows_, rows_->Leave()); }

// A read that fails is as one that does not come. Only an interrupted run ends.
Result<bool> Run::Unless(Result<bool> came) {
  if (came.ok() || guarantee_ == nullptr || came.error().kind == ErrorKind::kCancelled) return came;
  reads_failed_ = true;
  return false;
}

Result<bool> Run::RowsCome() {
  std::optional<Clock::time_point> latest;
  if (guarantee_ != nullptr)
    latest = taken_ + Microseconds(guarantee_->RowsByUs(*terms_.degrade_for_us, route_->pace()));
  return Unless(loader_.lane().WaitForTableRows(latest));
}

// Past its last moment a layer is begun only if the run will need no more reads: another moment to
// give up does not come.
Result<bool> Run::LayerComes(uint32_t k) {
  const double deadline_us = *terms_.degrade_for_us;
  const bool need_base = !route_->HoldsBase(k, loader_.buffer());
  const auto latest = taken_ + Microseconds(guarantee_->LayerByUs(k, deadline_us, route_->pace()));
  STI_ASSIGN_OR_RETURN(const bool comes, Unless(loader_.lane().WaitInTime(k, need_base, latest)));
  if (!comes) return false;
  return SinceTaken() <= guarantee_->PastLayerByUs(k, deadline_us, route_->pace()) ||
         HasAllFrom(k + 1);
}

bool Run::HasAllFrom(uint32_t k) {
  for (; k < layers(); ++k) {
    if (!loader_.lane().CanStart(k, !route_->HoldsBase(k, loader_.buffer()))) return false;
  }
  return true;
}

Status Run::FallBackBeforeRows() {
  GiveUp(0);
  SumRowsAtHand();
  return ComputeFallback(0);
}

// The embeddings have been summed, and `done` layers of the plan computed.
Status Run::FallBackAfter(uint32_t done) {
  GiveUp(done);
  const std::optional<size_t> first = guarantee_->GoesOnAt(done);
  if (!first) SumRowsAtHand();
  return ComputeFallback(first.value_or(0));
}

void Run::GiveUp(uint32_t done) {
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
void Run::SumRowsAtHand() {
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
        tokens_in_.ids.subspan(first, count), tokens_in_.types.subspan(first, count),
        resident_.embedding[TensorRole::kTypeEmbeddings], sums + first * width);
  }
  transformer_.FinishEmbeddings(hidden_.data(), tokens_, resident_.embedding);
  report_->embeddings_us = Now();
  report_->fallback->rows_missing = missing;
}

void Run::NoteNoReads() {
  report_->bytes_read = 0;
  report_->io_busy_us = 0;
  report_->embeddings_io_begin_us = report_->embeddings_io_us = 0;
  report_->reads.clear();
}

const uint8_t* Run::RowAtHand(const RowTable& table, uint32_t row) const {
  const uint8_t* const found = rows_->Find(table, row, rows_arrived_);
  return found != nullptr ? found : held_rows_->Find(table, row);
}

Status Run::ComputeFallback(size_t first) {
  Route& route = guarantee_->route();
  const Plan& plan = route.plan();
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
