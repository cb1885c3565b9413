#include "format/framed_file.h"

#include <algorithm>
#include <cstring>

#include "base/little_endian.h"
#include "base/remedy.h"

namespace sti {
namespace {

constexpr size_t kMagicBytes = 8;
constexpr uint16_t kMajor = 1;
constexpr uint16_t kMinor = 0;
constexpr uint32_t kHeaderBytes = 40;
constexpr uint32_t kMaxHeaderBytes = 4096;

template <typename T>
void Append(std::vector<uint8_t>* file, T number) {
  const size_t at = file->size();
  file->resize(at + sizeof(number));
  std::memcpy(file->data() + at, &number, sizeof(number));
}

Error Damaged(const std::string& name, const std::string& problem) {
  return DataError(problem).At(name).Fix(Remedy::kMakeFileAgain);
}

}  // namespace

std::vector<uint8_t> WrapFrame(std::string_view magic, std::span<const uint8_t> payload) {
  std::vector<uint8_t> file(magic.begin(), magic.end());
  Append(&file, kMajor);
  Append(&file, kMinor);
  Append(&file, kHeaderBytes);
  Append(&file, static_cast<uint64_t>(payload.size()));
  Append(&file, Checksum(payload));
  Append(&file, Checksum(file));
  file.insert(file.end(), payload.begin(), payload.end());
  return file;
}

Result<std::span<const uint8_t>> FindPayload(std::string_view magic, std::span<const uint8_t> file,
                                             const std::string& name) {
  if (file.size() > kMaxSmallFileBytes)
    return ForeignError("larger than 64 MiB; this is not such a file, give another").At(name);
  if (file.size() < kMagicBytes || std::memcmp(file.data(), magic.data(), kMagicBytes) != 0) {
    return ForeignError("neither JSON nor a binary " + std::string(magic.data()) +
                        " file; give one of these")
        .At(name);
  }
  if (file.size() < kHeaderBytes) return Damaged(name, "the header is cut short");
  const auto major = LoadLittle<uint16_t>(file.data() + 8);
  const auto header_bytes = LoadLittle<uint32_t>(file.data() + 12);
  if (major > kMajor) {
    return ForeignError("format version " + std::to_string(major) +
                        " is newer than this tool knows (" + std::to_string(kMajor) + ")")
        .At(name)
        .Fix(Remedy::kUpdateOrMakeFile);
  }
  if (major == 0) return Damaged(name, "the header has format version 0");
  if (header_bytes < kHeaderBytes || header_bytes > kMaxHeaderBytes || header_bytes > file.size())
    return Damaged(name, "the header has an impossible size");
  const auto header = file.first(header_bytes);
  if (Checksum(header.first(header_bytes - 8)) !=
      LoadLittle<uint64_t>(header.data() + header_bytes - 8))
    return Damaged(name, "the header does not match its checksum");
  const auto payload = file.subspan(header_bytes);
  if (payload.size() != LoadLittle<uint64_t>(file.data() + 16))
    return Damaged(name, "the payload is not as long as the header says");
  if (Checksum(payload) != LoadLittle<uint64_t>(file.data() + 24))
    return Damaged(name, "the payload does not match its checksum");
  return payload;
}

Result<std::vector<uint8_t>> UnwrapFrame(std::string_view magic, std::span<const uint8_t> file,
                                         const std::string& name) {
  STI_ASSIGN_OR_RETURN(const std::span<const uint8_t> payload, FindPayload(magic, file, name));
  return std::vector<uint8_t>(payload.begin(), payload.end());
}

bool LooksLikeJson(std::span<const uint8_t> file) {
  const auto first = std::find_if(file.begin(), file.end(), [](uint8_t byte) {
    return byte != ' ' && byte != '\t' && byte != '\r' && byte != '\n';
  });
  return first != file.end() && *first == '{';
}

Result<Digest> DigestFromBytes(const uint8_t* bytes, size_t size, const std::string& where) {
  Digest digest;
  if (size != digest.bytes.size())
    return DataError("a digest is not 16 bytes long").At(where).Fix(Remedy::kMakeFileAgain);
  std::copy_n(bytes, size, digest.bytes.begin());
  return digest;
}

}  // namespace sti
