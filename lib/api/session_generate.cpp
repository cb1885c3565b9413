// How a session continues a text: the prompt in one pass, then a token a pass.
#include <algorithm>
#include <string>

#include "api/session.h"
#include "pipeline/pass.h"
#include "text/token_text.h"
#include "text/tokenizer.h"

namespace sti {
namespace {

// One continuation under way: its passes, what they come to, and the text of its tokens.
class Generation {
 public:
  Generation(Pipeline& pipeline, const Vocabulary& vocabulary, Continuation& said)
      : pipeline_(pipeline), text_(vocabulary), said_(said) {}

  // Runs the tokens that stand at `first` in the text. The logits behind the last are those of
  // `run`.
  Status Pass(std::span<const uint32_t> ids, uint32_t first, RunResult* run) {
    types_.assign(ids.size(), 0);
    STI_RETURN_IF_ERROR(RunPiece(pipeline_, ids, types_, first, run));
    said_.pass_us.push_back(run->latency_us);
    bytes_read_ += run->bytes_read;
    stall_us_ += run->stall_us;
    return {};
  }

  // Takes a token. Returns whether the caller wants another.
  bool Take(uint32_t id, TokenSink sink) {
    said_.ids.push_back(id);
    const std::string whole = text_.Add(id);
    said_.text += whole;
    return sink(id, whole);
  }

  // Ends the continuation, and leaves in `run` what all passes came to.
  void Finish(RunResult* run) {
    said_.text += text_.Finish();
    run->bytes_read = bytes_read_;
    run->stall_us = stall_us_;
  }

 private:
  Pipeline& pipeline_;
  TokenText text_;
  Continuation& said_;
  std::vector<uint32_t> types_;
  uint64_t bytes_read_ = 0;
  double stall_us_ = 0;
};

uint32_t Likeliest(std::span<const float> logits) {
  return static_cast<uint32_t>(std::ranges::max_element(logits) - logits.begin());
}

}  // namespace

Status Session::CheckPrompt(const Encoding& prompt) const {
  if (!info().continues_texts()) return UsageError("the model continues no texts");
  STI_RETURN_IF_ERROR(Check(prompt));
  const uint32_t context = plan().context;
  if (context == 0) return UsageError("the plan has no context, and texts are to be continued");
  if (prompt.ids.size() < context) {
    if (!prompt.truncated) return {};
    return DataError("a text of more than the " + std::to_string(prompt.ids.size()) +
                     " tokens that the plan's longest prompt has")
        .In(Source::kInput);
  }
  return DataError("a text of " + std::string(prompt.truncated ? "more than " : "") +
                   std::to_string(prompt.ids.size()) +
                   " tokens, which leaves no room to continue it: text and continuation have " +
                   std::to_string(context) + " together")
      .In(Source::kInput);
}

Status Session::Generate(const Encoding& prompt, uint32_t most, Clock::time_point taken,
                         TokenSink sink, Answer* answer) {
  using End = Continuation::End;
  STI_RETURN_IF_ERROR(CheckPrompt(prompt));
  const bool cold = Begin(&taken);
  BeginWhole(static_cast<uint32_t>(prompt.ids.size()), answer);
  auto& said = answer->content.emplace<Continuation>();
  Generation generation(*pipeline_, *vocabulary(), said);
  (void)TermsFor(prompt.ids.size(), taken, answer);
  STI_RETURN_IF_ERROR(generation.Pass(prompt.ids, 0, &answer->run));
  said.first_us = MicrosecondsBetween(taken, Clock::now());
  for (;;) {
    const uint32_t id = Likeliest(answer->run.values);
    if (id == info().tokenizer.sep_id) {
      said.end = End::kToken;
      break;
    }
    const bool goes_on = generation.Take(id, sink);
    const auto end = answer->tokens + static_cast<uint32_t>(said.ids.size());
    said.end = !goes_on ? End::kCaller : said.ids.size() == most ? End::kCount : End::kContext;
    if (!goes_on || said.ids.size() == most || end == plan().context) break;
    answer->plan = &pipeline_->PlanFor(1);
    STI_RETURN_IF_ERROR(generation.Pass({&id, 1}, end - 1, &answer->run));
  }
  generation.Finish(&answer->run);
  answer->target_us.reset();
  this->End(taken, cold, answer);
  return {};
}

}  // namespace sti
