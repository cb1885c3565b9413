// A notice is what a session tells beside its answers: nothing failed, but a person may want to
// know. It is a value; whoever opened the session makes a sentence of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/log.h"
#include "pipeline/drift.h"

namespace sti {

/// Holds one notice. Fields that its kind does not name are empty or 0.
struct Notice {
  enum class Kind : uint8_t {
    kRunning,        ///< reads go through `actual`, layers are computed with `kernel`
    kReadFallback,   ///< `actual` says why reads go another way than was wanted
    kFewerStreams,   ///< reads go through `planned` open files, and no more, as `actual` says
    kOtherReadPath,  ///< the plan counts on reads through `planned`, this session has `actual`
    kOtherKernel,    ///< the plan counts on the kernel `planned`, this session has `actual`
    kOtherUnicode,   ///< the model was made with Unicode `planned`, this library has `actual`
    kNotLocked,      ///< `actual` says why memory that was to be locked is not, or not all of it
    kFirstWindowCounts,  ///< of a text in windows, the first alone makes its vector
    kLeadTime,           ///< the plan counts on being woken `time_us` before each input
    kDrift,              ///< the device has become slower than the plan counts on, by `drift`
    kPlannedAgain,   ///< the plan `actual` is in force, since the device has changed as `why` says
    kPlanKept,       ///< as `why` says, but no other plan can be had, for the reason `actual`
    kOtherVariants,  ///< runs go under other variants of the plan, for the reason `why`
  };
  Kind kind = Kind::kRunning;
  std::string planned = {};
  std::string actual = {};
  std::string kernel = {};
  std::string why = {};
  double time_us = 0;
  Drift drift = {};
};

/// Returns a line of a log that says the notice.
LogLine LineFor(const Notice& notice);

/// Receives notices, from the thread that called the session.
using NoticeSink = std::function<void(const Notice&)>;

}  // namespace sti
