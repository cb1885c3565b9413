#include "common/files.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string_view>

#include "base/atomic_file.h"
#include "base/utf8.h"
#include "format/cluster_file.h"
#include "format/framed_file.h"
#include "format/importance_file.h"
#include "format/importance_part_file.h"
#include "format/label_vectors_file.h"
#include "format/plan_file.h"
#include "format/profile_file.h"
#include "kernels/backend.h"
#include "text/tagged_texts.h"

namespace sti {
namespace {

constexpr uint64_t kMaxDatasetBytes = uint64_t{4} << 30;

std::string InputPath(const std::string& path) { return path == "-" ? "/dev/stdin" : path; }

void WriteStdout(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

// The two spellings of one value, by the name of the file.
template <typename Value, typename ToJson, typename Encode>
Status WriteSpelling(const std::string& path, const Value& value, ToJson to_json, Encode encode) {
  if (path == "-") {
    WriteStdout(to_json(value));
    return {};
  }
  if (IsJsonName(path)) return WriteFileAtomically(path, AsBytes(to_json(value)));
  return WriteFileAtomically(path, encode(value));
}

// Warns of fields that are unknown: who wrote them may have meant others.
template <typename Value>
Result<Value> ReadSpelling(const std::string& path, const Tool& tool,
                           Result<Value> (*parse)(std::span<const uint8_t>, const std::string&,
                                                  UnknownKeys*)) {
  STI_ASSIGN_OR_RETURN(const std::string content, ReadInput(path));
  const std::string name = InputName(path);
  UnknownKeys unknown;
  Result<Value> value = parse(AsBytes(content), name, &unknown);
  if (unknown.names().empty()) return value;
  std::string names;
  for (const std::string& key : unknown.names()) names += (names.empty() ? "" : ", ") + key;
  tool.Warn(name + ": ignores what it does not know: " + names + "; are the names right?");
  return value;
}

}  // namespace

bool IsJsonName(const std::string& path) {
  return path.size() >= 5 && path.compare(path.size() - 5, 5, ".json") == 0;
}

Result<ReadPath> ParseReadPath(const std::string& text) {
  for (ReadPath path :
       {ReadPath::kAuto, ReadPath::kUring, ReadPath::kThreads, ReadPath::kBuffered}) {
    if (text == ReadPathName(path)) return path;
  }
  return UsageError("'" + text + "' is not a way to read; choose auto, uring, threads or buffered");
}

Result<ComputeType> ParseCompute(std::string_view text) {
  const auto here = ComputeTypes();
  const auto has = [&](ComputeType type) {
    return std::find(here.begin(), here.end(), type) != here.end();
  };
  if (text == "auto") return has(ComputeType::kBf16) ? ComputeType::kBf16 : ComputeType::kFp32;
  const auto type = ParseComputeType(text);
  if (!type) {
    return UsageError("--compute: '" + std::string(text) +
                      "' is none of fp32, bf16, int8 and auto");
  }
  if (!has(*type))
    return MachineError("--compute: this CPU has no " + std::string(text) + " products; use fp32");
  return *type;
}

std::string InputName(const std::string& path) { return path == "-" ? "stdin" : path; }

Result<std::string> ReadInput(const std::string& path) {
  return ReadWholeFile(InputPath(path), kMaxSmallFileBytes);
}

Result<Plan> ReadPlan(const std::string& path, const Tool& tool) {
  return ReadSpelling(path, tool, ParsePlanNoting);
}
Result<Importance> ReadImportance(const std::string& path, const Tool& tool) {
  return ReadSpelling(path, tool, ParseImportanceNoting);
}
Result<ImportancePart> ReadImportancePart(const std::string& path) {
  STI_ASSIGN_OR_RETURN(const std::string content, ReadInput(path));
  return ParseImportancePart(AsBytes(content), InputName(path));
}
Result<DeviceProfile> ReadProfile(const std::string& path, const Tool& tool) {
  return ReadSpelling(path, tool, ParseProfileNoting);
}
Result<Cluster> ReadCluster(const std::string& path, const Tool& tool) {
  return ReadSpelling<Cluster>(path, tool, ParseCluster);
}

Result<LabelVectors> ReadLabelVectors(const std::string& path) {
  STI_ASSIGN_OR_RETURN(const std::string content, ReadInput(path));
  return ParseLabelVectors(AsBytes(content), InputName(path));
}

Status BelongsTo(const Importance& importance, const std::string& path,
                 const ContainerFile& model) {
  if (importance.model == model.index().model) return {};
  return ForeignError(path + " was made for model " + importance.model.Prefix() + ", not " +
                      model.index().model.Prefix() + "; run sti-importance on this model");
}

Status BelongsTo(const DeviceProfile& profile, const std::string& path,
                 const ContainerFile& model) {
  Digest shape = ShapeDigest(model.index().info);
  if (profile.shape.empty() || profile.shape == shape) return {};
  return ForeignError(path + " was made for model shape " + profile.shape.Prefix() + ", not " +
                      shape.Prefix() + "; run sti-profile on this model");
}

Status WritePlan(const std::string& path, const Plan& plan) {
  return WriteSpelling(path, plan, PlanToJson, EncodePlan);
}
void PrintImportanceJson(const Importance& importance) {
  WriteImportanceJson(importance, [](std::string_view piece) { WriteStdout(piece); });
}

Status WriteImportance(const std::string& path, const Importance& importance) {
  if (path == "-") {
    PrintImportanceJson(importance);
    return {};
  }
  if (!IsJsonName(path)) return WriteFileAtomically(path, EncodeImportance(importance));
  STI_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  uint64_t at = 0;
  Status status;
  std::string gathered;
  const auto write = [&] {
    if (status.ok()) status = file.WriteAt(at, AsBytes(gathered));
    at += gathered.size();
    gathered.clear();
  };
  WriteImportanceJson(importance, [&](std::string_view piece) {
    constexpr size_t kWriteBytes = size_t{1} << 20;
    gathered += piece;
    if (gathered.size() >= kWriteBytes) write();
  });
  write();
  STI_RETURN_IF_ERROR(status);
  return file.Commit();
}
Status WriteImportancePart(const std::string& path, const ImportancePart& part) {
  return WriteFileAtomically(path, EncodeImportancePart(part));
}
Status WriteProfile(const std::string& path, const DeviceProfile& profile) {
  return WriteSpelling(path, profile, ProfileToJson, EncodeProfile);
}

Result<std::string> ReadDatasetText(const std::string& path) {
  return ReadWholeFile(InputPath(path), kMaxDatasetBytes, 2 * kMaxDatasetLineBytes);
}

Result<std::vector<Example>> ReadDataset(const std::string& path, const ModelInfo& model,
                                         const ColumnChoice& columns, bool truths_required,
                                         const LogSink& log) {
  STI_ASSIGN_OR_RETURN(const std::string content, ReadDatasetText(path));
  if (model.labels_tokens()) {
    STI_ASSIGN_OR_RETURN(const TagScheme tags, TagScheme::Of(model.labels));
    auto tagged = ParseTaggedTexts(content, InputName(path), tags, log);
    if (tagged.ok() || truths_required) return tagged;
  }
  return ParseDataset(content, InputName(path),
                      {.labels = model.labels,
                       .problem = model.problem,
                       .labels_required = truths_required,
                       .columns = columns,
                       .log = log,
                       .scores = truths_required && model.embeds()});
}

namespace {

Error Refusal(const Output& output, const std::string& role) {
  return UsageError(output.option + ": " + output.path + " is " + role +
                    ", and would be replaced; name another file");
}

}  // namespace

Status CheckOutput(const Output& output) {
  if (output.path.empty() || output.path == "-") return {};
  return CheckCanWrite(output.path);
}

Status CheckKeepsInput(const Output& output, const std::string& input, const std::string& role) {
  if (output.path.empty() || output.path == "-" || input.empty() || input == "-") return {};
  std::error_code failed;  // one that is not there is no other
  if (!std::filesystem::equivalent(output.path, input, failed)) return {};
  return Refusal(output, role);
}

Status CheckKeepsFolder(const Output& output, const std::string& folder, const std::string& role) {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    STI_RETURN_IF_ERROR(CheckKeepsInput(output, entry.path().string(), role));
  }
  return {};
}

}  // namespace sti
