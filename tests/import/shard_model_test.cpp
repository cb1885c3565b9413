#include "import/shard_model.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <functional>

#include "base/aligned_buffer.h"
#include "format/shard_codec.h"
#include "io/container_file.h"
#include "pipeline/pipeline.h"
#include "pipeline/whole_plan.h"
#include "quant/quantize.h"
#include "shard/weight_order.h"
#include "support/expect.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"
#include "support/test_container.h"
#include "types/plan.h"

namespace sti {
namespace {

class ShardModelTest : public ::testing::Test {
 protected:
  void SetUp() override { Write({}); }
  void Write(const TinyModelOptions& model) { ASSERT_TRUE(WriteTinyModel(model_, model).ok()); }

  Result<ShardReport> Shard(const ShardOptions& options, const std::string& output) {
    STI_ASSIGN_OR_RETURN(const ModelFolder folder, ModelFolder::Open(model_));
    return ShardModel(folder, options, output);
  }
  std::vector<uint8_t> BytesOf(const ShardOptions& options) {
    const std::string path = folder_.File("out.sti");
    EXPECT_TRUE(Succeeded(Shard(options, path)));
    return FileBytes(path);
  }
  Digest DigestOf(const ShardOptions& options) {
    const auto report = Shard(options, "");
    EXPECT_TRUE(Succeeded(report));
    return report.ok() ? report->index.model : Digest{};
  }
  static std::vector<float> Logits(const std::string& path, uint32_t bits) {
    auto file = ContainerFile::Open(path);
    EXPECT_TRUE(Succeeded(file));
    WholePlanOptions options;
    options.bits = bits;
    const auto plan = MakeWholePlan(file->index(), options);
    EXPECT_TRUE(Succeeded(plan));
    auto pipeline = Pipeline::Create(std::move(file).value(), *plan, {});
    EXPECT_TRUE(Succeeded(pipeline));
    const std::vector<uint32_t> ids{2, 5, 7, 11, 14, 3};
    const auto result = RunTokens(**pipeline, ids, std::vector<uint32_t>(6, 0));
    EXPECT_TRUE(Succeeded(result));
    return result->values;
  }
  // Overwrites one weight of a tensor with NaN.
  void Poison(const std::string& name) {
    auto tensors = TinyTensors({});
    for (TensorToWrite& tensor : tensors) {
      if (tensor.name != name) continue;
      tensor.bytes[20] = 0x01;
      tensor.bytes[21] = 0x7E;
      ASSERT_TRUE(WriteSafetensors(model_ + "/model.safetensors", tensors).ok());
      return;
    }
    FAIL() << name;
  }

  TempFolder folder_;
  std::string model_ = folder_.File("model");
};

TEST_F(ShardModelTest, SameBytesForAnyThreadCount) {
  TinyModelOptions model;
  model.layers = 5;
  Write(model);
  for (const CodebookKind codebook : {CodebookKind::kGobo, CodebookKind::kTree}) {
    ShardOptions options;
    options.codebook = codebook;
    const auto one = BytesOf(options);
    options.threads = 3;
    EXPECT_EQ(BytesOf(options), one);
  }
}

TEST_F(ShardModelTest, LayoutsHoldTheSameModel) {
  for (const uint32_t bits : {2U, 5U, 32U}) {
    ShardOptions options;
    const auto by_shard = BytesOf(options);
    const auto expected = Logits(folder_.File("out.sti"), bits);
    options.layout = Layout::kPlane;
    EXPECT_NE(BytesOf(options), by_shard);
    EXPECT_EQ(Logits(folder_.File("out.sti"), bits), expected);
  }
}

TEST_F(ShardModelTest, DigestNamesContentsNotLayoutOrBits) {
  const Digest digest = DigestOf({});
  EXPECT_FALSE(digest.empty());
  ShardOptions options;
  options.layout = Layout::kPlane;
  EXPECT_EQ(DigestOf(options), digest);
  options.bits = {2, 3, 4, 5, 6};
  EXPECT_EQ(DigestOf(options), digest);
  options.threads = 2;
  EXPECT_EQ(DigestOf(options), digest);
  options.codebook = CodebookKind::kTree;
  EXPECT_NE(DigestOf(options), digest);
}

TEST_F(ShardModelTest, DigestChangesWithWeightsConfigAndVocabulary) {
  const Digest digest = DigestOf({});
  const std::vector<std::function<void(TinyModelOptions&)>> edits = {
      [](TinyModelOptions& o) { o.seed = 2; },
      [](TinyModelOptions& o) { o.activation = "relu"; },
      [](TinyModelOptions& o) { o.elastic = false; },
      [](TinyModelOptions& o) { o.min_width = 2; },
      [](TinyModelOptions& o) { o.min_depth = 2; },
      [](TinyModelOptions& o) { o.data_type = DataType::kF32; }};
  for (const auto& edit : edits) {
    TinyModelOptions model;
    edit(model);
    Write(model);
    EXPECT_NE(DigestOf({}), digest);
  }
  Write({});
  EXPECT_EQ(DigestOf({}), digest);
  std::string vocabulary;
  for (const std::string& token : TinyVocabulary()) {
    vocabulary += (token == "film" ? "flim" : token) + "\n";
  }
  ASSERT_TRUE(WriteBytes(model_ + "/vocab.txt", vocabulary).ok());
  EXPECT_NE(DigestOf({}), digest);
}

TEST_F(ShardModelTest, ADryRunWritesNothingAndSaysTheSizes) {
  const std::string path = folder_.File("out.sti");
  const size_t before = folder_.entries();
  const auto dry = Shard({}, "");
  ASSERT_TRUE(Succeeded(dry));
  EXPECT_EQ(folder_.entries(), before);
  const auto wet = Shard({}, path);
  ASSERT_TRUE(Succeeded(wet));
  EXPECT_EQ(dry->file_bytes, wet->file_bytes);
  EXPECT_EQ(std::filesystem::file_size(path), wet->file_bytes);
  EXPECT_EQ(EncodeContainerIndex(dry->index), EncodeContainerIndex(wet->index));
  EXPECT_EQ(dry->outliers, wet->outliers);
}

TEST_F(ShardModelTest, WeightsThatAreNotFiniteAreRefusedAndTheOldFileStays) {
  const std::string path = folder_.File("out.sti");
  for (const std::string& name :
       {std::string("bert.encoder.layer.1.output.dense.weight"),
        std::string("bert.encoder.layer.0.attention.self.query.bias"),
        std::string("bert.embeddings.word_embeddings.weight"), std::string("classifier.weight")}) {
    ASSERT_TRUE(WriteBytes(path, "old").ok());
    Poison(name);
    const size_t before = folder_.entries();
    EXPECT_TRUE(FailedWith(Shard({}, path), ErrorKind::kDamaged, name));
    EXPECT_EQ(FileBytes(path), (std::vector<uint8_t>{'o', 'l', 'd'}));
    EXPECT_EQ(folder_.entries(), before);
  }
}

TEST_F(ShardModelTest, CancellingLeavesTheOldFile) {
  const std::string path = folder_.File("out.sti");
  ASSERT_TRUE(WriteBytes(path, "old").ok());
  ShardOptions options;
  options.cancelled = [] { return true; };
  EXPECT_FALSE(Shard(options, path).ok());
  EXPECT_EQ(FileBytes(path), (std::vector<uint8_t>{'o', 'l', 'd'}));
  EXPECT_EQ(folder_.entries(), 2U);
}

TEST_F(ShardModelTest, ReportsProgressToTheEnd) {
  TinyModelOptions model;
  model.layers = 5;
  Write(model);
  ShardOptions options;
  options.threads = 2;
  std::vector<std::pair<uint64_t, uint64_t>> steps;
  options.progress = [&](uint64_t done, uint64_t total) { steps.emplace_back(done, total); };
  ASSERT_TRUE(Succeeded(Shard(options, "")));
  EXPECT_EQ(steps, (std::vector<std::pair<uint64_t, uint64_t>>{{2, 5}, {4, 5}, {5, 5}}));
}

// The layer as one flat array, through the importer's own element access.
std::vector<float> FlatLayer(const ModelFolder& folder, uint32_t layer) {
  std::vector<float> weights;
  for (const TensorRole role :
       {TensorRole::kQueryWeight, TensorRole::kKeyWeight, TensorRole::kValueWeight,
        TensorRole::kOutputWeight, TensorRole::kFfn1Weight, TensorRole::kFfn2Weight}) {
    const TensorView& tensor = folder.Tensor(role, layer);
    for (uint64_t i = 0; i < tensor.count(); ++i) weights.push_back(LoadElement(tensor, i));
  }
  return weights;
}

// Returns what a reader decodes from one encoded shard.
std::vector<float> Decode(const ModelInfo& info, const EncodedLayer& layer, uint32_t slice,
                          uint32_t bits) {
  std::vector<AlignedBuffer> buffers;
  PerPart<std::span<const uint8_t>> parts;
  for (const PartKind i : kPartKinds) {
    const auto& bytes = layer.shards[slice].parts[i];
    buffers.emplace_back(bytes.size());
    if (!bytes.empty()) std::memcpy(buffers.back().data(), bytes.data(), bytes.size());
    parts[i] = buffers.back().span();
  }
  const auto view = ViewShard(info, layer.codebook, bits, parts, "a");
  EXPECT_TRUE(Succeeded(view));
  return DecodeShard(*view, info.shape);
}

// The scale of each weight of a layer, by the definition.
std::vector<float> ScaleOfEach(const std::vector<float>& scales, const ModelShape& shape) {
  std::vector<float> each;
  for (uint32_t m = 0; m < 6; ++m) {
    const bool by_row = m == 3 || m == 5;
    const uint32_t rows = m == 4 ? shape.ffn : shape.hidden;
    const uint32_t columns = m == 5 ? shape.ffn : shape.hidden;
    for (uint32_t row = 0; row < rows; ++row) {
      for (uint32_t column = 0; column < columns; ++column) {
        each.push_back(scales[m * shape.hidden + (by_row ? row : column)]);
      }
    }
  }
  return each;
}

class LayerEncoderTest : public ::testing::TestWithParam<DataType> {
 protected:
  void SetUp() override {
    TinyModelOptions options;
    options.hidden = 52;  // ragged panels
    options.ffn = 100;
    options.data_type = GetParam();
    ASSERT_TRUE(WriteTinyModel(folder_.path(), options).ok());
    auto source = ModelFolder::Open(folder_.path());
    ASSERT_TRUE(Succeeded(source));
    source_ = std::make_unique<ModelFolder>(std::move(source).value());
  }

  [[nodiscard]] Result<EncodedLayer> Encode(uint32_t layer, CodebookKind codebook,
                                            std::vector<uint32_t> bits) const {
    return EncodeLayer(*source_, layer, codebook, SelectAll(source_->info().shape, bits));
  }

  TempFolder folder_;
  std::unique_ptr<ModelFolder> source_;
};

TEST_P(LayerEncoderTest, FullFidelityIsTheSourceBitForBit) {
  const auto layer = Encode(1, CodebookKind::kScaledTree, {2, 3, 4, 5, 6, 32});
  ASSERT_TRUE(Succeeded(layer));
  const auto flat = FlatLayer(*source_, 1);
  for (uint32_t slice = 0; slice < 2; ++slice) {
    const auto order = WeightOrder(source_->info().shape, slice);
    const auto weights = Decode(source_->info(), *layer, slice, kFullBits);
    for (size_t i = 0; i < order.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(weights[i]), std::bit_cast<uint32_t>(flat[order[i]]));
    }
  }
}

TEST_P(LayerEncoderTest, EveryWeightIsItsCentroidOrAnExactOutlier) {
  for (const CodebookKind kind :
       {CodebookKind::kGobo, CodebookKind::kTree, CodebookKind::kScaledTree}) {
    const ModelShape& shape = source_->info().shape;
    const auto layer = Encode(0, kind, {2, 3, 4, 5, 6, 32});
    ASSERT_TRUE(Succeeded(layer));
    const auto flat = FlatLayer(*source_, 0);
    std::vector<float> scales(size_t{6} * shape.hidden, 1.0F);
    auto divided = flat;
    if (kind == CodebookKind::kScaledTree) {
      scales = FitHiddenScales(flat, shape);
      DivideByHiddenScales(scales, shape, divided);
      EXPECT_EQ(layer->codebook.scales, scales);
    } else {
      EXPECT_TRUE(layer->codebook.scales.empty());
    }
    const std::vector<float> scale_of = ScaleOfEach(scales, shape);
    const QuantizedLayer expected = QuantizeLayer(divided, kind);
    EXPECT_EQ(layer->outliers, expected.outliers.size());
    EXPECT_GT(layer->outliers, 0U);
    EXPECT_EQ(layer->codebook.centroids, expected.codebook.centroids);
    std::vector<bool> outlier(flat.size(), false);
    for (const uint32_t i : expected.outliers) outlier[i] = true;
    for (uint32_t bits = 2; bits <= 6; ++bits) {
      for (uint32_t slice = 0; slice < 2; ++slice) {
        const auto order = WeightOrder(shape, slice);
        const auto weights = Decode(source_->info(), *layer, slice, bits);
        for (size_t i = 0; i < order.size(); ++i) {
          const uint32_t at = order[i];
          const uint32_t code = static_cast<uint32_t>(expected.codes[at]) >> (6 - bits);
          const float centroid = expected.codebook.centroids[bits][code] * scale_of[at];
          const float seen = outlier[at] ? flat[at] : centroid;
          ASSERT_EQ(weights[i], seen) << "bits " << bits << " weight " << at;
        }
      }
    }
  }
}

TEST_P(LayerEncoderTest, EncodesOnlyWhatTheBitsNeed) {
  const auto layer = Encode(0, CodebookKind::kGobo, {3, 4});
  ASSERT_TRUE(Succeeded(layer));
  for (const EncodedShard& shard : layer->shards) {
    for (const PartKind part : kPartKinds) {
      EXPECT_EQ(shard.parts[part].empty(), !PartSet::For(4).Has(part)) << BitsOf(part);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, LayerEncoderTest,
                         ::testing::Values(DataType::kF32, DataType::kF16, DataType::kBF16),
                         NameOfType);

}  // namespace

}  // namespace sti
