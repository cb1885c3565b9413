// The two BlockReaders, for block_reader.cpp only.
#pragma once

#include <memory>

#include "base/result.h"
#include "io/block_reader.h"
#include "io/block_source.h"

namespace sti {

Result<std::unique_ptr<BlockReader>> MakeUringReader(OpenedSource source, uint32_t depth);
Result<std::unique_ptr<BlockReader>> MakeThreadReader(OpenedSource source, uint32_t depth,
                                                      ReadPath path);

}  // namespace sti
