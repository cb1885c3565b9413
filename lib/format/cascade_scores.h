// Cascade scores in an importance file: both spellings, and the rules that hold for them. Only
// lib/format includes this.
#pragma once

#include <string>

#include "base/result.h"
#include "format/flatbuffer_values.h"
#include "format/json_fields.h"
#include "format/json_writer.h"
#include "importance_generated.h"
#include "types/importance.h"

namespace sti {

/// Returns what is wrong with the cascade levels and the cascades; empty if nothing is.
std::string ProblemOfCascades(const Importance& importance);

/// Reads the cascade levels and cascades of a table. DataError naming `name` if a list has more
/// entries than it may have, or lists of one cascade differ in length; the error of `room` if all
/// lists take more bytes than it has.
Status ReadCascades(const fb::Importance& table, const std::string& name, ListRoom* room,
                    Importance* importance);
/// Reads them out of a JSON object; `fields` keeps the first error.
void ReadCascades(JsonFields& fields, Importance* importance);

/// Writes cascade levels and cascades to `builder`, and holds the offsets of their lists for the
/// table. A list without entries is null: the table leaves it out.
struct CascadeLists {
  template <typename Table>
  using List = flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<Table>>>;
  CascadeLists(flatbuffers::FlatBufferBuilder& builder, const Importance& importance);

  List<fb::CascadeLevelScore> levels;
  List<fb::CascadeScore> cascades;
};

/// Adds cascade levels and cascades, where any were measured, to the JSON object that is written.
void WriteCascades(const Importance& importance, JsonWriter* json);

}  // namespace sti
