// Where a long text goes as it is written, piece by piece.
#pragma once

#include <functional>
#include <string_view>

namespace sti {

/// Takes the next piece of a text, which is no more there afterwards.
using TextSink = std::function<void(std::string_view)>;

}  // namespace sti
