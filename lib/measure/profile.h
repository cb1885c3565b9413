// What a device can do (STI 5.2): T_io by real reads of the model file, T_comp by real layers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "io/container_file.h"
#include "text/tokenizer.h"
#include "types/device_profile.h"

namespace sti {

struct ProfileOptions {
  std::vector<uint32_t> lengths;  ///< ascending; clipped to the model's longest input by the caller
  std::vector<uint32_t> widths;   ///< ascending, 1..M
  uint32_t threads = 1;
  double gap_us = 0;  ///< idle before each sample, for devices that slow down between uses
  ProgressSink progress;
  CancelCheck cancelled;
};

/// Measures with the reader and the kernels that a run would use. Fills shape, io, compute, fixed,
/// threads, kernel and read_path; the caller adds cpus, machine and process_bytes.
Result<DeviceProfile> MeasureProfile(ContainerFile file, const Tokenizer& tokenizer,
                                     const ProfileOptions& options);

}  // namespace sti
