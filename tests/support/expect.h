// Expectations on Result and Status that show the error's message.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/result.h"

namespace sti {

template <typename T>
::testing::AssertionResult Succeeded(const T& result) {
  if (result.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << result.error().message;
}

/// True if `result` is an error of `kind` whose one line holds `words`.
template <typename T>
::testing::AssertionResult FailedWith(const T& result, ErrorKind kind,
                                      const std::string& words = "") {
  if (result.ok()) return ::testing::AssertionFailure() << "it succeeded";
  const Error& error = result.error();
  if (error.kind != kind || error.message.find(words) == std::string::npos ||
      error.message.find('\n') != std::string::npos) {
    return ::testing::AssertionFailure()
           << "kind " << static_cast<int>(error.kind) << ": " << error.message;
  }
  return ::testing::AssertionSuccess();
}

}  // namespace sti
