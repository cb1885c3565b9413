#include "show.h"

#include <cstdio>

#include "common/files.h"
#include "common/heat_map.h"
#include "format/importance_file.h"

namespace sti {

Result<int> Show(const Tool& tool, const ImportanceToolOptions& options) {
  STI_ASSIGN_OR_RETURN(Importance importance, ReadImportance(options.show_file));
  if (!options.svg.empty()) STI_RETURN_IF_ERROR(WriteHeatMapSvg(options.svg, importance));
  if (tool.json()) {
    std::fputs(ImportanceToJson(importance).c_str(), stdout);
  } else {
    std::fputs(HeatMap(importance).c_str(), stdout);
  }
  return 0;
}

}  // namespace sti
