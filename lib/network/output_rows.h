// The rows that a model's head looks at: they are all that the last layer must give.
#pragma once

#include <cstdint>

#include "types/model_info.h"

namespace sti {

/// The rows of its output that a layer gives: all, or each sequence's first.
enum class OutputRows : uint8_t { kAll, kFirst };

/// Returns the rows that the head of a model wants of the last layer's output.
constexpr OutputRows RowsForHead(PoolerActivation pooler) {
  switch (pooler) {
    case PoolerActivation::kTanh:
    case PoolerActivation::kRelu:
    case PoolerActivation::kGelu:
      return OutputRows::kFirst;
  }
  return OutputRows::kAll;
}

}  // namespace sti
