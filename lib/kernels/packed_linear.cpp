// Products in bfloat16 or 8 bits. A task owns a range of one group's outputs, two panels at a time.
// Each panel is decoded whole, straight into the form that the dot-product instructions take.
//
// The first rows are multiplied while a panel is decoded, the others by the decoded panel.
//
// Activations are packed once for each scaled matrix, by the tasks that multiply by it. Where
// scales belong to the outputs, all terms are packed before the tasks begin, since every task reads
// all of them.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "kernels/linear.h"
#include "kernels/packed.h"
#include "types/plan.h"

namespace sti {
namespace {

constexpr uint32_t kTileWidth = 2 * kPanelWidth;
constexpr uint32_t kPackRows = 16;  // of a packing task
// As many weights of a tile as no code reaches, without memory being taken for them: models as
// trained have one in 10,000.
constexpr size_t kFarWeights = 256;

/// Memory laid out part after part, each aligned to a cache line.
class Carver {
 public:
  explicit Carver(uint8_t* begin) : next_(begin) {}
  template <typename T>
  T* Take(uint64_t count) {
    uint8_t* part = next_;
    next_ += Room<T>(count);
    return reinterpret_cast<T*>(part);
  }
  template <typename T>
  static uint64_t Room(uint64_t count) {
    return RoundUp(count * sizeof(T), 64);
  }

 private:
  uint8_t* next_;
};

/// The input of a term: its first `fused` rows in `leading`, all others in `rows`.
struct PackedInput {
  PackedRows leading;
  PackedRows rows;
  uint32_t fused = 0;
};

uint64_t RoomForRows(uint32_t rows, size_t dwords) {
  return Carver::Room<uint32_t>(dwords) + Carver::Room<float>(rows) + Carver::Room<int32_t>(rows);
}

PackedRows TakeRows(Carver& carver, uint32_t rows, size_t dwords) {
  PackedRows packed;
  packed.data = carver.Take<uint32_t>(dwords);
  packed.scales = carver.Take<float>(rows);
  packed.starts = carver.Take<int32_t>(rows);
  return packed;
}

uint64_t RoomForInput(ComputeType type, uint32_t rows, uint32_t ins) {
  return RoomForRows(kFusedRows, LeadingDwords(type, ins)) +
         RoomForRows(rows, rows * PackedStride(type, ins));
}

PackedInput TakeInput(Carver& carver, ComputeType type, uint32_t rows, uint32_t ins) {
  PackedInput input;
  input.leading = TakeRows(carver, kFusedRows, LeadingDwords(type, ins));
  input.leading.stride = kLeadingStride;
  input.leading.chunk = kLeadingChunk;
  input.rows = TakeRows(carver, rows, rows * PackedStride(type, ins));
  input.rows.stride = PackedStride(type, ins);
  return input;
}

// The packed rows from `row` on.
PackedRows RowsFrom(const PackedRows& packed, uint32_t row) {
  PackedRows from = packed;
  from.data += row * packed.stride;
  from.scales += row;
  from.starts += row;
  return from;
}

RowsRef InputOf(const LinearTerm& term, uint32_t first, uint32_t rows) {
  return {term.in + first * term.in_stride, term.in_stride, rows, term.matrix.ins};
}

const float* InputScales(const LinearTerm& term) {
  const ShardView& shard = *term.shard;
  const bool scaled = shard.scales != nullptr && shard.bits != kFullBits;
  return scaled && !term.matrix.scaled_by_output ? shard.scales + term.matrix.scales : nullptr;
}

class PackedLinear final : public Linear {
 public:
  PackedLinear(ComputeType type, ThreadPool& pool, Activation activation)
      : type_(type), pool_(pool), activation_(activation), meters_(pool.threads()) {}

  void Reserve(const LinearLimits& limits) override;
  void Run(uint32_t rows, std::span<const LinearGroup> groups) override;
  [[nodiscard]] uint64_t bytes() const override { return buffer_.size(); }
  [[nodiscard]] std::string name() const override { return KernelName({Backend::kNative, type_}); }
  void MeterDecoding(bool on) override {
    for (DecodeMeter& meter : meters_) meter.on = on;
  }
  double TakeDecodeUs() override { return DecodeMeter::Take(meters_); }

 private:
  /// What a worker has for itself.
  struct Scratch {
    PackedInput input;
    PackedPanel panels[2];
    PackedOverlay overlay;
    FarWeights far;
    float* weights;  ///< a decoded panel, for what has no fast way
    float* tile;     ///< [rows, kTileWidth]
  };

  void PackTables(std::span<const LinearGroup> groups);
  [[nodiscard]] const PackedTable& TableOf(const ShardView& shard) const;
  [[nodiscard]] uint32_t FusedRowsOf(const LinearTerm& term, uint32_t rows) const;
  void PackAll(uint32_t rows, std::span<const LinearTerm> terms);
  void RunTask(uint32_t rows, const LinearGroup& group, bool shared, uint32_t out, uint32_t end,
               uint32_t worker);
  void PackInput(uint32_t rows, const LinearTerm& term, PackedInput& input) const;
  void DecodePanels(const LinearTerm& term, const PackedInput& input, const OutputTile& tile,
                    uint32_t worker);
  void AddTerm(const LinearTerm& term, const PackedInput& input, const OutputTile& tile,
               uint32_t worker);
  [[nodiscard]] uint32_t TaskWidth(uint32_t outs, size_t groups) const;

  ComputeType type_;
  ThreadPool& pool_;
  Activation activation_;
  AlignedBuffer buffer_;
  std::vector<std::pair<const ShardView*, PackedTable>> tables_;  ///< of each shard once
  std::vector<PackedInput> shared_;                               ///< [terms]
  std::vector<Scratch> scratch_;                                  ///< [threads]
  std::vector<DecodeMeter> meters_;                               ///< [threads]
};

void PackedLinear::Reserve(const LinearLimits& limits) {
  const uint64_t panel = uint64_t{PackedSteps(type_, limits.ins)} * kPanelWidth;
  const uint64_t weights = RoundUp(uint64_t{limits.ins} * kPanelWidth, 64);
  const uint64_t tile = uint64_t{limits.rows} * kTileWidth;
  const uint64_t masks = OverlayMasks(type_, limits.ins);
  const uint64_t own = RoomForInput(type_, limits.rows, limits.ins) +
                       3 * Carver::Room<uint32_t>(panel) + Carver::Room<uint64_t>(masks) +
                       Carver::Room<float>(kTileWidth) + Carver::Room<float>(weights) +
                       Carver::Room<float>(tile);
  buffer_ = AlignedBuffer(own * pool_.threads() +
                          limits.terms * RoomForInput(type_, limits.rows, limits.summed_ins));
  Carver carver(buffer_.data());
  shared_.clear();
  scratch_.clear();
  tables_.reserve(limits.terms);
  for (uint32_t i = 0; i < limits.terms; ++i) {
    shared_.push_back(TakeInput(carver, type_, limits.rows, limits.summed_ins));
  }
  for (uint32_t i = 0; i < pool_.threads(); ++i) {
    Scratch& scratch = scratch_.emplace_back();
    scratch.input = TakeInput(carver, type_, limits.rows, limits.ins);
    auto* units = carver.Take<float>(kTileWidth);
    for (uint32_t p = 0; p < 2; ++p) {
      scratch.panels[p] = {carver.Take<uint32_t>(panel), units + size_t{p} * kPanelWidth};
    }
    scratch.overlay = {carver.Take<uint32_t>(panel), carver.Take<uint64_t>(masks)};
    scratch.far.Reserve(kFarWeights);
    scratch.weights = carver.Take<float>(weights);
    scratch.tile = carver.Take<float>(tile);
  }
}

void PackedLinear::PackTables(std::span<const LinearGroup> groups) {
  tables_.clear();
  for (const LinearGroup& group : groups) {
    for (const LinearTerm& term : group.terms) {
      const auto known = [&](const auto& table) { return table.first == term.shard; };
      if (std::any_of(tables_.begin(), tables_.end(), known)) continue;
      tables_.emplace_back(term.shard, PackCentroids(type_, *term.shard));
    }
  }
}

const PackedTable& PackedLinear::TableOf(const ShardView& shard) const {
  size_t i = 0;
  while (tables_[i].first != &shard) ++i;
  return tables_[i].second;
}

// Metered decoding has its own time, so nothing is fused with it.
uint32_t PackedLinear::FusedRowsOf(const LinearTerm& term, uint32_t rows) const {
  const bool fused = !meters_[0].on && CanFusePacked(type_, *term.shard, term.matrix);
  return fused ? FusedRows(rows) : 0;
}

// The first task of a term packs its leading rows, the others the rest.
void PackedLinear::PackAll(uint32_t rows, std::span<const LinearTerm> terms) {
  const uint32_t blocks = 1 + (rows + kPackRows - 1) / kPackRows;
  for (size_t i = 0; i < terms.size(); ++i) shared_[i].fused = FusedRowsOf(terms[i], rows);
  pool_.ParallelFor(static_cast<uint32_t>(terms.size()) * blocks, [&](uint32_t i, uint32_t) {
    const LinearTerm& term = terms[i / blocks];
    const PackedInput& input = shared_[i / blocks];
    const uint32_t block = i % blocks;
    if (block == 0) return PackRows(type_, InputOf(term, 0, input.fused), nullptr, input.leading);
    const uint32_t row = (block - 1) * kPackRows;
    if (row >= rows - input.fused) return;
    const uint32_t count = std::min(kPackRows, rows - input.fused - row);
    PackRows(type_, InputOf(term, input.fused + row, count), nullptr, RowsFrom(input.rows, row));
  });
}

void PackedLinear::PackInput(uint32_t rows, const LinearTerm& term, PackedInput& input) const {
  const float* scales = InputScales(term);
  input.fused = FusedRowsOf(term, rows);
  PackRows(type_, InputOf(term, 0, input.fused), scales, input.leading);
  PackRows(type_, InputOf(term, input.fused, rows - input.fused), scales, input.rows);
}

// Decodes the tile's panels, and multiplies the leading rows.
void PackedLinear::DecodePanels(const LinearTerm& term, const PackedInput& input,
                                const OutputTile& tile, uint32_t worker) {
  Scratch& scratch = scratch_[worker];
  const PackedTable& table = TableOf(*term.shard);
  const float* start = tile.StartOf(term);
  for (uint32_t column = 0; column < tile.width; column += kPanelWidth) {
    PackedPanel panel = scratch.panels[column / kPanelWidth];
    if (input.fused == tile.rows) panel.data = nullptr;
    const LeadingProduct leading{input.leading, input.fused,
                                 start == nullptr ? nullptr : start + column, tile.data + column,
                                 tile.stride};
    DecodePacked({type_, *term.shard, table, term.matrix, tile.out + column, column,
                  scratch.weights, scratch.overlay, scratch.far},
                 leading, panel);
  }
}

void PackedLinear::AddTerm(const LinearTerm& term, const PackedInput& input, const OutputTile& tile,
                           uint32_t worker) {
  Scratch& scratch = scratch_[worker];
  meters_[worker].Time([&] { DecodePanels(term, input, tile, worker); });
  if (input.fused < tile.rows) {
    MultiplyPacked(type_, {.a = input.rows,
                           .rows = tile.rows - input.fused,
                           .steps = PackedSteps(type_, term.matrix.ins),
                           .panels = {scratch.panels[0].data, scratch.panels[1].data},
                           .units = scratch.panels[0].units,
                           .start = tile.StartOf(term),
                           .c = tile.data + input.fused * tile.stride,
                           .c_stride = tile.stride,
                           .width = tile.width});
  }
  scratch.far.Settle(InputOf(term, 0, tile.rows), tile.data, tile.stride);
}

void PackedLinear::RunTask(uint32_t rows, const LinearGroup& group, bool shared, uint32_t out,
                           uint32_t end, uint32_t worker) {
  Scratch& scratch = scratch_[worker];
  const LinearTerm* packed = nullptr;  // whose input scratch.input holds
  for (; out < end; out += kTileWidth) {
    const uint32_t width = std::min(kTileWidth, end - out);
    const OutputTile tile = OutputTile::Of(group, rows, out, width, scratch.tile);
    for (size_t i = 0; i < group.terms.size(); ++i) {
      const LinearTerm& term = group.terms[i];
      if (!shared && packed != &term) {
        PackInput(rows, term, scratch.input);
        packed = &term;
      }
      AddTerm(term, shared ? shared_[i] : scratch.input, tile, worker);
    }
    tile.Finish(activation_);
  }
}

// As wide as a matrix, so that its input is packed once, unless threads would have too few tasks to
// share out evenly.
uint32_t PackedLinear::TaskWidth(uint32_t outs, size_t groups) const {
  uint32_t width = static_cast<uint32_t>(RoundUp(outs, kTileWidth));
  if (pool_.threads() == 1) return width;
  while (width > kTileWidth && groups * (outs / width) < size_t{8} * pool_.threads()) {
    width = static_cast<uint32_t>(RoundUp(width / 2, kTileWidth));
  }
  return width;
}

void PackedLinear::Run(uint32_t rows, std::span<const LinearGroup> groups) {
  if (groups.empty()) return;
  const bool shared = groups.size() == 1 && groups[0].terms[0].matrix.scaled_by_output;
  PackTables(groups);
  if (shared) PackAll(rows, groups[0].terms);
  const uint32_t outs = groups[0].outs;
  const uint32_t task_width = TaskWidth(outs, groups.size());
  const uint32_t tasks = (outs + task_width - 1) / task_width;
  pool_.ParallelFor(
      static_cast<uint32_t>(groups.size()) * tasks, [&](uint32_t index, uint32_t worker) {
        const uint32_t out = index % tasks * task_width;
        RunTask(rows, groups[index / tasks], shared, out, std::min(outs, out + task_width), worker);
      });
}

}  // namespace

std::unique_ptr<Linear> MakePackedLinear(ComputeType type, ThreadPool& pool,
                                         Activation activation) {
  return std::make_unique<PackedLinear>(type, pool, activation);
}

}  // namespace sti
