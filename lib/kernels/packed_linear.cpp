// Products in bfloat16 or 8 bits. A task owns a range of one group's outputs, two panels at a time.
// Each panel is decoded whole, straight into the form that the dot-product instructions take.
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

uint64_t RoomForRows(uint32_t rows, size_t stride) {
  return Carver::Room<uint32_t>(rows * stride) + Carver::Room<float>(rows) +
         Carver::Room<int32_t>(rows);
}

PackedRows TakeRows(Carver& carver, uint32_t rows, size_t stride) {
  PackedRows packed;
  packed.data = carver.Take<uint32_t>(rows * stride);
  packed.stride = stride;
  packed.scales = carver.Take<float>(rows);
  packed.starts = carver.Take<int32_t>(rows);
  return packed;
}

// The packed rows from `row` on.
PackedRows RowsFrom(const PackedRows& packed, uint32_t row) {
  return {packed.data + row * packed.stride, packed.stride, packed.scales + row,
          packed.starts + row};
}

RowsRef InputOf(const LinearTerm& term, uint32_t rows) {
  return {term.in, term.in_stride, rows, term.matrix.ins};
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
    PackedRows rows;
    PackedPanel panels[2];
    float* weights;  ///< a decoded panel, for what has no fast way
    float* tile;     ///< [rows, kTileWidth]
  };

  void PackTables(std::span<const LinearGroup> groups);
  [[nodiscard]] const PackedTable& TableOf(const ShardView& shard) const;
  void PackAll(uint32_t rows, std::span<const LinearTerm> terms);
  void RunTask(uint32_t rows, const LinearGroup& group, bool shared, uint32_t out, uint32_t end,
               uint32_t worker);
  void AddTerm(const LinearTerm& term, const PackedRows& packed, const OutputTile& tile,
               uint32_t worker);
  [[nodiscard]] uint32_t TaskWidth(uint32_t outs, size_t groups) const;

  ComputeType type_;
  ThreadPool& pool_;
  Activation activation_;
  AlignedBuffer buffer_;
  std::vector<std::pair<const ShardView*, PackedTable>> tables_;  ///< of each shard once
  std::vector<PackedRows> shared_;                                ///< [terms]
  std::vector<Scratch> scratch_;                                  ///< [threads]
  std::vector<DecodeMeter> meters_;                               ///< [threads]
};

void PackedLinear::Reserve(const LinearLimits& limits) {
  const size_t stride = PackedStride(type_, limits.ins);
  const size_t shared_stride = PackedStride(type_, limits.summed_ins);
  const uint64_t panel = uint64_t{PackedSteps(type_, limits.ins)} * kPanelWidth;
  const uint64_t weights = RoundUp(uint64_t{limits.ins} * kPanelWidth, 64);
  const uint64_t tile = uint64_t{limits.rows} * kTileWidth;
  const uint64_t own = RoomForRows(limits.rows, stride) + 2 * Carver::Room<uint32_t>(panel) +
                       Carver::Room<float>(kTileWidth) + Carver::Room<float>(weights) +
                       Carver::Room<float>(tile);
  buffer_ =
      AlignedBuffer(own * pool_.threads() + limits.terms * RoomForRows(limits.rows, shared_stride));
  Carver carver(buffer_.data());
  shared_.clear();
  scratch_.clear();
  tables_.reserve(limits.terms);
  for (uint32_t i = 0; i < limits.terms; ++i) {
    shared_.push_back(TakeRows(carver, limits.rows, shared_stride));
  }
  for (uint32_t i = 0; i < pool_.threads(); ++i) {
    Scratch scratch;
    scratch.rows = TakeRows(carver, limits.rows, stride);
    auto* units = carver.Take<float>(kTileWidth);
    for (uint32_t p = 0; p < 2; ++p) {
      scratch.panels[p] = {carver.Take<uint32_t>(panel), units + size_t{p} * kPanelWidth};
    }
    scratch.weights = carver.Take<float>(weights);
    scratch.tile = carver.Take<float>(tile);
    scratch_.push_back(scratch);
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

void PackedLinear::PackAll(uint32_t rows, std::span<const LinearTerm> terms) {
  const uint32_t blocks = (rows + kPackRows - 1) / kPackRows;
  pool_.ParallelFor(static_cast<uint32_t>(terms.size()) * blocks, [&](uint32_t i, uint32_t) {
    const uint32_t row = i % blocks * kPackRows;
    const LinearTerm& term = terms[i / blocks];
    RowsRef in = InputOf(term, std::min(kPackRows, rows - row));
    in.data += row * in.stride;
    PackRows(type_, in, nullptr, RowsFrom(shared_[i / blocks], row));
  });
}

void PackedLinear::AddTerm(const LinearTerm& term, const PackedRows& packed, const OutputTile& tile,
                           uint32_t worker) {
  Scratch& scratch = scratch_[worker];
  const PackedTable& table = TableOf(*term.shard);
  const uint32_t panels = (tile.width + kPanelWidth - 1) / kPanelWidth;
  meters_[worker].Time([&] {
    for (uint32_t p = 0; p < panels; ++p) {
      const FarWeights far{InputOf(term, tile.rows), tile.data + size_t{p} * kPanelWidth,
                           tile.stride};
      DecodePacked(type_, *term.shard, table, term.matrix, tile.out + p * kPanelWidth, far,
                   scratch.weights, scratch.panels[p]);
    }
  });
  MultiplyPacked(type_, {.a = packed,
                         .rows = tile.rows,
                         .steps = PackedSteps(type_, term.matrix.ins),
                         .panels = {scratch.panels[0].data, scratch.panels[1].data},
                         .units = scratch.panels[0].units,
                         .c = tile.data,
                         .c_stride = tile.stride,
                         .width = tile.width});
}

void PackedLinear::RunTask(uint32_t rows, const LinearGroup& group, bool shared, uint32_t out,
                           uint32_t end, uint32_t worker) {
  Scratch& scratch = scratch_[worker];
  const LinearTerm* packed = nullptr;  // whose input scratch.rows holds
  for (; out < end; out += kTileWidth) {
    const uint32_t width = std::min(kTileWidth, end - out);
    const OutputTile tile = OutputTile::Begin(group, rows, out, width, scratch.tile);
    for (size_t i = 0; i < group.terms.size(); ++i) {
      const LinearTerm& term = group.terms[i];
      if (!shared && packed != &term) {
        PackRows(type_, InputOf(term, rows), InputScales(term), scratch.rows);
        packed = &term;
      }
      AddTerm(term, shared ? shared_[i] : scratch.rows, tile, worker);
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
