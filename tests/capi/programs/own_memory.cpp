// Answers texts with one model whose own memory is bounded, and prints what the library says that
// it takes, beside the growth of the process's anonymous memory since before the model was opened.
// Runs in the locale of its environment, as many apps do.
// Usage: own-memory MODEL.sti BYTES PLAN|- TEXT|--widest=TOKENS...
//   --widest=   instead of a text, ids whose rows lie in as many blocks of the file as can be: no
//               text of so many tokens makes the model read more
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "capi/sti.h"
#include "io/container_file.h"
#include "model/embedding_rows.h"

namespace {

// Returns a size of this process in bytes; 0 where the system does not say.
double SizeOf(const std::string& what) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(what)) return std::strtod(line.c_str() + what.size(), nullptr) * 1024;
  }
  return 0;
}

double AnonymousBytes() { return SizeOf("RssAnon:"); }

// Rows that lie in two blocks each, none of which another has.
std::vector<uint32_t> WidestIds(const char* path, size_t count) {
  const auto file = sti::ContainerFile::Open(path);
  if (!file.ok()) return {};
  std::vector<uint32_t> ids;
  uint64_t taken_end = 0;
  for (uint32_t row = 0; row < file->index().words.rows && ids.size() < count; ++row) {
    const auto range = sti::PlanEmbeddingReads(file->index(), {&row, 1}, 0).ranges.front();
    if (range.length == sti::kBlockBytes || range.offset < taken_end) continue;
    ids.push_back(row);
    taken_end = range.offset + range.length;
  }
  return ids;
}

// A text, or the ids that take its place.
struct Question {
  std::string text;
  std::vector<uint32_t> ids;
};

Question QuestionFrom(const std::string& argument, const char* path) {
  const std::string option = "--widest=";
  if (!argument.starts_with(option)) return {argument, {}};
  return {{}, WidestIds(path, std::strtoul(argument.c_str() + option.size(), nullptr, 10))};
}

sti_code Ask(sti_model* model, const Question& question, sti_error* error) {
  const auto& [text, ids] = question;
  if (!ids.empty()) return sti_run_ids(model, ids.data(), ids.size(), error);
  return sti_run(model, text.data(), text.size(), nullptr, 0, error);
}

sti_code GiveFile(sti_model* model, const char* path, sti_error* error) {
  std::ifstream file(path, std::ios::binary);
  const std::string plan{std::istreambuf_iterator<char>(file), {}};
  return sti_give(model, STI_PLAN, plan.data(), plan.size(), error);
}

int Use(sti_host* host, int argc, char** argv, sti_error* error) {
  std::vector<Question> questions;
  for (int i = 4; i < argc; ++i) questions.push_back(QuestionFrom(argv[i], argv[1]));
  const double before = AnonymousBytes();
  sti_model* model = nullptr;
  if (sti_open(host, argv[1], &model, error) != STI_OK) return 1;
  const double opened = AnonymousBytes();
  if (sti_set(model, STI_MEMORY_BYTES, std::atoll(argv[2]), error) != STI_OK ||
      (std::string(argv[3]) != "-" && GiveFile(model, argv[3], error) != STI_OK)) {
    return 1;
  }
  for (const Question& question : questions) {
    if (Ask(model, question, error) != STI_OK) return 1;
    std::printf("label %s\n", sti_name(model, sti_label(model, 0)));
  }
  std::printf("own %.0f\n", sti_stat(model, STI_OWN_BYTES));
  std::printf("growth %.0f\n", AnonymousBytes() - before);
  std::printf("beside the index %.0f\n", AnonymousBytes() - opened);
  if (sti_trim(model, 0, error) != STI_OK) return 1;
  std::printf("trimmed %.0f\n", AnonymousBytes() - before);
  std::printf("pinned %.0f\n", SizeOf("VmPin:"));  // registered with the system for reads
  sti_close(model);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  sti_host* host = nullptr;
  sti_error error;
  std::setlocale(LC_ALL, "");
  if (argc < 5 || sti_host_new(2, nullptr, nullptr, &host, &error) != STI_OK) return 2;
  const int status = Use(host, argc, argv, &error);
  if (status != 0) std::fprintf(stderr, "own-memory: %s\n", error.text);
  sti_host_free(host);
  return status;
}
