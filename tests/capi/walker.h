// A model on its way through a walk (walk_test.cpp): what is in force for it, its flash, and what
// it answers.
#pragma once

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "callback_storage.h"
#include "capi/sti.h"
#include "sti_fixture.h"
#include "walk_steps.h"

namespace sti {

/// The plan, the options and the turn of a model, and how a fresh one is brought there.
struct InForce {
  std::optional<size_t> given;                     ///< plan; nothing: see `made`
  std::optional<std::map<int32_t, int64_t>> made;  ///< options that a plan was made by
  std::map<int32_t, int64_t> options;              ///< that are not 0
  uint64_t turn = 0;                               ///< inputs of the engagement
  uint64_t runs = 0;                               ///< of these
  bool reload = false;                             ///< an option has changed since the last load
};

/// One model on its way.
struct Walker {
  std::unique_ptr<Storage> storage;
  sti_model* model = nullptr;
  InForce in_force;
  Flash flash = Flash::kWorks;
};

/// Makes a call that may hang: it is cancelled once a read does.
inline sti_code Cancelled(Walker& walker, const std::function<sti_code()>& call) {
  if (walker.flash != Flash::kHangs) return call();
  std::atomic<bool> ended{false};
  std::thread cancelling([&] {
    while (!ended) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      if (!ended) sti_cancel(walker.model);
    }
  });
  const sti_code code = call();
  ended = true;
  cancelling.join();
  return code;
}
inline void SetFlash(Walker& walker, Flash flash) {
  walker.flash = flash;
  walker.storage->lies = flash == Flash::kFails ? 1 : 0;
  walker.storage->delay_us = flash == Flash::kSlow ? 50 : 0;
  if (flash == Flash::kHangs)
    walker.storage->door.Close();
  else
    walker.storage->door.Open();
}
inline bool OfFlash(const Walker& walker, sti_code code) {
  return (walker.flash == Flash::kFails && code == STI_READ_FAILED) ||
         (walker.flash == Flash::kHangs && code == STI_CANCELLED);
}
/// Returns what is wrong about a code; `expected` counts where the flash works.
inline std::string Wrong(const Walker& walker, sti_code code, sti_code expected) {
  if (code == expected || OfFlash(walker, code)) return "";
  return "code " + std::to_string(code) + ", not " + std::to_string(expected);
}

inline sti_code RunText(sti_model* model, const Text& text) {
  const bool pair = text.pair.has_value();
  return sti_run(model, text.text.data(), text.text.size(), pair ? text.pair->data() : nullptr,
                 pair ? text.pair->size() : 0, nullptr);
}

/// A run's answer, and figures.
struct Outcome {
  sti_code code = STI_OK;
  std::vector<double> scores;
  std::map<std::string, double> figures;
  bool fell_back = false;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// Time, and what depends on texts before, are of the past: latency, stalls, drift, and of the
/// bytes read those of rows.
inline Outcome Ask(sti_model* model, const Text& text, bool held) {
  Outcome out;
  out.code = RunText(model, text);
  if (out.code != STI_OK) return out;
  out.scores = ScoresOf(model);
  out.fell_back = sti_stat(model, STI_FELL_BACK) != 0 || sti_stat(model, STI_DEGRADED_SHARDS) != 0;
  const std::pair<const char*, int32_t> kFigures[] = {{"late", STI_IS_LATE},
                                                      {"truncated", STI_TRUNCATED},
                                                      {"tokens", STI_TOKENS},
                                                      {"windows", STI_WINDOWS},
                                                      {"chosen", STI_CHOSEN},
                                                      {"depth", STI_DEPTH},
                                                      {"width", STI_WIDTH},
                                                      {"level", STI_LEVEL},
                                                      {"confidence", STI_CONFIDENCE},
                                                      {"label", -1},
                                                      {"predicted", STI_PREDICTED_US},
                                                      {"p99", STI_PREDICTED_P99_US},
                                                      {"labels", STI_LABELS},
                                                      {"longest", STI_LONGEST},
                                                      {"dimensions", STI_DIMENSIONS}};
  for (const auto& [name, figure] : kFigures) {
    const double value = figure < 0 ? sti_label(model, 0) : sti_stat(model, figure);
    out.figures[name] = std::isnan(value) ? -1 : value;
  }
  if (!held) return out;
  // The second time the rows of a text are there.
  out.figures["read bytes"] = sti_stat(model, STI_READ_BYTES);
  out.figures["own bytes"] = sti_stat(model, STI_OWN_BYTES);
  out.figures["preloaded"] = sti_stat(model, STI_PRELOADED_BYTES);
  return out;
}

/// Returns whether all labels of the last answer are there, those of the best scores first.
inline bool IsRanked(sti_model* model) {
  const std::vector<double> scores = ScoresOf(model);
  for (uint32_t rank = 1; rank < scores.size(); ++rank) {
    const int32_t before = sti_label(model, rank - 1);
    const int32_t label = sti_label(model, rank);
    if (label < 0 || scores.at(static_cast<size_t>(before)) < scores.at(static_cast<size_t>(label)))
      return false;
  }
  return true;
}

inline std::string Differences(const Outcome& walked, const Outcome& fresh) {
  if (walked.code != fresh.code)
    return "code " + std::to_string(walked.code) + ", a fresh one " + std::to_string(fresh.code);
  std::string text;
  if (walked.scores != fresh.scores) text += "other scores; ";
  for (const auto& [name, value] : walked.figures) {
    const auto found = fresh.figures.find(name);
    const double other = found == fresh.figures.end() ? -2 : found->second;
    if (value != other)
      text += name + " " + std::to_string(value) + ", a fresh one " + std::to_string(other) + "; ";
  }
  return text;
}

}  // namespace sti
