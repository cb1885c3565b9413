#include "io/streams.h"

#include <algorithm>
#include <utility>

namespace sti {

std::string Streams::Hold(uint32_t wanted) {
  while (count() > std::max(wanted, 1U)) open_.pop_back();
  while (count() < wanted) {
    Result<OpenedSource> another = first().OpenAnew();
    if (!another.ok()) return another.error().what;
    open_.push_back({std::move(*another), 0});
  }
  return {};
}

uint32_t Streams::Begin(std::optional<uint32_t> stream) {
  const auto least = std::ranges::min_element(open_, {}, &Stream::in_flight);
  const auto chosen = stream ? *stream : static_cast<uint32_t>(least - open_.begin());
  ++open_[chosen].in_flight;
  return chosen;
}

}  // namespace sti
