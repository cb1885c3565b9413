#include "common/evaluation_text.h"

#include "base/log.h"
#include "common/lines.h"
#include "common/parse.h"
#include "score/baseline.h"

namespace sti {
namespace {

std::string SizeSentence(const char* what, uint64_t bytes, const char* gate, uint64_t most) {
  return Format("%s %s is above %s %s", what, FormatBytes(bytes).c_str(), gate,
                FormatBytes(most).c_str());
}

std::string DescribeCorrectness(const Evaluation& e, const ModelInfo& info) {
  const ShareInterval interval = WilsonInterval(e.right_count(), e.examples());
  std::string text =
      Format("accuracy        %.2f %% of %s, within %.2f and %.2f %% at 95 %% confidence\n",
             e.accuracy() * 100, std::to_string(e.examples()).c_str(), interval.low * 100,
             interval.high * 100);
  if (e.has_spans()) {
    const LabelCount all = e.AllSpans();
    text = Format("spans           F1 %.4f, precision %.4f, recall %.4f\n", all.F1(),
                  all.Precision(), all.Recall()) +
           Format("                %s there, %s given, %s of them right\n",
                  std::to_string(all.examples).c_str(), std::to_string(all.given).c_str(),
                  std::to_string(all.right).c_str()) +
           text;
    if (e.cut_texts > 0) {
      text += Format("cut             %s: words that did not fit count as outside of spans\n",
                     Counted(e.cut_texts, "text").c_str());
    }
  }
  text += Format("F1              macro %.4f", e.labels.MacroF1());
  if (const auto positive = e.PositiveF1(info)) text += Format(", positive %.4f", *positive);
  text += '\n';
  if (!e.errors.empty()) {
    text += Format("unanswered      %s inputs, which count as wrong\n",
                   std::to_string(e.errors.size()).c_str());
  }
  if (!e.compared) return text;
  return text + Format("baseline        %.2f %%, since then %s gained, %s lost, p %.4f\n",
                       e.accuracy_before() * 100, std::to_string(e.compared->gained).c_str(),
                       std::to_string(e.compared->lost).c_str(), e.compared->p_value);
}

std::string DescribePairs(const Evaluation& e) {
  const PairTally& pairs = *e.pairs;
  std::string text = "Spearman        none: all cosines or all scores are equal\n";
  if (const auto spearman = pairs.spearman()) {
    text = Format("Spearman        %.4f of %s, standard error %.4f\n", *spearman,
                  Counted(e.answers(), "pair").c_str(), pairs.standard_error());
  }
  if (e.errors.empty()) return text;
  return text + Format("unanswered      %s, which count for nothing\n",
                       Counted(e.errors.size(), "pair").c_str());
}

// Describes loss, times and bytes of the answers.
std::string DescribeMeasured(const Evaluation& e) {
  std::string text;
  if (e.loss.count() > 0) text = Format("mean loss       %.4f\n", e.loss.mean());
  text += Format("latency         median %s, p95 %s, p99 %s, max %s\n",
                 FormatTimeUs(e.latency_us.median()).c_str(),
                 FormatTimeUs(e.latency_us.Quantile(0.95)).c_str(),
                 FormatTimeUs(e.latency_us.p99()).c_str(),
                 FormatTimeUs(e.latency_us.Quantile(1.0)).c_str());
  if (e.predicted_latency_us) {
    text +=
        Format("predicted       median %s, p99 %s\n", FormatTimeUs(*e.predicted_latency_us).c_str(),
               FormatTimeUs(*e.predicted_p99_us).c_str());
  }
  if (e.target_us) {
    text += Format("target          %s, missed %s times\n", FormatTimeUs(*e.target_us).c_str(),
                   std::to_string(e.deadline_misses).c_str());
  }
  if (e.windows) {
    text += Format("windows         %s, of %s inputs\n", std::to_string(*e.windows).c_str(),
                   std::to_string(e.answers()).c_str());
  }
  if (e.degraded_inputs > 0) {
    text += Format("degraded        %s inputs\n", std::to_string(e.degraded_inputs).c_str());
  }
  if (e.guaranteed) {
    text += Format("fallback        %s inputs, %s words unknown\n",
                   std::to_string(e.fallbacks).c_str(), std::to_string(e.rows_missing).c_str());
  }
  return text + Format("stalled         median %s\nread an input   %s\n",
                       FormatTimeUs(e.stall_us.median()).c_str(),
                       FormatBytes(static_cast<uint64_t>(e.bytes_read.mean())).c_str());
}

std::string DescribeCascade(const Evaluation& e) {
  const CascadeTally& cascade = *e.cascade;
  std::string text;
  for (size_t i = 0; i < cascade.levels.size(); ++i) {
    const LevelTally& level = cascade.levels[i];
    text += Format("level %zu         answers %.1f %% of inputs, %.1f %% predicted", i + 1,
                   level.share(e.answers()) * 100, level.predicted_share * 100);
    if (const auto accuracy = level.accuracy()) text += Format("; %.2f %% right", *accuracy * 100);
    text += '\n';
  }
  if (cascade.deadline_returns > 0) {
    text += Format("out of time     %s inputs had no time for the next level\n",
                   std::to_string(cascade.deadline_returns).c_str());
  }
  if (cascade.words_pruned > 0) {
    text += Format("words pruned    %s\n", std::to_string(cascade.words_pruned).c_str());
  }
  text += Format("mean latency    %s",
                 FormatTimeUs(cascade.latency_us / static_cast<double>(e.answers())).c_str());
  if (cascade.mean_us) text += Format(", predicted %s", FormatTimeUs(*cascade.mean_us).c_str());
  return text + '\n';
}

}  // namespace

std::string DescribeEvaluation(const Evaluation& e, const ModelInfo& info) {
  std::string text = e.pairs ? DescribePairs(e) : DescribeCorrectness(e, info);
  if (e.answers() > 0) text += DescribeMeasured(e);
  if (e.cascade && e.answers() > 0) text += DescribeCascade(e);
  return text + Format("memory          peak %s, %s of it preloaded shards\n",
                       FormatBytes(e.peak_rss_bytes).c_str(), FormatBytes(e.preload_bytes).c_str());
}

std::string WhyFailed(Gate gate, const Evaluation& e, const Gates& gates) {
  switch (gate) {
    case Gate::kAccuracy:
      return Format("%s %.4f is below --min-accuracy %.4f",
                    e.pairs         ? "Spearman"
                    : e.has_spans() ? "span F1"
                                    : "accuracy",
                    e.quality(), *gates.min_accuracy);
    case Gate::kP99:
      return Format("p99 latency %s is above --max-p99 %s",
                    FormatTimeUs(e.latency_us.p99()).c_str(),
                    FormatTimeUs(*gates.max_p99_us).c_str());
    case Gate::kMemory:
      return SizeSentence("peak memory", e.peak_rss_bytes, "--max-memory", *gates.max_memory_bytes);
    case Gate::kInputBytes:
      return SizeSentence("read an input", static_cast<uint64_t>(e.bytes_read.mean()),
                          "--max-bytes", *gates.max_input_bytes);
    case Gate::kMisses:
      return Counted(e.deadline_misses, "input") + " missed the target, above --max-misses " +
             std::to_string(*gates.max_misses);
    case Gate::kDrop:
      return Format(
          "accuracy %.4f is below the baseline's %.4f by more than --max-drop %.4f, and not "
          "by chance (p %.4f)",
          e.accuracy(), e.accuracy_before(), *gates.max_drop, e.compared->p_value);
  }
  return "";
}

}  // namespace sti
