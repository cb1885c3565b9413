#include "profile/sample_inputs.h"

#include <gtest/gtest.h>

#include <set>

#include "support/expect.h"
#include "support/test_tokenizer.h"

namespace sti {
namespace {

TEST(SampleText, IsAsLongAsAskedFor) {
  const Tokenizer tokenizer = TinyTokenizer();
  for (const uint32_t length : {1U, 4U, 16U, 30U}) {
    const Encoding encoding = tokenizer.Encode(SampleText(tokenizer, length), std::nullopt, length);
    EXPECT_LE(encoding.ids.size(), std::max(length, 2U));
    EXPECT_GE(encoding.ids.size() + 2, length);
  }
  EXPECT_EQ(SampleText(tokenizer, 0), "");
}

// A vocabulary of words and of pieces that a text never begins a word with.
TEST(SampleText, WordsRepeatAsInTexts) {
  std::string text = "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n";
  for (int i = 0; i < 4000; ++i) {
    std::string word;
    for (int rest = i + 1; rest > 0; rest /= 8) word += static_cast<char>('b' + rest % 8);
    text += (i % 3 == 0 ? "##" : "") + word + "\n";
  }
  TokenizerInfo info;
  info.pad_id = 0;
  info.unknown_id = 1;
  info.cls_id = 2;
  info.sep_id = 3;
  const Tokenizer tokenizer(Vocabulary::FromText(text).value(), info);
  for (const auto& [length, different] :
       {std::pair(16U, 14U), std::pair(32U, 27U), std::pair(64U, 50U), std::pair(128U, 94U)}) {
    const Encoding encoding =
        tokenizer.Encode(SampleText(tokenizer, length - 2), std::nullopt, 512);
    EXPECT_EQ(encoding.ids.size(), length);  // each word is a token, and there are two controls
    const std::set<uint32_t> rows(encoding.ids.begin(), encoding.ids.end());
    EXPECT_NEAR(static_cast<double>(rows.size()), different, 0.04 * length) << length;
    EXPECT_FALSE(rows.contains(1));
  }
}

TEST(SampleInputs, ImagesAreSuchAsTheModelTakes) {
  ModelInfo info;
  info.shape.max_positions = 10;
  info.pixels = {{0, 0, 0, 0}, {1, 1, 1, 1}};
  for (const uint32_t channels : {1U, 3U, 4U}) {
    info.shape.image = ImageShape{12, 4, channels};
    SampleInputs inputs = SampleInputs::OfImages(info, 2);
    ASSERT_TRUE(Succeeded(inputs.Encode()));
    const Pass pass = inputs.pass();
    const auto values = std::get<ImageInput>(pass.input).values;
    ASSERT_EQ(values.size(), 2 * info.shape.image->values());
    EXPECT_EQ(std::vector<uint32_t>(pass.offsets.begin(), pass.offsets.end()),
              (std::vector<uint32_t>{0, 10, 20}));
    const auto half = static_cast<ptrdiff_t>(values.size() / 2);
    const bool are_alike = std::equal(values.begin(), values.begin() + half, values.begin() + half);
    EXPECT_EQ(are_alike, channels == 4) << channels;  // those are zeros
  }
}

}  // namespace
}  // namespace sti
