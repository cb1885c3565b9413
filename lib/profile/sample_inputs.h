// The inputs that a profile is measured with, made up: texts whose rows lie apart as those of real
// texts do, or images.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "pipeline/pass.h"
#include "text/tokenizer.h"
#include "types/model_info.h"

namespace sti {

/// Returns a text of about `length` tokens from all over the vocabulary, so that rows lie apart as
/// they do in real inputs. Words repeat as they do there: by Heaps' law a text of n words has
/// 1.2 n^0.9 different ones (rows of SST-2 and CLINC150 joined to 16 to 128 tokens have within a
/// tenth of that).
std::string SampleText(const Tokenizer& tokenizer, uint32_t length);
/// Returns `count` such texts. Their words repeat from text to text as in one that has all of them.
std::vector<std::string> SampleTexts(const Tokenizer& tokenizer, uint32_t count, uint32_t length);

/// Returns the file of an image of this shape, of pixels that follow no pattern but the seed: a PPM
/// where there is one of so many channels, else numbers.
std::string SampleImage(const ImageShape& shape, uint64_t seed);

/// The inputs of one pass. One thread.
class SampleInputs {
 public:
  /// Makes texts of about `length` tokens. The tokenizer outlives them.
  static SampleInputs OfTexts(const Tokenizer& tokenizer, uint32_t count, uint32_t length);
  /// Makes files of images that the model takes.
  static SampleInputs OfImages(const ModelInfo& info, uint32_t count);

  /// Makes of the inputs what the model takes, as before each run: ids of texts, values of images.
  [[nodiscard]] Status Encode();
  /// Returns the pass of what was encoded last, valid until that is done again.
  [[nodiscard]] Pass pass() const;

 private:
  struct Texts {
    void Encode(std::vector<uint32_t>& offsets);
    const Tokenizer* tokenizer;
    uint32_t length;
    std::vector<std::string> texts;
    std::vector<uint32_t> ids;
    std::vector<uint32_t> types;
  };
  struct Images {
    [[nodiscard]] Status Encode(std::vector<uint32_t>& offsets);
    ImageShape shape;
    PixelScale scale;
    std::vector<std::string> files;
    std::vector<float> values;
    uint32_t tokens = 0;  ///< of each
  };
  explicit SampleInputs(std::variant<Texts, Images> of) : of_(std::move(of)) {}

  std::variant<Texts, Images> of_;
  std::vector<uint32_t> offsets_;  ///< [inputs + 1]
};

}  // namespace sti
