#include "model/memory.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/thread_pool.h"
#include "kernels/backend.h"
#include "kernels/lowp_attention.h"
#include "model/head.h"
#include "model/row_store.h"
#include "model/transformer.h"

namespace sti {
namespace {

// Rows of 8 bits with a step and a checksum, as sti-shard writes them.
ContainerIndex IndexOf(const ModelShape& shape) {
  ContainerIndex index;
  index.info.shape = shape;
  index.words.row_bytes = shape.hidden + 8;
  index.positions.row_bytes = shape.hidden + 8;
  return index;
}

const std::vector<ModelShape>& Shapes() {
  static const std::vector<ModelShape> shapes = {{12, 12, 768, 3072, 30522, 512, 2, 2},
                                                 {12, 12, 384, 1536, 30522, 512, 2, 2},
                                                 {4, 4, 128, 512, 1000, 512, 2, 2},
                                                 {2, 3, 51, 33, 100, 40, 1, 2}};
  return shapes;
}

/// Calls visit(arithmetic) for every arithmetic of this machine.
template <typename Visit>
void ForEachArithmetic(const Visit& visit) {
  for (const ComputeType type : ComputeTypes()) visit(Arithmetic{Backend::kNative, type});
  visit(Arithmetic{Backend::kOpenBlas, ComputeType::kFp32});
}

TEST(WorkingBytes, AreWhatTheTransformerReserves) {
  for (const ModelShape& shape : Shapes()) {
    ModelInfo info;
    info.shape = shape;
    for (const uint32_t threads : {1U, 3U}) {
      ThreadPool pool(threads);
      ForEachArithmetic([&](const Arithmetic& arithmetic) {
        const auto transformer = Transformer::Create(info, pool, arithmetic);
        if (!transformer.ok()) return;  // no OpenBLAS here
        const Kernel kernel = (*transformer)->kernel();
        const AttentionLayouts layouts = AttentionLayoutsOf(kernel.name, arithmetic.type);
        const bool packed = arithmetic.type != ComputeType::kFp32 && CanPackAttention();
        ASSERT_TRUE(packed ? layouts.packed : layouts.plain) << kernel.name;
        for (const uint32_t width : {1U, 3U, shape.width}) {
          for (const uint32_t tokens : {1U, 15U, 16U, 17U, 64U, 512U}) {
            (*transformer)->Reserve(tokens, width);
            const uint64_t real = (*transformer)->working_bytes();
            const TransformerLimits limits{tokens, width};
            ASSERT_EQ(Transformer::RoomFor(shape, arithmetic, packed, threads, limits), real)
                << kernel.name << ", " << tokens << " tokens, width " << width;
            const ContainerIndex index = IndexOf(shape);
            const uint64_t rest = RowStore::RoomFor(index, tokens) +
                                  uint64_t{tokens} * shape.hidden * sizeof(float) +
                                  ClassifierHead::RoomFor(shape.hidden, 1, threads);
            const uint64_t told = WorkingBytes(index, {kernel, threads, {tokens, width}});
            // A name that fits two layouts stands for the larger.
            ASSERT_GE(told, real + rest) << kernel.name;
            if (layouts.plain != layouts.packed) {
              ASSERT_EQ(told, real + rest) << kernel.name;
            }
          }
        }
      });
    }
  }
}

TEST(WorkingBytes, OfAKernelDoNotDependOnThisMachine) {
  const ContainerIndex index = IndexOf(Shapes()[0]);
  const auto bytes = [&](const std::string& kernel) {
    return WorkingBytes(index, {ParseKernel(kernel), 2, {128, 12}});
  };
  const uint64_t plain = bytes("native-neon-bf16");
  const uint64_t packed = bytes("native-avx512-bf16");
  EXPECT_NE(plain, packed);
  EXPECT_EQ(bytes("another-bf16"), std::max(plain, packed));
  EXPECT_EQ(bytes(""), bytes("native-avx2-fp32"));
  EXPECT_GT(bytes("openblas-fp32"), bytes(""));
}

TEST(WorkingBytes, HugeNumbersDoNotOverflow) {
  const ContainerIndex index = IndexOf({1024, 1, 1U << 24, 1U << 24, 1, 1U << 20, 1, 1});
  const auto bytes = [&](uint32_t threads, uint32_t tokens) {
    return WorkingBytes(index, {{}, threads, {tokens, 1}});
  };
  EXPECT_GT(bytes(UINT32_MAX, UINT32_MAX), bytes(1, 1U << 20));
  EXPECT_EQ(bytes(UINT32_MAX, UINT32_MAX), bytes(4096, 1U << 20));
  EXPECT_EQ(bytes(0, 16), bytes(1, 16));
}

}  // namespace
}  // namespace sti
