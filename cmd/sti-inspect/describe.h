// Containers and small files, described for people and machines.
#pragma once

#include <string>

#include "format/container_sizes.h"
#include "types/device_profile.h"
#include "types/label_vectors.h"

namespace sti {

/// Returns what a container holds and where its bytes are, as one object on one line.
std::string ContainerToJson(const ContainerIndex& index, const ContainerSizes& sizes);

/// Returns the same facts, but for the names of labels, for a terminal of 80 columns.
std::string ContainerText(const ContainerIndex& index, const ContainerSizes& sizes);

/// Returns what a device profile says, for such a terminal.
std::string ProfileText(const DeviceProfile& profile);

/// Returns what label vectors say, but for their numbers, for such a terminal.
std::string LabelVectorsText(const LabelVectors& vectors);

}  // namespace sti
