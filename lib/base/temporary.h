// Temporaries: files and folders beside an output, which become it once they are whole. Their names
// say whose they are and their locks that somebody still writes them, so that what a killed process
// left can be told from everything else and removed.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "base/result.h"

namespace sti {

/// Returns the path that writing to `path` writes to: where symbolic links lead, there or not.
/// Links that lead in a circle are an error.
Result<std::string> FollowLinks(const std::string& path);

/// Returns the permissions of what replaces `path`: those of what is there, or else `usual` without
/// the umask's. It sets and resets the process's umask to read it, so no other thread may make
/// files meanwhile.
mode_t ModeFor(const std::string& path, mode_t usual);

/// Returns a new name beside `path`, at most 255 bytes long as names are: "NAME.tmpXXXXXX", of a
/// long NAME its beginning. Half of the last six characters are random, half a digest of those and
/// NAME: no other file has such a name by chance.
std::string TemporaryNameFor(const std::string& path);

class DoomedPath;

/// Makes a temporary beside `path`: calls `make` with new names until one is free. `make` returns 0
/// once it has made what bears that name, EEXIST to have another name tried, or the errno that ends
/// the attempts. Returns 0, with the name and its guard in `name` and `doomed`, which else are
/// empty, or that errno.
int MakeTemporary(const std::string& path, const std::function<int(const std::string&)>& make,
                  std::string* name, DoomedPath* doomed);

/// Locks a temporary that was just made, for as long as `fd` is open. Returns false if another
/// process has taken it for a leftover meanwhile: it is gone, or about to go.
bool HoldTemporary(int fd);

/// Removes the file or folder without folders in it at `path`, unless it is another user's or a
/// process holds it. Returns whether it is gone.
bool RemoveUnlessHeld(const std::string& path);

/// Removes the temporaries that processes which were killed have left beside `path`.
void RemoveLeftoversOf(const std::string& path);

/// Has RemoveTemporaries remove a path for as long as this lives. One thread at a time.
class DoomedPath {
 public:
  DoomedPath() = default;
  explicit DoomedPath(const std::string& path);
  DoomedPath(DoomedPath&& other) noexcept;
  DoomedPath& operator=(DoomedPath&& other) noexcept;
  ~DoomedPath();

 private:
  int slot_ = -1;  ///< none: too many at once
};

/// Removes the temporaries that this process is writing, as a handler of a signal that ends it has
/// to: async-signal-safe, and the process must end afterwards.
void RemoveTemporaries();

}  // namespace sti
