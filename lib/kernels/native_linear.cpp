// Decoding fused with the product. A task owns one or two panels of outputs. It decodes a stretch
// of their inputs into a buffer that stays in the first-level cache, multiplies all rows by it, and
// goes on; decoded weights never reach memory. Tasks share nothing that is written.
#include <algorithm>
#include <vector>

#include "base/aligned_buffer.h"
#include "kernels/gemm.h"
#include "kernels/linear.h"

namespace sti {
namespace {

constexpr uint32_t kStretch = 256;  // inputs decoded at a time: two panels of them take 32 KiB
constexpr uint32_t kStretchWeights = kStretch * kPanelWidth;
constexpr uint32_t kTileWidth = 2 * kPanelWidth;

class NativeLinear final : public Linear {
 public:
  NativeLinear(ThreadPool& pool, Activation activation)
      : pool_(pool), activation_(activation), meters_(pool.threads()) {}

  void Reserve(const LinearLimits& limits) override {
    // Beside the decoded stretch, a tile of outputs that waits to be transposed.
    floats_ = 2 * kStretchWeights + uint64_t{limits.rows} * kTileWidth;
    floats_ = RoundUp(floats_, kBlockBytes / sizeof(float));
    buffer_ = AlignedBuffer(floats_ * sizeof(float) * pool_.threads());
  }
  void Run(uint32_t rows, std::span<const LinearGroup> groups) override;
  [[nodiscard]] uint64_t bytes() const override { return buffer_.size(); }
  [[nodiscard]] std::string name() const override { return KernelName({Backend::kNative}); }
  void MeterDecoding(bool on) override {
    for (DecodeMeter& meter : meters_) meter.on = on;
  }
  double TakeDecodeUs() override { return DecodeMeter::Take(meters_); }

 private:
  void RunTask(uint32_t rows, const LinearGroup& group, uint32_t out, uint32_t width,
               uint32_t worker);

  ThreadPool& pool_;
  Activation activation_;
  uint64_t floats_ = 0;  ///< of scratch for one worker
  AlignedBuffer buffer_;
  std::vector<DecodeMeter> meters_;  ///< [threads]
};

// c [rows, width] += the term's outputs [out, out + width).
void AddTerm(const LinearTerm& term, uint32_t rows, uint32_t out, uint32_t width, float* c,
             size_t c_stride, float* scratch, DecodeMeter& meter) {
  const uint32_t ins = term.matrix.ins;
  const uint32_t panels = (width + kPanelWidth - 1) / kPanelWidth;
  for (uint32_t in = 0; in < ins; in += kStretch) {
    PanelProduct product{.a = term.in + in,
                         .a_stride = term.in_stride,
                         .rows = rows,
                         .ins = std::min(kStretch, ins - in),
                         .panels = {},
                         .c = c,
                         .c_stride = c_stride,
                         .width = width,
                         .accumulate = true};
    for (uint32_t p = 0; p < panels; ++p) {
      const uint32_t skipped = p * kPanelWidth;
      const PanelStretch stretch{term.matrix, out + skipped, in, product.ins};
      float* decoded = scratch + p * kStretchWeights;
      meter.Time([&] { DecodePanel(*term.shard, stretch, decoded); });
      product.panels[p] = {decoded, stretch.width()};
    }
    MultiplyPanels(product);
  }
}

void NativeLinear::RunTask(uint32_t rows, const LinearGroup& group, uint32_t out, uint32_t width,
                           uint32_t worker) {
  float* scratch = reinterpret_cast<float*>(buffer_.data()) + worker * floats_;
  const OutputTile tile = OutputTile::Begin(group, rows, out, width, scratch + 2 * kStretchWeights);
  for (const LinearTerm& term : group.terms) {
    AddTerm(term, rows, out, width, tile.data, tile.stride, scratch, meters_[worker]);
  }
  tile.Finish(activation_);
}

void NativeLinear::Run(uint32_t rows, std::span<const LinearGroup> groups) {
  if (groups.empty()) return;
  const uint32_t outs = groups[0].outs;
  const auto count = static_cast<uint32_t>(groups.size());
  // Two panels a task use each broadcast twice; one panel shares out better when tasks are few.
  uint32_t task_width = kTileWidth;
  if (pool_.threads() > 1 && count * (outs / kTileWidth) < 4 * pool_.threads()) {
    task_width = kPanelWidth;
  }
  const uint32_t tasks = (outs + task_width - 1) / task_width;
  pool_.ParallelFor(count * tasks, [&](uint32_t index, uint32_t worker) {
    const uint32_t out = index % tasks * task_width;
    RunTask(rows, groups[index / tasks], out, std::min(task_width, outs - out), worker);
  });
}

}  // namespace

std::unique_ptr<Linear> MakeNativeLinear(ThreadPool& pool, Activation activation) {
  return std::make_unique<NativeLinear>(pool, activation);
}

}  // namespace sti
