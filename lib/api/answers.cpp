#include "api/answers.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>
#include <variant>

#include "api/session.h"

namespace sti {
namespace {

// A number of the calling thread that no other thread of the process ever has. It needs no
// destructor, so that a thread that ends runs no code of this library.
uint64_t ThisThread() {
  static std::atomic<uint64_t> threads{0};
  thread_local uint64_t number = 0;
  if (number == 0) number = threads.fetch_add(1) + 1;
  return number;
}

void TakeFigures(const Answer& from, ModelAnswer* to) {
  to->tokens = from.tokens;
  to->turn = from.turn;
  to->depth = static_cast<uint32_t>(from.plan->layers.size());
  to->width = from.plan->width;
  to->bytes_read = from.bytes_read();
  to->degraded_shards = static_cast<uint32_t>(from.degraded().size());
  to->latency_us = from.latency_us;
  to->stall_us = from.stall_us();
  to->truncated = from.truncated;
  const std::optional<GivenUp> fallback = from.fallback();
  to->fell_back = fallback.has_value();
  to->rows_missing = fallback ? fallback->rows_missing : 0;
  to->windows = from.window_count();
  to->late = from.late();
  if (!from.cascade) return;
  to->level = from.cascade->level;
  to->confidence = from.cascade->confidence;
}

void TakeLabels(const Answer& from, Problem problem, ModelAnswer* to) {
  const LabelScores& said = from.labels();
  to->scores = said.scores;
  to->ranked.resize(said.scores.size());
  std::iota(to->ranked.begin(), to->ranked.end(), 0U);
  const std::vector<float>& order = from.ranking();
  std::stable_sort(to->ranked.begin(), to->ranked.end(),
                   [&](uint32_t a, uint32_t b) { return order[a] > order[b]; });
  to->chosen = problem == Problem::kMultiLabel ? static_cast<uint32_t>(said.labels.size()) : 1;
}

ModelContinuation ContinuationOf(const Continuation& said, const Answer& from) {
  const auto made = static_cast<uint32_t>(said.ids.size());
  return {said.text, made, said.first_us, from.plan->context - from.tokens - made};
}

}  // namespace

ModelAnswer ModelAnswerOf(const Answer& from, Problem problem) {
  ModelAnswer answer;
  TakeFigures(from, &answer);
  if (const auto* embedding = std::get_if<Embedding>(&from.content)) {
    answer.embedding = embedding->values;
  } else if (const auto* text = std::get_if<TextSpans>(&from.content)) {
    answer.spans = text->spans;
  } else if (const auto* said = std::get_if<Continuation>(&from.content)) {
    answer.continuation = ContinuationOf(*said, from);
  } else {
    TakeLabels(from, problem, &answer);
  }
  return answer;
}

Answers::Entry* Answers::Find() {
  const uint64_t thread = ThisThread();
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.thread == thread; });
  return found == entries_.end() ? nullptr : &*found;
}

void Answers::Put(ModelAnswer answer) {
  MutexLock lock(mutex_);
  Entry* entry = Find();
  if (entry == nullptr && entries_.size() < kThreads) entry = &entries_.emplace_back();
  if (entry == nullptr) {
    entry = &*std::min_element(entries_.begin(), entries_.end(),
                               [](const Entry& a, const Entry& b) { return a.asked < b.asked; });
  }
  *entry = {ThisThread(), ++asked_, std::move(answer)};
}

void Answers::Drop() {
  MutexLock lock(mutex_);
  const Entry* entry = Find();
  if (entry != nullptr) entries_.erase(entries_.begin() + (entry - entries_.data()));
}

void LabelNames::Set(std::span<const std::string> labels) {
  MutexLock lock(mutex_);
  labels_.clear();
  for (const std::string& label : labels) labels_.push_back(names_.insert(label).first->c_str());
}

uint32_t LabelNames::count() {
  MutexLock lock(mutex_);
  return static_cast<uint32_t>(labels_.size());
}

const char* LabelNames::Of(uint32_t label) {
  MutexLock lock(mutex_);
  return label < labels_.size() ? labels_[label] : nullptr;
}

}  // namespace sti
