#include "import/preprocessor_file.h"

#include <gtest/gtest.h>

#include <string>

#include "support/expect.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"

namespace sti {
namespace {

class PreprocessorFile : public ::testing::Test {
 protected:
  Result<PixelScale> Read(const std::string& text, uint32_t channels = 3) {
    const std::string path = folder_.File("preprocessor_config.json");
    EXPECT_TRUE(WriteBytes(path, text).ok());
    return ReadPreprocessorFile(path, channels);
  }

  TempFolder folder_;
};

TEST_F(PreprocessorFile, SaysHowPixelsAreScaled) {
  const auto usual = Read(R"({"image_mean": [0.5, 0.25, 0], "image_std": [0.5, 1, 2]})");
  ASSERT_TRUE(Succeeded(usual));
  EXPECT_EQ(*usual, (PixelScale{{0.5F, 0.25F, 0}, {0.5F, 1, 2}}));
  const auto one = Read(R"({"image_mean": 0.5, "image_std": 0.25, "size": 224})", 2);
  ASSERT_TRUE(Succeeded(one));
  EXPECT_EQ(*one, (PixelScale{{0.5F, 0.5F}, {0.25F, 0.25F}}));
}

// In terms of pixel / 255, whatever the file's own factor.
TEST_F(PreprocessorFile, LeavesOutWhatItSays) {
  EXPECT_EQ(*Read(R"({"do_normalize": false})", 1), (PixelScale{{0}, {1}}));
  EXPECT_EQ(*Read(R"({"do_rescale": false, "do_normalize": false})", 1),
            (PixelScale{{0}, {1.0F / 255}}));
  const auto half = Read(R"({"rescale_factor": 0.00784313725490196, "image_mean": 1,
                             "image_std": 0.5})",
                         1);  // 2 / 255
  ASSERT_TRUE(Succeeded(half));
  EXPECT_EQ(*half, (PixelScale{{0.5F}, {0.25F}}));
}

TEST_F(PreprocessorFile, WhatIsNoScaleIsRefused) {
  EXPECT_TRUE(FailedWith(Read("{}"), ErrorKind::kDamaged, "no image_mean"));
  EXPECT_TRUE(FailedWith(Read(R"({"image_mean": [0, 0], "image_std": 1})"), ErrorKind::kDamaged,
                         "image_mean is not a number for each of 3 channels"));
  EXPECT_TRUE(FailedWith(Read(R"({"image_mean": 0, "image_std": [1, 1, "1"]})"),
                         ErrorKind::kDamaged, "image_std is not a number"));
  for (const char* text :
       {R"({"image_mean": 0, "image_std": 0})", R"({"image_mean": 0, "image_std": -1})",
        R"({"image_mean": 1e300, "image_std": 1})", R"({"image_mean": 0, "image_std": 1e-300})",
        R"({"rescale_factor": 0, "image_mean": 0, "image_std": 1})"}) {
    EXPECT_TRUE(FailedWith(Read(text), ErrorKind::kDamaged, "is no scale")) << text;
  }
  EXPECT_TRUE(FailedWith(Read(R"({"offset": true, "image_mean": 0, "image_std": 1})"),
                         ErrorKind::kForeign, "offset is true"));
}

TEST_F(PreprocessorFile, IsReadAsItWasWritten) {
  const PixelScale pixels = {{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}};
  const auto read = Read(PreprocessorFileText(pixels, 224));
  ASSERT_TRUE(Succeeded(read));
  EXPECT_EQ(*read, pixels);
}

}  // namespace
}  // namespace sti
