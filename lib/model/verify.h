// The check of a whole container, byte for byte.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "io/container_file.h"

namespace sti {

struct VerifyReport {
  uint64_t parts = 0;
  uint64_t bytes = 0;
  std::vector<Error> damaged;  ///< each names the part
};

/// Reads every byte of a container and checks every checksum, every outlier and its code, that
/// every number is finite, and the zeros between parts. Damage is reported, not returned as an
/// error.
Result<VerifyReport> VerifyContainer(ContainerFile& file, const ProgressSink& progress);

}  // namespace sti
