// The same bytes from any build on any machine: digests that were written down once. This test runs
// in release, under the sanitizers (another optimisation level) and, through scripts/test-aarch64,
// its like on another architecture. Only parts that zstd does not touch are counted.
#include <gtest/gtest.h>

#include <bit>

#include "support/expect.h"
#include "support/temp_folder.h"
#include "support/test_container.h"

namespace sti {
namespace {

std::string DigestOfShards(CodebookKind codebook, Layout layout, uint32_t threads) {
  const TempFolder folder;
  TinyModelOptions model;
  model.hidden = 52;
  model.ffn = 100;
  ShardOptions options;
  options.codebook = codebook;
  options.layout = layout;
  options.threads = threads;
  const std::string path = folder.path() + "/a.sti";
  const auto report = WriteTinyContainer(path, model, options);
  EXPECT_TRUE(Succeeded(report));
  if (!report.ok()) return "";
  const auto bytes = FileBytes(path);
  Digester digester;
  for (const ShardLocation& shard : report->index.shards) {
    for (const PartLocation& part : shard.parts) {
      digester.Add(std::span<const uint8_t>(bytes).subspan(part.offset, part.length));
    }
  }
  for (const Codebook& codes : report->index.centroids) {
    for (const auto& centroids : codes.centroids) {
      for (const float c : centroids) digester.AddNumber(std::bit_cast<uint32_t>(c));
    }
    for (const float scale : codes.scales) digester.AddNumber(std::bit_cast<uint32_t>(scale));
  }
  digester.Add(report->index.model.bytes);
  return digester.Finish().Hex();
}

TEST(Determinism, ShardsAreTheBytesWrittenDown) {
  const std::pair<CodebookKind, const char*> expected[] = {
      {CodebookKind::kGobo, "b920c3fecad0e6be7dc3abd41ac9cbdb"},
      {CodebookKind::kTree, "be4eaec6d7d57b231cc0793fac75b96d"},
      {CodebookKind::kScaledTree, "3db1bfc6d4c7cdd5a53234006a0942ba"}};
  for (const auto& [codebook, digest] : expected) {
    for (const Layout layout : {Layout::kShard, Layout::kPlane}) {
      for (const uint32_t threads : {1U, 2U, 5U}) {
        EXPECT_EQ(DigestOfShards(codebook, layout, threads), digest)
            << "codebook " << static_cast<int>(codebook) << " threads " << threads;
      }
    }
  }
}

}  // namespace
}  // namespace sti
