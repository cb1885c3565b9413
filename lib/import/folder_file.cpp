#include "import/folder_file.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/json_parse.h"
#include "base/remedy.h"

namespace sti {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kMaxJsonBytes = uint64_t{64} << 20;

}  // namespace

bool IsFile(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

Status CheckFetched(const std::string& path, std::string_view bytes) {
  if (!bytes.starts_with("version https://git-lfs.github.com/spec/")) return {};
  return ForeignError("a pointer of git-lfs in place of the file")
      .At(path)
      .Fix(Remedy::kFetchLargeFile);
}

Result<std::string> ReadSmallFile(const std::string& path, uint64_t max_bytes) {
  std::error_code ignored;
  if (std::filesystem::is_fifo(path, ignored))  // to open it would wait for a writer
    return NoSuchFileError("not a regular file").At(path);
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file && !IsFile(path))
    return NoSuchFileError("no such file; give the folder whole").At(path);
  if (!file) return MachineError("cannot open; may it be read?").At(path);
  const auto size = static_cast<std::streamoff>(file.tellg());
  if (size < 0) return MachineError("cannot tell its size; check the path").At(path);
  if (static_cast<uint64_t>(size) > max_bytes) {
    return DataError(std::to_string(size) + " bytes, more than the " + std::to_string(max_bytes) +
                     " allowed; is it the right file?")
        .At(path);
  }
  std::string text(static_cast<size_t>(size), '\0');
  file.seekg(0);
  file.read(text.data(), size);
  if (!file) return Error{ErrorKind::kReadFailed, "cannot read; check the disk"}.At(path);
  STI_RETURN_IF_ERROR(CheckFetched(path, text));
  return text;
}

Result<Json> ReadJsonFile(const std::string& path) {
  STI_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, kMaxJsonBytes));
  auto json = ParseJson(text);
  if (!json.ok()) return DataError(json.error().what + "; get a sound copy").At(path);
  if (!json->is_object()) return DataError("not a JSON object; get a sound copy").At(path);
  return json;
}

bool ObjectReader::Has(const char* key) const { return object_.contains(key); }

const Json* ObjectReader::Find(const char* key) const {
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

Error ObjectReader::Bad(const std::string& what) const { return DataError(what).At(path_); }

Error ObjectReader::Unsupported(const std::string& what) const {
  return ForeignError(what).At(path_);
}

Result<uint32_t> ObjectReader::Number(const char* key, uint32_t low, uint32_t high,
                                      std::optional<uint32_t> otherwise) const {
  const Json* value = Find(key);
  if (value == nullptr && otherwise) return *otherwise;
  if (value == nullptr) return Bad(std::string("no ") + key + "; get a complete copy");
  if (value->is_number_unsigned()) {
    const auto number = value->get<uint64_t>();
    if (number >= low && number <= high) return static_cast<uint32_t>(number);
  }
  return Bad(std::string(key) + " is not a whole number from " + std::to_string(low) + " to " +
             std::to_string(high) + "; such a model is not supported");
}

Result<double> ObjectReader::Real(const char* key, double otherwise) const {
  const Json* value = Find(key);
  if (value == nullptr) return otherwise;
  if (value->is_number()) return value->get<double>();
  return Bad(std::string(key) + " is not a number; mend the file");
}

Result<std::string> ObjectReader::String(const char* key, const std::string& otherwise) const {
  const Json* value = Find(key);
  if (value == nullptr) return otherwise;
  if (value->is_string()) return value->get<std::string>();
  return Bad(std::string(key) + " is not a string; mend the file");
}

Result<std::optional<bool>> ObjectReader::Bool(const char* key) const {
  const Json* value = Find(key);
  if (value == nullptr) return std::optional<bool>();
  if (value->is_boolean()) return std::optional<bool>(value->get<bool>());
  return Bad(std::string(key) + " is neither true nor false; mend the file");
}

}  // namespace sti
