// A complete random model folder, small enough to write in a test.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "safetensors_writer.h"
#include "types/model_info.h"

namespace sti {

/// The options of a tiny model. The same options give the same bytes, on every machine.
struct TinyModelOptions {
  uint32_t layers = 2;
  uint32_t heads = 2;
  uint32_t hidden = 32;  ///< a multiple of heads, or the folder does not open
  uint32_t ffn = 64;     ///< a multiple of heads, or the folder does not open
  uint32_t max_positions = 32;
  uint32_t token_types = 2;
  uint32_t labels = 3;
  uint32_t extra_tokens = 0;  ///< "[unused0]", "[unused1]", ... after TinyVocabulary()
  DataType data_type = DataType::kF16;
  bool elastic = true;     ///< write the `elastic` object with depth_layers
  uint32_t min_depth = 1;  ///< of the `elastic` object, as min_width; written if above 1
  uint32_t min_width = 1;
  std::string activation = "gelu";
  std::string prefix = "bert.";  ///< of the encoder's tensor names; may be empty
  bool old_norm_names = false;   ///< LayerNorm.gamma and .beta
  uint64_t seed = 1;
};

/// Returns the options of a model of 5 layers and 4 slices, whose shards are a block or less.
inline TinyModelOptions FiveByFour() {
  TinyModelOptions model;
  model.layers = 5;
  model.heads = 4;
  model.hidden = 64;
  model.ffn = 128;
  return model;
}

/// Returns the name of a test by the type of its weights.
inline std::string NameOfType(const ::testing::TestParamInfo<DataType>& info) {
  return info.param == DataType::kF32 ? "F32" : info.param == DataType::kF16 ? "F16" : "BF16";
}

/// [PAD] [UNK] [CLS] [SEP] [MASK], a few words and "##" pieces, in id order.
std::vector<std::string> TinyVocabulary();

/// The tensors, in the order of the file. Matrices are roughly normal (deviation 0.15) with about
/// one outlier in 500; norms are near 1 and 0.
std::vector<TensorToWrite> TinyTensors(const TinyModelOptions& options);

/// The text of config.json.
std::string TinyConfig(const TinyModelOptions& options);

/// Creates `dir` and writes config.json, model.safetensors, vocab.txt and tokenizer_config.json.
/// Labels are "label_0", "label_1", ...
Status WriteTinyModel(const std::string& dir, const TinyModelOptions& options = {});

/// The options of what sentence-transformers adds to a folder.
struct SentenceOptions {
  std::string pooling = "mean";  ///< cls, max or mean
  bool unit_length = true;
  uint32_t max_length = 12;
};

/// Gives the last layer of a folder that WriteTinyModel wrote with `options` a norm of zeros, so
/// that all its rows are zeros, whatever the text.
Status ZeroLastRows(const std::string& dir, const TinyModelOptions& options = {});

/// Adds modules.json and the files that it names to the folder of a model, which then embeds.
Status AddSentenceModules(const std::string& dir, const SentenceOptions& options = {});

}  // namespace sti
