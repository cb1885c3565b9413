// Products in bfloat16 or 8 bits. A task owns a tile of one group's outputs, one or two panels.
// They are decoded whole, straight into the form that the dot-product instructions take.
//
// Activations are packed before the tasks begin. The first rows are multiplied while a panel is
// decoded, the others by the decoded panel.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "kernels/cpu/linear_parts.h"
#include "kernels/lowp/activations.h"
#include "kernels/lowp/panels.h"

namespace sti {
namespace {

// As many weights of a tile as no code reaches, without memory being taken for them: models as
// trained have one in 10,000.
constexpr size_t kFarWeights = 256;
constexpr uint32_t kFidelities = 6;  // 2 to 6 bits, and full

// Memory of a worker: numbers of each kind, and bytes of all.
struct PackedRoom {
  PackedRoom(ComputeType type, const LinearLimits& limits)
      : panel(uint64_t{PackedSteps(type, limits.ins)} * kPanelWidth),
        overlay(OverlayDwords(type, limits.ins)),
        weights(RoundUp(uint64_t{limits.ins} * kPanelWidth, 64)),
        tile(uint64_t{limits.rows} * kTileWidth),
        worker(kTilePanels * Carver::Room<uint32_t>(panel) + Carver::Room<uint32_t>(overlay) +
               Carver::Room<float>(kTileWidth) + Carver::Room<float>(weights) +
               Carver::Room<float>(tile)) {}

  uint64_t panel;    // dwords
  uint64_t overlay;  // dwords
  uint64_t weights;  // floats
  uint64_t tile;     // floats
  uint64_t worker;   // bytes
};

class PackedLinear final : public Linear {
 public:
  PackedLinear(ComputeType type, ThreadPool& pool, Activation activation)
      : type_(type),
        pool_(pool),
        activation_(activation),
        activations_(type, pool),
        meters_(pool.threads()) {}

  void Reserve(const LinearLimits& limits) override;
  void Run(uint32_t rows, std::span<const LinearSum> groups) override;
  void Release() override {
    scratch_.clear();
    buffer_ = AlignedBuffer();
    activations_.Release();
  }
  void VisitMemory(FunctionRef<void(AlignedBuffer&)> visit) override {
    visit(buffer_);
    activations_.VisitMemory(visit);
  }
  [[nodiscard]] uint64_t bytes() const override { return buffer_.size() + activations_.bytes(); }
  [[nodiscard]] Kernel kernel() const override { return KernelFor({Backend::kNative, type_}); }
  void MeterDecoding(bool on) override {
    for (DecodeMeter& meter : meters_) meter.on = on;
  }
  double TakeDecodeUs() override { return DecodeMeter::Take(meters_); }

 private:
  /// The memory that a worker has for itself.
  struct Scratch {
    PackedPanel panels[kTilePanels];
    uint32_t* overlay;  ///< zeros
    FarWeights far;
    float* weights;  ///< a decoded panel, for what has no fast way
    float* tile;     ///< [rows, kTileWidth]
  };

  void PackTables(std::span<const LinearSum> groups);
  [[nodiscard]] const PackedTable& TableOf(const ShardView& shard) const;
  void RunGroups(uint32_t rows, std::span<const LinearSum> groups);
  void RunTask(uint32_t rows, const LinearSum& group, uint32_t out, uint32_t width,
               uint32_t worker);
  void DecodePanels(const LinearTerm& term, const PackedInput& input, const OutputTile& tile,
                    uint32_t worker);
  void AddTerm(const LinearTerm& term, const OutputTile& tile, uint32_t worker);
  [[nodiscard]] uint32_t TaskWidth(uint32_t rows, uint32_t outs, size_t groups) const;

  ComputeType type_;
  ThreadPool& pool_;
  Activation activation_;
  PackedActivations activations_;
  AlignedBuffer buffer_;
  std::vector<std::pair<const float*, PackedTable>> tables_;  ///< of each row of centroids once
  std::vector<Scratch> scratch_;                              ///< [threads]
  std::vector<DecodeMeter> meters_;                           ///< [threads]
};

void PackedLinear::Reserve(const LinearLimits& limits) {
  const PackedRoom room(type_, limits);
  activations_.Reserve(limits);
  buffer_.Renew(room.worker * pool_.threads());
  Carver carver(buffer_.data());
  scratch_.clear();
  tables_.reserve(std::max(limits.terms, kFidelities));
  for (uint32_t i = 0; i < pool_.threads(); ++i) {
    Scratch& scratch = scratch_.emplace_back();
    auto* units = carver.Take<float>(kTileWidth);
    for (uint32_t p = 0; p < kTilePanels; ++p) {
      scratch.panels[p] = {carver.Take<uint32_t>(room.panel), units + size_t{p} * kPanelWidth};
    }
    auto* front = carver.Take<uint32_t>(room.overlay);
    std::fill_n(front, room.overlay, 0U);
    scratch.overlay = front + kOverlayFront;
    scratch.far.Reserve(kFarWeights);
    scratch.weights = carver.Take<float>(room.weights);
    scratch.tile = carver.Take<float>(room.tile);
  }
}

// A layer's shards of one fidelity share their centroids; those of full fidelity have none.
void PackedLinear::PackTables(std::span<const LinearSum> groups) {
  tables_.clear();
  for (const LinearSum& group : groups) {
    for (const LinearTerm& term : group.terms) {
      const float* centroids = term.shard->centroids;
      const auto known = [&](const auto& table) { return table.first == centroids; };
      if (std::any_of(tables_.begin(), tables_.end(), known)) continue;
      tables_.emplace_back(centroids, PackCentroids(type_, *term.shard));
    }
  }
}

const PackedTable& PackedLinear::TableOf(const ShardView& shard) const {
  size_t i = 0;
  while (tables_[i].first != shard.centroids) ++i;
  return tables_[i].second;
}

// Decodes the tile's panels, and multiplies the leading rows.
void PackedLinear::DecodePanels(const LinearTerm& term, const PackedInput& input,
                                const OutputTile& tile, uint32_t worker) {
  Scratch& scratch = scratch_[worker];
  PackedPanel panels[kTilePanels] = {scratch.panels[0], scratch.panels[1]};
  if (input.fused == tile.rows.count) {
    for (PackedPanel& panel : panels) panel.data = nullptr;
  }
  DecodePacked({type_, *term.shard, TableOf(*term.shard), term.matrix, tile.out, tile.width,
                scratch.weights, scratch.overlay, scratch.far},
               {input.leading, input.fused, tile.StartOf(term), tile.data, tile.stride}, panels);
}

void PackedLinear::AddTerm(const LinearTerm& term, const OutputTile& tile, uint32_t worker) {
  Scratch& scratch = scratch_[worker];
  const PackedInput& input = activations_.Of(term);
  meters_[worker].Time([&] { DecodePanels(term, input, tile, worker); });
  if (input.fused < tile.rows.count) {
    MultiplyPacked(type_, {.a = input.rows,
                           .rows = tile.rows.count - input.fused,
                           .steps = PackedSteps(type_, term.matrix.ins),
                           .panels = {scratch.panels[0].data, scratch.panels[1].data},
                           .units = scratch.panels[0].units,
                           .start = tile.StartOf(term),
                           .c = tile.data + input.fused * tile.stride,
                           .c_stride = tile.stride,
                           .width = tile.width});
  }
  scratch.far.AddTo({term.in, term.in_stride, tile.rows.count, term.matrix.ins}, tile.data,
                    tile.stride);
}

void PackedLinear::RunTask(uint32_t rows, const LinearSum& group, uint32_t out, uint32_t width,
                           uint32_t worker) {
  const OutputTile tile = OutputTile::Of(group, {0, rows}, out, width, scratch_[worker].tile);
  for (const LinearTerm& term : group.terms) AddTerm(term, tile, worker);
  tile.Finish(activation_);
}

// Two panels use each row's load twice, but for rows that are multiplied while decoding; one panel
// shares out better when tasks are few.
uint32_t PackedLinear::TaskWidth(uint32_t rows, uint32_t outs, size_t groups) const {
  const bool few = groups * (outs / kTileWidth) < size_t{8} * pool_.threads();
  return pool_.threads() > 1 && few && rows <= kFusedRows ? kPanelWidth : kTileWidth;
}

void PackedLinear::RunGroups(uint32_t rows, std::span<const LinearSum> groups) {
  const uint32_t outs = groups[0].outs;
  const uint32_t task_width = TaskWidth(rows, outs, groups.size());
  const uint32_t tasks = (outs + task_width - 1) / task_width;
  pool_.ParallelFor(
      static_cast<uint32_t>(groups.size()) * tasks, [&](uint32_t index, uint32_t worker) {
        const uint32_t out = index % tasks * task_width;
        RunTask(rows, groups[index / tasks], out, std::min(task_width, outs - out), worker);
      });
}

void PackedLinear::Run(uint32_t rows, std::span<const LinearSum> groups) {
  PackTables(groups);
  const bool fusing = !meters_[0].on;  // metered decoding has its own time
  while (!groups.empty()) {
    const size_t count = activations_.Pack(rows, groups, fusing);
    RunGroups(rows, groups.first(count));
    groups = groups.subspan(count);
  }
}

}  // namespace

uint64_t PackedLinearRoom(ComputeType type, const LinearLimits& limits, uint32_t threads) {
  return PackedRoom(type, limits).worker * threads + PackedActivations::RoomFor(type, limits);
}

std::unique_ptr<Linear> MakePackedLinear(ComputeType type, ThreadPool& pool,
                                         Activation activation) {
  return std::make_unique<PackedLinear>(type, pool, activation);
}

}  // namespace sti
