#include "format/table_spelling.h"

#include <algorithm>

#include "format/framed_file.h"
#include "types/file_text.h"
#include "types/limits.h"

namespace sti {
namespace {

// The places of the two lists in a table that holds a row of two grids.
constexpr uint16_t kFirstOfRow = 0;
constexpr uint16_t kSecondOfRow = 1;

}  // namespace

std::string FlatReader::Where() const {
  if (outer_ == nullptr) return where_;
  const std::string outer = outer_->Where() + ": " + name_;
  return entry_ ? outer + "[" + std::to_string(*entry_) + "]" : outer;
}

void FlatReader::Fail(const std::string& problem) {
  if (!file_.status.ok()) return;
  const bool inside = outer_ != nullptr && !entry_;  // of a table that is a field: "times.embed_us"
  file_.status = DataError(inside ? name_ + ("." + problem) : problem)
                     .At(inside ? outer_->Where() : Where())
                     .Fix(file_.remedy);
}

bool FlatReader::Kept(Status status) {
  if (file_.status.ok() && !status.ok()) file_.status = std::move(status);
  return file_.status.ok();
}

bool FlatReader::Bounded(const Field& field, size_t entries) {
  const bool absent_if_empty = field.spelled == Spelled::kOrNull;
  if (field.rule.one_a_layer && (entries > kMaxLayers || (entries == 0 && absent_if_empty)))
    Fail(std::string(field.name) + " does not have one entry a layer");
  if (field.rule.entries > 0 && entries > field.rule.entries) {
    Fail(*field.rule.too_many != 0 ? field.rule.too_many
                                   : std::string(field.name) + " has more than " +
                                         std::to_string(field.rule.entries) + " entries");
  }
  return file_.status.ok();
}

const FlatReader::Tables* FlatReader::FindTables(const Field& field) {
  const auto* list = Find<Tables>(field);
  const bool fits = list != nullptr && Bounded(field, list->size()) && Kept(file_.room.Take(list));
  return fits ? list : nullptr;
}

void FlatReader::operator()(const Field& field, double& number) {
  number = table_.GetField<double>(SlotOf(field.number), field.rule.left_out);
}

void FlatReader::operator()(const Field& field, uint64_t& number) {
  number = table_.GetField<uint64_t>(SlotOf(field.number), 0);
}

void FlatReader::operator()(const Field& field, uint32_t& number) {
  number =
      table_.GetField<uint32_t>(SlotOf(field.number), static_cast<uint32_t>(field.rule.left_out));
}

void FlatReader::operator()(const Field& field, std::optional<double>& number) {
  if (!field.rule.zero_is_nothing) {
    number = table_.GetOptional<double, double>(SlotOf(field.number));
    return;
  }
  double stored = 0;
  (*this)(field, stored);
  number = UnlessZero(stored);
}

void FlatReader::operator()(const Field& field, std::optional<uint64_t>& number) {
  uint64_t stored = 0;
  (*this)(field, stored);
  number = UnlessZero(stored);
}

void FlatReader::operator()(const Field& field, std::optional<uint32_t>& number) {
  uint32_t stored = 0;
  (*this)(field, stored);
  number = UnlessZero(stored);
}

void FlatReader::operator()(const Field& field, std::optional<std::string>& text) {
  std::string stored;
  (*this)(field, stored);
  text = UnlessZero(stored);
}

void FlatReader::operator()(const Field& field, bool& holds) {
  holds = table_.GetField<uint8_t>(SlotOf(field.number), field.rule.left_out != 0 ? 1 : 0) != 0;
}

void FlatReader::operator()(const Field& field, std::string& text) {
  const auto* stored = Find<flatbuffers::String>(field);
  if (const auto fault = FindTextFault(field.name, ViewOf(stored), field.rule.entries))
    return Fail(*fault);
  text = TextOf(stored);
}

void FlatReader::operator()(const Field& field, Digest& digest) {
  const auto* stored = Find<List<uint8_t>>(field);
  if (stored == nullptr) return;
  Result<Digest> read =
      DigestFromBytes(stored->data(), stored->size(), Where() + ": " + field.name);
  if (read.ok()) digest = *read;
  Kept(read.ok() ? Status() : Status(read.error()));
}

void FlatReader::operator()(const Field& field, Grid<uint32_t>& grid) {
  std::vector<uint32_t> row;
  (*this)(field, row);
  grid = Grid<uint32_t>(1, static_cast<uint32_t>(row.size()));
  std::copy(row.begin(), row.end(), grid.values().begin());
}

void FlatReader::Rows(const Field& first, Grid<uint32_t>& firsts, const Field& /*second*/,
                      Grid<uint32_t>& seconds) {
  const auto* stored = Find<Tables>(first);
  if (stored == nullptr) return;
  if (stored->size() > kMaxLayers) return Fail("more than 1024 rows");
  std::vector<std::vector<uint32_t>> rows[2];
  for (const Table* entry : *stored) {
    for (const uint16_t of : {kFirstOfRow, kSecondOfRow}) {
      const auto* row = entry->GetPointer<const List<uint32_t>*>(SlotOf(of));
      if (row != nullptr && row->size() > kMaxWidth) return Fail("a row has more than 256 entries");
      if (!Kept(file_.room.Copy(row, &rows[of].emplace_back()))) return;
    }
  }
  auto first_grid = Grid<uint32_t>::FromRows(rows[0]);
  auto second_grid = Grid<uint32_t>::FromRows(rows[1]);
  if (!first_grid || !second_grid) return Fail("rows differ in length");
  firsts = std::move(*first_grid);
  seconds = std::move(*second_grid);
}

void FlatWriter::operator()(const Field& field, const std::string& text) {
  if (text.empty() && field.spelled == Spelled::kIfSaid) return;
  Point(field.number, [this, text] { return builder_.CreateString(text).o; });
}

void FlatWriter::operator()(const Field& field, const Digest& digest) {
  if (digest.empty()) return;
  Point(field.number, [this, &digest] {
    return builder_.CreateVector(digest.bytes.data(), digest.bytes.size()).o;
  });
}

void FlatWriter::operator()(const Field& field, const Grid<uint32_t>& grid) {
  const auto values = grid.values();
  const Place place = builder_.CreateVector(values.data(), values.size()).o;
  Point(field.number, [place] { return place; });
}

void FlatWriter::Rows(const Field& first, const Grid<uint32_t>& firsts, const Field& /*second*/,
                      const Grid<uint32_t>& seconds) {
  std::vector<flatbuffers::Offset<void>> tables;
  for (uint32_t k = 0; k < std::min(firsts.rows(), seconds.rows()); ++k) {
    FlatWriter row(builder_);
    for (const Grid<uint32_t>* grid : {&firsts, &seconds}) {
      const Place place = builder_.CreateVector(grid->Row(k).data(), grid->columns()).o;
      row.Point(grid == &firsts ? kFirstOfRow : kSecondOfRow, [place] { return place; });
    }
    tables.emplace_back(row.Finish());
  }
  PointToList(first.number, std::move(tables));
}

void FlatWriter::PointToList(uint16_t number, std::vector<flatbuffers::Offset<void>> tables) {
  Point(number, [this, tables = std::move(tables)] { return builder_.CreateVector(tables).o; });
}

void FlatWriter::Move(uint16_t number, uint16_t behind) {
  for (Pointer& pointer : pointers_) {
    if (pointer.number == number) pointer.rank = 2U * behind + 1;
  }
}

FlatWriter::Place FlatWriter::Finish() {
  std::sort(pointers_.begin(), pointers_.end(),
            [](const Pointer& a, const Pointer& b) { return a.rank < b.rank; });
  for (const Pointer& pointer : pointers_)
    entries_.push_back({sizeof(Place), pointer.number, pointer.write(), true});
  // As flatc orders the fields of a table: the largest first, and the last before the first.
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.size, a.number) > std::pair(b.size, b.number);
  });
  const Place start = builder_.StartTable();
  for (const Entry& entry : entries_) {
    const auto slot = SlotOf(entry.number);
    if (entry.is_place) {
      builder_.AddOffset(slot, flatbuffers::Offset<void>(static_cast<Place>(entry.value)));
    } else if (entry.size == sizeof(uint64_t)) {
      builder_.AddElement<uint64_t>(slot, entry.value);
    } else if (entry.size == sizeof(uint32_t)) {
      builder_.AddElement<uint32_t>(slot, static_cast<uint32_t>(entry.value));
    } else {
      builder_.AddElement<uint8_t>(slot, static_cast<uint8_t>(entry.value));
    }
  }
  return builder_.EndTable(start);
}

}  // namespace sti
