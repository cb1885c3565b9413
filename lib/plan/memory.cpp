#include "plan/memory.h"

#include <algorithm>
#include <limits>

namespace sti {
namespace {

constexpr uint64_t kUnknownProcessBytes = uint64_t{8} << 20;
constexpr uint64_t kBlock = 4096;                // of direct reads
constexpr uint64_t kPanel = 16;                  // outputs
constexpr uint64_t kPanelFloats = 256 * kPanel;  // one decoded stretch of a panel
constexpr uint64_t kTileFloats = 32;             // of a row of outputs that wait to be transposed
constexpr uint64_t kQueries = 48;                // whose scores a worker holds
constexpr uint64_t kPackedQueries = 12;  // likewise, where keys and values are packed beside
constexpr uint32_t kMostTokens = 1u << 20;
constexpr uint32_t kMostThreads = 4096;

constexpr uint64_t kLeadingRows = 16;  // whose numbers lie side by side
constexpr uint64_t kLayerInputs = 4;   // packed at once, where scales belong to the inputs

// Of a matrix whose hidden dimension is its outputs.
uint64_t SummedInputs(const ModelShape& shape) {
  return std::max(shape.head_dim(), shape.slice_ffn());
}

uint64_t MostInputs(const ModelShape& shape) {
  return std::max<uint64_t>(shape.hidden, SummedInputs(shape));
}

uint64_t LeadingBytes(const ModelShape& shape, uint64_t width) {
  return std::max(MostInputs(shape), width * SummedInputs(shape)) * kLeadingRows * sizeof(float);
}

// Of a panel's outliers, with 16 bits an input that tell which weights they are.
uint64_t OverlayFloats(const ModelShape& shape) {
  return std::max<uint64_t>(MostInputs(shape), 256) * kPanel * 33 / 32;
}

// A row ends with a vector of slack, and has a scale and a sum.
uint64_t PackedRowBytes(uint64_t ins, ComputeType compute) {
  constexpr uint64_t kSlack = 128;
  return ins * (compute == ComputeType::kInt8 ? 1 : 2) + kSlack;
}

// Rows that are multiplied while decoding lie in chunks of 128 dwords, 144 apart; the others
// follow.
uint64_t PackedInputBytes(uint64_t tokens, uint64_t ins, ComputeType compute) {
  constexpr uint64_t kChunkBytes = 144 * 4;
  const uint64_t chunk_ins = compute == ComputeType::kInt8 ? 512 : 256;
  const uint64_t leading = (ins + chunk_ins - 1) / chunk_ins * kLeadingRows * kChunkBytes;
  const uint64_t rest = std::max(tokens, kLeadingRows) - kLeadingRows;
  return leading + rest * PackedRowBytes(ins, compute);
}

uint64_t PackedBytes(const ModelShape& shape, uint64_t workers, uint64_t tokens, uint64_t width,
                     ComputeType compute) {
  const uint64_t summed = SummedInputs(shape);
  const uint64_t ins = MostInputs(shape);
  // Two panels, their overlays, and a panel in fp32. Slack covers what lies in front of overlays.
  const uint64_t panels = kPanel * (4 * PackedRowBytes(ins, compute) + ins * sizeof(float));
  const uint64_t inputs = std::max(width * PackedInputBytes(tokens, summed, compute),
                                   kLayerInputs * PackedInputBytes(tokens, ins, compute));
  return inputs + workers * panels;
}

// Of one worker: scores, and in fewer bits than 32 a head's keys and values in pairs, and queries.
uint64_t AttentionFloats(const ModelShape& shape, uint64_t tokens, ComputeType compute) {
  if (compute == ComputeType::kFp32) return tokens * kQueries;
  const uint64_t dim = shape.head_dim();
  return tokens * dim + kPackedQueries * (dim / 2 + tokens);
}

}  // namespace

uint64_t AddSaturated(uint64_t a, uint64_t b) {
  return a > std::numeric_limits<uint64_t>::max() - b ? std::numeric_limits<uint64_t>::max()
                                                      : a + b;
}

// Tokens, rows and threads are each below 2^24 or so: no overflow.
uint64_t WorkingBytes(const ModelShape& shape, uint32_t threads, uint32_t length, uint32_t width,
                      ComputeType compute) {
  const uint64_t tokens = std::min(length, kMostTokens);
  const uint64_t inner =
      std::max(uint64_t{3} * width * shape.head_dim(), uint64_t{width} * shape.slice_ffn());
  const uint64_t token_bytes = (inner + uint64_t{2} * shape.hidden) * sizeof(float);
  const uint64_t embedding_bytes =
      kBlock + uint64_t{2} * shape.hidden;  // rows have 8 bits a number
  const uint64_t weight_floats =
      compute == ComputeType::kFp32 ? 2 * kPanelFloats + OverlayFloats(shape) : 0;
  const uint64_t scratch_floats =
      weight_floats + tokens * kTileFloats + AttentionFloats(shape, tokens, compute);
  const uint64_t workers = std::clamp(threads, 1u, kMostThreads);
  // The head has the pooler's output, and a row of its weights for each worker.
  const uint64_t head_floats = (1 + workers) * shape.hidden;
  const uint64_t plain = tokens * (token_bytes + embedding_bytes) +
                         (workers * scratch_floats + head_floats) * sizeof(float);
  return compute == ComputeType::kFp32
             ? plain + LeadingBytes(shape, width)
             : plain + PackedBytes(shape, workers, tokens, width, compute);
}

uint64_t BaseBytes(const PlanInput& input, uint32_t length, uint32_t width) {
  const ComputeType compute = input.profile.kernel.type.value_or(ComputeType::kFp32);
  const uint64_t working =
      WorkingBytes(input.info.shape, input.profile.threads, length, width, compute);
  const uint64_t process =
      input.profile.process_bytes != 0 ? input.profile.process_bytes : kUnknownProcessBytes;
  return AddSaturated(AddSaturated(process, input.resident_bytes), working);
}

uint64_t BaseBytes(const PlanInput& input, const Plan& plan) {
  uint32_t length = plan.length;
  uint32_t width = plan.width;
  for (const Plan& variant : plan.variants) {
    length = std::max(length, variant.length);
    width = std::max(width, variant.width);
  }
  return BaseBytes(input, length, width);
}

std::optional<uint64_t> ShardMemory(const PlanInput& input, const PlanRequest& request,
                                    uint32_t length, uint32_t width) {
  if (!request.memory_bytes) return std::nullopt;
  const uint64_t base = BaseBytes(input, length, width);
  return *request.memory_bytes > base ? *request.memory_bytes - base : 0;
}

}  // namespace sti
