// Parses what torch.save makes of a dict of tensors, pytorch_model.bin among others, without
// running any of it. Since PyTorch 1.6 it is a zip archive of a pickle and of the storages that it
// names; before, a stream of pickles with the storages behind them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "base/result.h"
#include "import/weight_file.h"

namespace sti {

/// Returns the tensors of `file`, whose name is `path` for messages; values of the dict that are no
/// tensors are left out. Elements that lie scattered in their storage, as a transposed tensor's do,
/// are copied in order; copies take at most the size of the file. ForeignError for a pickle that
/// does more than tensors need and for big-endian numbers; DataError for a file that is not sound,
/// has tensors outside their storage, or is not what torch.save writes. Pure.
Result<ParsedWeights> ParseTorchFile(const std::string& path, std::span<const uint8_t> file);

using ZipMembers = std::map<std::string, std::span<const uint8_t>, std::less<>>;

/// Returns the members of the archive `file` by name, zip64's too. What counts is the directory at
/// its end. DataError for one that is not sound, a member outside the file or one that stands
/// twice, and for more than 2^20 members; ForeignError for a member that is packed or encrypted.
/// Checksums are not looked at. Pure.
Result<ZipMembers> ReadZip(std::span<const uint8_t> file);

}  // namespace sti
