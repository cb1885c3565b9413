#include "print.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <variant>

#include "base/json.h"
#include "base/log.h"
#include "base/process_memory.h"
#include "base/utf8.h"
#include "common/files.h"
#include "common/lines.h"
#include "common/parse.h"
#include "common/remedies.h"

namespace sti {
namespace {

using Json = nlohmann::ordered_json;

Json ScoresOf(std::span<const float> probabilities, const ModelInfo& info, uint32_t top) {
  std::vector<uint32_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), 0U);
  if (top != 0) {
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return probabilities[a] > probabilities[b]; });
    order.resize(std::min<size_t>(order.size(), top));
  }
  Json scores = Json::object();
  for (uint32_t label : order) scores[info.labels[label]] = probabilities[label];
  return scores;
}

void AddLabels(const LabelScores& said, const Answer& answer, const ModelInfo& info, uint32_t top,
               Json& json) {
  json["label"] = info.labels[said.label];
  json["label_id"] = said.label;
  if (info.problem == Problem::kMultiLabel) {
    json["labels"] = Json::array();
    for (uint32_t label : said.labels) json["labels"].push_back(info.labels[label]);
  }
  json["scores"] = ScoresOf(said.scores, info, top);
  json["logits"] = answer.run.values;
}

// Returns the label, or those of a multi-label model that reach the threshold.
std::string LabelText(const LabelScores& said, const ModelInfo& info) {
  if (info.problem != Problem::kMultiLabel || info.labels.size() == 1)
    return info.labels[said.label];
  std::string text;
  for (uint32_t label : said.labels) text += (text.empty() ? "" : ",") + info.labels[label];
  return text.empty() ? "-" : text;
}

// Returns the bytes of a text that a span has, on one line and without tabs, which part fields.
std::string TextOf(const LabelledSpan& span, const std::string& text) {
  std::string part = text.substr(span.bytes.begin, span.bytes.size());
  std::ranges::replace(part, '\n', ' ');
  std::ranges::replace(part, '\t', ' ');
  return part;
}

// Returns a label and the text that has it, and so on; "-" where nothing is named.
std::string SpansText(const TextSpans& said, const std::string& text) {
  std::string line;
  for (const LabelledSpan& span : said.spans)
    line += (line.empty() ? "" : "\t") + said.names[span.name] + "\t" + TextOf(span, text);
  return line.empty() ? "-" : line;
}

Json SpansOf(const TextSpans& said, const std::string& text) {
  Json spans = Json::array();
  for (const LabelledSpan& span : said.spans) {
    spans.push_back({{"label", said.names[span.name]},
                     {"text", text.substr(span.bytes.begin, span.bytes.size())},
                     {"score", span.score},
                     {"begin", span.bytes.begin},
                     {"end", span.bytes.end}});
  }
  return spans;
}

// Prints the numbers of a vector with spaces between, each with the digits that tell it from all
// others.
void PrintNumbers(std::span<const float> numbers) {
  for (size_t i = 0; i < numbers.size(); ++i)
    std::printf("%s%.9g", i == 0 ? "" : " ", double{numbers[i]});
  std::printf("\n");
}

Json DegradedOf(const std::vector<DegradedShard>& degraded) {
  Json list = Json::array();
  for (const DegradedShard& shard : degraded) {
    list.push_back({{"layer", shard.id.layer},
                    {"slice", shard.id.slice},
                    {"bits", shard.bits},
                    {"planned_bits", shard.planned_bits}});
  }
  return list;
}

// Returns the times that the plan has for this very run; null unless it is the plan's own first
// turn, at the start or warm as it was planned, and to its end, and all of the text. A cascade
// level behind the first reads what those before it have not.
const PlanTimes* PlannedTimes(const Answer& answer) {
  const bool planned = answer.plan->times && answer.run.turn == 1 && answer.window_count() == 1 &&
                       answer.plan->cold == answer.cold && !answer.run.fallback &&
                       (!answer.cascade || answer.cascade->level == 1);
  return planned ? &*answer.plan->times : nullptr;
}

// Returns what the plan predicts from the text to this answer; nothing if it says nothing of it.
std::optional<double> PredictedUs(const Answer& answer) {
  if (answer.cascade) return answer.predicted_path_us;
  if (PlannedTimes(answer) == nullptr) return std::nullopt;
  return answer.plan->predicted_latency_us;
}

// Measured times, and how much more they are than planned.
void AddTimes(const Answer& answer, Json& json) {
  const RunResult& run = answer.run;
  const PlanTimes* planned = PlannedTimes(answer);
  if (const std::optional<double> predicted_us = PredictedUs(answer)) {
    json["predicted_latency_us"] = *predicted_us;
    json["latency_difference_us"] = answer.latency_us - *predicted_us;
  }
  if (planned != nullptr) json["stall_difference_us"] = run.stall_us - planned->stall_us;
  json["layers"] = Json::array();
  for (size_t k = 0; k < run.layers.size(); ++k) {
    const double io_us = LayerIoUs(run, k);
    const double compute_us = run.layers[k].end_us - run.layers[k].start_us;
    Json layer = {{"layer", run.layers[k].layer}, {"io_us", io_us}, {"compute_us", compute_us}};
    if (planned != nullptr) {
      layer["io_difference_us"] = io_us - planned->layer_io_us[k];
      layer["compute_difference_us"] = compute_us - planned->LayerUs(k);
    }
    json["layers"].push_back(std::move(layer));
  }
}

std::string DescribeLayer(const Answer& answer, size_t k) {
  const LayerTrace& layer = answer.run.layers[k];
  const PlanTimes* planned = PlannedTimes(answer);
  const auto with_plan = [&](double time_us, double planned_us) {
    const std::string time = FormatTimeUs(time_us);
    return planned == nullptr ? time : time + " (planned " + FormatTimeUs(planned_us) + ")";
  };
  return "layer " + std::to_string(layer.layer) + ": IO " +
         with_plan(LayerIoUs(answer.run, k), planned == nullptr ? 0 : planned->layer_io_us[k]) +
         ", compute " +
         with_plan(layer.end_us - layer.start_us, planned == nullptr ? 0 : planned->LayerUs(k));
}

// "level 2 with confidence 0.93, final, 3 words pruned".
std::string DescribeCascade(const CascadeReport& cascade) {
  std::string text = Format("level %u with confidence %.4f, ", cascade.level, cascade.confidence);
  text += NameOf(cascade.returned);
  if (cascade.words_pruned > 0) text += Format(", %u words pruned", cascade.words_pruned);
  return text;
}

// The first column of a line that names its model.
std::string Column(const std::string& name) { return name.empty() ? "" : name + "\t"; }

// Returns a text that may hold tabs as a terminal may show it.
std::string ForTerminal(std::string_view text) {
  std::string shown;
  for (;;) {
    const size_t tab = text.find('\t');
    shown += MakePrintable(text.substr(0, tab));
    if (tab == std::string_view::npos) return shown;
    shown += '\t';
    text.remove_prefix(tab + 1);
  }
}

// Returns a text on one line, of which the text can be told.
std::string Escaped(std::string_view text) {
  std::string line;
  for (const char c : text) {
    switch (c) {
      case '\n':
        line += "\\n";
        break;
      case '\r':
        line += "\\r";
        break;
      case '\t':
        line += "\\t";
        break;
      case '\\':
        line += "\\\\";
        break;
      default:
        line += c;
    }
  }
  return line;
}

Json NameOf(Continuation::End end) {
  switch (end) {
    case Continuation::End::kToken:
      return "end token";
    case Continuation::End::kCount:
      return "count";
    case Continuation::End::kContext:
      return "context";
    case Continuation::End::kCaller:
      break;
  }
  return "interrupt";
}

void AddContinuation(const Continuation& said, Json& json) {
  json["generated"] = said.text;
  json["ids"] = said.ids;
  json["ended_by"] = NameOf(said.end);
  json["first_token_us"] = said.first_us;
  json["pass_us"] = said.pass_us;
}

void PrintError(Json line, const std::string& text, const Error& error) {
  line["error"] = LineFor(error);
  JsonLinePrinter printer(stdout);
  printer.Add(line);
  printer.AddText("text", text);
  printer.End();
}

// Prints a text as it came in, but that an input is one line, also from an argument, and that a
// terminal obeys none of it.
void PrintText(std::string_view text, bool to_terminal) {
  ForEachPiece(text, [&](std::string_view piece) {
    std::string line(piece);
    std::replace(line.begin(), line.end(), '\n', ' ');
    if (to_terminal) line = ForTerminal(line);
    std::fwrite(line.data(), 1, line.size(), stdout);
  });
}

// Adds the times that each stage took for the pass of a text, by its own clock.
void AddStages(const StagedRun& staged, Json& json) {
  json["pass"] = staged.pass;
  json["stages"] = Json::array();
  for (size_t i = 0; i < std::min(staged.took.size(), staged.stages.size()); ++i) {
    const StageTook& took = staged.took[i];
    json["stages"].push_back({{"device", staged.stages[i].device},
                              {"total_us", took.total_us},
                              {"compute_us", took.compute_us},
                              {"stall_us", took.stall_us},
                              {"waited_us", took.wait_us},
                              {"bytes_read", took.bytes_read}});
  }
}

// Returns what was special about reading the text, each mark behind `parted_by`.
std::string MarksOf(const Answer& answer, char parted_by) {
  std::string marks;
  if (answer.window_count() > 1)
    marks += Format("%c[%u windows]", parted_by, answer.window_count());
  if (answer.truncated) marks += Format("%c[truncated]", parted_by);
  return marks;
}

}  // namespace

void PrintJson(const RunOptions& options, const std::string& text, const Answer& answer,
               const ModelInfo& info, std::optional<double> waited_us, const StagedRun* staged) {
  JsonLinePrinter printer(stdout);
  if (!options.name.empty()) printer.AddText("model", options.name);
  printer.AddText("text", text);
  Json json;
  if (const auto* embedding = std::get_if<Embedding>(&answer.content)) {
    json["embedding"] = embedding->values;
  } else if (const auto* said = std::get_if<TextSpans>(&answer.content)) {
    json["spans"] = SpansOf(*said, text);
  } else if (const auto* made = std::get_if<Continuation>(&answer.content)) {
    AddContinuation(*made, json);
  } else {
    AddLabels(answer.labels(), answer, info, options.top, json);
  }
  json["tokens"] = answer.tokens;
  if (answer.batch > 1) json["batch"] = answer.batch;
  json["truncated"] = answer.truncated;
  if (answer.windows) json["windows"] = answer.windows->windows;
  json["latency_us"] = answer.latency_us;
  if (waited_us) json["waited_us"] = *waited_us;
  if (staged != nullptr) AddStages(*staged, json);
  json["deadline_met"] = answer.deadline_met ? Json(*answer.deadline_met) : Json(nullptr);
  json["degraded"] = DegradedOf(answer.degraded());
  if (answer.plan->fallback) {
    const std::optional<GivenUp> fallback = answer.fallback();
    json["fallback"] = fallback.has_value();
    json["rows_missing"] = fallback ? fallback->rows_missing : 0;
  }
  if (answer.cascade) {
    json["level"] = answer.cascade->level;
    json["confidence"] = answer.cascade->confidence;
    json["returned"] = NameOf(answer.cascade->returned);
    json["words_pruned"] = answer.cascade->words_pruned;
  }
  json["turn"] = answer.turn;
  json["stall_us"] = answer.stall_us();
  json["bytes_read"] = answer.bytes_read();
  if (const auto& agents = answer.run.agents) {
    json["agents"] = agents->agents;
    json["stopped_us"] = agents->stopped_us;
    json["staged_peak_bytes"] = agents->staged_peak_bytes;
  }
  if (answer.window_count() == 1) AddTimes(answer, json);
  printer.Add(json);
  printer.End();
}

void PrintMade(std::string_view text) {
  std::string line = Escaped(text);
  if (isatty(STDOUT_FILENO) != 0) line = MakePrintable(line);
  std::fwrite(line.data(), 1, line.size(), stdout);
}

void PrintPlain(const std::string& name, const std::string& text, const Answer& answer,
                const ModelInfo& info) {
  if (const auto* embedding = std::get_if<Embedding>(&answer.content)) {
    std::printf("%s", Column(name).c_str());
    return PrintNumbers(embedding->values);
  }
  if (const auto* made = std::get_if<Continuation>(&answer.content)) {
    std::printf("%s", Column(name).c_str());
    PrintMade(made->text);
    std::printf("\n");
    return;
  }
  const bool to_terminal = isatty(STDOUT_FILENO) != 0;
  if (const auto* spans = std::get_if<TextSpans>(&answer.content)) {
    std::string line = Column(name) + SpansText(*spans, text) + MarksOf(answer, '\t');
    if (to_terminal) line = ForTerminal(line);
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::printf("\n");
    return;
  }
  const LabelScores& labels = answer.labels();
  std::string said = LabelText(labels, info);
  if (to_terminal) said = ForTerminal(said);
  std::printf("%s%s\t%.4f\t", Column(name).c_str(), said.c_str(),
              double{labels.scores[labels.label]});
  PrintText(text, to_terminal);
  std::printf("%s\n", MarksOf(answer, ' ').c_str());
}

void PrintUnusable(bool json, const std::string& name, const std::string& text,
                   const Error& error) {
  if (!json) {
    std::printf("%s! %s\n", Column(name).c_str(), LineFor(error).c_str());
    return;
  }
  Json line;
  if (!name.empty()) line["model"] = name;
  PrintError(std::move(line), text, error);
}

void PrintUnnamed(bool json, const std::string& line, const Error& error) {
  if (!json) return PrintUnusable(false, "", line, error);
  PrintError({{"model", nullptr}}, line, error);
}

std::vector<std::string> DescribeRun(const Answer& answer) {
  std::string line = FormatTimeUs(answer.latency_us);
  const bool is_whole = answer.window_count() == 1;
  if (!is_whole) {
    line += " in " + Counted(answer.window_count(), "window") + ", the slowest " +
            FormatTimeUs(answer.windows->slowest_us);
  }
  if (answer.target_us) {
    line += " of " + FormatTimeUs(*answer.target_us);
    line += *answer.deadline_met ? "" : " (late)";
  }
  const double predicted_us =
      answer.cascade ? answer.predicted_path_us.value_or(0) : answer.plan->predicted_latency_us;
  if (predicted_us > 0 && is_whole) line += ", predicted " + FormatTimeUs(predicted_us);
  if (answer.cascade) line += ", " + DescribeCascade(*answer.cascade);
  line += ", stalled " + FormatTimeUs(answer.stall_us());
  line += ", read " + FormatBytes(answer.bytes_read());
  if (const size_t degraded = answer.degraded().size(); degraded > 0)
    line += ", " + Counted(degraded, "shard") + " degraded";
  if (const std::optional<GivenUp> fallback = answer.fallback()) {
    line += fallback->reads_failed ? ", a read failed: fell back" : ", reads were late: fell back";
    line += " after " + Counted(fallback->layers_before, "layer") + ", " +
            Counted(fallback->rows_missing, "word") + " unknown";
  }
  line += ", peak memory " + FormatBytes(PeakRssBytes());
  std::vector<std::string> lines{line};
  if (!is_whole) return lines;
  lines.reserve(1 + answer.run.layers.size());
  for (size_t k = 0; k < answer.run.layers.size(); ++k) lines.push_back(DescribeLayer(answer, k));
  return lines;
}

}  // namespace sti
