#include "pipeline/pipeline.h"

#include <algorithm>
#include <set>
#include <utility>

#include "pipeline/plan_choice.h"
#include "pipeline/plan_fit.h"

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
  STI_RETURN_IF_ERROR(CheckPlanFits(p->index(), p->plan_, p->file_.name()));
  STI_RETURN_IF_ERROR(p->MakeRoutes(options));
  STI_RETURN_IF_ERROR(p->MakeRoom());
  p->lane_ = std::make_unique<IoLane>(p->file_.reader());
  STI_RETURN_IF_ERROR(p->LoadPreload());
  return p;
}

Status Pipeline::MakeRoutes(const PipelineOptions& options) {
  const std::vector<const Plan*> plans = PlansAtClock(plan_, options.clock_khz);
  routes_.reserve(plans.size());
  for (const Plan* plan : plans) {
    STI_ASSIGN_OR_RETURN(Route route, Route::Create(index(), *plan, options.staging_bytes));
    routes_.push_back(std::move(route));
  }
  return {};
}

// All that runs need beside the preloaded shards, for the largest of the routes.
Status Pipeline::MakeRoom() {
  std::set<uint32_t> layers;
  uint32_t width = 0;
  uint64_t arena_bytes = 0;
  for (const Route& route : routes_) {
    layers.insert(route.plan().layers.begin(), route.plan().layers.end());
    width = std::max(width, route.plan().width);
    arena_bytes = std::max(arena_bytes, route.schedule().arena_bytes);
  }
  const std::vector<uint32_t> ascending(layers.begin(), layers.end());
  STI_ASSIGN_OR_RETURN(resident_, LoadResidentModel(file_, ascending));
  STI_ASSIGN_OR_RETURN(transformer_, Transformer::Create(index().info, pool_, backend_));
  transformer_->Reserve(max_length(), width);
  hidden_.resize(size_t{max_length()} * index().info.shape.hidden);
  arena_ = AlignedBuffer(arena_bytes);
  embedding_blocks_ = AlignedBuffer(MaxEmbeddingReadBytes(index(), max_length()));
  // Touched now, so that the first input does not pay for page faults.
  std::fill_n(arena_.data(), arena_.size(), uint8_t{0});
  return {};
}

Status Pipeline::LoadPreload() {
  STI_ASSIGN_OR_RETURN(preload_, PreloadBuffer::Create(index(), plan_));
  STI_RETURN_IF_ERROR(preload_.Load(*lane_));
  for (Route& route : routes_) STI_RETURN_IF_ERROR(route.Bind(index(), preload_, file_.name()));
  return {};
}

size_t Pipeline::RouteFor(size_t tokens) const {
  size_t at = 0;
  while (at + 1 < routes_.size() && routes_[at].plan().length < tokens) ++at;
  return at;
}

const Plan& Pipeline::PlanFor(size_t tokens) const { return routes_[RouteFor(tokens)].plan(); }

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

Result<RunResult> Pipeline::Run(std::span<const uint32_t> ids, std::span<const uint32_t> types) {
  STI_RETURN_IF_ERROR(CheckInput(ids, types));
  Route& route = routes_[RouteFor(ids.size())];
  RunResult result;
  run_start_ = Clock::now();
  EmbeddingReads reads = PlanEmbeddingReads(index(), ids, static_cast<uint32_t>(ids.size()));
  lane_->Start(
      {&reads, embedding_blocks_.span(), &route.schedule(), arena_.span(), route.layers()});
  Status status = Compute(route, ids, types, reads, result);
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

Status Pipeline::Compute(Route& route, std::span<const uint32_t> ids,
                         std::span<const uint32_t> types, const EmbeddingReads& reads,
                         RunResult& result) {
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
  for (uint32_t k = 0; k < route.layers(); ++k) {
    STI_RETURN_IF_ERROR(ComputeLayer(route, k, batch, result));
  }
  result.logits.resize(index().info.shape.labels);
  transformer_->Head(batch, hidden_.data(), resident_.head, result.logits.data());
  return {};
}

Status Pipeline::ComputeLayer(Route& route, uint32_t k, const Batch& batch, RunResult& result) {
  double waiting = Now();
  STI_RETURN_IF_ERROR(lane_->WaitForGroup(k));
  LayerTrace trace;
  trace.layer = route.plan().layers[k];
  trace.start_us = Now();
  result.stall_us += trace.start_us - waiting;
  STI_ASSIGN_OR_RETURN(const std::span<const ShardView> views,
                       route.ViewLayer(index(), k, arena_.span(), file_.name()));
  transformer_->RunLayer(batch, views, route.plan().slices[k], resident_.layers[trace.layer],
                         hidden_.data());
  lane_->GroupComputed(k);
  trace.end_us = Now();
  result.layers.push_back(trace);
  return {};
}

}  // namespace sti
