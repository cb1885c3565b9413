#include "import/tokenizer_parts.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "types/limits.h"

namespace sti {
namespace {

using Json = nlohmann::json;

/// The name of a control token: a string, or an object with `content`.
Status ReadName(const ObjectReader& reader, const char* key, std::string* name) {
  const Json* value = reader.Find(key);
  if (value == nullptr) return {};
  if (value->is_object() && value->contains("content")) value = &(*value)["content"];
  if (!value->is_string()) return reader.Bad(std::string(key) + " is no token; mend the file");
  *name = value->get<std::string>();
  return {};
}

}  // namespace

Result<std::string> VocabularyText(const ObjectReader& reader, const Json& vocabulary,
                                   const char* key, const Json& added) {
  if (!vocabulary.is_object()) {
    return reader.Bad(std::string(key) + " is not an object; get a sound copy");
  }
  std::vector<const std::string*> tokens(vocabulary.size() + added.size(), nullptr);
  for (const Json* part : {&vocabulary, &added}) {
    for (auto item = part->begin(); item != part->end(); ++item) {
      const uint64_t id = item->is_number_unsigned() ? item->get<uint64_t>() : tokens.size();
      if (id >= tokens.size() || tokens[id] != nullptr) {
        return reader.Bad(std::string(key) +
                          " has ids that do not count from 0 without gaps; get a sound copy");
      }
      if (item.key().find('\n') != std::string::npos || item.key().ends_with('\r')) {
        return reader.Unsupported("token " + std::to_string(id) +
                                  " holds a line end; not supported");
      }
      tokens[id] = &item.key();
    }
  }
  std::string text;
  for (const std::string* token : tokens) (text += *token) += '\n';
  if (text.size() <= kMaxTextBytes) return text;
  return reader.Bad(std::string(key) + " has more than 64 MiB of tokens; is it the right file?");
}

Status CheckClass(const ObjectReader& reader, std::initializer_list<std::string_view> known) {
  STI_ASSIGN_OR_RETURN(const std::string name, reader.String("tokenizer_class", ""));
  if (name.empty() || std::find(known.begin(), known.end(), name) != known.end()) return {};
  return reader.Unsupported("tokenizer_class is \"" + name + "\"; for this model only " +
                            std::string(*known.begin()) + " is supported");
}

Status ReadSpecialNames(const ObjectReader& reader, SpecialNames* names) {
  STI_RETURN_IF_ERROR(ReadName(reader, "unk_token", &names->unknown));
  STI_RETURN_IF_ERROR(ReadName(reader, "cls_token", &names->cls));
  STI_RETURN_IF_ERROR(ReadName(reader, "sep_token", &names->sep));
  STI_RETURN_IF_ERROR(ReadName(reader, "mask_token", &names->mask));
  STI_RETURN_IF_ERROR(ReadName(reader, "bos_token", &names->begin));
  STI_RETURN_IF_ERROR(ReadName(reader, "eos_token", &names->end));
  return ReadName(reader, "pad_token", &names->pad);
}

Status ReadSpecialMap(const std::string& dir, SpecialNames* names) {
  const std::string path = dir + "/special_tokens_map.json";
  if (!IsFile(path)) return {};
  STI_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
  return ReadSpecialNames(ObjectReader(path, json), names);
}

Status FindSpecialTokens(const std::string& path, std::string_view text, const SpecialNames& names,
                         uint32_t max_tokens, TokenizerInfo* info) {
  std::optional<uint32_t> unknown, cls, sep, pad;
  uint32_t id = 0;
  ForEachLine(text, [&](std::string_view line) {
    if (line == names.unknown) unknown = id;
    if (line == names.cls) cls = id;
    if (line == names.sep) sep = id;
    if (line == names.pad) pad = id;
    ++id;
  });
  if (id > max_tokens) {
    return DataError(std::to_string(id) + " tokens, but vocab_size is " +
                     std::to_string(max_tokens) + "; use the vocabulary of this model")
        .At(path);
  }
  for (const auto& [found, name] :
       {std::pair{unknown, names.unknown}, std::pair{cls, names.cls}, std::pair{sep, names.sep}}) {
    if (found) continue;
    return DataError("no token " + std::string(name) + "; use the vocabulary of this model")
        .At(path);
  }
  info->unknown_id = *unknown;
  info->cls_id = *cls;
  info->sep_id = *sep;
  if (pad) info->pad_id = *pad;
  return {};
}

}  // namespace sti
