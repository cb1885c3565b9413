#include "session.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "api/window_reader.h"
#include "base/atomic_file.h"
#include "base/process_memory.h"
#include "common/files.h"
#include "common/lines.h"
#include "common/option_rules.h"
#include "common/parse.h"
#include "common/plan_text.h"
#include "host.h"
#include "image/image_file.h"
#include "link/stage_link.h"
#include "pipeline/pass.h"
#include "pipeline/whole_plan.h"
#include "stage.h"
#include "text/windows.h"
#include "watch.h"

namespace sti {
namespace {

Result<Plan> ChoosePlan(const RunOptions& options, const ContainerIndex& index, const Tool& tool) {
  if (!options.plan.empty()) return ReadPlan(options.plan, tool);
  WholePlanOptions whole;
  if (options.submodel) {
    whole.depth = options.submodel->depth;
    whole.width = options.submodel->width;
  }
  whole.bits = options.bits;
  STI_ASSIGN_OR_RETURN(Plan plan, MakeWholePlan(index, whole));
  if (!options.submodel && !options.bits) {
    tool.Say(options.Prefix() + (options.name.empty() ? "no --plan" : "no plan") +
             ": running the whole model at its most bits (" + std::to_string(plan.bits.At(0, 0)) +
             "); sti-plan makes one for a latency target");
  }
  return plan;
}

/// An option that is for heads of some outputs.
struct HeadOption {
  const char* name;
  bool given;
  std::span<const HeadOutput> outputs;
};

// Options about texts. Among several models they are for those that take texts, but for what has to
// be so of all inputs.
Status CheckForImages(const RunOptions& options) {
  const bool alone = options.name.empty();
  const std::pair<const char*, bool> all[] = {
      {"--ids", options.ids && alone},
      {"--pairs", options.pairs && alone},
      {"--prefix", !options.prefix.empty() && alone},
      {"--window", options.window.has_value() && alone},
      {"--replan", !options.replan.empty()},
      {"--on-late degrade", options.on_late == OnLate::kDegrade && alone},
      {"--stage", !options.stage.empty()},
  };
  for (const auto& [option, given] : all) {
    if (!given) continue;
    return UsageError(std::string(option) + " is for models of texts; " + options.model +
                      " takes images");
  }
  return {};
}

// An option about what the model of a run does not give. Among several models it is for those that
// give it. Another plan has other bits, and vectors of both do not compare: so --replan is for
// labels. So is --baseline: a pair of texts is neither right nor wrong.
Status CheckHead(const RunOptions& options, const ModelInfo& model) {
  using enum HeadOutput;
  if (!model.has_text()) STI_RETURN_IF_ERROR(CheckForImages(options));
  if (model.continues_texts() && !options.generate) {
    return UsageError(options.model +
                      " continues texts; say by how many tokens, with --generate N");
  }
  if (!options.name.empty()) return {};
  constexpr HeadOutput kTexts[] = {kLabels};
  constexpr HeadOutput kVectors[] = {kEmbedding};
  constexpr HeadOutput kTokens[] = {kTokenLabels};
  constexpr HeadOutput kAnyLabels[] = {kLabels, kTokenLabels};
  constexpr HeadOutput kWholeTexts[] = {kLabels, kEmbedding};
  constexpr HeadOutput kOfIds[] = {kLabels, kEmbedding, kNextToken};
  constexpr HeadOutput kContinuations[] = {kNextToken};
  // With examples a model that embeds answers with labels.
  const bool embeds_alone = options.nearest.empty();
  const HeadOption all[] = {
      {"--nearest", !embeds_alone, kVectors},
      {"--format", options.format != VectorFormat::kText, kVectors},
      {"--dimensions", options.dimensions.has_value(), kVectors},
      {"--aggregate", options.aggregation.has_value(), kTokens},
      {"--top", embeds_alone && options.top != 0, kTexts},
      {"--threshold", embeds_alone && options.threshold.has_value(), kTexts},
      {"--replan", !options.replan.empty(), kAnyLabels},
      {"--baseline", embeds_alone && !options.baseline.empty(), kAnyLabels},
      {"--pairs", options.pairs, kWholeTexts},
      {"--ids", options.ids, kOfIds},
      {"--generate", options.generate.has_value(), kContinuations},
      {"--prefix", !options.prefix.empty(), kWholeTexts},
  };
  for (const HeadOption& option : all) {
    const HeadOutput own = model.head.output;
    if (option.given && std::ranges::find(option.outputs, own) == option.outputs.end())
      return NotForHead(option.name, option.outputs, options.model, own);
  }
  return {};
}

// Once, however many of the plans are of such a submodel.
void WarnOfUntrained(const ModelInfo& model, const Plan& plan, const RunOptions& options,
                     const Tool& tool) {
  std::string warning = UntrainedWarning(model, plan);
  for (RouteId id{1}; id.index < RoutesOf(plan); ++id.index) {
    if (warning.empty()) warning = UntrainedWarning(model, PlanOf(plan, id));
  }
  if (!warning.empty()) tool.Warn(options.Prefix() + warning);
}

Status CheckDegrade(const RunOptions& options, const ModelInfo& model, const Plan& plan) {
  if (options.on_late != OnLate::kDegrade || !model.has_text() || CanDegrade(plan)) return {};
  if (plan.agents > 0) {
    return UsageError("--on-late degrade is for layers that are read in order; this plan has " +
                      Counted(plan.agents, "agent") + ", make one with another --strategy");
  }
  return UsageError(
      "--on-late degrade needs a plan with a target and the times it counts on; make "
      "one with sti-plan --target");
}

// A plan of a cold start counts from exec to label, and without a target the first label counts:
// then nothing is loaded before it is needed.
bool IsLazy(const RunOptions& options, const Plan& plan) {
  return plan.cold || (options.plan.empty() && !options.memory_bytes);
}

std::optional<WindowSizes> WindowsOf(const RunOptions& options) {
  if (!options.window) return std::nullopt;
  return WindowSizes{*options.window, options.stride.value_or(UsualStride(*options.window))};
}

Result<SessionOptions> SessionOptionsOf(const RunOptions& options, const ModelInfo& model,
                                        const Plan& plan, const Tool& tool) {
  SessionOptions session;
  session.is_stage = !options.stage.empty();
  session.backend = options.backend;
  if (!options.compute.empty()) {
    STI_ASSIGN_OR_RETURN(session.compute, ParseCompute(options.compute));
  }
  const bool has_text = model.has_text();
  if (options.on_late == OnLate::kDegrade && has_text) session.late = Late::kDegrade;
  session.lazy = IsLazy(options, plan);
  session.lock_memory = options.lock_memory;
  session.started = Clock::now() - Microseconds(AgeUs());
  if (model.problem == Problem::kMultiLabel)
    session.threshold = options.threshold.value_or(session.threshold);
  if (has_text && !model.labels_tokens()) session.prefix = options.prefix;
  if (model.embeds()) session.dimensions = options.dimensions;
  session.aggregation = options.aggregation.value_or(session.aggregation);
  if (has_text) session.windows = WindowsOf(options);
  if (session.windows) {
    STI_RETURN_IF_ERROR(
        CheckWindowSizes(*session.windows, model.tokenizer.control_tokens(options.pairs)));
    session.keeps_window_runs = !options.trace.empty();
  }
  session.cascade_seed = options.seed.value_or(session.cascade_seed);
  session.meter_decoding = !options.trace.empty();
  const bool replans = !options.replan.empty();
  session.notices = [&tool, replans, prefix = options.Prefix()](const Notice& notice) {
    // Who plans again when the device drifts does not ask others to.
    if (!replans || notice.kind != Notice::Kind::kDrift) Tell(notice, tool, prefix);
  };
  return session;
}

// Returns the memory that the largest input may take: its line, where lines are read, the tokens of
// a text that is read in windows, or the image whose path it is. Of a plan that was made for this
// memory it is at most what the plan leaves: short lines keep the plan's times.
uint64_t LongestLineBytes(const RunOptions& options, const Plan& plan, const ModelInfo& model) {
  const uint64_t planned_for = PlannedForBytes(options, plan);
  const bool has_lines = options.texts.empty() && options.eval.empty();
  const uint64_t line =
      (has_lines ? LineReader::kMaxLineBytes : 0) + MostInputBytes(options, model);
  return planned_for == 0 ? line : std::min(line, planned_for - plan.predicted_peak_bytes);
}

// Returns the bytes that --nearest takes for a label: its vector, and while that is made a sum too.
uint64_t VectorBytes(const ModelInfo& model) {
  return uint64_t{model.head_values()} * (sizeof(float) + sizeof(double));
}

Result<Encoding> EncodeIds(const Session& session, const std::string& line) {
  constexpr std::string_view kSeparators = " ,\t";
  const uint32_t length = session.status().max_length;
  Encoding encoding;
  for (size_t at = line.find_first_not_of(kSeparators); at != std::string::npos;
       at = line.find_first_not_of(kSeparators, at)) {
    const size_t end = std::min(line.find_first_of(kSeparators, at), line.size());
    uint32_t id = 0;
    const auto [rest, error] = std::from_chars(line.data() + at, line.data() + end, id);
    if (error != std::errc() || rest != line.data() + end) {
      return DataError("'" + line.substr(at, end - at) + "' is not a token id");
    }
    encoding.truncated = encoding.ids.size() == length;
    if (!encoding.truncated) encoding.ids.push_back(id);
    at = end;
  }
  encoding.types.assign(encoding.ids.size(), 0);
  STI_RETURN_IF_ERROR(session.Check(encoding));
  return encoding;
}

}  // namespace

Result<ModelToServe> OpenModel(const RunOptions& options, const Tool& tool) {
  STI_ASSIGN_OR_RETURN(ReadPath path, ParseReadPath(options.io));
  STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(options.model, path));
  const ModelInfo& model = file.index().info;
  STI_RETURN_IF_ERROR(CheckHead(options, model));
  if (options.threshold && options.name.empty() && model.problem != Problem::kMultiLabel) {
    return UsageError("--threshold is for multi-label models; " + options.model +
                      " gives one label an input");
  }
  STI_ASSIGN_OR_RETURN(Plan plan, ChoosePlan(options, file.index(), tool));
  if (options.seed && options.name.empty() && !LeavesToChance(plan)) {
    return UsageError("--seed is for plans with a cascade that sends inputs on by chance, which " +
                      options.plan + " is not");
  }
  ContinueTexts(model, options.memory_bytes.has_value(), &plan);
  STI_RETURN_IF_ERROR(CheckDegrade(options, model, plan));
  WarnOfUntrained(model, plan, options, tool);
  if (!options.stage.empty()) {
    STI_ASSIGN_OR_RETURN(const size_t number, FindStage(plan, options));
    plan = CutStage(plan, number);
  }
  STI_ASSIGN_OR_RETURN(SessionOptions session, SessionOptionsOf(options, model, plan, tool));
  return ModelToServe{options.name, std::move(file), std::move(plan), std::move(session)};
}

Result<OpenedSession> OpenSession(const RunOptions& options, size_t labels, const Tool& tool) {
  if (options.priority) TakePriority(tool);  // before any thread is made
  STI_ASSIGN_OR_RETURN(ModelToServe model, OpenModel(options, tool));
  const Plan* const plan = &model.plan;
  STI_ASSIGN_OR_RETURN(model.options.threads, TakeCores(options, {&plan, 1}, tool));
  model.options.clock_khz = ClockLimitKhz();
  uint64_t held = 0;
  if (options.memory_bytes) {
    const ModelInfo& info = model.file.index().info;
    const uint64_t vectors = labels * VectorBytes(info);
    const uint64_t link =
        LinkBytes(uint64_t{plan->most_tokens()} * info.shape.hidden * sizeof(float),
                  !plan->ends.text, !plan->ends.head);
    model.options.own_bytes =
        BytesForModels(options, LongestLineBytes(options, *plan, info) + vectors + link, &held);
    model.options.planned_for_bytes = PlannedForBytes(options, *plan);
  }
  auto session = Session::Open(std::move(model.file), std::move(model.plan), model.options);
  if (!session.ok()) return InProcess(session.error(), options, held);
  return OpenedSession(session->release());
}

Result<Encoding> EncodeLine(const RunOptions& options, const Session& session,
                            const std::string& line) {
  if (options.ids) return EncodeIds(session, line);
  if (!options.pairs) return session.Encode(line);
  const size_t tab = line.find('\t');
  if (tab == std::string::npos) return DataError("no tab between two sentences");
  const std::string_view text(line);
  return session.Encode(text.substr(0, tab), text.substr(tab + 1));
}

namespace {

Result<ImageValues> ReadImageFile(const Session& session, const std::string& path) {
  if (path.empty()) return DataError("an empty line; give the path of an image");
  STI_ASSIGN_OR_RETURN(const std::string bytes,
                       ReadWholeFile(path, MostImageFileBytes(*session.info().shape.image)));
  auto image = session.DecodeImage(bytes);
  if (!image.ok()) return Error(image.error()).At(path);
  return image;
}

}  // namespace

Result<SessionInput> ReadLineInput(const RunOptions& options, const Session& session,
                                   const std::string& line) {
  if (!session.info().has_text()) {
    STI_ASSIGN_OR_RETURN(ImageValues image, ReadImageFile(session, line));
    return SessionInput(std::move(image));
  }
  STI_ASSIGN_OR_RETURN(Encoding encoding, EncodeLine(options, session, line));
  if (options.generate && session.info().continues_texts())
    return SessionInput(Prompt{std::move(encoding), *options.generate});
  return SessionInput(std::move(encoding));
}

bool LeavesToChance(const Plan& plan) {
  return plan.cascade && std::ranges::any_of(plan.cascade->levels, [](const CascadeLevel& level) {
           return level.rule.slope.has_value();
         });
}

uint64_t MostInputBytes(const RunOptions& options, const ModelInfo& model) {
  if (!model.has_text()) return ImageReadBytes(*model.shape.image);
  const std::optional<WindowSizes> windows = WindowsOf(options);
  return windows ? MostTextBytes(model, *windows) : 0;
}

uint64_t BytesForModels(const RunOptions& options, uint64_t later, uint64_t* held) {
  *held = SettledRssBytes() + later;
  const uint64_t most = options.memory_bytes.value_or(0);
  return most - std::min(most, *held);
}

Error InProcess(Error error, const RunOptions& options, uint64_t held) {
  if (!options.memory_bytes || !error.needed_bytes) return error;
  const uint64_t needed = held + *error.needed_bytes;
  return InfeasibleError("--memory " + FormatBytes(*options.memory_bytes) + " is less than the " +
                         FormatBytes(needed) +
                         (options.models.empty() ? " needed before the first shard"
                                                 : " that the models and the process need") +
                         "; raise it");
}

uint64_t PlannedForBytes(const RunOptions& options, const Plan& plan) {
  const uint64_t memory = options.memory_bytes.value_or(0);
  const bool planned = plan.predicted_peak_bytes != 0 && plan.predicted_peak_bytes <= memory;
  return planned ? memory : 0;
}

}  // namespace sti
