#include "session.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <utility>

#include "clock.h"
#include "common/files.h"
#include "common/parse.h"
#include "common/plan_text.h"
#include "pipeline/whole_plan.h"
#include "process_age.h"
#include "staging.h"
#include "text/unicode.h"

namespace sti {
namespace {

Result<Plan> ChoosePlan(const RunOptions& options, const ContainerIndex& index, const Tool& tool) {
  if (!options.plan.empty()) return ReadPlan(options.plan);
  WholePlanOptions whole;
  if (options.submodel) {
    whole.depth = options.submodel->first;
    whole.width = options.submodel->second;
  }
  whole.bits = options.bits;
  STI_ASSIGN_OR_RETURN(Plan plan, MakeWholePlan(index, whole));
  if (!options.submodel && !options.bits) {
    tool.Say("no --plan: running the whole model at its most bits (" +
             std::to_string(plan.bits[0][0]) + "); sti-plan makes one for a latency target");
  }
  return plan;
}

// Once, however many of the plans are of such a submodel.
void WarnOfUntrained(const ModelInfo& model, const Plan& plan, const Tool& tool) {
  std::string warning = UntrainedWarning(model, plan);
  for (const Plan& variant : plan.variants) {
    if (warning.empty()) warning = UntrainedWarning(model, variant);
  }
  if (!warning.empty()) tool.Warn(warning);
}

void WarnOfDifferences(Pipeline& pipeline, const Tool& tool) {
  const Plan& plan = pipeline.plan();
  const char* path = ReadPathName(pipeline.read_path());
  tool.Explain(std::string("reading through ") + path + ", computing with " + pipeline.kernel());
  if (!pipeline.reader().why().empty()) tool.Explain(pipeline.reader().why());
  if (!plan.read_path.empty() && plan.read_path != path) {
    tool.Warn("the plan counts on reads through " + plan.read_path + ", this run has " + path +
              "; run sti-profile here");
  }
  if (!plan.kernel.empty() && plan.kernel != pipeline.kernel()) {
    tool.Warn("the plan counts on kernel " + plan.kernel + ", this run has " + pipeline.kernel() +
              "; run sti-profile here");
  }
  if (plan.wake_us > 0) {
    tool.Say("the plan counts on " + FormatTimeUs(plan.wake_us) +
             " of lead time before each text, which lines do not give; they will take longer");
  }
  if (!pipeline.index().unicode.empty() && pipeline.index().unicode != UnicodeVersion()) {
    tool.Warn("the model was made with Unicode " + pipeline.index().unicode + ", this tool has " +
              UnicodeVersion() + "; rare characters may give other tokens");
  }
}

}  // namespace

// A plan of a cold start counts from exec to label, and without a target the first label counts:
// then nothing is loaded before it is needed.
bool IsLazy(const RunOptions& options, const Plan& plan) {
  return plan.cold || (options.plan.empty() && !options.memory_bytes);
}

Status CheckDegrade(const RunOptions& options, const Plan& plan) {
  const auto can = [](const Plan& p) { return p.target_us && p.times; };
  const bool all = can(plan) && std::all_of(plan.variants.begin(), plan.variants.end(), can);
  if (options.on_late != "degrade" || all) return {};
  return UsageError(
      "--on-late degrade needs a plan with a target and the times it counts on; make "
      "one with sti-plan --target");
}

Result<Arithmetic> ArithmeticOf(const RunOptions& options, const Plan& plan) {
  Arithmetic arithmetic;
  if (options.backend == "openblas") arithmetic.backend = Backend::kOpenBlas;
  arithmetic.type = ComputeTypeOfKernel(plan.kernel).value_or(ComputeType::kFp32);
  if (!options.compute.empty()) {
    STI_ASSIGN_OR_RETURN(arithmetic.type, ParseCompute(options.compute));
  }
  return arithmetic;
}

Result<std::unique_ptr<Session>> Session::Open(const RunOptions& options, const Tool& tool) {
  STI_ASSIGN_OR_RETURN(ReadPath path, ParseReadPath(options.io));
  STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(options.model, path));
  const ModelInfo& model = file.index().info;
  if (options.threshold && model.problem != Problem::kMultiLabel) {
    return UsageError("--threshold is for multi-label models; " + options.model +
                      " gives one label an input");
  }
  STI_ASSIGN_OR_RETURN(Plan plan, ChoosePlan(options, file.index(), tool));
  STI_RETURN_IF_ERROR(CheckDegrade(options, plan));
  WarnOfUntrained(model, plan, tool);
  STI_ASSIGN_OR_RETURN(const TokenizerParts parts, ReadTokenizerParts(file));
  std::unique_ptr<Session> session(new Session(options, tool));
  PipelineOptions pipeline;
  pipeline.threads = options.threads != 0 ? options.threads : AvailableThreads();
  pipeline.clock_khz = ClockLimitKhz();
  STI_ASSIGN_OR_RETURN(pipeline.arithmetic, ArithmeticOf(options, plan));
  pipeline.lazy = IsLazy(options, plan);
  session->cold_ = plan.cold;
  if (options.memory_bytes) {
    STI_ASSIGN_OR_RETURN(session->tokenizer_, MakeTokenizer(parts, file.index(), file.name()));
    STI_ASSIGN_OR_RETURN(pipeline.staging_bytes,
                         StagingBytes(*options.memory_bytes, file.index(), pipeline.threads,
                                      pipeline.arithmetic, plan));
  }
  STI_ASSIGN_OR_RETURN(session->pipeline_,
                       Pipeline::Create(std::move(file), std::move(plan), pipeline));
  session->pipeline_->MeterDecoding(!options.trace.empty());
  // Shards of the first layers arrive while the tokenizer is made.
  const bool one_route = session->pipeline_->plan().variants.empty();
  if (pipeline.lazy && one_route)
    STI_RETURN_IF_ERROR(session->pipeline_->Wake(session->degrades()));
  if (!session->tokenizer_) {
    STI_ASSIGN_OR_RETURN(session->tokenizer_,
                         MakeTokenizer(parts, session->pipeline_->index(), options.model));
  }
  WarnOfDifferences(*session->pipeline_, tool);
  return session;
}

Result<Encoding> Session::Encode(const std::string& line) const {
  if (options_.ids) return EncodeIds(line);
  if (!options_.pairs) return Encode(line, std::nullopt);
  size_t tab = line.find('\t');
  if (tab == std::string::npos) return DataError("no tab between two sentences");
  return Encode(line.substr(0, tab), line.substr(tab + 1));
}

Result<Encoding> Session::Encode(const std::string& text,
                                 const std::optional<std::string>& pair) const {
  const TokenizerInfo& tokenizer = info().tokenizer;
  if (pair && tokenizer.second_type >= info().shape.token_types) {
    return DataError("the model takes no pairs");
  }
  return tokenizer_->Encode(text, pair, pipeline_->max_length());
}

Result<Encoding> Session::EncodeIds(const std::string& line) const {
  constexpr std::string_view kSeparators = " ,\t";
  Encoding encoding;
  for (size_t at = line.find_first_not_of(kSeparators); at != std::string::npos;
       at = line.find_first_not_of(kSeparators, at)) {
    size_t end = std::min(line.find_first_of(kSeparators, at), line.size());
    uint32_t id = 0;
    auto [rest, error] = std::from_chars(line.data() + at, line.data() + end, id);
    if (error != std::errc() || rest != line.data() + end) {
      return DataError("'" + line.substr(at, end - at) + "' is not a token id");
    }
    encoding.ids.push_back(id);
    at = end;
  }
  uint32_t length = pipeline_->max_length();
  encoding.truncated = encoding.ids.size() > length;
  if (encoding.truncated) encoding.ids.resize(length);
  encoding.types.assign(encoding.ids.size(), 0);
  STI_RETURN_IF_ERROR(pipeline_->CheckInput(encoding.ids, encoding.types));
  return encoding;
}

std::vector<uint32_t> Session::LabelsAbove(std::span<const float> scores) const {
  std::vector<uint32_t> labels;
  for (uint32_t label = 0; label < scores.size(); ++label) {
    if (double{scores[label]} >= threshold()) labels.push_back(label);
  }
  std::stable_sort(labels.begin(), labels.end(),
                   [&](uint32_t a, uint32_t b) { return scores[a] > scores[b]; });
  return labels;
}

Status Session::EndTurns() {
  if (turn_ == 0) return {};
  turn_ = 0;
  if (pipeline_->plan().turns.empty()) return {};
  pipeline_->EndTurns();
  return pipeline_->LoadAhead();  // what a later turn had no room for
}

Status Session::Ask(const Encoding& encoding, Clock::time_point taken, Answer* answer) {
  if (cold_) taken = Clock::now() - Microseconds(AgeUs());
  answer->plan = &pipeline_->PlanFor(encoding.ids.size());
  RunTerms terms;
  terms.taken = taken;
  const auto& target_us = answer->plan->target_us;
  if (degrades()) terms.degrade_for_us = target_us;
  STI_RETURN_IF_ERROR(pipeline_->Run(encoding.ids, encoding.types, terms, &answer->run));
  answer->scores = answer->run.logits;
  Probabilities(info().problem, answer->scores);
  if (info().problem == Problem::kMultiLabel) answer->labels = LabelsAbove(answer->scores);
  auto best = std::max_element(answer->run.logits.begin(), answer->run.logits.end());
  answer->label = static_cast<uint32_t>(best - answer->run.logits.begin());
  answer->tokens = static_cast<uint32_t>(encoding.ids.size());
  answer->truncated = encoding.truncated;
  answer->turn = ++turn_;
  answer->cold = std::exchange(cold_, false);
  answer->latency_us = MicrosecondsBetween(taken, Clock::now());
  answer->deadline_met.reset();
  if (target_us) answer->deadline_met = answer->latency_us <= *target_us;
  WarnOfDrift();
  return {};
}

void Session::WarnOfDrift() {
  const std::optional<Drift> drift = pipeline_->drift().TakeWarning();
  if (!drift) return;
  char line[160];
  std::snprintf(line, sizeof(line),
                "layers take %.2f and reads %.2f times what the plan counts on; profile this "
                "device again, then plan again",
                drift->compute_ratio, drift->io_ratio);
  tool_.Warn(line);
}

}  // namespace sti
