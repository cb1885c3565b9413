#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "io/container_file.h"
#include "types/device_profile.h"

namespace sti {

/// Describes what a container holds and where its bytes are.
nlohmann::ordered_json DescribeContainer(const ContainerFile& file, uint64_t file_bytes);

/// Returns that description for a terminal of 80 columns.
std::string ContainerText(const nlohmann::ordered_json& container);
std::string ProfileText(const DeviceProfile& profile);

}  // namespace sti
