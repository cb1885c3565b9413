// The plug-in is what of MPI the carrier between ranks calls (link/mpi_carrier.h). It is a library
// of its own, since MPI is large, is on few devices, and is not one: each has its own numbers and
// types behind the same names. What includes mpi.h is in the plug-in, so that nothing else is built
// for one MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace sti {

/// Raised with each change of the table.
inline constexpr uint32_t kMpiPluginVersion = 1;

/// Functions over MPI. One thread makes all calls. Each returns 0, or a number that `describe` has
/// words for. None waits but `join` and `leave`.
struct MpiPlugin {
  uint32_t version;
  /// Joins the ranks that were started together, and says which this process is, and of how many.
  int (*join)(int* rank, int* ranks);
  /// Leaves them: waits until all do.
  int (*leave)();
  /// Begins to send bytes, which stay as they are until the request is done.
  int (*send)(const void* bytes, size_t size, int to, int tag, void** request);
  /// Begins to receive a message of at most `most` bytes.
  int (*receive)(void* bytes, size_t most, int from, int tag, void** request);
  /// Sees whether a request is done, which is null then. `size` is that of what was received.
  int (*test)(void** request, bool* done, size_t* size);
  /// Writes in one line, ended by a 0, what an error is.
  void (*describe)(int error, char* text, size_t most);
};

/// The name of the function that a plug-in has, of this type.
inline constexpr const char* kMpiPluginName = "sti_mpi_plugin";
using GetMpiPlugin = const MpiPlugin* (*)();

/// Opens the plug-in at `path`, for as long as the process lives. MachineError if it cannot be
/// opened, UsageError if this program opens no plug-ins, ForeignError if it is of another version.
Result<const MpiPlugin*> OpenMpiPlugin(const std::string& path);

}  // namespace sti
