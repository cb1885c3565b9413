// Several models of one process that answer one stream of inputs. Each model has a thread and a
// queue of inputs of its own, so that a long run of one keeps no input of another waiting, and all
// share the cores and the flash of one host. Inputs of one model are answered in the order in which
// they came; those of different models in any.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "api/host.h"
#include "api/input.h"
#include "api/session.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/result.h"
#include "io/container_file.h"
#include "types/plan.h"

namespace sti {

/// A model that is to be served. Of `options`, serving sets cores, IO, and the bound on memory.
struct ModelToServe {
  std::string name;  ///< in front of the errors of opening it
  ContainerFile file;
  Plan plan;
  SessionOptions options;
};

/// The outcome of one input. All that it points at is there during the call that gets it.
struct Served {
  size_t model = 0;  ///< its index among the models
  const std::string& input;
  double waited_us = 0;            ///< in the queue of its model; its latency begins after that
  const Answer* answer = nullptr;  ///< null where there is none
  const Error* error = nullptr;    ///< why there is none
  bool failed = false;  ///< the error is the model's or the machine's, not the input's own
  const Session& session;
};

/// Says how models are served. The functions are called by the threads of all models at once.
struct ServingOptions {
  uint32_t threads = 1;               ///< that compute, for all models together
  std::optional<uint64_t> own_bytes;  ///< most bytes that all models take together
  double turn_gap_us = kTurnGap_us;   ///< a longer pause between a model's inputs is turn 1 again
  std::optional<double> idle_us;      ///< after such a pause memory that only inputs need goes
  InputReader encode;
  std::function<void(const Served&)> tell;
  /// Called after a model has given memory back in a pause, or answered an input of more than
  /// kMostWaitingBytes; may be empty.
  std::function<void()> rested;
  /// Asked before each input; once true, inputs at hand are answered, and those that wait never
  /// are. May be empty.
  CancelCheck cancelled;
};

/// Returns how many bytes of reads models under these plans should have in flight together: as many
/// as the one that wants most, for their profiles found that the device is busy with so many, and
/// with more the reads of one model would queue behind those of another.
uint64_t BytesInFlightOf(std::span<const ModelToServe> models);

/// Models that are served. Any thread may give inputs; one finishes. A model whose run fails tries
/// again with its next input, which may be luckier with the device; once memory or the machine let
/// it down, each of its inputs is told the same error. Either way the other models answer on.
class ServedModels {
 public:
  /// Inputs that wait in the queue of one model: at most so many, and of so many bytes together. A
  /// longer one waits alone.
  static constexpr size_t kMostWaiting = 32;
  static constexpr size_t kMostWaitingBytes = size_t{64} << 10;
  /// Inputs of all models that wait or are at hand have at most so many bytes together, or the
  /// longest of them alone has: so few long ones keep memory bounded, whatever the number of
  /// models.
  static constexpr size_t kMostHeldBytes = size_t{1} << 20;

  /// Opens a session for each model, and starts their threads. Where memory is bounded it is
  /// divided (DivideMemory); InfeasibleError with the bytes that would do if it is too little.
  static Result<std::unique_ptr<ServedModels>> Open(std::vector<ModelToServe> models,
                                                    ServingOptions options);
  /// Waits for the inputs at hand; those that wait are not answered.
  ~ServedModels();
  ServedModels(const ServedModels&) = delete;
  ServedModels& operator=(const ServedModels&) = delete;

  /// Puts an input at the end of a model's queue. Waits while that is full, or while inputs of all
  /// models take kMostHeldBytes. `usable` is an error if
  /// the input cannot be used; it is told in its turn. Returns false if the input was dropped, as
  /// serving was cancelled.
  bool Give(size_t model, std::string input, Status usable = {});
  /// Has a model go on under another plan, behind the inputs that were given before. `taken` is
  /// called by the model's thread; an error leaves the plan that was in force.
  void GivePlan(size_t model, Plan plan, std::function<void(const Status&)> taken);
  /// Waits until all inputs are answered, then ends the threads. Nothing may be given any more.
  void Finish();
  /// Returns whether no read is in flight: closing waits for nothing. Call it after Finish.
  [[nodiscard]] bool Settled() const;
  /// Returns the first error of a model that was not an input's own. Call it after Finish.
  [[nodiscard]] const Status& failure(size_t model) const { return queues_[model]->failure; }

 private:
  struct Input {
    std::string text;
    Status usable;
    Clock::time_point given;
    std::optional<Plan> plan = {};  ///< in place of a text
    std::function<void(const Status&)> taken = {};
  };
  /// The queue of one model. What is not guarded belongs to the model's thread.
  struct Queue {
    size_t model = 0;
    std::unique_ptr<Session> session;
    Status failure;  ///< the first
    Status broken;   ///< why the session cannot be used any more
    Answer answer;
    std::thread thread;
    Mutex mutex;
    CondVar changed;
    std::deque<Input> waiting STI_GUARDED_BY(mutex);
    size_t waiting_bytes STI_GUARDED_BY(mutex) = 0;
    bool ending STI_GUARDED_BY(mutex) = false;  ///< no more inputs come
    bool dropped STI_GUARDED_BY(mutex) = false;
  };

  ServedModels(const std::vector<ModelToServe>& models, ServingOptions options);

  [[nodiscard]] Status OpenSessions(std::vector<ModelToServe>& models);
  [[nodiscard]] Status Divide(std::vector<ModelToServe>& models) const;
  void StartThreads();
  void EndThreads(bool drop);
  void Hold(size_t bytes);
  void LetGo(size_t bytes);
  [[nodiscard]] static bool IsFull(const Queue& queue, size_t bytes) STI_REQUIRES(queue.mutex);
  void Serve(Queue& queue);
  [[nodiscard]] Status AwaitInput(Queue& queue);
  [[nodiscard]] static bool HasInputWithin(Queue& queue, double time_us);
  [[nodiscard]] std::optional<Input> Take(Queue& queue);
  static void TakePlan(Queue& queue, Input& input);
  void AnswerInput(Queue& queue, const Input& input);
  [[nodiscard]] Status Ask(Queue& queue, const Input& input, Status* own);
  static void NoteFailure(Queue& queue, const Status& status);

  const ServingOptions options_;
  Host host_;
  std::vector<std::unique_ptr<Queue>> queues_;
  Mutex held_mutex_;  ///< never locked for longer than it takes to count
  CondVar held_less_;
  size_t held_bytes_ STI_GUARDED_BY(held_mutex_) = 0;  ///< of inputs that wait or are at hand
};

}  // namespace sti
