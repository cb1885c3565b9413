#include "describe.h"

#include <algorithm>
#include <cstdio>

#include "common/parse.h"
#include "format/container_sizes.h"
#include "types/plan.h"

namespace sti {
namespace {

using Json = nlohmann::ordered_json;

const char* TypeName(DataType type) {
  if (type == DataType::kF32) return "float32";
  return type == DataType::kF16 ? "float16" : "bfloat16";
}

const char* ArchitectureName(Architecture architecture) {
  if (architecture == Architecture::kBert) return "bert";
  return architecture == Architecture::kDistilBert ? "distilbert" : "roberta";
}

// Stored bytes by what they are for; what is not there is left out.
Json ByteTable(const ContainerSizes& sizes) {
  const std::pair<const char*, uint64_t> rows[] = {{"outliers", sizes.outliers},
                                                   {"shard_planes_1_2", sizes.top_planes},
                                                   {"shard_plane_3", sizes.planes[0]},
                                                   {"shard_plane_4", sizes.planes[1]},
                                                   {"shard_plane_5", sizes.planes[2]},
                                                   {"shard_plane_6", sizes.planes[3]},
                                                   {"centroids_scales", sizes.codebooks},
                                                   {"shard_full", sizes.full},
                                                   {"resident", sizes.resident},
                                                   {"vocabulary", sizes.vocabulary},
                                                   {"merges", sizes.merges},
                                                   {"word_embeddings", sizes.word_rows},
                                                   {"position_embeddings", sizes.position_rows},
                                                   {"header_index_alignment", sizes.rest}};
  Json bytes;
  for (const auto& [name, count] : rows) {
    if (count > 0) bytes[name] = count;
  }
  return bytes;
}

// What is read for weights has a width; the rest has only a size.
bool IsOfWeights(const std::string& name) {
  return name == "outliers" || name == "centroids_scales" || name.starts_with("shard_");
}

std::string ByteText(const Json& c) {
  const auto weights = c["weights"].get<double>();
  std::string text;
  char row[96];
  std::snprintf(row, sizeof(row), "%-12s%-26s %12s   bits a weight\n", "bytes", "",
                FormatBytes(c["file_bytes"].get<uint64_t>()).c_str());
  text += row;
  for (const auto& [name, bytes] : c["bytes"].items()) {
    std::string label = name;
    std::replace(label.begin(), label.end(), '_', ' ');
    std::snprintf(row, sizeof(row), "%-12s%-26s %12s", "", label.c_str(),
                  FormatBytes(bytes.get<uint64_t>()).c_str());
    text += row;
    if (IsOfWeights(name)) {
      std::snprintf(row, sizeof(row), " %15.3f", bytes.get<double>() * 8 / weights);
      text += row;
    }
    text += '\n';
  }
  auto total = [&](const char* head, const char* what, const char* key) {
    if (c[key].get<uint64_t>() == 0) return;
    std::snprintf(row, sizeof(row), "%-12s%-26s %12s %15.3f\n", head, what,
                  FormatBytes(c[key].get<uint64_t>()).c_str(), c[key].get<double>() * 8 / weights);
    text += row;
  };
  total("shards", "of 2 to 6 bits, aligned", "progressive_bytes");
  total("", "as separate versions", "separate_versions_bytes");
  return text;
}

std::string Line(const char* name, const std::string& value) {
  char head[32];
  std::snprintf(head, sizeof(head), "%-12s", name);
  return head + value + "\n";
}

std::string BitsText(const Json& bits) {
  std::string text;
  for (const Json& value : bits) text += (text.empty() ? "" : " ") + value.dump();
  return text;
}

}  // namespace

Json DescribeContainer(const ContainerFile& file, uint64_t file_bytes) {
  const ContainerIndex& index = file.index();
  const ModelShape& s = index.info.shape;
  Json json;
  json["kind"] = "container";
  json["model"] = index.model.Hex();
  json["shape_digest"] = ShapeDigest(index.info).Hex();
  json["shape"] = {{"layers", s.layers},         {"width", s.width},
                   {"hidden", s.hidden},         {"ffn", s.ffn},
                   {"vocabulary", s.vocabulary}, {"max_positions", s.max_positions},
                   {"labels", s.labels}};
  json["architecture"] = ArchitectureName(index.info.architecture);
  json["problem"] = index.info.problem == Problem::kSingleLabel ? "single label" : "multi label";
  json["tokenizer"] =
      index.info.tokenizer.kind == TokenizerKind::kWordPiece ? "WordPiece" : "byte-level BPE";
  json["max_length"] = index.info.max_length();
  json["type"] = TypeName(index.info.data_type);
  json["elastic"] = index.info.elastic;
  json["min_width"] = index.info.min_width;
  json["codebook"] = index.codebook == CodebookKind::kGobo ? "gobo" : "tree";
  json["layout"] = index.layout == Layout::kShard ? "shard" : "plane";
  json["bits"] = index.bits;
  json["unicode"] = index.unicode;
  json["file_bytes"] = file_bytes;
  json["partial"] = index.partial;
  const ContainerSizes sizes = SizesOf(index, file_bytes);
  json["weights"] = sizes.weights;
  json["progressive_bytes"] = sizes.progressive;
  json["separate_versions_bytes"] = sizes.separate;
  json["bits_per_weight"] = sizes.BitsPerWeight(sizes.progressive);
  json["bytes"] = ByteTable(sizes);
  json["labels"] = index.info.labels;
  return json;
}

std::string ContainerText(const Json& c) {
  const Json& s = c["shape"];
  auto number = [&](const char* key) { return s[key].dump(); };
  std::string text = Line("container", "model " + c["model"].get<std::string>());
  text +=
      Line("shape", number("layers") + " layers x " + number("width") + " slices, hidden " +
                        number("hidden") + ", FFN " + number("ffn") + ", " +
                        c["type"].get<std::string>() + ", " + c["architecture"].get<std::string>());
  const bool several = c["problem"] == "multi label";
  text += Line("text", number("vocabulary") + " tokens, inputs up to " + c["max_length"].dump() +
                           ", " + number("labels") + " labels" + (several ? " (any number)" : "") +
                           ", Unicode " + c["unicode"].get<std::string>());
  text +=
      Line("elastic", c["elastic"].get<bool>() ? "any depth, widths from " + c["min_width"].dump()
                                               : "no: only the whole model was trained");
  text += Line("bits", BitsText(c["bits"]) + ", codebook " + c["codebook"].get<std::string>() +
                           (c["partial"].get<bool>() ? ", only what some plans read" : ""));
  text += ByteText(c);
  return text;
}

/// How the device likes to be read, and what the profile was taken under.
std::string ConditionsText(const DeviceProfile& profile) {
  std::string text;
  char line[96];
  if (profile.read_bytes != 0 && profile.read_depth != 0) {
    text += Line("in flight", std::to_string(profile.read_depth) + " reads of at most " +
                                  FormatBytes(profile.read_bytes));
  }
  if (profile.start_us > 0) text += Line("start", FormatTimeUs(profile.start_us));
  if (profile.noise > 0) {
    std::snprintf(line, sizeof(line), "medians to within %.1f %%", 100 * profile.noise);
    text += Line("noise", line);
  }
  const ThermalState& thermal = profile.thermal;
  if (thermal.freq_max != 0) {
    std::snprintf(line, sizeof(line), "%.0f to %.0f MHz",
                  static_cast<double>(thermal.freq_min) / 1e3,
                  static_cast<double>(thermal.freq_max) / 1e3);
    text += Line("clock", line);
  }
  if (thermal.celsius_before != 0 || thermal.celsius_after != 0) {
    std::snprintf(line, sizeof(line), "%.0f to %.0f degrees Celsius", thermal.celsius_before,
                  thermal.celsius_after);
    text += Line("heat", line);
  }
  return text;
}

std::string ProfileText(const DeviceProfile& profile) {
  std::string text = Line("profile", profile.machine.empty() ? "written by hand" : profile.machine);
  if (!profile.kernel.name.empty()) {
    text +=
        Line("kernel", profile.kernel.name + ", " + std::to_string(profile.threads) + " threads");
  }
  if (!profile.read_path.empty()) text += Line("reads", "through " + profile.read_path);
  text += ConditionsText(profile);
  text += "\none shard        median         p99\n";
  char row[96];
  for (const IoSample& io : profile.io) {
    std::string what = io.bytes != 0 ? FormatBytes(io.bytes) : std::to_string(io.bits) + " bits";
    std::snprintf(row, sizeof(row), "%-10s %12s %11s\n", what.c_str(),
                  FormatTimeUs(io.load_us).c_str(), FormatTimeUs(io.p99_us).c_str());
    text += row;
  }
  text += "\none layer        median         p99   as the last\n";
  for (const ComputeSample& c : profile.compute) {
    std::string what = std::to_string(c.length) + " x " + std::to_string(c.width);
    std::snprintf(row, sizeof(row), "%-10s %12s %11s %13s\n", what.c_str(),
                  FormatTimeUs(c.layer_us).c_str(), FormatTimeUs(c.p99_us).c_str(),
                  c.last_us > 0 ? FormatTimeUs(c.last_us).c_str() : "the same");
    text += row;
  }
  if (!profile.fixed.empty()) text += "\nlength    embeddings  their IO        head\n";
  for (const FixedSample& f : profile.fixed) {
    std::snprintf(row, sizeof(row), "%-8u %11s %9s %11s\n", f.length,
                  FormatTimeUs(f.embed_us).c_str(), FormatTimeUs(f.embed_io_us).c_str(),
                  FormatTimeUs(f.head_us).c_str());
    text += row;
  }
  return text;
}

}  // namespace sti
