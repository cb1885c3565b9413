#include "profile/rehearsal.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "pipeline/whole_plan.h"
#include "types/limits.h"

namespace sti {
namespace {

constexpr uint32_t kLayersOfRun = 2;
// Between two inputs. Whoever reads and computes has gone to sleep by then, as in an app.
constexpr auto kPause = std::chrono::milliseconds(1);
constexpr double kLeastUs = 1;  // of a model so small that its shards come with the rows

/// Returns a plan of `width` slices of these layers at uniform bits.
PlanCore PlanOfLayers(const PlanCore& whole, std::span<const uint32_t> layers, uint32_t width,
                      uint32_t bits) {
  PlanCore plan = whole;
  RunUniformly(layers, width, bits, &plan);
  return plan;
}

/// Opens the container as the device likes to be read.
Result<ContainerFile> OpenLike(const BlockSourcePtr& source, const RehearsalOptions& options) {
  STI_ASSIGN_OR_RETURN(auto reader, OpenToRead(source, options.way, options.shape));
  return ContainerFile::Open(std::move(reader));
}

}  // namespace

double EndOfRunUs(const RunReport& run) {
  const size_t depth = run.layers.size();
  const double computed_us = depth > 1 ? run.layers[depth - 2].end_us : 0;
  return run.latency_us - std::max(run.layers.back().io_ready_us, computed_us);
}

Result<std::unique_ptr<Rehearsal>> Rehearsal::Open(const BlockSourcePtr& source,
                                                   const RehearsalOptions& options) {
  STI_ASSIGN_OR_RETURN(ContainerFile file, OpenLike(source, options));
  const ContainerIndex& index = file.index();
  STI_RETURN_IF_ERROR(file.RequireWholeLayers());
  const std::vector<uint32_t> offered = index.BitsOfWholeLayers();
  WholePlanOptions all;
  all.length = options.length;
  all.width = options.width;
  STI_ASSIGN_OR_RETURN(Plan whole, MakeHeldPlan(index, all));
  whole.read_bytes = options.shape.bytes;
  whole.read_depth = options.shape.depth;
  if (options.shape.streams > 1) whole.read_streams = options.shape.streams;
  whole.microbatch = options.batch;
  const bool has_words = index.info.continues_texts();
  whole.keeps_vocabulary = has_words;

  // One plan has them all, as variants that its runs are told to take. Their clocks tell them
  // apart. The plan itself is one slice, beside which rows are read.
  const uint32_t depth = std::min(kLayersOfRun, index.info.shape.layers);
  const size_t most = kMaxVariants / offered.size();
  std::unique_ptr<Rehearsal> rehearsal(new Rehearsal);
  rehearsal->shards_of_run_ = depth * whole.width;
  const std::vector<uint32_t> first{index.WholeLayersAt(offered.front()).front()};
  Plan plan{PlanOfLayers(whole, first, 1, offered.front())};
  for (const uint32_t bits : offered) {
    rehearsal->routes_.push_back({bits, {}, 0});
    const std::vector<uint32_t> layers = index.WholeLayersAt(bits);
    const size_t groups = std::clamp<size_t>(layers.size() / depth, 1, most);
    for (size_t group = 0; group < groups; ++group) {
      plan.variants.push_back(
          PlanOfLayers(whole, std::span(layers).subspan(group * depth, depth), whole.width, bits));
      plan.variants.back().freq = plan.variants.size();
      const auto route = static_cast<uint32_t>(plan.variants.size());
      rehearsal->routes_.back().routes.push_back({route});
    }
  }

  PipelineOptions how;
  how.arithmetic = options.arithmetic;
  how.cores = options.cores;
  how.keep_rows = false;  // each of its texts is to read all rows
  if (has_words) {
    Plan rows{static_cast<const PlanCore&>(plan)};
    rows.keeps_vocabulary = false;
    STI_ASSIGN_OR_RETURN(ContainerFile again, OpenLike(source, options));
    STI_ASSIGN_OR_RETURN(rehearsal->rows_,
                         Pipeline::Create(std::move(again), std::move(rows), how));
  }
  STI_ASSIGN_OR_RETURN(rehearsal->pipeline_,
                       Pipeline::Create(std::move(file), std::move(plan), how));
  return rehearsal;
}

RouteId Rehearsal::NextRoute(uint32_t bits) {
  const auto at = std::find_if(routes_.begin(), routes_.end(),
                               [&](const RoutesAtBits& routes) { return routes.bits == bits; });
  return at->routes[at->next++ % at->routes.size()];
}

Status Rehearsal::RunLayers(uint32_t bits, const Pass& pass) {
  std::this_thread::sleep_for(kPause);
  RunTerms terms;
  terms.route = NextRoute(bits);
  return pipeline_->Run(pass, terms, &output_, &report_);
}

Result<double> Rehearsal::ShardUs(uint32_t bits, const Pass& pass) {
  STI_RETURN_IF_ERROR(RunLayers(bits, pass));
  const double rows_us = report_.embeddings_io_us;
  const double shards_us = std::max(kLeastUs, report_.layers.back().io_ready_us - rows_us);
  return shards_us / shards_of_run_;
}

Result<double> Rehearsal::TailUs(const Pass& pass) {
  STI_RETURN_IF_ERROR(RunLayers(routes_.front().bits, pass));
  return EndOfRunUs(report_);
}

Result<double> Rehearsal::RowsUs(const Pass& pass) {
  std::this_thread::sleep_for(kPause);
  RunTerms terms;
  terms.route = RouteId{0};
  Pipeline& pipeline = rows_ ? *rows_ : *pipeline_;
  STI_ASSIGN_OR_RETURN(RunSteps* const run, pipeline.Begin(pass, terms, &output_, &report_));
  STI_RETURN_IF_ERROR(pipeline.End(run->Embed(pass)));
  return report_.embeddings_io_us;
}

}  // namespace sti
