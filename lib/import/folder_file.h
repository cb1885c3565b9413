// The files of a model folder: the small ones, which are text, and JSON whose every value is
// checked; and what an error says where one is missing. That names what is there instead: a link
// into nothing, weights of another format, tensors under other names, an encoder without its
// classifier.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "import/weight_file.h"
#include "network/families.h"

namespace sti {

/// Returns whether `path` names a regular file.
bool IsFile(const std::string& path);

/// Returns a ForeignError if `bytes`, those of the file at `path`, begin as a pointer of git-lfs
/// does: a few lines of text that stand in a working copy for a large file until it is fetched.
Status CheckFetched(const std::string& path, std::string_view bytes);

/// Returns the bytes of a file of at most `max_bytes`. Errors: kNoSuchFile, kMachine or kReadFailed
/// if it cannot be read, kDamaged if it is longer, and those of CheckFetched.
Result<std::string> ReadSmallFile(const std::string& path, uint64_t max_bytes);

/// Parses a file of at most 64 MiB whose content is a JSON object of at most 64 levels; DataError
/// if it is not.
Result<nlohmann::json> ReadJsonFile(const std::string& path);

/// Does so for a file whose content is a JSON list.
Result<nlohmann::json> ReadJsonListFile(const std::string& path);

/// Typed values of a JSON object, with errors that name the file and the key. Refers to both, so
/// neither may go away first. Thread-safe.
class ObjectReader {
 public:
  ObjectReader(const std::string& path, const nlohmann::json& object)
      : path_(path), object_(object) {}

  /// Returns whether there is a value at `key`, be it null.
  [[nodiscard]] bool Has(const char* key) const;
  /// Returns the value at `key`; null if there is none or it is null.
  [[nodiscard]] const nlohmann::json* Find(const char* key) const;

  /// Returns a whole number in [low, high]. Without a value `otherwise`, or an error if that is
  /// empty.
  [[nodiscard]] Result<uint32_t> Number(const char* key, uint32_t low, uint32_t high,
                                        std::optional<uint32_t> otherwise = {}) const;
  [[nodiscard]] Result<double> Real(const char* key, double otherwise) const;
  [[nodiscard]] Result<std::string> String(const char* key, const std::string& otherwise) const;
  [[nodiscard]] Result<std::optional<bool>> Bool(const char* key) const;

  /// Returns a reader of another object of this file.
  [[nodiscard]] ObjectReader At(const nlohmann::json& object) const { return {path_, object}; }

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Returns a DataError, "PATH: what".
  [[nodiscard]] Error Bad(const std::string& what) const;
  /// Returns a ForeignError, "PATH: what": the file is sound, and of a kind that is not read.
  [[nodiscard]] Error Unsupported(const std::string& what) const;

 private:
  const std::string& path_;
  const nlohmann::json& object_;
};

/// Returns an error if `path` is no folder: it is missing, a file, a link into nothing, or hidden
/// from this user. `whose` is what it should hold: "a model", "a tokenizer".
Status CheckFolder(const std::string& path, const std::string& whose);

/// Returns the error that a file of the folder is not there: `otherwise`, unless a link of its name
/// leads nowhere or the user may not look.
Error MissingFile(const std::string& path, Error otherwise);

/// Returns the error that a folder has no weights that are read; `model_class` is the class of
/// transformers that loads its model.
Error MissingWeights(const std::string& dir, const std::string& model_class);

/// Returns the error that none of `files` has a tensor of this name, whose shape would be `shape`.
/// `is_head` says that it is of the classifier.
Error MissingTensor(const std::string& dir, std::span<const WeightFile> files,
                    const std::string& name, const std::string& shape, bool is_head);

}  // namespace sti
