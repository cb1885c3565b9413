#include "plan/memory.h"

#include <algorithm>
#include <limits>

namespace sti {
namespace {

constexpr uint64_t kUnknownProcessBytes = uint64_t{8} << 20;
constexpr uint64_t kPanelColumns = 64;

}  // namespace

uint64_t AddSaturated(uint64_t a, uint64_t b) {
  return a > std::numeric_limits<uint64_t>::max() - b ? std::numeric_limits<uint64_t>::max()
                                                      : a + b;
}

uint64_t BaseBytes(const PlanInput& input, uint32_t length, uint32_t width) {
  const ModelShape& shape = input.info.shape;
  const uint64_t row_floats = uint64_t{3} * width * shape.head_dim() + uint64_t{2} * shape.hidden +
                              uint64_t{width} * shape.slice_ffn();
  const uint64_t panel_floats = kPanelColumns * shape.hidden;
  const uint64_t threads = std::max<uint64_t>(1, std::min(input.profile.threads, 4096u));
  // Tokens, rows and threads are each below 2^24 or so: no overflow.
  const uint64_t working =
      (std::min<uint64_t>(length, 1u << 20) * row_floats + threads * panel_floats) * sizeof(float);
  const uint64_t process =
      input.profile.process_bytes != 0 ? input.profile.process_bytes : kUnknownProcessBytes;
  return AddSaturated(AddSaturated(process, input.resident_bytes), working);
}

std::optional<uint64_t> ShardMemory(const PlanInput& input, const PlanRequest& request,
                                    uint32_t length, uint32_t width) {
  if (!request.memory_bytes) return std::nullopt;
  const uint64_t base = BaseBytes(input, length, width);
  return *request.memory_bytes > base ? *request.memory_bytes - base : 0;
}

}  // namespace sti
