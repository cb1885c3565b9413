#include "model/verify.h"

#include <algorithm>
#include <array>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "format/container_header.h"
#include "format/row_codec.h"
#include "format/shard_codec.h"
#include "types/bits.h"
#include "types/finite.h"

namespace sti {
namespace {

class Verifier {
 public:
  Verifier(ContainerFile& file, const ProgressSink& progress)
      : file_(file), index_(file.index()), progress_(progress) {}

  Result<VerifyReport> Run() {
    STI_RETURN_IF_ERROR(CheckResident());
    for (const RowTable* table : {&index_.words, &index_.positions}) {
      if (table->rows == 0) continue;  // a stage without text
      STI_RETURN_IF_ERROR(CheckRows(*table));
    }
    uint32_t width = index_.info.shape.width;
    for (uint32_t i = 0; i < index_.shards.size(); ++i) {
      STI_RETURN_IF_ERROR(CheckShard(i / width, i % width));
      if (progress_) progress_(i + 1, index_.shards.size());
    }
    STI_RETURN_IF_ERROR(CheckGaps());
    return std::move(report_);
  }

 private:
  // Damage is the answer; a failing disk is an error.
  Status Note(const Status& status) {
    if (status.ok() || !BlamesData(status.error().kind)) return status;
    report_.damaged.push_back(status.error());
    return {};
  }

  void Count(const PartLocation& part) {
    ++report_.parts;
    report_.bytes += part.length;
    used_.push_back(part);
  }

  Status CheckResident() {
    for (const ResidentLocation& location : index_.resident) {
      if (location.part.length == 0) continue;  // of other stages
      Count(location.part);
      STI_RETURN_IF_ERROR(Note(CheckResident(location)));
    }
    return {};
  }

  // Whether texts make a tokenizer is for others to say.
  Status CheckResident(const ResidentLocation& location) {
    if (IsText(location.kind)) {
      const auto text = file_.ReadText(location.kind);
      return text.ok() ? Status() : Status(text.error());
    }
    return file_.VisitTensors(
        location.kind, location.layer,
        [](TensorRole, uint64_t, std::span<const uint8_t>) { return Status(); });
  }

  Status CheckRows(const RowTable& table) {
    uint64_t bytes = uint64_t{table.rows} * table.row_bytes;
    Count({table.offset, bytes, 0});
    uint32_t number = 0;
    return file_.ForEachRow(table, [&](std::span<const uint8_t> row, const Status& checked) {
      const uint32_t here = number++;
      return Note(checked.ok() ? CheckRowValues(table, here, row, file_.name()) : checked);
    });
  }

  Status CheckShard(uint32_t layer, uint32_t slice) {
    const ShardLocation& shard = index_.shard({layer, slice});
    PerPart<LoadedRange> loaded;
    PerPart<std::span<const uint8_t>> bytes;
    bool sound = true;
    for (const PartKind part : kPartKinds) {
      const PartLocation& location = shard.parts[part];
      if (location.length == 0) continue;
      Count(location);
      auto range = file_.ReadPart(location, ShardPartName({layer, slice}, part));
      if (!range.ok()) {
        sound = false;
        STI_RETURN_IF_ERROR(Note(range.error()));
        continue;
      }
      loaded[part] = std::move(*range);
      bytes[part] = loaded[part].Bytes(location);
    }
    if (!AllFinite(index_.info.data_type, bytes[PartKind::kFull])) {
      STI_RETURN_IF_ERROR(Note(DataError("a weight is not a finite number")
                                   .At(ShardPartName({layer, slice}, PartKind::kFull))
                                   .At(file_.name())));
    }
    if (!sound || bytes[PartKind::kBase].empty()) return {};
    uint32_t bits = kLeastBits;
    while (bits < kMostBits && !bytes[PartAt(bits + 1)].empty()) ++bits;
    const std::string name = file_.name() + ": " + ShardPartName({layer, slice}, PartKind::kBase);
    auto view = ViewShard(index_.info, index_.centroids[layer], bits, bytes, name);
    return Note(view.ok() ? CheckOutlierCodes(*view, name) : Status(view.error()));
  }

  // Padding is zeros when a file is written. It has no meaning and no run reads it, but where it is
  // not 0 the file has changed since, or holds what its index does not say. Except in a file of a
  // newer minor version, where what looks like a gap may hold what only a newer reader can check.
  Status CheckGaps() {
    if (index_.newer_minor) return {};
    std::sort(used_.begin(), used_.end(),
              [](const PartLocation& a, const PartLocation& b) { return a.offset < b.offset; });
    used_.push_back({file_.reader().file_bytes(), 0, 0});
    uint64_t end = kContainerHeaderBytes + file_.index_bytes();
    for (const PartLocation& part : used_) {
      if (part.offset > end) {
        PartLocation gap{end, part.offset - end, 0};
        STI_ASSIGN_OR_RETURN(LoadedRange range, file_.ReadRange(gap.offset, gap.length));
        auto bytes = range.Bytes(gap);
        if (std::any_of(bytes.begin(), bytes.end(), [](uint8_t b) { return b != 0; })) {
          report_.damaged.push_back(
              DataError("bytes between parts at " + std::to_string(end) +
                        " are not 0: no run reads them, but the file is not as it was written")
                  .At(file_.name()));
        }
      }
      end = part.offset + part.length;
    }
    return {};
  }

  ContainerFile& file_;
  const ContainerIndex& index_;
  const ProgressSink& progress_;
  VerifyReport report_;
  std::vector<PartLocation> used_;
};

}  // namespace

Result<VerifyReport> VerifyContainer(ContainerFile& file, const ProgressSink& progress) {
  return Verifier(file, progress).Run();
}

}  // namespace sti
