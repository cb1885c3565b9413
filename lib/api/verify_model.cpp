#include "api/verify_model.h"

#include <algorithm>

#include "text/model_tokenizer.h"

namespace sti {

Result<VerifyReport> VerifyModel(ContainerFile& file, const ProgressSink& progress) {
  STI_ASSIGN_OR_RETURN(VerifyReport report, VerifyContainer(file, progress));
  if (!file.index().HasText()) return report;
  const auto tokenizer = LoadTokenizer(file);
  if (tokenizer.ok()) return report;
  const Error& error = tokenizer.error();
  if (!BlamesData(error.kind)) return error;
  // A text that could not be read is in the report already.
  const bool known =
      std::any_of(report.damaged.begin(), report.damaged.end(),
                  [&](const Error& damage) { return damage.Message() == error.Message(); });
  if (!known) report.damaged.push_back(error);
  return report;
}

}  // namespace sti
