#include "fuzz/targets.h"

#include <cstdio>
#include <cstdlib>

#include "base/utf8.h"

namespace sti::fuzz {

std::span<const Target> Targets() {
  static constexpr Target kTargets[] = {
      {"container", Container},
      {"verify", Verify},
      {"index", Index},
      {"importance", Importance},
      {"importance_part", ImportancePart},
      {"label_vectors", LabelVectors},
      {"frame_stream", FrameStream},
      {"profile", Profile},
      {"cluster", Cluster},
      {"plan", Plan},
      {"profile_values", ProfileValues},
      {"importance_values", ImportanceValues},
      {"plan_values", PlanValues},
      {"safetensors", Safetensors},
      {"pickle", Pickle},
      {"config", Config},
      {"sentences", Sentences},
      {"vocab", Vocab},
      {"tokenizer", TokenizerJson},
      {"bpe", Bpe},
      {"tsv", Tsv},
      {"csv", Csv},
      {"jsonl", JsonLines},
      {"tagged", Tagged},
      {"text", Text},
      {"image", Image},
      {"api", Api},
  };
  return kTargets;
}

void Require(bool promise, const char* what) {
  if (promise) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

void RequireDataError(const Error& error) {
  const std::string message = error.Message();
  const bool printable = IsPrintable(message);
  if (!printable) std::fprintf(stderr, "%s\n", message.c_str());
  Require(BlamesData(error.kind), "bytes are refused as damaged or foreign data");
  Require(printable, "a message is one line of text");
  Require(message.size() < 10000, "a message is short");
}

}  // namespace sti::fuzz
