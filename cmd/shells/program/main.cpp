// write-completion: writes the files from which bash, zsh and fish complete the tools, into folders
// of a shell each. It runs while the tools are built, and links what declares their options, so
// that no tool carries it.
#include <cstdio>
#include <fstream>
#include <string>

#include "common/tool.h"
#include "shells/completion.h"
#include "sti-importance/options.h"
#include "sti-inspect/options.h"
#include "sti-plan/options.h"
#include "sti-profile/options.h"
#include "sti-run/options.h"
#include "sti-shard/options.h"

namespace sti {
namespace {

bool WriteText(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) std::fprintf(stderr, "write-completion: cannot write %s\n", path.c_str());
  return !file.fail();
}

// The names are those by which each shell finds the file of a tool.
template <typename Options>
bool Write(const std::string& folder, const char* tool, void (*add)(CLI::App&, Options&)) {
  Tool frame(tool, "", "");
  Options options;
  add(frame.app(), options);
  const CompletedCommand command = CompletedCommandOf(frame.app());
  return WriteText(folder + "/bash/" + tool, BashCompletion(command)) &&
         WriteText(folder + "/zsh/_" + tool, ZshCompletion(command)) &&
         WriteText(folder + "/fish/" + tool + ".fish", FishCompletion(command));
}

bool WriteAll(const std::string& folder) {
  return Write(folder, "sti-shard", AddShardToolOptions) &&
         Write(folder, "sti-importance", AddImportanceOptions) &&
         Write(folder, "sti-profile", AddProfileToolOptions) &&
         Write(folder, "sti-plan", AddPlanOptions) && Write(folder, "sti-run", AddRunOptions) &&
         Write(folder, "sti-inspect", AddInspectOptions);
}

}  // namespace
}  // namespace sti

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: write-completion FOLDER    with bash/, zsh/ and fish/ in it\n", stderr);
    return 2;
  }
  return sti::WriteAll(argv[1]) ? 0 : 1;
}
