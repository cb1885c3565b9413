// Resident parts: what stays in memory while a model is open (spec/container.md, "Resident parts").
// A part may take gigabytes once it is unpacked, from a file of a few megabytes. So tensors are
// unpacked piece by piece into what becomes of them, and the part itself is never held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "format/container_index.h"
#include "network/tensors.h"

namespace sti {

/// The stored form of a part: compressed where that saves at least a quarter. Saving less than a
/// tenth makes a cold start slower, not faster: decompression takes longer than the reads saved.
struct StoredPart {
  std::vector<uint8_t> bytes;
  Compression compression = Compression::kNone;
};
StoredPart CompressPart(std::span<const uint8_t> raw);

/// Returns the text of a stored part. `stored` has passed its checksum already; a part that does
/// not decompress to exactly the size in the index, or has more behind its frame, is a DataError.
Result<std::string> UnpackText(const ResidentLocation& location, std::span<const uint8_t> stored,
                               const std::string& name);

/// Returns the home of the tensors that a part holds. The part is no text.
Home HomeOf(ResidentKind kind);

/// Receives some values of one tensor, as they are stored; `first` is the number of the first of
/// them.
using TensorVisit =
    FunctionRef<Status(TensorRole role, uint64_t first, std::span<const uint8_t> values)>;

/// Visits all values of a stored part that is no text, in order. Returns the first error of
/// `visit`, or a DataError for what UnpackText refuses, for a part of another size than the
/// shape's, and for a number that is not finite; `visit` may have been called before.
[[nodiscard]] Status ReadTensors(const ResidentLocation& location, const ModelShape& shape,
                                 std::span<const uint8_t> stored, const std::string& name,
                                 const TensorVisit& visit);

}  // namespace sti
