// Expectations on Result and Status that show the error's message.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/result.h"

namespace sti {

template <typename T>
::testing::AssertionResult Succeeded(const T& result) {
  if (result.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << result.error().Message();
}

/// Returns success if `result` is an error of `kind` whose one line holds `words`, and whose remedy
/// is `remedy` where one is given.
template <typename T>
::testing::AssertionResult FailedWith(const T& result, ErrorKind kind,
                                      const std::string& words = "",
                                      std::optional<Remedy> remedy = std::nullopt) {
  if (result.ok()) return ::testing::AssertionFailure() << "it succeeded";
  const Error& error = result.error();
  const std::string message = error.Message();
  if (error.kind != kind || message.find(words) == std::string::npos ||
      message.find('\n') != std::string::npos || error.remedy != remedy.value_or(error.remedy)) {
    return ::testing::AssertionFailure() << "kind " << static_cast<int>(error.kind) << ", remedy "
                                         << static_cast<int>(error.remedy) << ": " << message;
  }
  return ::testing::AssertionSuccess();
}

/// Returns success if `result` is an error that blames the data, whose one line holds `words`.
/// Where any byte may be changed, a file may look damaged or, by its first bytes, like one of
/// another format.
template <typename T>
::testing::AssertionResult Refused(const T& result, const std::string& words = "") {
  if (result.ok() || BlamesData(result.error().kind)) {
    return FailedWith(result, result.ok() ? ErrorKind::kDamaged : result.error().kind, words);
  }
  return FailedWith(result, ErrorKind::kDamaged, words);
}

}  // namespace sti
