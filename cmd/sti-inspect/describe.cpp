#include "describe.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "base/utf8.h"
#include "common/parse.h"
#include "network/families.h"
#include "types/plan.h"

namespace sti {
namespace {

using Json = nlohmann::ordered_json;

const char* TypeName(DataType type) {
  if (type == DataType::kF32) return "float32";
  return type == DataType::kF16 ? "float16" : "bfloat16";
}

std::string ArchitectureName(const ModelInfo& info) {
  return std::string(FamilyOf(info).model_type);
}

const char* CodebookName(CodebookKind codebook) {
  return codebook == CodebookKind::kGobo ? "gobo" : "tree";
}

// Counts the stored bytes of one kind.
struct ByteRow {
  const char* name;
  uint64_t bytes;
  bool of_weights;  // read for weights, which have a width; the rest has only a size
};

// Returns the stored bytes by their kinds, without the kinds that are not there.
std::vector<ByteRow> ByteRows(const ContainerSizes& sizes) {
  std::vector<ByteRow> rows = {{"outliers", sizes.outliers, true},
                               {"shard_planes_1_2", sizes.top_planes, true},
                               {"shard_plane_3", sizes.planes[0], true},
                               {"shard_plane_4", sizes.planes[1], true},
                               {"shard_plane_5", sizes.planes[2], true},
                               {"shard_plane_6", sizes.planes[3], true},
                               {"centroids_scales", sizes.codebooks, true},
                               {"shard_full", sizes.full, true},
                               {"resident", sizes.resident, false},
                               {"vocabulary", sizes.vocabulary, false},
                               {"merges", sizes.merges, false},
                               {"word_embeddings", sizes.word_rows, false},
                               {"position_embeddings", sizes.position_rows, false},
                               {"header_index_alignment", sizes.rest, false}};
  std::erase_if(rows, [](const ByteRow& row) { return row.bytes == 0; });
  return rows;
}

// Returns the last column of a line of bytes: how many bits a weight they are.
std::string BitsColumn(const ContainerSizes& sizes, uint64_t bytes) {
  char column[32];
  std::snprintf(column, sizeof(column), " %15.3f", sizes.BitsPerWeight(bytes));
  return column;
}

std::string ByteLine(const char* head, const std::string& what, uint64_t bytes,
                     const std::string& last_column) {
  char line[96];
  std::snprintf(line, sizeof(line), "%-12s%-26s %12s%s\n", head, what.c_str(),
                FormatBytes(bytes).c_str(), last_column.c_str());
  return line;
}

std::string ByteText(const ContainerSizes& sizes) {
  std::string text = ByteLine("bytes", "", sizes.file, "   bits a weight");
  for (const ByteRow& row : ByteRows(sizes)) {
    std::string what = row.name;
    std::replace(what.begin(), what.end(), '_', ' ');
    text += ByteLine("", what, row.bytes, row.of_weights ? BitsColumn(sizes, row.bytes) : "");
  }
  if (sizes.progressive > 0) {
    text += ByteLine("shards", "of 2 to 6 bits, aligned", sizes.progressive,
                     BitsColumn(sizes, sizes.progressive));
  }
  if (sizes.separate > 0) {
    text += ByteLine("", "as separate versions", sizes.separate, BitsColumn(sizes, sizes.separate));
  }
  return text;
}

std::string Line(const char* name, const std::string& value) {
  char head[32];
  std::snprintf(head, sizeof(head), "%-12s", name);
  return head + value + "\n";
}

std::string BitsText(const std::vector<uint32_t>& bits) {
  std::string text;
  for (uint32_t value : bits) text += (text.empty() ? "" : " ") + std::to_string(value);
  return text;
}

/// Returns which submodels were trained.
std::string ElasticText(const ModelInfo& info) {
  if (!info.elastic) return "no: only the whole model was trained";
  const std::string depths =
      info.min_depth == 1 ? "any depth" : "depths from " + std::to_string(info.min_depth);
  return depths + ", widths from " + std::to_string(info.min_width);
}

const char* PoolingName(Pooling pooling) {
  if (pooling == Pooling::kFirst) return "first";
  return pooling == Pooling::kMean ? "mean" : "max";
}

/// Returns what a text becomes: "16 numbers, mean of all tokens, unit length".
std::string EmbeddingText(const ModelInfo& info) {
  const bool first = info.head.pooling == Pooling::kFirst;
  return Counted(info.head_values(), "number") + ", " +
         (first ? "the first token"
                : std::string(PoolingName(info.head.pooling)) + " of all tokens") +
         (info.head.unit_length ? ", unit length" : "");
}

/// Returns what a container of one stage has: "layers 2 to 3, without tokenizer and head".
std::string StageText(const StageExtent& stage) {
  std::string text =
      "layers " + std::to_string(stage.begin) + " to " + std::to_string(stage.end - 1);
  if (stage.ends.whole()) return text;
  return text + ", without " +
         (stage.ends.text   ? "head"
          : stage.ends.head ? "tokenizer"
                            : "tokenizer and head");
}

/// Returns what images a model takes: "224 x 224 pixels of 3 values, in 196 patches".
std::string ImageText(const ImageShape& image) {
  const std::string side = std::to_string(image.size);
  return side + " x " + side + " pixels of " + Counted(image.channels, "value") + ", in " +
         std::to_string(image.patches()) + " patches";
}

/// Returns how many labels a model gives and to what: ", 7 labels (any number)"; empty for none.
std::string LabelsText(const ModelInfo& info) {
  if (info.embeds()) return "";
  if (info.continues_texts()) return ", which it continues";
  const char* any = info.problem == Problem::kMultiLabel ? " (any number)" : "";
  return ", " + Counted(info.shape.labels, "label") + (info.labels_tokens() ? " of tokens" : any);
}

}  // namespace

std::string ContainerToJson(const ContainerIndex& index, const ContainerSizes& sizes) {
  const ModelInfo& info = index.info;
  const ModelShape& s = info.shape;
  Json json;
  json["kind"] = "container";
  json["model"] = index.model.Hex();
  json["shape_digest"] = ShapeDigest(info).Hex();
  json["shape"] = {{"layers", s.layers},         {"width", s.width},
                   {"hidden", s.hidden},         {"ffn", s.ffn},
                   {"vocabulary", s.vocabulary}, {"max_positions", s.max_positions},
                   {"labels", s.labels}};
  if (s.embedding) json["shape"]["embedding"] = *s.embedding;
  json["architecture"] = ArchitectureName(info);
  json["problem"] = info.problem == Problem::kSingleLabel ? "single label" : "multi label";
  if (s.image) {
    json["image"] = {{"size", s.image->size},
                     {"patch", s.image->patch},
                     {"channels", s.image->channels},
                     {"mean", info.pixels.mean},
                     {"deviation", info.pixels.deviation}};
  } else {
    json["tokenizer"] =
        info.tokenizer.kind == TokenizerKind::kWordPiece ? "WordPiece" : "byte-level BPE";
  }
  json["max_length"] = info.max_length();
  json["type"] = TypeName(info.data_type);
  json["elastic"] = info.elastic;
  json["min_depth"] = info.min_depth;
  json["min_width"] = info.min_width;
  json["codebook"] = CodebookName(index.codebook);
  json["layout"] = index.layout == Layout::kShard ? "shard" : "plane";
  json["bits"] = index.bits;
  json["unicode"] = index.unicode;
  json["file_bytes"] = sizes.file;
  json["partial"] = index.partial;
  if (index.stage) {
    const StageExtent& stage = *index.stage;
    json["stage"] = {{"begin", stage.begin},
                     {"end", stage.end},
                     {"text", stage.ends.text},
                     {"head", stage.ends.head}};
  }
  json["weights"] = sizes.weights;
  json["progressive_bytes"] = sizes.progressive;
  json["separate_versions_bytes"] = sizes.separate;
  json["bits_per_weight"] = sizes.BitsPerWeight(sizes.progressive);
  for (const ByteRow& row : ByteRows(sizes)) json["bytes"][row.name] = row.bytes;
  if (info.labels_tokens()) json["head"] = {{"output", "token labels"}};
  if (info.continues_texts()) json["head"] = {{"output", "next token"}};
  if (info.embeds()) {
    json["head"] = {{"output", "embedding"},
                    {"pooling", PoolingName(info.head.pooling)},
                    {"unit_length", info.head.unit_length}};
  }
  json["labels"] = info.labels;
  return JsonLine(json) + "\n";
}

std::string ContainerText(const ContainerIndex& index, const ContainerSizes& sizes) {
  const ModelInfo& info = index.info;
  const ModelShape& s = info.shape;
  const std::string rows =
      s.embedding ? " from rows of " + std::to_string(s.embedding_width()) : std::string();
  std::string text = Line("container", "model " + index.model.Hex());
  text +=
      Line("shape", Counted(s.layers, "layer") + " x " + Counted(s.width, "slice") + ", hidden " +
                        std::to_string(s.hidden) + rows + ", FFN " + std::to_string(s.ffn) + ", " +
                        TypeName(info.data_type) + ", " + ArchitectureName(info));
  text += s.image ? Line("images", ImageText(*s.image) + LabelsText(info))
                  : Line("text", std::to_string(s.vocabulary) + " tokens, inputs up to " +
                                     std::to_string(info.max_length()) + LabelsText(info) +
                                     ", Unicode " + index.unicode);
  if (info.embeds()) text += Line("embeds", EmbeddingText(info));
  text += Line("elastic", ElasticText(info));
  text += Line("bits", BitsText(index.bits) + ", codebook " + CodebookName(index.codebook) +
                           (index.partial ? ", only what some plans read" : ""));
  if (index.stage) text += Line("stage", StageText(*index.stage));
  return text + ByteText(sizes);
}

/// Returns what bits add to the time of a slice, as far as the highest clock says.
std::string DecodeText(const std::vector<DecodeSample>& decode) {
  uint64_t highest = 0;
  for (const DecodeSample& sample : decode) highest = std::max(highest, sample.freq);
  std::string text;
  for (const DecodeSample& sample : decode) {
    if (sample.freq != highest) continue;
    char part[48];
    std::snprintf(part, sizeof(part), text.empty() ? "%u bits %+.*f" : ", %u %+.*f", sample.bits,
                  std::abs(sample.extra_us) < 10 ? 2 : 0, sample.extra_us);
    text += part;
  }
  return text + " us a slice";
}

/// Returns how the device likes to be read, and what the profile was taken under.
std::string ConditionsText(const DeviceProfile& profile) {
  std::string text;
  char line[96];
  if (profile.read_bytes != 0 && profile.read_depth != 0) {
    std::string through;
    if (profile.read_streams > 1)
      through = " through each of " + Counted(profile.read_streams, "open file");
    text += Line("in flight", std::to_string(profile.read_depth) + " reads of at most " +
                                  FormatBytes(profile.read_bytes) + through);
  }
  if (profile.start_us > 0) text += Line("start", FormatTimeUs(profile.start_us));
  if (profile.noise > 0) {
    std::snprintf(line, sizeof(line), "medians to within %.1f %%", 100 * profile.noise);
    text += Line("noise", line);
  }
  if (!profile.decode.empty()) text += Line("decoding", DecodeText(profile.decode));
  if (!profile.io_series.empty() && !profile.compute_series.empty()) {
    const SeriesSample& io = profile.io_series.back();
    const SeriesSample& compute = profile.compute_series.back();
    std::snprintf(line, sizeof(line), "p99 of %s of loads %.2f times, of %s of layers %.2f times",
                  FormatTimeUs(io.median_us).c_str(), io.p99_us / io.median_us,
                  FormatTimeUs(compute.median_us).c_str(), compute.p99_us / compute.median_us);
    text += Line("runs", line);
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

/// Returns the times of passes of one number of inputs, two tables.
std::string PassesText(const std::vector<ComputeSample>& compute,
                       const std::vector<FixedSample>& fixed) {
  char row[96];
  std::string text = "\none layer        median         p99   as the last\n";
  for (const ComputeSample& c : compute) {
    std::string what = std::to_string(c.length) + " x " + std::to_string(c.width);
    std::snprintf(row, sizeof(row), "%-10s %12s %11s %13s\n", what.c_str(),
                  FormatTimeUs(c.layer_us).c_str(), FormatTimeUs(c.p99_us).c_str(),
                  c.last_us > 0 ? FormatTimeUs(c.last_us).c_str() : "the same");
    text += row;
  }
  if (!fixed.empty()) text += "\nlength    embeddings  their IO        head\n";
  for (const FixedSample& f : fixed) {
    std::snprintf(row, sizeof(row), "%-8u %11s %9s %11s\n", f.length,
                  FormatTimeUs(f.embed_us).c_str(), FormatTimeUs(f.embed_io_us).c_str(),
                  FormatTimeUs(f.head_us).c_str());
    text += row;
  }
  return text;
}

std::string ProfileText(const DeviceProfile& profile) {
  std::string text =
      Line("profile", profile.machine.empty() ? "written by hand" : Clipped(profile.machine));
  if (!profile.kernel.name.empty()) {
    text += Line("kernel", profile.kernel.name + ", " + Counted(profile.threads, "thread"));
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
  text += PassesText(profile.compute, profile.fixed);
  for (const BatchSamples& samples : profile.batches) {
    text += "\npasses of " + std::to_string(samples.batch) + " inputs\n" +
            PassesText(samples.compute, samples.fixed);
  }
  return text;
}

std::string LabelVectorsText(const LabelVectors& vectors) {
  constexpr size_t kColumn = 12;
  uint64_t examples = 0;
  for (const uint32_t count : vectors.examples) examples += count;
  std::string text = Line("labels", Counted(vectors.labels.size(), "label") + " of " +
                                        Counted(examples, "example") + ", vectors of " +
                                        Counted(vectors.dimensions, "number"));
  text += Line("model", vectors.model.Hex());
  text += Line("submodel", vectors.submodel.Hex());
  text += Line("examples", vectors.data.Hex());
  if (!vectors.prefix.empty()) text += Line("prefix", "\"" + MakePrintable(vectors.prefix) + "\"");
  text += "\nexamples    label\n";
  for (size_t label = 0; label < vectors.labels.size(); ++label) {
    std::string count = std::to_string(vectors.examples[label]);
    count.resize(std::max(count.size(), kColumn), ' ');
    text += count + MakePrintable(vectors.labels[label]) + "\n";
  }
  return text;
}

}  // namespace sti
