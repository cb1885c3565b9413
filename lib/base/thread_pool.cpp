#include "base/thread_pool.h"

#include <algorithm>
#include <exception>

#include "base/control_group.h"
#include "base/thread.h"

namespace sti {
namespace {

// About ten microseconds of pauses: longer than the gap between two loops of a layer, shorter than
// a wake-up costs.
constexpr uint32_t kSpins = 400;

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  asm volatile("pause");
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins, then sleeps, until `value` is no longer `old`.
void WaitWhileEqual(const std::atomic<uint32_t>& value, uint32_t old, uint32_t spins) {
  for (uint32_t i = 0; i < spins; ++i) {
    if (value.load() != old) return;
    Pause();
  }
  value.wait(old);
}

constexpr uint64_t Ticket(uint64_t generation, uint32_t index) { return generation << 32 | index; }

}  // namespace

ThreadPool::ThreadPool(uint32_t threads) : ThreadPool(threads, threads > 1 ? UsableCpus() : 1) {}

// Where threads outnumber CPUs, or a quota counts their time, one that spins takes the time of one
// that works.
ThreadPool::ThreadPool(uint32_t threads, uint32_t cpus)
    : threads_(std::max(threads, 1U)), spins_(threads_ <= cpus ? kSpins : 0) {
  workers_.reserve(threads_ - 1);
  try {
    for (uint32_t worker = 1; worker < threads_; ++worker) {
      workers_.push_back(StartQuietThread([this, worker] { WorkerMain(worker); }));
    }
  } catch (const std::exception&) {
    // The system gives no more threads, or no memory for one. Loops are handed out by index, so
    // fewer workers run them all.
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  epoch_.fetch_add(1);
  epoch_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::ParallelFor(uint32_t count, Body body) {
  const std::lock_guard<FairLock> lock(callers_);
  if (threads_ == 1 || count <= 1) {
    for (uint32_t i = 0; i < count; ++i) body(i, 0);
    return;
  }
  const uint64_t writing = (ticket_.load() >> 32) + 1;
  ticket_.store(Ticket(writing, 0));
  body_.store(&body);
  count_.store(count);
  done_.store(0);
  ticket_.store(Ticket(writing + 1, 0));
  epoch_.fetch_add(1);
  epoch_.notify_all();
  while (RunOne(0)) {
  }
  WaitUntilDone(count);
}

void ThreadPool::WorkerMain(uint32_t worker) {
  const UsualFloats floats;
  while (true) {
    const uint32_t epoch = epoch_.load();
    if (stop_.load()) return;
    while (RunOne(worker)) {
    }
    WaitWhileEqual(epoch_, epoch, spins_);
  }
}

// Claims and runs one index of the current loop; false if there is none.
bool ThreadPool::RunOne(uint32_t worker) {
  uint64_t ticket = ticket_.load();
  while (true) {
    const bool writing = (ticket >> 32 & 1) != 0;
    const auto index = static_cast<uint32_t>(ticket);
    const Body* body = body_.load();
    const uint32_t count = count_.load();
    if (writing || index >= count) return false;
    // Success means that the loop read above is still the current one, and that it stays so: its
    // caller waits for this index.
    if (!ticket_.compare_exchange_weak(ticket, ticket + 1)) continue;
    (*body)(index, worker);
    if (done_.fetch_add(1) + 1 == count) done_.notify_one();
    return true;
  }
}

void ThreadPool::WaitUntilDone(uint32_t count) {
  for (uint32_t done = done_.load(); done != count; done = done_.load()) {
    WaitWhileEqual(done_, done, spins_);
  }
}

}  // namespace sti
