// The answers of one model, by the thread that asked: threads that take turns each read their own.
// The names of their labels are the model's, or those that an app has given it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "score/spans.h"
#include "types/model_info.h"

namespace sti {

struct Answer;

/// The continuation of a text.
struct ModelContinuation {
  std::string text;           ///< UTF-8
  uint32_t tokens = 0;        ///< that were made
  double first_us = 0;        ///< from the call to the first of them
  uint32_t context_left = 0;  ///< tokens by which the text could go on
};

/// The answer to one input, with the figures of its run.
struct ModelAnswer {
  std::vector<float> embedding;     ///< of a model that embeds
  std::vector<LabelledSpan> spans;  ///< of a model that labels tokens
  std::optional<ModelContinuation> continuation = {};
  std::vector<float> scores;     ///< [labels] probabilities, of a model that labels texts
  std::vector<uint32_t> ranked;  ///< [labels] most probable first; of equals the lower index
  uint32_t chosen = 0;           ///< first of `ranked` that the model gives: 1, or what reached
                                 ///< the threshold
  uint32_t tokens = 0;
  uint64_t turn = 0;
  uint32_t depth = 0;  ///< n of the submodel that ran
  uint32_t width = 0;  ///< m
  uint64_t bytes_read = 0;
  uint32_t degraded_shards = 0;  ///< shards below their planned bits
  double latency_us = 0;
  double stall_us = 0;
  bool truncated = false;
  bool late = false;
  /// The cascade level that answered, from 1, and how sure it was; nothing without a cascade.
  std::optional<uint32_t> level;
  std::optional<double> confidence;
  bool fell_back = false;     ///< the plan's fallback answered
  uint32_t rows_missing = 0;  ///< tokens that counted as unknown, since their rows did not come
  uint32_t windows = 1;       ///< that the text was read in
};

/// Returns what an app may ask of a session's answer, whose labels are of such a problem.
ModelAnswer ModelAnswerOf(const Answer& from, Problem problem);

/// Keeps the last answer of each of the kThreads threads that asked last. Thread-safe.
class Answers {
 public:
  static constexpr size_t kThreads = 256;

  /// Keeps the calling thread's answer in the place of its last one.
  void Put(ModelAnswer answer) STI_EXCLUDES(mutex_);
  /// Forgets the calling thread's answer.
  void Drop() STI_EXCLUDES(mutex_);

  /// Calls `read` with the calling thread's answer; returns `otherwise` if there is none.
  template <typename T, typename Read>
  [[nodiscard]] T Get(T otherwise, const Read& read) STI_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    const Entry* entry = Find();
    return entry != nullptr ? read(entry->answer) : otherwise;
  }

 private:
  struct Entry {
    uint64_t thread = 0;
    uint64_t asked = 0;  ///< number of the answer among all of the model
    ModelAnswer answer;
  };
  [[nodiscard]] Entry* Find() STI_REQUIRES(mutex_);

  Mutex mutex_;
  uint64_t asked_ STI_GUARDED_BY(mutex_) = 0;
  std::vector<Entry> entries_ STI_GUARDED_BY(mutex_);
};

/// The names of a model's labels, each of which stays where it is for as long as this: callers hold
/// on to names of labels that have gone. Thread-safe.
class LabelNames {
 public:
  /// Replaces all labels. Names are kept once, however often they are given.
  void Set(std::span<const std::string> labels) STI_EXCLUDES(mutex_);
  [[nodiscard]] uint32_t count() STI_EXCLUDES(mutex_);
  /// Returns the name of a label; null if there is no such label.
  [[nodiscard]] const char* Of(uint32_t label) STI_EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  std::set<std::string> names_ STI_GUARDED_BY(mutex_);
  std::vector<const char*> labels_ STI_GUARDED_BY(mutex_);
};

}  // namespace sti
