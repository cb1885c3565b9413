#include "checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/atomic_file.h"
#include "common/files.h"
#include "common/remedies.h"
#include "format/framed_file.h"
#include "format/importance_part_file.h"

namespace sti {
namespace {

bool Exists(const std::string& path) {
  std::error_code failed;
  return std::filesystem::exists(path, failed);
}

bool IsFile(const std::filesystem::path& path) {
  std::error_code failed;
  return std::filesystem::is_regular_file(std::filesystem::symlink_status(path, failed));
}

// Whether a finished part is there: only its first bytes are looked at.
bool HoldsPart(const std::string& path) {
  const auto magic = ReadFilePrefix(path, 8);
  return magic.ok() &&
         IsImportancePart({reinterpret_cast<const uint8_t*>(magic->data()), magic->size()});
}

// As AtomicFile names them.
bool IsTemporaryOf(const std::string& name, const std::string& other) {
  const std::string prefix = name + ".tmp";
  return other.size() == prefix.size() + 6 && other.starts_with(prefix);
}

// Whether a file is empty, or begins as a part or an importance does, in either spelling.
bool IsOurs(const std::string& path) {
  constexpr std::string_view kJson = "{\n  \"model\": \"";
  const auto start = ReadFilePrefix(path, kJson.size());
  if (!start.ok()) return false;
  return start->empty() || start->starts_with(kImportancePartMagic) ||
         start->starts_with(kImportanceMagic) || *start == kJson;
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
  tool_.Warn(LineFor(written.error()) + "; the work goes on, but --resume would begin earlier");
}

void Checkpoint::Remove() {
  std::error_code failed;
  if (!path_.empty() && IsFile(path_)) std::filesystem::remove(path_, failed);
}

// A killed run may have been writing its progress or its result. The name alone is too weak a
// reason to remove a file: it must also be empty, or begin as what is written here.
void Checkpoint::RemoveTemporaries() const {
  const std::filesystem::path output(output_);
  const std::string name = output.filename().string();
  const auto folder = output.has_parent_path() ? output.parent_path() : std::filesystem::path(".");
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    const std::string other = entry.path().filename().string();
    if (!IsTemporaryOf(name, other) && !IsTemporaryOf(name + ".resume", other)) continue;
    if (IsFile(entry.path()) && IsOurs(entry.path())) {
      std::filesystem::remove(entry.path(), failed);
    }
  }
}

}  // namespace sti
