// memory-parts: what the memory of a runner consists of.
//
// Opens a model under a plan in the steps sti-run takes, answers one input of the plan's length,
// and prints as JSON what each part holds by its own account, beside what the kernel counts.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/process_memory.h"
#include "common/cli.h"
#include "common/files.h"
#include "common/tool.h"
#include "io/container_file.h"
#include "model/row_store.h"
#include "pipeline/pipeline.h"
#include "text/model_tokenizer.h"

namespace sti {
namespace {

struct Options {
  std::string model;
  std::string plan;
  uint32_t threads = 0;
};

Result<int> Measure(const Tool& tool, const Options& options) {
  nlohmann::ordered_json json;
  json["process_start_bytes"] = CurrentRssBytes();
  STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(options.model));
  json["index_rss_bytes"] = CurrentRssBytes() - json["process_start_bytes"].get<uint64_t>();
  STI_ASSIGN_OR_RETURN(Tokenizer tokenizer, LoadTokenizer(file));
  json["vocabulary_bytes"] = tokenizer.vocabulary().memory_bytes();
  STI_ASSIGN_OR_RETURN(Plan plan, ReadPlan(options.plan, tool));
  PipelineOptions wanted;
  wanted.threads = options.threads != 0 ? options.threads : AvailableThreads();
  STI_ASSIGN_OR_RETURN(auto pipeline, Pipeline::Create(std::move(file), std::move(plan), wanted));
  std::vector<uint32_t> ids(pipeline->plan().length);
  // Rows from all over the table: the most blocks an input can need.
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] =
        static_cast<uint32_t>(i * 7919 % pipeline->status().file->index().info.shape.vocabulary);
  }
  const std::vector<uint32_t> types(ids.size(), 0);
  STI_ASSIGN_OR_RETURN(RunResult run, RunTokens(*pipeline, ids, types));
  json["preload_bytes"] = pipeline->status().preload_bytes;
  json["staging_bytes"] = pipeline->status().staging_bytes;
  json["resident_bytes"] = pipeline->status().resident_bytes;
  json["working_bytes"] = pipeline->status().working_bytes;
  json["embedding_rows_bytes"] =
      RowStore::RoomFor(pipeline->status().file->index(), pipeline->plan().length) +
      ids.size() * pipeline->status().file->index().info.shape.hidden * sizeof(float);
  json["peak_rss_bytes"] = PeakRssBytes();
  std::printf("%s\n", json.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace sti

int main(int argc, char** argv) {
  sti::Tool tool("memory-parts", "Says what a runner's memory consists of, as JSON.",
                 "memory-parts model.sti --plan model.plan");
  sti::Options options;
  tool.app().add_option("MODEL", options.model, "container made by sti-shard")->required();
  tool.app().add_option("--plan", options.plan, "plan made by sti-plan")->required();
  tool.app().add_option("--threads", options.threads, "of the compute lane");
  return tool.Main(argc, argv, [&] { return sti::Measure(tool, options); });
}
