// Outputs that tools refuse before their work: one that is one of the inputs would replace it
// without a word, and one that cannot be written would cost the work.
#pragma once

#include <string>

#include "base/result.h"

namespace sti {

/// An option that names a file to write, and that file; none if it is empty.
struct Output {
  std::string option;  ///< "-o"
  std::string path;
};

/// Returns why nothing can be written there, before the work whose result it is to hold.
Status CheckOutput(const Output& output);

/// Returns kUsage if the output and `input` are the same file, by whatever names; `role` says what
/// the input is ("the model"). stdin and stdout ("-") are no files.
Status CheckKeepsInput(const Output& output, const std::string& input, const std::string& role);

/// Returns kUsage if the output is one of the files in `folder`.
Status CheckKeepsFolder(const Output& output, const std::string& folder, const std::string& role);

}  // namespace sti
