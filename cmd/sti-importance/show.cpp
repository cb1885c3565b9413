#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json.h"
#include "common/files.h"
#include "format/importance_file.h"
#include "format/json_fields.h"
#include "importance/rank_statistics.h"
#include "jobs.h"
#include "pictures/heat_map.h"
#include "pictures/heat_map_picture.h"
#include "pictures/svg.h"

namespace sti {
namespace {

using Json = nlohmann::ordered_json;

// Both files as they are, and what they have in common.
std::string PairToJson(const Importance& a, const Importance& b) {
  const RankAgreement agreement = Agreement(a, b);
  const auto reliability = [](const Importance& importance) {
    const std::optional<RankNoise> noise = NoiseOf(importance);
    return noise ? Json(noise->reliability) : Json();
  };
  Json json;
  json["spearman"] = OrNull(agreement.spearman);
  json["kendall"] = OrNull(agreement.kendall);
  json["top"] = agreement.top;
  json["top_shared"] = agreement.top_shared;
  json["reliability"] = {reliability(a), reliability(b)};
  json["importances"] = {Json::parse(ImportanceToJson(a)), Json::parse(ImportanceToJson(b))};
  return PrintJson(json);
}

Status AreComparable(const std::string& name_a, const Importance& a, const std::string& name_b,
                     const Importance& b) {
  const auto shape = [](const Importance& importance) {
    return std::to_string(importance.layers) + " x " + std::to_string(importance.width) + " shards";
  };
  if (a.layers != b.layers || a.width != b.width) {
    return ForeignError(name_b + " has " + shape(b) + ", " + name_a + " " + shape(a) +
                        "; give two files of one model");
  }
  if (a.model == b.model) return {};
  return ForeignError(name_b + " was made for model " + b.model.Prefix() + ", " + name_a + " for " +
                      a.model.Prefix() + "; give two files of one model");
}

Status WritePictures(const ImportanceToolOptions& options, const std::vector<Importance>& files) {
  std::vector<HeatMapPanel> panels;
  panels.reserve(files.size());
  for (const Importance& importance : files) {
    panels.push_back({files.size() == 1 ? "" : panels.empty() ? "A" : "B", &importance});
  }
  if (!options.svg.empty()) STI_RETURN_IF_ERROR(WriteSvg(options.svg, HeatMapSvg(panels)));
  if (!options.png.empty()) STI_RETURN_IF_ERROR(WritePng(options.png, HeatMapRaster(panels)));
  return {};
}

// A picture on stdout has it to itself.
bool TakesStdout(const ImportanceToolOptions& options) {
  return options.svg == "-" || options.png == "-";
}

}  // namespace

Result<int> Show(const Tool& tool, const ImportanceToolOptions& options) {
  std::vector<std::string> names = {options.show_file};
  if (!options.show_other.empty()) names.push_back(options.show_other);
  std::vector<Importance> files;
  files.reserve(names.size());
  for (const std::string& name : names) {
    STI_RETURN_IF_ERROR(CheckKeepsInput({"--svg", options.svg}, name, "an importance to show"));
    STI_RETURN_IF_ERROR(CheckKeepsInput({"--png", options.png}, name, "an importance to show"));
    STI_ASSIGN_OR_RETURN(Importance importance, ReadImportance(name, tool));
    files.push_back(std::move(importance));
  }
  STI_RETURN_IF_ERROR(CheckPictureName("--svg", options.svg, ".svg"));
  STI_RETURN_IF_ERROR(CheckPictureName("--png", options.png, ".png"));
  const bool pair = files.size() == 2;
  if (pair) STI_RETURN_IF_ERROR(AreComparable(names[0], files[0], names[1], files[1]));
  STI_RETURN_IF_ERROR(WritePictures(options, files));
  if (TakesStdout(options)) return 0;
  if (tool.json() && !pair) {
    PrintImportanceJson(files[0]);
    return 0;
  }
  std::string text;
  if (tool.json()) {
    text = PairToJson(files[0], files[1]);
  } else {
    text = pair ? HeatMapPair(files[0], names[0], files[1], names[1]) : HeatMap(files[0]);
  }
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace sti
