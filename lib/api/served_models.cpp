#include "api/served_models.h"

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include "api/session.h"
#include "api/shard_memory.h"
#include "base/remedy.h"
#include "base/thread.h"
#include "pipeline/pipeline.h"
#include "text/model_tokenizer.h"

namespace sti {
namespace {

// Does what a model's thread has to do, of which an exception would end the process.
template <typename Work>
Status Guarded(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return NoMemoryError();
  } catch (const std::system_error& refused) {
    return MachineError("cannot start a thread (" + refused.code().message() + ")")
        .Fix(Remedy::kMoreThreads);
  }
}

// Returns whether a session may be in any state after this error: it may lack a thread.
bool BreaksSession(const Error& error) {
  return error.kind == ErrorKind::kMachine || error.kind == ErrorKind::kNoMemory;
}

Result<MemoryNeed> NeedOf(const ModelToServe& model, uint32_t threads) {
  const ContainerIndex& index = model.file.index();
  OwnMemory memory;
  memory.tokenizer_bytes = TokenizerBytes(index);
  memory.threads = threads;
  memory.arithmetic.backend = model.options.backend;
  memory.arithmetic.type = TypeUnder(model.plan, model.options.compute);
  // A plan that was forged may have any sizes.
  STI_RETURN_IF_ERROR(CheckPlan(model.file, model.plan, memory.arithmetic.type));
  return NeedOf(index, model.plan, memory);
}

}  // namespace

uint64_t BytesInFlightOf(std::span<const ModelToServe> models) {
  uint64_t bytes = 0;
  for (const ModelToServe& model : models) {
    const Plan& plan = model.plan;
    const bool says = plan.read_bytes && plan.read_depth;
    const uint64_t reads =
        ReadsInFlight(plan.read_depth.value_or(0), plan.read_streams.value_or(1));
    bytes = std::max(bytes, says ? *plan.read_bytes * std::max<uint64_t>(reads, plan.agents)
                                 : uint64_t{Host::kBytesInFlight});
  }
  return bytes;
}

ServedModels::ServedModels(const std::vector<ModelToServe>& models, ServingOptions options)
    : options_(std::move(options)), host_(options_.threads, {}, BytesInFlightOf(models)) {}

ServedModels::~ServedModels() { EndThreads(true); }

Result<std::unique_ptr<ServedModels>> ServedModels::Open(std::vector<ModelToServe> models,
                                                         ServingOptions options) {
  std::unique_ptr<ServedModels> served(new ServedModels(models, std::move(options)));
  STI_RETURN_IF_ERROR(served->Divide(models));
  STI_RETURN_IF_ERROR(served->OpenSessions(models));
  STI_RETURN_IF_ERROR(Guarded([&]() -> Status {
    served->StartThreads();
    return {};
  }));
  return served;
}

Status ServedModels::Divide(std::vector<ModelToServe>& models) const {
  if (!options_.own_bytes) return {};
  std::vector<MemoryNeed> needs;
  for (const ModelToServe& model : models) {
    auto need = NeedOf(model, host_.cores.threads());
    if (!need.ok()) return Error(need.error()).At(model.name);
    needs.push_back(*need);
  }
  STI_ASSIGN_OR_RETURN(const std::vector<uint64_t> shares,
                       DivideMemory(needs, *options_.own_bytes));
  for (size_t i = 0; i < models.size(); ++i) models[i].options.own_bytes = shares[i];
  return {};
}

Status ServedModels::OpenSessions(std::vector<ModelToServe>& models) {
  for (ModelToServe& model : models) {
    auto queue = std::make_unique<Queue>();
    queue->model = queues_.size();
    model.options.cores = &host_.cores;
    model.options.io = &host_.io;
    auto session = Session::Open(std::move(model.file), std::move(model.plan), model.options);
    if (!session.ok()) return Error(session.error()).At(model.name);
    queue->session = std::move(*session);
    queues_.push_back(std::move(queue));
  }
  return {};
}

void ServedModels::StartThreads() {
  for (const std::unique_ptr<Queue>& queue : queues_)
    queue->thread = StartQuietThread([this, &queue = *queue] { Serve(queue); });
}

void ServedModels::EndThreads(bool drop) {
  for (const std::unique_ptr<Queue>& queue : queues_) {
    MutexLock lock(queue->mutex);
    queue->ending = true;
    queue->dropped = queue->dropped || drop;
    queue->changed.NotifyAll();
  }
  for (const std::unique_ptr<Queue>& queue : queues_) {
    if (queue->thread.joinable()) queue->thread.join();
  }
}

void ServedModels::Finish() { EndThreads(false); }

bool ServedModels::Settled() const {
  return std::all_of(queues_.begin(), queues_.end(),
                     [](const std::unique_ptr<Queue>& queue) { return queue->session->Settled(); });
}

bool ServedModels::IsFull(const Queue& queue, size_t bytes) {
  return queue.waiting.size() >= kMostWaiting ||
         (!queue.waiting.empty() && queue.waiting_bytes + bytes > kMostWaitingBytes);
}

// Models answer what is held, or drop it, so that there will be room.
void ServedModels::Hold(size_t bytes) {
  MutexLock lock(held_mutex_);
  while (held_bytes_ > 0 && held_bytes_ + bytes > kMostHeldBytes) held_less_.Wait(held_mutex_);
  held_bytes_ += bytes;
}

void ServedModels::LetGo(size_t bytes) {
  MutexLock lock(held_mutex_);
  held_bytes_ -= bytes;
  held_less_.NotifyAll();
}

bool ServedModels::Give(size_t model, std::string input, Status usable) {
  Queue& queue = *queues_[model];
  Hold(input.size());
  MutexLock lock(queue.mutex);
  while (!queue.dropped && IsFull(queue, input.size())) queue.changed.Wait(queue.mutex);
  if (queue.dropped) {
    LetGo(input.size());
    return false;
  }
  queue.waiting_bytes += input.size();
  queue.waiting.push_back({std::move(input), std::move(usable), Clock::now()});
  queue.changed.NotifyAll();
  return true;
}

void ServedModels::GivePlan(size_t model, Plan plan, std::function<void(const Status&)> taken) {
  Queue& queue = *queues_[model];
  MutexLock lock(queue.mutex);
  queue.waiting.push_back({{}, {}, Clock::now(), std::move(plan), std::move(taken)});
  queue.changed.NotifyAll();
}

void ServedModels::Serve(Queue& queue) {
  for (;;) {
    if (queue.broken.ok()) NoteFailure(queue, Guarded([&] { return AwaitInput(queue); }));
    std::optional<Input> input = Take(queue);
    if (!input) return;
    if (input->plan) {
      TakePlan(queue, *input);
    } else {
      AnswerInput(queue, *input);
      const size_t bytes = input->text.size();
      input.reset();
      if (bytes > kMostWaitingBytes && options_.rested) options_.rested();
      LetGo(bytes);
    }
  }
}

Status ServedModels::AwaitInput(Queue& queue) {
  Pause pause(*queue.session, options_.turn_gap_us, options_.idle_us, options_.rested);
  for (;;) {
    STI_RETURN_IF_ERROR(pause.Act());
    const double due_us = pause.DueUs();
    if (due_us == Pause::kNever_us || HasInputWithin(queue, due_us)) return {};
  }
}

// Returns whether so soon an input waits, or none will.
bool ServedModels::HasInputWithin(Queue& queue, double time_us) {
  const auto latest = Clock::now() + Microseconds(time_us);
  MutexLock lock(queue.mutex);
  while (queue.waiting.empty() && !queue.ending) {
    if (!queue.changed.WaitUntil(queue.mutex, latest)) return false;
  }
  return true;
}

// Waits for an input; returns nothing when there will be no more.
std::optional<ServedModels::Input> ServedModels::Take(Queue& queue) {
  MutexLock lock(queue.mutex);
  while (queue.waiting.empty() && !queue.ending) queue.changed.Wait(queue.mutex);
  queue.dropped = queue.dropped || (options_.cancelled && options_.cancelled());
  if (queue.dropped) {
    LetGo(queue.waiting_bytes);
    queue.waiting_bytes = 0;
    queue.waiting.clear();
  }
  queue.changed.NotifyAll();  // there is room, or none is needed any more
  if (queue.waiting.empty()) return std::nullopt;
  Input input = std::move(queue.waiting.front());
  queue.waiting.pop_front();
  queue.waiting_bytes -= input.text.size();
  return input;
}

void ServedModels::AnswerInput(Queue& queue, const Input& input) {
  Status own;
  const double waited_us = MicrosecondsBetween(input.given, Clock::now());
  Status asked = queue.broken;
  if (asked.ok()) asked = Guarded([&] { return Ask(queue, input, &own); });
  const Status told = Guarded([&]() -> Status {
    const Error* error = asked.ok() ? nullptr : &asked.error();
    if (!own.ok()) error = &own.error();
    options_.tell({.model = queue.model,
                   .input = input.text,
                   .waited_us = waited_us,
                   .answer = error == nullptr ? &queue.answer : nullptr,
                   .error = error,
                   .failed = !asked.ok(),
                   .session = *queue.session});
    return {};
  });
  NoteFailure(queue, asked.ok() ? told : asked);
}

void ServedModels::TakePlan(Queue& queue, Input& input) {
  Status taken = queue.broken;
  if (taken.ok()) taken = Guarded([&] { return queue.session->SetPlan(*std::move(input.plan)); });
  if (!taken.ok() && BreaksSession(taken.error())) NoteFailure(queue, taken);
  (void)Guarded([&]() -> Status {
    input.taken(taken);
    return {};
  });
}

void ServedModels::NoteFailure(Queue& queue, const Status& status) {
  if (status.ok()) return;
  if (queue.failure.ok()) queue.failure = status;
  if (BreaksSession(status.error())) queue.broken = status;
}

// An error of the input itself goes to `own`.
Status ServedModels::Ask(Queue& queue, const Input& input, Status* own) {
  const auto taken = Clock::now();
  auto read = input.usable.ok() ? options_.encode(*queue.session, input.text)
                                : Result<SessionInput>(input.usable.error());
  if (!read.ok()) {
    *own = read.error();
  } else if (Status asked = sti::Ask(*queue.session, *read, taken, &queue.answer); !asked.ok()) {
    if (asked.error().source != Source::kInput) return asked;
    *own = std::move(asked);
  }
  if (!own->ok()) queue.session->SkipTurn();
  return {};
}

}  // namespace sti
