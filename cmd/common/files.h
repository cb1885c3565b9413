// The files of a tool: those that it is given, which are opened and must belong together, and those
// that it makes, which are refused before the work where they would replace an input or cannot be
// written.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "common/tool.h"
#include "io/container_file.h"
#include "text/dataset.h"
#include "types/cluster.h"
#include "types/device_profile.h"
#include "types/importance.h"
#include "types/importance_part.h"
#include "types/kernel.h"
#include "types/label_vectors.h"
#include "types/model_info.h"
#include "types/plan.h"

namespace sti {

/// The values that --io and --compute take, in braces (common/parse.h).
inline constexpr const char* kReadPathNames = "{auto,uring,threads,buffered}";
inline constexpr const char* kComputeNames = "{fp32,bf16,int8,auto}";

Result<ReadPath> ParseReadPath(const std::string& text);

/// "auto": bf16 where this CPU has it, which costs no accuracy to speak of; otherwise fp32. Which
/// of the two is faster here only a measurement tells, and sti-profile takes one.
Result<ComputeType> ParseCompute(std::string_view text);

/// Returns the name of an input for messages: its path, or "stdin" for "-".
std::string InputName(const std::string& path);

/// `path` or "-" for stdin; at most 64 MiB.
Result<std::string> ReadInput(const std::string& path);

/// Each reads either spelling, and warns of unknown fields in JSON. The Belongs forms check digests
/// and name both sides.
Result<Plan> ReadPlan(const std::string& path, const Tool& tool);
Result<Importance> ReadImportance(const std::string& path, const Tool& tool);
Result<ImportancePart> ReadImportancePart(const std::string& path);
Result<DeviceProfile> ReadProfile(const std::string& path, const Tool& tool);
Result<LabelVectors> ReadLabelVectors(const std::string& path);
Result<Cluster> ReadCluster(const std::string& path, const Tool& tool);
Status BelongsTo(const Importance& importance, const std::string& path, const ContainerFile& model);
Status BelongsTo(const DeviceProfile& profile, const std::string& path, const ContainerFile& model);

/// Whether a file of this name is to be JSON.
bool IsJsonName(const std::string& path);

/// Writes the JSON spelling when the name ends in .json or is "-", the binary one otherwise.
Status WritePlan(const std::string& path, const Plan& plan);
Status WriteImportancePart(const std::string& path, const ImportancePart& part);
Status WriteImportance(const std::string& path, const Importance& importance);
/// Prints the JSON spelling to stdout in pieces: it may be many times as long as the binary one.
void PrintImportanceJson(const Importance& importance);
Status WriteProfile(const std::string& path, const DeviceProfile& profile);

/// Reads a data set for `model`. `path` may be "-" for stdin. The truths of rows are labels, or for
/// a model that embeds scores of pairs. For a model that labels tokens they are tags of words, in a
/// file of CoNLL's columns; where none are required that may be a file of texts as for other
/// models.
Result<std::vector<Example>> ReadDataset(const std::string& path, const ModelInfo& model,
                                         const ColumnChoice& columns, bool truths_required,
                                         const LogSink& log);
/// Reads the content of a data set, which may be longer than other inputs.
Result<std::string> ReadDatasetText(const std::string& path);

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
