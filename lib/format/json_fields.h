// Reads and writes the JSON spelling of the small files. Internal to lib/format.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "format/unknown_keys.h"
#include "types/grid.h"

namespace sti {

enum class Need { kRequired, kOptional };

/// The fields of one JSON object, taken by name and type. The first thing wrong is kept and every
/// later call does nothing, so that a reader is a list of fields with one check at the end. Null
/// counts as absent. Fields nobody asks for are ignored, and their names kept in UnknownKeys where
/// that is given. One thread at a time.
class JsonFields {
 public:
  /// `where` opens every message: the file, then the path to this object. `path` opens the names of
  /// this object's fields in `unknown`.
  JsonFields(const nlohmann::json& object, std::string where, UnknownKeys* unknown = nullptr,
             std::string path = "");

  /// Sets `out` to the field `key`. A field that is absent leaves it as it is, and is an error if
  /// it is required; so is one of another type.
  void Get(const char* key, Need need, std::string* out);
  void Get(const char* key, Need need, bool* out);
  void Get(const char* key, Need need, double* out);
  void Get(const char* key, Need need, uint64_t* out);  ///< whole numbers, also written as 2e6
  void Get(const char* key, Need need, uint32_t* out);
  void Get(const char* key, Need need, Digest* out);
  void Get(const char* key, Need need, std::optional<double>* out);
  void Get(const char* key, Need need, std::vector<double>* out);
  void Get(const char* key, Need need, std::vector<uint32_t>* out);
  void Get(const char* key, Need need, std::vector<std::vector<double>>* out);
  void Get(const char* key, Need need, std::vector<std::vector<uint32_t>>* out);
  void Get(const char* key, Need need, Grid<uint32_t>* out);  ///< a list of lists of one length
  /// Calls `read` for each object of a list, with its own JsonFields; their errors become ours.
  void ForEach(const char* key, Need need, const std::function<void(JsonFields&)>& read);

  /// Calls `read` for an object inside this one, with its own JsonFields; their error becomes ours.
  void Within(const char* key, Need need, const std::function<void(JsonFields&)>& read);

  [[nodiscard]] bool Has(const char* key) const;
  /// Says that a field is known, and not read.
  void Ignore(const char* key) { asked_.emplace_back(key); }
  /// Adds the names of the fields of this object that nobody has asked for to `unknown`. ForEach
  /// and Within do so for the objects inside.
  void NoteUnknown() const;
  /// Fails if one of these optional fields is a list without entries: such lists have a length that
  /// follows from other fields, or are absent.
  void RefuseEmpty(std::initializer_list<const char*> keys);
  /// Keeps an error found by the caller: "<where>: <problem>".
  void Fail(const std::string& problem);
  [[nodiscard]] Status status() const { return status_; }
  [[nodiscard]] const std::string& where() const { return where_; }

 private:
  const nlohmann::json* Find(const char* key, Need need);
  template <typename Number>
  bool GetRows(const char* key, Need need, std::vector<std::vector<Number>>* out);
  template <typename Number>
  void GetList(const char* key, Need need, std::vector<Number>* out);

  const nlohmann::json& object_;
  std::string where_;
  UnknownKeys* unknown_;
  std::string path_;
  mutable std::vector<std::string_view> asked_;
  Status status_;
};

/// Returns the object that a JSON file holds. DataError naming `name` if the file is not JSON, is
/// no object, or is larger than kMaxSmallFileBytes.
Result<nlohmann::json> ParseJsonObject(std::span<const uint8_t> file, const std::string& name);

/// Returns `value` as text with a line for each field and one for a list of numbers, and a newline
/// at the end. Equal values give the same bytes, and numbers read back exactly.
std::string PrintJson(nlohmann::ordered_json value);

}  // namespace sti
