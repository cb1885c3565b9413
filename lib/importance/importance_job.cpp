#include "importance/importance_job.h"

#include <algorithm>

#include "base/remedy.h"
#include "importance/word_use.h"

namespace sti {

Status CheckRequest(const ContainerFile& file, std::span<const Example> examples,
                    const ImportanceOptions& options) {
  if (file.index().bits.size() < 2) {
    return DataError("has one bitwidth only, so no shard can be raised")
        .At(file.name())
        .Fix(Remedy::kStoreMoreBits);
  }
  if (examples.empty()) return DataError("no examples to measure on");
  const bool labelled = std::all_of(examples.begin(), examples.end(), [](const Example& example) {
    return example.Truth().has_value();
  });
  if (!labelled && options.metric != Metric::kKl) {
    return DataError("some examples have no label; add them, or measure with kl");
  }
  return {};
}

std::vector<uint32_t> RaisedBits(const ContainerIndex& index, bool gains) {
  const std::vector<uint32_t>& bits = index.bits;
  return {gains ? bits.begin() + 1 : bits.end() - 1, bits.end()};
}

ImportanceJob JobOf(const ContainerIndex& index, std::span<const ExampleBatch> batches,
                    const ImportanceOptions& options, const std::string& kernel) {
  ImportanceJob job;
  job.model = index.model;
  job.data = DigestOf(batches);
  job.metric = MetricName(options.metric);
  job.kernel = kernel;
  job.layers = index.info.shape.layers;
  job.width = index.info.shape.width;
  job.gains = options.gains;
  for (const ExampleBatch& batch : batches) job.examples += batch.truths.size();
  job.units = 1;
  job.base_bits = index.bits.front();
  job.raised_bits = RaisedBits(index, options.gains);
  job.word_use = MeasureWordUse(index, batches);
  return job;
}

}  // namespace sti
