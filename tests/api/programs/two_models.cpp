// An app with two models that share its cores and its flash, each asked by a thread of its own.
// Usage: two-models FIRST.sti SECOND.sti TEXT...
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "api/session.h"
#include "base/thread_pool.h"
#include "io/container_file.h"
#include "pipeline/io_share.h"
#include "pipeline/whole_plan.h"
#include "text/tokenizer.h"

namespace sti {
namespace {

constexpr uint64_t kBytesInFlight = uint64_t{1} << 20;

/// Answers every text with one model, into `labels`.
Status AnswerAll(const std::string& model, const SessionOptions& options,
                 const std::vector<std::string>& texts, std::vector<std::string>* labels) {
  STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(model));
  STI_ASSIGN_OR_RETURN(Plan plan, MakeWholePlan(file.index(), {}));
  STI_ASSIGN_OR_RETURN(const auto session,
                       Session::Open(std::move(file), std::move(plan), options));
  Answer answer;
  for (const std::string& text : texts) {
    STI_ASSIGN_OR_RETURN(const Encoding encoding, session->Encode(text));
    STI_RETURN_IF_ERROR(session->Ask(encoding, Clock::now(), &answer));
    labels->push_back(session->info().labels[answer.labels().label]);
  }
  return {};
}

int Main(const std::vector<std::string>& arguments) {
  const std::vector<std::string> texts(arguments.begin() + 2, arguments.end());
  ThreadPool cores(2);
  IoShare io(kBytesInFlight);
  SessionOptions options;
  options.cores = &cores;
  options.io = &io;
  Status statuses[2];
  std::vector<std::string> labels[2];
  std::vector<std::thread> askers;
  for (int i = 0; i < 2; ++i) {
    askers.emplace_back(
        [&, i] { statuses[i] = AnswerAll(arguments[i], options, texts, &labels[i]); });
  }
  for (std::thread& asker : askers) asker.join();
  for (int i = 0; i < 2; ++i) {
    if (!statuses[i].ok()) {
      std::fprintf(stderr, "two-models: %s\n", statuses[i].error().Message().c_str());
      return 1;
    }
    for (size_t t = 0; t < texts.size(); ++t)
      std::printf("%d\t%s\t%s\n", i + 1, labels[i][t].c_str(), texts[t].c_str());
  }
  return 0;
}

}  // namespace
}  // namespace sti

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  return sti::Main({argv + 1, argv + argc});
}
