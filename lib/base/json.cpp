#include "base/json.h"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/remedy.h"

namespace sti {
namespace {

using Json = nlohmann::json;

// Memory that values take beside their own characters, with what an allocation costs: at least what
// a 64-bit libstdc++ needs.
constexpr uint64_t kItemBytes = 3 * sizeof(Json);  // a list that grows has old and new places
constexpr uint64_t kContainerBytes = 80;           // an empty object or list
constexpr uint64_t kStringBytes = 64;
constexpr uint64_t kMemberBytes = 128;  // a node of an object's tree, and its key

// Takes the parser's events, and puts values together while there is memory for them.
class Builder {
 public:
  Builder(uint64_t memory, EqualNames equal_names) : left_(memory), equal_names_(equal_names) {}

  [[nodiscard]] std::string fault() const {
    if (fault_at_ == 0) return fault_;
    return fault_ + std::string(" at byte ") + std::to_string(fault_at_) + reason_;
  }
  [[nodiscard]] bool too_large() const { return too_large_; }
  Json TakeRoot() { return std::move(root_); }

  bool null() { return Add(nullptr) != nullptr; }
  bool boolean(bool value) { return Add(value) != nullptr; }
  bool number_integer(int64_t value) { return Add(value) != nullptr; }
  bool number_unsigned(uint64_t value) { return Add(value) != nullptr; }
  bool number_float(double value, const std::string& /*text*/) { return Add(value) != nullptr; }
  bool string(std::string& value) {
    return Take(kStringBytes + value.size()) && Add(std::move(value)) != nullptr;
  }
  bool binary(Json::binary_t& /*value*/) { return false; }  // JSON has none
  bool start_object(size_t /*size*/) { return Open(Json::object()); }
  bool start_array(size_t /*size*/) { return Open(Json::array()); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }
  bool key(std::string& name) {
    if (!Take(kMemberBytes + name.size())) return false;
    if (equal_names_ == EqualNames::kRefused && open_.back()->contains(name)) {
      fault_ = "JSON with a name that stands twice";
      return false;
    }
    member_ = &(*open_.back())[std::move(name)];
    return true;
  }
  bool parse_error(size_t at, const std::string& last, const Json::exception& error) {
    fault_at_ = at;
    if (std::string_view(error.what()).find("surrogate") != std::string_view::npos) {
      reason_ = ", half of a surrogate pair";
    } else if (last.find("NaN") != std::string::npos || last.ends_with('N') ||
               last.ends_with('I')) {
      reason_ = ", where NaN and Infinity are no numbers";
    }
    return false;
  }

 private:
  bool Take(uint64_t bytes) {
    if (bytes > left_) {
      fault_ = "JSON whose values take too much memory";
      too_large_ = true;
      return false;
    }
    left_ -= bytes;
    return true;
  }

  // Puts a value where it belongs; of equal names the last counts. Null if there is no memory.
  Json* Add(Json value) {
    if (!Take(kItemBytes)) return nullptr;
    if (open_.empty()) return &(root_ = std::move(value));
    if (open_.back()->is_object()) return &(*member_ = std::move(value));
    return &open_.back()->emplace_back(std::move(value));
  }

  bool Open(Json empty) {
    if (open_.size() == kMaxJsonDepth) {
      fault_ = "JSON nested too deep";
      return false;
    }
    if (!Take(kContainerBytes)) return false;
    Json* const added = Add(std::move(empty));
    if (added != nullptr) open_.push_back(added);
    return added != nullptr;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  uint64_t left_;
  EqualNames equal_names_;
  bool too_large_ = false;
  size_t fault_at_ = 0;  ///< the byte, from 1, at which the text is no JSON any more; 0: another
  const char* fault_ = "not well-formed JSON";
  const char* reason_ = "";  ///< of it, behind a comma, where it has a name
  Json root_;
  std::vector<Json*> open_;  ///< objects and lists around the next value
  Json* member_ = nullptr;   ///< of the innermost object
};

}  // namespace

Result<Json> ParseJson(std::string_view text, uint64_t memory, EqualNames equal_names) {
  if (HasNulByte(text))
    return DataError("not well-formed JSON, which has no NUL byte").Fix(Remedy::kCorrectFile);
  Builder builder(memory, equal_names);
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) {
    return DataError(builder.fault())
        .Fix(builder.too_large() ? Remedy::kUseBinaryForm : Remedy::kCorrectFile);
  }
  return builder.TakeRoot();
}

bool JsonIsTooDeep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '[' || c == '{')) {
      if (++depth > kMaxJsonDepth) return true;
    } else if (!quoted && (c == ']' || c == '}')) {
      --depth;
    }
  }
  return false;
}

bool HasNulByte(std::string_view text) { return text.find('\0') != std::string_view::npos; }

}  // namespace sti
