// A family is a kind of published network: how its files name things, and what its networks do
// otherwise than those of other families. All that the project knows of a family stands in one file
// of families/, as data; whoever reads and writes published folders interprets it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "network/tensors.h"
#include "types/model_info.h"

namespace sti {

/// The number of a family in containers, which never changes.
enum class Architecture : uint8_t {
  kBert = 0,
  kDistilBert = 1,
  kRoberta = 2,
  kElectra = 3,
  kVit = 4,
  kGpt2 = 5
};

/// The keys of config.json for what all families have.
struct ConfigKeys {
  const char* layers = "num_hidden_layers";
  const char* heads = "num_attention_heads";
  const char* hidden = "hidden_size";
  const char* ffn = "intermediate_size";
  const char* activation = "hidden_act";
  const char* norm_eps = "layer_norm_eps";  ///< null: always 1e-12
  const char* embedding = nullptr;  ///< width of embedding rows; null: always that of hidden rows
  const char* positions = "max_position_embeddings";
};

/// The names of a family's tensors, by role: behind the prefix of a layer for those of a layer,
/// behind that of the encoder for rows and embeddings, whole for the head, which is the one that
/// labels inputs. A tensor that the family lacks has none.
class TensorNames {
 public:
  struct Entry {
    TensorRole role;
    std::string_view name;
  };

  constexpr TensorNames() = default;
  /// Makes names of `entries`, and of those of another family for all other roles.
  constexpr TensorNames(const TensorNames& others, std::span<const Entry> entries)
      : names_(others.names_) {
    for (const Entry& entry : entries) names_[static_cast<size_t>(entry.role)] = entry.name;
  }
  constexpr std::string_view operator[](TensorRole role) const {
    return names_[static_cast<size_t>(role)];
  }

 private:
  std::array<std::string_view, kTensors.size()> names_{};
};

/// The row of the position embeddings that the first token of an input has.
enum class FirstPosition : uint8_t {
  kZero,
  kBehindPadding,  ///< one behind the number of the padding token's id
};

/// The inputs that networks of a family take.
enum class FamilyInput : uint8_t { kTexts, kImages };

/// A class of Hugging Face's tokenizers, by its name without "Fast".
struct NamedTokenizer {
  std::string_view name = {};
  bool gives_types = false;  ///< whether it gives types to tokens in version 5 of transformers
};

/// A family of networks.
struct Family {
  Architecture architecture = {};
  std::string_view model_type = {};  ///< in config.json
  /// The beginning of the names of its classes in transformers: "Bert".
  std::string_view class_prefix = {};
  /// The beginning of the classes that config.json may name where it lacks model_type: of old
  /// checkpoints, which have BERT's keys. Empty: a folder without model_type is not of this family.
  std::string_view class_without_type = {};
  ConfigKeys keys = {};
  std::string_view encoder = {};  ///< in front of all tensors but the head's, as "bert."
  std::string_view layers = {};   ///< behind it, in front of the number of a layer
  TensorNames names = {};

  FamilyInput input = FamilyInput::kTexts;
  bool norm_before = false;  ///< as ModelShape::norm_before
  bool causal = false;       ///< as ModelShape::causal
  /// Matrices of layers lie as [inputs, outputs], and those of queries, keys and values side by
  /// side in one, as their biases do one behind another.
  bool transposed = false;
  bool has_types = true;  ///< tokens have types, and types rows
  bool has_two_types =
      false;  ///< the second text of a pair has type 1, if NamedTokenizer gives any
  uint32_t default_embedding = 0;  ///< where config.json lacks the key that the family has for it
  uint32_t default_pad_id = 0;     ///< where config.json has no pad_token_id
  FirstPosition first_position = FirstPosition::kZero;
  PoolerActivation pooler = PoolerActivation::kTanh;

  TokenizerKind tokenizer_kind = TokenizerKind::kWordPiece;
  NamedTokenizer tokenizer = {};            ///< the family's own class
  std::string_view default_tokenizer = {};  ///< the class where no file names one
  bool has_frame = true;                    ///< as TokenizerInfo::has_frame
};

/// Returns all families, by their numbers.
std::span<const Family* const> Families();

/// Returns the family of a number that a container gives; null if there is none.
const Family* FindFamily(uint8_t number);

/// Returns the family of a model_type of config.json; null if there is none.
const Family* FindFamily(std::string_view model_type);

/// Returns the family of a model.
const Family& FamilyOf(const ModelInfo& info);

/// Returns the usual name of a tensor: "bert.encoder.layer.3.attention.self.query.weight". `layer`
/// only counts for tensors of a layer, and `output` for those of the head: where it labels tokens,
/// all families name its classifier alike. Empty if the family has no such tensor.
std::string NameOf(TensorRole role, uint32_t layer, const Family& family,
                   HeadOutput output = HeadOutput::kLabels);

/// Returns all names that a tensor may have in files, the usual one first: with gamma and beta for
/// a norm's weight and bias, and without the name of the encoder in front.
std::vector<std::string> NamesOf(TensorRole role, uint32_t layer, const Family& family,
                                 HeadOutput output = HeadOutput::kLabels);

/// Returns the name of the class of transformers that loads a model of this family and head:
/// "BertForTokenClassification".
std::string ClassOf(const Family& family, HeadOutput output);

/// The place of a tensor in the one of a file that holds it. Of a tensor that is alone this is all.
struct TensorPlace {
  uint32_t part = 0;   ///< its number among those that lie side by side
  uint32_t parts = 1;  ///< how many do
  bool transposed = false;
};

/// Returns where a tensor lies in the one of this family's files that has its name.
TensorPlace PlaceOf(TensorRole role, const Family& family);

/// Returns the shape of the tensor of a file that has a tensor's name.
std::vector<uint64_t> StoredShapeOf(const TensorSpec& tensor, const ModelShape& shape,
                                    const Family& family);

/// Returns whether both texts of a pair have one token type where those of the family have two.
bool LacksSecondType(const ModelInfo& info);

}  // namespace sti
