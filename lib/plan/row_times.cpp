#include "plan/row_times.h"

#include <algorithm>

#include "types/word_use.h"

namespace sti {
namespace {

/// Returns the share with room for texts of `longest` tokens, or with the most below that for which
/// it was measured.
RowShare ShareWithRoom(const RowReads& reads, uint32_t longest) {
  RowShare share{reads.share, reads.p99_share};
  for (const RowRoom& room : reads.rooms) {
    if (room.tokens <= longest) share = {room.share, room.p99_share};
  }
  return share;
}

/// Returns the share for a length and a number of words; between two measured ones the larger.
RowShare ShareOf(const WordUse& use, uint32_t length, uint32_t longest, size_t words) {
  uint32_t below = 0;
  uint32_t above = 0;
  for (const RowReads& reads : use.reads) {
    if (reads.length <= length) below = reads.length;
    if (reads.length >= length && above == 0) above = reads.length;
  }
  if (above == 0) return {};
  RowShare share{0, 0};
  for (const uint32_t measured : {below == 0 ? above : below, above}) {
    RowShare at{1, 1};
    for (const RowReads& reads : use.reads) {
      if (reads.length != measured || reads.words > words) continue;
      const RowShare here = ShareWithRoom(reads, longest);
      at = {std::min(at.median, here.median), std::min(at.p99, here.p99)};
    }
    share = {std::max(share.median, at.median), std::max(share.p99, at.p99)};
  }
  return share;
}

/// Returns the time of such a share of the rows. Some of them take as long to begin as all of them.
double RowsUs(const FixedTimes& fixed, double share) {
  if (share == 0) return 0;
  const double start_us = std::min(fixed.embed_io_start_us, fixed.embed_io_us);
  return start_us + share * (fixed.embed_io_us - start_us);
}

/// Returns what a byte of a shard takes to load.
double ByteUs(const CheckedInput& input, const DeviceModel& device) {
  const uint32_t bits = input->catalog.bits.front();
  const auto bytes = input->catalog.BytesOf({{0, 0}, bits});
  const auto load_us = bytes ? device.LoadUs(bits, *bytes) : std::nullopt;
  return load_us && *bytes > 0 ? *load_us / static_cast<double>(*bytes) : 0;
}

}  // namespace

RowShare RowShareOf(const CheckedInput& input, uint32_t length, uint32_t longest, size_t words) {
  if (input->importance == nullptr) return {};
  return ShareOf(input->importance->word_use, length, longest, words);
}

DeviceModels WithRowShare(const DeviceModels& devices, const RowShare& share) {
  const auto scaled = [](const DeviceModel& device, double rows) {
    return device.Slowed(1, 1, RowsUs(device.fixed(), rows));
  };
  return {scaled(devices.median, share.median), scaled(devices.p99, share.p99), devices.risk};
}

Result<DeviceModels> DevicesOf(const CheckedInput& input, const Judging& judging,
                               const PlanCore& plan) {
  STI_ASSIGN_OR_RETURN(const DeviceModels devices,
                       DeviceModels::Make(input, plan.length, plan.freq.value_or(0), judging,
                                          plan.target_us, plan.microbatch));
  return WithRowShare(devices, {plan.row_share, plan.row_p99_share});
}

uint64_t RowBytes(const CheckedInput& input, size_t words) {
  return words * uint64_t{input->memory.row_bytes};
}

std::span<const uint32_t> FrequentWords(const CheckedInput& input) {
  return CountsWords(input->importance) ? input->importance->word_use.words : input->common_words;
}

size_t WordsForFallbacks(const CheckedInput& input, uint64_t preload_bytes) {
  constexpr uint64_t kPartOfBuffer = 8;
  if (input->memory.row_bytes == 0) return 0;
  const uint64_t room = preload_bytes / kPartOfBuffer / input->memory.row_bytes;  // in rows
  if (!CountsWords(input->importance)) return std::min<uint64_t>(input->common_words.size(), room);
  size_t most = 0;
  for (const RowReads& reads : input->importance->word_use.reads) {
    if (reads.words <= room) most = std::max<size_t>(most, reads.words);
  }
  return most;
}

size_t WordsToPreload(const CheckedInput& input, const DeviceModels& devices,
                      uint64_t preload_bytes, uint32_t length) {
  if (!CountsWords(input->importance) || input->memory.row_bytes == 0) return 0;
  const WordUse& use = input->importance->word_use;
  const bool by_p99 = devices.risk == Risk::kP99;
  const auto share_of = [&](size_t words) {
    const RowShare share = ShareOf(use, length, length, words);
    return by_p99 ? share.p99 : share.median;
  };
  const double byte_us = ByteUs(input, devices.deciding());
  const FixedTimes& fixed = devices.deciding().fixed();
  size_t best = 0;
  double best_us = 0;
  for (const RowReads& reads : use.reads) {
    const uint64_t bytes = RowBytes(input, reads.words);
    if (bytes > preload_bytes) continue;
    const double saved_us = RowsUs(fixed, share_of(0)) - RowsUs(fixed, share_of(reads.words)) -
                            byte_us * static_cast<double>(bytes);
    if (saved_us <= best_us) continue;
    best_us = saved_us;
    best = reads.words;
  }
  return best;
}

}  // namespace sti
