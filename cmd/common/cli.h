// CLI11, and what this project adds to it. It is costly to compile, so only the files that declare
// options include this header; all others see `Tool` (common/tool.h).
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/result.h"

namespace sti {

/// Adds an option whose value one of common/parse.h's functions reads into `target`. A value that
/// it refuses ends parsing with its message, as an error of usage.
template <typename T, typename Parse>
CLI::Option* AddParsed(CLI::App& app, const std::string& flags, T& target, Parse parse,
                       const std::string& help) {
  return app
      .add_option_function<std::string>(
          flags,
          [&target, parse, flags](const std::string& text) {
            auto value = parse(text);
            if (!value.ok()) throw CLI::ValidationError(flags, value.error().Message());
            target = *value;
          },
          help)
      ->type_name("");
}

}  // namespace sti
