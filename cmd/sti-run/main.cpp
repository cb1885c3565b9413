// sti-run: text in, label, vector or spans out, under a plan.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "adjust.h"
#include "api/session.h"
#include "common/files.h"
#include "common/lines.h"
#include "common/machine.h"
#include "common/remedies.h"
#include "host.h"
#include "jobs.h"
#include "nearest.h"
#include "print.h"
#include "session.h"
#include "stage.h"
#include "vectors.h"
#include "watch.h"

namespace sti {
namespace {

// Inputs one after another, each answered and flushed before the next is read.
class LineAnswerer {
 public:
  LineAnswerer(Session& session, const RunOptions& options, const Tool& tool)
      : session_(session), options_(options), tool_(tool), watch_(options, tool) {
    if (options.format != VectorFormat::kText)
      vectors_.emplace(options.format, options.dimensions.value_or(session.info().head_values()));
  }

  // Answers lines that came together: images run in one pass, all others one after another.
  Status Take(std::span<const LineReader::Line> lines, Clock::time_point taken) {
    if (lines.size() > 1) return TakeImages(lines, taken);
    return TakeOne(lines.front(), taken);
  }

  Result<int> Finish() {
    STI_RETURN_IF_ERROR(watch_.Finish());
    if (vectors_ && !output_closed_) STI_RETURN_IF_ERROR(vectors_->Finish());
    if (failed_) return ExitCode(ErrorKind::kReadFailed);
    if (options_.on_late == OnLate::kFail && watch_.mishaps().late > 0) {
      return InfeasibleError("an input missed the target; plan with a longer --target");
    }
    return unusable_ ? ExitCode(ErrorKind::kDamaged) : 0;
  }

  [[nodiscard]] bool output_closed() const { return output_closed_; }

 private:
  [[nodiscard]] Result<SessionInput> Read(const LineReader::Line& line) const {
    STI_RETURN_IF_ERROR(line.usable());
    return ReadLineInput(options_, session_, line.text);
  }

  Status TakeOne(const LineReader::Line& line, Clock::time_point taken) {
    const auto input = Read(line);
    const Status asked = input.ok() ? AskFor(*input, taken) : Status();
    const Error* own = input.ok() ? OwnErrorOf(asked) : &input.error();
    if (own != nullptr) {
      SkipInput(*own, line.text);
      return {};
    }
    STI_RETURN_IF_ERROR(asked);
    Show(line.text, answer_);
    return {};
  }

  // The images that can be read run in one pass. Answers and errors come in the order of the lines.
  Status TakeImages(std::span<const LineReader::Line> lines, Clock::time_point taken) {
    std::vector<float> images;
    images.reserve(lines.size() * session_.info().shape.image->values());
    std::vector<std::optional<Error>> errors;
    for (const LineReader::Line& line : lines) {
      const auto input = Read(line);
      errors.push_back(input.ok() ? std::nullopt : std::optional<Error>(input.error()));
      if (!input.ok()) continue;
      const std::vector<float>& values = std::get<ImageValues>(*input).values;
      images.insert(images.end(), values.begin(), values.end());
    }
    size_t next = 0;  // line to be told of
    const auto skip = [&] {
      for (; next < lines.size() && errors[next]; ++next)
        SkipInput(*errors[next], lines[next].text);
    };
    const auto show = [&](size_t) {
      skip();
      Show(lines[next++].text, answer_);
    };
    if (!images.empty()) {
      const Status asked = session_.Ask(images, taken, &answer_, show);
      const Error* own = OwnErrorOf(asked);
      if (own == nullptr) STI_RETURN_IF_ERROR(asked);
      const auto is_due = [](const std::optional<Error>& error) { return !error; };
      if (own != nullptr) std::ranges::replace_if(errors, is_due, *own);
    }
    skip();
    return {};
  }

  Status AskFor(const SessionInput& input, Clock::time_point taken) {
    if (!options_.generate) return Ask(session_, input, taken, &answer_);
    streamed_ = 0;
    const auto take = [&](uint32_t, std::string_view text) {
      if (options_.stream && !text.empty()) {
        PrintMade(text);
        streamed_ += text.size();
        Flush();
      }
      return !StopRequested() && !output_closed_;
    };
    const auto& prompt = std::get<Prompt>(input);
    Status asked = session_.Generate(prompt.text, prompt.most, taken, take, &answer_);
    if (!asked.ok() && streamed_ > 0) std::printf("\n");  // what was made ends with its line
    return asked;
  }

  void Show(const std::string& text, const Answer& answer) {
    if (vectors_) {
      vectors_->Add(std::get<Embedding>(answer.content).values);
    } else if (tool_.json()) {
      PrintJson(options_, text, answer, session_.answer_info());
    } else if (options_.stream) {
      PrintMade(std::string_view(std::get<Continuation>(answer.content).text).substr(streamed_));
      std::printf("\n");
    } else {
      PrintPlain("", text, answer, session_.answer_info());
    }
    Flush();
    watch_.See(answer, session_);
  }

  void SkipInput(const Error& error, const std::string& text) {
    session_.SkipTurn();
    watch_.Skip();
    if (vectors_) {
      vectors_->AddMissing();
      tool_.Complain(LineFor(error));
    } else {
      PrintUnusable(tool_.json(), "", text, error);
    }
    Flush();
    if (error.kind != ErrorKind::kReadFailed) {
      unusable_ = true;
      return;
    }
    // The device failed one input, and may serve the next; only the first failure is told.
    if (!failed_ && !vectors_) tool_.Complain(LineFor(error));
    failed_ = true;
  }

  void Flush() { output_closed_ = output_closed_ || std::fflush(stdout) != 0; }

  Session& session_;
  const RunOptions& options_;
  const Tool& tool_;
  Watch watch_;
  std::optional<VectorWriter> vectors_;  ///< where stdout is for other programs
  Answer answer_;
  size_t streamed_ = 0;  ///< bytes of the answer at hand that were written as they came
  bool unusable_ = false;
  bool failed_ = false;  ///< a read, of any input
  bool output_closed_ = false;
};

Result<int> AnswerTexts(Session& session, LineAnswerer& answerer, const RunOptions& options,
                        Adjuster& adjuster) {
  const std::vector<std::string>& texts = options.texts;
  std::vector<LineReader::Line> lines;
  for (size_t next = 0; next < texts.size(); next += lines.size()) {
    if (StopRequested() || answerer.output_closed()) break;
    STI_RETURN_IF_ERROR(adjuster.Look());
    if (options.turn_gap_us == 0.0) STI_RETURN_IF_ERROR(session.EndEngagement());
    lines.clear();
    const size_t count = std::min<size_t>(texts.size() - next, session.plan().microbatch);
    for (size_t i = 0; i < count; ++i) lines.push_back({texts[next + i]});
    STI_RETURN_IF_ERROR(answerer.Take(lines, Clock::now()));
  }
  return answerer.Finish();
}

// Waits for a line. Meanwhile the device may change.
Status AwaitLine(Session& session, const RunOptions& options, Adjuster& adjuster,
                 LineReader& reader) {
  constexpr double kLook_us = 1e6;
  const std::function<void()> rested = GiveHeapBack;
  Pause pause(session, options.turn_gap_us.value_or(kTurnGap_us), options.idle_us, rested);
  for (;;) {
    STI_RETURN_IF_ERROR(pause.Act());
    STI_RETURN_IF_ERROR(adjuster.Look());
    double next_us = pause.DueUs();
    if (adjuster.on()) next_us = std::min(next_us, kLook_us);
    if (next_us == Pause::kNever_us || reader.Wait(next_us)) break;
  }
  return adjuster.Look();  // a signal may have come with the line
}

// Returns the next line, and with it those that are there already, up to as many as run together;
// none at the end.
Result<std::vector<LineReader::Line>> NextLines(LineReader& reader, size_t most) {
  std::vector<LineReader::Line> lines;
  while (lines.size() < most && (lines.empty() || reader.Wait(0))) {
    STI_ASSIGN_OR_RETURN(auto line, reader.Next());
    if (!line) break;
    lines.push_back(*std::move(line));
  }
  return lines;
}

Result<int> AnswerLines(Session& session, LineAnswerer& answerer, const RunOptions& options,
                        Adjuster& adjuster) {
  LineReader reader(STDIN_FILENO);
  while (!StopRequested() && !answerer.output_closed()) {
    STI_RETURN_IF_ERROR(AwaitLine(session, options, adjuster, reader));
    const size_t most = options.one_shot ? 1 : session.plan().microbatch;
    STI_ASSIGN_OR_RETURN(std::vector<LineReader::Line> lines, NextLines(reader, most));
    if (lines.empty()) break;
    STI_RETURN_IF_ERROR(answerer.Take(lines, Clock::now()));
    if (options.one_shot) break;
    if (std::ranges::none_of(lines, &LineReader::Line::is_long)) continue;
    lines = {};
    GiveHeapBack();
  }
  return answerer.Finish();
}

// Files that are written replace none that is read.
Status CheckOutputs(const RunOptions& options) {
  for (const Output& output : {Output{"--trace", options.trace}, Output{"--keep", options.keep}}) {
    STI_RETURN_IF_ERROR(CheckKeepsInput(output, options.model, "the model"));
    STI_RETURN_IF_ERROR(CheckKeepsInput(output, options.plan, "the plan"));
    STI_RETURN_IF_ERROR(CheckKeepsInput(output, options.replan, "the profile"));
    STI_RETURN_IF_ERROR(CheckKeepsInput(output, options.importance, "the importance"));
    STI_RETURN_IF_ERROR(CheckKeepsInput(output, options.nearest, "the examples"));
    STI_RETURN_IF_ERROR(CheckKeepsInput(output, options.eval, "the data"));
    STI_RETURN_IF_ERROR(CheckKeepsInput(output, options.baseline, "the baseline"));
    STI_RETURN_IF_ERROR(CheckOutput(output));
  }
  return CheckKeepsInput({"--trace", options.trace}, options.keep, "what --keep names");
}

Result<int> Serve(const Tool& tool, const RunOptions& options) {
  STI_RETURN_IF_ERROR(CheckRunOptions(tool.app(), options));
  if (options.format != VectorFormat::kText && isatty(STDOUT_FILENO) != 0)
    return UsageError("--format writes bytes, which a terminal does not show; give it a file");
  STI_RETURN_IF_ERROR(TakeInstructionsOption(options.instructions));
  if (!options.models.empty()) return ServeSeveral(options, tool);
  STI_RETURN_IF_ERROR(CheckOutputs(options));
  if (!options.stage.empty()) return RunStage(tool, options);
  Adjuster::Listen(options);
  STI_ASSIGN_OR_RETURN(Nearest nearest, Nearest::Read(options, tool));
  STI_ASSIGN_OR_RETURN(const OpenedSession session, OpenSession(options, nearest.labels(), tool));
  STI_RETURN_IF_ERROR(nearest.Teach(*session));
  STI_ASSIGN_OR_RETURN(Adjuster adjuster, Adjuster::Make(*session, options, tool));
  if (!options.eval.empty()) return Evaluate(*session, options, tool, adjuster);
  if (options.texts.empty() && isatty(STDIN_FILENO) != 0) {
    tool.Say("ready; type a line, end with Ctrl-D");
  }
  LineAnswerer answerer(*session, options, tool);
  return options.texts.empty() ? AnswerLines(*session, answerer, options, adjuster)
                               : AnswerTexts(*session, answerer, options, adjuster);
}

}  // namespace
}  // namespace sti

int main(int argc, char** argv) {
  sti::NoteMain();
  sti::Tool tool("sti-run",
                 "Labels, embeds or continues texts, or labels images, executing a plan.",
                 "echo 'set an alarm for seven' | sti-run model.sti --plan model.plan");
  sti::RunOptions options;
  sti::AddRunOptions(tool.app(), options);
  return tool.Main(argc, argv, [&] { return sti::Serve(tool, options); });
}
