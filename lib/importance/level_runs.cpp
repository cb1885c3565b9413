#include "importance/level_runs.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "types/cascade.h"
#include "types/submodel.h"

namespace sti {
namespace {

/// Returns the number of words in a text.
uint32_t WordsOf(std::span<const uint32_t> words) {
  return WordsLeftOut(words, std::vector<bool>(words.size(), false));
}

}  // namespace

PrunedTexts Prune(std::span<const ExampleBatch> batches, const BatchAttention& attention,
                  double alpha) {
  PrunedTexts texts;
  for (size_t b = 0; b < batches.size(); ++b) {
    const ExampleBatch& batch = batches[b];
    std::vector<bool> kept;
    for (uint32_t s = 0; s < batch.batch().sequences(); ++s) {
      const size_t first = batch.offsets[s];
      const size_t count = batch.offsets[s + 1] - first;
      const auto words = std::span(batch.words).subspan(first, count);
      const std::vector<bool> of_text =
          KeptTokens(std::span(attention[b]).subspan(first, count), words, alpha);
      kept.insert(kept.end(), of_text.begin(), of_text.end());
      const uint32_t had = WordsOf(words);
      texts.words.push_back({had, had - WordsLeftOut(words, of_text)});
    }
    texts.batches.push_back(KeptOf(batch, kept));
  }
  return texts;
}

Result<LevelRun> LevelRunner::Run(const SubmodelCell& level,
                                  std::span<const ExampleBatch> batches) {
  LevelRun run;
  for (const ExampleBatch& batch : batches) {
    if (cancelled_ && cancelled_()) return CancelledError();
    STI_RETURN_IF_ERROR(RunBatch(level, batch, &run));
  }
  const auto finite = [](float logit) { return std::isfinite(logit); };
  if (std::all_of(run.logits.begin(), run.logits.end(), finite)) return run;
  return DataError("its weights overflow for an example at " +
                   NameOf(Submodel{level.depth, level.width}) + ", " + std::to_string(level.bits) +
                   " bits; shard a sound model")
      .At(runner_.name());
}

Status LevelRunner::RunBatch(const SubmodelCell& level, const ExampleBatch& batch, LevelRun* run) {
  const ModelShape& shape = runner_.shape();
  const uint32_t sequences = batch.batch().sequences();
  hidden_.resize(batch.ids.size() * shape.hidden);
  firsts_.resize(size_t{sequences} * shape.hidden);
  context_.resize(firsts_.size() + kReadPastEnd);
  std::vector<float>& received = run->attention.emplace_back(batch.ids.size());
  STI_RETURN_IF_ERROR(runner_.Embed(batch, {0, sequences}, hidden_.data()));
  const std::vector<uint32_t>& layers = runner_.index().info.depth_layers[level.depth - 1];
  for (size_t k = 0; k < layers.size(); ++k) {
    const std::vector<ShardView> views = runner_.Views(layers[k], level.width, level.bits);
    if (k + 1 < layers.size()) {
      runner_.Layer(batch.batch(), layers[k], views, hidden_.data(), received.data());
    } else {
      runner_.LastLayer(batch.batch(), layers[k], views, hidden_.data(), context_.data(),
                        firsts_.data(), received.data());
    }
  }
  const size_t before = run->logits.size();
  run->logits.resize(before + size_t{sequences} * shape.labels);
  runner_.Head(sequences, firsts_.data(), run->logits.data() + before);
  return {};
}

}  // namespace sti
