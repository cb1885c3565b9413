#include "pipeline/pipeline.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/digest.h"

namespace sti {

Pipeline::Pipeline(ContainerFile file, Plan plan, const PipelineOptions& options)
    : file_(std::move(file)),
      plan_(std::move(plan)),
      pool_(options.threads),
      backend_(options.backend) {}

Pipeline::~Pipeline() = default;

Result<std::unique_ptr<Pipeline>> Pipeline::Create(ContainerFile file, Plan plan,
                                                   const PipelineOptions& options) {
  std::unique_ptr<Pipeline> p(new Pipeline(std::move(file), std::move(plan), options));
  STI_RETURN_IF_ERROR(p->CheckPlan());
  STI_ASSIGN_OR_RETURN(p->resident_, LoadResidentModel(p->file_, p->plan_.layers));
  STI_ASSIGN_OR_RETURN(p->transformer_,
                       Transformer::Create(p->index().info, p->pool_, p->backend_));
  p->transformer_->Reserve(p->plan_.length, p->plan_.width);
  p->hidden_.resize(size_t{p->plan_.length} * p->index().info.shape.hidden);
  STI_RETURN_IF_ERROR(p->BuildSchedules(options.staging_bytes));
  p->lane_ = std::make_unique<IoLane>(p->file_.reader());
  STI_RETURN_IF_ERROR(p->Preload());
  return p;
}

Status Pipeline::CheckPlan() const {
  const ContainerIndex& index = file_.index();
  const ModelShape& shape = index.info.shape;
  if (!(plan_.model == index.model)) {
    return DataError("the plan was made for model " + plan_.model.Prefix() + ", not " +
                     index.model.Prefix() + " of " + file_.name() + "; run sti-plan on this model");
  }
  auto bad = [&](const std::string& what) {
    return DataError("the plan does not fit " + file_.name() + ": " + what +
                     "; run sti-plan on this model");
  };
  const std::vector<uint32_t>& layers = plan_.layers;
  bool ascending =
      std::adjacent_find(layers.begin(), layers.end(), std::greater_equal<>()) == layers.end();
  if (layers.empty() || !ascending || layers.back() >= shape.layers) return bad("its layers");
  if (plan_.width < 1 || plan_.width > shape.width) return bad("its width");
  if (plan_.length < 2 || plan_.length > index.info.max_length()) return bad("its length");
  if (plan_.slices.size() != plan_.layers.size() || plan_.bits.size() != plan_.layers.size()) {
    return bad("its rows");
  }
  for (size_t k = 0; k < plan_.layers.size(); ++k) {
    if (plan_.slices[k].size() != plan_.width || plan_.bits[k].size() != plan_.width) {
      return bad("its rows");
    }
    std::vector<bool> taken(shape.width, false);
    for (uint32_t slice : plan_.slices[k]) {
      if (slice >= shape.width) return bad("a slice beyond its width");
      if (taken[slice]) return bad("a slice twice in one layer");
      taken[slice] = true;
    }
    for (uint32_t i = 0; i < plan_.width; ++i) {
      const uint32_t bits = plan_.bits[k][i];
      if (index.Holds(layers[k], plan_.slices[k][i], bits)) continue;
      return bad("it wants " + std::to_string(bits) + " bits of layer " +
                 std::to_string(layers[k]) + " slice " + std::to_string(plan_.slices[k][i]) +
                 ", which the file does not have");
    }
  }
  return {};
}

Status Pipeline::BuildSchedules(uint64_t staging_bytes) {
  std::vector<ShardRequest> preloaded;
  std::vector<ShardRequest> streamed;
  views_.resize(plan_.layers.size());
  streamed_.resize(plan_.layers.size());
  for (uint32_t k = 0; k < plan_.layers.size(); ++k) {
    views_[k].resize(plan_.width);
    for (uint32_t i = 0; i < plan_.width; ++i) {
      ShardRequest request{plan_.layers[k], plan_.slices[k][i], plan_.bits[k][i], k};
      PreloadedShard shard{request.layer, request.slice, request.bits};
      if (std::find(plan_.preload.begin(), plan_.preload.end(), shard) != plan_.preload.end()) {
        preloaded.push_back(request);
      } else {
        streamed_[k].push_back({i, streamed.size()});
        streamed.push_back(request);
      }
    }
  }
  if (preloaded.size() != plan_.preload.size()) {
    return DataError("the plan preloads a shard that it does not run; run sti-plan again");
  }
  STI_ASSIGN_OR_RETURN(preload_schedule_, BuildLoadSchedule(index(), preloaded));
  STI_ASSIGN_OR_RETURN(stream_schedule_, BuildLoadSchedule(index(), streamed, staging_bytes));
  preload_ = AlignedBuffer(preload_schedule_.arena_bytes);
  arena_ = AlignedBuffer(stream_schedule_.arena_bytes);
  embedding_blocks_ = AlignedBuffer(MaxEmbeddingReadBytes(index(), plan_.length));
  // Touched now, so that the first input does not pay for page faults.
  std::fill_n(arena_.data(), arena_.size(), uint8_t{0});
  return {};
}

Status Pipeline::Preload() {
  auto groups = static_cast<uint32_t>(plan_.layers.size());
  lane_->Start({nullptr, {}, &preload_schedule_, preload_.span(), groups});
  Status status;
  for (uint32_t k = 0; k < groups && status.ok(); ++k) status = lane_->WaitForGroup(k);
  lane_->Finish();
  STI_RETURN_IF_ERROR(status);
  for (size_t r = 0; r < preload_schedule_.requests.size(); ++r) {
    const ShardRequest& request = preload_schedule_.requests[r];
    const auto& slices = plan_.slices[request.group];
    auto at = std::find(slices.begin(), slices.end(), request.slice) - slices.begin();
    STI_ASSIGN_OR_RETURN(
        views_[request.group][static_cast<size_t>(at)],
        ViewStagedShard(index(), preload_schedule_, r, preload_.span(), file_.name()));
  }
  return {};
}

Status Pipeline::CheckInput(std::span<const uint32_t> ids, std::span<const uint32_t> types) const {
  const ModelShape& shape = index().info.shape;
  if (ids.empty()) return DataError("an input without tokens");
  if (ids.size() > plan_.length) {
    return DataError("an input of " + std::to_string(ids.size()) + " tokens; the plan holds " +
                     std::to_string(plan_.length));
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

Result<RunResult> Pipeline::Run(std::span<const uint32_t> ids, std::span<const uint32_t> types) {
  STI_RETURN_IF_ERROR(CheckInput(ids, types));
  RunResult result;
  run_start_ = Clock::now();
  EmbeddingReads reads = PlanEmbeddingReads(index(), ids, static_cast<uint32_t>(ids.size()));
  lane_->Start({&reads, embedding_blocks_.span(), &stream_schedule_, arena_.span(),
                static_cast<uint32_t>(plan_.layers.size())});
  Status status = Compute(ids, types, reads, result);
  result.latency_us = Now();
  IoLane::Report report = lane_->Finish();
  STI_RETURN_IF_ERROR(status);
  result.bytes_read = report.bytes;
  result.embeddings_io_us = MicrosecondsBetween(run_start_, report.embeddings_ready);
  for (size_t k = 0; k < result.layers.size(); ++k) {
    result.layers[k].io_ready_us = MicrosecondsBetween(run_start_, report.ready[k]);
  }
  return result;
}

Status Pipeline::Compute(std::span<const uint32_t> ids, std::span<const uint32_t> types,
                         const EmbeddingReads& reads, RunResult& result) {
  double begin = Now();
  STI_RETURN_IF_ERROR(lane_->WaitForEmbeddings());
  result.stall_us += Now() - begin;
  auto tokens = static_cast<uint32_t>(ids.size());
  STI_RETURN_IF_ERROR(SumEmbeddings(index(), reads, embedding_blocks_.span(), ids, types,
                                    resident_.type_rows, file_.name(), hidden_.data()));
  transformer_->FinishEmbeddings(hidden_.data(), tokens, resident_.embedding_norm);
  result.embeddings_us = Now();
  const uint32_t offsets[2] = {0, tokens};
  Batch batch{offsets};
  for (uint32_t k = 0; k < plan_.layers.size(); ++k) {
    STI_RETURN_IF_ERROR(ComputeLayer(k, batch, result));
  }
  result.logits.resize(index().info.shape.labels);
  transformer_->Head(batch, hidden_.data(), resident_.head, result.logits.data());
  return {};
}

Status Pipeline::ComputeLayer(uint32_t k, const Batch& batch, RunResult& result) {
  double waiting = Now();
  STI_RETURN_IF_ERROR(lane_->WaitForGroup(k));
  LayerTrace trace;
  trace.layer = plan_.layers[k];
  trace.start_us = Now();
  result.stall_us += trace.start_us - waiting;
  for (const Streamed& streamed : streamed_[k]) {
    STI_ASSIGN_OR_RETURN(
        views_[k][streamed.position],
        ViewStagedShard(index(), stream_schedule_, streamed.request, arena_.span(), file_.name()));
  }
  transformer_->RunLayer(batch, views_[k], plan_.slices[k], resident_.layers[trace.layer],
                         hidden_.data());
  lane_->GroupComputed(k);
  trace.end_us = Now();
  result.layers.push_back(trace);
  return {};
}

}  // namespace sti
