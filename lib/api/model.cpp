#include "api/model.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "api/label_source.h"
#include "io/container_file.h"
#include "pipeline/whole_plan.h"
#include "text/model_tokenizer.h"
#include "text/tokenizer.h"

namespace sti {
namespace {

// Returns whether sessions under both are opened in the same way.
bool OpenAlike(const ModelOptions& a, const ModelOptions& b) {
  return a.late == b.late && a.compute == b.compute && a.clock_khz == b.clock_khz &&
         a.lock_memory == b.lock_memory && a.window_tokens == b.window_tokens &&
         a.window_stride == b.window_stride &&
         a.request.judging.memory_bytes == b.request.judging.memory_bytes;
}

// Returns whether the machine or memory let a call down: its session may lack a thread, or be in
// any state, and is made anew.
bool MayHaveBrokenSession(const Status& status) {
  if (status.ok()) return false;
  return status.error().kind == ErrorKind::kMachine || status.error().kind == ErrorKind::kNoMemory;
}

}  // namespace

/// Counts a call from its beginning to its end, and holds its turn.
class Model::Call {
 public:
  explicit Call(Model& model) : model_(model) {
    {
      MutexLock lock(model_.calls_mutex_);
      ++model_.calls_;
    }
    model_.turn_.lock();
  }
  ~Call() {
    model_.turn_.unlock();
    MutexLock lock(model_.calls_mutex_);
    if (--model_.calls_ == 0) model_.calls_ended_.NotifyAll();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  Model& model_;
};

Model::Model(std::shared_ptr<Host> host, BlockSourcePtr source, const ContainerIndex& index)
    : host_(std::move(host)), source_(std::move(source)), info_(index.info), digest_(index.model) {
  names_ = info_.labels;
  labels_.Set(names_);
}

Model::~Model() {
  closing_ = true;
  MutexLock lock(calls_mutex_);
  while (calls_ > 0) calls_ended_.Wait(calls_mutex_);
}

Result<std::unique_ptr<Model>> Model::Open(std::shared_ptr<Host> host, BlockSourcePtr source) {
  STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(source));
  std::unique_ptr<Model> model(new Model(std::move(host), std::move(source), file.index()));
  if (model->info_.labels_tokens()) {
    auto tags = TagScheme::Of(model->info_.labels);
    if (!tags.ok()) return Error(tags.error()).At(file.name());
    model->names_ = tags->names();
    model->labels_.Set(model->names_);
  }
  model->file_ = std::move(file);
  return model;
}

Status Model::InTurn(FunctionRef<Status()> body) {
  const Call call(*this);
  if (closing_) return CancelledError();
  interrupt_.Clear();
  STI_RETURN_IF_ERROR(SettleLate());
  try {
    Status status = body();
    if (MayHaveBrokenSession(status)) DropBrokenSession();
    Publish();
    return status;
  } catch (...) {
    DropBrokenSession();
    Publish();
    throw;
  }
}

// Waits for what a call that was cancelled has left behind.
Status Model::SettleLate() {
  STI_RETURN_IF_ERROR(aside_.FinishLeftBehind());
  if (opened_) file_ = Session::Close(std::move(opened_));
  return {};
}

Status Model::CloseSession() {
  if (!session_) return {};
  STI_RETURN_IF_ERROR(session_->FinishReads());
  file_ = Session::Close(std::move(session_));
  return {};
}

void Model::DropBrokenSession() {
  reopen_ = true;
  (void)CloseSession();  // where that is interrupted, the next call closes it
}

// The index stays in memory, unless memory ran out while a session opened.
Status Model::NeedFile() {
  STI_RETURN_IF_ERROR(CloseSession());
  if (file_) return {};
  return aside_.Do([this]() -> Status {
    STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(source_));
    if (file.index().model != digest_) {
      return ForeignError("has become another model since it was opened").At(file.name());
    }
    file_ = std::move(file);
    return {};
  });
}

Status Model::NeedSession() {
  if (session_ && !reopen_) {
    if (trimmed_) STI_RETURN_IF_ERROR(session_->RestoreBuffer());
    trimmed_ = false;
    return {};
  }
  STI_RETURN_IF_ERROR(NeedFile());
  STI_ASSIGN_OR_RETURN(Plan plan, PlanInForce());
  const auto open = [this, plan = std::move(plan), options = OptionsNow()]() -> Status {
    try {
      STI_ASSIGN_OR_RETURN(opened_, Session::Open(std::move(*file_), plan, options));
    } catch (...) {
      file_.reset();  // it may have gone with what was being opened
      throw;
    }
    file_.reset();
    return {};
  };
  STI_RETURN_IF_ERROR(aside_.Do(open));
  session_ = std::move(opened_);
  reopen_ = trimmed_ = false;
  return {};
}

SessionOptions Model::OptionsNow() {
  SessionOptions options;
  options.compute = options_.compute;
  options.late = options_.late;
  options.clock_khz = options_.clock_khz;
  options.threshold = options_.threshold;
  options.aggregation = options_.aggregation;
  options.lock_memory = options_.lock_memory;
  if (const uint32_t tokens = options_.window_tokens; tokens != 0) {
    const uint32_t stride = options_.window_stride;
    options.windows = WindowSizes{tokens, stride == 0 ? UsualStride(tokens) : stride};
  }
  options.own_bytes = options_.request.judging.memory_bytes;
  options.planned_for_bytes = PlannedForNow();
  options.label_vectors = label_vectors_;
  options.cores = &host_->cores;
  options.io = &host_->io;
  options.interrupt = &interrupt_;
  if (host_->log) options.notices = [this](const Notice& notice) { host_->log(LineFor(notice)); };
  return options;
}

// Within a bound on memory the model is opened anew, so that the vectors have their room in it.
Status Model::UseLabelVectors(std::shared_ptr<const LabelVectors> vectors) {
  const bool is_bounded = options_.request.judging.memory_bytes.has_value();
  if (session_ && !is_bounded) STI_RETURN_IF_ERROR(session_->AnswerBy(vectors));
  std::swap(label_vectors_, vectors);
  if (is_bounded) {
    reopen_ = true;
    try {
      const Status opened = NeedSession();
      if (!opened.ok()) std::swap(label_vectors_, vectors);
      STI_RETURN_IF_ERROR(opened);
    } catch (...) {
      std::swap(label_vectors_, vectors);
      throw;
    }
  }
  labels_.Set(label_vectors_ ? label_vectors_->labels : names_);
  return {};
}

Status Model::GiveExamples(std::string_view content) {
  return InTurn([&]() -> Status {
    if (content.empty()) return UseLabelVectors(nullptr);
    auto parsed = ParseLabelSource(content, "data", {}, host_->log);
    if (!parsed.ok()) return Error(parsed.error()).In(Source::kExamples);
    LabelSource source = *std::move(parsed);
    STI_RETURN_IF_ERROR(NeedSession());
    if (!source.vectors) {
      // Examples are embedded, so that until then nothing answers for the embedding.
      STI_RETURN_IF_ERROR(session_->AnswerBy(nullptr));
      auto embedded = EmbedExamples(*session_, source.rows, {}, [this] { return closing_.load(); });
      STI_RETURN_IF_ERROR(session_->AnswerBy(label_vectors_));
      if (!embedded.ok()) return Error(embedded.error()).In(Source::kExamples);
      source.vectors = *std::move(embedded);
    }
    return UseLabelVectors(std::make_shared<const LabelVectors>(*std::move(source.vectors)));
  });
}

Status Model::Change(FunctionRef<Status(ModelOptions&)> change) {
  return InTurn([&]() -> Status {
    ModelOptions options = options_;
    STI_RETURN_IF_ERROR(change(options));
    const auto& most = options.request.judging.memory_bytes;
    if (session_ && most && session_->memory_bytes() > *most) STI_RETURN_IF_ERROR(CloseSession());
    reopen_ = reopen_ || !OpenAlike(options, options_);
    options_ = std::move(options);
    if (session_) session_->SetThreshold(options_.threshold);
    if (session_) session_->SetAggregation(options_.aggregation);
    return {};
  });
}

Status Model::Wake() {
  return InTurn([&]() -> Status {
    STI_RETURN_IF_ERROR(NeedSession());
    return session_->Wake();
  });
}

Status Model::EndTurns() {
  return InTurn([&]() -> Status { return session_ ? session_->EndEngagement() : Status(); });
}

Status Model::Trim(uint64_t bytes) {
  return InTurn([&]() -> Status {
    if (!session_) return {};
    const uint64_t shards = session_->status().preload_bytes;
    const uint64_t others = session_->memory_bytes() - shards;
    if (shards + others <= bytes) return {};
    if (others > bytes) return CloseSession();
    trimmed_ = true;
    STI_RETURN_IF_ERROR(session_->SetBuffer(bytes - others));
    // A guarantee's fallbacks may take more.
    return session_->memory_bytes() > bytes ? CloseSession() : Status();
  });
}

// Fails where no answer to a text is to be had.
Status Model::CheckTakesTexts() const {
  if (!info_.has_text()) return UsageError("the model takes images, and no texts");
  if (!info_.continues_texts()) return {};
  return UsageError("the model continues texts, and has no other answer to them");
}

Status Model::Run(std::string_view text, std::optional<std::string_view> pair) {
  const auto taken = Clock::now();
  return InTurn([&]() -> Status {
    answers_.Drop();
    STI_RETURN_IF_ERROR(CheckTakesTexts());
    STI_RETURN_IF_ERROR(NeedSession());
    auto encoding = session_->Encode(text, pair);
    if (!encoding.ok()) return Error(encoding.error()).In(Source::kInput);
    return Ask(*std::move(encoding), taken);
  });
}

Status Model::Run(std::span<const uint32_t> ids) {
  const auto taken = Clock::now();
  return InTurn([&]() -> Status {
    answers_.Drop();
    STI_RETURN_IF_ERROR(CheckTakesTexts());
    STI_RETURN_IF_ERROR(NeedSession());
    Encoding encoding;
    encoding.ids.assign(ids.begin(), ids.end());
    encoding.types.assign(ids.size(), 0);
    Status fits = session_->Check(encoding);
    if (!fits.ok()) return Error(fits.error()).In(Source::kInput);
    return Ask(std::move(encoding), taken);
  });
}

Status Model::RunImage(std::string_view bytes) {
  const auto taken = Clock::now();
  return InTurn([&]() -> Status {
    answers_.Drop();
    if (info_.has_text()) return UsageError("the model takes texts, and no images");
    STI_RETURN_IF_ERROR(NeedSession());
    auto image = session_->DecodeImage(bytes);
    if (!image.ok()) return Error(image.error()).In(Source::kInput);
    return Ask(*std::move(image), taken);
  });
}

Status Model::Generate(std::string_view text, uint32_t most, TokenSink sink) {
  const auto taken = Clock::now();
  return InTurn([&]() -> Status {
    answers_.Drop();
    if (!info_.continues_texts()) return UsageError("the model continues no texts");
    if (most == 0) return UsageError("a text cannot be continued by 0 tokens");
    STI_RETURN_IF_ERROR(NeedSession());
    auto prompt = session_->Encode(text, std::nullopt);
    if (!prompt.ok()) return Error(prompt.error()).In(Source::kInput);
    STI_RETURN_IF_ERROR(session_->Generate(*prompt, most, taken, sink, &answer_));
    TakeAnswer();
    return {};
  });
}

Status Model::Ask(const SessionInput& input, Clock::time_point taken) {
  STI_RETURN_IF_ERROR(sti::Ask(*session_, input, taken, &answer_));
  TakeAnswer();
  return {};
}

// Keeps the session's answer for the thread that asked.
void Model::TakeAnswer() {
  answers_.Put(ModelAnswerOf(answer_, session_->answer_info().problem));
  drift_.See(session_->drift());
}

void Model::Publish() {
  ModelFigures figures;
  if (session_) {
    const Plan& plan = session_->plan();
    figures.memory_bytes = session_->memory_bytes();
    figures.preload_bytes = session_->status().preload_bytes;
    const auto& cascade = plan.cascade;
    figures.predicted_us =
        cascade ? cascade->MedianPathUs().value_or(0) : plan.predicted_latency_us;
    figures.predicted_p99_us = cascade ? cascade->worst_path_us : plan.predicted_p99_us;
  }
  figures.drift = drift_.beyond_plan();
  MutexLock lock(figures_mutex_);
  figures_ = figures;
}

ModelFigures Model::figures() {
  MutexLock lock(figures_mutex_);
  return figures_;
}

}  // namespace sti
