// Bytes torn on their way from the device: once, they heal by being read again; always, they are
// damage. Errors of the device are never read twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "io/container_file.h"
#include "support/expect.h"
#include "support/fault_reader.h"
#include "support/temp_folder.h"
#include "support/test_container.h"

namespace sti {
namespace {

class TornContainerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    TinyModelOptions model;
    model.labels = 2;
    auto report = WriteTinyContainer(path_, model);
    ASSERT_TRUE(Succeeded(report));
    index_ = report->index;
    bytes_ = FileBytes(path_);
  }

  Result<ContainerFile> Open(std::vector<Fault> faults, bool reversed = false) {
    STI_ASSIGN_OR_RETURN(auto inner, OpenBlockReader(path_));
    auto reader = std::make_unique<FaultReader>(std::move(inner), std::move(faults), reversed);
    reader_ = reader.get();
    return ContainerFile::Open(std::move(reader));
  }
  [[nodiscard]] const PartLocation& Part() const {
    return index_.shard({1, 0}).parts[PartKind::kPlane5];
  }
  [[nodiscard]] bool IsPart(const LoadedRange& range) const {
    const auto got = range.Bytes(Part());
    return std::equal(got.begin(), got.end(),
                      bytes_.begin() + static_cast<ptrdiff_t>(Part().offset));
  }
  [[nodiscard]] static Fault Torn(uint64_t offset, uint32_t times) {
    return {.kind = FaultKind::kTorn, .offset = offset, .length = 1, .times = times};
  }

  TempFolder folder_;
  std::string path_ = folder_.File("a.sti");
  ContainerIndex index_;
  std::vector<uint8_t> bytes_;
  FaultReader* reader_ = nullptr;  // inside the container opened last
};

TEST_F(TornContainerTest, APartTornOnceHeals) {
  for (const uint64_t at : {Part().offset, Part().offset + Part().length - 1}) {
    auto file = Open({});
    ASSERT_TRUE(Succeeded(file));
    reader_->Inject(Torn(at, 1));
    const uint64_t before = reader_->reads();
    const auto range = file->ReadPart(Part(), "part");
    ASSERT_TRUE(Succeeded(range));
    EXPECT_TRUE(IsPart(*range));
    EXPECT_EQ(reader_->injected(), 1U);
    EXPECT_EQ(reader_->reads() - before, 2U);
  }
}

TEST_F(TornContainerTest, APartTornTwiceIsDamagedUntilItIsReadWhole) {
  auto file = Open({});
  ASSERT_TRUE(Succeeded(file));
  reader_->Inject(Torn(Part().offset + 1, 2));
  EXPECT_TRUE(FailedWith(file->ReadPart(Part(), "layer 1 slice 0 plane 5"), ErrorKind::kDamaged,
                         path_ + ": layer 1 slice 0 plane 5 is damaged"));
  EXPECT_EQ(reader_->injected(), 2U);
  EXPECT_TRUE(Succeeded(file->ReadPart(Part(), "part")));
}

TEST_F(TornContainerTest, AResidentPartTornOnceHeals) {
  const auto whole = Open({})->ReadText(ResidentKind::kVocabulary);
  ASSERT_TRUE(Succeeded(whole));
  const PartLocation& part = index_.Resident(ResidentKind::kVocabulary).part;
  auto file = Open({});
  reader_->Inject(Torn(part.offset, 1));
  const auto healed = file->ReadText(ResidentKind::kVocabulary);
  ASSERT_TRUE(Succeeded(healed));
  EXPECT_EQ(reader_->injected(), 1U);
  EXPECT_EQ(*healed, *whole);
  reader_->Inject(Torn(part.offset, Fault::kAlways));
  EXPECT_TRUE(FailedWith(file->ReadText(ResidentKind::kVocabulary), ErrorKind::kDamaged,
                         "vocabulary is damaged"));
}

TEST_F(TornContainerTest, HeaderAndIndexTornOnceHeal) {
  for (const uint64_t at : {uint64_t{0}, uint64_t{9}, uint64_t{63}, uint64_t{64}, uint64_t{200}}) {
    auto file = Open({Torn(at, 1)});
    ASSERT_TRUE(Succeeded(file)) << "byte " << at;
    EXPECT_EQ(reader_->injected(), 1U);
    EXPECT_EQ(file->index().shards.size(), index_.shards.size());
    EXPECT_TRUE(Refused(Open({Torn(at, Fault::kAlways)}), path_)) << "byte " << at;
  }
}

TEST_F(TornContainerTest, AnErrorOfTheDeviceIsTheMachinesFault) {
  EXPECT_TRUE(FailedWith(Open({{.kind = FaultKind::kError, .nth = 0}}), ErrorKind::kReadFailed,
                         path_ + ": cannot read: Input/output error"));
  auto file = Open({});
  ASSERT_TRUE(Succeeded(file));
  reader_->Inject({.kind = FaultKind::kError, .offset = Part().offset, .length = 1});
  EXPECT_TRUE(FailedWith(file->ReadPart(Part(), "part"), ErrorKind::kReadFailed, path_));
  EXPECT_EQ(reader_->injected(), 1U);
  reader_->Heal();
  EXPECT_TRUE(Succeeded(file->ReadPart(Part(), "part")));
}

TEST_F(TornContainerTest, AnErrorOfTheDeviceWhileReadingAgainIsThatError) {
  auto file = Open({});
  ASSERT_TRUE(Succeeded(file));
  reader_->Inject(Torn(Part().offset, 1));
  reader_->Inject({.kind = FaultKind::kError, .nth = reader_->reads() + 1});
  EXPECT_TRUE(FailedWith(file->ReadPart(Part(), "part"), ErrorKind::kReadFailed, "cannot read"));
  EXPECT_EQ(reader_->injected(), 2U);
}

TEST_F(TornContainerTest, ReadsThatCompleteOutOfOrderAreTheSame) {
  auto file = Open({}, true);
  ASSERT_TRUE(Succeeded(file));
  const auto range = file->ReadPart(Part(), "part");
  ASSERT_TRUE(Succeeded(range));
  EXPECT_TRUE(IsPart(*range));
}

}  // namespace
}  // namespace sti
