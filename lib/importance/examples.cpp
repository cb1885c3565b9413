#include "importance/examples.h"

#include <algorithm>

#include "types/cascade.h"

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
    batch.words.insert(batch.words.end(), encoding.words.begin(), encoding.words.end());
    batch.offsets.push_back(static_cast<uint32_t>(batch.ids.size()));
    batch.truths.push_back(example.Truth());
  }
  return batches;
}

void DropTruths(std::span<ExampleBatch> batches) {
  for (ExampleBatch& batch : batches) {
    std::fill(batch.truths.begin(), batch.truths.end(), std::nullopt);
  }
}

ExampleBatch KeptOf(const ExampleBatch& batch, const std::vector<bool>& kept) {
  ExampleBatch rest;
  rest.ids = Kept(batch.ids, kept);
  rest.types = Kept(batch.types, kept);
  rest.words = Kept(batch.words, kept);
  rest.truths = batch.truths;
  uint32_t tokens = 0;
  rest.offsets.push_back(0);
  for (uint32_t t = 0, s = 0; t < kept.size(); ++t) {
    tokens += kept[t] ? 1 : 0;
    if (t + 1 < batch.offsets[s + 1]) continue;
    rest.offsets.push_back(tokens);
    ++s;
  }
  return rest;
}

Digest DigestOf(std::span<const ExampleBatch> batches) {
  Digester digester;
  for (const ExampleBatch& batch : batches) {
    for (size_t s = 0; s < batch.truths.size(); ++s) {
      digester.AddNumber(batch.offsets[s + 1] - batch.offsets[s]);
      for (uint32_t t = batch.offsets[s]; t < batch.offsets[s + 1]; ++t) {
        digester.AddNumber(uint64_t{batch.types[t]} << 32 | batch.ids[t]);
      }
      const auto& truth = batch.truths[s];
      digester.AddNumber(truth ? truth->size() + 1 : 0);
      for (const uint32_t label : truth.value_or(std::vector<uint32_t>{})) {
        digester.AddNumber(label);
      }
    }
  }
  return digester.Finish();
}

LengthRange LengthsOf(std::span<const ExampleBatch> batches) {
  LengthRange range;
  for (const ExampleBatch& batch : batches) {
    for (size_t s = 0; s + 1 < batch.offsets.size(); ++s) {
      const uint32_t length = batch.offsets[s + 1] - batch.offsets[s];
      range.shortest = std::min(range.shortest, length);
      range.longest = std::max(range.longest, length);
    }
  }
  return range;
}

}  // namespace sti
