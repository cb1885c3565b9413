#include <optional>
#include <string_view>
#include <utility>

#include "base/checked.h"
#include "base/little_endian.h"
#include "import/torch_file.h"

namespace sti {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr uint64_t kMaxMembers = uint64_t{1} << 20;
constexpr uint32_t kIn64 = 0xFFFFFFFFu;  // the number stands in zip64's record or field

constexpr uint32_t kEndMagic = 0x06054B50;
constexpr uint32_t kLocatorMagic = 0x07064B50;
constexpr uint32_t kEnd64Magic = 0x06064B50;
constexpr uint32_t kEntryMagic = 0x02014B50;
constexpr uint32_t kLocalMagic = 0x04034B50;

constexpr uint64_t kEndBytes = 22;
constexpr uint64_t kLocatorBytes = 20;
constexpr uint64_t kEnd64Bytes = 56;
constexpr uint64_t kEntryBytes = 46;
constexpr uint64_t kLocalBytes = 30;

Error BadArchive(const std::string& what) {
  return DataError("as a zip archive, " + what + "; get a sound copy of the file");
}

/// Where the directory lies and how many entries it has.
struct Directory {
  uint64_t members = 0;
  uint64_t bytes = 0;
  uint64_t offset = 0;
};

/// An entry of the directory.
struct Member {
  std::string_view name;
  uint64_t bytes = 0;
  uint64_t packed_bytes = 0;
  uint64_t offset = 0;  // of its local header
};

uint16_t U16(Bytes bytes, uint64_t at) { return LoadLittle<uint16_t>(bytes.data() + at); }
uint32_t U32(Bytes bytes, uint64_t at) { return LoadLittle<uint32_t>(bytes.data() + at); }
uint64_t U64(Bytes bytes, uint64_t at) { return LoadLittle<uint64_t>(bytes.data() + at); }

// The record at the very end, which may be followed by a comment that it gives the length of.
std::optional<uint64_t> FindEnd(Bytes file) {
  for (uint64_t comment = 0; comment <= 0xFFFF && kEndBytes + comment <= file.size(); ++comment) {
    const uint64_t at = file.size() - kEndBytes - comment;
    if (U32(file, at) == kEndMagic && U16(file, at + 20) == comment) return at;
  }
  return std::nullopt;
}

Result<Directory> FindDirectory(Bytes file) {
  const auto end = FindEnd(file);
  if (!end) return BadArchive("it has no end");
  Directory directory{U16(file, *end + 10), U32(file, *end + 12), U32(file, *end + 16)};
  if (*end >= kLocatorBytes && U32(file, *end - kLocatorBytes) == kLocatorMagic) {
    const uint64_t at = U64(file, *end - kLocatorBytes + 8);
    if (!RangeFits(at, kEnd64Bytes, file.size()) || U32(file, at) != kEnd64Magic) {
      return BadArchive("it has no end of 64 bits where it says");
    }
    directory = {U64(file, at + 32), U64(file, at + 40), U64(file, at + 48)};
  }
  if (!RangeFits(directory.offset, directory.bytes, file.size())) {
    return BadArchive("its directory lies outside the file");
  }
  if (directory.members > kMaxMembers) return BadArchive("it has more than 2^20 members");
  return directory;
}

// Numbers that do not fit an entry stand in this order in a field behind its name.
Status ReadExtra(Bytes extra, Member* member) {
  constexpr uint16_t kZip64 = 1;
  while (extra.size() >= 4) {
    const uint16_t id = U16(extra, 0);
    const uint16_t length = U16(extra, 2);
    if (length > extra.size() - 4) break;
    Bytes field = extra.subspan(4, length);
    extra = extra.subspan(4 + length);
    if (id != kZip64) continue;
    for (uint64_t* number : {&member->bytes, &member->packed_bytes, &member->offset}) {
      if (*number != kIn64) continue;
      if (field.size() < sizeof(uint64_t)) return BadArchive("a field of 64 bits is cut short");
      *number = U64(field, 0);
      field = field.subspan(sizeof(uint64_t));
    }
    return {};
  }
  return {};
}

// Takes the next entry off the directory.
Result<Member> TakeMember(Bytes* directory) {
  constexpr uint16_t kEncrypted = 1;
  const Bytes entry = *directory;
  if (entry.size() < kEntryBytes || U32(entry, 0) != kEntryMagic) {
    return BadArchive("an entry of its directory is missing");
  }
  const uint64_t name = U16(entry, 28);
  const uint64_t extra = U16(entry, 30);
  const uint64_t whole = kEntryBytes + name + extra + U16(entry, 32);
  if (whole > entry.size()) return BadArchive("an entry of its directory is cut short");
  Member member;
  member.name = {reinterpret_cast<const char*>(entry.data()) + kEntryBytes, name};
  member.packed_bytes = U32(entry, 20);
  member.bytes = U32(entry, 24);
  member.offset = U32(entry, 42);
  STI_RETURN_IF_ERROR(ReadExtra(entry.subspan(kEntryBytes + name, extra), &member));
  if (U16(entry, 10) != 0 || (U16(entry, 8) & kEncrypted) != 0) {
    return ForeignError("member " + std::string(member.name) +
                        " is packed or encrypted; save the weights as safetensors");
  }
  if (member.bytes != member.packed_bytes) return BadArchive("a stored member has two sizes");
  *directory = entry.subspan(whole);
  return member;
}

Result<Bytes> BytesOfMember(Bytes file, const Member& member) {
  if (!RangeFits(member.offset, kLocalBytes, file.size()) ||
      U32(file, member.offset) != kLocalMagic) {
    return BadArchive("a member does not begin where it should");
  }
  const uint64_t begin =
      member.offset + kLocalBytes + U16(file, member.offset + 26) + U16(file, member.offset + 28);
  if (!RangeFits(begin, member.bytes, file.size()))
    return BadArchive("a member lies outside the file");
  return file.subspan(begin, member.bytes);
}

}  // namespace

Result<ZipMembers> ReadZip(std::span<const uint8_t> file) {
  STI_ASSIGN_OR_RETURN(const Directory directory, FindDirectory(file));
  Bytes entries = file.subspan(directory.offset, directory.bytes);
  ZipMembers members;
  for (uint64_t i = 0; i < directory.members; ++i) {
    STI_ASSIGN_OR_RETURN(const Member member, TakeMember(&entries));
    STI_ASSIGN_OR_RETURN(const Bytes bytes, BytesOfMember(file, member));
    if (!members.emplace(member.name, bytes).second) return BadArchive("a member stands twice");
  }
  return members;
}

}  // namespace sti
