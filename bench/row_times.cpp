// row-times: how long a runner waits for embedding rows, with and without rows kept in memory.
//
// Runs each line of standard input as a text under a plan, in order, in pipelines that differ in
// what they keep: nothing between texts, what recent texts had, and with it what the plan
// preloads. They take turns, so that noise strikes all alike. Prints medians and 99th percentiles
// as JSON.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/samples.h"
#include "common/cli.h"
#include "common/files.h"
#include "common/tool.h"
#include "io/container_file.h"
#include "pipeline/pipeline.h"
#include "schedule/load_schedule.h"
#include "text/model_tokenizer.h"

namespace sti {
namespace {

struct Options {
  std::string model;
  std::string plan;
};

/// One way of keeping rows, and what its runs took.
struct Way {
  std::string name;
  std::unique_ptr<Pipeline> pipeline;
  Samples rows_us;
  Samples row_bytes;
  Samples latency_us;
};

Result<Way> Open(const Tool& tool, const Options& options, const std::string& name, bool keep,
                 bool preload) {
  STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(options.model));
  STI_ASSIGN_OR_RETURN(Plan plan, ReadPlan(options.plan, tool));
  if (!preload) {
    plan.preload_bytes -=
        std::min(plan.preload_bytes, plan.words.size() * file.index().words.row_bytes);
    plan.words.clear();
  }
  PipelineOptions wanted;
  wanted.threads = 1;
  wanted.keep_rows = keep;
  STI_ASSIGN_OR_RETURN(auto pipeline, Pipeline::Create(std::move(file), std::move(plan), wanted));
  return Way{name, std::move(pipeline), {}, {}, {}};
}

Status RunOn(Way& way, const Encoding& text) {
  STI_ASSIGN_OR_RETURN(const RunResult run, RunTokens(*way.pipeline, text.ids, text.types));
  way.rows_us.Add(run.embeddings_io_us - run.embeddings_io_begin_us);
  way.row_bytes.Add(
      static_cast<double>(run.bytes_read - way.pipeline->status().schedule->read_bytes));
  way.latency_us.Add(run.latency_us);
  return {};
}

Result<int> Measure(const Tool& tool, const Options& options) {
  STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(options.model));
  STI_ASSIGN_OR_RETURN(const Tokenizer tokenizer, LoadTokenizer(file));
  std::vector<Way> ways;
  STI_ASSIGN_OR_RETURN(Way none, Open(tool, options, "none", false, false));
  ways.push_back(std::move(none));
  STI_ASSIGN_OR_RETURN(Way recent, Open(tool, options, "recent", true, false));
  ways.push_back(std::move(recent));
  STI_ASSIGN_OR_RETURN(Way preloaded, Open(tool, options, "preloaded", true, true));
  ways.push_back(std::move(preloaded));
  std::string line;
  while (std::getline(std::cin, line)) {
    const Encoding text =
        tokenizer.Encode(line, std::nullopt, ways.front().pipeline->status().max_length);
    for (Way& way : ways) STI_RETURN_IF_ERROR(RunOn(way, text));
  }
  if (ways.front().rows_us.count() == 0) return DataError("no texts on standard input");
  nlohmann::ordered_json json;
  for (const Way& way : ways) {
    json[way.name] = {{"rows_us", way.rows_us.median()},
                      {"rows_p99_us", way.rows_us.p99()},
                      {"row_bytes", way.row_bytes.median()},
                      {"row_p99_bytes", way.row_bytes.p99()},
                      {"latency_us", way.latency_us.median()},
                      {"memory_bytes", way.pipeline->status().preload_bytes +
                                           way.pipeline->status().working_bytes +
                                           way.pipeline->status().staging_bytes}};
  }
  std::printf("%s\n", json.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace sti

int main(int argc, char** argv) {
  sti::Tool tool("row-times", "Says how long runs wait for embedding rows, as JSON.",
                 "row-times model.sti --plan model.plan < texts");
  sti::Options options;
  tool.app().add_option("MODEL", options.model, "container made by sti-shard")->required();
  tool.app().add_option("--plan", options.plan, "plan made by sti-plan")->required();
  return tool.Main(argc, argv, [&] { return sti::Measure(tool, options); });
}
