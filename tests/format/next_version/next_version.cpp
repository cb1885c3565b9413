#include "format/next_version/next_version.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/digest.h"
#include "base/little_endian.h"
#include "container_next_generated.h"
#include "format/container_header.h"
#include "format/framed_file.h"
#include "importance_next_generated.h"
#include "importance_part_next_generated.h"
#include "label_vectors_next_generated.h"
#include "plan_next_generated.h"
#include "profile_next_generated.h"

namespace sti {
namespace {

using Bin = std::vector<uint8_t>;

constexpr uint16_t kNextMinor = 99;
constexpr uint64_t kBlock = 4096;
constexpr uint64_t kUnknownBlocks = 3;

// Fields that today's schemas do not have.
template <typename Table>
void AddUnknown(Table* table) {
  table->next_note = "written by a later version";
  table->next_numbers.assign(100, uint64_t{1} << 63);
}

Bin Finished(const flatbuffers::FlatBufferBuilder& builder) {
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

void PutSealedHeader(const ContainerHeader& header, uint16_t minor, Bin* file) {
  auto bytes = EncodeContainerHeader(header);
  StoreLittle<uint16_t>(&bytes[10], minor);
  StoreLittle<uint64_t>(&bytes[56], Checksum(std::span<const uint8_t>(bytes).first(56)));
  std::copy(bytes.begin(), bytes.end(), file->begin());
}

uint64_t FirstPart(const next_container::ContainerIndexT& index) {
  uint64_t first = UINT64_MAX;
  for (const auto& part : index.shard_parts) first = std::min(first, part.offset());
  for (const auto& part : index.resident_parts) first = std::min(first, part.offset());
  for (const auto& table : index.row_tables) first = std::min(first, table.offset());
  return first;
}

void Shift(uint64_t by, next_container::ContainerIndexT* index) {
  for (auto& part : index->shard_parts) part.mutate_offset(part.offset() + by);
  for (auto& part : index->resident_parts) part.mutate_offset(part.offset() + by);
  for (auto& table : index->row_tables) table.mutate_offset(table.offset() + by);
}

Bin Encode(const next_container::ContainerIndexT& index) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(next_container::ContainerIndex::Pack(builder, &index));
  return Finished(builder);
}

Bin NextContainer(std::span<const uint8_t> file, uint16_t minor) {
  auto parsed = ParseContainerHeader(file, file.size(), "file");
  if (!parsed.ok()) return {};
  ContainerHeader header = *parsed;
  next_container::ContainerIndexT index;
  next_container::GetContainerIndex(&file[header.index_offset])->UnPackTo(&index);
  const uint64_t first = FirstPart(index);
  AddUnknown(&index);
  index.tokenizer->next_option = 7;
  const uint64_t room = RoundUp(Encode(index).size() + 1024, kBlock);
  const uint64_t by = room + kUnknownBlocks * kBlock;
  Shift(by, &index);
  index.next_extents.push_back(std::make_unique<next_container::NextExtentT>());
  index.next_extents.back()->offset = room;
  index.next_extents.back()->length = kUnknownBlocks * kBlock;
  const Bin encoded = Encode(index);

  // Header and index, unknown blocks, the parts as they were, unknown blocks again.
  Bin next(file.size() + by + kUnknownBlocks * kBlock, 0xA5);
  std::fill_n(next.begin(), room, uint8_t{0});
  std::copy(file.begin() + static_cast<std::ptrdiff_t>(first), file.end(),
            next.begin() + static_cast<std::ptrdiff_t>(first + by));
  std::copy(encoded.begin(), encoded.end(), next.begin() + kContainerHeaderBytes);
  header = {next.size(), kContainerHeaderBytes, encoded.size(), Checksum(encoded)};
  PutSealedHeader(header, minor, &next);
  return next;
}

// A frame whose header has a field more.
Bin NextFrame(std::string_view magic, const Bin& payload) {
  constexpr uint32_t kNextHeaderBytes = 56;
  Bin file(kNextHeaderBytes, 0xEE);
  const Bin known = WrapFrame(magic, payload);
  std::copy_n(known.begin(), 32, file.begin());
  StoreLittle<uint16_t>(&file[10], kNextMinor);
  StoreLittle<uint32_t>(&file[12], kNextHeaderBytes);
  StoreLittle<uint64_t>(&file[kNextHeaderBytes - 8],
                        Checksum(std::span<const uint8_t>(file).first(kNextHeaderBytes - 8)));
  file.insert(file.end(), payload.begin(), payload.end());
  return file;
}

Bin NextImportance(const Bin& payload) {
  next_importance::ImportanceT table;
  next_importance::GetImportance(payload.data())->UnPackTo(&table);
  AddUnknown(&table);
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(next_importance::Importance::Pack(builder, &table));
  return Finished(builder);
}

Bin NextImportancePart(const Bin& payload) {
  next_importance_part::ImportancePartT table;
  next_importance_part::GetImportancePart(payload.data())->UnPackTo(&table);
  AddUnknown(&table);
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(next_importance_part::ImportancePart::Pack(builder, &table));
  return Finished(builder);
}

Bin NextLabelVectors(const Bin& payload) {
  next_label_vectors::LabelVectorsT table;
  next_label_vectors::GetLabelVectors(payload.data())->UnPackTo(&table);
  AddUnknown(&table);
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(next_label_vectors::LabelVectors::Pack(builder, &table));
  return Finished(builder);
}

Bin NextProfile(const Bin& payload) {
  next_profile::ProfileT table;
  next_profile::GetProfile(payload.data())->UnPackTo(&table);
  AddUnknown(&table);
  for (auto& sample : table.io) sample->next_option = 7;
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(next_profile::Profile::Pack(builder, &table));
  return Finished(builder);
}

Bin NextPlan(const Bin& payload) {
  next_plan::PlanT table;
  next_plan::GetPlan(payload.data())->UnPackTo(&table);
  AddUnknown(&table);
  for (auto& row : table.rows) row->next_option = 7;
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(next_plan::Plan::Pack(builder, &table));
  return Finished(builder);
}

}  // namespace

Bin NextVersion(std::span<const uint8_t> file) {
  const struct {
    std::string_view magic;
    Bin (*next)(const Bin&);
  } kinds[] = {{kImportanceMagic, NextImportance},
               {kImportancePartMagic, NextImportancePart},
               {kLabelVectorsMagic, NextLabelVectors},
               {kProfileMagic, NextProfile},
               {kPlanMagic, NextPlan}};
  for (const auto& kind : kinds) {
    const auto payload = UnwrapFrame(kind.magic, file, "file");
    if (payload.ok()) return NextFrame(kind.magic, kind.next(*payload));
  }
  return NextContainer(file, kNextMinor);
}

Bin NextContainerOfThisMinor(std::span<const uint8_t> file) {
  return NextContainer(file, kContainerMinor);
}

}  // namespace sti
