#include "plan/play/shard_costs.h"

#include <algorithm>
#include <string>

#include "base/remedy.h"
#include "types/bits.h"
#include "types/limits.h"

namespace sti {
namespace {

// Sums over all shards stay far from 2^64.
constexpr uint64_t kMaxShardBytes = uint64_t{1} << 40;

Error CatalogError(const std::string& problem) {
  return DataError("shard catalog: " + problem).In(Source::kModel).Fix(Remedy::kMakeModelAgain);
}

Status ValidateShard(const ShardCatalog& catalog, size_t shard) {
  uint64_t previous = 1;
  for (size_t level = 0; level < catalog.bits.size(); ++level) {
    const uint64_t bytes = catalog.read_bytes[shard * catalog.bits.size() + level];
    const bool possible = bytes >= previous && bytes <= kMaxShardBytes;
    if (!possible) {
      return CatalogError("shard " + std::to_string(shard / catalog.width) + "," +
                          std::to_string(shard % catalog.width) + " has " + std::to_string(bytes) +
                          " bytes at " + std::to_string(catalog.bits[level]) + " bits");
    }
    previous = bytes;
  }
  return {};
}

}  // namespace

Status ValidateCatalog(const ShardCatalog& catalog) {
  if (catalog.layers == 0 || catalog.layers > kMaxLayers || catalog.width == 0 ||
      catalog.width > kMaxWidth)
    return CatalogError("impossible size");
  if (catalog.bits.empty()) return CatalogError("no bitwidths");
  if (std::adjacent_find(catalog.bits.begin(), catalog.bits.end(), std::greater_equal<>()) !=
      catalog.bits.end())
    return CatalogError("bitwidths do not ascend");
  const size_t shards = size_t{catalog.layers} * catalog.width;
  if (catalog.bits.size() > 32 || catalog.read_bytes.size() != shards * catalog.bits.size())
    return CatalogError("as many sizes as shards and bitwidths are expected");
  for (size_t shard = 0; shard < shards; ++shard)
    STI_RETURN_IF_ERROR(ValidateShard(catalog, shard));
  return {};
}

Result<ShardCosts> ShardCosts::Make(const ShardCatalog& catalog, const DeviceModel& device) {
  ShardCosts costs;
  costs.width_ = catalog.width;
  std::vector<size_t> known;
  for (size_t level = 0; level < catalog.bits.size(); ++level) {
    if (!device.LoadUs(catalog.bits[level], 1)) continue;
    known.push_back(level);
    costs.bits_.push_back(catalog.bits[level]);
    costs.decode_us_.push_back(device.DecodeUs(catalog.bits[level]));
  }
  if (known.empty()) {
    return DataError("io has no load time for any stored bitwidth")
        .In(Source::kProfile)
        .Fix(Remedy::kCorrectProfile);
  }
  const size_t shards = size_t{catalog.layers} * catalog.width;
  costs.bytes_.reserve(shards * known.size());
  costs.load_us_.reserve(shards * known.size());
  for (size_t shard = 0; shard < shards; ++shard) {
    for (size_t level : known) {
      const uint64_t bytes = catalog.read_bytes[shard * catalog.bits.size() + level];
      costs.bytes_.push_back(bytes);
      costs.load_us_.push_back(device.LoadUs(catalog.bits[level], bytes).value_or(0));
    }
  }
  return costs;
}

ShardCosts ShardCosts::Holding(std::span<const ShardAtBits> held, uint32_t block_bytes,
                               const DeviceModel& device) const {
  ShardCosts costs = *this;
  for (const ShardAtBits& shard : held) {
    const std::optional<size_t> have = LevelOf(shard.bits);
    if (!have) continue;
    const uint64_t have_bytes = bytes(shard.id, *have);
    const double have_us = load_us(shard.id, *have);
    for (size_t level = 0; level < levels(); ++level) {
      const size_t at = Index(shard.id, level);
      if (level <= *have) {
        costs.bytes_[at] = 0;
        costs.load_us_[at] = 0;
      } else if (Extends(shard.bits, bits_[level])) {
        // The block in which the planes at hand end may be read once more.
        costs.bytes_[at] = std::min(bytes_[at], bytes_[at] - have_bytes + block_bytes);
        const bool by_size = device.LoadsBySize();
        costs.load_us_[at] = by_size ? device.LoadUs(bits_[level], costs.bytes_[at]).value_or(0)
                                     : std::max(0.0, load_us_[at] - have_us);
      }
    }
  }
  return costs;
}

std::optional<size_t> ShardCosts::LevelOf(uint32_t bits) const {
  auto found = std::find(bits_.begin(), bits_.end(), bits);
  if (found == bits_.end()) return std::nullopt;
  return static_cast<size_t>(found - bits_.begin());
}

size_t ShardCosts::LevelAtMost(uint32_t bits) const {
  size_t level = 0;
  while (level + 1 < bits_.size() && bits_[level + 1] <= bits) ++level;
  return level;
}

}  // namespace sti
