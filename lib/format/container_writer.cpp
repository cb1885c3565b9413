#include "format/container_writer.h"

#include <set>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "base/digest.h"
#include "format/container_header.h"
#include "format/resident_codec.h"
#include "format/row_codec.h"
#include "network/tensors.h"
#include "shard/weight_order.h"
#include "types/bits.h"

namespace sti {
namespace {

constexpr uint64_t kResidentAlignment = 64;
constexpr uint64_t kRowChunkBytes = uint64_t{1} << 20;

// The index as large as it will be: every part that is going to be written is counted.
uint64_t FinalIndexBytes(ContainerIndex index, const PartSelection& selection) {
  for (size_t i = 0; i < index.shards.size(); ++i) {
    for (const PartKind part : kPartKinds) {
      if (selection[i].Has(part)) index.shards[i].parts[part].length = 1;
    }
  }
  return EncodeContainerIndex(index).size();
}

}  // namespace

Result<ContainerWriter> ContainerWriter::Create(const std::string& path, ContainerIndex index,
                                                const PartSelection& selection) {
  ContainerWriter writer;
  if (!path.empty()) {
    STI_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
    writer.file_.push_back(std::move(file));
  }
  const ModelShape& shape = index.info.shape;
  index.shards.assign(size_t{shape.layers} * shape.width, {});
  index.resident.clear();
  for (const ResidentKind kind : ResidentKinds(index.info)) {
    const auto place = static_cast<uint32_t>(index.resident.size());
    index.resident.push_back({.layer = kind == ResidentKind::kLayer ? place - 1 : 0, .kind = kind});
  }
  index.positions.kind = RowTableKind::kPosition;
  index.centroids.assign(shape.layers, {});
  for (uint32_t layer = 0; layer < shape.layers; ++layer) {
    if (index.stage && !index.stage->HasLayer(layer)) continue;
    Codebook& codebook = index.centroids[layer];
    if (index.codebook == CodebookKind::kScaledTree) {
      codebook.scales.assign(CountAt(Home::kShard) * shape.hidden, 0.0F);
    }
    for (uint32_t bits = kLeastBits; bits <= kMostBits; ++bits) {
      codebook.centroids[bits].assign(size_t{1} << bits, 0.0F);
    }
  }
  writer.index_ = std::move(index);
  writer.index_room_ = FinalIndexBytes(writer.index_, selection);
  writer.end_ = RoundUp(kContainerHeaderBytes + writer.index_room_, kBlockBytes);
  return writer;
}

Status ContainerWriter::Put(uint64_t offset, std::span<const uint8_t> bytes) {
  if (file_.empty()) return {};
  return file_[0].WriteAt(offset, bytes);
}

Result<PartLocation> ContainerWriter::Append(std::span<const uint8_t> bytes, uint64_t alignment) {
  PartLocation location{RoundUp(end_, alignment), bytes.size(), Checksum(bytes)};
  STI_RETURN_IF_ERROR(Put(location.offset, bytes));
  end_ = location.offset + location.length;
  return location;
}

Status ContainerWriter::AddResident(ResidentKind kind, uint32_t layer, DataType type,
                                    std::span<const uint8_t> raw) {
  StoredPart stored = CompressPart(raw);
  STI_ASSIGN_OR_RETURN(PartLocation part, Append(stored.bytes, kResidentAlignment));
  const size_t at = ResidentPlace(index_.info, kind, layer);
  kind = ResidentKinds(index_.info)[at];
  index_.resident[at] = {part, raw.size(), layer, kind, type, stored.compression};
  return {};
}

Status ContainerWriter::AddRows(RowTableKind kind, DataType type, RowCoding coding,
                                const RowSource& source) {
  const ModelShape& shape = index_.info.shape;
  RowTable& table = kind == RowTableKind::kWord ? index_.words : index_.positions;
  table.kind = kind;
  table.type = type;
  table.coding = coding;
  table.rows = kind == RowTableKind::kWord ? shape.vocabulary : shape.max_positions;
  table.columns = shape.embedding_width();
  table.row_bytes = RowBytes(shape.embedding_width(), type, coding);
  table.offset = RoundUp(end_, kBlockBytes);
  uint64_t chunk_rows = kRowChunkBytes / table.row_bytes + 1;
  std::vector<uint8_t> chunk;
  for (uint32_t row = 0; row < table.rows;) {
    uint64_t first = row;
    chunk.assign(std::min<uint64_t>(chunk_rows, table.rows - row) * table.row_bytes, 0);
    for (uint8_t* at = chunk.data(); at < chunk.data() + chunk.size(); at += table.row_bytes) {
      EncodeRow(table, source(row), {at, table.row_bytes});
      SealRow(row++, {at, table.row_bytes});
    }
    STI_RETURN_IF_ERROR(Put(table.offset + first * table.row_bytes, chunk));
  }
  end_ = table.offset + uint64_t{table.rows} * table.row_bytes;
  return {};
}

Status ContainerWriter::AppendShardPart(uint32_t layer, uint32_t slice, PartKind part,
                                        const EncodedShard& shard, bool opens_extent) {
  if (shard.parts[part].empty()) return {};
  uint64_t alignment = opens_extent ? kBlockBytes : kPlaneAlignment;
  STI_ASSIGN_OR_RETURN(PartLocation location, Append(shard.parts[part], alignment));
  index_.shards[size_t{layer} * index_.info.shape.width + slice].parts[part] = location;
  return {};
}

Status ContainerWriter::AddLayer(uint32_t layer, const Codebook& codebook,
                                 std::span<const EncodedShard> shards) {
  index_.centroids[layer] = codebook;
  const std::span planes(kPartKinds.data(), kPartKinds.size() - 1);  // full fidelity comes last
  auto slices = static_cast<uint32_t>(shards.size());
  if (index_.layout == Layout::kShard) {
    for (uint32_t slice = 0; slice < slices; ++slice) {
      for (const PartKind part : planes) {
        STI_RETURN_IF_ERROR(
            AppendShardPart(layer, slice, part, shards[slice], part == PartKind::kBase));
      }
    }
  } else {
    for (const PartKind part : planes) {
      for (uint32_t slice = 0; slice < slices; ++slice) {
        STI_RETURN_IF_ERROR(AppendShardPart(layer, slice, part, shards[slice], slice == 0));
      }
    }
  }
  for (uint32_t slice = 0; slice < slices; ++slice) {
    STI_RETURN_IF_ERROR(AppendShardPart(layer, slice, PartKind::kFull, shards[slice], true));
  }
  return {};
}

Status ContainerWriter::Finish(const Digest& model) {
  index_.model = model;
  std::vector<uint8_t> encoded = EncodeContainerIndex(index_);
  if (encoded.size() > index_room_) {
    return MachineError("the index outgrew the room left for it; this is a defect of this program");
  }
  // The file ends on a block, so that a direct read of its last part is a whole one.
  uint64_t file_bytes = RoundUp(end_, kBlockBytes);
  std::vector<uint8_t> padding(file_bytes - end_, 0);
  STI_RETURN_IF_ERROR(Put(end_, padding));
  end_ = file_bytes;
  STI_RETURN_IF_ERROR(Put(kContainerHeaderBytes, encoded));
  auto header = EncodeContainerHeader({file_bytes, kContainerHeaderBytes, encoded.size(),
                                       Checksum(encoded), LeastMinorFor(index_)});
  STI_RETURN_IF_ERROR(Put(0, header));
  if (file_.empty()) return {};
  return file_[0].Commit();
}

namespace {

/// Calls `visit` for each shard of a plan, of a variant or of a cascade level, at these bits.
template <typename Visit>
void ForEachShardAt(const PlanCore& plan, const Grid<uint32_t>& bits, const Visit& visit) {
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    for (uint32_t i = 0; i < plan.width; ++i) visit(ShardAtBits{plan.Id(k, i), bits.At(k, i)});
  }
}

/// Calls `visit` for each shard that one of these, or its fallback, computes with.
template <typename Visit>
void ForEachOwnShard(const PlanCore& plan, const Visit& visit) {
  ForEachShardAt(plan, plan.bits, visit);
  if (!plan.fallback) return;
  for (const ShardAtBits& shard : ShardsOf(*plan.fallback)) visit(shard);
}

/// Calls `visit` for each shard that the plan, a turn, a variant or a cascade level of it computes
/// with or keeps.
template <typename Visit>
void ForEachShard(const Plan& plan, const Visit& visit) {
  ForEachOwnShard(plan, visit);
  for (const PlanTurn& turn : plan.turns) {
    ForEachShardAt(plan, turn.bits, visit);
    // A turn may keep shards at fewer bits than any turn computes with.
    for (const ShardAtBits& shard : turn.preload) visit(shard);
  }
  for (const PlanCore& variant : plan.variants) ForEachOwnShard(variant, visit);
  if (!plan.cascade) return;
  for (const CascadeLevel& level : plan.cascade->levels) ForEachOwnShard(level.plan, visit);
}

}  // namespace

PartSelection SelectAll(const ModelShape& shape, std::span<const uint32_t> bits) {
  PartSet parts;
  for (uint32_t k : bits) parts = parts.With(PartSet::For(k));
  return PartSelection(size_t{shape.layers} * shape.width, parts);
}

PartSelection SelectForPlans(const ModelShape& shape, std::span<const Plan> plans) {
  PartSelection selection(size_t{shape.layers} * shape.width);
  for (const Plan& plan : plans) {
    ForEachShard(plan, [&](const ShardAtBits& shard) {
      PartSet& parts = selection[size_t{shard.id.layer} * shape.width + shard.id.slice];
      parts = parts.With(PartSet::For(shard.bits));
    });
  }
  return selection;
}

std::vector<uint32_t> BitsOfPlans(std::span<const Plan> plans) {
  std::set<uint32_t> bits;
  for (const Plan& plan : plans)
    ForEachShard(plan, [&](const ShardAtBits& shard) { bits.insert(shard.bits); });
  return {bits.begin(), bits.end()};
}

}  // namespace sti
