#include "stage_worker.h"

#include <cmath>
#include <cstdio>
#include <utility>

#include "common/parse.h"
#include "common/remedies.h"
#include "print.h"

namespace sti {

/// Returns what a stage gives for a line: hidden rows, or the values of the head.
size_t StageWorker::ValuesOf(const FrameLine& line) const {
  if (line.error) return 0;
  if (!place_.is_last()) return line.tokens * hidden_;
  const ModelInfo& info = session_.info();
  return (info.labels_tokens() ? line.tokens : 1) * size_t{info.head_values()};
}

/// Runs the lines from `begin` to before `end` of a pass together. Lines with an error have no
/// rows.
Status StageWorker::Run(const StagePass& pass, size_t begin, size_t end,
                        std::vector<float>* values) {
  size_t row = 0;
  for (size_t i = 0; i < begin; ++i) row += pass.frame.lines[i].tokens;
  std::vector<uint32_t> offsets{0};
  std::vector<uint32_t> ids;
  std::vector<uint32_t> types;
  for (size_t i = begin; i < end; ++i) {
    if (pass.frame.lines[i].error) continue;
    offsets.push_back(offsets.back() + pass.frame.lines[i].tokens);
    if (!place_.is_first()) continue;
    ids.insert(ids.end(), pass.texts[i].ids.begin(), pass.texts[i].ids.end());
    types.insert(types.end(), pass.texts[i].types.begin(), pass.texts[i].types.end());
  }
  if (offsets.size() == 1) return {};
  Pass input;
  input.offsets = offsets;
  if (place_.is_first()) {
    input.input = TokenInput{ids, types};
  } else {
    input.input = HiddenInput{
        std::span(pass.frame.rows).subspan(row * hidden_, size_t{offsets.back()} * hidden_)};
  }
  const auto layer_done = [this] {
    if (link_ != nullptr) link_->NoteLayer();
  };
  STI_RETURN_IF_ERROR(session_.RunStage(input, layer_done, &output_, &report_));
  values->insert(values->end(), output_.values.begin(), output_.values.end());
  return {};
}

/// Runs a pass line by line, of which one has failed, so that the others have their answers.
Status StageWorker::RunAlone(StagePass* pass) {
  std::vector<float> values;
  std::vector<std::optional<Error>> errors(pass->frame.lines.size());
  for (size_t i = 0; i < errors.size(); ++i) {
    Status ran = Run(*pass, i, i + 1, &values);
    if (ran.ok()) continue;
    if (OwnErrorOf(ran) == nullptr) return ran;
    errors[i] = ran.error();
  }
  for (size_t i = 0; i < errors.size(); ++i) {
    if (errors[i]) Take(*errors[i], &pass->frame.lines[i]);
  }
  pass->frame.rows = std::move(values);
  return {};
}

void StageWorker::Take(const Error& error, FrameLine* line) {
  line->error = error;
  line->tokens = 0;
  line->truncated = false;
  line->text_tokens.clear();
}

/// Gives an error to the lines whose rows are no numbers, and leaves their rows out.
void StageWorker::KeepFinite(PassFrame* frame) {
  if (std::ranges::all_of(frame->rows, [](float x) { return std::isfinite(x); })) return;
  std::vector<float> kept;
  size_t at = 0;
  for (FrameLine& line : frame->lines) {
    const auto begin = frame->rows.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = begin + static_cast<std::ptrdiff_t>(line.tokens * hidden_);
    at += line.tokens * hidden_;
    if (std::all_of(begin, end, [](float x) { return std::isfinite(x); })) {
      kept.insert(kept.end(), begin, end);
    } else {
      Take(DataError("a number that layers give is not finite").In(Source::kInput), &line);
    }
  }
  frame->rows = std::move(kept);
}

Status StageWorker::Compute(StagePass* pass) {
  report_ = {};
  std::vector<float> values;
  Status ran = Run(*pass, 0, pass->frame.lines.size(), &values);
  if (ran.ok()) {
    pass->frame.rows = std::move(values);
  } else if (OwnErrorOf(ran) != nullptr) {
    STI_RETURN_IF_ERROR(RunAlone(pass));
  } else {
    return ran;
  }
  if (!place_.is_last()) KeepFinite(&pass->frame);
  double compute_us = report_.embeddings_us - report_.embeddings_begin_us + report_.head_us;
  for (const LayerTrace& layer : report_.layers) compute_us += layer.end_us - layer.start_us;
  pass->frame.took.push_back({.wait_us = pass->wait_us,
                              .compute_us = compute_us,
                              .stall_us = report_.stall_us,
                              .total_us = MicrosecondsBetween(pass->taken, Clock::now()),
                              .bytes_read = report_.bytes_read});
  return {};
}

void StageWorker::PrintError(const FrameLine& line, const Error& error) {
  session_.SkipTurn();
  if (vectors_) {
    vectors_->AddMissing();
    tool_.Complain(LineFor(error));
  } else {
    PrintUnusable(tool_.json(), "", line.text, error);
  }
  if (error.kind != ErrorKind::kReadFailed) {
    unusable_ = true;
    return;
  }
  if (!failed_ && !vectors_) tool_.Complain(LineFor(error));
  failed_ = true;
}

void StageWorker::PrintLine(const StagePass& pass, const FrameLine& line,
                            std::span<const float> values) {
  static_cast<RunReport&>(answer_.run) = report_;
  const Status concluded = session_.Conclude(values, line.text_tokens, &answer_);
  if (!concluded.ok()) return PrintError(line, concluded.error());
  answer_.tokens = line.tokens;
  answer_.truncated = line.truncated;
  answer_.latency_us = 0;
  answer_.run.bytes_read = 0;
  answer_.run.stall_us = 0;
  for (const StageTook& took : pass.frame.took) {
    answer_.latency_us += took.total_us;
    answer_.run.stall_us += took.stall_us;
    answer_.run.bytes_read += took.bytes_read;
  }
  if (vectors_) {
    vectors_->Add(std::get<Embedding>(answer_.content).values);
  } else if (tool_.json()) {
    const StagedRun staged{place_.plan.staged->stages, pass.frame.took, pass.frame.number};
    PrintJson(options_, line.text, answer_, session_.answer_info(), {}, &staged);
  } else {
    PrintPlain("", line.text, answer_, session_.answer_info());
  }
}

Status StageWorker::Answer(const StagePass& pass) {
  size_t at = 0;
  for (const FrameLine& line : pass.frame.lines) {
    const std::span<const float> values = std::span(pass.frame.rows).subspan(at, ValuesOf(line));
    at += values.size();
    if (line.error) {
      PrintError(line, *line.error);
    } else {
      PrintLine(pass, line, values);
    }
    Flush();
    if (output_closed_) break;
  }
  if (!options_.stats) return {};
  for (size_t i = 0; i < pass.frame.took.size(); ++i) {
    const StageTook& took = pass.frame.took[i];
    tool_.PrintAside("pass " + std::to_string(pass.frame.number) + ", " + place_.NameAt(i) + ": " +
                     FormatTimeUs(took.total_us) + ", compute " + FormatTimeUs(took.compute_us) +
                     ", stall " + FormatTimeUs(took.stall_us) + ", waited " +
                     FormatTimeUs(took.wait_us) + ", read " + FormatBytes(took.bytes_read) + "\n");
  }
  return {};
}

Result<int> StageWorker::Finish() {
  if (vectors_ && !output_closed_) STI_RETURN_IF_ERROR(vectors_->Finish());
  if (failed_) return ExitCode(ErrorKind::kReadFailed);
  return unusable_ ? ExitCode(ErrorKind::kDamaged) : 0;
}

}  // namespace sti
