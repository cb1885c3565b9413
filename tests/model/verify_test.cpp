#include "model/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/digest.h"
#include "base/little_endian.h"
#include "format/container_header.h"
#include "support/expect.h"
#include "support/temp_folder.h"
#include "support/test_container.h"

namespace sti {
namespace {

using Bin = std::vector<uint8_t>;

/// A container whose shards are changed with all checksums right again, as by another writer.
class Forgery {
 public:
  Forgery() {
    auto report = WriteTinyContainer(path_);
    EXPECT_TRUE(Succeeded(report));
    if (!report.ok()) return;
    index_ = report->index;
    bytes_ = FileBytes(path_);
  }

  /// Stream index of the first outlier of layer 0 slice 0, whose outliers are one block.
  [[nodiscard]] uint32_t FirstOutlier() const {
    constexpr uint64_t kLows = 16;
    return LoadLittle<uint16_t>(&bytes_[Part(PartKind::kBase).offset + kLows]);
  }
  /// Gives a weight's code the bit of plane `plane`, 1 being the most significant.
  void SetCodeBit(uint32_t weight, uint32_t plane) {
    const uint64_t plane_bytes = Part(PartKind::kPlane3).length;
    const PartKind part = plane <= 2 ? PartKind::kBase : PartAt(plane);
    const uint64_t base = Part(PartKind::kBase).length - (3 - plane) * plane_bytes;
    const uint64_t at = Part(part).offset + (plane <= 2 ? base : 0) + weight / 8;
    bytes_[at] |= static_cast<uint8_t>(1U << weight % 8);
    Seal(part);
  }
  [[nodiscard]] std::vector<std::string> Damage() const {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes_.data()),
               static_cast<std::streamsize>(bytes_.size()));
    auto file = ContainerFile::Open(path_);
    EXPECT_TRUE(Succeeded(file));
    if (!file.ok()) return {};
    const auto report = VerifyContainer(*file, {});
    EXPECT_TRUE(Succeeded(report));
    std::vector<std::string> lines;
    if (!report.ok()) return lines;
    for (const Error& damage : report->damaged) lines.push_back(damage.Message());
    return lines;
  }

 private:
  [[nodiscard]] const PartLocation& Part(PartKind part) const {
    return index_.shard({0, 0}).parts[part];
  }
  void Seal(PartKind part) {
    auto header = ParseContainerHeader(bytes_, bytes_.size(), path_);
    ASSERT_TRUE(Succeeded(header));
    Bin old(sizeof(uint64_t));
    StoreLittle<uint64_t>(old.data(), Part(part).checksum);
    const auto index = std::span(bytes_).subspan(header->index_offset, header->index_bytes);
    const auto at = std::search(index.begin(), index.end(), old.begin(), old.end());
    ASSERT_NE(at, index.end());
    const auto stored = std::span(bytes_).subspan(Part(part).offset, Part(part).length);
    StoreLittle<uint64_t>(&*at, Checksum(stored));
    header->index_checksum = Checksum(index);
    const auto encoded = EncodeContainerHeader(*header);
    std::copy(encoded.begin(), encoded.end(), bytes_.begin());
  }

  TempFolder folder_;
  std::string path_ = folder_.File("a.sti");
  ContainerIndex index_;
  Bin bytes_;
};

TEST(Verify, FindsNothingInAWholeContainer) { EXPECT_TRUE(Forgery().Damage().empty()); }

TEST(Verify, AWeightsCodeMayBeAny) {
  Forgery forgery;
  ASSERT_NE(forgery.FirstOutlier(), 0U) << "weight 0 is no outlier here";
  forgery.SetCodeBit(0, 6);
  EXPECT_TRUE(forgery.Damage().empty());
}

TEST(Verify, AnOutliersCodeIsZero) {
  for (uint32_t plane = 1; plane <= 6; ++plane) {
    Forgery forgery;
    forgery.SetCodeBit(forgery.FirstOutlier(), plane);
    const auto damage = forgery.Damage();
    ASSERT_EQ(damage.size(), 1U) << "plane " << plane;
    EXPECT_NE(damage[0].find("a.sti: layer 0 slice 0 base: an outlier's code is not 0"),
              std::string::npos)
        << damage[0];
  }
}

}  // namespace
}  // namespace sti
