// An error says why a call failed, in parts that a program can act on: the kind, what is wrong,
// where, and a remedy. The library never throws for an expected failure, never prints and never
// exits: a call that can fail returns Status (nothing but success) or Result<T> (a value on
// success). It does not know which program it is part of either. A tool makes an exit code of the
// kind and adds what to do in the names of its own options (cmd/common/remedies.h).
#pragma once

#include <cassert>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace sti {

/// The kind of a failure. The numbers are free to change: they are no exit codes.
enum class ErrorKind : uint8_t {
  kMachine,     ///< the system refuses: no thread, no space, no such instructions
  kNoMemory,    ///< memory ran out
  kReadFailed,  ///< the device or its file system failed a read
  kUsage,       ///< the caller asked for something that does not exist
  kNoSuchFile,  ///< there is no such file, or none that this user may read
  kDamaged,     ///< a file or an input breaks the rules of its format
  kForeign,     ///< a file is sound, but newer, of a kind that is not read, or of another model
  kInfeasible,  ///< the request cannot be met, or a gate failed
  kCancelled,   ///< the caller's CancelCheck said to stop
};

/// Returns whether the data is at fault: a file that is missing, damaged or foreign, or an input.
/// The machine works and the caller asked for what exists, so trying another way is of no use.
constexpr bool BlamesData(ErrorKind kind) {
  return kind == ErrorKind::kNoSuchFile || kind == ErrorKind::kDamaged ||
         kind == ErrorKind::kForeign;
}

/// Which of the caller's inputs an error is about, where the library was not told a file's name.
enum class Source : uint8_t { kNone, kModel, kPlan, kProfile, kImportance, kExamples, kInput };

/// A remedy names what would help; base/remedy.h lists the values. 0 is none.
enum class Remedy : uint8_t;

/// Says why a call failed. What is read from a file or taken from a command line may hold any
/// bytes, so `place` and `value`, and `what` of an error that blames data, hold no control
/// characters.
struct [[nodiscard]] Error {
  ErrorKind kind = ErrorKind::kMachine;
  std::string what;               ///< "header is damaged"; may end in advice that names no option
  Source source = Source::kNone;  ///< which of the caller's inputs is at fault
  std::string place = {};         ///< where in the input, or a file's name: "a.sti: layer 3"
  Remedy remedy = {};
  std::string value = {};  ///< what the remedy takes, such as "216.0 ms"
  /// The bytes of memory that would be enough, where that is what lacks and it is known.
  std::optional<uint64_t> needed_bytes = {};

  /// Returns the error with `name` in front of its place, which says where that place is.
  [[nodiscard]] Error At(const std::string& name) &&;
  /// Returns the error as one about `input`.
  [[nodiscard]] Error In(Source input) &&;
  /// Returns the error with a remedy, and what that takes.
  [[nodiscard]] Error Fix(Remedy help, const std::string& taken = "") &&;
  /// Returns the error with the remedy kMoreMemory, and how much would be enough.
  [[nodiscard]] Error NeedingMemory(uint64_t bytes) &&;

  /// Returns where and what in one line, "a.sti: header is damaged", without the remedy.
  [[nodiscard]] std::string Message() const;
};

/// Returns the word for an input, "model" for one; empty for none.
const char* NameOf(Source source);

/// Returns `text` made printable (base/utf8.h), and its middle left out if it is very long.
std::string OneLine(std::string text);

inline Error MachineError(std::string what) { return {ErrorKind::kMachine, std::move(what)}; }
inline Error UsageError(std::string what) { return {ErrorKind::kUsage, std::move(what)}; }
inline Error NoSuchFileError(std::string what) {
  return {ErrorKind::kNoSuchFile, OneLine(std::move(what))};
}
/// Returns an error of kind kDamaged.
inline Error DataError(std::string what) { return {ErrorKind::kDamaged, OneLine(std::move(what))}; }
inline Error ForeignError(std::string what) {
  return {ErrorKind::kForeign, OneLine(std::move(what))};
}
inline Error InfeasibleError(std::string what) { return {ErrorKind::kInfeasible, std::move(what)}; }
/// Returns an error of kind kNoMemory, without taking memory.
inline Error NoMemoryError() { return {ErrorKind::kNoMemory, "out of memory"}; }
inline Error CancelledError() { return {ErrorKind::kCancelled, "interrupted"}; }

/// Success, or an Error. Not thread-safe for writing; copies are independent.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose, as in `return`

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  [[nodiscard]] const Error& error() const {
    assert(error_);
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

/// A T, or an Error. `value()` and `*` require ok().
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::move(error)) {}  // NOLINT: implicit on purpose

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  [[nodiscard]] const Error& error() const { return *std::get_if<1>(&state_); }
  [[nodiscard]] T& value() & {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] const T& value() const& {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] T&& value() && {
    assert(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace sti

#define STI_CONCAT_INNER(a, b) a##b
#define STI_CONCAT(a, b) STI_CONCAT_INNER(a, b)

/// Returns the error of `expression` (a Status or Result) from the calling function, if any.
#define STI_RETURN_IF_ERROR(expression)              \
  do {                                               \
    auto sti_status = (expression);                  \
    if (!sti_status.ok()) return sti_status.error(); \
  } while (false)

/// Declares `declaration` from a Result, or returns its error.
#define STI_ASSIGN_OR_RETURN(declaration, expression) \
  STI_ASSIGN_OR_RETURN_IMPL(STI_CONCAT(sti_result_, __LINE__), declaration, expression)
#define STI_ASSIGN_OR_RETURN_IMPL(result, declaration, expression) \
  auto result = (expression);                                      \
  if (!result.ok()) return result.error();                         \
  declaration = std::move(result).value()
