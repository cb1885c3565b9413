#pragma once

#include "io/container_file.h"
#include "plan/planner.h"

namespace sti {

/// What a process that opens this container reads beside shards and embedding rows.
ColdBytes ColdBytesOf(const ContainerFile& file);

}  // namespace sti
