// sti-inspect: what any file of the tool kit holds, and whether it is whole.
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "api/verify_model.h"
#include "base/atomic_file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/remedy.h"
#include "base/utf8.h"
#include "common/files.h"
#include "common/lines.h"
#include "common/plan_text.h"
#include "common/remedies.h"
#include "describe.h"
#include "format/container_sizes.h"
#include "format/framed_file.h"
#include "format/importance_file.h"
#include "format/importance_part_file.h"
#include "format/label_vectors_file.h"
#include "format/plan_file.h"
#include "format/profile_file.h"
#include "import/export_model.h"
#include "options.h"
#include "pictures/heat_map.h"
#include "pictures/importance_text.h"
#include "text/model_tokenizer.h"

namespace sti {
namespace {

using Json = nlohmann::ordered_json;

Result<int> Verify(const Tool& tool, ContainerFile& file) {
  STI_ASSIGN_OR_RETURN(VerifyReport report, VerifyModel(file, tool.Progress("verifying")));
  if (tool.json()) {
    Json json{{"parts", report.parts}, {"bytes", report.bytes}, {"damaged", Json::array()}};
    for (const Error& damage : report.damaged) json["damaged"].push_back(LineFor(damage));
    std::printf("%s\n", JsonLine(json).c_str());
  } else {
    for (const Error& damage : report.damaged) std::printf("%s\n", LineFor(damage).c_str());
    std::printf("%s checked, %zu damaged\n", Counted(report.parts, "part").c_str(),
                report.damaged.size());
  }
  if (report.damaged.empty()) return 0;
  return DataError(Counted(report.damaged.size(), "part") +
                   (report.damaged.size() == 1 ? " is damaged" : " are damaged"))
      .At(file.name())
      .Fix(Remedy::kCopyModelAgain);
}

// Adds the bytes [first, behind the last] of each token, of its text.
void AddOffsets(const Encoding& encoding, Json& json) {
  json["offsets"] = Json::array();
  for (const ByteRange& bytes : encoding.offsets)
    json["offsets"].push_back({bytes.begin, bytes.end});
  if (encoding.second_begin) json["second_begin"] = *encoding.second_begin;
}

// Lines in, one object a line out, so that ids can be compared with any other tokenizer's.
Result<int> Tokenize(const InspectOptions& options, ContainerFile& file) {
  STI_ASSIGN_OR_RETURN(Tokenizer tokenizer, LoadTokenizer(file));
  uint32_t length = file.index().info.max_length();
  LineReader lines(STDIN_FILENO);
  while (!StopRequested()) {
    STI_ASSIGN_OR_RETURN(auto line, lines.Next());
    if (!line) break;
    std::optional<std::string_view> pair;
    std::string_view text = line->text;
    const size_t tab = options.pairs ? text.find('\t') : std::string_view::npos;
    if (tab != std::string_view::npos) {
      pair = text.substr(tab + 1);
      text = text.substr(0, tab);
    }
    const Encoding encoding = tokenizer.Encode(text, pair, length);
    JsonLinePrinter printer(stdout);
    printer.AddText("text", text);
    if (pair) printer.AddText("pair", *pair);
    Json json{{"ids", encoding.ids}};
    if (pair) json["types"] = encoding.types;
    if (options.offsets) AddOffsets(encoding, json);
    printer.Add(json);
    printer.End();
    if (std::fflush(stdout) != 0) break;
  }
  return 0;
}

Result<int> Export(const Tool& tool, const InspectOptions& options, ContainerFile& file) {
  ExportOptions work;
  work.bits = options.export_bits;
  work.progress = tool.Progress("exporting");
  work.cancelled = StopRequested;
  STI_RETURN_IF_ERROR(ExportModel(file, work, options.output));
  if (tool.json()) {
    std::printf("%s\n", JsonLine(Json{{"folder", options.output}, {"bits", work.bits}}).c_str());
  } else {
    tool.Say(options.output + ": the model as a reader of " + std::to_string(work.bits) +
             " bits sees it");
  }
  return 0;
}

Result<int> InspectContainer(const Tool& tool, const InspectOptions& options) {
  STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(options.file));
  tool.Explain(options.file + ": " + Counted(file.index().info.shape.layers, "layer") +
               " of model " + file.index().model.Prefix() + ", read through " +
               ReadPathName(file.reader().path()));
  if (options.verify) return Verify(tool, file);
  if (options.tokenize) return Tokenize(options, file);
  if (options.export_bits != 0) return Export(tool, options, file);
  const ContainerSizes sizes = SizesOf(file.index(), file.reader().file_bytes());
  const auto describe = tool.json() ? ContainerToJson : ContainerText;
  std::fputs(describe(file.index(), sizes).c_str(), stdout);
  return 0;
}

// The small files are read and checked whole, so printing one has verified it.
template <typename Value>
Result<int> PrintSmall(const Tool& tool, const InspectOptions& options, const Result<Value>& value,
                       const char* kind, std::string (*to_json)(const Value&),
                       std::string (*to_text)(const Value&)) {
  if (!value.ok()) return value.error();
  if (options.verify) {
    std::printf(tool.json() ? "{\"parts\":1,\"damaged\":[]}\n" : "%s is whole\n", kind);
  } else {
    std::fputs((tool.json() ? to_json(*value) : to_text(*value)).c_str(), stdout);
  }
  return 0;
}

// An importance may be 64 MiB long, and its JSON several times that.
Result<int> PrintImportance(const Tool& tool, const InspectOptions& options) {
  const Result<Importance> importance = ReadImportance(options.file, tool);
  if (importance.ok() && tool.json() && !options.verify) {
    PrintImportanceJson(*importance);
    return 0;
  }
  return PrintSmall<Importance>(tool, options, importance, "importance", ImportanceToJson, HeatMap);
}

bool StartsWith(const std::string& text, std::string_view prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

enum class JsonKind : uint8_t { kProfile, kImportance, kPlan };

// A JSON spelling is known by a field that only one of the three has.
Result<JsonKind> KindOfJson(const std::string& path) {
  STI_ASSIGN_OR_RETURN(const std::string content, ReadInput(path));
  const auto json = ParseJson(content);
  if (!json.ok()) return Error(json.error()).At(path);
  if (json->contains("compute")) return JsonKind::kProfile;
  return json->contains("scores") ? JsonKind::kImportance : JsonKind::kPlan;
}

Result<int> InspectJson(const Tool& tool, const InspectOptions& options) {
  STI_ASSIGN_OR_RETURN(const JsonKind kind, KindOfJson(options.file));
  switch (kind) {
    case JsonKind::kProfile:
      return PrintSmall<DeviceProfile>(tool, options, ReadProfile(options.file, tool), "profile",
                                       ProfileToJson, ProfileText);
    case JsonKind::kImportance:
      return PrintImportance(tool, options);
    case JsonKind::kPlan:
      break;
  }
  return PrintSmall<Plan>(tool, options, ReadPlan(options.file, tool), "plan", PlanToJson,
                          DescribePlan);
}

Result<int> Run(const Tool& tool, const InspectOptions& options) {
  STI_RETURN_IF_ERROR(CheckInspectOptions(tool.app(), options));
  // The first bytes tell which file it is.
  const auto start = ReadFilePrefix(options.file, 8);
  if (!start.ok() && ::access(options.file.c_str(), R_OK) != 0)
    return NoSuchFileError("cannot be opened; is the name right?").At(options.file);
  const std::string magic = start.ok() ? *start : "";  // what is no file is no container either
  if (options.tokenize || options.export_bits != 0) return InspectContainer(tool, options);
  if (StartsWith(magic, kPlanMagic)) {
    return PrintSmall<Plan>(tool, options, ReadPlan(options.file, tool), "plan", PlanToJson,
                            DescribePlan);
  }
  if (StartsWith(magic, kProfileMagic)) {
    return PrintSmall<DeviceProfile>(tool, options, ReadProfile(options.file, tool), "profile",
                                     ProfileToJson, ProfileText);
  }
  if (StartsWith(magic, kImportancePartMagic)) {
    return PrintSmall<ImportancePart>(tool, options, ReadImportancePart(options.file),
                                      "part of an importance", ImportancePartToJson,
                                      ImportancePartText);
  }
  if (StartsWith(magic, kImportanceMagic)) {
    return PrintImportance(tool, options);
  }
  if (StartsWith(magic, kLabelVectorsMagic)) {
    return PrintSmall<LabelVectors>(tool, options, ReadLabelVectors(options.file), "label vectors",
                                    LabelVectorsToJson, LabelVectorsText);
  }
  if (LooksLikeJson(AsBytes(magic))) return InspectJson(tool, options);
  return InspectContainer(tool, options);
}

}  // namespace
}  // namespace sti

int main(int argc, char** argv) {
  sti::Tool tool("sti-inspect", "Prints and verifies any file of the tool kit.",
                 "sti-inspect model.sti --verify");
  sti::InspectOptions options;
  sti::AddInspectOptions(tool.app(), options);
  return tool.Main(argc, argv, [&] { return sti::Run(tool, options); });
}
