// Answers of sti-run on stdout, for people and for machines.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/session.h"
#include "link/frame.h"
#include "options.h"

namespace sti {

/// A pass that went through the stages of a plan.
struct StagedRun {
  std::span<const PlanStage> stages;
  std::span<const StageTook> took;  ///< of each of them
  uint64_t pass = 0;                ///< counted from 0
};

/// Prints one object a line, whose fields programs build on: fields are added, none is renamed.
/// `text` is as it came in. `waited_us`: before the model took it, where it is one of several,
/// whose name is in the options. `staged`:
/// the pass of the text, where several devices ran it.
void PrintJson(const RunOptions& options, const std::string& text, const Answer& answer,
               const ModelInfo& info, std::optional<double> waited_us = {},
               const StagedRun* staged = nullptr);

/// label TAB score TAB text; of one of several models after its name and a TAB. Of a multi-label
/// model: all that reach the threshold with commas between them, or "-" if none does, and the
/// highest score. Of a model of one label: that label and its score, whatever it is, since what it
/// is asked for is the score. Of a model that embeds: the vector's numbers, with spaces between. A
/// model that labels tokens has label TAB span for each span, with tabs between, or "-"; one that
/// continues texts has what it made, as PrintMade does.
void PrintPlain(const std::string& name, const std::string& text, const Answer& answer,
                const ModelInfo& info);

/// Prints a part of a continuation, before its answer is whole: newlines, tabs and backslashes as
/// \n, \t and \\, so that an answer is a line.
void PrintMade(std::string_view text);

/// An input that cannot be used has its own line and ends nothing. `name` is that of its model
/// among several, empty if it is the only one.
void PrintUnusable(bool json, const std::string& name, const std::string& text, const Error& error);

/// A line that names none of several models has its own line too, with null for the model in JSON.
void PrintUnnamed(bool json, const std::string& line, const Error& error);

/// Times, bytes and memory of one input, for --stats: a line, then one a layer, each with what the
/// plan counted on where it says that.
std::vector<std::string> DescribeRun(const Answer& answer);

}  // namespace sti
