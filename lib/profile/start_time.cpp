#include "profile/start_time.h"

#include <algorithm>
#include <ctime>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/samples.h"
#include "pipeline/pipeline.h"
#include "pipeline/whole_plan.h"
#include "text/model_tokenizer.h"

namespace sti {
namespace {

constexpr size_t kRuns = 15;
constexpr uint32_t kNarrowTokens = 16;

// Does what a runner does with a model before it takes a text.
Status OpenOnce(const BlockSourcePtr& model, ReadPath way, uint32_t threads) {
  STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(model, way));
  const ModelInfo& info = file.index().info;
  std::optional<Tokenizer> tokenizer;
  if (info.has_text()) {
    STI_ASSIGN_OR_RETURN(tokenizer, LoadTokenizer(file));
  }
  STI_RETURN_IF_ERROR(file.RequireWholeLayers());
  WholePlanOptions narrow;
  narrow.width = 1;
  narrow.bits = file.index().BitsOfWholeLayers().front();
  narrow.length = std::clamp(kNarrowTokens, info.min_length(), info.max_length());
  STI_ASSIGN_OR_RETURN(Plan plan, MakeHeldPlan(file.index(), narrow));
  PipelineOptions options;
  options.threads = threads;
  options.lazy = true;
  STI_RETURN_IF_ERROR(Pipeline::Create(std::move(file), std::move(plan), options));
  return {};
}

}  // namespace

double ProcessCpuUs() {
  timespec time{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

Result<double> MeasureOpenUs(const BlockSourcePtr& model, ReadPath way, uint32_t threads) {
  STI_RETURN_IF_ERROR(OpenOnce(model, way, threads));
  Samples samples;
  for (size_t i = 0; i < kRuns; ++i) {
    const auto begin = Clock::now();
    STI_RETURN_IF_ERROR(OpenOnce(model, way, threads));
    samples.Add(MicrosecondsBetween(begin, Clock::now()));
  }
  return samples.median();
}

}  // namespace sti
