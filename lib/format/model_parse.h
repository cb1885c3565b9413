// The model that an index describes: its shape, network, labels and how inputs are read, each
// number checked against the limits of spec/container.md, and all against one another.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "types/model_info.h"

namespace sti {

namespace fb {
struct ContainerIndex;
}  // namespace fb

/// The part of an index that says what the model is, and not where its parts lie.
struct ParsedModel {
  ModelInfo info;
  std::string unicode;  ///< version the vocabulary's ids were made for
};

/// Reads it of an index that is well-formed and ends at `index_end` of its file. DataError, with
/// `name` in front, for what breaks a rule, and for a network that this library does not compute.
/// Pure.
Result<ParsedModel> ParseModel(const fb::ContainerIndex& source, uint64_t index_end,
                               const std::string& name);

}  // namespace sti
