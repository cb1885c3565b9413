// A fuzzer of bytes seldom gets past the checksums and the shape of a FlatBuffer. This one changes
// the numbers that a container holds, one by one as its input says, puts every checksum right, and
// then does what tools do: opens the container, verifies it, and asks a session for an answer.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "api/input.h"
#include "api/session.h"
#include "api/verify_model.h"
#include "base/little_endian.h"
#include "base/utf8.h"
#include "fuzz/numbers.h"
#include "fuzz/targets.h"
#include "io/container_file.h"
#include "pipeline/whole_plan.h"
#include "support/forged_container.h"
#include "support/test_container.h"
#include "text/tokenizer.h"
#include "types/finite.h"

namespace sti::fuzz {
namespace {

template <typename Number>
void Change(Numbers& numbers, Number& number) {
  number = static_cast<Number>(numbers.Near(static_cast<uint64_t>(number)));
}

/// An entry of a list that has one.
template <typename List>
auto& EntryOf(Numbers& numbers, List& list) {
  return list[numbers.Below(list.size())];
}

void ChangeShape(Numbers& numbers, ForgedContainer& forged) {
  ModelShape& shape = forged.index().info.shape;
  std::array fields = {&shape.layers,     &shape.width,         &shape.hidden,      &shape.ffn,
                       &shape.vocabulary, &shape.max_positions, &shape.token_types, &shape.labels};
  Change(numbers, *EntryOf(numbers, fields));
}

/// The traits that tell families apart: norms, attention, head, and inputs, which are texts or
/// images of some shape and scale.
void ChangeTraits(Numbers& numbers, ForgedContainer& forged) {
  ModelInfo& info = forged.index().info;
  const auto which = numbers.Take<uint8_t>() % 7;
  if (which == 0) info.shape.causal = !info.shape.causal;
  if (which == 1) info.shape.norm_before = !info.shape.norm_before;
  if (which == 2) info.head.output = static_cast<HeadOutput>(numbers.Take<uint8_t>() % 5);
  if (which == 3) info.shape.image = ImageShape{12, 4, 3};
  if (!info.shape.image) return;
  ImageShape& image = *info.shape.image;
  std::array fields = {&image.size, &image.patch, &image.channels};
  if (which == 4) Change(numbers, *EntryOf(numbers, fields));
  if (which == 5) info.shape.image.reset();
  if (which == 6 && !info.pixels.mean.empty() && !info.pixels.deviation.empty()) {
    EntryOf(numbers, info.pixels.mean) = numbers.Take<float>();
    EntryOf(numbers, info.pixels.deviation) = numbers.Take<float>();
  }
}

PartLocation& AnyPart(Numbers& numbers, ForgedContainer& forged) {
  ContainerIndex& index = forged.index();
  if (numbers.Take<uint8_t>() % 2 == 0) return EntryOf(numbers, index.resident).part;
  PerPart<PartLocation>& parts = EntryOf(numbers, index.shards).parts;
  return parts[kPartKinds[numbers.Below(kPartKinds.size())]];
}

void ChangePlace(Numbers& numbers, ForgedContainer& forged) {
  ContainerIndex& index = forged.index();
  const auto which = numbers.Take<uint8_t>();
  PartLocation& part = AnyPart(numbers, forged);
  if (which < 100) Change(numbers, part.offset);
  if (which >= 100 && which < 180) Change(numbers, part.length);
  if (which >= 180 && which < 200) part = AnyPart(numbers, forged);
  if (which >= 200 && which < 220) Change(numbers, index.words.offset);
  if (which >= 220) Change(numbers, index.positions.row_bytes);
}

void ChangeResident(Numbers& numbers, ForgedContainer& forged) {
  ResidentLocation& part = EntryOf(numbers, forged.index().resident);
  const auto which = numbers.Take<uint8_t>() % 5;
  if (which == 0) Change(numbers, part.raw_length);
  if (which == 1) Change(numbers, part.layer);
  if (which == 2) part.kind = static_cast<ResidentKind>(numbers.Take<uint8_t>() % 8);
  if (which == 3) part.type = static_cast<DataType>(numbers.Take<uint8_t>() % 4);
  if (which == 4) part.compression = static_cast<Compression>(numbers.Take<uint8_t>() % 3);
}

void ChangeTexts(Numbers& numbers, ForgedContainer& forged) {
  const auto which = numbers.Take<uint8_t>() % 4;
  std::vector<std::string>& labels = forged.index().info.labels;
  if (which == 0) forged.index().unicode = numbers.Text();
  if (which == 1 && !labels.empty()) EntryOf(numbers, labels) = numbers.Text();
  if (which == 2) forged.SetText(ResidentKind::kVocabulary, numbers.Text());
  if (which == 3 && !labels.empty()) EntryOf(numbers, labels) = labels[0];
}

void ChangeInfo(Numbers& numbers, ForgedContainer& forged) {
  ModelInfo& info = forged.index().info;
  TokenizerInfo& tokenizer = info.tokenizer;
  const auto value = numbers.Take<uint8_t>();
  switch (numbers.Take<uint8_t>() % 14) {
    case 0:
      return Change(numbers, tokenizer.sep_id);
    case 1:
      return Change(numbers, tokenizer.unknown_id);
    case 2:
      tokenizer.kind = static_cast<TokenizerKind>(value % 3);
      return;
    case 3:
      return Change(numbers, info.position_offset);
    case 4:
      info.pooler = static_cast<PoolerActivation>(value % 4);
      return;
    case 5:
      info.problem = static_cast<Problem>(value % 3);
      return;
    case 6:
      info.architecture = static_cast<Architecture>(value % 6);
      return;
    case 7:
      info.layer_norm_eps = numbers.Take<double>();
      return;
    case 8:
      return Change(numbers, info.min_width);
    case 9:
      return Change(numbers, EntryOf(numbers, EntryOf(numbers, info.depth_layers)));
    case 10:
      return Change(numbers, info.min_depth);
    case 11:
      return Change(numbers, info.shape.embedding.emplace(info.shape.hidden));
    case 12:
      info.activation = static_cast<Activation>(value % 4);
      return;
    default:
      info.data_type = static_cast<DataType>(value % 4);
  }
}

void ChangeCodes(Numbers& numbers, ForgedContainer& forged) {
  ContainerIndex& index = forged.index();
  Codebook& codebook = EntryOf(numbers, index.centroids);
  const auto which = numbers.Take<uint8_t>() % 6;
  if (which < 2) EntryOf(numbers, codebook.centroids[2 + numbers.Below(5)]) = numbers.Take<float>();
  if (which == 2 && !codebook.scales.empty())
    EntryOf(numbers, codebook.scales) = numbers.Take<float>();
  if (which == 3) index.codebook = static_cast<CodebookKind>(numbers.Take<uint8_t>() % 4);
  if (which == 4) index.partial = !index.partial;
  if (which == 5) Change(numbers, EntryOf(numbers, index.bits));
}

/// Stored numbers of a part or a row: the counts in front, or any four bytes.
void ChangeBytes(Numbers& numbers, ForgedContainer& forged) {
  const auto which = numbers.Take<uint8_t>() % 4;
  const ContainerIndex& index = forged.index();
  std::span<uint8_t> bytes;
  if (which == 0) bytes = forged.Row(index.words, static_cast<uint32_t>(numbers.Below(32)));
  if (which == 1) bytes = forged.Row(index.positions, static_cast<uint32_t>(numbers.Below(8)));
  if (which > 1) bytes = forged.Part(AnyPart(numbers, forged));
  if (bytes.size() < sizeof(uint32_t)) return;
  const uint64_t at = numbers.Below(bytes.size() - sizeof(uint32_t) + 1);
  StoreLittle<uint32_t>(&bytes[numbers.Take<uint8_t>() % 2 == 0 ? at : at % 16 / 4 * 4],
                        numbers.Take<uint32_t>());
}

const std::vector<ForgedContainer>& Bases() {
  static const std::vector<ForgedContainer> bases = [] {
    TinyModelOptions model;
    model.hidden = 16;
    model.ffn = 32;
    model.data_type = DataType::kF32;
    ShardOptions coded;
    coded.rows = RowCoding::kEightBit;
    std::vector<ForgedContainer> made;
    made.emplace_back(model, coded);
    model.data_type = DataType::kF16;
    ShardOptions planes;
    planes.layout = Layout::kPlane;
    planes.codebook = CodebookKind::kGobo;
    planes.bits = {2, 3, 6};
    made.emplace_back(model, planes);
    made.emplace_back(FileBytes(STI_SOURCE_DIR "/tests/data/v1.8/vit.sti"));
    made.emplace_back(FileBytes(STI_SOURCE_DIR "/tests/data/v1.9/gpt2.sti"));
    return made;
  }();
  return bases;
}

/// An image or a text that a model takes, or a prompt that it continues.
Result<SessionInput> InputFor(const Session& session) {
  const ModelInfo& info = session.info();
  if (info.shape.image) {
    return SessionInput(ImageValues{std::vector<float>(info.shape.image->values(), 0.5F)});
  }
  STI_ASSIGN_OR_RETURN(Encoding text, session.Encode("a text of some words"));
  if (info.continues_texts()) return SessionInput(Prompt{std::move(text), 3});
  return SessionInput(std::move(text));
}

/// Does with the container what a session does. Whatever it calls damaged, verifying must have
/// found.
void Ask(ForgedContainer& forged, bool damaged) {
  const auto refused = [&](const Error& error) {
    if (error.source == Source::kInput) return RequireDataError(error);
    Require(damaged || error.kind != ErrorKind::kDamaged, "what a session refuses is found");
  };
  auto file = forged.Open();
  Require(file.ok(), "a container opens again");
  auto plan = MakeWholePlan(file->index(), {});
  if (!plan.ok()) return refused(plan.error());
  if (file->index().info.continues_texts()) ContinueTexts(file->index().info, false, &*plan);
  const auto session = Session::Open(std::move(*file), *std::move(plan), {});
  if (!session.ok()) return refused(session.error());
  const auto input = InputFor(**session);
  if (!input.ok()) return;
  Answer answer;
  const Status asked = sti::Ask(**session, *input, Clock::now(), &answer);
  if (!asked.ok()) return refused(asked.error());
  Require(AllFinite(answer.run.values), "an answer comes from finite numbers");
  const ModelInfo& info = (*session)->info();
  if (info.has_labels()) {
    Require(answer.labels().label < info.labels.size(), "a label has a name");
  } else if (const auto* embedding = std::get_if<Embedding>(&answer.content)) {
    Require(embedding->values.size() == info.head_values(), "an embedding has all its numbers");
  } else if (const auto* continuation = std::get_if<Continuation>(&answer.content)) {
    for (const uint32_t id : continuation->ids) {
      Require(id < info.shape.vocabulary, "a token is of the vocabulary");
    }
  }
}

}  // namespace

void Index(Input input) {
  using Edit = void (*)(Numbers&, ForgedContainer&);
  constexpr Edit kEdits[] = {ChangeShape, ChangePlace, ChangeResident, ChangeTexts,
                             ChangeInfo,  ChangeCodes, ChangeBytes,    ChangeTraits};
  constexpr int kMostEdits = 16;
  Numbers numbers(input);
  ForgedContainer forged = Bases()[numbers.Take<uint8_t>() % Bases().size()];
  for (int i = 0; i < kMostEdits && !numbers.empty(); ++i) {
    kEdits[numbers.Take<uint8_t>() % std::size(kEdits)](numbers, forged);
  }
  if (forged.index().info.shape.width == 0) return;  // says nothing of where shards are
  auto file = forged.Open();
  if (!file.ok()) return RequireDataError(file.error());
  for (const std::string& label : file->index().info.labels) {
    Require(IsPrintable(label) && !label.empty(), "a label can be printed");
  }
  Require(IsPrintable(file->index().unicode), "so can the version of Unicode");
  const auto report = VerifyModel(*file, {});
  Require(report.ok(), "verifying reports damage");
  for (const Error& damage : report->damaged) RequireDataError(damage);
  Ask(forged, !report->damaged.empty());
}

}  // namespace sti::fuzz
