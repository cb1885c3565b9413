// A model that an app has open. It is what the C library hands out, in C++: a session, made when it
// is first needed, and what the session is made of: the container, the options that the app has
// set, and the profile and importance that plans are made from. All but the container's index can
// be given back under memory pressure, and is loaded again by the call that needs it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/answers.h"
#include "api/aside.h"
#include "api/host.h"
#include "api/input.h"
#include "api/plan_inputs.h"
#include "api/session.h"
#include "base/function_ref.h"
#include "base/interrupt.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "io/block_source.h"
#include "io/container_file.h"
#include "pipeline/drift.h"
#include "plan/request.h"
#include "types/device_profile.h"
#include "types/importance.h"
#include "types/model_info.h"
#include "types/plan.h"

namespace sti {

/// All that an app can choose for a model.
struct ModelOptions {
  /// Plans are made by this. `judging.memory_bytes` bounds this model's own memory, not that of the
  /// process, and bounds the session too. `modes` says its mode.
  PlanRequest request;
  ModeOptions modes = {};
  Late late = Late::kWait;
  std::optional<ComputeType> compute;             ///< nothing: as the plan says, or fp32
  double threshold = 0.5;                         ///< least score of a label of a multi-label model
  Aggregation aggregation = Aggregation::kFirst;  ///< as SessionOptions::aggregation
  uint64_t clock_khz = 0;                         ///< of the cores; 0: not known
  bool lock_memory = false;                       ///< as SessionOptions::lock_memory
  uint32_t window_tokens = 0;  ///< texts with more are read in windows; 0: they are cut
  uint32_t window_stride = 0;  ///< as WindowSizes has it; 0: UsualStride
};

/// How a model stands after the last call that was made.
struct ModelFigures {
  uint64_t memory_bytes = 0;   ///< its own, without the index
  uint64_t preload_bytes = 0;  ///< of them, shards that stay between inputs
  double predicted_us = 0;     ///< by the plan, by medians; 0: it says nothing
  double predicted_p99_us = 0;
  Drift drift = {};  ///< beyond what the plan counts on
};

/// One open model, used by any number of threads. Their calls take turns, in the order in which
/// they came. Destroying it waits for the calls under way, and lets those that wait for their turn
/// fail with kCancelled. A call that runs out of memory throws std::bad_alloc; the model can be
/// used on.
class Model {
 public:
  /// Opens the container in `source`, and reads its index.
  static Result<std::unique_ptr<Model>> Open(std::shared_ptr<Host> host, BlockSourcePtr source);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// Goes on under this plan. One that does not fit or cannot be loaded leaves the old one in
  /// force.
  [[nodiscard]] Status GivePlan(Plan plan);
  /// Keeps what plans are made from. kForeign if it is for another model.
  [[nodiscard]] Status GiveProfile(DeviceProfile profile);
  [[nodiscard]] Status GiveImportance(Importance importance);
  /// Lets a model that embeds answer with labels from now on, those of the nearest examples:
  /// `content` is a file of label vectors, or a data set, which is embedded now under the plan in
  /// force. Empty: the model embeds again. What fails changes nothing. From then on a plan of other
  /// layers, slices or bits is kForeign.
  [[nodiscard]] Status GiveExamples(std::string_view content);

  /// Measures this device for about `budget_us`, and plans by that from now on.
  [[nodiscard]] Status MeasureProfile(double budget_us);
  /// Returns the profile that plans are made by. kUsage: there is none.
  [[nodiscard]] Result<DeviceProfile> profile();

  /// Lets `change` change the options. What plans are made by counts from the next MakePlan, all
  /// else from the next call.
  [[nodiscard]] Status Change(FunctionRef<Status(ModelOptions&)> change);
  /// Makes a plan from profile, importance and options, with the drift that runs have shown so far,
  /// and goes on under it, as GivePlan does.
  [[nodiscard]] Status MakePlan();

  /// Begins to read what the next input needs.
  [[nodiscard]] Status Wake();
  /// Ends the engagement: the next input is turn 1.
  [[nodiscard]] Status EndTurns();
  /// Gives memory back until the model has at most `bytes`, or nothing but its index: preloaded
  /// shards from the top, then all the rest. The next call that needs it loads it again.
  [[nodiscard]] Status Trim(uint64_t bytes);

  /// Answers one input: the answer is the calling thread's in answers(). A run that fails leaves
  /// the thread without one.
  [[nodiscard]] Status Run(std::string_view text, std::optional<std::string_view> pair);
  [[nodiscard]] Status Run(std::span<const uint32_t> ids);
  /// Continues a text by up to `most` tokens, at least 1, likewise. `sink` is given each token, and
  /// says whether it wants more.
  [[nodiscard]] Status Generate(std::string_view text, uint32_t most, TokenSink sink);
  /// Answers one image so: `bytes` are those of a file, as Session::DecodeImage has them.
  [[nodiscard]] Status RunImage(std::string_view bytes);

  /// Lets the call under way end with kCancelled: within a layer where it computes one, else at
  /// once, even if a read hangs. The next call waits for what that leaves behind. Does nothing if
  /// there is none.
  void Cancel() { interrupt_.Raise(); }

  [[nodiscard]] const ModelInfo& info() const { return info_; }
  [[nodiscard]] ModelFigures figures();
  [[nodiscard]] Answers& answers() { return answers_; }
  /// Returns the labels that answers have now, and behind them the kinds of spans of a model that
  /// labels tokens; none of a model that embeds.
  [[nodiscard]] LabelNames& labels() { return labels_; }

 private:
  Model(std::shared_ptr<Host> host, BlockSourcePtr source, const ContainerIndex& index);

  class Call;

  [[nodiscard]] Status InTurn(FunctionRef<Status()> body);
  [[nodiscard]] Status CheckTakesTexts() const;
  [[nodiscard]] Status Ask(const SessionInput& input, Clock::time_point taken);
  void TakeAnswer();
  [[nodiscard]] Status UsePlan(Plan plan, uint64_t planned_for_bytes);
  [[nodiscard]] Status UseLabelVectors(std::shared_ptr<const LabelVectors> vectors);
  [[nodiscard]] Status CheckPlan(const Plan& plan);
  [[nodiscard]] Result<PlanInputs> InputsAfter(const Drift& drift, const PlanRequest& request);
  [[nodiscard]] Status NeedFile();
  [[nodiscard]] Status NeedSession();
  [[nodiscard]] Result<Plan> PlanInForce() const;
  [[nodiscard]] SessionOptions OptionsNow();
  /// Returns the bytes that the plan was made for, if they are what bounds the model; else 0.
  [[nodiscard]] uint64_t PlannedForNow() const;
  [[nodiscard]] Status SettleLate();
  [[nodiscard]] Status CloseSession();
  void DropBrokenSession();
  void Publish();

  const std::shared_ptr<Host> host_;
  const BlockSourcePtr source_;
  const ModelInfo info_;
  std::vector<std::string> names_;  ///< of labels, and behind them of spans' kinds
  const Digest digest_;
  Interrupt interrupt_;

  Mutex calls_mutex_;
  CondVar calls_ended_;
  uint32_t calls_ STI_GUARDED_BY(calls_mutex_) = 0;
  std::atomic<bool> closing_{false};
  FairLock turn_;

  // The members below belong to the call that has the turn. File and session belong to work that is
  // done aside, until it is settled.
  std::optional<ContainerFile> file_;  ///< while there is no session
  std::unique_ptr<Session> session_;
  std::unique_ptr<Session> opened_;  ///< aside, and not yet in use
  bool reopen_ = false;              ///< options have changed that a session is opened with
  bool trimmed_ = false;             ///< the buffer holds less than the plan says
  ModelOptions options_;
  std::optional<Plan> plan_;        ///< nothing: the whole model at its most bits
  uint64_t planned_for_bytes_ = 0;  ///< own memory that `plan_` was made for; 0: not said
  std::optional<DeviceProfile> profile_;
  std::optional<Importance> importance_;
  std::shared_ptr<const LabelVectors> label_vectors_;  ///< null: answers are the head's
  DeviceDrift drift_;                                  ///< since `profile_` was measured
  Answer answer_;

  Answers answers_;
  LabelNames labels_;
  Mutex figures_mutex_;
  ModelFigures figures_ STI_GUARDED_BY(figures_mutex_);

  Aside aside_{interrupt_};  ///< last: waits for work that uses the others
};

}  // namespace sti
