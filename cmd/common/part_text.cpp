#include "common/part_text.h"

namespace sti {

std::string DescribeImportancePart(const ImportancePart& part) {
  const std::string missing =
      part.end == part.due ? "" : ", unfinished: " + std::to_string(part.due - part.end) + " to do";
  const std::string units = part.begin == part.end ? "no units"
                                                   : "units " + std::to_string(part.begin + 1) +
                                                         " to " + std::to_string(part.end);
  return "part " + std::to_string(part.part) + "/" + std::to_string(part.parts) +
         " of an importance: " + units + " of " + std::to_string(part.job.units) + missing;
}

std::string ImportancePartText(const ImportancePart& part) {
  const ImportanceJob& job = part.job;
  std::string more;
  if (job.gains) more += ", with gains";
  if (!job.submodels.empty()) more += ", with submodels";
  return DescribeImportancePart(part) + "\nmodel    " + job.model.Hex() + "\ndata     " +
         job.data.Hex() + ", " + std::to_string(job.examples) + " examples\nmetric   " +
         job.metric + more + "\nkernel   " + job.kernel + "\n";
}

}  // namespace sti
