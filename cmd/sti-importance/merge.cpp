#include "merge.h"

#include "common/files.h"
#include "common/outputs.h"
#include "importance/importance_join.h"
#include "measure.h"

namespace sti {

Result<int> Merge(const Tool& tool, const ImportanceToolOptions& options) {
  if (options.output.empty()) {
    return UsageError("-o FILE is required; see sti-importance merge --help");
  }
  std::vector<NamedPart> parts;
  parts.reserve(options.merge_parts.size());
  for (const std::string& path : options.merge_parts) {
    STI_RETURN_IF_ERROR(CheckKeepsInput({"-o", options.output}, path, "one of the parts"));
    STI_ASSIGN_OR_RETURN(ImportancePart part, ReadImportancePart(path));
    parts.push_back({path, std::move(part)});
  }
  STI_ASSIGN_OR_RETURN(const Importance importance, JoinImportanceParts(std::move(parts)));
  return WriteAndReport(tool, options, importance);
}

}  // namespace sti
