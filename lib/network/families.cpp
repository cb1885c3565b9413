#include "network/families.h"

#include <algorithm>
#include <cassert>
#include <string_view>
#include <utility>

#include "network/families/list.h"

namespace sti {
namespace {

/// The list of families. It is written down, since of a static library the linker would drop files
/// that add themselves.
constexpr const Family* kFamilies[] = {&kBertFamily,    &kDistilBertFamily, &kRobertaFamily,
                                       &kElectraFamily, &kVitFamily,        &kGpt2Family};

}  // namespace

std::span<const Family* const> Families() { return kFamilies; }

const Family* FindFamily(uint8_t number) {
  for (const Family* family : kFamilies) {
    if (static_cast<uint8_t>(family->architecture) == number) return family;
  }
  return nullptr;
}

const Family* FindFamily(std::string_view model_type) {
  for (const Family* family : kFamilies) {
    if (family->model_type == model_type) return family;
  }
  return nullptr;
}

const Family& FamilyOf(const ModelInfo& info) {
  const Family* family = FindFamily(static_cast<uint8_t>(info.architecture));
  assert(family != nullptr);
  return *family;
}

std::string NameOf(TensorRole role, uint32_t layer, const Family& family, HeadOutput output) {
  std::string name(family.names[role]);
  if (output == HeadOutput::kTokenLabels && role == TensorRole::kClassifierWeight)
    name = "classifier.weight";
  if (output == HeadOutput::kTokenLabels && role == TensorRole::kClassifierBias)
    name = "classifier.bias";
  const TensorSpec& tensor = SpecOf(role);
  if (name.empty() || tensor.home == Home::kHead) return name;
  std::string prefix(family.encoder);
  if (IsOfLayer(tensor)) prefix += std::string(family.layers) + std::to_string(layer) + ".";
  return prefix + name;
}

std::vector<std::string> NamesOf(TensorRole role, uint32_t layer, const Family& family,
                                 HeadOutput output) {
  constexpr std::string_view kNorm = "LayerNorm.";
  std::vector<std::string> names = {NameOf(role, layer, family, output)};
  if (const size_t norm = names[0].find(kNorm); norm != std::string::npos) {
    const std::string_view last = names[0].ends_with("weight") ? "gamma" : "beta";
    names.push_back(names[0].substr(0, norm + kNorm.size()) + std::string(last));
  }
  const size_t prefixed = names.size();
  for (size_t i = 0; i < prefixed; ++i) {
    if (!names[i].starts_with(family.encoder)) continue;
    std::string bare = names[i].substr(family.encoder.size());
    names.push_back(std::move(bare));
  }
  return names;
}

std::string ClassOf(const Family& family, HeadOutput output) {
  if (family.input == FamilyInput::kImages) {
    return std::string(family.class_prefix) + "ForImageClassification";
  }
  if (output == HeadOutput::kNextToken) return std::string(family.class_prefix) + "LMHeadModel";
  constexpr std::string_view kEndings[] = {"ForSequenceClassification", "Model",
                                           "ForTokenClassification"};
  return std::string(family.class_prefix) + std::string(kEndings[static_cast<size_t>(output)]);
}

TensorPlace PlaceOf(TensorRole role, const Family& family) {
  if (!family.transposed) return {};
  const TensorSpec& tensor = SpecOf(role);
  const bool is_matrix = tensor.home == Home::kShard;
  const auto part_from = [&](TensorRole first) {
    return static_cast<uint32_t>(role) - static_cast<uint32_t>(first);
  };
  constexpr uint32_t kSides = 3;  // queries, keys and values
  if (is_matrix && part_from(TensorRole::kQueryWeight) < kSides)
    return {part_from(TensorRole::kQueryWeight), kSides, true};
  if (tensor.home == Home::kLayer && part_from(TensorRole::kQueryBias) < kSides)
    return {part_from(TensorRole::kQueryBias), kSides, false};
  return {0, 1, is_matrix};
}

std::vector<uint64_t> StoredShapeOf(const TensorSpec& tensor, const ModelShape& shape,
                                    const Family& family) {
  std::vector<uint64_t> stored = ShapeOf(tensor, shape);
  const TensorPlace place = PlaceOf(tensor.role, family);
  if (place.transposed) std::ranges::reverse(stored);
  stored.back() *= place.parts;
  return stored;
}

bool LacksSecondType(const ModelInfo& info) {
  const Family* family = FindFamily(static_cast<uint8_t>(info.architecture));
  return family != nullptr && family->has_two_types && info.tokenizer.second_type == 0;
}

}  // namespace sti
