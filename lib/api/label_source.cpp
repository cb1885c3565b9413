#include "api/label_source.h"

#include <cstdint>
#include <span>
#include <utility>

#include "base/utf8.h"
#include "format/label_vectors_file.h"
#include "io/container_file.h"
#include "score/nearest.h"

namespace sti {
namespace {

// Returns an error of embedding an example, which it names if it is at fault.
Error About(const Error& error, size_t example) {
  if (!BlamesData(error.kind)) return error;
  Error about = error;
  about.source = Source::kNone;
  return std::move(about).At("example " + std::to_string(example + 1));
}

}  // namespace

Result<LabelSource> ParseLabelSource(std::string_view content, const std::string& name,
                                     const ColumnChoice& columns, const LogSink& log) {
  LabelSource source;
  if (IsLabelVectors(AsBytes(content))) {
    STI_ASSIGN_OR_RETURN(source.vectors, ParseLabelVectors(AsBytes(content), name));
  } else {
    STI_ASSIGN_OR_RETURN(source.rows, ParseLabelledRows(content, name, columns, log));
  }
  return source;
}

Status TakeKept(std::string_view kept, const std::string& name, LabelSource* source) {
  if (!IsLabelVectors(AsBytes(kept)))
    return ForeignError("is there and holds no label vectors; name another file").At(name);
  STI_ASSIGN_OR_RETURN(LabelVectors vectors, ParseLabelVectors(AsBytes(kept), name));
  if (vectors.data != DigestOfRows(source->rows.examples, source->rows.labels)) {
    return ForeignError("keeps other examples than these; remove it, or name another file")
        .At(name);
  }
  source->vectors = std::move(vectors);
  return {};
}

Result<LabelVectors> EmbedExamples(Session& session, const LabelledRows& rows,
                                   const ProgressSink& progress, const CancelCheck& cancelled) {
  if (!session.info().embeds())
    return ForeignError("examples are for a model that embeds, and this one gives labels");
  if (rows.labels.size() < 2)
    return DataError("all examples have one label; give those of two at least");
  LabelMeans means(rows.labels.size(), session.dimensions());
  RunResult run;
  for (size_t i = 0; i < rows.examples.size(); ++i) {
    if (cancelled && cancelled()) return CancelledError();
    const Status embedded =
        session.EmbedExample(rows.examples[i].text, rows.examples[i].pair, &run);
    if (!embedded.ok()) return About(embedded.error(), i);
    means.Add(*rows.examples[i].label, run.values);
    if (progress) progress(i + 1, rows.examples.size());
  }
  STI_RETURN_IF_ERROR(session.EndEngagement());
  LabelVectors vectors;
  vectors.model = session.status().file->index().model;
  vectors.submodel = SubmodelDigest(session.plan());
  vectors.data = DigestOfRows(rows.examples, rows.labels);
  vectors.prefix = session.prefix();
  vectors.labels = rows.labels;
  STI_RETURN_IF_ERROR(means.Finish(&vectors));
  const std::string problem = ProblemOfLabelVectors(vectors);
  if (!problem.empty()) return DataError(problem);
  return vectors;
}

}  // namespace sti
