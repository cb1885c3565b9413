// A session: one open model under one plan, text or image in, a scored answer out. It is what an
// app links.
//
// A session has the pipeline that executes the plan, the tokenizer that makes ids of text, and the
// turn of the engagement at hand (STI 3.3). Where the plan has a cascade, an input goes through its
// levels until one of them is sure (Tabi 3). It prints nothing, and reads no path, no environment
// and no /proc: the caller opens the container and reads the plan. Several sessions of one process
// may share cores and flash.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/notice.h"
#include "base/clock.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "kernels/backend.h"
#include "pipeline/cascade_run.h"
#include "pipeline/pipeline.h"
#include "score/spans.h"
#include "types/model_info.h"
#include "types/plan.h"
#include "types/tag_scheme.h"
#include "types/text_window.h"

namespace sti {

class ContainerFile;
class Tokenizer;
class Vocabulary;
class WindowReader;
struct Encoding;
struct ImageValues;
struct LabelVectors;
struct OwnMemory;

/// The fate of an input whose reads or layers are late.
enum class Late : uint8_t {
  kWait,     ///< it keeps its bits and misses the target
  kDegrade,  ///< it is computed with what has arrived; the plan has a target and times
};

/// Returns whether late inputs can be degraded under `plan`: it, its variants and the levels of its
/// cascade have the times that they count on, and a target, which levels have together.
bool CanDegrade(const Plan& plan);

/// Returns the type that layers are computed in under `plan`: `wanted`, or what the plan says, or
/// fp32.
ComputeType TypeUnder(const PlanCore& plan, std::optional<ComputeType> wanted);

/// Says how a session is opened.
struct SessionOptions {
  uint32_t threads = 1;  ///< threads of the compute lane, unless `cores` are given
  Backend backend = Backend::kNative;
  std::optional<ComputeType> compute;  ///< nothing: as the plan's kernel says, or fp32
  Late late = Late::kWait;
  /// The cores' clock in kHz, which variants are chosen by; 0: not known.
  uint64_t clock_khz = 0;
  /// Whether nothing is loaded before the first input needs it, so that the first answer comes
  /// soonest.
  bool lazy = false;
  /// Whether preloaded shards, arena and working memory are kept in memory, where that is allowed.
  bool lock_memory = false;
  /// Bounds the memory of this model in bytes, not of the process: tokenizer, resident parts,
  /// working memory and shards.
  std::optional<uint64_t> own_bytes;
  /// Bytes of the process that the plan was made for, where `own_bytes` are what is left of them:
  /// the shards of one layer then have room even where estimates of memory differ. 0: the plan was
  /// not.
  uint64_t planned_for_bytes = 0;
  /// The moment that the first answer under a plan of a cold start counts from.
  std::optional<Clock::time_point> started;
  /// The words in front of each text, as some models that embed want them: "query: ".
  std::string prefix;
  /// How many of an embedding's numbers count, the first ones. They are made of unit length again
  /// if the whole is: for models that were trained so (Matryoshka). Nothing: all count.
  std::optional<uint32_t> dimensions;
  /// The vectors that a model that embeds answers by (Session::AnswerBy); null: it embeds.
  std::shared_ptr<const LabelVectors> label_vectors;
  /// How texts are read that have more tokens than a window: window by window, each a run of its
  /// own, of which one answer is made (api/window_join.h). Nothing: they are cut.
  std::optional<WindowSizes> windows;
  /// Whether answers keep the runs of all their windows.
  bool keeps_window_runs = false;
  /// Whether the plan is one that CutStage made, which texts run under together.
  bool is_stage = false;
  /// The least score that a label of a multi-label model needs.
  double threshold = 0.5;
  /// The way in which a model that labels tokens makes spans of them.
  Aggregation aggregation = Aggregation::kFirst;
  /// Inputs that a cascade sends on by chance are drawn by this and their ids.
  uint64_t cascade_seed = 0;
  /// Whether runs tell how long decoding takes, which costs a little.
  bool meter_decoding = false;
  /// Cores and IO that sessions share and that outlive them; null: the session has its own.
  ThreadPool* cores = nullptr;
  IoShare* io = nullptr;
  /// Ends the call under way with kCancelled, once it is raised (pipeline/pipeline.h); it outlives
  /// the session. Null: nothing does.
  Interrupt* interrupt = nullptr;
  NoticeSink notices;
};

/// Holds what a head that gives labels says of an input, or label vectors say of its embedding. Of
/// a cascade the scores are the softmax of the logits of the level that answered, at no
/// temperature, but where it counts together with the level before it the probabilities of both.
struct LabelScores {
  std::vector<float> scores;  ///< [labels] probabilities
  uint32_t label = 0;         ///< the most probable
  /// The labels of a multi-label model whose score reaches the threshold, most probable first.
  std::vector<uint32_t> labels;
};

/// Holds what a head that embeds says of an input: a vector, whose neighbours are of texts alike.
struct Embedding {
  std::vector<float> values;  ///< [d], or the first of them (SessionOptions::dimensions)
};

/// Holds what a head that labels tokens says of an input: the stretches of the text that it names.
struct TextSpans {
  std::vector<LabelledSpan> spans;     ///< in the text's order
  std::span<const std::string> names;  ///< of spans by number, owned by the session
};

/// Holds what a model that continues texts makes of a prompt: the likeliest token, one after
/// another.
struct Continuation {
  /// The reason why it ended.
  enum class End : uint8_t {
    kToken,    ///< the token that ends texts
    kCount,    ///< as many tokens as were asked for
    kContext,  ///< the plan's context, in which there is no more room
    kCaller,   ///< the caller, who had enough
  };

  std::vector<uint32_t> ids;    ///< [tokens] without one that ends texts
  std::string text;             ///< of the tokens, as UTF-8
  std::vector<double> pass_us;  ///< [passes] of the prompt, and of each token that another follows
  double first_us = 0;          ///< from `taken` of Session::Generate to the first token
  End end = End::kCount;
};

/// Takes a token as soon as it is made, and the text that is whole with it. Returns whether the
/// continuation goes on.
using TokenSink = FunctionRef<bool(uint32_t id, std::string_view text)>;

/// Holds one run of several that an answer came of, and what it was read by.
struct WindowRun {
  RunResult run;
  std::shared_ptr<const LoadSchedule> schedule;
  double began_us = 0;  ///< after `taken` of Session::Ask
};

/// Says how a text was read in windows, of which each was a run with a target of its own. The last
/// one's run is that of the answer, and those before it are summed up here.
struct WindowsReport {
  uint32_t windows = 1;
  double began_us = 0;    ///< of the last one, after `taken` of Session::Ask
  double slowest_us = 0;  ///< the most that one took; the first one from `taken` on
  uint32_t late = 0;      ///< how many came after their target
  double late_by_us = 0;  ///< the most that one came after it
  uint64_t bytes_read = 0;
  double stall_us = 0;
  double run_us = 0;    ///< RunReport::latency_us
  double bound_us = 0;  ///< PipelineBoundUs
  std::vector<DegradedShard> degraded;
  std::optional<GivenUp> fallback;  ///< of all that gave up; the words that were missing in all
  std::vector<WindowRun> before;    ///< where SessionOptions::keeps_window_runs
};

/// The answer of a session to one input. Of a cascade it is that of the level that answered: its
/// run, its plan and its labels.
struct Answer {
  RunResult run;
  std::variant<LabelScores, Embedding, TextSpans, Continuation>
      content;                     ///< as Session::answer_info has it
  const PlanCore* plan = nullptr;  ///< the plan, variant or level that ran, owned by the session
  std::optional<CascadeReport> cascade;  ///< there exactly if the session's plan has one
  std::optional<WindowsReport> windows;  ///< of a text, where the session reads in windows
  uint32_t tokens = 0;
  uint32_t batch = 1;  ///< inputs of the pass
  bool truncated = false;
  double latency_us = 0;            ///< from `taken` until the answer was complete
  std::optional<double> target_us;  ///< of the plan, or of the variant that ran
  /// The plan's prediction of `latency_us` for the cascade level that answered; nothing if it does
  /// not say, or has no cascade.
  std::optional<double> predicted_path_us;
  std::optional<bool> deadline_met;  ///< nothing without a target
  uint64_t turn = 1;                 ///< number of the input in its engagement, from 1
  bool cold = false;                 ///< the plan is of a cold start, and this was it

  /// Returns what is said of labels; the model labels texts.
  [[nodiscard]] const LabelScores& labels() const { return std::get<LabelScores>(content); }
  /// Returns whether the answer came after its target.
  [[nodiscard]] bool late() const { return deadline_met.has_value() && !*deadline_met; }
  /// Returns how long after its target it came, or the latest of its windows after theirs.
  [[nodiscard]] double late_by_us() const {
    return windows ? windows->late_by_us : latency_us - target_us.value_or(latency_us);
  }
  /// Returns how many windows the text was read in.
  [[nodiscard]] uint32_t window_count() const { return windows ? windows->windows : 1; }
  /// Returns the bytes that were read for the input, and the time that layers waited for reads, of
  /// all cascade levels or windows together.
  [[nodiscard]] uint64_t bytes_read() const {
    return run.bytes_read + (cascade ? cascade->BytesReadBefore() : 0) +
           (windows ? windows->bytes_read : 0);
  }
  [[nodiscard]] double stall_us() const {
    return run.stall_us + (cascade ? cascade->StallBeforeUs() : 0) +
           (windows ? windows->stall_us : 0);
  }
  /// Returns the shards that ran below their planned bits, of all windows together.
  [[nodiscard]] std::vector<DegradedShard> degraded() const;
  /// Returns how the run gave up on IO, or any window's; nothing: none did.
  [[nodiscard]] std::optional<GivenUp> fallback() const;
  /// Returns whether the scores are those of two cascade levels together.
  [[nodiscard]] bool is_together() const { return cascade && !cascade->together.empty(); }
  /// Returns the numbers [labels] that labels are ranked by: logits, since a probability may be
  /// rounded to that of another label; of two levels together there are only probabilities.
  [[nodiscard]] const std::vector<float>& ranking() const {
    return is_together() ? cascade->together : run.values;
  }
  /// Returns logits [labels] whose softmax the scores are: those of the run, or logarithms of the
  /// scores where two cascade levels count together.
  [[nodiscard]] std::vector<float> logits() const;
};

/// Returns the error of an input that was asked (Session::Ask) if others can be used nevertheless,
/// as it is that input's own, or a read failed; null otherwise.
const Error* OwnErrorOf(const Status& asked);

/// One open model under one plan. One thread at a time.
class Session {
 public:
  /// Opens the model in `file` under `plan`, which may be that of a stage: without its text the
  /// session has no tokenizer. Returns kUsage if the options do not go with the plan,
  /// kInfeasible if `own_bytes` is less than the model takes before its first shard. `file` stays
  /// the caller's where that fails.
  static Result<std::unique_ptr<Session>> Open(ContainerFile&& file, Plan plan,
                                               const SessionOptions& options);

  ~Session();

  /// Closes a session, and returns its container, open, for another.
  static ContainerFile Close(std::unique_ptr<Session> session);

  /// Turns a text, or a pair of texts, into ids, cut to the plan's length, or where the session
  /// reads in windows to kMostTextTokens. An error is the input's own: others can be used. A model
  /// that labels tokens takes one text, and no ids of other making; one of images takes none.
  [[nodiscard]] Result<Encoding> Encode(std::string_view text,
                                        std::optional<std::string_view> pair = {}) const;

  /// Reads the image of a file of these bytes (ReadImage). An error is the input's own; a model of
  /// texts takes none.
  [[nodiscard]] Result<ImageValues> DecodeImage(std::string_view bytes) const;

  /// Returns a DataError unless ids are an input of this model and plan, as Ask does.
  [[nodiscard]] Status Check(const Encoding& encoding) const;

  /// Runs one input, the next turn of the engagement. `taken` is when the caller received it:
  /// latency counts from there. The memory of `answer` is used again. An error of Source::kInput is
  /// the input's own: others can be used. Any other is the model's or the machine's.
  [[nodiscard]] Status Ask(const Encoding& encoding, Clock::time_point taken, Answer* answer);
  [[nodiscard]] Status Ask(const ImageValues& image, Clock::time_point taken, Answer* answer);
  /// Runs images [images, channels, size, size] in one pass, at least one and at most
  /// `plan().microbatch`. `answer` becomes that to one after another, and `each` is called with the
  /// number of the image that it is to. Target, latency and times are those of the pass; its reads
  /// are counted with the first image alone.
  [[nodiscard]] Status Ask(std::span<const float> images, Clock::time_point taken, Answer* answer,
                           FunctionRef<void(size_t image)> each);

  /// Continues a prompt by up to `most` tokens, at least 1, each the likeliest behind those in
  /// front of it: of equals that of the lowest id. The model is one that continues texts, and the
  /// plan has a context, in which prompt and continuation have to fit. `sink` is given each token;
  /// what is held back of a character at the end comes with the answer alone. Run and plan of the
  /// answer are those of the last pass, its bytes and waiting those of all. Errors are those of
  /// Ask.
  [[nodiscard]] Status Generate(const Encoding& prompt, uint32_t most, Clock::time_point taken,
                                TokenSink sink, Answer* answer);

  /// Runs one pass of a stage under a plan that CutStage made. `output` receives hidden rows, or of
  /// the last stage what the head gives. `layer_done` is called behind each layer. Errors are those
  /// of Ask.
  [[nodiscard]] Status RunStage(const Pass& pass, FunctionRef<void()> layer_done,
                                PassOutput* output, RunReport* report);
  /// Makes the answer to one sequence of a stage's pass of `values`, which the head gave for it.
  /// `tokens` are those of its text, for a model that labels tokens. Run, times and tokens of the
  /// answer are the caller's to fill in. Errors are those of Ask.
  [[nodiscard]] Status Conclude(std::span<const float> values, std::span<const TextToken> tokens,
                                Answer* answer);

  /// Counts an input that could not be used as a turn.
  void SkipTurn() { ++turn_; }

  /// Lets a model that embeds answer with labels from now on, those of the nearest vectors; null:
  /// with embeddings again. Prefix and dimensions are then those of the vectors. The run's values
  /// are logits then (score/nearest.h). kForeign for vectors of another model, plan, prefix or
  /// dimensions, which change nothing. Their memory is not of `own_bytes`, unless the session was
  /// opened with them.
  [[nodiscard]] Status AnswerBy(std::shared_ptr<const LabelVectors> vectors);
  /// Embeds one input, as an example of a label and no turn: at the planned bits, however late
  /// reads are, and cut to the plan's length, so that its vector is the same whether texts are read
  /// in windows. The embedding is `run->values`. Errors are those of Encode and Ask.
  [[nodiscard]] Status EmbedExample(std::string_view text, std::optional<std::string_view> pair,
                                    RunResult* run);

  /// Waits for reads in flight, as closing does. It fails only if it is interrupted.
  [[nodiscard]] Status FinishReads() { return pipeline_->FinishReads(); }
  /// Returns whether no read is in flight: closing waits for nothing.
  [[nodiscard]] bool Settled() const { return status().settled; }
  /// Begins to read what the next input needs, before it is known (lead time).
  [[nodiscard]] Status Wake();
  /// Ends the engagement: the next input is turn 1.
  [[nodiscard]] Status EndEngagement();
  /// Gives back what only inputs need, while none is expected (Pipeline::Rest).
  [[nodiscard]] Status Rest() { return pipeline_->Rest(); }
  /// Goes on under another plan for the same model (Pipeline::SetPlan). Where `own_bytes` bound the
  /// session, its memory is divided anew; `planned_for_bytes`: as SessionOptions has it.
  [[nodiscard]] Status SetPlan(Plan plan, uint64_t planned_for_bytes = 0);
  /// Goes on under the plan's variants for another clock (Pipeline::SetClock).
  [[nodiscard]] Result<bool> SetClock(uint64_t clock_khz);
  /// Bounds the preload buffer from now on, in bytes; nothing: it holds what the plan says again.
  [[nodiscard]] Status SetBuffer(std::optional<uint64_t> bytes);
  /// Ends SetBuffer before an input. Where the session guarantees its label it waits for no reads.
  [[nodiscard]] Status RestoreBuffer();

  [[nodiscard]] double threshold() const { return threshold_; }
  void SetThreshold(double threshold) { threshold_ = threshold; }
  void SetAggregation(Aggregation way) { aggregation_ = way; }
  /// Returns the labels that an answer of a model that labels tokens gives words of its text: an
  /// answer to this `encoding`. Nothing for a word that no token begins in: it did not fit, or is
  /// of nothing that the tokenizer keeps.
  [[nodiscard]] std::vector<std::optional<uint32_t>> LabelsOfWords(
      const Encoding& encoding, const Answer& answer, std::span<const ByteRange> words) const;
  /// Returns the tags of a model that labels tokens.
  [[nodiscard]] const TagScheme& tags() const { return *tags_; }
  /// Returns the vocabulary; null of a model of images, or of a stage without text.
  [[nodiscard]] const Vocabulary* vocabulary() const;
  [[nodiscard]] uint64_t tokenizer_bytes() const;  ///< 0 where there is no vocabulary
  /// Returns the bytes of memory that the model takes: tokenizer, resident parts, working memory
  /// and shards. They are what SessionOptions::own_bytes bounds.
  [[nodiscard]] uint64_t memory_bytes() const;
  /// Returns what SessionOptions::own_bytes was.
  [[nodiscard]] std::optional<uint64_t> own_bytes() const;
  /// Returns the plan in force.
  [[nodiscard]] const Plan& plan() const { return pipeline_->plan(); }
  /// Returns the plan or variant that an input of so many tokens runs under.
  [[nodiscard]] const PlanCore& PlanFor(size_t tokens) const { return pipeline_->PlanFor(tokens); }
  /// Returns the state of what executes the plan, and what it holds; the next call of the session
  /// writes it anew.
  [[nodiscard]] const PipelineStatus& status() const { return pipeline_->status(); }
  /// Compares measured times with the plan's.
  [[nodiscard]] DriftWatch& drift() { return pipeline_->drift(); }
  [[nodiscard]] const DriftWatch& drift() const { return pipeline_->drift(); }
  [[nodiscard]] const ModelInfo& info() const;
  /// Returns the model as its answers are: info(), or a classifier of the label vectors' labels.
  [[nodiscard]] const ModelInfo& answer_info() const { return answers_ ? *answers_ : info(); }
  /// Returns the words in front of each text.
  [[nodiscard]] const std::string& prefix() const;
  /// Returns how many numbers of an embedding count.
  [[nodiscard]] uint32_t dimensions() const;

 private:
  explicit Session(const SessionOptions& options);
  [[nodiscard]] Status Start(ContainerFile& file, Plan plan, const SessionOptions& options);
  [[nodiscard]] bool Begin(Clock::time_point* taken);
  static void BeginWhole(uint32_t tokens, Answer* answer);
  void End(Clock::time_point taken, bool cold, Answer* answer);
  [[nodiscard]] RunTerms TermsFor(size_t tokens, Clock::time_point taken, Answer* answer) const;
  [[nodiscard]] Status Run(const Encoding& encoding, Clock::time_point taken, bool rows,
                           Answer* answer);
  [[nodiscard]] Result<Encoding> EncodeUpTo(uint32_t most, std::string_view text,
                                            std::optional<std::string_view> pair) const;
  [[nodiscard]] Status RunWindows(const Encoding& text, Clock::time_point taken, Answer* answer);
  [[nodiscard]] Status CheckTokens(const Encoding& encoding) const;
  [[nodiscard]] Status CheckPrompt(const Encoding& prompt) const;
  void Score(Answer* answer) const;
  [[nodiscard]] Status FinishEmbedding(bool is_compared, std::vector<float>* values) const;
  [[nodiscard]] Status Embed(Answer* answer) const;
  void FindSpans(std::span<const TextToken> tokens, Answer* answer) const;
  [[nodiscard]] Status FinishContent(std::span<const TextToken> tokens, Answer* answer) const;
  [[nodiscard]] std::vector<uint32_t> LabelsAbove(std::span<const float> scores) const;
  void TellDifferences() const;
  void TellDrift();

  Late late_;
  bool is_stage_ = false;
  std::vector<float> of_images_;  ///< [images, labels] what the head gave for a pass
  std::string prefix_;
  std::optional<uint32_t> dimensions_;
  double threshold_;
  Aggregation aggregation_;
  std::optional<TagScheme> tags_;  ///< of a model that labels tokens
  uint64_t cascade_seed_;
  std::shared_ptr<const LabelVectors> label_vectors_;
  std::optional<ModelInfo> answers_;  ///< of a model with label vectors
  NoticeSink notices_;
  std::optional<Clock::time_point> cold_start_;  ///< where a cold start's latency begins
  uint64_t turn_ = 0;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<OwnMemory> memory_;  ///< that bounds the session, as its first plan found it
  std::unique_ptr<Pipeline> pipeline_;
  std::unique_ptr<WindowReader> reader_;  ///< where texts are read in windows
};

/// A longer pause begins a new engagement, where nobody says otherwise.
inline constexpr double kTurnGap_us = 60e6;

/// One pause, which begins when it is made. Whoever waits calls Act, then waits for an input until
/// DueUs, and again until one is there. One thread at a time.
class Pause {
 public:
  static constexpr double kNever_us = std::numeric_limits<double>::infinity();

  /// `rested` is called after the session has given memory back; may be empty. Both outlive it.
  Pause(Session& session, double turn_gap_us, std::optional<double> idle_us,
        const std::function<void()>& rested)
      : session_(session),
        rested_(rested),
        gap_us_(turn_gap_us),
        idle_us_(idle_us.value_or(kNever_us)) {}

  /// Does what is due.
  [[nodiscard]] Status Act();
  /// Returns in how many microseconds something is due; kNever_us: nothing will be.
  [[nodiscard]] double DueUs() const;

 private:
  [[nodiscard]] double WaitedUs() const { return MicrosecondsBetween(began_, Clock::now()); }

  Session& session_;
  const std::function<void()>& rested_;
  double gap_us_;   ///< kNever_us once the engagement has ended
  double idle_us_;  ///< kNever_us once memory was given back
  const Clock::time_point began_ = Clock::now();
};

}  // namespace sti
