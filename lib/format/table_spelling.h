// The binary spelling of values that have a description (types/fields.h): a visitor that reads the
// fields of a table out of a FlatBuffer that has passed its verifier, and one that writes them. The
// same value is always the same bytes. Internal to lib/format; one thread at a time.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "format/flatbuffer_values.h"
#include "types/fields.h"
#include "types/grid.h"

namespace sti {

/// Returns the offset in a table's directory of the field with this number.
constexpr flatbuffers::voffset_t SlotOf(uint16_t number) {
  return static_cast<flatbuffers::voffset_t>(4 + 2 * number);
}

/// The state that readers of all tables of a file share: room for its lists, and the first fault.
struct FlatFile {
  Remedy remedy;  ///< what helps against a fault
  ListRoom room;
  Status status = {};
};

/// Reads members out of a table. The first thing wrong is kept in the file, and every later call
/// does nothing. A list is held to what its field and the file have room for before it is copied.
class FlatReader {
 public:
  using Table = flatbuffers::Table;
  template <typename T>
  using List = flatbuffers::Vector<T>;
  using Tables = List<flatbuffers::Offset<Table>>;

  /// Reads the table of a file, or one that messages say to be at "a.plan: variants".
  FlatReader(FlatFile& file, const Table& table, std::string where)
      : file_(file), table_(table), where_(std::move(where)) {}
  /// Reads a table in the field `name` of another, or the entry of a list there.
  FlatReader(const FlatReader& outer, const Table& table, const char* name,
             std::optional<size_t> entry = {})
      : file_(outer.file_), table_(table), outer_(&outer), name_(name), entry_(entry) {}

  void operator()(const Field& field, double& number);
  void operator()(const Field& field, uint64_t& number);
  void operator()(const Field& field, uint32_t& number);
  void operator()(const Field& field, bool& holds);
  void operator()(const Field& field, std::optional<double>& number);
  void operator()(const Field& field, std::optional<uint64_t>& number);
  void operator()(const Field& field, std::optional<uint32_t>& number);
  void operator()(const Field& field, std::optional<std::string>& text);
  void operator()(const Field& field, std::string& text);
  void operator()(const Field& field, Digest& digest);
  /// Reads all entries as one row, since a table does not say how long its rows are.
  void operator()(const Field& field, Grid<uint32_t>& grid);
  template <typename T>
  void operator()(const Field& field, std::vector<T>& list);
  template <typename T>
  void operator()(const Field& field, std::optional<T>& value);
  /// Reads two grids out of one list of tables, each of which holds a row of either.
  void Rows(const Field& first, Grid<uint32_t>& firsts, const Field& second,
            Grid<uint32_t>& seconds);

  /// Returns the list, table or text in a field; null if there is none, and after a fault.
  template <typename T>
  [[nodiscard]] const T* Find(const Field& field) const {
    return file_.status.ok() ? table_.GetPointer<const T*>(SlotOf(field.number)) : nullptr;
  }
  /// Returns the list of tables in a field, if field and file have room for it; null if not.
  [[nodiscard]] const Tables* FindTables(const Field& field);
  /// Keeps a fault of this table.
  void Fail(const std::string& problem);

 private:
  [[nodiscard]] bool Bounded(const Field& field, size_t entries);
  bool Kept(Status status);
  [[nodiscard]] std::string Where() const;

  FlatFile& file_;
  const Table& table_;
  const FlatReader* outer_ = nullptr;
  std::string where_;
  const char* name_ = "";
  std::optional<size_t> entry_;
};

/// Writes members as a table. Tables that it lists, and grids, are written as they come, and the
/// rest of what it points to when it is finished, in the order of their numbers.
class FlatWriter {
 public:
  using Builder = flatbuffers::FlatBufferBuilder;
  using Place = flatbuffers::uoffset_t;  ///< where something lies in the buffer

  explicit FlatWriter(Builder& builder) : builder_(builder) {}

  void operator()(const Field& field, double number) { Number(field, number); }
  void operator()(const Field& field, uint64_t number) { Number(field, number); }
  void operator()(const Field& field, uint32_t number) { Number(field, number); }
  void operator()(const Field& field, bool holds) { Number<uint8_t>(field, holds ? 1 : 0); }
  void operator()(const Field& field, const std::string& text);
  void operator()(const Field& field, const Digest& digest);
  void operator()(const Field& field, const Grid<uint32_t>& grid);
  template <typename T>
  void operator()(const Field& field, const std::vector<T>& list);
  template <typename T>
  void operator()(const Field& field, const std::optional<T>& value);
  void Rows(const Field& first, const Grid<uint32_t>& firsts, const Field& second,
            const Grid<uint32_t>& seconds);

  /// Has the table point to what `write` writes, when it is finished.
  void Point(uint16_t number, std::function<Place()> write) {
    pointers_.push_back({2U * number, number, std::move(write)});
  }
  /// Has the table point to a list of tables, which are written.
  void PointToList(uint16_t number, std::vector<flatbuffers::Offset<void>> tables);
  /// Has what a field points to written behind that of another, and not where its number says.
  void Move(uint16_t number, uint16_t behind);
  /// Writes the table and returns its place.
  Place Finish();

  /// Writes a described value as a table and returns its place.
  template <typename T>
  static Place TableOf(Builder& builder, const T& value) {
    FlatWriter writer(builder);
    Fields(writer, value);
    return writer.Finish();
  }

 private:
  struct Pointer {
    uint32_t rank;  ///< pointers are written in the order of their ranks
    uint16_t number;
    std::function<Place()> write;
  };
  struct Entry {
    size_t size;  ///< in bytes
    uint16_t number;
    uint64_t value;  ///< the bits of a number, or a place
    bool is_place = false;
  };

  template <typename T>
  void Number(const Field& field, T number) {
    if (static_cast<double>(number) != field.rule.left_out) Keep(field, number);
  }
  template <typename T>
  void Keep(const Field& field, T number) {
    if constexpr (std::is_floating_point_v<T>) {
      Keep(field, std::bit_cast<uint64_t>(number));
    } else {
      entries_.push_back({sizeof(T), field.number, number});
    }
  }

  Builder& builder_;
  std::vector<Pointer> pointers_;
  std::vector<Entry> entries_;
};

template <typename T>
void FlatReader::operator()(const Field& field, std::vector<T>& list) {
  if constexpr (std::is_arithmetic_v<T>) {
    const auto* stored = Find<List<T>>(field);
    if (stored != nullptr && Bounded(field, stored->size())) Kept(file_.room.Copy(stored, &list));
  } else if (const Tables* stored = FindTables(field)) {
    list.reserve(stored->size());
    for (const Table* entry : *stored) {
      FlatReader reader(*this, *entry, field.name, list.size());
      Fields(reader, list.emplace_back());
    }
  }
}

template <typename T>
void FlatReader::operator()(const Field& field, std::optional<T>& value) {
  if (const auto* stored = Find<Table>(field)) {
    FlatReader reader(*this, *stored, field.name);
    Fields(reader, value.emplace());
  }
}

template <typename T>
void FlatWriter::operator()(const Field& field, const std::vector<T>& list) {
  if constexpr (std::is_arithmetic_v<T>) {
    if (!list.empty()) Point(field.number, [this, &list] { return builder_.CreateVector(list).o; });
  } else {
    std::vector<flatbuffers::Offset<void>> tables;
    tables.reserve(list.size());
    for (const T& entry : list) tables.emplace_back(TableOf(builder_, entry));
    // An empty list is absent, but for those that were there from the first version on.
    if (!list.empty() || field.spelled == Spelled::kAlways)
      PointToList(field.number, std::move(tables));
  }
}

template <typename T>
void FlatWriter::operator()(const Field& field, const std::optional<T>& value) {
  if (!value) return;
  if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    if (field.rule.zero_is_nothing) return (*this)(field, *value);
  }
  if constexpr (std::is_arithmetic_v<T>) {
    Keep(field, *value);
  } else if constexpr (!std::is_same_v<T, std::string>) {
    Point(field.number, [this, &value] { return TableOf(builder_, *value); });
  }
}

}  // namespace sti
