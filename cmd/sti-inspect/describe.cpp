#include "describe.h"

#include <algorithm>
#include <cstdio>

#include "common/parse.h"
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

// Stored bytes by kind of part; what is left of the file is header, index and alignment.
Json ByteTable(const ContainerIndex& index, uint64_t file_bytes) {
  Json bytes;
  uint64_t counted = 0;
  auto add = [&](const std::string& name, uint64_t count) {
    bytes[name] = count;
    counted += count;
  };
  for (uint32_t part = 0; part < kShardPartKinds; ++part) {
    uint64_t sum = 0;
    for (const ShardLocation& shard : index.shards) sum += shard.parts[part].length;
    uint32_t bits = ShardPartBits(part);
    std::string name = part == 0           ? "shard_bases"
                       : bits == kFullBits ? "shard_full"
                                           : "shard_plane_" + std::to_string(bits);
    if (sum > 0) add(name, sum);
  }
  uint64_t resident = 0;
  for (const ResidentLocation& location : index.resident) {
    if (!IsText(location.kind)) resident += location.part.length;
  }
  add("resident", resident);
  add("vocabulary", index.Resident(ResidentKind::kVocabulary).part.length);
  if (index.info.tokenizer.kind == TokenizerKind::kByteBpe) {
    add("merges", index.Resident(ResidentKind::kMerges).part.length);
  }
  for (const RowTable* table : {&index.words, &index.positions}) {
    add(table->kind == RowTableKind::kWord ? "word_embeddings" : "position_embeddings",
        uint64_t{table->rows} * table->row_bytes);
  }
  bytes["header_index_alignment"] = file_bytes - counted;
  return bytes;
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
  json["bits_per_weight"] = ProgressiveBitsPerWeight(index);
  json["bytes"] = ByteTable(index, file_bytes);
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
  char bits[64];
  std::snprintf(bits, sizeof(bits), ", %.2f bits a weight progressively",
                c["bits_per_weight"].get<double>());
  text +=
      Line("bits", BitsText(c["bits"]) + ", codebook " + c["codebook"].get<std::string>() + bits);
  text += Line("bytes", FormatBytes(c["file_bytes"].get<uint64_t>()) + " in all, of these");
  for (const auto& [name, bytes] : c["bytes"].items()) {
    std::string label = name;
    std::replace(label.begin(), label.end(), '_', ' ');
    char row[80];
    std::snprintf(row, sizeof(row), "  %-24s %12s\n", label.c_str(),
                  FormatBytes(bytes.get<uint64_t>()).c_str());
    text += row;
  }
  return text;
}

std::string ProfileText(const DeviceProfile& profile) {
  std::string text = Line("profile", profile.machine.empty() ? "written by hand" : profile.machine);
  if (!profile.kernel.empty()) {
    text += Line("kernel", profile.kernel + ", " + std::to_string(profile.threads) + " threads");
  }
  if (!profile.read_path.empty()) text += Line("reads", "through " + profile.read_path);
  text += "\none shard        median         p99\n";
  char row[96];
  for (const IoSample& io : profile.io) {
    std::string what = io.bytes != 0 ? FormatBytes(io.bytes) : std::to_string(io.bits) + " bits";
    std::snprintf(row, sizeof(row), "%-10s %12s %11s\n", what.c_str(),
                  FormatTimeUs(io.load_us).c_str(), FormatTimeUs(io.p99_us).c_str());
    text += row;
  }
  text += "\none layer        median         p99\n";
  for (const ComputeSample& c : profile.compute) {
    std::string what = std::to_string(c.length) + " x " + std::to_string(c.width);
    std::snprintf(row, sizeof(row), "%-10s %12s %11s\n", what.c_str(),
                  FormatTimeUs(c.layer_us).c_str(), FormatTimeUs(c.p99_us).c_str());
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
