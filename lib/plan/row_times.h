// The time of reading embedding rows where some stay in memory: those that a plan preloads, and
// those that recent texts had. A profile tells it for texts that find none there; an importance
// file tells how much less texts like the app's then read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "plan/device_model.h"
#include "plan/request.h"
#include "types/plan.h"

namespace sti {

/// The share of the profile's time for embedding rows that a run takes.
struct RowShare {
  double median = 1;
  double p99 = 1;
};

/// Returns the share of texts of `length` tokens where the rows of the `words` most frequent words
/// are preloaded and the memory of rows is that of a plan for texts of up to `longest`; 1 where
/// nothing is known of words.
RowShare RowShareOf(const CheckedInput& input, uint32_t length, uint32_t longest, size_t words);

/// Returns `devices` on which embedding rows take this share of their time.
DeviceModels WithRowShare(const DeviceModels& devices, const RowShare& share);

/// Returns the device models for a plan, which says what share it counts on. Errors are those of
/// DeviceModels::Make.
Result<DeviceModels> DevicesOf(const CheckedInput& input, const Judging& judging,
                               const PlanCore& plan);

/// Returns the bytes of the preload buffer that the rows of so many words take.
uint64_t RowBytes(const CheckedInput& input, size_t words);

/// Returns words, the most frequent first: those that the importance counted, or else those that
/// the input says are common.
std::span<const uint32_t> FrequentWords(const CheckedInput& input);

/// Returns of how many of the most frequent words the rows are preloaded for fallbacks, to which a
/// word without its row is unknown: as many as an eighth of the buffer holds.
size_t WordsForFallbacks(const CheckedInput& input, uint64_t preload_bytes);

/// Returns of how many of the most frequent words the rows are worth their place in a preload
/// buffer of `preload_bytes`: each byte there saves more time than a shard's byte would.
size_t WordsToPreload(const CheckedInput& input, const DeviceModels& devices,
                      uint64_t preload_bytes, uint32_t length);

}  // namespace sti
