// The JSON spelling of values that have a description (types/fields.h): a visitor that reads the
// fields of an object, and one that writes them. Internal to lib/format; one thread at a time.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "format/json_fields.h"
#include "types/fields.h"
#include "types/grid.h"

namespace sti {

/// Reads members out of the fields of an object, which keep what is wrong. A member stays as it is
/// where its field is missing.
class JsonFieldReader {
 public:
  explicit JsonFieldReader(JsonFields& fields) : fields_(fields) {}

  template <typename T>
  void operator()(const Field& field, T& value) {
    fields_.Get(field.name, NeedOf(field), &value);
  }
  template <typename T>
  void operator()(const Field& field, std::vector<T>& list) {
    if constexpr (std::is_arithmetic_v<T>) {
      fields_.Get(field.name, NeedOf(field), &list);
      if (field.spelled == Spelled::kOrNull) fields_.RefuseEmpty({field.name});
    } else {
      fields_.ForEach(field.name, NeedOf(field), [&](JsonFields& item) {
        CheckCount(field, item, list.size() + 1);
        JsonFieldReader reader(item);
        Fields(reader, list.emplace_back());
      });
    }
  }
  template <typename T>
  void operator()(const Field& field, std::optional<T>& value) {
    if constexpr (std::is_same_v<T, double>) {
      fields_.Get(field.name, NeedOf(field), &value);
      if (field.rule.zero_is_nothing) value = UnlessZero(value.value_or(0));
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      T stored{};
      fields_.Get(field.name, NeedOf(field), &stored);
      value = UnlessZero(stored);
    } else {
      fields_.Within(field.name, NeedOf(field), [&](JsonFields& item) {
        JsonFieldReader reader(item);
        Fields(reader, value.emplace());
      });
    }
  }
  void Rows(const Field& first, Grid<uint32_t>& firsts, const Field& second,
            Grid<uint32_t>& seconds) {
    (*this)(first, firsts);
    (*this)(second, seconds);
  }

 private:
  static Need NeedOf(const Field& field) {
    return field.spelled == Spelled::kRequired ? Need::kRequired : Need::kOptional;
  }
  static void CheckCount(const Field& field, JsonFields& item, size_t expected);

  JsonFields& fields_;
};

/// Writes members as fields of an object, in the order of the description.
class JsonFieldWriter {
 public:
  using Json = nlohmann::ordered_json;

  explicit JsonFieldWriter(Json& object) : object_(object) {}

  void operator()(const Field& field, double number) { Number(field, number); }
  void operator()(const Field& field, uint64_t number) { Number(field, number); }
  void operator()(const Field& field, uint32_t number) { Number(field, number); }
  void operator()(const Field& field, bool holds) {
    Put(field, holds == (field.rule.left_out != 0), holds);
  }
  void operator()(const Field& field, const Digest& digest);
  void operator()(const Field& field, const std::string& text) { Put(field, text.empty(), text); }
  void operator()(const Field& field, const Grid<uint32_t>& grid);
  template <typename T>
  void operator()(const Field& field, const std::optional<T>& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      if (field.rule.zero_is_nothing) return (*this)(field, value.value_or(T()));
    }
    Put(field, !value, value ? SpellingOf(*value) : Json());
  }
  template <typename T>
  void operator()(const Field& field, const std::vector<T>& list) {
    Json items = Json::array();
    for (const T& item : list) {
      Json start;
      if (field.rule.counted != nullptr) start[field.rule.counted] = items.size() + 1;
      items.push_back(SpellingOf(item, std::move(start)));
    }
    Put(field, list.empty(), std::move(items));
  }
  void Rows(const Field& first, const Grid<uint32_t>& firsts, const Field& second,
            const Grid<uint32_t>& seconds) {
    (*this)(first, firsts);
    (*this)(second, seconds);
  }

 private:
  /// Returns a number, or the fields of a described value behind those of `object`.
  template <typename T>
  static Json SpellingOf(const T& value, Json object = {}) {
    if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return value;
    } else {
      JsonFieldWriter speller(object);
      Fields(speller, value);
      return object;
    }
  }
  template <typename T>
  void Number(const Field& field, T number) {
    Put(field, static_cast<double>(number) == field.rule.left_out, number);
  }
  void Put(const Field& field, bool nothing, Json value);

  Json& object_;
};

}  // namespace sti
