// Writes an object in JSON piece by piece, so that the values of a large one need not be there all
// at once: the tree of an importance of 64 MiB would take a gigabyte, and its text half of that.
// Internal to lib/format.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace sti {

/// Takes the next piece of a text, which is no more there afterwards.
using TextSink = std::function<void(std::string_view)>;

/// Writes the fields of one object as PrintJson would write it whole. One thread at a time; `sink`
/// outlives it.
class JsonWriter {
 public:
  explicit JsonWriter(const TextSink& sink) : sink_(sink) {}

  void Field(const char* key, nlohmann::ordered_json value);
  /// Writes a list of `count` objects or lists, of which `item` makes one at a time.
  void List(const char* key, size_t count,
            const std::function<nlohmann::ordered_json(size_t)>& item);
  /// Closes the object, which has at least one field.
  void End();

 private:
  void Open(const char* key);

  const TextSink& sink_;
  bool first_ = true;
};

}  // namespace sti
