// Decoding fused with the product. A task owns one or two panels of outputs. It decodes a stretch
// of their inputs into a buffer that stays in the first-level cache, multiplies all rows by it, and
// goes on; decoded weights never reach memory. Where the CPU can, the first rows are multiplied
// while decoding. Tasks share nothing that is written. Many rows are computed block by block, each
// by all tasks, since a task reads all inputs of its rows, and these have to stay in the
// second-level cache from one task to the next.
#include <algorithm>
#include <vector>

#include "base/aligned_buffer.h"
#include "kernels/cpu/linear_parts.h"
#include "kernels/decode.h"
#include "kernels/fp32/fused.h"
#include "kernels/gemm.h"

namespace sti {
namespace {

constexpr uint32_t kStretch = 256;  // inputs decoded at a time: two panels of them take 32 KiB
constexpr uint32_t kStretchWeights = kStretch * kPanelWidth;
constexpr uint64_t kBlockBytes = 1 << 20;  // of the inputs of a block of rows
constexpr uint32_t kBlockRows = 96;        // least of a block: each decodes all weights again

// Returns how many blocks of nearly equal height the rows of these sums, which have the same
// inputs, or inputs of one size, are cut into.
uint32_t BlocksOf(uint32_t rows, const LinearSum& group) {
  uint64_t row_bytes = 0;
  for (const LinearTerm& term : group.terms) row_bytes += term.matrix.ins * sizeof(float);
  const uint64_t wanted = (rows * row_bytes + kBlockBytes - 1) / kBlockBytes;
  return static_cast<uint32_t>(std::clamp<uint64_t>(wanted, 1, std::max(1U, rows / kBlockRows)));
}

// How much memory lies where, in bytes.
struct NativeRoom {
  explicit NativeRoom(const LinearLimits& limits)
      : overlay_ins(std::max(limits.ins, kStretch)),
        tile_floats(uint64_t{limits.rows} * kTileWidth),
        worker(kTilePanels * Carver::Room<float>(kStretchWeights) +
               Carver::Room<float>(overlay_ins * kPanelWidth) +
               Carver::Room<uint16_t>(overlay_ins) + Carver::Room<float>(tile_floats)),
        leading(std::max<uint64_t>(limits.ins, uint64_t{limits.terms} * limits.summed_ins) *
                kFusedRows * sizeof(float)) {}

  uint64_t overlay_ins;
  uint64_t tile_floats;
  uint64_t worker;   // for each thread
  uint64_t leading;  // shared
};

class NativeLinear final : public Linear {
 public:
  NativeLinear(ThreadPool& pool, Activation activation)
      : pool_(pool), activation_(activation), meters_(pool.threads()) {
    scratch_.reserve(pool.threads());
  }

  void Reserve(const LinearLimits& limits) override {
    const NativeRoom room(limits);
    buffer_.Renew(room.worker * pool_.threads());
    leading_buffer_.Renew(room.leading);
    leading_.reserve(std::max(limits.terms, 1U));
    Carver carver(buffer_.data());
    scratch_.clear();
    for (uint32_t i = 0; i < pool_.threads(); ++i) {
      Scratch& scratch = scratch_.emplace_back();
      for (float*& panel : scratch.panels) panel = carver.Take<float>(kStretchWeights);
      scratch.overlay = {carver.Take<float>(room.overlay_ins * kPanelWidth),
                         carver.Take<uint16_t>(room.overlay_ins)};
      // Written once: reading under a mask where no page is takes a hundred times as long.
      std::fill_n(scratch.overlay.values, room.overlay_ins * kPanelWidth, 0.0F);
      scratch.tile = carver.Take<float>(room.tile_floats);
    }
  }
  void Run(uint32_t rows, std::span<const LinearSum> groups) override;
  void Release() override {
    scratch_.clear();
    buffer_ = AlignedBuffer();
    leading_buffer_ = AlignedBuffer();
  }
  void VisitMemory(FunctionRef<void(AlignedBuffer&)> visit) override {
    visit(buffer_);
    visit(leading_buffer_);
  }
  [[nodiscard]] uint64_t bytes() const override { return buffer_.size() + leading_buffer_.size(); }
  [[nodiscard]] Kernel kernel() const override { return KernelFor({Backend::kNative}); }
  void MeterDecoding(bool on) override {
    for (DecodeMeter& meter : meters_) meter.on = on;
  }
  double TakeDecodeUs() override { return DecodeMeter::Take(meters_); }

 private:
  /// The memory that a worker has for itself.
  struct Scratch {
    float* panels[kTilePanels];  ///< decoded stretches
    OutlierOverlay overlay;
    float* tile;  ///< [rows, kTileWidth]
  };

  /// Inputs of terms, and their first rows interleaved.
  struct Leading {
    const LinearTerm* term;
    float* rows;  ///< [ins, kFusedRows]
  };

  void InterleaveLeading(RowRange rows, std::span<const LinearSum> groups);
  [[nodiscard]] const float* LeadingOf(const LinearTerm& term) const;
  void AddTerm(const LinearTerm& term, const OutputTile& tile, uint32_t worker);
  void RunTask(RowRange rows, const LinearSum& group, uint32_t out, uint32_t width,
               uint32_t worker);
  void RunBlock(RowRange rows, std::span<const LinearSum> groups);

  ThreadPool& pool_;
  Activation activation_;
  AlignedBuffer buffer_;
  std::vector<Scratch> scratch_;  ///< [threads]
  AlignedBuffer leading_buffer_;
  std::vector<Leading> leading_;     ///< of each input once
  std::vector<DecodeMeter> meters_;  ///< [threads]
};

// Terms that read the same rows share them. What there is no room for is not fused.
void NativeLinear::InterleaveLeading(RowRange rows, std::span<const LinearSum> groups) {
  leading_.clear();
  if (!CanFuseHere()) return;
  uint64_t used = 0;
  for (const LinearSum& group : groups) {
    for (const LinearTerm& term : group.terms) {
      const uint64_t floats = uint64_t{term.matrix.ins} * kFusedRows;
      const bool room = leading_.size() < leading_.capacity() &&
                        (used + floats) * sizeof(float) <= leading_buffer_.size();
      if (!room || LeadingOf(term) != nullptr) continue;
      leading_.push_back({&term, reinterpret_cast<float*>(leading_buffer_.data()) + used});
      used += floats;
    }
  }
  pool_.ParallelFor(static_cast<uint32_t>(leading_.size()), [&](uint32_t i, uint32_t) {
    const LinearTerm& term = *leading_[i].term;
    InterleaveRows(term.in + rows.first * term.in_stride, term.in_stride, FusedRows(rows.count),
                   term.matrix.ins, leading_[i].rows);
  });
}

const float* NativeLinear::LeadingOf(const LinearTerm& term) const {
  for (const Leading& leading : leading_) {
    const LinearTerm& other = *leading.term;
    if (other.in == term.in && other.in_stride == term.in_stride &&
        other.matrix.ins == term.matrix.ins) {
      return leading.rows;
    }
  }
  return nullptr;
}

// Adds the term's part of the tile's outputs.
void NativeLinear::AddTerm(const LinearTerm& term, const OutputTile& tile, uint32_t worker) {
  const Scratch& scratch = scratch_[worker];
  const uint32_t ins = term.matrix.ins;
  const float* leading = LeadingOf(term);
  const uint32_t panels = (tile.width + kPanelWidth - 1) / kPanelWidth;
  // The last panel decides, the only one that may be narrow. Metered decoding has its own time.
  const PanelStretch last{term.matrix, tile.out + (panels - 1) * kPanelWidth, 0, ins};
  const bool fused = leading != nullptr && !meters_[worker].on && CanFuse(*term.shard, last);
  const uint32_t rows = tile.rows.count;
  const uint32_t first_rows = fused ? FusedRows(rows) : 0;
  // Weights that are kept nowhere need no stretches.
  const uint32_t longest = first_rows == rows ? ins : kStretch;
  for (uint32_t in = 0; in < ins; in += longest) {
    PanelProduct product{.a = term.in + tile.rows.first * term.in_stride + in,
                         .a_stride = term.in_stride,
                         .rows = rows,
                         .ins = std::min(longest, ins - in),
                         .panels = {},
                         .c = tile.data,
                         .c_stride = tile.stride,
                         .width = tile.width,
                         .start = in == 0 ? tile.StartOf(term) : nullptr};
    for (uint32_t p = 0; p < panels; ++p) {
      const PanelStretch stretch{term.matrix, tile.out + p * kPanelWidth, in, product.ins};
      float* decoded = scratch.panels[p];
      product.panels[p] = {decoded, stretch.width()};
      if (fused) {
        const size_t column = size_t{p} * kPanelWidth;
        const bool more_rows = first_rows < product.rows;
        MultiplyDecoding({*term.shard, stretch, scratch.overlay, leading + size_t{in} * kFusedRows,
                          first_rows, product.start == nullptr ? nullptr : product.start + column,
                          product.c + column, product.c_stride, more_rows ? decoded : nullptr});
      } else {
        meters_[worker].Time([&] { DecodePanel(*term.shard, stretch, decoded); });
      }
    }
    product.a += first_rows * product.a_stride;
    product.c += first_rows * product.c_stride;
    product.rows -= first_rows;
    if (product.rows > 0) MultiplyPanels(product);
  }
}

void NativeLinear::RunTask(RowRange rows, const LinearSum& group, uint32_t out, uint32_t width,
                           uint32_t worker) {
  const OutputTile tile = OutputTile::Of(group, rows, out, width, scratch_[worker].tile);
  for (const LinearTerm& term : group.terms) AddTerm(term, tile, worker);
  tile.Finish(activation_);
}

void NativeLinear::Run(uint32_t rows, std::span<const LinearSum> groups) {
  if (groups.empty()) return;
  const uint32_t blocks = BlocksOf(rows, groups[0]);
  RowRange block;
  for (uint32_t left = blocks; left > 0; --left) {
    block.count = (rows - block.first) / left;
    RunBlock(block, groups);
    block.first += block.count;
  }
}

void NativeLinear::RunBlock(RowRange rows, std::span<const LinearSum> groups) {
  InterleaveLeading(rows, groups);
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

uint64_t NativeLinearRoom(const LinearLimits& limits, uint32_t threads) {
  const NativeRoom room(limits);
  return room.worker * threads + room.leading;
}

std::unique_ptr<Linear> MakeNativeLinear(ThreadPool& pool, Activation activation) {
  return std::make_unique<NativeLinear>(pool, activation);
}

}  // namespace sti
