#include "profile/process_bytes.h"

#include <algorithm>

#include "base/process_memory.h"
#include "format/plan_file.h"
#include "model/memory.h"
#include "pipeline/pipeline.h"
#include "pipeline/whole_plan.h"

namespace sti {
namespace {

constexpr uint32_t kTokens = 16;
constexpr const char* kSentence =
    "It is 7 o'clock: \"what's the weather (caf\u00e9, \u4e1c\u4eac)?\"";

// A runner has read its plan, in either spelling: that code and its heap are part of it.
Status TouchParsers(const Plan& plan) {
  const std::string json = PlanToJson(plan);
  STI_RETURN_IF_ERROR(ParsePlan({reinterpret_cast<const uint8_t*>(json.data()), json.size()}, "-"));
  STI_RETURN_IF_ERROR(ParsePlan(EncodePlan(plan), "-"));
  return {};
}

}  // namespace

Result<uint64_t> MeasureProcessBytes(ContainerFile file, const Tokenizer& tokenizer,
                                     uint32_t threads, ComputeType compute) {
  const ModelInfo& info = file.index().info;
  WholePlanOptions smallest;
  smallest.depth = 1;
  smallest.width = 1;
  smallest.bits = file.index().bits.front();
  smallest.length = std::min(kTokens, info.max_length());
  STI_ASSIGN_OR_RETURN(Plan plan, MakeWholePlan(file.index(), smallest));
  STI_RETURN_IF_ERROR(TouchParsers(plan));
  PipelineOptions options;
  options.threads = threads;
  options.arithmetic.type = compute;
  STI_ASSIGN_OR_RETURN(const auto pipeline,
                       Pipeline::Create(std::move(file), std::move(plan), options));
  const Encoding encoding = tokenizer.Encode(kSentence, std::nullopt, pipeline->max_length());
  STI_RETURN_IF_ERROR(pipeline->Run(encoding.ids, encoding.types));
  const uint64_t counted = pipeline->staging_bytes() + pipeline->resident_bytes() +
                           tokenizer.memory_bytes() +
                           WorkingBytes(pipeline->index(), {.kernel = pipeline->kernel(),
                                                            .threads = threads,
                                                            .tokens = pipeline->max_length(),
                                                            .width = 1});
  const uint64_t held = CurrentRssBytes();
  return held > counted ? held - counted : 0;
}

}  // namespace sti
