#include "base/temporary.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/utf8.h"

namespace sti {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kInfix = ".tmp";
constexpr size_t kHalf = 3;
constexpr size_t kSuffix = kInfix.size() + 2 * kHalf;

struct Beside {
  std::string folder;  ///< with its slash; empty: the working folder
  std::string name;
};

Beside Split(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash + 1), path.substr(slash + 1)};
}

// Three letters or digits.
std::string Spell(uint64_t number) {
  constexpr std::string_view kDigits =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string text;
  for (size_t i = 0; i < kHalf; ++i, number /= kDigits.size())
    text += kDigits[number % kDigits.size()];
  return text;
}

uint64_t RandomNumber() {
  uint64_t number = 0;
  if (::getrandom(&number, sizeof(number), GRND_NONBLOCK) == sizeof(number)) return number;
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_nsec) * 1'000'003 + static_cast<uint64_t>(::getpid());
}

// Spells the digest that a random part goes with.
std::string DigestOf(const std::string& name, const std::string& random) {
  const std::string text = name + "/" + random;
  return Spell(Checksum(AsBytes(text)));
}

// The beginning of a temporary's name: whole characters of UTF-8, as some file systems want them.
std::string Prefix(const std::string& name) {
  size_t bytes = std::min(name.size(), size_t{NAME_MAX} - kSuffix);
  while (bytes > 0 && bytes < name.size() && (name[bytes] & 0xc0) == 0x80) --bytes;
  return name.substr(0, bytes) + std::string(kInfix);
}

// Removes a file, or a folder that has no folders. Async-signal-safe.
void Remove(const char* path) {
  if (::unlink(path) == 0 || errno == ENOENT) return;
  const int fd = ::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  // As the kernel writes them: the C library's functions take memory.
  alignas(dirent64) char entries[4096];
  for (;;) {
    const long bytes = ::syscall(SYS_getdents64, fd, entries, sizeof(entries));
    if (bytes <= 0) break;
    for (long at = 0; at < bytes;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      ::unlinkat(fd, entry->d_name, 0);
      at += entry->d_reclen;
    }
  }
  ::close(fd);
  ::rmdir(path);
}

// More at once than any tool writes.
std::array<std::atomic<char*>, 16> g_doomed;

}  // namespace

Result<std::string> FollowLinks(const std::string& path) {
  std::string at = path;
  for (int links = 0; links < 40; ++links) {
    std::array<char, PATH_MAX> target;
    const ssize_t bytes = ::readlink(at.c_str(), target.data(), target.size());
    if (bytes < 0) return at;  // no link, or nothing there yet
    std::string next(target.data(), static_cast<size_t>(bytes));
    at = next.starts_with('/') ? next : Split(at).folder + next;
  }
  return UsageError("is a symbolic link to itself; name a file to write").At(path);
}

mode_t ModeFor(const std::string& path, mode_t usual) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) return info.st_mode & 0777;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return usual & ~mask;
}

std::string TemporaryNameFor(const std::string& path) {
  const Beside beside = Split(path);
  const std::string random = Spell(RandomNumber());
  return beside.folder + Prefix(beside.name) + random + DigestOf(beside.name, random);
}

int MakeTemporary(const std::string& path, const std::function<int(const std::string&)>& make,
                  std::string* name, DoomedPath* doomed) {
  constexpr int kAttempts = 100;
  int error = EEXIST;
  for (int attempt = 0; attempt < kAttempts && error == EEXIST; ++attempt) {
    *name = TemporaryNameFor(path);
    *doomed = DoomedPath(*name);
    error = make(*name);
    if (error == 0) return 0;
    name->clear();
    *doomed = {};
  }
  return error;
}

bool HoldTemporary(int fd) {
  // A file system without locks has no leftovers removed either.
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  struct stat info {};
  return ::fstat(fd, &info) == 0 && info.st_nlink > 0;
}

bool RemoveUnlessHeld(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT;
  struct stat info {};
  const bool known = ::fstat(fd, &info) == 0 && info.st_uid == ::geteuid() &&
                     (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode));
  if (known && ::flock(fd, LOCK_EX | LOCK_NB) == 0) Remove(path.c_str());
  ::close(fd);
  return ::access(path.c_str(), F_OK) != 0;
}

void RemoveLeftoversOf(const std::string& path) {
  const Beside beside = Split(path);
  const std::string prefix = Prefix(beside.name);
  std::vector<std::string> leftovers;
  std::error_code failed;
  const fs::path folder(beside.folder.empty() ? "." : beside.folder);
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename().string();
    if (name.size() != prefix.size() + 2 * kHalf || !name.starts_with(prefix)) continue;
    const std::string random = name.substr(prefix.size(), kHalf);
    if (name.ends_with(DigestOf(beside.name, random))) leftovers.push_back(beside.folder + name);
  }
  for (const std::string& leftover : leftovers) RemoveUnlessHeld(leftover);
}

DoomedPath::DoomedPath(const std::string& path) {
  auto copy = std::make_unique<char[]>(path.size() + 1);
  std::memcpy(copy.get(), path.c_str(), path.size() + 1);
  for (size_t i = 0; i < g_doomed.size(); ++i) {
    char* none = nullptr;
    if (!g_doomed[i].compare_exchange_strong(none, copy.get())) continue;
    copy.release();
    slot_ = static_cast<int>(i);
    return;
  }
}

DoomedPath::DoomedPath(DoomedPath&& other) noexcept : slot_(std::exchange(other.slot_, -1)) {}

DoomedPath& DoomedPath::operator=(DoomedPath&& other) noexcept {
  std::swap(slot_, other.slot_);
  return *this;
}

DoomedPath::~DoomedPath() {
  if (slot_ < 0) return;
  // Null once a handler has it, which may still read the name: the process is at its end.
  delete[] g_doomed[static_cast<size_t>(slot_)].exchange(nullptr);
}

void RemoveTemporaries() {
  static_assert(std::atomic<char*>::is_always_lock_free);
  for (std::atomic<char*>& slot : g_doomed) {
    if (const char* path = slot.exchange(nullptr)) Remove(path);
  }
}

}  // namespace sti
