#include "profile/read_sweep.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/aligned_buffer.h"
#include "support/expect.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"

namespace sti {
namespace {

constexpr uint32_t kKi = 1024;

// A device that gives `best` once enough is in flight, and single blocks one by one or not.
std::vector<ReadRate> Device(double best, double full_at, double block_us, uint32_t lanes) {
  std::vector<ReadRate> rates;
  for (const ReadShape& shape : ReadShapes(1u << 30)) {
    const double in_flight = double(shape.bytes) * shape.depth;
    double rate = std::min(best, best * in_flight / full_at);
    if (shape.bytes == kBlockBytes) rate = std::min(shape.depth, lanes) * 4096 / block_us;
    rates.push_back({shape, rate});
  }
  return rates;
}

TEST(ReadSweep, TheFewestBytesInFlightThatTakeTheWholeDevice) {
  EXPECT_EQ(ChooseReadShape(Device(1000, 256 * kKi, 50, 1)), (ReadShape{64 * kKi, 4}));
  EXPECT_EQ(ChooseReadShape(Device(1000, 64 * kKi, 50, 1)), (ReadShape{64 * kKi, 1}));
  EXPECT_EQ(ChooseReadShape(Device(1000, 2048 * kKi, 50, 1)), (ReadShape{128 * kKi, 16}));
}

TEST(ReadSweep, AlmostAllIsEnough) {
  auto rates = Device(1000, 64 * kKi, 50, 1);
  for (ReadRate& rate : rates) {
    if (rate.shape == ReadShape{64 * kKi, 2}) rate.bytes_per_us = 1015;
  }
  EXPECT_EQ(ChooseReadShape(rates), (ReadShape{64 * kKi, 1}));
  for (ReadRate& rate : rates) {
    if (rate.shape == ReadShape{64 * kKi, 2}) rate.bytes_per_us = 1030;
  }
  EXPECT_EQ(ChooseReadShape(rates), (ReadShape{64 * kKi, 2}));
}

TEST(ReadSweep, NoiseDoesNotChoose) {
  auto rates = Device(1000, 64 * kKi, 50, 1);
  for (ReadRate& rate : rates) {
    if (rate.shape == ReadShape{128 * kKi, 16}) rate.bytes_per_us = 1050;
  }
  EXPECT_EQ(ChooseReadShape(rates), (ReadShape{128 * kKi, 16}));
  for (ReadRate& rate : rates) rate.spread = 0.06;
  EXPECT_EQ(ChooseReadShape(rates), (ReadShape{64 * kKi, 1}));
  // But noise is no excuse for a device left idle.
  for (ReadRate& rate : rates) {
    rate.spread = 0.5;
    if (rate.shape == ReadShape{128 * kKi, 16}) rate.bytes_per_us = 1200;
  }
  EXPECT_EQ(ChooseReadShape(rates), (ReadShape{128 * kKi, 16}));
}

TEST(ReadSweep, AsManyAtOnceAsSingleBlocksWant) {
  EXPECT_EQ(ChooseReadShape(Device(1000, 64 * kKi, 50, 8)), (ReadShape{64 * kKi, 8}));
  EXPECT_EQ(ChooseReadShape(Device(1000, 1024 * kKi, 50, 8)), (ReadShape{64 * kKi, 16}));
}

TEST(ReadSweep, WaysThatCannotHaveSoManyInFlightAreLeftOut) {
  auto rates = Device(1000, 512 * kKi, 50, 8);
  for (ReadRate& rate : rates) {
    if (rate.shape.depth > 4) rate.bytes_per_us = 0;
  }
  EXPECT_EQ(ChooseReadShape(rates), (ReadShape{128 * kKi, 4}));
}

TEST(ReadSweep, NothingMeasuredIsTheDefault) {
  const ReadShape shape = ChooseReadShape({});
  EXPECT_EQ(shape.depth, BlockReader::kDefaultDepth);
  EXPECT_GT(shape.bytes, 0U);
  const ReadRate only_blocks[] = {{{kBlockBytes, 2}, 100}};
  EXPECT_EQ(ChooseReadShape(only_blocks), shape);
}

TEST(ReadSweep, ShapesFitTheFileAndTheLimit) {
  for (const uint64_t file : {uint64_t{4096}, uint64_t{100} * kKi, uint64_t{1} << 30}) {
    const auto shapes = ReadShapes(file);
    EXPECT_FALSE(shapes.empty());
    for (const ReadShape& shape : shapes) {
      EXPECT_LE(shape.bytes, file);
      EXPECT_EQ(shape.bytes % kBlockBytes, 0U);
      EXPECT_LE(uint64_t{shape.bytes} * shape.depth, uint64_t{2} << 20);
    }
  }
  EXPECT_TRUE(ReadShapes(100).empty());
}

TEST(ReadSweep, MeasuresARealFile) {
  TempFolder folder;
  const std::string path = folder.File("blocks");
  ASSERT_TRUE(Succeeded(WriteBytes(path, std::string(40 * kBlockBytes, 'x'))));
  const auto rates =
      MeasureReadShapes(FileSource(path), ReadPath::kThreads, kFewestSweepRounds, {});
  ASSERT_TRUE(Succeeded(rates));
  EXPECT_EQ(rates->size(), ReadShapes(40 * kBlockBytes).size());
  for (const ReadRate& rate : *rates) {
    // At most 4 threads read.
    EXPECT_EQ(rate.bytes_per_us > 0, rate.shape.depth <= 4) << rate.shape.depth;
  }
  EXPECT_TRUE(FailedWith(
      MeasureReadShapes(FileSource(path), ReadPath::kThreads, kSweepRounds, [] { return true; }),
      ErrorKind::kCancelled, "interrupted"));
  EXPECT_TRUE(
      FailedWith(MeasureReadShapes(FileSource("/none/such"), ReadPath::kAuto, kSweepRounds, {}),
                 ErrorKind::kNoSuchFile, "no such file"));
}

}  // namespace
}  // namespace sti
