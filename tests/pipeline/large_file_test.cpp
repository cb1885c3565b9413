// Offsets past 32 bits. A small container is spread out: its word table gets so many rows that all
// shards lie behind 4 GiB. The new rows are a hole of the file system, so the file takes little.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "format/container_header.h"
#include "io/block_reader.h"
#include "io/container_file.h"
#include "pipeline/pipeline.h"
#include "pipeline/whole_plan.h"
#include "support/expect.h"
#include "support/temp_folder.h"
#include "support/test_container.h"

namespace sti {
namespace {

constexpr uint32_t kManyRows = 1'100'000;

Result<std::vector<float>> Logits(const std::string& path, ReadPath way) {
  STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(path, way));
  WholePlanOptions options;
  options.bits = 6;
  STI_ASSIGN_OR_RETURN(Plan plan, MakeWholePlan(file.index(), options));
  STI_ASSIGN_OR_RETURN(auto pipeline, Pipeline::Create(std::move(file), plan, {}));
  const std::vector<uint32_t> ids{2, 5, 7, 3};
  STI_ASSIGN_OR_RETURN(RunResult result, RunTokens(*pipeline, ids, std::vector<uint32_t>(4, 0)));
  return result.values;
}

// The index with everything behind the word table `shift` further on.
ContainerIndex Spread(ContainerIndex index, uint64_t shift) {
  const uint64_t words_end =
      index.words.offset + uint64_t{index.words.rows} * index.words.row_bytes;
  const auto move = [&](uint64_t& offset) { offset += offset >= words_end ? shift : 0; };
  for (ShardLocation& shard : index.shards) {
    for (PartLocation& part : shard.parts) move(part.offset);
  }
  for (ResidentLocation& resident : index.resident) move(resident.part.offset);
  move(index.positions.offset);
  index.words.rows = kManyRows;
  index.info.shape.vocabulary = kManyRows;
  return index;
}

bool WriteAt(int fd, std::span<const uint8_t> bytes, uint64_t offset) {
  return ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)) ==
         static_cast<ssize_t>(bytes.size());
}

TEST(LargeFile, ShardsBehindFourGibibytes) {
  const TempFolder folder;
  TinyModelOptions model;
  model.layers = 1;
  model.hidden = 1024;
  model.data_type = DataType::kF32;
  const std::string small = folder.File("small.sti");
  const auto report = WriteTinyContainer(small, model, {});
  ASSERT_TRUE(Succeeded(report));
  const RowTable& words = report->index.words;
  const uint64_t words_bytes = uint64_t{words.rows} * words.row_bytes;
  const uint64_t behind = RoundUp(words.offset + words_bytes, kBlockBytes);
  const uint64_t shift =
      RoundUp(words.offset + uint64_t{kManyRows} * words.row_bytes, kBlockBytes) - behind;
  const ContainerIndex index = Spread(report->index, shift);
  ASSERT_GT(index.shard({0, 0}).parts[PartKind::kBase].offset, uint64_t{1} << 32);

  const auto bytes = FileBytes(small);
  const auto encoded = EncodeContainerIndex(index);
  const auto header = EncodeContainerHeader(
      {bytes.size() + shift, kContainerHeaderBytes, encoded.size(), Checksum(encoded)});
  const std::string large = folder.File("large.sti");
  const int fd = ::open(large.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  ASSERT_GE(fd, 0);
  const std::span<const uint8_t> all(bytes);
  const bool written = WriteAt(fd, all.first(words.offset + words_bytes), 0) &&
                       WriteAt(fd, header, 0) && WriteAt(fd, encoded, kContainerHeaderBytes) &&
                       WriteAt(fd, all.subspan(behind), behind + shift);
  ::close(fd);
  if (!written) GTEST_SKIP() << "no sparse file of 4 GiB can be written here";

  const auto expected = Logits(small, ReadPath::kAuto);
  ASSERT_TRUE(Succeeded(expected));
  for (const ReadPath way : {ReadPath::kAuto, ReadPath::kThreads, ReadPath::kBuffered}) {
    const auto seen = Logits(large, way);
    ASSERT_TRUE(Succeeded(seen)) << ReadPathName(way);
    EXPECT_EQ(*seen, *expected) << ReadPathName(way);
  }
  // Damage out there is found like anywhere else.
  ASSERT_TRUE(DamageByte(large, index.shard({0, 1}).parts[PartKind::kBase].offset + 77, 1).ok());
  EXPECT_TRUE(FailedWith(Logits(large, ReadPath::kAuto), ErrorKind::kDamaged,
                         "layer 0 slice 1 base is damaged"));
}

}  // namespace
}  // namespace sti
