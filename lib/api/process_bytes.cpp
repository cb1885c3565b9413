#include "api/process_bytes.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "api/input.h"
#include "base/clock.h"
#include "base/process_memory.h"
#include "base/utf8.h"
#include "format/plan_file.h"
#include "io/container_file.h"
#include "model/memory.h"
#include "pipeline/whole_plan.h"
#include "profile/sample_inputs.h"
#include "text/tokenizer.h"

namespace sti {
namespace {

constexpr uint32_t kTokens = 16;
// The resident code of sti-run that is not in the process that measures: its options, data sets,
// figures and output. Its program has 0.6 MB more than sti-profile's; less than half is touched.
constexpr uint64_t kRunnerBytes = 250'000;
constexpr const char* kSentence =
    "It is 7 o'clock: \"what's the weather (caf\u00e9, \u4e1c\u4eac)?\"";

// A runner has read its plan, in either spelling: that code and its heap are part of it.
Status TouchParsers(const Plan& plan) {
  const std::string json = PlanToJson(plan);
  STI_RETURN_IF_ERROR(ParsePlan(AsBytes(json), "-"));
  STI_RETURN_IF_ERROR(ParsePlan(EncodePlan(plan), "-"));
  return {};
}

// A runner prints what it answers: that code of the C library is part of it too. Returns the length
// of the text, so that none of it is left out.
int TouchPrinting(const Answer& answer) {
  char line[64];
  const float value = answer.run.values.front();
  return std::snprintf(line, sizeof(line), "%u\t%.4f\t%.3g", answer.tokens, double{value},
                       answer.latency_us);
}

Status AskOnce(Session& session, Answer* answer) {
  if (session.info().has_text()) {
    STI_ASSIGN_OR_RETURN(Encoding encoding, session.Encode(kSentence));
    if (session.info().continues_texts()) {
      encoding.truncated = false;  // what is left of the sentence is the prompt
      return sti::Ask(session, Prompt{std::move(encoding), 1}, Clock::now(), answer);
    }
    return session.Ask(encoding, Clock::now(), answer);
  }
  const std::string file = SampleImage(*session.info().shape.image, 1);
  STI_ASSIGN_OR_RETURN(const ImageValues image, session.DecodeImage(file));
  return session.Ask(image, Clock::now(), answer);
}

}  // namespace

Result<uint64_t> MeasureProcessBytes(ContainerFile file, uint32_t threads, ComputeType compute) {
  STI_RETURN_IF_ERROR(file.RequireWholeLayers());
  const ModelInfo& info = file.index().info;
  WholePlanOptions smallest;
  smallest.depth = 1;
  smallest.width = 1;
  smallest.bits = file.index().BitsOfWholeLayers().front();
  // A text that goes on has room for a token behind its prompt.
  const uint32_t behind = info.continues_texts() ? 1 : 0;
  smallest.length = std::clamp(kTokens, info.min_length(), info.max_length() - behind);
  STI_ASSIGN_OR_RETURN(Plan plan, MakeHeldPlan(file.index(), smallest));
  if (info.continues_texts()) plan.context = plan.length + behind;
  const PlanExtent extent = plan.Extent();
  STI_RETURN_IF_ERROR(TouchParsers(plan));
  SessionOptions options;
  options.threads = threads;
  options.compute = compute;
  STI_ASSIGN_OR_RETURN(const auto session,
                       Session::Open(std::move(file), std::move(plan), options));
  Answer answer;
  STI_RETURN_IF_ERROR(AskOnce(*session, &answer));
  if (TouchPrinting(answer) < 0) return MachineError("cannot print to memory");
  const PipelineStatus& status = session->status();
  const uint64_t counted =
      status.staging_bytes + status.resident_bytes + session->tokenizer_bytes() +
      WorkingBytes(status.file->index(),
                   {.kernel = status.kernel, .threads = threads, .extent = extent});
  const uint64_t held = SettledRssBytes();
  return held > counted ? held - counted + kRunnerBytes : 0;
}

}  // namespace sti
