#include "nearest.h"

#include <filesystem>
#include <memory>
#include <utility>

#include "base/atomic_file.h"
#include "common/files.h"
#include "format/framed_file.h"
#include "format/label_vectors_file.h"

namespace sti {
namespace {

// Names the file of examples or vectors in an error that is about them.
Error InFile(const Error& error, const std::string& file) {
  if (error.source != Source::kExamples && !BlamesData(error.kind)) return error;
  Error named = error;
  named.source = Source::kNone;
  return std::move(named).At(file);
}

bool IsThere(const std::string& path) {
  std::error_code failed;
  return std::filesystem::exists(path, failed);
}

// Reads what --nearest names. Vectors have no lines, which bound a data set. A pipe can be looked
// at once, and is taken for one.
Result<std::string> ReadExamples(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) return ReadDatasetText(path);
  const auto start = ReadFilePrefix(path, kLabelVectorsMagic.size());
  return start.ok() && *start == kLabelVectorsMagic ? ReadInput(path) : ReadDatasetText(path);
}

}  // namespace

Result<Nearest> Nearest::Read(const RunOptions& options, const Tool& tool) {
  Nearest nearest(options, tool);
  if (options.nearest.empty()) return nearest;
  nearest.file_ = options.nearest;
  STI_ASSIGN_OR_RETURN(const std::string content, ReadExamples(options.nearest));
  STI_ASSIGN_OR_RETURN(nearest.source_,
                       ParseLabelSource(content, options.nearest, options.columns,
                                        [&tool](const LogLine& line) { tool.Log(line); }));
  if (options.keep.empty()) return nearest;
  if (nearest.source_->vectors)
    return UsageError("--nearest " + options.nearest + " is what --keep wrote; leave --keep out");
  if (!IsThere(options.keep)) return nearest;
  nearest.file_ = options.keep;
  STI_ASSIGN_OR_RETURN(const std::string kept, ReadInput(options.keep));
  STI_RETURN_IF_ERROR(TakeKept(kept, options.keep, &*nearest.source_));
  return nearest;
}

Status Nearest::Embed(Session& session) {
  auto embedded =
      EmbedExamples(session, source_->rows, tool_->Progress("embedding", "example"), StopRequested);
  if (!embedded.ok()) return InFile(embedded.error(), file_);
  source_->vectors = *std::move(embedded);
  if (options_->keep.empty()) return {};
  STI_ASSIGN_OR_RETURN(const auto bytes, EncodeLabelVectors(*source_->vectors));
  return WriteFileAtomically(options_->keep, bytes);
}

Status Nearest::Teach(Session& session) {
  if (!source_) return {};
  if (!source_->vectors) STI_RETURN_IF_ERROR(Embed(session));
  const Status answers =
      session.AnswerBy(std::make_shared<const LabelVectors>(*std::move(source_->vectors)));
  source_.reset();
  return answers.ok() ? answers : Status(InFile(answers.error(), file_));
}

}  // namespace sti
