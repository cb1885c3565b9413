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

/// Reads the lists of a table. DataError naming `name` if there are more than there may be, if
/// those of one cascade do not agree in their lengths, or if `room` has too little for them.
Status ReadCascades(const fb::Importance& table, const std::string& name, ListRoom* room,
                    Importance* importance);
/// Reads the fields of an object.
void ReadCascades(JsonFields& fields, Importance* importance);

/// The same lists, on their way into a table; absent where nothing was measured.
struct CascadeLists {
  template <typename Table>
  using List = flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<Table>>>;
  CascadeLists(flatbuffers::FlatBufferBuilder& builder, const Importance& importance);

  List<fb::CascadeLevelScore> levels;
  List<fb::CascadeScore> cascades;
};

/// Adds the fields to an object, those that were measured.
void WriteCascades(const Importance& importance, JsonWriter* json);

}  // namespace sti
