// An MPI of one rank that sends to itself, for tests: what it holds of the real one is its order of
// messages, and that a message is sent no sooner than somebody receives it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <list>
#include <mutex>

#include "link/mpi/plugin.h"

namespace sti {

class LoopbackMpi {
 public:
  static const MpiPlugin& Plugin() {
    static const MpiPlugin plugin{.version = kMpiPluginVersion,
                                  .join = Join,
                                  .leave = [] { return 0; },
                                  .send = Send,
                                  .receive = Receive,
                                  .test = Test,
                                  .describe = Describe};
    return plugin;
  }
  /// Has calls fail from now on, with a number that it calls "it broke"; or not any more.
  static inline std::atomic<int> broken = 0;

 private:
  struct Call {
    bool sends = false;
    void* bytes = nullptr;
    size_t size = 0;
    int tag = 0;
    bool done = false;
  };

  static int Join(int* rank, int* ranks) {
    *rank = 0;
    *ranks = 1;
    return broken;
  }
  static int Begin(const Call& call, void** request) {
    const std::lock_guard lock(mutex_);
    calls_.push_back(call);
    *request = &calls_.back();
    return broken;
  }
  static int Send(const void* bytes, size_t size, int /*to*/, int tag, void** request) {
    return Begin({true, const_cast<void*>(bytes), size, tag, false}, request);
  }
  static int Receive(void* bytes, size_t most, int /*from*/, int tag, void** request) {
    return Begin({false, bytes, most, tag, false}, request);
  }
  static int Test(void** request, bool* done, size_t* size) {
    const std::lock_guard lock(mutex_);
    auto* const call = static_cast<Call*>(*request);
    Match(*call);
    *done = call->done;
    *size = call->size;
    if (!call->done) return broken;
    calls_.remove_if([call](const Call& other) { return &other == call; });
    *request = nullptr;
    return broken;
  }
  static void Match(const Call& call) {
    const auto first = [&](bool sends) {
      return std::ranges::find_if(calls_, [&](const Call& other) {
        return other.sends == sends && other.tag == call.tag && !other.done;
      });
    };
    const auto from = first(true);
    const auto to = first(false);
    if (call.done || from == calls_.end() || to == calls_.end()) return;
    if (from->size > 0) std::memcpy(to->bytes, from->bytes, std::min(from->size, to->size));
    to->size = from->size;
    from->done = to->done = true;
  }
  static void Describe(int /*error*/, char* text, size_t most) {
    std::strncpy(text, "it broke", most);
  }

  static inline std::mutex mutex_;
  static inline std::list<Call> calls_;  ///< of all ranks that tests have joined
};

}  // namespace sti
