#include "report.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/json_line.h"
#include "common/parse.h"
#include "network/tensors.h"

namespace sti {
namespace {

// Returns the bytes of all shards' parts of one kind.
uint64_t PartBytes(const ContainerIndex& index, PartKind part) {
  uint64_t bytes = 0;
  for (const ShardLocation& shard : index.shards) bytes += shard.parts[part].length;
  return bytes;
}

uint64_t Weights(const ContainerIndex& index) {
  return ShardWeights(index.info.shape) * index.shards.size();
}

// Returns the share of all weights that are outliers.
double OutlierShare(const ShardReport& report) {
  uint64_t outliers = 0;
  for (uint64_t layer : report.outliers) outliers += layer;
  return static_cast<double>(outliers) / static_cast<double>(Weights(report.index));
}

}  // namespace

std::string ReportToJson(const ShardReport& report) {
  const ContainerIndex& index = report.index;
  const ModelShape& shape = index.info.shape;
  uint64_t progressive = 0;
  for (const PartKind part : kPartKinds) {
    if (part != PartKind::kFull) progressive += PartBytes(index, part);
  }
  nlohmann::ordered_json json;
  json["model"] = index.model.Hex();
  json["layers"] = shape.layers;
  json["width"] = shape.width;
  json["bits"] = index.bits;
  json["file_bytes"] = report.file_bytes;
  json["progressive_bytes"] = progressive;
  json["full_bytes"] = PartBytes(index, PartKind::kFull);
  json["bits_per_weight"] = ProgressiveBitsPerWeight(index);
  json["outlier_share"] = OutlierShare(report);
  json["outlier_shares"] = nlohmann::ordered_json::array();  // of each layer
  for (uint64_t layer : report.outliers) {
    json["outlier_shares"].push_back(static_cast<double>(layer * shape.layers) /
                                     static_cast<double>(Weights(index)));
  }
  return JsonLine(json);
}

std::string ReportText(const std::string& head, const ShardReport& report) {
  const ModelShape& shape = report.index.info.shape;
  char numbers[96];
  std::snprintf(numbers, sizeof(numbers),
                ": %ux%u shards, %s, %.2f bits a weight, %.2f %% outliers", shape.layers,
                shape.width, FormatBytes(report.file_bytes).c_str(),
                ProgressiveBitsPerWeight(report.index), OutlierShare(report) * 100);
  return head + numbers;
}

}  // namespace sti
