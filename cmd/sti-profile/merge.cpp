#include "merge.h"

#include <cstdio>
#include <utility>
#include <vector>

#include "common/files.h"
#include "common/outputs.h"
#include "format/profile_file.h"
#include "profile/profile_join.h"

namespace sti {

Status WriteAndPrint(const Tool& tool, const ProfileToolOptions& options,
                     const DeviceProfile& profile) {
  STI_RETURN_IF_ERROR(WriteProfile(options.output, profile));
  if (tool.json() && options.output != "-") std::fputs(ProfileToJson(profile).c_str(), stdout);
  return {};
}

Result<int> Merge(const Tool& tool, const ProfileToolOptions& options) {
  std::vector<NamedProfile> profiles;
  profiles.reserve(options.merge_files.size());
  for (const std::string& path : options.merge_files) {
    STI_RETURN_IF_ERROR(CheckKeepsInput({"-o", options.output}, path, "one of the profiles"));
    STI_ASSIGN_OR_RETURN(DeviceProfile profile, ReadProfile(path, tool));
    profiles.push_back({path, std::move(profile)});
  }
  STI_ASSIGN_OR_RETURN(const DeviceProfile joined, JoinProfiles(profiles));
  STI_RETURN_IF_ERROR(WriteAndPrint(tool, options, joined));
  return 0;
}

}  // namespace sti
