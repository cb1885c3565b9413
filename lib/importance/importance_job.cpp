#include "importance/importance_job.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/remedy.h"
#include "base/samples.h"
#include "model/row_store.h"

namespace sti {

namespace {

// Scores put pairs in an order, unless all of them are equal.
Status CheckScores(std::span<const Example> examples) {
  const bool scored = std::ranges::all_of(
      examples, [](const Example& example) { return example.score && example.pair; });
  if (!scored) return DataError("some examples are no pair with a score; add it, or take cosine");
  const bool differ = std::ranges::any_of(
      examples, [&](const Example& example) { return *example.score != *examples[0].score; });
  if (differ) return {};
  return DataError("all examples have the same score, which ranks nothing; add others");
}

// Spans are what words are measured by, so that some have to be true.
Status CheckTags(std::span<const Example> examples) {
  const bool tagged =
      std::ranges::all_of(examples, [](const Example& example) { return !!example.tagged; });
  if (!tagged) return DataError("some examples have no tags; add them, or measure with kl");
  const bool any = std::ranges::any_of(examples, [](const Example& example) {
    return std::ranges::any_of(example.tagged->tags,
                               [](const Tag& tag) { return tag.place != TagPlace::kOutside; });
  });
  if (any) return {};
  return DataError("all words are outside of spans, of which nothing can be found; add others");
}

// Returns the names of the metrics that are for a head.
std::vector<std::string> MetricsFor(HeadOutput output) {
  std::vector<std::string> names;
  for (size_t i = 0; i < std::size(kMetrics); ++i) {
    if (IsFor(static_cast<Metric>(i), output)) names.emplace_back(kMetrics[i].name);
  }
  return names;
}

}  // namespace

Result<std::optional<TagScheme>> TagsOf(const ModelInfo& info) {
  if (!info.labels_tokens()) return std::optional<TagScheme>();
  STI_ASSIGN_OR_RETURN(TagScheme tags, TagScheme::Of(info.labels));
  return std::optional(std::move(tags));
}

Status CheckMetric(const ContainerFile& file, Metric metric) {
  const HeadOutput output = file.index().info.head.output;
  if (IsFor(metric, output)) return {};
  return UsageError("the metric " + std::string(NameOf(metric)) + " is not for models that " +
                    DoingOf(output) + ", as this one does; take " + EitherOf(MetricsFor(output)))
      .At(file.name());
}

Status CheckRequest(const ContainerFile& file, std::span<const Example> examples,
                    const ImportanceOptions& options) {
  STI_RETURN_IF_ERROR(CheckMetric(file, options.metric));
  if (file.index().bits.size() < 2) {
    return DataError("has one bitwidth only, so no shard can be raised")
        .At(file.name())
        .Fix(Remedy::kStoreMoreBits);
  }
  if (examples.empty()) return DataError("no examples to measure on");
  if (TraitsOf(options.metric).by_reference) return {};
  if (options.metric == Metric::kSpearman) return CheckScores(examples);
  if (file.index().info.labels_tokens()) return CheckTags(examples);
  const bool labelled = std::all_of(examples.begin(), examples.end(), [](const Example& example) {
    return example.Truth().has_value();
  });
  if (!labelled) return DataError("some examples have no label; add them, or measure with kl");
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
  job.metric = options.metric;
  job.kernel = kernel;
  job.layers = index.info.shape.layers;
  job.width = index.info.shape.width;
  job.of_spans = index.info.labels_tokens();
  job.gains = options.gains;
  for (const ExampleBatch& batch : batches) {
    job.examples += batch.examples();
    job.scores.insert(job.scores.end(), batch.scores.begin(), batch.scores.end());
  }
  job.units = 1;
  job.base_bits = index.bits.front();
  job.raised_bits = RaisedBits(index, options.gains);
  job.word_use = MeasureWordUse(index, batches);
  return job;
}

namespace {

constexpr uint32_t kLengths[] = {16, 24, 32, 48, 64, 96, 128, 256, 512};
constexpr uint32_t kPreloads[] = {0, 16, 32, 64, 128, 256, 512, 1024};
/// Tokens of the longest text of a plan, for which the memory of rows is made.
constexpr uint32_t kRooms[] = {32, 64, 128, 256, 512};
/// Rarer words are not named: their rows are not worth their bytes.
constexpr size_t kMostWords = kPreloads[std::size(kPreloads) - 1];
/// Texts of one length that are replayed at most, of each half.
constexpr size_t kMostTexts = 500;

using Ids = std::vector<uint32_t>;

/// Returns the examples' tokens, in an order in which neighbours have nothing to do with each
/// other: data sets are often sorted by label.
std::vector<std::span<const uint32_t>> TextsOf(std::span<const ExampleBatch> batches) {
  std::vector<std::span<const uint32_t>> texts;
  for (const ExampleBatch& batch : batches) {
    for (size_t s = 0; s + 1 < batch.offsets.size(); ++s) {
      const std::span<const uint32_t> ids(batch.ids);
      texts.push_back(ids.subspan(batch.offsets[s], batch.offsets[s + 1] - batch.offsets[s]));
    }
  }
  std::vector<std::pair<uint64_t, size_t>> order;  // by a hash of the number
  for (uint64_t i = 0; i < texts.size(); ++i) order.push_back({(i + 1) * 0x9E3779B97F4A7C15U, i});
  std::sort(order.begin(), order.end());
  std::vector<std::span<const uint32_t>> mixed;
  mixed.reserve(texts.size());
  for (const auto& [hash, i] : order) mixed.push_back(texts[i]);
  return mixed;
}

/// Returns the words that at least two texts have, those of most texts first.
Ids FrequentWords(std::span<const std::span<const uint32_t>> texts) {
  std::map<uint32_t, size_t> texts_with;
  Ids words;
  for (const std::span<const uint32_t> text : texts) {
    words.assign(text.begin(), text.end());
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    for (const uint32_t word : words) ++texts_with[word];
  }
  std::vector<std::pair<size_t, uint32_t>> by_count;
  for (const auto& [word, count] : texts_with) {
    if (count >= 2) by_count.push_back({count, word});
  }
  std::sort(by_count.begin(), by_count.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  by_count.resize(std::min(by_count.size(), kMostWords));
  words.clear();
  for (const auto& [count, word] : by_count) words.push_back(word);
  return words;
}

/// Cuts the texts, one behind the other, into texts of `length` tokens, each with the first and the
/// last token that all texts have.
std::vector<Ids> TextsOfLength(std::span<const std::span<const uint32_t>> texts, uint32_t length) {
  std::vector<Ids> cut;
  Ids next;
  for (const std::span<const uint32_t> text : texts) {
    if (text.size() < 2) continue;
    for (const uint32_t id : text.subspan(1, text.size() - 2)) {
      if (next.empty()) next.push_back(text.front());
      next.push_back(id);
      if (next.size() + 1 < length) continue;
      next.push_back(text.back());
      cut.push_back(std::exchange(next, {}));
      if (cut.size() == kMostTexts) return cut;
    }
  }
  return cut;
}

/// One half of the examples, and the words that are frequent in the other.
struct Half {
  std::vector<std::span<const uint32_t>> texts;
  Ids words_of_other;
  std::vector<Ids> cut;  ///< the texts at the length at hand
};

/// Replays the reads of a half's texts, and adds the bytes of each but the first ones, which find
/// less than all that follow.
void Replay(RowStore& store, const Half& half, Samples* bytes) {
  const size_t first = half.cut.size() / 8;
  for (size_t i = 0; i < half.cut.size(); ++i) {
    const auto length = static_cast<uint32_t>(half.cut[i].size());
    const uint64_t read = store.Plan(half.cut[i], length).bytes;
    store.Keep();
    if (i >= first) bytes->Add(static_cast<double>(read));
  }
}

/// The memory in which texts find rows.
struct RowMemory {
  uint32_t tokens = 0;   ///< it would hold the rows of a text of so many
  bool keeps = true;     ///< rows of recent texts
  size_t preloaded = 0;  ///< rows of so many of the most frequent words
};

Samples BytesOfTexts(const ContainerIndex& index, std::span<const Half> halves,
                     const RowMemory& memory) {
  Samples bytes;
  for (const Half& half : halves) {
    RowStore store(index, memory.keeps);
    store.Reserve(memory.tokens);
    Ids words = half.words_of_other;
    words.resize(std::min(memory.preloaded, words.size()));
    std::sort(words.begin(), words.end());
    store.Preload(words);
    while (store.PlanAhead() != nullptr) store.Keep();
    Replay(store, half, &bytes);
  }
  return bytes;
}

/// The reads of texts as they are cut now, all of `length` tokens, which read `all` where nothing
/// is kept.
RowReads ReadsOf(const ContainerIndex& index, std::span<const Half> halves, uint32_t length,
                 uint32_t words, const Samples& all) {
  const auto shares_with = [&](uint32_t tokens) {
    const Samples bytes = BytesOfTexts(index, halves, {tokens, true, words});
    return RowRoom{tokens, bytes.median() / all.median(), bytes.p99() / all.p99()};
  };
  const RowRoom own = shares_with(length);
  RowReads reads{length, words, own.share, own.p99_share};
  for (const uint32_t tokens : kRooms) {
    if (tokens > length && tokens <= index.info.max_length())
      reads.rooms.push_back(shares_with(tokens));
  }
  return reads;
}

}  // namespace

WordUse MeasureWordUse(const ContainerIndex& index, std::span<const ExampleBatch> batches) {
  const std::vector<std::span<const uint32_t>> texts = TextsOf(batches);
  Half halves[2];
  for (size_t i = 0; i < texts.size(); ++i) halves[i % 2].texts.push_back(texts[i]);
  for (size_t i = 0; i < 2; ++i) halves[i].words_of_other = FrequentWords(halves[1 - i].texts);
  WordUse use;
  use.words = FrequentWords(texts);
  for (const uint32_t length : kLengths) {
    if (length > index.info.max_length()) break;
    for (Half& half : halves) half.cut = TextsOfLength(half.texts, length);
    const Samples all = BytesOfTexts(index, halves, {length, false, 0});
    if (all.count() == 0) break;
    for (const uint32_t words : kPreloads) {
      if (words > use.words.size()) break;
      use.reads.push_back(ReadsOf(index, halves, length, words, all));
    }
  }
  if (use.reads.empty()) return {};  // of texts that are too few or too short, words say nothing
  return use;
}

}  // namespace sti
