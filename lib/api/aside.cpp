#include "api/aside.h"

#include <system_error>
#include <utility>

#include "base/remedy.h"
#include "base/thread.h"

namespace sti {

Aside::~Aside() {
  if (thread_.joinable()) thread_.join();
}

Status Aside::Do(std::function<Status()> work) {
  STI_RETURN_IF_ERROR(FinishLeftBehind());
  work_ = std::move(work);
  left_behind_ = false;
  thrown_ = nullptr;
  {
    MutexLock lock(mutex_);
    done_ = false;
  }
  try {
    thread_ = StartQuietThread([this] { Work(); });
  } catch (const std::system_error& refused) {
    work_ = nullptr;
    return MachineError("cannot start a thread to read (" + refused.code().message() + ")")
        .Fix(Remedy::kMoreThreads);
  }
  STI_RETURN_IF_ERROR(FinishLeftBehind());
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  return std::exchange(status_, {});
}

Status Aside::FinishLeftBehind() {
  if (!thread_.joinable()) return {};
  {
    const InterruptibleWait wait(&interrupt_, mutex_, ended_);
    MutexLock lock(mutex_);
    while (!done_ && !wait.raised()) ended_.Wait(mutex_);
    if (!done_) {
      left_behind_ = true;
      return CancelledError();
    }
  }
  thread_.join();
  return {};
}

void Aside::Work() {
  const UsualFloats floats;
  try {
    status_ = work_();
  } catch (...) {
    thrown_ = std::current_exception();
  }
  work_ = nullptr;  // with all that it owns
  MutexLock lock(mutex_);
  done_ = true;
  ended_.NotifyAll();
}

}  // namespace sti
