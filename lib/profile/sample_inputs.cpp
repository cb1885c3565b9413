#include "profile/sample_inputs.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "image/image_file.h"

namespace sti {
namespace {

constexpr uint32_t kTries = 64;  // of tokens, for one that is a word by itself

// The state behind `state` of Knuth's linear congruential generator; its high bits are random.
uint64_t NextState(uint64_t state) { return state * 6364136223846793005U + 1442695040888963407U; }

/// Draws tokens that are words by themselves, each the same on every machine.
class Words {
 public:
  explicit Words(const Tokenizer& tokenizer)
      : tokenizer_(tokenizer), tokens_before_(TokensOf(kBefore)) {}

  std::string Next() {
    std::string word = Draw();
    for (uint32_t i = 0; i < kTries && !IsOneToken(word); ++i) word = Draw();
    return word;
  }

 private:
  std::string Draw() {
    state_ = NextState(state_);
    const uint64_t id = (state_ >> 33) % tokenizer_.vocabulary().size();
    std::string word(tokenizer_.vocabulary().Token(static_cast<uint32_t>(id)));
    // Byte-level vocabularies spell the space before a word as U+0120.
    constexpr std::string_view kSpace = "\xC4\xA0";
    if (word.starts_with(kSpace)) word.erase(0, kSpace.size());
    return word;
  }

  [[nodiscard]] size_t TokensOf(const std::string& text) const {
    constexpr uint32_t kEnough = 6;  // controls, the word before and more than one token
    return tokenizer_.Encode(text, std::nullopt, kEnough).ids.size();
  }

  [[nodiscard]] bool IsOneToken(const std::string& word) const {
    return TokensOf(std::string(kBefore) + " " + word) == tokens_before_ + 1;
  }

  static constexpr const char* kBefore = "a";  // words stand in the midst of a text
  const Tokenizer& tokenizer_;
  size_t tokens_before_;
  uint64_t state_ = 1;
};

/// Returns how many different words the first `count` words of a text have.
uint32_t DifferentWords(uint32_t count) {
  constexpr double kFactor = 1.2;
  constexpr double kExponent = 0.9;
  const double different = kFactor * std::pow(static_cast<double>(count), kExponent);
  return std::min(count, static_cast<uint32_t>(different));
}

}  // namespace

std::string SampleText(const Tokenizer& tokenizer, uint32_t length) {
  return SampleTexts(tokenizer, 1, length).front();
}

std::vector<std::string> SampleTexts(const Tokenizer& tokenizer, uint32_t count, uint32_t length) {
  Words words(tokenizer);
  std::vector<std::string> chosen;
  std::vector<std::string> texts(count);
  for (std::string& text : texts) {
    for (uint32_t i = 0; i < length; ++i) {
      const auto at = static_cast<uint32_t>(chosen.size());
      const bool is_new = at == 0 || DifferentWords(at + 1) > DifferentWords(at);
      chosen.push_back(is_new ? words.Next() : chosen[at / 2]);
      if (i > 0) text += ' ';
      text += chosen.back();
    }
  }
  return texts;
}

std::string SampleImage(const ImageShape& shape, uint64_t seed) {
  const std::string size = std::to_string(shape.size);
  std::string file;
  if (shape.channels == 1 || shape.channels == 3)
    file = (shape.channels == 3 ? "P6\n" : "P5\n") + size + " " + size + "\n255\n";
  const bool has_pixels = !file.empty();
  file.append(shape.values() * (has_pixels ? 1 : sizeof(float)), '\0');
  if (!has_pixels) return file;  // zeros take as long as any numbers
  for (size_t i = file.size() - shape.values(); i < file.size(); ++i) {
    seed = NextState(seed);
    file[i] = static_cast<char>(seed >> 56);
  }
  return file;
}

SampleInputs SampleInputs::OfTexts(const Tokenizer& tokenizer, uint32_t count, uint32_t length) {
  return SampleInputs(Texts{&tokenizer, length, SampleTexts(tokenizer, count, length), {}, {}});
}

SampleInputs SampleInputs::OfImages(const ModelInfo& info, uint32_t count) {
  Images images{*info.shape.image, info.pixels, {}, {}};
  for (uint32_t i = 0; i < count; ++i) images.files.push_back(SampleImage(images.shape, i));
  images.tokens = info.shape.max_positions;
  return SampleInputs(std::move(images));
}

Status SampleInputs::Encode() {
  offsets_.assign(1, 0);
  if (auto* images = std::get_if<Images>(&of_)) return images->Encode(offsets_);
  std::get<Texts>(of_).Encode(offsets_);
  return {};
}

void SampleInputs::Texts::Encode(std::vector<uint32_t>& offsets) {
  ids.clear();
  types.clear();
  for (const std::string& text : texts) {
    const Encoding encoding = tokenizer->Encode(text, std::nullopt, length);
    ids.insert(ids.end(), encoding.ids.begin(), encoding.ids.end());
    types.insert(types.end(), encoding.types.begin(), encoding.types.end());
    offsets.push_back(static_cast<uint32_t>(ids.size()));
  }
}

Status SampleInputs::Images::Encode(std::vector<uint32_t>& offsets) {
  values.clear();
  for (const std::string& file : files) {
    STI_ASSIGN_OR_RETURN(const std::vector<float> image, ReadImage(file, shape, scale));
    values.insert(values.end(), image.begin(), image.end());
    offsets.push_back(offsets.back() + tokens);
  }
  return {};
}

Pass SampleInputs::pass() const {
  if (const auto* images = std::get_if<Images>(&of_)) return {ImageInput{images->values}, offsets_};
  const auto& texts = std::get<Texts>(of_);
  return {TokenInput{texts.ids, texts.types}, offsets_};
}

}  // namespace sti
