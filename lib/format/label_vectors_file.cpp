#include "format/label_vectors_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "format/flatbuffer_values.h"
#include "format/framed_file.h"
#include "label_vectors_generated.h"
#include "types/limits.h"

namespace sti {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;
using TableDigest = const flatbuffers::Vector<uint8_t>*;

Result<Digest> ReadDigest(TableDigest bytes, const std::string& where) {
  if (bytes == nullptr) return Digest{};
  return DigestFromBytes(bytes->data(), bytes->size(), where);
}

/// Reads the names of labels, which may all lie at one place of a hostile file.
Status ReadLabels(const fb::LabelVectors& table, const std::string& name, ListRoom* room,
                  std::vector<std::string>* labels) {
  const auto* list = table.labels();
  if (list == nullptr) return {};
  if (list->size() > kMaxLabels) return TableError(name, "there are not 2 to 65536 labels");
  labels->reserve(list->size());
  for (const flatbuffers::String* label : *list) {
    STI_RETURN_IF_ERROR(room->Take<char>(label));
    labels->push_back(label->str());
  }
  return {};
}

Result<LabelVectors> FromTable(const fb::LabelVectors& table, size_t payload_bytes,
                               const std::string& name) {
  LabelVectors vectors;
  ListRoom room(payload_bytes, TableError(name, kFullProblem));
  STI_ASSIGN_OR_RETURN(vectors.model, ReadDigest(table.model(), name + ": model"));
  STI_ASSIGN_OR_RETURN(vectors.submodel, ReadDigest(table.submodel(), name + ": submodel"));
  STI_ASSIGN_OR_RETURN(vectors.data, ReadDigest(table.data(), name + ": data"));
  STI_RETURN_IF_ERROR(room.Take<char>(table.prefix()));
  vectors.prefix = TextOf(table.prefix());
  vectors.dimensions = table.dimensions();
  STI_RETURN_IF_ERROR(ReadLabels(table, name, &room, &vectors.labels));
  STI_RETURN_IF_ERROR(room.Copy(table.examples(), &vectors.examples));
  STI_RETURN_IF_ERROR(room.Copy(table.vectors(), &vectors.vectors));
  const std::string problem = ProblemOfLabelVectors(vectors);
  if (!problem.empty()) return TableError(name, problem);
  return vectors;
}

flatbuffers::Offset<flatbuffers::Vector<uint8_t>> BytesOf(Builder& builder, const Digest& digest) {
  return builder.CreateVector(digest.bytes.data(), digest.bytes.size());
}

}  // namespace

bool IsLabelVectors(std::span<const uint8_t> bytes) {
  return bytes.size() >= kLabelVectorsMagic.size() &&
         std::equal(kLabelVectorsMagic.begin(), kLabelVectorsMagic.end(), bytes.begin(),
                    [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; });
}

Result<LabelVectors> ParseLabelVectors(std::span<const uint8_t> bytes, const std::string& name) {
  STI_ASSIGN_OR_RETURN(const std::span<const uint8_t> framed,
                       FindPayload(kLabelVectorsMagic, bytes, name));
  const AlignedPayload payload(framed);
  flatbuffers::Verifier verifier(payload.data(), payload.size());
  if (!fb::VerifyLabelVectorsBuffer(verifier)) return TableError(name, kNoTable);
  return FromTable(*fb::GetLabelVectors(payload.data()), payload.size(), name);
}

Result<std::vector<uint8_t>> EncodeLabelVectors(const LabelVectors& vectors) {
  constexpr uint64_t kFrameBytes = 4096;  // of frame and table, with room to spare
  constexpr uint64_t kBytesOfLabel = 16;  // its offset, length, end and padding
  uint64_t bytes = BytesOf(vectors) + kFrameBytes;
  bytes += vectors.labels.size() * kBytesOfLabel;
  if (bytes > kMaxSmallFileBytes) {
    return InfeasibleError("the label vectors take more than the 64 MiB of such a file");
  }
  Builder builder;
  const auto model = BytesOf(builder, vectors.model);
  const auto submodel = BytesOf(builder, vectors.submodel);
  const auto data = BytesOf(builder, vectors.data);
  const auto prefix = vectors.prefix.empty() ? 0 : builder.CreateString(vectors.prefix);
  const auto labels = builder.CreateVectorOfStrings(vectors.labels);
  const auto examples = builder.CreateVector(vectors.examples);
  const auto numbers = builder.CreateVector(vectors.vectors);
  builder.Finish(fb::CreateLabelVectors(builder, model, submodel, data, prefix, vectors.dimensions,
                                        labels, examples, numbers));
  return WrapFrame(kLabelVectorsMagic, {builder.GetBufferPointer(), builder.GetSize()});
}

std::string LabelVectorsToJson(const LabelVectors& vectors) {
  nlohmann::ordered_json json{
      {"model", vectors.model.Hex()},     {"submodel", vectors.submodel.Hex()},
      {"data", vectors.data.Hex()},       {"prefix", vectors.prefix},
      {"dimensions", vectors.dimensions}, {"examples", nlohmann::ordered_json::object()}};
  for (size_t label = 0; label < vectors.labels.size(); ++label)
    json["examples"][vectors.labels[label]] = vectors.examples[label];
  return json.dump() + "\n";
}

}  // namespace sti
