#include "io/container_file.h"

#include <gtest/gtest.h>

#include "format/container_header.h"
#include "support/expect.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"
#include "support/test_container.h"

namespace sti {
namespace {

class ContainerFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    TinyModelOptions model;
    model.labels = 2;
    auto report = WriteTinyContainer(path_, model);
    ASSERT_TRUE(Succeeded(report));
    report_ = *report;
    bytes_ = FileBytes(path_);
  }

  void Write(std::span<const uint8_t> bytes) {
    ASSERT_TRUE(
        WriteBytes(path_, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}).ok());
  }
  [[nodiscard]] uint64_t index_end() const {
    return kContainerHeaderBytes + EncodeContainerIndex(report_.index).size();
  }

  TempFolder folder_;
  std::string path_ = folder_.File("a.sti");
  ShardReport report_;
  std::vector<uint8_t> bytes_;
};

TEST_F(ContainerFileTest, OpensWithTheIndexThatWasWritten) {
  auto file = ContainerFile::Open(path_);
  ASSERT_TRUE(Succeeded(file));
  EXPECT_EQ(EncodeContainerIndex(file->index()), EncodeContainerIndex(report_.index));
  EXPECT_EQ(file->name(), path_);
  EXPECT_EQ(file->index_bytes() + kContainerHeaderBytes, index_end());
}

// All parts, all bytes: what ReadPart gives is what the file holds.
TEST_F(ContainerFileTest, ReadsAndChecksEveryPart) {
  auto file = ContainerFile::Open(path_);
  ASSERT_TRUE(Succeeded(file));
  for (const ShardLocation& shard : report_.index.shards) {
    for (const PartLocation& part : shard.parts) {
      const auto range = file->ReadPart(part, "part");
      ASSERT_TRUE(Succeeded(range));
      const auto bytes = range->Bytes(part);
      EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(),
                             bytes_.begin() + static_cast<ptrdiff_t>(part.offset)));
    }
  }
  std::string vocabulary;
  for (const std::string& token : TinyVocabulary()) vocabulary += token + "\n";
  const auto stored = file->ReadText(ResidentKind::kVocabulary);
  ASSERT_TRUE(Succeeded(stored));
  EXPECT_EQ(*stored, vocabulary);
}

TEST_F(ContainerFileTest, EveryFlippedByteOfHeaderAndIndexIsFound) {
  for (uint64_t at = 0; at < index_end(); ++at) {
    ASSERT_TRUE(DamageByte(path_, at, 0x04).ok());
    ASSERT_TRUE(Refused(ContainerFile::Open(path_), path_)) << "byte " << at;
    ASSERT_TRUE(DamageByte(path_, at, 0x04).ok());
  }
  EXPECT_TRUE(Succeeded(ContainerFile::Open(path_)));
}

TEST_F(ContainerFileTest, PaddingBehindTheIndexIsNotRead) {
  uint64_t first_part = bytes_.size();
  for (const ResidentLocation& resident : report_.index.resident) {
    first_part = std::min(first_part, resident.part.offset);
  }
  ASSERT_GT(first_part, index_end()) << "no padding in this file";
  ASSERT_TRUE(DamageByte(path_, first_part - 1).ok());
  EXPECT_TRUE(Succeeded(ContainerFile::Open(path_)));
}

TEST_F(ContainerFileTest, EveryTruncationIsFound) {
  std::vector<uint64_t> sizes{0, 1, 7, 8, 63, 64, 65, index_end(), bytes_.size() - 1};
  for (uint64_t size = kBlockBytes; size < bytes_.size(); size += kBlockBytes) {
    sizes.insert(sizes.end(), {size - 1, size, size + 1, size + 512});
  }
  for (const uint64_t size : sizes) {
    Write(std::span(bytes_).first(size));
    EXPECT_TRUE(Refused(ContainerFile::Open(path_), path_)) << size;
  }
}

TEST_F(ContainerFileTest, BytesBehindTheEndAreFound) {
  for (const uint64_t extra : {uint64_t{1}, kBlockBytes, uint64_t{1} << 20}) {
    auto longer = bytes_;
    longer.resize(bytes_.size() + extra);
    Write(longer);
    EXPECT_TRUE(FailedWith(ContainerFile::Open(path_), ErrorKind::kDamaged, "its header says"));
  }
}

TEST_F(ContainerFileTest, OtherFilesAreNoContainers) {
  for (const std::string& content :
       {std::string(), std::string("{}"), std::string(9000, 'x'), std::string(8192, '\0')}) {
    ASSERT_TRUE(WriteBytes(path_, content).ok());
    EXPECT_TRUE(
        FailedWith(ContainerFile::Open(path_), ErrorKind::kForeign, "not a shard container"));
  }
  EXPECT_TRUE(FailedWith(ContainerFile::Open(folder_.File("none")), ErrorKind::kNoSuchFile,
                         "no such file"));
}

TEST_F(ContainerFileTest, AFlippedByteOfAPartIsFoundByItsName) {
  const ShardLocation& shard = report_.index.shard({1, 0});
  const PartLocation& vocabulary = report_.index.Resident(ResidentKind::kVocabulary).part;
  for (const PartLocation& part : {shard.parts[PartKind::kBase], shard.parts[PartKind::kPlane5],
                                   shard.parts[PartKind::kFull]}) {
    for (const uint64_t at :
         {part.offset, part.offset + part.length / 2, part.offset + part.length - 1}) {
      ASSERT_TRUE(DamageByte(path_, at).ok());
      auto file = ContainerFile::Open(path_);
      ASSERT_TRUE(Succeeded(file));
      EXPECT_TRUE(FailedWith(file->ReadPart(part, "layer 1 slice 0"), ErrorKind::kDamaged,
                             path_ + ": layer 1 slice 0 is damaged"));
      ASSERT_TRUE(DamageByte(path_, at).ok());
    }
  }
  ASSERT_TRUE(DamageByte(path_, vocabulary.offset).ok());
  auto file = ContainerFile::Open(path_);
  ASSERT_TRUE(Succeeded(file));
  EXPECT_TRUE(FailedWith(file->ReadText(ResidentKind::kVocabulary), ErrorKind::kDamaged,
                         "vocabulary is damaged"));
}

TEST_F(ContainerFileTest, AFileThatShrinksWhileOpenIsADataError) {
  auto file = ContainerFile::Open(path_);
  ASSERT_TRUE(Succeeded(file));
  std::filesystem::resize_file(path_, bytes_.size() - 2 * kBlockBytes);
  const PartLocation& last = report_.index.shards.back().parts[PartKind::kFull];
  EXPECT_TRUE(FailedWith(file->ReadPart(last, "last"), ErrorKind::kDamaged, "ends at byte"));
}

}  // namespace
}  // namespace sti
