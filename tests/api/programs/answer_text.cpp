// The smallest app: opens a model under a plan, and answers one text.
// Usage: answer-text MODEL.sti PLAN TEXT
#include <cstdio>

#include "api/session.h"
#include "base/atomic_file.h"
#include "base/utf8.h"
#include "format/plan_file.h"
#include "io/container_file.h"
#include "text/tokenizer.h"

namespace sti {
namespace {

Status AnswerText(const char* model, const char* plan_path, const char* text) {
  STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(model));
  STI_ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(plan_path, uint64_t{1} << 20));
  STI_ASSIGN_OR_RETURN(Plan plan, ParsePlan(AsBytes(bytes), plan_path));
  STI_ASSIGN_OR_RETURN(const auto session, Session::Open(std::move(file), std::move(plan), {}));
  STI_ASSIGN_OR_RETURN(const Encoding encoding, session->Encode(text));
  Answer answer;
  STI_RETURN_IF_ERROR(session->Ask(encoding, Clock::now(), &answer));
  std::printf("%s\t%.4f\n", session->info().labels[answer.labels().label].c_str(),
              double{answer.labels().scores[answer.labels().label]});
  return {};
}

}  // namespace
}  // namespace sti

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const sti::Status status = sti::AnswerText(argv[1], argv[2], argv[3]);
  if (!status.ok()) std::fprintf(stderr, "answer-text: %s\n", status.error().Message().c_str());
  return status.ok() ? 0 : 1;
}
