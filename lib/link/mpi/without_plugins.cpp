// Stands in for what opens plug-ins in static tools, which open no other library.
#include "link/mpi/plugin.h"

namespace sti {

Result<const MpiPlugin*> OpenMpiPlugin(const std::string& /*path*/) {
  return UsageError("this program is static and opens no plug-in for MPI; use one that is not");
}

}  // namespace sti
