// A model folder as published (config.json, safetensors, vocabulary), as one neutral description.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "import/safetensors.h"
#include "types/model_info.h"

namespace sti {

/// What a tensor is for. Those before kWordEmbeddings exist once a layer, the others once.
enum class TensorRole : uint8_t {
  kQueryWeight,          ///< [hidden, hidden]; rows are outputs, as in all matrices here
  kKeyWeight,            ///< [hidden, hidden]
  kValueWeight,          ///< [hidden, hidden]
  kOutputWeight,         ///< [hidden, hidden]
  kFfn1Weight,           ///< [ffn, hidden]
  kFfn2Weight,           ///< [hidden, ffn]
  kQueryBias,            ///< [hidden]
  kKeyBias,              ///< [hidden]
  kValueBias,            ///< [hidden]
  kOutputBias,           ///< [hidden]
  kFfn1Bias,             ///< [ffn]
  kFfn2Bias,             ///< [hidden]
  kAttentionNormWeight,  ///< [hidden], after the attention output
  kAttentionNormBias,    ///< [hidden]
  kOutputNormWeight,     ///< [hidden], after the FFN
  kOutputNormBias,       ///< [hidden]
  kWordEmbeddings,       ///< [vocabulary, hidden]
  kPositionEmbeddings,   ///< [max_positions, hidden]
  kTypeEmbeddings,       ///< [token_types, hidden]
  kEmbeddingNormWeight,  ///< [hidden]
  kEmbeddingNormBias,    ///< [hidden]
  kPoolerWeight,         ///< [hidden, hidden]
  kPoolerBias,           ///< [hidden]
  kClassifierWeight,     ///< [labels, hidden]
  kClassifierBias,       ///< [labels]
};

/// True for the roles that exist once a layer.
constexpr bool IsLayerRole(TensorRole role) { return role < TensorRole::kWordEmbeddings; }

/// True for the six matrices of a layer, those that get cut into shards.
constexpr bool IsShardRole(TensorRole role) { return role < TensorRole::kQueryBias; }

/// The usual name, for messages: "bert.encoder.layer.3.attention.self.query.weight". `layer` only
/// counts for layer roles.
std::string TensorName(TensorRole role, uint32_t layer = 0);

/// The shape that a model of `shape` needs.
std::vector<uint64_t> TensorShape(TensorRole role, const ModelShape& shape);

/// A folder that was checked as a whole: when Open succeeds, every tensor is there, in a type we
/// read and with the right shape. Weights are not looked at; see CheckFinite.
///
/// Weights come from model.safetensors, or from the files that model.safetensors.index.json names,
/// which must lie in the folder itself. Names may lack "bert." and may say gamma and beta.
///
/// Immutable once open: any number of threads may call the const methods at once. Move-only; views
/// survive a move and die with the object.
class ModelFolder {
 public:
  /// UsageError if `dir` is no folder, MachineError if a file cannot be read, DataError for all
  /// that is wrong with its contents.
  static Result<ModelFolder> Open(const std::string& dir);

  [[nodiscard]] const ModelInfo& info() const { return info_; }

  /// Tokens in id order, each ended by a line feed; what Vocabulary::FromText takes.
  [[nodiscard]] const std::string& vocabulary_text() const { return vocabulary_text_; }

  /// The tensor of a role; `layer` < info().shape.layers, and only counts for layer roles.
  [[nodiscard]] const TensorView& Tensor(TensorRole role, uint32_t layer = 0) const;

  /// The file and the name of that tensor in it, for messages.
  [[nodiscard]] std::string TensorPath(TensorRole role, uint32_t layer = 0) const;

 private:
  explicit ModelFolder(std::string dir) : dir_(std::move(dir)) {}
  struct Slot {
    TensorView view;
    std::string path;  ///< as TensorPath
  };
  static size_t SlotOf(TensorRole role, uint32_t layer);

  Status OpenFiles();
  Status OpenIndex(const std::string& path);
  Status ResolveAll();
  Status Resolve(TensorRole role, uint32_t layer);
  Result<Slot> FindTensor(TensorRole role, uint32_t layer) const;
  const SafetensorsFile* FileOf(const std::string& name) const;

  std::string dir_;
  ModelInfo info_;
  std::string vocabulary_text_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, size_t> file_by_tensor_;  ///< empty for one file
  std::vector<Slot> slots_;                       ///< by SlotOf
};

}  // namespace sti
