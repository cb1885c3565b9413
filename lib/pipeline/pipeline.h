// Executes a plan (STI 5.5): preloads its shards once, then for each input runs an IO lane beside
// the compute lane, layer by layer. A plan with variants has a route for each input length; they
// share the preloaded shards, the arena and the working memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "io/container_file.h"
#include "kernels/backend.h"
#include "kernels/thread_pool.h"
#include "model/embedding_rows.h"
#include "model/resident_model.h"
#include "model/transformer.h"
#include "pipeline/io_lane.h"
#include "pipeline/preload_buffer.h"
#include "pipeline/route.h"
#include "types/plan.h"

namespace sti {

struct PipelineOptions {
  uint32_t threads = 1;  ///< of the compute lane
  Backend backend = Backend::kNative;
  /// Most bytes of staging for shards read ahead; 0: as many as the plan streams.
  uint64_t staging_bytes = 0;
  /// The cores' clock, which variants are chosen by (PlansAtClock); 0: not known.
  uint64_t clock_khz = 0;
};

/// One layer of one run, in microseconds since the run began.
struct LayerTrace {
  uint32_t layer = 0;      ///< original index
  double io_ready_us = 0;  ///< its last byte had arrived and was checked
  double start_us = 0;     ///< its computation began
  double end_us = 0;
};

struct RunResult {
  std::vector<float> logits;    ///< [labels]
  double latency_us = 0;        ///< from ids to logits
  double embeddings_io_us = 0;  ///< the embedding rows had arrived
  double embeddings_us = 0;     ///< and were summed
  double stall_us = 0;          ///< compute lane waiting for IO, embeddings included
  uint64_t bytes_read = 0;      ///< padding included
  std::vector<LayerTrace> layers;
};

/// One model under one plan and its variants. One thread at a time.
class Pipeline {
 public:
  /// Checks that the plan belongs to the container and can be served by it, then preloads.
  static Result<std::unique_ptr<Pipeline>> Create(ContainerFile file, Plan plan,
                                                  const PipelineOptions& options);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// DataError unless `ids` and `types` are an input of this model and plan.
  [[nodiscard]] Status CheckInput(std::span<const uint32_t> ids,
                                  std::span<const uint32_t> types) const;

  /// One input, at most max_length() ids, each inside the vocabulary; `types` has one entry an id.
  /// It runs under PlanFor its number of ids.
  Result<RunResult> Run(std::span<const uint32_t> ids, std::span<const uint32_t> types);

  [[nodiscard]] const Plan& plan() const { return plan_; }
  /// The plan or variant that an input of so many tokens runs under: the shortest that holds it,
  /// the longest for what none holds. plan() or one of its variants.
  [[nodiscard]] const Plan& PlanFor(size_t tokens) const;
  /// Most tokens of an input.
  [[nodiscard]] uint32_t max_length() const { return routes_.back().plan().length; }
  [[nodiscard]] const ContainerIndex& index() const { return file_.index(); }
  [[nodiscard]] ReadPath read_path() { return file_.reader().path(); }
  [[nodiscard]] std::string kernel() const { return transformer_->kernel(); }
  /// Bytes that preloaded shards occupy, as read.
  [[nodiscard]] uint64_t preload_bytes() const { return preload_.bytes(); }
  /// Bytes of the arena that streamed shards land in.
  [[nodiscard]] uint64_t staging_bytes() const { return arena_.size(); }
  [[nodiscard]] uint64_t resident_bytes() const { return resident_.bytes(); }
  [[nodiscard]] uint64_t working_bytes() const { return transformer_->working_bytes(); }

 private:
  Pipeline(ContainerFile file, Plan plan, const PipelineOptions& options);
  [[nodiscard]] Status MakeRoutes(const PipelineOptions& options);
  [[nodiscard]] Status MakeRoom();
  [[nodiscard]] Status LoadPreload();
  [[nodiscard]] size_t RouteFor(size_t tokens) const;
  [[nodiscard]] Status Compute(Route& route, std::span<const uint32_t> ids,
                               std::span<const uint32_t> types, const EmbeddingReads& reads,
                               RunResult& result);
  [[nodiscard]] Status ComputeLayer(Route& route, uint32_t k, const Batch& batch,
                                    RunResult& result);
  [[nodiscard]] double Now() const { return MicrosecondsBetween(run_start_, Clock::now()); }

  ContainerFile file_;
  Plan plan_;
  ThreadPool pool_;
  Backend backend_;
  ResidentModel resident_;
  std::unique_ptr<Transformer> transformer_;
  PreloadBuffer preload_;
  std::vector<Route> routes_;  ///< one a length, shortest first; never empty
  AlignedBuffer arena_;        ///< as large as the largest route needs
  AlignedBuffer embedding_blocks_;
  std::vector<float> hidden_;
  Clock::time_point run_start_;
  std::unique_ptr<IoLane> lane_;  ///< last: stops before what it reads into goes
};

}  // namespace sti
