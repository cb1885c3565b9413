#include "profile/profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/remedy.h"
#include "base/utf8.h"
#include "format/profile_file.h"
#include "profile/start_time.h"
#include "support/expect.h"
#include "support/temp_folder.h"
#include "support/test_container.h"
#include "support/test_tokenizer.h"
#include "types/plan.h"

namespace sti {
namespace {

class ProfileTest : public ::testing::Test {
 protected:
  void SetUp() override { Write({}); }
  void Write(const ShardOptions& options) {
    ASSERT_TRUE(Succeeded(WriteTinyContainer(path_, {}, options)));
  }
  Result<DeviceProfile> Measure(const ProfileOptions& options) {
    STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(path_));
    return MeasureProfile(std::move(file), options);
  }

  /// Writes a model of four layers, and of it only some layers at 4 bits, as wide as told, and the
  /// first two of them at 6 bits too.
  void WriteHeld(const std::vector<uint32_t>& layers, uint32_t width) {
    TinyModelOptions model;
    model.layers = 4;
    const auto whole = WriteTinyContainer(path_, model);
    ASSERT_TRUE(Succeeded(whole));
    shape_ = ShapeDigest(whole->index.info);
    Plan plan;
    plan.model = whole->index.model;
    plan.length = 8;
    ShardOptions options;
    RunUniformly(layers, width, 4, &plan);
    options.plans.push_back(plan);
    RunUniformly(std::span(layers).first(std::min<size_t>(2, layers.size())), width, 6, &plan);
    options.plans.push_back(plan);
    options.plan_names = {"a", "b"};
    ASSERT_TRUE(Succeeded(WriteTinyContainer(path_, model, options)));
  }

  Digest shape_;
  TempFolder folder_;
  std::string path_ = folder_.File("a.sti");
  Tokenizer tokenizer_ = TinyTokenizer();
};

TEST_F(ProfileTest, MeasuresEveryBitwidthLengthAndWidth) {
  ProfileOptions options;
  options.lengths = {4, 16};
  options.widths = {1, 2};
  options.budget_us = 1e6;
  uint64_t last = 0;
  uint64_t total = 0;
  options.progress = [&](uint64_t done, uint64_t all) {
    EXPECT_GE(done, last);
    last = done;
    total = all;
  };
  const auto profile = Measure(options);
  ASSERT_TRUE(Succeeded(profile));
  EXPECT_EQ(last, total);
  auto file = ContainerFile::Open(path_);
  ASSERT_TRUE(Succeeded(file));
  EXPECT_EQ(profile->shape, ShapeDigest(file->index().info));
  EXPECT_EQ(profile->threads, 1U);
  EXPECT_EQ(profile->read_path, ReadPathName(file->reader().path()));
  EXPECT_EQ(profile->kernel.name.rfind("native-", 0), 0U) << profile->kernel.name;

  // A size once, however many bitwidths have it.
  ASSERT_FALSE(profile->io.empty());
  EXPECT_EQ(
      std::adjacent_find(profile->io.begin(), profile->io.end(),
                         [](const IoSample& a, const IoSample& b) { return a.bytes == b.bytes; }),
      profile->io.end());
  EXPECT_GT(profile->read_depth, 0U);
  EXPECT_GT(profile->read_bytes, 0U);
  EXPECT_GT(profile->noise, 0);
  for (const IoSample& io : profile->io) {
    EXPECT_GT(io.bytes, 0U);
    EXPECT_EQ(io.bits, 0U);
    EXPECT_GT(io.load_us, 0);
    EXPECT_GE(io.p99_us, io.load_us);
  }
  EXPECT_TRUE(
      std::is_sorted(profile->io.begin(), profile->io.end(),
                     [](const IoSample& a, const IoSample& b) { return a.bytes < b.bytes; }));
  std::vector<std::pair<uint32_t, uint32_t>> measured;
  for (const ComputeSample& compute : profile->compute) {
    measured.emplace_back(compute.length, compute.width);
    EXPECT_GT(compute.layer_us, 0);
    EXPECT_GE(compute.p99_us, compute.layer_us);
    EXPECT_GT(compute.last_us, 0);
    EXPECT_GE(compute.last_p99_us, compute.last_us);
  }
  EXPECT_EQ(measured,
            (std::vector<std::pair<uint32_t, uint32_t>>{{4, 1}, {4, 2}, {16, 1}, {16, 2}}));
  ASSERT_EQ(profile->fixed.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(profile->fixed[i].length, options.lengths[i]);
    EXPECT_GT(profile->fixed[i].embed_us, 0);
    EXPECT_GT(profile->fixed[i].embed_io_us, 0);
    EXPECT_GT(profile->fixed[i].head_us, 0);
    EXPECT_GE(profile->fixed[i].embed_p99_us, profile->fixed[i].embed_us);
    EXPECT_GE(profile->fixed[i].embed_io_p99_us, profile->fixed[i].embed_io_us);
    EXPECT_GE(profile->fixed[i].head_p99_us, profile->fixed[i].head_us);
  }
}

TEST_F(ProfileTest, MeasuresPassesOfSeveralInputsAtEveryLengthAndWidth) {
  ProfileOptions options;
  options.lengths = {4, 16};
  options.widths = {1, 2};
  options.batches = {1, 2, 5};
  options.budget_us = 1;
  const auto profile = Measure(options);
  ASSERT_TRUE(Succeeded(profile));
  EXPECT_TRUE(Succeeded(ParseProfile(AsBytes(ProfileToJson(*profile)), "-")));
  EXPECT_EQ(profile->compute.size(), 4U);
  EXPECT_EQ(profile->fixed.size(), 2U);
  ASSERT_EQ(profile->batches.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    const BatchSamples& samples = profile->batches[i];
    EXPECT_EQ(samples.batch, options.batches[i + 1]);
    ASSERT_EQ(samples.compute.size(), 4U);
    for (size_t k = 0; k < 4; ++k) {
      EXPECT_EQ(samples.compute[k].length, options.lengths[k / 2]);
      EXPECT_EQ(samples.compute[k].width, options.widths[k % 2]);
      EXPECT_GT(samples.compute[k].last_us, 0);
    }
    ASSERT_EQ(samples.fixed.size(), 2U);
    for (size_t k = 0; k < 2; ++k) {
      EXPECT_EQ(samples.fixed[k].length, options.lengths[k]);
      EXPECT_GT(samples.fixed[k].embed_us, 0);
      EXPECT_GT(samples.fixed[k].embed_io_us, 0);
      EXPECT_GE(samples.fixed[k].head_p99_us, samples.fixed[k].head_us);
    }
  }
}

TEST_F(ProfileTest, MeasuresTheLayersThatAContainerHasWhole) {
  WriteHeld({1, 2, 3}, 2);
  auto file = ContainerFile::Open(path_);
  ASSERT_TRUE(Succeeded(file));
  EXPECT_EQ(file->index().WholeLayersAt(4), (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_EQ(file->index().WholeLayersAt(6), (std::vector<uint32_t>{1, 2}));
  EXPECT_TRUE(file->index().WholeLayersAt(5).empty()) << "what is not offered is not there";
  EXPECT_EQ(file->index().BitsOfWholeLayers(), (std::vector<uint32_t>{4, 6}));
  ProfileOptions options;
  options.lengths = {4};
  options.widths = {1, 2};
  options.batches = {1, 3};
  options.budget_us = 1;
  const auto profile = Measure(options);
  ASSERT_TRUE(Succeeded(profile));
  EXPECT_EQ(profile->shape, shape_) << "the whole model's";
  EXPECT_EQ(profile->compute.size(), 2U);
  ASSERT_EQ(profile->batches.size(), 1U);
  ASSERT_EQ(profile->decode.size(), 1U);
  EXPECT_EQ(profile->decode[0].bits, 4U);
  EXPECT_TRUE(Succeeded(ParseProfile(AsBytes(ProfileToJson(*profile)), "-")));
  EXPECT_TRUE(Succeeded(MeasureOpenUs(FileSource(path_), ReadPath::kAuto, 1)));
}

TEST_F(ProfileTest, WithoutTwoWholeLayersThereIsNothingToMeasure) {
  ProfileOptions options;
  options.lengths = {4};
  options.widths = {1};
  for (const auto& [layers, width] : {std::pair(std::vector<uint32_t>{1}, 2U),
                                      std::pair(std::vector<uint32_t>{0, 1, 2, 3}, 1U)}) {
    WriteHeld(layers, width);
    const auto profile = Measure(options);
    EXPECT_TRUE(FailedWith(profile, ErrorKind::kInfeasible, "holds no two layers with all their"));
    EXPECT_FALSE(MeasureOpenUs(FileSource(path_), ReadPath::kAuto, 1).ok());
  }
}

TEST_F(ProfileTest, SaysWhatOtherBitsThan6AddAndLeavesEachLayerTime) {
  ProfileOptions options;
  options.lengths = {4};
  options.widths = {1, 2};
  options.budget_us = 1;
  const auto profile = Measure(options);
  ASSERT_TRUE(Succeeded(profile));
  std::vector<uint32_t> decoded;
  for (const DecodeSample& sample : profile->decode) {
    decoded.push_back(sample.bits);
    for (const ComputeSample& layer : profile->compute) {
      EXPECT_GT(layer.layer_us + layer.width * sample.extra_us, 0);
      EXPECT_GT(layer.last_us + layer.width * sample.extra_us, 0);
    }
  }
  auto file = ContainerFile::Open(path_);
  ASSERT_TRUE(Succeeded(file));
  std::vector<uint32_t> others = file->index().bits;
  std::erase(others, 6U);
  EXPECT_EQ(decoded, others);
}

TEST_F(ProfileTest, FullFidelityAloneCanBeProfiled) {
  ShardOptions options;
  options.bits = {32};
  Write(options);
  ProfileOptions wanted;
  wanted.lengths = {8};
  wanted.widths = {2};
  wanted.budget_us = 1;
  const auto profile = Measure(wanted);
  ASSERT_TRUE(Succeeded(profile));
  EXPECT_EQ(profile->io.size(), 1U);
  EXPECT_EQ(profile->compute.size(), 1U);
  EXPECT_TRUE(profile->decode.empty());
}

// Planes of 8 KiB, so that one plane and the bitwidths differ in size.
TEST_F(ProfileTest, ReadsByTheSizesOfShardsAndOfOnePlane) {
  TinyModelOptions model;
  model.hidden = 256;
  ASSERT_TRUE(Succeeded(WriteTinyContainer(path_, model, {})));
  ProfileOptions options;
  options.lengths = {4};
  options.widths = {1};
  options.budget_us = 1;
  const auto profile = Measure(options);
  ASSERT_TRUE(Succeeded(profile));
  auto file = ContainerFile::Open(path_);
  ASSERT_TRUE(Succeeded(file));
  const ShardCatalog catalog = CatalogOf(file->index());
  EXPECT_GT(profile->io.size(), file->index().bits.size());
  EXPECT_LT(profile->io.front().bytes,
            *std::min_element(catalog.read_bytes.begin(), catalog.read_bytes.end()));
}

TEST_F(ProfileTest, WhatIsNotToBeTrustedIsSaid) {
  ProfileOptions options;
  options.lengths = {4};
  options.widths = {1};
  options.precision = 0;
  options.budget_us = 1;
  std::string said;
  options.log = [&](const LogLine& line) {
    if (line.remedy == Remedy::kMoreTime) said += line.what + "\n";
  };
  ASSERT_TRUE(Succeeded(Measure(options)));
  EXPECT_NE(said.find("this machine is too noisy: "), std::string::npos) << said;
}

TEST_F(ProfileTest, WidthsAreSkippedOnlyWhereThatIsAllowedAndTimeIsShort) {
  TinyModelOptions model;
  model.heads = 8;
  ASSERT_TRUE(Succeeded(WriteTinyContainer(path_, model, {})));
  ProfileOptions options;
  options.lengths = {4};
  options.widths = {1, 2, 3, 4, 5, 6, 7, 8};
  options.budget_us = 1;
  auto profile = Measure(options);
  ASSERT_TRUE(Succeeded(profile));
  EXPECT_EQ(profile->compute.size(), 8U);
  options.may_skip_widths = true;
  std::string said;
  options.log = [&](const LogLine& line) {
    if (line.remedy == Remedy::kMeasureWidths) said += line.what;
  };
  profile = Measure(options);
  ASSERT_TRUE(Succeeded(profile));
  ASSERT_EQ(profile->compute.size(), 3U);
  EXPECT_EQ(profile->compute[0].width, 1U);
  EXPECT_EQ(profile->compute[1].width, 5U);
  EXPECT_EQ(profile->compute[2].width, 8U);
  EXPECT_NE(said.find("only widths 1, 5 and 8 are measured"), std::string::npos) << said;
}

TEST_F(ProfileTest, MayBeCancelledAtAnyStep) {
  ProfileOptions options;
  options.lengths = {4};
  options.widths = {1};
  for (const int stop : {1, 50, 1000}) {
    int asked = 0;
    options.cancelled = [&] { return ++asked == stop; };
    const auto profile = Measure(options);
    if (asked < stop) continue;  // done before
    EXPECT_FALSE(profile.ok());
    EXPECT_EQ(asked, stop);
  }
}

TEST_F(ProfileTest, ADamagedModelIsNotMeasured) {
  auto file = ContainerFile::Open(path_);
  ASSERT_TRUE(Succeeded(file));
  ASSERT_TRUE(DamageByte(path_, file->index().shard({0, 0}).parts[PartKind::kBase].offset).ok());
  ProfileOptions options;
  options.lengths = {4};
  options.widths = {1};
  EXPECT_TRUE(FailedWith(Measure(options), ErrorKind::kDamaged, "layer 0 slice 0 base is damaged"));
}

}  // namespace
}  // namespace sti
