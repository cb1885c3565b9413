// Runs a test once for each instruction set that this machine has.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "kernels/backend.h"

namespace sti::testing {

template <typename F>
void ForEachInstructionSet(const F& test) {
  for (const std::string& name : InstructionSets()) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(LimitInstructionSet(name));
    test();
  }
  LimitInstructionSet("");
}

}  // namespace sti::testing
