// The parts that a model folder lacks, and what the person who gave it can do. Each error here
// names what is there instead: a link into nothing, weights of another format, tensors under other
// names, an encoder without its classifier.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "import/weight_file.h"
#include "network/families.h"

namespace sti {

/// Returns an error if `path` is no folder: it is missing, a file, a link into nothing, or hidden
/// from this user. `whose` is what it should hold: "a model", "a tokenizer".
Status CheckFolder(const std::string& path, const std::string& whose);

/// Returns the error that a file of the folder is not there: `otherwise`, unless a link of its name
/// leads nowhere or the user may not look.
Error MissingFile(const std::string& path, Error otherwise);

/// Returns the error that a folder has no weights that are read.
Error MissingWeights(const std::string& dir, const Family& family);

/// Returns the error that none of `files` has a tensor of this name, whose shape would be `shape`.
/// `is_head` says that it is of the classifier.
Error MissingTensor(const std::string& dir, std::span<const WeightFile> files,
                    const std::string& name, const std::string& shape, bool is_head);

}  // namespace sti
