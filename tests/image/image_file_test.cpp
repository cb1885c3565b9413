// Image files as inputs. Those of tests/fuzz/corpus/image were written by Pillow 13, of the third
// row of tests/data/vit-tiny/expected.jsonl; a .ppm or .pgm there is what Pillow reads of the .png.
#include "image/image_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "support/expect.h"

namespace sti {
namespace {

constexpr ImageShape kColour{12, 4, 3};
constexpr ImageShape kGray{12, 4, 1};
const PixelScale kUnscaled{{0, 0, 0}, {1, 1, 1}};

std::string FileOf(const std::string& name) {
  std::ifstream file(std::string(STI_SOURCE_DIR) + "/tests/fuzz/corpus/image/" + name,
                     std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

Result<std::vector<float>> Read(const std::string& name, const ImageShape& shape = kColour) {
  return ReadImage(FileOf(name), shape, kUnscaled);
}

// The values of the pixels [size, size, channels] of the row, in [channels, size, size].
std::vector<float> Expected(const PixelScale& scale) {
  std::ifstream lines(std::string(STI_SOURCE_DIR) + "/tests/data/vit-tiny/expected.jsonl");
  std::string line;
  for (int i = 0; i < 3; ++i) std::getline(lines, line);
  const auto pixels = nlohmann::json::parse(line)["pixels"].get<std::vector<int>>();
  std::vector<float> values;
  for (size_t channel = 0; channel < 3; ++channel) {
    for (size_t i = channel; i < pixels.size(); i += 3) {
      values.push_back((static_cast<float>(pixels[i] / 255.0) - scale.mean[channel]) /
                       scale.deviation[channel]);
    }
  }
  return values;
}

TEST(ImageFile, PixelsAreScaledChannelByChannel) {
  const PixelScale scale{{0.5F, 0.4F, 0.3F}, {0.5F, 0.25F, 0.2F}};
  const auto values = ReadImage(FileOf("rgb.png"), kColour, scale);
  ASSERT_TRUE(Succeeded(values));
  const std::vector<float> expected = Expected(scale);
  ASSERT_EQ(values->size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR((*values)[i], expected[i], 1e-6) << i;
}

TEST(ImageFile, APngIsReadAsPillowReadsIt) {
  const std::vector<float> colours = Read("rgb.png").value();
  EXPECT_EQ(Read("interlaced.png").value(), colours);  // its gamma does not count
  EXPECT_EQ(Read("one-transparent.png").value(), colours);
  EXPECT_EQ(Read("palette.png").value(), Read("palette.ppm").value());
  EXPECT_EQ(Read("palette-transparent.png").value(), Read("palette.ppm").value());
  EXPECT_EQ(Read("gray.png", kGray).value(), Read("gray.pgm", kGray).value());
  EXPECT_EQ(Read("gray1.png", kGray).value(), Read("gray1.pgm", kGray).value());
  const PixelScale four{{0, 0, 0, 0}, {1, 1, 1, 1}};
  const auto opaque = ReadImage(FileOf("four-channels.png"), {12, 4, 4}, four);
  ASSERT_TRUE(Succeeded(opaque));
  EXPECT_EQ(opaque->size(), 12U * 12 * 4);
  EXPECT_EQ(opaque->back(), 1);
}

TEST(ImageFile, NumbersAreTheValuesAsTheyAre) {
  const auto values = Read("numbers");
  ASSERT_TRUE(Succeeded(values));
  for (size_t i = 0; i < values->size(); ++i) ASSERT_EQ((*values)[i], static_cast<float>(i));
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    std::string file = FileOf("numbers");
    std::memcpy(file.data() + 4 * 17, &bad, sizeof(bad));
    EXPECT_TRUE(FailedWith(ReadImage(file, kColour, kUnscaled), ErrorKind::kDamaged,
                           "value 17 of the image is not finite"));
  }
}

TEST(ImageFile, AnotherShapeIsRefusedWithACommandThatConverts) {
  const std::string colour =
      "; convert it: convert IMAGE -filter Triangle -resize '12x12!' -type TrueColor -depth 8 "
      "OUT.png";
  const auto refused = [](const Result<std::vector<float>>& read, const std::string& what) {
    return FailedWith(read, ErrorKind::kDamaged, what);
  };
  EXPECT_TRUE(refused(Read("gray.png"),
                      "an image of 12 x 12 of 1 channel, and the model takes "
                      "12 x 12 of 3 channels" +
                          colour));
  EXPECT_TRUE(refused(Read("four-channels.png"),
                      "an image of 12 x 12 of 4 channels, and the model "
                      "takes 12 x 12 of 3 channels" +
                          colour));
  EXPECT_TRUE(refused(Read("sixteen-bits.png"), "an image of 16 bits a channel, not 8" + colour));
  EXPECT_TRUE(refused(ReadImage("P6 4096 1 255\n", kColour, kUnscaled),
                      "an image of 4096 x 1 of 3 channels, and the model takes 12 x 12 of 3 "
                      "channels" +
                          colour));
  EXPECT_TRUE(refused(ReadImage("P6 12 12 65535\n", kColour, kUnscaled),
                      "an image of 16 bits a channel, not 8" + colour));
  EXPECT_TRUE(refused(ReadImage("P6 12 12 31\n", kColour, kUnscaled),
                      "a PPM whose most is 31, not 255" + colour));
  EXPECT_TRUE(refused(ReadImage("\xFF\xD8\xFF JFIF", kColour, kUnscaled),
                      "neither PNG nor PPM, nor float32 [3, 12, 12], which is 1728 bytes and not "
                      "8" +
                          colour));
  EXPECT_TRUE(refused(Read("rgb.png", kGray),
                      "an image of 12 x 12 of 3 channels, and the model takes 12 x 12 of 1 "
                      "channel; convert it: convert IMAGE -filter Triangle -resize '12x12!' "
                      "-colorspace Gray -depth 8 OUT.png"));
}

TEST(ImageFile, ABrokenFileIsRefusedAtEveryByte) {
  for (const char* name : {"rgb.png", "palette.png", "interlaced.png", "palette.ppm"}) {
    const std::string whole = FileOf(name);
    for (size_t size = 0; size < whole.size(); ++size) {
      const auto read = ReadImage(whole.substr(0, size), kColour, kUnscaled);
      ASSERT_FALSE(read.ok()) << name << " " << size;
      ASSERT_EQ(read.error().kind, ErrorKind::kDamaged);
    }
  }
  // A PNG has checksums: what is changed is noticed, or is of a chunk that does not count.
  const std::string whole = FileOf("rgb.png");
  const std::vector<float> values = Read("rgb.png").value();
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x11);
    const auto read = ReadImage(changed, kColour, kUnscaled);
    if (read.ok()) {
      EXPECT_EQ(*read, values) << at;
    }
  }
}

TEST(ImageFile, TheHeadOfAPpmHasBlanksAndComments) {
  const std::string pixels(size_t{12} * 12 * 3, '\x80');
  const auto plain = ReadImage("P6\n12 12\n255\n" + pixels, kColour, kUnscaled);
  ASSERT_TRUE(Succeeded(plain));
  EXPECT_FLOAT_EQ(plain->front(), 128.0F / 255);
  EXPECT_EQ(ReadImage("P6# a\n12\t#b\n# c\n 12\r\n255 " + pixels, kColour, kUnscaled).value(),
            *plain);
  for (const char* head : {"P6", "P6\n", "P6\n12 12", "P6\n12 12 255", "P6\n12 12 0\n",
                           "P6\n-1 12 255\n", "P6\n99999999999 12 255\n", "P6 # no end"}) {
    EXPECT_FALSE(ReadImage(head, kColour, kUnscaled).ok()) << head;
  }
}

TEST(ImageFile, MemoryForAnImageIsBounded) {
  const ImageShape usual{224, 16, 3};
  EXPECT_EQ(MostImageFileBytes(usual), 224U * 224 * 3 * 4 + (1U << 20));
  EXPECT_EQ(ImageReadBytes(usual), MostImageFileBytes(usual) + 224U * 224 * 3 * 5);
}

}  // namespace
}  // namespace sti
