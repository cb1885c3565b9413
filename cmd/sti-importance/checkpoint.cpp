#include "checkpoint.h"

#include <algorithm>
#include <filesystem>

#include "base/atomic_file.h"
#include "common/files.h"
#include "format/importance_part_file.h"

namespace sti {
namespace {

bool Exists(const std::string& path) {
  std::error_code failed;
  return std::filesystem::exists(path, failed);
}

// Whether a finished part is there: only its first bytes are looked at.
bool HoldsPart(const std::string& path) {
  const auto magic = ReadFilePrefix(path, 8);
  return magic.ok() &&
         IsImportancePart({reinterpret_cast<const uint8_t*>(magic->data()), magic->size()});
}

}  // namespace

Checkpoint::Checkpoint(const Tool& tool, const std::string& output)
    : tool_(tool), output_(output), path_(output == "-" ? "" : output + ".resume") {}

Result<std::optional<ImportancePart>> Checkpoint::Load() {
  RemoveTemporaries();
  from_ = path_;
  if (!Exists(path_)) {
    if (!HoldsPart(output_)) {
      tool_.Explain(path_ + ": not there, so the work begins at its beginning");
      return std::optional<ImportancePart>();
    }
    from_ = output_;
  }
  STI_ASSIGN_OR_RETURN(ImportancePart part, ReadImportancePart(from_));
  tool_.Explain(from_ + ": " + std::to_string(part.end - part.begin) + " of " +
                std::to_string(part.due - part.begin) + " units are done");
  return std::optional(std::move(part));
}

void Checkpoint::Ignore() const {
  if (!path_.empty() && Exists(path_)) {
    tool_.Explain(path_ + ": left by an earlier run, and replaced; --resume would go on with it");
  }
}

void Checkpoint::Save(const ImportancePart& part, bool stopping) {
  using std::chrono::milliseconds;
  if (path_.empty()) return;
  const auto now = Clock::now();
  const auto pause =
      std::clamp<Clock::duration>((now - begin_) / 20, milliseconds(100), milliseconds(1000));
  if (!stopping && (now - saved_ < pause || part.end == part.due)) return;
  saved_ = now;
  const Status written = WriteImportancePart(path_, part);
  if (written.ok() || warned_) return;
  warned_ = true;
  tool_.Warn(written.error().message + "; the work goes on, but --resume would begin earlier");
}

void Checkpoint::Remove() {
  std::error_code failed;
  if (!path_.empty()) std::filesystem::remove(path_, failed);
}

// A killed run may have been writing.
void Checkpoint::RemoveTemporaries() const {
  const std::filesystem::path path(path_);
  const std::string prefix = path.filename().string() + ".tmp";
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename().string();
    const bool temporary = name.size() == prefix.size() + 6 && name.rfind(prefix, 0) == 0;
    if (temporary) std::filesystem::remove(entry.path(), failed);
  }
}

}  // namespace sti
