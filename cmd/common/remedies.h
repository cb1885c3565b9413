// An error of the library has a kind and a remedy, and names neither a tool nor an option. This
// file says what the tools make of it: an exit code, and one line for a person that ends in what to
// do, in the names of the tools and their options.
#pragma once

#include <string>

#include "base/log.h"
#include "base/result.h"

namespace sti {

/// Returns the exit code of a tool that ends with an error of `kind`: 1 where the machine is to
/// blame, 2 the caller, 3 the data, and 4 where the request cannot be met.
int ExitCode(ErrorKind kind);

/// The files that a tool was given, by what they are; empty where it was not.
struct InputFiles {
  std::string model;
  std::string profile;
  std::string importance;
  std::string plan;
};

/// Returns an error about one of the inputs as one about the file that it came from.
Error Named(Error error, const InputFiles& files);

/// Returns "where: what; what to do", without the tool's own name.
std::string LineFor(const Error& error);
/// Returns "what; what to do".
std::string LineFor(const LogLine& line);

}  // namespace sti
