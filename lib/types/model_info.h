// Describes a model without its weights: its sizes, what it computes, and how it reads text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "types/limits.h"
#include "types/model_order.h"
#include "types/submodel.h"

namespace sti {

/// Names how the source stores its weights, and therefore what full fidelity means (value-exact).
enum class DataType : uint8_t { kF32 = 0, kF16 = 1, kBF16 = 2 };

constexpr uint32_t BytesOf(DataType type) { return type == DataType::kF32 ? 4 : 2; }

/// The images that a model takes: square, and cut into square patches, each of which is a token.
struct ImageShape {
  uint32_t size = 0;      ///< pixels of a side; a multiple of `patch`
  uint32_t patch = 0;     ///< pixels of a patch's side
  uint32_t channels = 0;  ///< values of a pixel

  friend bool operator==(const ImageShape&, const ImageShape&) = default;
  [[nodiscard]] uint32_t patches() const { return (size / patch) * (size / patch); }
  /// Returns how many values a patch has.
  [[nodiscard]] uint32_t patch_values() const { return channels * patch * patch; }
  /// Returns how many values an image has.
  [[nodiscard]] constexpr uint64_t values() const { return uint64_t{channels} * size * size; }
};

/// Sizes of a transformer. N x M shards: `layers` x `width` (STI 4.2, Table 1).
struct ModelShape {
  uint32_t layers = 0;         ///< N
  uint32_t width = 0;          ///< M, attention heads and therefore slices a layer
  uint32_t hidden = 0;         ///< d; a multiple of M
  uint32_t ffn = 0;            ///< d_ff; a multiple of M
  uint32_t vocabulary = 0;     ///< rows of the word embeddings; 0 of a model of images
  uint32_t max_positions = 0;  ///< rows of the position embeddings
  uint32_t token_types = 0;    ///< rows of the token type embeddings; 0: tokens have no types
  uint32_t labels = 0;         ///< classes of an input or of a token; 0 of a model that embeds
  /// E, the width of embedding rows, where it is not d: then their sum is projected to d.
  std::optional<uint32_t> embedding = std::nullopt;
  bool has_pooler = true;  ///< a dense layer [d, d] stands between encoder and classifier
  /// Norms stand in front of attention and of the FFN, and one behind the last layer; otherwise
  /// they stand behind them, and one behind the sum of embeddings.
  bool norm_before = false;
  std::optional<ImageShape> image = std::nullopt;  ///< inputs are images; nothing: texts
  bool causal = false;  ///< a token attends to itself and to those in front of it alone

  friend bool operator==(const ModelShape&, const ModelShape&) = default;
  [[nodiscard]] uint32_t head_dim() const { return hidden / width; }
  [[nodiscard]] uint32_t slice_ffn() const { return ffn / width; }
  /// Returns the numbers of an embedding row.
  [[nodiscard]] uint32_t embedding_width() const { return embedding.value_or(hidden); }
};

enum class Activation : uint8_t { kGelu = 0, kGeluTanh = 1, kRelu = 2 };

/// The number of the family that an encoder is of (network/families.h).
enum class Architecture : uint8_t;

/// The function between the pooler and the classifier; of a model without a pooler there is none.
enum class PoolerActivation : uint8_t { kTanh = 0, kRelu = 1, kGelu = 2, kNone = 3 };

/// The result of a head: one for each sequence, or one for each token of it.
enum class HeadOutput : uint8_t {
  kLabels = 0,       ///< a logit for each label, of the text
  kEmbedding = 1,    ///< a vector [d] that says what the text is about
  kTokenLabels = 2,  ///< a logit for each label, of each token
  kNextToken = 3,    ///< a logit for each word of the vocabulary, of the token behind the last
};

/// Returns what models do whose head gives this, for sentences about models that do so.
constexpr const char* DoingOf(HeadOutput output) {
  constexpr const char* kDoings[] = {"label texts", "embed texts", "label tokens",
                                     "continue texts"};
  return kDoings[static_cast<size_t>(output)];
}

/// How the rows of a sequence, one a token, become those that its head goes on with.
enum class Pooling : uint8_t {
  kFirst = 0,    ///< one row: the first token's
  kMean = 1,     ///< one row: the mean of all, column by column
  kMaximum = 2,  ///< one row: the greatest of each column
  kNone = 3,     ///< all rows, as they are
  kLast = 4,     ///< one row: the last token's
};

/// The rows of its output that a layer gives: all, or each sequence's first or last.
enum class OutputRows : uint8_t { kAll, kFirst, kLast };

/// Says what happens behind the last layer, apart from the parameters that it takes: a pooler and a
/// classifier where the head labels texts, a classifier where it labels tokens, and none where it
/// embeds.
struct HeadTraits {
  HeadOutput output = HeadOutput::kLabels;
  Pooling pooling = Pooling::kFirst;
  bool unit_length = false;  ///< embeddings are divided by their length

  friend bool operator==(const HeadTraits&, const HeadTraits&) = default;
  /// Returns the traits of a head that labels tokens.
  static constexpr HeadTraits OfTokenLabels() {
    return {.output = HeadOutput::kTokenLabels, .pooling = Pooling::kNone};
  }
  /// Returns the traits of a head that gives the next token.
  static constexpr HeadTraits OfNextToken() {
    return {.output = HeadOutput::kNextToken, .pooling = Pooling::kLast};
  }
  /// Returns the rows that the head wants of the last layer.
  [[nodiscard]] OutputRows rows() const {
    if (pooling == Pooling::kLast) return OutputRows::kLast;
    return pooling == Pooling::kFirst ? OutputRows::kFirst : OutputRows::kAll;
  }
};

/// The meaning of logits: one label by softmax, or any number of labels, each by its own sigmoid.
enum class Problem : uint8_t { kSingleLabel = 0, kMultiLabel = 1 };

/// The kind of a tokenizer: WordPiece behind BERT's basic tokenizer, or byte-level BPE behind
/// GPT-2's pattern.
enum class TokenizerKind : uint8_t { kWordPiece = 0, kByteBpe = 1 };

/// Says how text becomes ids.
struct TokenizerInfo {
  bool lowercase = true;      ///< WordPiece only, as strip_accents and split_chinese
  bool strip_accents = true;  ///< BERT ties it to lowercase unless the model says otherwise
  bool split_chinese = true;
  uint32_t unknown_id = 0;
  uint32_t cls_id = 0;
  uint32_t sep_id = 0;
  uint32_t pad_id = 0;
  TokenizerKind kind = TokenizerKind::kWordPiece;
  bool add_prefix_space = false;  ///< byte-level BPE only: a text begins as after a space
  uint32_t second_type = 1;       ///< token type of a pair's second text; 0 but for BERT
  uint32_t max_length = 0;        ///< most tokens of an input; 0: as many as there are positions
  bool cuts_begin = false;        ///< a text that is too long loses its begin, and not its end
  bool has_frame = true;          ///< texts stand between control tokens

  /// Returns how many control tokens a text has, or a pair: RoBERTa parts a pair by two.
  [[nodiscard]] uint32_t control_tokens(bool pair) const {
    if (!has_frame) return 0;
    if (!pair) return 2;
    return kind == TokenizerKind::kByteBpe ? 4 : 3;
  }
};

/// Says how the pixels of an image become values, channel by channel: (pixel / 255 - mean) /
/// deviation, of pixels from 0 to 255.
struct PixelScale {
  std::vector<float> mean;
  std::vector<float> deviation;  ///< above 0

  friend bool operator==(const PixelScale&, const PixelScale&) = default;
};

/// Returns whether images can have this shape, within the limits.
bool IsImageShape(const ImageShape& image);

/// Returns whether this is a scale of pixels of so many channels.
bool IsPixelScale(const PixelScale& pixels, uint32_t channels);

/// Holds everything about a model but its tensors.
struct ModelInfo {
  ModelShape shape;
  DataType data_type = DataType::kF32;  ///< element type of the shards' weights
  Activation activation = Activation::kGelu;
  double layer_norm_eps = 1e-12;
  std::vector<std::string> labels;  ///< by label id
  /// depth_layers[n-1]: original layers a depth of n executes, ascending. Without elastic metadata
  /// only the full depth is meaningful, and row n-1 is 0..n-1.
  DepthMap depth_layers;
  uint32_t min_depth = 1;  ///< shallower submodels were not trained
  uint32_t min_width = 1;  ///< narrower submodels were not trained
  bool elastic = false;    ///< submodels were trained together with the full model (STI 4.1)
  TokenizerInfo tokenizer;
  Architecture architecture{};
  PoolerActivation pooler = PoolerActivation::kTanh;
  HeadTraits head = {};
  Problem problem = Problem::kSingleLabel;
  uint32_t position_offset = 0;  ///< row of the position embeddings that the first token has
  PixelScale pixels = {};        ///< of a model of images

  /// Returns whether inputs are texts; otherwise they are images, and there is no tokenizer.
  [[nodiscard]] bool has_text() const { return !shape.image.has_value(); }
  /// Returns whether the head labels texts.
  [[nodiscard]] bool has_labels() const { return head.output == HeadOutput::kLabels; }
  /// Returns whether the head gives vectors of texts.
  [[nodiscard]] bool embeds() const { return head.output == HeadOutput::kEmbedding; }
  /// Returns whether the head labels the tokens of texts.
  [[nodiscard]] bool labels_tokens() const { return head.output == HeadOutput::kTokenLabels; }
  /// Returns whether the head continues texts, token by token.
  [[nodiscard]] bool continues_texts() const { return head.output == HeadOutput::kNextToken; }
  /// Returns how many numbers each result of the head has: a logit a label or word, or d.
  [[nodiscard]] uint32_t head_values() const {
    if (continues_texts()) return shape.vocabulary;
    return embeds() ? shape.hidden : shape.labels;
  }

  /// Returns the shortest input in tokens: cls and sep, a token, or a whole image.
  [[nodiscard]] uint32_t min_length() const {
    if (shape.image) return shape.max_positions;
    return tokenizer.has_frame ? kMinLength : 1;
  }

  /// Returns the longest input in tokens: as many as there are positions, or fewer where the
  /// tokenizer cuts before.
  [[nodiscard]] uint32_t max_length() const {
    const uint32_t positions = shape.max_positions - position_offset;
    return tokenizer.max_length == 0 ? positions : std::min(positions, tokenizer.max_length);
  }

  /// Returns the first row of the position embeddings that an input may need. Where positions do
  /// not begin with row 0 the row before them is that of tokens which do not count (PositionRows).
  [[nodiscard]] uint32_t first_position_row() const {
    return position_offset == 0 ? 0 : position_offset - 1;
  }
  /// Returns how many rows from that one on inputs of up to `tokens` tokens may need.
  [[nodiscard]] uint32_t position_rows(uint32_t tokens) const {
    return tokens + (tokens > 0 && position_offset > 0 ? 1 : 0);
  }

  /// Returns the smallest submodel that was trained: of a model that is not elastic, the whole.
  [[nodiscard]] Submodel SmallestTrained() const {
    return elastic ? Submodel{min_depth, min_width} : Submodel{shape.layers, shape.width};
  }
  /// Returns whether a submodel was trained: all that are neither shallower nor narrower than the
  /// smallest.
  [[nodiscard]] bool WasTrained(const Submodel& submodel) const {
    const Submodel least = SmallestTrained();
    return submodel.depth >= least.depth && submodel.width >= least.width;
  }
};

/// Gives the tokens of one input, in their order, their rows of the position embeddings. In models
/// whose positions begin behind row 0 (RoBERTa) that row is one behind the padding token's id, and
/// a token with this id has the row of the same number and does not count for those behind it.
class PositionRows {
 public:
  /// The first token is the one at `first` in its text, if all in front of it count.
  explicit PositionRows(const ModelInfo& info, uint32_t first = 0)
      : uncounted_(info.position_offset - 1), next_(info.position_offset + first) {}

  /// Returns the row of the next token.
  uint32_t Next(uint32_t id) { return id == uncounted_ ? uncounted_ : next_++; }

 private:
  uint32_t uncounted_;  ///< no id of a vocabulary where positions begin with row 0
  uint32_t next_;
};

/// Returns what is wrong with the labels of a model, by id; empty if each is printable
/// (base/utf8.h), none is empty and no two are equal.
std::string ProblemOfLabels(const std::vector<std::string>& labels);

}  // namespace sti
