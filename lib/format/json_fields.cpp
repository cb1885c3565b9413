#include "format/json_fields.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/remedy.h"
#include "format/framed_file.h"

namespace sti {
namespace {

using Json = nlohmann::json;

constexpr double kExactIntegers = 9007199254740992.0;  // 2^53

bool Read(const Json& value, double* out) {
  if (!value.is_number()) return false;
  *out = value.get<double>();
  return std::isfinite(*out);
}

bool Read(const Json& value, uint64_t* out) {
  if (value.is_number_unsigned()) {
    *out = value.get<uint64_t>();
    return true;
  }
  if (value.is_number_integer()) {  // signed, so negative, or -0
    *out = 0;
    return value.get<int64_t>() == 0;
  }
  double number = 0;
  if (!value.is_number_float() || !Read(value, &number)) return false;
  if (number < 0 || number > kExactIntegers || number != std::floor(number)) return false;
  *out = static_cast<uint64_t>(number);
  return true;
}

bool Read(const Json& value, uint32_t* out) {
  uint64_t number = 0;
  if (!Read(value, &number) || number > std::numeric_limits<uint32_t>::max()) return false;
  *out = static_cast<uint32_t>(number);
  return true;
}

template <typename Number>
bool ReadList(const Json& list, std::vector<Number>* out) {
  if (!list.is_array()) return false;
  out->clear();
  out->reserve(list.size());
  for (const Json& item : list) {
    Number number{};
    if (!Read(item, &number)) return false;
    out->push_back(number);
  }
  return true;
}

template <typename Number>
bool ReadNestedList(const Json& list, std::vector<std::vector<Number>>* out) {
  if (!list.is_array()) return false;
  out->clear();
  for (const Json& row : list) {
    if (!ReadList(row, &out->emplace_back())) return false;
  }
  return true;
}

template <typename Number>
constexpr const char* kKind = "a whole number that is not negative";
template <>
constexpr const char* kKind<double> = "a finite number";

}  // namespace

JsonFields::JsonFields(const Json& object, std::string where, UnknownKeys* unknown,
                       std::string path)
    : object_(object), where_(std::move(where)), unknown_(unknown), path_(std::move(path)) {
  if (!object_.is_object()) Fail("is not a JSON object");
}

void JsonFields::Fail(const std::string& problem) {
  if (status_.ok()) status_ = DataError(problem).At(where_).Fix(Remedy::kCorrectFile);
}

const Json* JsonFields::Find(const char* key, Need need) {
  if (!status_.ok()) return nullptr;
  if (unknown_ != nullptr) asked_.emplace_back(key);
  auto found = object_.find(key);
  if (found != object_.end() && !found->is_null()) return &*found;
  if (need == Need::kRequired) Fail(std::string(key) + " is missing");
  return nullptr;
}

bool JsonFields::Has(const char* key) const {
  if (unknown_ != nullptr) asked_.emplace_back(key);
  auto found = object_.is_object() ? object_.find(key) : object_.end();
  return found != object_.end() && !found->is_null();
}

void JsonFields::NoteUnknown() const {
  if (unknown_ == nullptr || !status_.ok()) return;
  for (const auto& [key, value] : object_.items()) {
    if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) unknown_->Add(path_ + key);
  }
}

void JsonFields::RefuseEmpty(std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (status_.ok() && Has(key) && object_[key].is_array() && object_[key].empty())
      Fail(std::string(key) + " is an empty list");
  }
}

void JsonFields::Get(const char* key, Need need, std::string* out) {
  const Json* value = Find(key, need);
  if (value == nullptr) return;
  if (!value->is_string()) return Fail(std::string(key) + " is not text");
  *out = value->get<std::string>();
}

void JsonFields::Get(const char* key, Need need, bool* out) {
  const Json* value = Find(key, need);
  if (value == nullptr) return;
  if (!value->is_boolean()) return Fail(std::string(key) + " is not true or false");
  *out = value->get<bool>();
}

void JsonFields::Get(const char* key, Need need, double* out) {
  const Json* value = Find(key, need);
  if (value != nullptr && !Read(*value, out)) Fail(std::string(key) + " is not " + kKind<double>);
}

void JsonFields::Get(const char* key, Need need, uint64_t* out) {
  const Json* value = Find(key, need);
  if (value != nullptr && !Read(*value, out)) Fail(std::string(key) + " is not " + kKind<uint64_t>);
}

void JsonFields::Get(const char* key, Need need, uint32_t* out) {
  const Json* value = Find(key, need);
  if (value != nullptr && !Read(*value, out)) Fail(std::string(key) + " is not " + kKind<uint32_t>);
}

void JsonFields::Get(const char* key, Need need, Digest* out) {
  std::string hex;
  Get(key, need, &hex);
  if (!status_.ok() || !Has(key)) return;
  Result<Digest> digest = ParseDigest(hex);
  if (!digest.ok()) return Fail(std::string(key) + " is not 32 hexadecimal digits");
  *out = *digest;
}

void JsonFields::Get(const char* key, Need need, std::optional<double>* out) {
  double number = 0;
  if (Find(key, need) == nullptr) return;
  Get(key, need, &number);
  *out = number;
}

template <typename Number>
void JsonFields::GetList(const char* key, Need need, std::vector<Number>* out) {
  const Json* value = Find(key, need);
  if (value != nullptr && !ReadList(*value, out))
    Fail(std::string(key) + " is not a list, each item " + kKind<Number>);
}

template <typename Number>
bool JsonFields::GetRows(const char* key, Need need, std::vector<std::vector<Number>>* out) {
  const Json* value = Find(key, need);
  if (value == nullptr) return false;
  if (ReadNestedList(*value, out)) return true;
  Fail(std::string(key) + " is not a list of lists, each item " + kKind<Number>);
  return false;
}

void JsonFields::Get(const char* key, Need need, std::vector<double>* out) {
  GetList(key, need, out);
}
void JsonFields::Get(const char* key, Need need, std::vector<uint32_t>* out) {
  GetList(key, need, out);
}
void JsonFields::Get(const char* key, Need need, std::vector<std::vector<double>>* out) {
  GetRows(key, need, out);
}
void JsonFields::Get(const char* key, Need need, std::vector<std::vector<uint32_t>>* out) {
  GetRows(key, need, out);
}
void JsonFields::Get(const char* key, Need need, Grid<uint32_t>* out) {
  std::vector<std::vector<uint32_t>> rows;
  if (!GetRows(key, need, &rows)) return;
  auto grid = Grid<uint32_t>::FromRows(rows);
  if (!grid) return Fail(std::string(key) + " has rows that differ in length");
  *out = std::move(*grid);
}

void JsonFields::ForEach(const char* key, Need need, const std::function<void(JsonFields&)>& read) {
  const Json* list = Find(key, need);
  if (list == nullptr) return;
  if (!list->is_array()) return Fail(std::string(key) + " is not a list");
  for (size_t i = 0; i < list->size() && status_.ok(); ++i) {
    JsonFields item((*list)[i], where_ + ": " + key + "[" + std::to_string(i) + "]", unknown_,
                    path_ + key + "[].");
    if (item.status().ok()) read(item);
    item.NoteUnknown();
    status_ = item.status();
  }
}

void JsonFields::Within(const char* key, Need need, const std::function<void(JsonFields&)>& read) {
  const Json* object = Find(key, need);
  if (object == nullptr) return;
  JsonFields inner(*object, where_ + ": " + key, unknown_, path_ + key + ".");
  if (inner.status().ok()) read(inner);
  inner.NoteUnknown();
  status_ = inner.status();
}

Result<Json> ParseJsonObject(std::span<const uint8_t> file, const std::string& name) {
  if (file.size() > kMaxSmallFileBytes)
    return ForeignError("larger than 64 MiB; this is not such a file, give another").At(name);
  auto value = ParseJson({reinterpret_cast<const char*>(file.data()), file.size()});
  if (!value.ok()) return Error(value.error()).At(name);
  if (!value->is_object()) return DataError("not a JSON object").At(name).Fix(Remedy::kCorrectFile);
  return value;
}

}  // namespace sti
