// The frame around the small binary files: importance and its parts, profile, plan and label
// vectors (spec/frame.md).
//
//   offset size
//        0    8  magic, which also tells the files apart
//        8    2  major version: a reader refuses a newer one
//       10    2  minor version: a reader ignores what it does not know
//       12    4  header bytes H, this header with its checksum: 40 today
//       16    8  payload bytes P; the file is H + P bytes long
//       24    8  XXH3-64 of the payload
//      H-8    8  XXH3-64 of the first H - 8 bytes
//        H    P  a FlatBuffer
//
// All numbers are little endian. Functions are thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"

namespace sti {

/// The most bytes that one of these files may have, in either spelling, binary or JSON.
inline constexpr uint64_t kMaxSmallFileBytes = uint64_t{64} << 20;

inline constexpr std::string_view kImportanceMagic{"STIIMPO\0", 8};
inline constexpr std::string_view kImportancePartMagic{"STIPART\0", 8};
inline constexpr std::string_view kProfileMagic{"STIPROF\0", 8};
inline constexpr std::string_view kPlanMagic{"STIPLAN\0", 8};
inline constexpr std::string_view kLabelVectorsMagic{"STINEAR\0", 8};

/// Returns the payload with its frame around it.
std::vector<uint8_t> WrapFrame(std::string_view magic, std::span<const uint8_t> payload);

/// Returns the payload of a framed file, where it stands in the file. Errors name `name`:
/// ForeignError for another magic, a newer major version and a file that is too large, DataError
/// for one that is damaged or cut short.
Result<std::span<const uint8_t>> FindPayload(std::string_view magic, std::span<const uint8_t> file,
                                             const std::string& name);

/// Returns a copy of that payload.
Result<std::vector<uint8_t>> UnwrapFrame(std::string_view magic, std::span<const uint8_t> file,
                                         const std::string& name);

/// Returns whether the first byte that is not white space opens a JSON object.
bool LooksLikeJson(std::span<const uint8_t> file);

/// Returns a digest out of its 16 bytes in a FlatBuffer. DataError naming `where` for another
/// `size`.
Result<Digest> DigestFromBytes(const uint8_t* bytes, size_t size, const std::string& where);

}  // namespace sti
