// The app of answer.c in C++: handles are freed by their owners. Usage: answer MODEL PLAN TEXT
#include <sti.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

using Host = std::unique_ptr<sti_host, decltype(&sti_host_free)>;
using Model = std::unique_ptr<sti_model, decltype(&sti_close)>;

void Check(const sti_error& error) {
  if (error.code != STI_OK) throw std::runtime_error(error.text);
}

Host NewHost() {
  sti_host* host = nullptr;
  sti_error error;
  sti_host_new(1, nullptr, nullptr, &host, &error);
  Check(error);
  return {host, sti_host_free};
}

Model Open(const Host& host, const char* path) {
  sti_model* model = nullptr;
  sti_error error;
  sti_open(host.get(), path, &model, &error);
  Check(error);
  return {model, sti_close};
}

void Answer(const char* path, const char* plan_path, const std::string& text) {
  const Host host = NewHost();
  const Model model = Open(host, path);
  std::ifstream file(plan_path, std::ios::binary);
  const std::string plan{std::istreambuf_iterator<char>(file), {}};
  sti_error error;
  sti_give(model.get(), STI_PLAN, plan.data(), plan.size(), &error);
  Check(error);
  sti_run(model.get(), text.data(), text.size(), nullptr, 0, &error);
  Check(error);
  const int32_t label = sti_label(model.get(), 0);
  std::printf("%s\t%.6f\n", sti_name(model.get(), label), sti_score(model.get(), label));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    Answer(argv[1], argv[2], argv[3]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "answer: %s\n", error.what());
    return 1;
  }
}
