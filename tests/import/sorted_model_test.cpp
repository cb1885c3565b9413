// A model folder with its heads and neurons in another order.
#include <gtest/gtest.h>

#include <algorithm>

#include "import/export_model.h"
#include "import/shard_model.h"
#include "support/expect.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

namespace sti {
namespace {

ModelOrder Backwards(const ModelShape& shape) {
  ModelOrder order;
  for (uint32_t layer = 0; layer < shape.layers; ++layer) {
    for (uint32_t head = shape.width; head-- > 0;) order.heads.push_back(head);
    for (uint32_t neuron = shape.ffn; neuron-- > 0;) order.neurons.push_back(neuron);
    std::vector<uint32_t> last;
    for (uint32_t i = 0; i <= layer; ++i) last.push_back(shape.layers - 1 - layer + i);
    order.depth_layers.push_back(last);
  }
  return order;
}

class SortedModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    TinyModelOptions model;
    model.elastic = false;
    ASSERT_TRUE(Succeeded(WriteTinyModel(Path("model"), model)));
  }
  [[nodiscard]] std::string Path(const std::string& name) const { return folder_.File(name); }
  [[nodiscard]] Result<ModelFolder> Open() const { return ModelFolder::Open(Path("model")); }

  TempFolder folder_;
};

float At(const TensorView& tensor, uint64_t row, uint64_t column) {
  const uint64_t columns = tensor.shape.size() > 1 ? tensor.shape[1] : 1;
  return LoadElement(tensor, row * columns + column);
}

TEST_F(SortedModelTest, MovesRowsAndColumnsOfHeadsAndNeuronsAndNothingElse) {
  const auto plain = Open();
  auto sorted = Open();
  ASSERT_TRUE(Succeeded(plain));
  ASSERT_TRUE(Succeeded(sorted));
  const ModelShape& s = plain->info().shape;
  ASSERT_TRUE(Succeeded(sorted->Sort(Backwards(s))));
  const auto head = [&](uint64_t i) {
    return s.hidden - s.head_dim() - i / s.head_dim() * s.head_dim() + i % s.head_dim();
  };
  const auto neuron = [&](uint64_t i) { return s.ffn - 1 - i; };
  const auto same = [](uint64_t i) { return i; };
  const auto compare = [&](TensorRole role, uint64_t columns, const auto& row_of,
                           const auto& column_of) {
    const TensorView a = sorted->Tensor(role, 1);
    const TensorView b = plain->Tensor(role, 1);
    ASSERT_EQ(a.shape, b.shape);
    for (uint64_t i = 0; i < a.count(); ++i) {
      ASSERT_EQ(LoadElement(a, i), At(b, row_of(i / columns), column_of(i % columns))) << i;
    }
  };
  for (const TensorRole role :
       {TensorRole::kQueryWeight, TensorRole::kKeyWeight, TensorRole::kValueWeight})
    compare(role, s.hidden, head, same);
  for (const TensorRole role :
       {TensorRole::kQueryBias, TensorRole::kKeyBias, TensorRole::kValueBias})
    compare(role, 1, head, same);
  compare(TensorRole::kOutputWeight, s.hidden, same, head);
  compare(TensorRole::kFfn1Weight, s.hidden, neuron, same);
  compare(TensorRole::kFfn1Bias, 1, neuron, same);
  compare(TensorRole::kFfn2Weight, s.ffn, same, neuron);
  for (const TensorRole role : {TensorRole::kOutputBias, TensorRole::kFfn2Bias,
                                TensorRole::kOutputNormWeight, TensorRole::kAttentionNormBias})
    compare(role, 1, same, same);
  EXPECT_EQ(sorted->info().depth_layers, Backwards(s).depth_layers);
  EXPECT_FALSE(sorted->info().elastic);
}

TEST_F(SortedModelTest, IsTheModelThatItsExportIs) {
  auto sorted = Open();
  ASSERT_TRUE(Succeeded(sorted));
  const Digest plain = ModelDigest(*sorted, CodebookKind::kScaledTree);
  ASSERT_TRUE(Succeeded(sorted->Sort(Backwards(sorted->info().shape))));
  const Digest digest = ModelDigest(*sorted, CodebookKind::kScaledTree);
  EXPECT_NE(digest, plain);
  ASSERT_TRUE(Succeeded(ShardModel(*sorted, {}, Path("sorted.sti"))));
  auto file = ContainerFile::Open(Path("sorted.sti"));
  ASSERT_TRUE(Succeeded(file));
  EXPECT_EQ(file->index().model, digest);
  ASSERT_TRUE(Succeeded(ExportModel(*file, {}, Path("exported"))));
  const auto exported = ModelFolder::Open(Path("exported"));
  ASSERT_TRUE(Succeeded(exported));
  EXPECT_FALSE(exported->info().elastic);
  EXPECT_EQ(ModelDigest(*exported, CodebookKind::kScaledTree), digest);
}

TEST_F(SortedModelTest, RefusesElasticModelsAndOrdersOfOtherShapes) {
  auto folder = Open();
  ASSERT_TRUE(Succeeded(folder));
  ModelOrder order = Backwards(folder->info().shape);
  order.neurons.resize(order.neurons.size() / 2);
  EXPECT_TRUE(FailedWith(folder->Sort(order), ErrorKind::kForeign));
  ASSERT_TRUE(Succeeded(WriteTinyModel(Path("elastic"), TinyModelOptions{})));
  auto elastic = ModelFolder::Open(Path("elastic"));
  ASSERT_TRUE(Succeeded(elastic));
  EXPECT_TRUE(FailedWith(elastic->Sort(Backwards(elastic->info().shape)), ErrorKind::kUsage));
}

}  // namespace
}  // namespace sti
