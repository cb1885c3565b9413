#include "checkpoint.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string_view>

#include "base/atomic_file.h"
#include "base/temporary.h"
#include "base/utf8.h"
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
  return magic.ok() && IsImportancePart(AsBytes(*magic));
}

std::string UnitsDone(const ImportancePart& part) {
  return std::to_string(part.end - part.begin) + " of " + std::to_string(part.due - part.begin) +
         " units are done";
}

// As AtomicFile names them, by other letters in older versions.
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
  tool_.Explain(from_ + ": " + UnitsDone(part));
  return std::optional(std::move(part));
}

std::optional<ImportancePart> Checkpoint::LoadProgress() {
  if (path_.empty() || !IsFile(path_)) return std::nullopt;
  if (!HoldsPart(path_)) {
    tool_.Explain(path_ + ": no progress of an earlier run, and replaced");
    return std::nullopt;
  }
  from_ = path_;
  auto part = ReadImportancePart(path_);
  if (part.ok()) {
    tool_.Explain(path_ + ": " + UnitsDone(*part));
    return *std::move(part);
  }
  Replace(part.error());
  return std::nullopt;
}

void Checkpoint::Replace(Error why) const {
  why.remedy = {};
  tool_.Warn(LineFor(why) + "; it is replaced");
}

void Checkpoint::TellProgress(const ImportancePart& part) const {
  tool_.Say(path_ + ": " + UnitsDone(part) + "; the same command goes on from there");
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
  if (written.ok() && stopping && StopSignal() == SIGINT) TellProgress(part);
  if (written.ok() || warned_) return;
  warned_ = true;
  tool_.Warn(LineFor(written.error()) + "; the work goes on, but --resume would begin earlier");
}

void Checkpoint::Remove() {
  std::error_code failed;
  if (!path_.empty() && IsFile(path_)) std::filesystem::remove(path_, failed);
}

// A killed run of an older version may have been writing its progress or its result. Such a name
// alone is too weak a reason to remove a file: it must also be empty, or begin as what is written
// here.
void Checkpoint::RemoveTemporaries() const {
  const std::filesystem::path output(output_);
  const std::string name = output.filename().string();
  const auto folder = output.has_parent_path() ? output.parent_path() : std::filesystem::path(".");
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    const std::string other = entry.path().filename().string();
    if (!IsTemporaryOf(name, other) && !IsTemporaryOf(name + ".resume", other)) continue;
    if (IsFile(entry.path()) && IsOurs(entry.path())) RemoveUnlessHeld(entry.path());
  }
}

}  // namespace sti
