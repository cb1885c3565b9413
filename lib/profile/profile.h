// The profile of a device, measured (STI 5.2): T_io by real reads of the model file, T_comp by real
// layers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "io/container_file.h"
#include "types/device_profile.h"
#include "types/kernel.h"
#include "types/model_info.h"

namespace sti {

/// The input lengths that are measured where nobody asks for others. Most texts are short, and a
/// text runs under the plan for the next length above its own.
inline constexpr uint32_t kUsualLengths[] = {16, 24, 32, 48, 64, 96, 128};

/// Says what is measured, how well, and how long.
struct ProfileOptions {
  std::vector<uint32_t> lengths;  ///< ascending; clipped to the model's longest input by the caller
  std::vector<uint32_t> widths;   ///< ascending, 1..M
  /// How many inputs passes have that are measured: ascending, 1 and up to kMaxProfiledBatches
  /// more.
  std::vector<uint32_t> batches{1};
  /// Whether more than 6 widths may be cut down to the ends and the middle where the budget is too
  /// small for all.
  bool may_skip_widths = false;
  uint32_t threads = 1;
  ComputeType compute = ComputeType::kFp32;
  double gap_us = 0;        ///< idle before each sample, for devices that slow down between uses
  double precision = 0.02;  ///< half the 95 % interval of every median, as a share of it
  /// Time for all samples, gaps not counted. 0: 0.35 s a number, for the numbers of three lengths
  /// at most of each number of inputs; further lengths share it. Below 1 s the device's way to be
  /// read is found in fewer rounds too.
  double budget_us = 0;
  ProgressSink progress;
  CancelCheck cancelled;
  std::function<void()> each_round;  ///< called every second or so while measuring; may be empty
  LogSink log;                       ///< receives warnings, and how the device reads
};

/// Returns `lengths` ascending and each once; one that the model does not take becomes the longest
/// that it does. Of a model of images the one length that it has.
std::vector<uint32_t> LengthsFor(std::vector<uint32_t> lengths, const ModelInfo& info);
/// Returns the lengths that are measured of a model where nobody asks for others: kUsualLengths, as
/// LengthsFor has them, and 1 of one that continues texts, which it does by a token a pass.
std::vector<uint32_t> UsualLengths(const ModelInfo& info);
/// Returns the fewest tokens of an input that is worth a measurement: its control tokens and one
/// more.
uint32_t LeastProfiledLength(const ModelInfo& info);
/// Returns the widths that the model was trained for, ascending.
std::vector<uint32_t> TrainedWidths(const ModelInfo& info);

/// Measures with the reader and the kernels that a run would use, after finding how the device
/// likes to be read. Fills shape, io, compute, decode, fixed, batches, both series, threads,
/// kernel, read_path, read_bytes, read_depth and noise; the caller adds the rest.
/// A container that holds only what some plans read is measured by the layers that it has whole, at
/// the bits that it has them at. Errors are those of reads, kUsage when cancelled, and of
/// ContainerFile::RequireWholeLayers.
Result<DeviceProfile> MeasureProfile(ContainerFile file, const ProfileOptions& options);

}  // namespace sti
