#include "flash_faults.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/aligned_buffer.h"
#include "common/parse.h"

namespace sti {
namespace {

constexpr std::string_view kForm =
    "a fault is KIND@OFFSET+LENGTH with a KIND of eio, short, torn-once, torn or delay=TIME";
constexpr std::array<std::pair<std::string_view, FlashFaultKind>, 4> kKinds{{
    {"eio", FlashFaultKind::kError},
    {"short", FlashFaultKind::kShort},
    {"torn-once", FlashFaultKind::kTornOnce},
    {"torn", FlashFaultKind::kTorn},
}};

Status ParseKind(std::string_view text, FlashFault& fault) {
  constexpr std::string_view kDelay = "delay=";
  if (text.starts_with(kDelay)) {
    STI_ASSIGN_OR_RETURN(const double delay_us, ParseTimeUs(text.substr(kDelay.size())));
    fault.kind = FlashFaultKind::kDelay;
    fault.delay_ns = static_cast<int64_t>(delay_us * 1e3);
    return {};
  }
  for (const auto& [name, kind] : kKinds) {
    if (text != name) continue;
    fault.kind = kind;
    return {};
  }
  return UsageError(std::string(text) + ": no such fault; " + std::string(kForm));
}

Result<FlashFault> ParseFault(std::string_view text) {
  const size_t at = text.find('@');
  const size_t plus = text.find('+', at == std::string_view::npos ? text.size() : at);
  if (plus == std::string_view::npos) {
    return UsageError(std::string(text) + ": " + std::string(kForm));
  }
  FlashFault fault;
  STI_RETURN_IF_ERROR(ParseKind(text.substr(0, at), fault));
  STI_ASSIGN_OR_RETURN(fault.offset, ParseSize(text.substr(at + 1, plus - at - 1)));
  STI_ASSIGN_OR_RETURN(fault.length, ParseSize(text.substr(plus + 1)));
  return fault;
}

bool Touches(const FlashFault& fault, uint64_t offset, uint64_t bytes) {
  return fault.offset < offset + bytes && offset < fault.offset + fault.length;
}

}  // namespace

Result<std::vector<FlashFault>> ParseFlashFaults(std::string_view text) {
  std::vector<FlashFault> faults;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    STI_ASSIGN_OR_RETURN(const FlashFault fault, ParseFault(text.substr(0, comma)));
    faults.push_back(fault);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return faults;
}

FlashFaults::Outcome FlashFaults::Strike(uint64_t offset, uint64_t bytes) {
  Outcome outcome{.error = false, .bytes = bytes, .delay_ns = 0, .torn = {}};
  for (FlashFault& fault : faults_) {
    if (fault.spent || !Touches(fault, offset, bytes)) continue;
    switch (fault.kind) {
      case FlashFaultKind::kError:
        outcome.error = true;
        break;
      case FlashFaultKind::kShort:
        // Whole blocks, as of a device that was interrupted, and at least one, so that asking
        // again ends.
        outcome.bytes =
            std::min(outcome.bytes, std::max<uint64_t>(bytes / 2 / kBlockBytes, 1) * kBlockBytes);
        break;
      case FlashFaultKind::kTornOnce:
        fault.spent = true;
        [[fallthrough]];
      case FlashFaultKind::kTorn:
        outcome.torn.push_back(fault);
        break;
      case FlashFaultKind::kDelay:
        outcome.delay_ns += fault.delay_ns;
        break;
    }
  }
  return outcome;
}

void Tear(const FlashFault& fault, uint64_t offset, std::span<char> bytes) {
  const uint64_t begin = std::max(fault.offset, offset);
  const uint64_t end = std::min(fault.offset + fault.length, offset + bytes.size());
  for (uint64_t at = begin; at < end; ++at) {
    char& byte = bytes[at - offset];
    byte = static_cast<char>(~byte);
  }
}

}  // namespace sti
