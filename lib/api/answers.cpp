#include "api/answers.h"

#include <algorithm>
#include <atomic>
#include <utility>

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

}  // namespace

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
