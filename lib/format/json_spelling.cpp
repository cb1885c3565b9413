#include "format/json_spelling.h"

namespace sti {

void JsonFieldReader::CheckCount(const Field& field, JsonFields& item, size_t expected) {
  if (field.rule.counted == nullptr) return;
  auto number = static_cast<uint32_t>(expected);
  item.Get(field.rule.counted, Need::kOptional, &number);
  if (number != expected) item.Fail(std::string(field.rule.counted) + " does not count from 1");
}

void JsonFieldWriter::operator()(const Field& field, const Digest& digest) {
  Put(field, digest.empty(), digest.Hex());
}

void JsonFieldWriter::operator()(const Field& field, const Grid<uint32_t>& grid) {
  auto rows = Json::array();
  for (uint32_t row = 0; row < grid.rows(); ++row) rows.push_back(grid.Row(row));
  object_[field.name] = std::move(rows);
}

void JsonFieldWriter::Put(const Field& field, bool nothing, Json value) {
  if (nothing && field.spelled == Spelled::kIfSaid) return;
  object_[field.name] = nothing && field.spelled == Spelled::kOrNull ? Json() : std::move(value);
}

}  // namespace sti
