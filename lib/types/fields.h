// The words in which a *description* says what a value consists of: `Fields(visit, value)` calls
// `visit(field, member)` for one member after another. Readers and writers of the spellings of a
// file are such visitors, and so is the check of numbers; none of them names a field. So a field is
// named once, with all that a file says of it. plan_fields.h describes plans.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "types/limits.h"

namespace sti {

/// The values that a field may hold, and the one that it means where it is left out.
struct Rule {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  const char* fault = "";         ///< what another number is: "negative"
  const char* above = nullptr;    ///< what a number above `most` is, if other words say more
  double steps = 0;               ///< multiples of it alone; 0: any number
  double left_out = 0;            ///< the number of a field that is left out; of a bool 0 is false
  uint32_t entries = 0;           ///< most entries of a list, or bytes of a text; 0: any number
  const char* too_many = "";      ///< what a list of more is called, if not "<name> has more ..."
  bool zero_is_nothing = false;   ///< 0 or an empty text says that nothing is known
  bool one_a_layer = false;       ///< a list has an entry for each layer of the plan
  const char* counted = nullptr;  ///< a field of JSON alone, which counts the entries from 1

  [[nodiscard]] constexpr Rule LeftOut(double number) const {
    Rule rule = *this;
    rule.left_out = number;
    return rule;
  }
  [[nodiscard]] constexpr Rule OrNothing() const {
    Rule rule = *this;
    rule.zero_is_nothing = true;
    return rule;
  }
  [[nodiscard]] constexpr Rule OneALayer() const {
    Rule rule = *this;
    rule.one_a_layer = true;
    return rule;
  }
};

/// Returns whether a number is so many times `step`, a power of two.
inline bool IsMultiple(double number, double step) {
  return std::isfinite(number) && std::floor(number / step) * step == number;
}

/// Returns what a number is that may not stand in a field: "not from 0 to 1"; null if it may.
inline const char* FaultOf(const Rule& rule, double number) {
  if (rule.above != nullptr && number > rule.most && std::isfinite(number)) return rule.above;
  const bool fits = number >= rule.least && number <= rule.most &&
                    (rule.steps == 0 || IsMultiple(number, rule.steps));
  return fits ? nullptr : rule.fault;
}

/// Returns a number or a text of a file or a profile, which say 0 or "" for nothing.
template <typename T>
std::optional<T> UnlessZero(const T& value) {
  return value == T() ? std::nullopt : std::optional<T>(value);
}

namespace rule {

inline constexpr Rule kAny;
inline constexpr Rule kShare{0, 1, "not from 0 to 1"};
inline constexpr Rule kShareElse1 = kShare.LeftOut(1);
/// Losses, budgets and what else may be negative.
inline constexpr Rule kFigure{-kMaxFigure, kMaxFigure, kNoFigure};
inline constexpr Rule kFigureALayer = kFigure.OneALayer();
/// Microseconds, not beyond what anybody waits for.
inline constexpr Rule kTime{0, kMaxTimeUs, "negative or not a finite number",
                            "above 10^15, which is thirty years"};
inline constexpr Rule kTimeALayer = kTime.OneALayer();
inline constexpr Rule kElseTrue{.left_out = 1};
inline constexpr Rule kShortText{.entries = kMaxShortTextBytes};

}  // namespace rule

/// How the JSON spelling holds a field.
enum class Spelled : uint8_t {
  kRequired,  ///< always there
  kAlways,    ///< always written; a reader does without
  kOrNull,    ///< null where there is nothing; a reader does without
  kIfSaid,    ///< left out where there is nothing, or what a field that is left out means
};

/// A field of a value, as files have it. Small, since code makes one for each call of a visitor.
struct Field {
  const char* name;  ///< in both spellings
  uint16_t number;   ///< its place in the table of the schema, from 0
  Spelled spelled = Spelled::kAlways;
  const Rule& rule = rule::kAny;
};

}  // namespace sti
