#include "measure/examples.h"

namespace sti {

std::vector<ExampleBatch> BatchExamples(const Tokenizer& tokenizer,
                                        std::span<const Example> examples, uint32_t max_length,
                                        uint32_t max_tokens) {
  std::vector<ExampleBatch> batches;
  for (const Example& example : examples) {
    Encoding encoding = tokenizer.Encode(example.text, example.pair, max_length);
    bool full = !batches.empty() && batches.back().ids.size() + encoding.ids.size() > max_tokens;
    if (batches.empty() || full) {
      batches.emplace_back();
      batches.back().offsets.push_back(0);
    }
    ExampleBatch& batch = batches.back();
    batch.ids.insert(batch.ids.end(), encoding.ids.begin(), encoding.ids.end());
    batch.types.insert(batch.types.end(), encoding.types.begin(), encoding.types.end());
    batch.offsets.push_back(static_cast<uint32_t>(batch.ids.size()));
    batch.truths.push_back(example.Truth());
  }
  return batches;
}

}  // namespace sti
