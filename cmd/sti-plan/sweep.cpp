#include "sweep.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json_line.h"
#include "common/parse.h"
#include "common/remedies.h"
#include "common/text.h"
#include "pictures/svg.h"

namespace sti {
namespace {

// Returns the measure by its name; shards x bits has one for people and one for machines.
const char* NameOf(SweepQuality quality, const char* shard_bits) {
  switch (quality) {
    case SweepQuality::kAccuracy:
      return "accuracy";
    case SweepQuality::kAgreement:
      return "agreement";
    case SweepQuality::kShardBits:
      return shard_bits;
  }
  return shard_bits;
}

std::string QualityText(const SweepGrid& grid, const SweepCell& cell) {
  return grid.quality == SweepQuality::kShardBits ? Format("%.0f", cell.quality)
                                                  : Format("%.1f %%", 100 * cell.quality);
}

}  // namespace

std::string SweepText(const SweepGrid& grid) {
  std::string text = Format("%9s  %9s  %7s  %5s  %9s  %9s  %9s  %s\n", "target", "preload", "plan",
                            "bits", "latency", "peak", NameOf(grid.quality, "quality"), "front");
  bool none = false;
  for (const SweepCell& cell : grid.cells) {
    text += Format("%9s  %9s  ", FormatTimeUs(cell.target_us).c_str(),
                   FormatBytes(cell.preload_bytes).c_str());
    if (!cell.plan) {
      text += Format("%7s\n", "none");
      none = true;
      continue;
    }
    text += Format("%7s  %5.2f  %9s  %9s  %9s%s\n", NameOf(SubmodelOf(*cell.plan)).c_str(),
                   cell.mean_bits, FormatTimeUs(cell.plan->predicted_latency_us).c_str(),
                   FormatBytes(cell.plan->predicted_peak_bytes).c_str(),
                   QualityText(grid, cell).c_str(), cell.on_front ? "  *" : "");
  }
  text += "* no other plan is as good, as fast and as small\n";
  if (grid.quality == SweepQuality::kShardBits)
    text += "quality is shards x mean bits; sti-importance --submodels would give accuracy\n";
  if (none) {
    const auto first = std::find_if(grid.cells.begin(), grid.cells.end(),
                                    [](const SweepCell& cell) { return !cell.plan; });
    const std::string& what = first->problem->what;
    const size_t colon = what.find(": ");
    const std::string why = colon == std::string::npos ? what : what.substr(colon + 2);
    text += "none: " + why.substr(0, why.find(';')) + "\n";
  }
  return text;
}

std::string SweepJson(const SweepGrid& grid) {
  using Json = nlohmann::ordered_json;
  Json json;
  json["quality"] = NameOf(grid.quality, "shard_bits");
  json["rows"] = Json::array();
  for (const SweepCell& cell : grid.cells) {
    Json row;
    row["target_us"] = cell.target_us;
    row["preload_bytes"] = cell.preload_bytes;
    row["feasible"] = cell.plan.has_value();
    row["problem"] = cell.problem ? Json(LineFor(*cell.problem)) : Json(nullptr);
    if (cell.plan) {
      const Plan& plan = *cell.plan;
      row["layers"] = plan.layers;
      row["width"] = plan.width;
      row["mean_bits"] = cell.mean_bits;
      row["predicted_latency_us"] = plan.predicted_latency_us;
      row["predicted_p99_us"] = plan.predicted_p99_us;
      row["predicted_peak_bytes"] = plan.predicted_peak_bytes;
      row["predicted_accuracy"] =
          plan.quality.accuracy ? Json(*plan.quality.accuracy) : Json(nullptr);
      if (plan.quality.agreement) row["predicted_agreement"] = *plan.quality.agreement;
      row["predicted_loss"] = plan.quality.loss ? Json(*plan.quality.loss) : Json(nullptr);
      row["parameter_bytes"] = plan.parameter_bytes;
      row["quality"] = cell.quality;
      row["on_front"] = cell.on_front;
    }
    json["rows"].push_back(std::move(row));
  }
  return JsonLine(json) + "\n";
}

}  // namespace sti
