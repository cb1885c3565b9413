#include "import/added_tokens.h"

#include <charconv>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "import/folder_file.h"

namespace sti {
namespace {

using Json = nlohmann::json;

/// Judges one added token after another.
class AddedTokens {
 public:
  AddedTokens(std::string_view vocabulary_text, const SpecialNames& names) {
    for (const std::string* name : {&names.unknown, &names.cls, &names.sep, &names.pad, &names.mask,
                                    &names.begin, &names.end}) {
      control_ids_.emplace(*name, std::nullopt);
    }
    uint64_t id = 0;
    ForEachLine(vocabulary_text, [&](std::string_view line) {
      if (const auto found = control_ids_.find(line); found != control_ids_.end()) {
        found->second = id;
      }
      ++id;
    });
  }

  /// Checks the tokens of one file, under any of the keys that name them.
  [[nodiscard]] Status CheckFile(const std::string& path) const {
    if (!IsFile(path)) return {};
    STI_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
    const ObjectReader reader(path, json);
    if (path.ends_with("/added_tokens.json")) return CheckIds(reader, json);
    for (const char* key : {"additional_special_tokens", "extra_special_tokens", "added_tokens"}) {
      const Json* list = reader.Find(key);
      if (list == nullptr) continue;
      if (!list->is_array() && !list->is_object()) {
        return reader.Bad(std::string(key) + " is no list of tokens; get a sound copy");
      }
      for (const Json& token : *list) STI_RETURN_IF_ERROR(CheckToken(reader, token));
    }
    const Json* decoder = reader.Find("added_tokens_decoder");
    return decoder == nullptr ? Status() : CheckDecoder(reader, *decoder);
  }

 private:
  // {"[E1]": 30522}
  [[nodiscard]] Status CheckIds(const ObjectReader& reader, const Json& ids) const {
    for (const auto& [name, id] : ids.items()) {
      STI_RETURN_IF_ERROR(Check(reader, name, IdOf(id)));
    }
    return {};
  }

  // {"30522": {"content": "[E1]"}}
  [[nodiscard]] Status CheckDecoder(const ObjectReader& reader, const Json& decoder) const {
    if (!decoder.is_object()) {
      return reader.Bad("added_tokens_decoder is not an object; get a sound copy");
    }
    for (const auto& [key, token] : decoder.items()) {
      uint64_t id = 0;
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
      if (error != std::errc() || end != key.data() + key.size()) {
        return reader.Bad("added_tokens_decoder has an id that is no number; get a sound copy");
      }
      STI_RETURN_IF_ERROR(CheckToken(reader, token, id));
    }
    return {};
  }

  // "[E1]", or {"content": "[E1]", "id": 30522} with an id or without
  [[nodiscard]] Status CheckToken(const ObjectReader& reader, const Json& token,
                                  std::optional<uint64_t> id = {}) const {
    if (token.is_string()) return Check(reader, token.get_ref<const std::string&>(), id);
    if (!token.is_object() || !token.contains("content") || !token["content"].is_string()) {
      return reader.Bad("an added token has no content; get a sound copy");
    }
    if (!id && token.contains("id")) id = IdOf(token["id"]);
    return Check(reader, token["content"].get_ref<const std::string&>(), id);
  }

  // No id of a vocabulary is as large as what stands for one that is no number.
  static uint64_t IdOf(const Json& id) {
    return id.is_number_unsigned() ? id.get<uint64_t>() : UINT64_MAX;
  }

  [[nodiscard]] Status Check(const ObjectReader& reader, const std::string& name,
                             std::optional<uint64_t> id) const {
    const auto control = control_ids_.find(name);
    if (control == control_ids_.end()) {
      return reader.Unsupported("token \"" + name +
                                "\" was added to the vocabulary, and text is not searched for "
                                "added tokens; use a model without them");
    }
    if (!id || !control->second || *id == *control->second) return {};
    return reader.Bad("token \"" + name + "\" does not have its id of the vocabulary, " +
                      std::to_string(*control->second) + "; use the files of one model");
  }

  std::map<std::string, std::optional<uint64_t>, std::less<>> control_ids_;
};

}  // namespace

Status CheckAddedTokens(const std::string& dir, std::string_view vocabulary_text,
                        const SpecialNames& names) {
  const AddedTokens tokens(vocabulary_text, names);
  for (const char* name : {"/added_tokens.json", "/special_tokens_map.json",
                           "/tokenizer_config.json", "/tokenizer.json"}) {
    STI_RETURN_IF_ERROR(tokens.CheckFile(dir + name));
  }
  return {};
}

}  // namespace sti
