#include "importance/examples.h"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "types/cascade.h"

namespace sti {

namespace {

void Append(const Encoding& encoding, ExampleBatch* batch) {
  batch->ids.insert(batch->ids.end(), encoding.ids.begin(), encoding.ids.end());
  batch->types.insert(batch->types.end(), encoding.types.begin(), encoding.types.end());
  batch->words.insert(batch->words.end(), encoding.words.begin(), encoding.words.end());
  batch->offsets.push_back(static_cast<uint32_t>(batch->ids.size()));
  batch->truths.emplace_back();
}

// Makes batches of the sequences that it is given.
class Batcher {
 public:
  explicit Batcher(uint32_t max_tokens) : max_tokens_(max_tokens) {}

  /// Adds sequences that stay together, and returns the batch that they are in.
  ExampleBatch& Add(std::initializer_list<Encoding> sequences) {
    size_t tokens = 0;
    for (const Encoding& sequence : sequences) tokens += sequence.ids.size();
    const bool full = !batches_.empty() && batches_.back().ids.size() + tokens > max_tokens_;
    if (batches_.empty() || full) {
      batches_.emplace_back();
      batches_.back().offsets.push_back(0);
    }
    for (const Encoding& sequence : sequences) Append(sequence, &batches_.back());
    return batches_.back();
  }
  std::vector<ExampleBatch> Take() { return std::move(batches_); }

 private:
  uint32_t max_tokens_;
  std::vector<ExampleBatch> batches_;
};

// Makes batches of texts whose tokens a model labels. By reference nothing is known of their words.
std::vector<ExampleBatch> BatchWords(const Tokenizer& tokenizer, std::span<const Example> examples,
                                     const TagScheme& tags, bool by_reference, uint32_t max_length,
                                     uint32_t max_tokens) {
  Batcher batcher(max_tokens);
  const auto add_untagged = [&](std::string_view text) {
    Encoding encoding = tokenizer.Encode(text, std::nullopt, max_length);
    tokenizer.MarkContinuations(text, &encoding);
    batcher.Add({encoding}).word_truths.push_back(UntaggedWordsOf(encoding));
  };
  for (const Example& example : examples) {
    if (by_reference) {
      add_untagged(example.text);
      if (example.pair) add_untagged(*example.pair);
    } else {
      const Encoding encoding = tokenizer.Encode(example.text, std::nullopt, max_length);
      batcher.Add({encoding}).word_truths.push_back(WordTruthOf(tags, encoding, *example.tagged));
    }
  }
  return batcher.Take();
}

void AddTo(Digester& digester, const WordTruth& truth) {
  digester.AddNumber(truth.rows.size());
  for (const auto& row : truth.rows) digester.AddNumber(row ? *row + 1 : 0);
  for (const auto& label : truth.labels) digester.AddNumber(label ? *label + 1 : 0);
  digester.AddNumber(truth.spans.size());
  for (const WordSpan& span : truth.spans) {
    digester.AddNumber(span.kind);
    digester.AddNumber(uint64_t{span.begin} << 32 | span.end);
  }
}

}  // namespace

std::vector<ExampleBatch> BatchExamples(const Tokenizer& tokenizer,
                                        std::span<const Example> examples, Metric metric,
                                        uint32_t max_length, uint32_t max_tokens,
                                        const std::optional<TagScheme>& tags) {
  const MetricTraits& traits = TraitsOf(metric);
  if (tags)
    return BatchWords(tokenizer, examples, *tags, traits.by_reference, max_length, max_tokens);
  Batcher batcher(max_tokens);
  for (const Example& example : examples) {
    if (!traits.for_embeddings) {
      ExampleBatch& batch = batcher.Add({tokenizer.Encode(example.text, example.pair, max_length)});
      if (!traits.by_reference) batch.truths.back() = example.Truth();
      continue;
    }
    const Encoding first = tokenizer.Encode(example.text, std::nullopt, max_length);
    if (!example.pair) {
      batcher.Add({first});
      continue;
    }
    const Encoding second = tokenizer.Encode(*example.pair, std::nullopt, max_length);
    if (traits.by_reference) {
      batcher.Add({first});
      batcher.Add({second});
    } else {
      batcher.Add({first, second}).scores.push_back(*example.score);
    }
  }
  return batcher.Take();
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
      if (!batch.word_truths.empty()) AddTo(digester, batch.word_truths[s]);
      const bool ends_pair = !batch.scores.empty() && s % 2 == 1;
      if (ends_pair) digester.AddNumber(std::bit_cast<uint64_t>(batch.scores[s / 2]));
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
    }
    for (uint32_t e = 0; e < batch.examples(); ++e)
      range.longest = std::max(range.longest, batch.TokensOf(e));
  }
  return range;
}

}  // namespace sti
