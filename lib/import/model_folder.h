// A model folder as published (config.json, weights, vocabulary), as one neutral description.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "import/weight_file.h"
#include "network/families.h"
#include "network/tensors.h"
#include "types/model_info.h"
#include "types/model_order.h"

namespace sti {

/// Names what does not lie in the folder itself; empty for what does.
struct FolderParts {
  std::string tokenizer = {};  ///< a folder whose tokenizer's files are read, and not the model's
  std::string labels = {};     ///< a file with the names of the labels, one a line, by id
  /// The pooling of an encoder that is to embed texts and whose folder does not say it.
  std::optional<Pooling> pooling = {};
  LogSink log = {};  ///< receives warnings of how files are read
};

/// A folder that was checked as a whole: when Open succeeds, every tensor is there, in a type we
/// read and with the right shape. Weights are not looked at; see CheckFinite.
///
/// Weights come from model.safetensors, from the files that model.safetensors.index.json names,
/// which must lie in the folder itself, or likewise from pytorch_model.bin. Names may lack "bert."
/// (or what stands there in other families) and may say gamma and beta. A model without token types
/// gets a row of zeros, which adds nothing.
///
/// A folder of sentence-transformers has modules.json, which says where the encoder's files lie and
/// how its rows become a vector (import/sentence_folder.h).
///
/// Immutable once open: any number of threads may call the const methods at once. Move-only; views
/// survive a move and die with the object.
class ModelFolder {
 public:
  /// Opens a folder, with `parts` in place of its own, and checks it whole. Errors: kNoSuchFile for
  /// what is missing, kForeign for models, tokenizers and weights of kinds that are not read,
  /// kReadFailed or kMachine if a file cannot be read, kDamaged for the rest.
  static Result<ModelFolder> Open(const std::string& dir, const FolderParts& parts = {});

  [[nodiscard]] const ModelInfo& info() const { return info_; }
  [[nodiscard]] const Family& family() const { return FamilyOf(info_); }

  /// Returns the tokens in id order, each ended by a line feed; what Vocabulary::FromText takes.
  [[nodiscard]] const std::string& vocabulary_text() const { return vocabulary_text_; }

  /// Merges in rank order, "left right" each ended by a line feed; what ByteBpe takes. Empty for
  /// WordPiece.
  [[nodiscard]] const std::string& merges_text() const { return merges_text_; }

  /// Puts heads and neurons of a plain model in order and gives each depth its layers, as if the
  /// folder had been published so. kUsage for a model that is elastic, whose order is its own;
  /// kForeign for an order of another shape.
  Status Sort(ModelOrder order);

  /// Returns the tensor of a role; `layer` < info().shape.layers, and only counts for layer roles.
  /// That of a sorted model may be a copy, which lives as long as what this returns.
  [[nodiscard]] TensorView Tensor(TensorRole role, uint32_t layer = 0) const;

  /// Returns the file and the name of that tensor in it, for messages.
  [[nodiscard]] std::string TensorPath(TensorRole role, uint32_t layer = 0) const;

 private:
  explicit ModelFolder(std::string dir) : dir_(std::move(dir)) {}
  struct Slot {
    TensorView view;
    std::string path;  ///< as TensorPath
  };
  static size_t SlotOf(TensorRole role, uint32_t layer);

  Status ReadTokenizerFiles(const FolderParts& parts);
  Status ReadPixelScale(const FolderParts& parts);
  Status OpenFiles();
  Status OpenIndex(const std::string& path, Result<WeightFile> (*open)(const std::string& path));
  Status ResolveAll();
  Status Resolve(const TensorSpec& tensor, uint32_t layer);
  void AddZeroTypes();
  [[nodiscard]] Status CheckTied() const;
  Result<Slot> FindTensor(const TensorSpec& tensor, uint32_t layer) const;
  const WeightFile* FileOf(const std::string& name) const;

  std::string dir_;
  ModelInfo info_;
  ModelOrder order_;  ///< empty: as published
  std::string vocabulary_text_;
  std::string merges_text_;
  std::vector<uint8_t> zero_types_;  ///< row of token types, where the family has none
  std::vector<WeightFile> files_;
  std::map<std::string, size_t> file_by_tensor_;  ///< empty for one file
  std::vector<Slot> slots_;                       ///< by SlotOf
};

}  // namespace sti
