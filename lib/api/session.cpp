#include "api/session.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "api/head_rules.h"
#include "api/input.h"
#include "api/shard_memory.h"
#include "api/window_reader.h"
#include "base/remedy.h"
#include "base/thread_pool.h"
#include "image/image_file.h"
#include "io/container_file.h"
#include "model/head.h"
#include "model/transformer.h"
#include "score/nearest.h"
#include "text/model_tokenizer.h"
#include "text/tokenizer.h"
#include "text/unicode.h"
#include "text/windows.h"
#include "types/cascade.h"
#include "types/label_vectors.h"
#include "types/score.h"

namespace sti {
namespace {

/// Counts the bytes of a first text without the prefix in front of it.
void LeavePrefixOut(uint64_t prefix_bytes, Encoding* encoding) {
  const size_t end = encoding->second_begin.value_or(static_cast<uint32_t>(encoding->ids.size()));
  for (ByteRange& bytes : std::span(encoding->offsets).first(end)) {
    bytes = RangeOf(bytes.begin - std::min<uint64_t>(bytes.begin, prefix_bytes),
                    bytes.end - std::min<uint64_t>(bytes.end, prefix_bytes));
  }
}

Status CheckLate(Late late, const Plan& plan) {
  if (late == Late::kDegrade && plan.agents > 0)
    return UsageError("late inputs are degraded where layers are read in order, not by agents");
  if (late != Late::kDegrade || CanDegrade(plan)) return {};
  return UsageError("to degrade late inputs, a plan needs a target and the times it counts on");
}

Arithmetic ArithmeticOf(const SessionOptions& options, const Plan& plan) {
  Arithmetic arithmetic;
  arithmetic.backend = options.backend;
  arithmetic.type = TypeUnder(plan, options.compute);
  return arithmetic;
}

}  // namespace

bool CanDegrade(const Plan& plan) {
  const auto can = [](const PlanCore& p) { return p.target_us && p.times; };
  const auto can_level = [](const CascadeLevel& level) { return level.plan.times.has_value(); };
  const bool cascade_can = !plan.cascade || std::ranges::all_of(plan.cascade->levels, can_level);
  return plan.agents == 0 && can(plan) && cascade_can && std::ranges::all_of(plan.variants, can);
}

const Error* OwnErrorOf(const Status& asked) {
  if (asked.ok()) return nullptr;
  const Error& error = asked.error();
  const bool own = error.source == Source::kInput || error.kind == ErrorKind::kReadFailed;
  return own ? &error : nullptr;
}

ComputeType TypeUnder(const PlanCore& plan, std::optional<ComputeType> wanted) {
  return wanted.value_or(plan.kernel.type.value_or(ComputeType::kFp32));
}

Session::Session(const SessionOptions& options)
    : late_(options.late),
      is_stage_(options.is_stage),
      prefix_(options.prefix),
      dimensions_(options.dimensions),
      threshold_(options.threshold),
      aggregation_(options.aggregation),
      cascade_seed_(options.cascade_seed),
      label_vectors_(options.label_vectors),
      notices_(options.notices) {}

Result<std::unique_ptr<Session>> Session::Open(ContainerFile&& file, Plan plan,
                                               const SessionOptions& options) {
  STI_RETURN_IF_ERROR(CheckLate(options.late, plan));
  std::unique_ptr<Session> session(new Session(options));
  if (Status started = session->Start(file, std::move(plan), options); !started.ok()) {
    if (session->pipeline_) file = Close(std::move(session));
    return started.error();
  }
  session->TellDifferences();
  return session;
}

Status Session::Start(ContainerFile& file, Plan plan, const SessionOptions& options) {
  const ModelInfo& model = file.index().info;
  STI_RETURN_IF_ERROR(CheckOptionsForHead(options, model));
  STI_RETURN_IF_ERROR(CheckPlanForHead(plan, model, options.is_stage));
  if (label_vectors_) {
    STI_RETURN_IF_ERROR(
        CheckLabelVectors(*label_vectors_, file.index(), plan, prefix_, dimensions_));
    answers_ = ClassifierOf(model, *label_vectors_);
  }
  const std::string name = file.name();
  if (model.labels_tokens()) {
    auto tags = TagScheme::Of(model.labels);
    if (!tags.ok()) return Error(tags.error()).At(name);
    tags_ = *std::move(tags);
  }
  const bool has_text = plan.ends.text && model.has_text();
  TokenizerParts parts;
  if (has_text) {
    STI_ASSIGN_OR_RETURN(parts, ReadTokenizerParts(file));
  }
  const auto make_tokenizer = [&](const ContainerIndex& index) -> Status {  // once
    if (!has_text) return {};
    STI_ASSIGN_OR_RETURN(Tokenizer made, MakeTokenizer(std::move(parts), index, name));
    tokenizer_ = std::make_unique<Tokenizer>(std::move(made));
    return {};
  };
  PipelineOptions pipeline;
  pipeline.threads = options.threads;
  pipeline.arithmetic = ArithmeticOf(options, plan);
  pipeline.clock_khz = options.clock_khz;
  pipeline.lazy = options.lazy;
  pipeline.lock_memory = options.lock_memory;
  pipeline.meter_decoding = options.meter_decoding;
  pipeline.cores = options.cores;
  pipeline.io = options.io;
  pipeline.interrupt = options.interrupt;
  if (plan.cold) cold_start_ = options.started;
  if (options.own_bytes) {
    STI_RETURN_IF_ERROR(make_tokenizer(file.index()));
    const uint32_t threads = options.cores != nullptr ? options.cores->threads() : options.threads;
    const uint64_t vector_bytes = label_vectors_ ? BytesOf(*label_vectors_) : 0;
    memory_ =
        std::make_unique<OwnMemory>(OwnMemory{.bytes = *options.own_bytes,
                                              .planned_for = options.planned_for_bytes,
                                              .tokenizer_bytes = tokenizer_bytes() + vector_bytes,
                                              .threads = threads,
                                              .arithmetic = pipeline.arithmetic});
    STI_ASSIGN_OR_RETURN(pipeline.staging_bytes, StagingBytes(file.index(), plan, *memory_));
  }
  STI_ASSIGN_OR_RETURN(pipeline_, Pipeline::Create(std::move(file), std::move(plan), pipeline));
  if (options.windows) {
    reader_ = std::make_unique<WindowReader>(*options.windows, options.keeps_window_runs, info());
    STI_RETURN_IF_ERROR(reader_->Check(pipeline_->plan()));
  }
  // Shards of the first layers arrive while the tokenizer is made.
  if (options.lazy && pipeline_->plan().variants.empty()) STI_RETURN_IF_ERROR(Wake());
  return tokenizer_ ? Status() : make_tokenizer(status().file->index());
}

void Session::TellDifferences() const {
  if (!notices_) return;
  const auto tell = [&](Notice::Kind kind, std::string planned, std::string actual) {
    notices_({.kind = kind, .planned = std::move(planned), .actual = std::move(actual)});
  };
  const Plan& plan = pipeline_->plan();
  const std::string path = ReadPathName(status().reader->path());
  const std::string kernel = status().kernel.name;
  notices_({.kind = Notice::Kind::kRunning, .actual = path, .kernel = kernel});
  const std::string& fallback = status().reader->fallback_reason();
  if (!fallback.empty()) tell(Notice::Kind::kReadFallback, "", fallback);
  const std::string& refusal_of_streams = status().reader->stream_refusal();
  if (!refusal_of_streams.empty()) {
    tell(Notice::Kind::kFewerStreams, std::to_string(status().reader->streams()),
         refusal_of_streams);
  }
  if (!plan.read_path.empty() && plan.read_path != path)
    tell(Notice::Kind::kOtherReadPath, plan.read_path, path);
  if (!plan.kernel.name.empty() && plan.kernel.name != kernel)
    tell(Notice::Kind::kOtherKernel, plan.kernel.name, kernel);
  if (reader_ && FirstWindowCounts(info())) notices_({.kind = Notice::Kind::kFirstWindowCounts});
  if (plan.wake_us) notices_({.kind = Notice::Kind::kLeadTime, .time_us = *plan.wake_us});
  if (const Status& refusal = *status().lock_refusal; !refusal.ok())
    tell(Notice::Kind::kNotLocked, "", refusal.error().what);
  const std::string& unicode = status().file->index().unicode;
  if (!unicode.empty() && unicode != UnicodeVersion())
    tell(Notice::Kind::kOtherUnicode, unicode, UnicodeVersion());
}

void Session::TellDrift() {
  const std::optional<Drift> drift = pipeline_->drift().TakeWarning();
  if (drift && notices_) notices_({.kind = Notice::Kind::kDrift, .drift = *drift});
}

Session::~Session() = default;

ContainerFile Session::Close(std::unique_ptr<Session> session) {
  return Pipeline::Close(std::move(session->pipeline_));
}

const Vocabulary* Session::vocabulary() const {
  return tokenizer_ ? &tokenizer_->vocabulary() : nullptr;
}

uint64_t Session::tokenizer_bytes() const { return tokenizer_ ? tokenizer_->memory_bytes() : 0; }
const ModelInfo& Session::info() const { return status().file->index().info; }

uint64_t Session::memory_bytes() const {
  const PipelineStatus& held = status();
  return tokenizer_bytes() + held.resident_bytes + held.working_bytes + held.preload_bytes +
         held.staging_bytes + (label_vectors_ ? BytesOf(*label_vectors_) : 0);
}

const std::string& Session::prefix() const {
  return label_vectors_ ? label_vectors_->prefix : prefix_;
}

uint32_t Session::dimensions() const {
  return label_vectors_ ? label_vectors_->dimensions : dimensions_.value_or(info().head_values());
}

Status Session::AnswerBy(std::shared_ptr<const LabelVectors> vectors) {
  if (vectors) {
    const ContainerIndex& index = status().file->index();
    STI_RETURN_IF_ERROR(CheckLabelVectors(*vectors, index, plan(), prefix_, dimensions_));
    answers_ = ClassifierOf(index.info, *vectors);
  } else {
    answers_.reset();
  }
  label_vectors_ = std::move(vectors);
  return {};
}

std::optional<uint64_t> Session::own_bytes() const {
  return memory_ ? std::optional<uint64_t>(memory_->bytes) : std::nullopt;
}

Status Session::CheckTokens(const Encoding& encoding) const {
  if (info().continues_texts() && encoding.ids.empty())
    return DataError("an empty text, which there is nothing to continue").In(Source::kInput);
  if (!info().labels_tokens() || encoding.continues_word.size() == encoding.ids.size()) return {};
  return DataError("a model that labels tokens of texts is asked with a text, and not with ids");
}

Status Session::Check(const Encoding& encoding) const {
  STI_RETURN_IF_ERROR(CheckTokens(encoding));
  return pipeline_->Check({TokenInput{encoding.ids, encoding.types}, {}});
}

Result<Encoding> Session::Encode(std::string_view text,
                                 std::optional<std::string_view> pair) const {
  return EncodeUpTo(reader_ ? kMostTextTokens : status().max_length, text, pair);
}

Result<Encoding> Session::EncodeUpTo(uint32_t most, std::string_view text,
                                     std::optional<std::string_view> pair) const {
  if (!info().has_text()) return UsageError("the model takes images, and no texts");
  if (pair &&
      (info().labels_tokens() || info().tokenizer.second_type >= info().shape.token_types)) {
    return DataError("the model takes no pairs");
  }
  if (info().labels_tokens()) {
    Encoding encoding = tokenizer_->Encode(text, pair, most);
    tokenizer_->MarkContinuations(text, &encoding);
    return encoding;
  }
  if (prefix().empty()) return tokenizer_->Encode(text, pair, most);
  Encoding encoding = tokenizer_->Encode(prefix() + std::string(text), pair, most);
  LeavePrefixOut(prefix().size(), &encoding);
  return encoding;
}

Result<ImageValues> Session::DecodeImage(std::string_view bytes) const {
  const ModelInfo& model = info();
  if (model.has_text()) return UsageError("the model takes texts, and no images");
  STI_ASSIGN_OR_RETURN(std::vector<float> values,
                       ReadImage(bytes, *model.shape.image, model.pixels));
  return ImageValues{std::move(values)};
}

/// Counts from the start what is the first answer of a cold one, and returns whether it is.
bool Session::Begin(Clock::time_point* taken) {
  const bool cold = cold_start_.has_value();
  *taken = std::exchange(cold_start_, std::nullopt).value_or(*taken);
  return cold;
}

/// Begins an answer to an input that is neither cut nor goes through windows or levels.
void Session::BeginWhole(uint32_t tokens, Answer* answer) {
  answer->tokens = tokens;
  answer->batch = 1;
  answer->truncated = false;
  answer->windows.reset();
  answer->cascade.reset();
  answer->predicted_path_us.reset();
}

/// Completes what an answer says of itself.
void Session::End(Clock::time_point taken, bool cold, Answer* answer) {
  answer->turn = ++turn_;
  answer->cold = cold;
  answer->latency_us = MicrosecondsBetween(taken, Clock::now());
  answer->deadline_met.reset();
  if (answer->target_us) {
    answer->deadline_met =
        answer->windows ? answer->windows->late == 0 : answer->latency_us <= *answer->target_us;
  }
  TellDrift();
}

Status Session::Ask(const ImageValues& image, Clock::time_point taken, Answer* answer) {
  return Ask(image.values, taken, answer, [](size_t) {});
}

Status Session::Ask(std::span<const float> images, Clock::time_point taken, Answer* answer,
                    FunctionRef<void(size_t image)> each) {
  const bool cold = Begin(&taken);
  const size_t count = images.size() / info().shape.image->values();
  BeginWhole(info().shape.max_positions, answer);
  answer->batch = static_cast<uint32_t>(count);
  const RunTerms terms = TermsFor(count * answer->tokens, taken, answer);
  STI_RETURN_IF_ERROR(RunImages(*pipeline_, images, terms, &answer->run));
  of_images_.swap(answer->run.values);
  const auto values = static_cast<std::ptrdiff_t>(info().head_values());
  for (size_t i = 0; i < count; ++i) {
    const auto begin = of_images_.begin() + static_cast<std::ptrdiff_t>(i) * values;
    answer->run.values.assign(begin, begin + values);
    if (i > 0) answer->run.bytes_read = 0;
    STI_RETURN_IF_ERROR(FinishContent({}, answer));
    End(taken, cold, answer);
    each(i);
  }
  return {};
}

Status Session::Ask(const Encoding& encoding, Clock::time_point taken, Answer* answer) {
  const bool cold = Begin(&taken);
  STI_RETURN_IF_ERROR(CheckTokens(encoding));
  answer->tokens = static_cast<uint32_t>(encoding.ids.size());
  answer->truncated = encoding.truncated;
  answer->windows.reset();
  // Ids that are of no text have no words to be split between.
  const bool splits = reader_ && !encoding.words.empty();
  STI_RETURN_IF_ERROR(splits ? RunWindows(encoding, taken, answer)
                             : Run(encoding, taken, false, answer));
  STI_RETURN_IF_ERROR(FinishContent(
      info().labels_tokens() ? TextTokensOf(encoding) : std::vector<TextToken>(), answer));
  End(taken, cold, answer);
  return {};
}

Status Session::RunStage(const Pass& pass, FunctionRef<void()> layer_done, PassOutput* output,
                         RunReport* report) {
  output->hidden = !plan().ends.head;
  STI_ASSIGN_OR_RETURN(RunSteps* const run, pipeline_->Begin(pass, {}, output, report));
  Status status = run->Embed(pass);
  for (uint32_t k = 0; k < run->layers() && status.ok(); ++k) {
    status = run->Layers(k, k + 1);
    if (status.ok()) layer_done();
  }
  if (status.ok()) status = run->Finish();
  STI_RETURN_IF_ERROR(pipeline_->End(status));
  TellDrift();
  return {};
}

Status Session::RunWindows(const Encoding& text, Clock::time_point taken, Answer* answer) {
  const auto run = [&](const Encoding& window, Clock::time_point began, bool rows) {
    return Run(window, began, rows, answer);
  };
  return reader_->Read(
      text, taken, run, [&] { return status().schedule; }, answer);
}

/// Returns the terms of a run of so many tokens, and notes the plan that it runs under.
RunTerms Session::TermsFor(size_t tokens, Clock::time_point taken, Answer* answer) const {
  answer->plan = &pipeline_->PlanFor(tokens);
  answer->target_us = answer->plan->target_us;
  RunTerms terms;
  terms.taken = taken;
  if (late_ == Late::kDegrade) terms.degrade_for_us = answer->target_us;
  return terms;
}

Status Session::Run(const Encoding& encoding, Clock::time_point taken, bool rows, Answer* answer) {
  const RunTerms terms = TermsFor(encoding.ids.size(), taken, answer);
  if (!pipeline_->plan().cascade) {
    answer->cascade.reset();
    answer->predicted_path_us.reset();
    return rows ? RunToRows(*pipeline_, encoding.ids, encoding.types, terms, &answer->run)
                : RunTokens(*pipeline_, encoding.ids, encoding.types, terms, &answer->run);
  }
  if (!answer->cascade) answer->cascade.emplace();
  answer->predicted_path_us.reset();
  const CascadeInput input{{encoding.ids, encoding.types}, encoding.words};
  STI_RETURN_IF_ERROR(
      RunCascade(*pipeline_, input, terms, cascade_seed_, &answer->run, &*answer->cascade));
  const Plan& plan = pipeline_->plan();
  const size_t level = answer->cascade->level - 1;
  answer->plan = &PlanOf(plan, CascadeRoute(plan, level));
  if (level < plan.cascade->path_us.size())
    answer->predicted_path_us = plan.cascade->path_us[level];
  return {};
}

Status Session::EmbedExample(std::string_view text, std::optional<std::string_view> pair,
                             RunResult* run) {
  STI_ASSIGN_OR_RETURN(const Encoding encoding, EncodeUpTo(status().max_length, text, pair));
  cold_start_.reset();
  RunTerms terms;
  terms.taken = Clock::now();
  STI_RETURN_IF_ERROR(RunTokens(*pipeline_, encoding.ids, encoding.types, terms, run));
  return FinishEmbedding(true, &run->values);
}

Status Session::Wake() { return pipeline_->Wake(late_ == Late::kDegrade); }

Status Session::EndEngagement() {
  if (turn_ == 0) return {};
  if (!pipeline_->plan().turns.empty()) STI_RETURN_IF_ERROR(pipeline_->EndTurns());
  turn_ = 0;
  return {};
}

Status Session::SetPlan(Plan plan, uint64_t planned_for_bytes) {
  STI_RETURN_IF_ERROR(CheckLate(late_, plan));
  if (reader_) STI_RETURN_IF_ERROR(reader_->Check(plan));
  STI_RETURN_IF_ERROR(CheckPlanForHead(plan, info(), is_stage_));
  if (label_vectors_) {
    STI_RETURN_IF_ERROR(
        CheckLabelVectors(*label_vectors_, status().file->index(), plan, prefix_, dimensions_));
  }
  std::optional<uint64_t> staging_bytes;
  if (memory_) {
    OwnMemory memory = *memory_;
    memory.planned_for = planned_for_bytes;
    // A plan that was forged may have any sizes.
    STI_RETURN_IF_ERROR(CheckPlan(*status().file, plan, memory.arithmetic.type));
    STI_ASSIGN_OR_RETURN(staging_bytes, StagingBytes(status().file->index(), plan, memory));
  }
  Status set = pipeline_->SetPlan(std::move(plan), staging_bytes);
  if (!set.ok()) return set;
  turn_ = 0;
  // A plan that came after the start says nothing of it, and its target does not count from there.
  if (!pipeline_->plan().cold) cold_start_.reset();
  return set;
}

Result<bool> Session::SetClock(uint64_t clock_khz) {
  Result<bool> changed = pipeline_->SetClock(clock_khz);
  if (changed.ok() && *changed) turn_ = 0;
  return changed;
}

Status Session::RestoreBuffer() {
  const bool guaranteed = late_ == Late::kDegrade && pipeline_->plan().fallback.has_value();
  if (!guaranteed) return SetBuffer(std::nullopt);
  return pipeline_->ResizePreload(std::nullopt, Refill::kWithRuns);
}

Status Session::SetBuffer(std::optional<uint64_t> bytes) { return pipeline_->ResizePreload(bytes); }

Status Pause::Act() {
  const double waited_us = WaitedUs();
  if (waited_us >= gap_us_) {
    STI_RETURN_IF_ERROR(session_.EndEngagement());
    gap_us_ = kNever_us;
  }
  if (waited_us >= idle_us_) {
    STI_RETURN_IF_ERROR(session_.Rest());
    if (rested_) rested_();
    idle_us_ = kNever_us;
  }
  return {};
}

double Pause::DueUs() const { return std::min(gap_us_, idle_us_) - WaitedUs(); }

}  // namespace sti
