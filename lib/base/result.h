// Result: how every fallible call of the library answers.
//
// The library never throws for an expected failure, never prints and never exits. A call that can
// fail returns Status (nothing but success) or Result<T> (a value on success). The error carries
// the class that decides a tool's exit code and one line for a person: what, where, what to do.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace sti {

/// Why a call failed. The values are the exit codes of the tools (cli: "Exit codes").
enum class ErrorKind : int {
  kMachine = 1,     ///< the machine failed us: IO error, no memory
  kUsage = 2,       ///< the caller asked for something that does not exist
  kData = 3,        ///< a file or input is damaged, of another version, or does not belong
  kInfeasible = 4,  ///< the request cannot be met, or a gate failed
};

struct Error {
  ErrorKind kind = ErrorKind::kMachine;
  std::string message;
};

/// `message` with `?` for each control character, and its middle left out if it is very long.
std::string OneLine(std::string message);

inline Error MachineError(std::string message) { return {ErrorKind::kMachine, std::move(message)}; }
inline Error UsageError(std::string message) { return {ErrorKind::kUsage, std::move(message)}; }
inline Error DataError(std::string message) {
  // It may quote a file, which may hold anything.
  return {ErrorKind::kData, OneLine(std::move(message))};
}
inline Error InfeasibleError(std::string message) {
  return {ErrorKind::kInfeasible, std::move(message)};
}

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
