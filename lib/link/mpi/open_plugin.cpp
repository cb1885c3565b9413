#include <dlfcn.h>

#include "link/mpi/plugin.h"

namespace sti {

// MPI opens parts of its own, which look for its names among all that the process has.
Result<const MpiPlugin*> OpenMpiPlugin(const std::string& path) {
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    const char* const why = ::dlerror();
    return MachineError("cannot open the plug-in for MPI (" + OneLine(why == nullptr ? path : why) +
                        ")");
  }
  const auto get = reinterpret_cast<GetMpiPlugin>(::dlsym(library, kMpiPluginName));
  const MpiPlugin* const plugin = get == nullptr ? nullptr : get();
  if (plugin == nullptr || plugin->version != kMpiPluginVersion) {
    return ForeignError("the plug-in for MPI is of another version; install that of this one")
        .At(OneLine(path));
  }
  return plugin;
}

}  // namespace sti
