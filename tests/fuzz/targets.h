// The fuzz targets: one function a parser, taking whatever bytes there are. The same functions run
// under libFuzzer (`make fuzz`) and, over the files in corpus/, in the unit tests.
//
// A target ends the process where a promise is broken: a crash, a sanitizer's finding, or Require.
// Checksums would keep a fuzzer out, so targets also read the bytes with checksums put right.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace sti::fuzz {

using Input = std::span<const uint8_t>;

void Container(Input input);   ///< header, index, parts
void Verify(Input input);      ///< a container as a file, read whole
void Index(Input input);       ///< edits of a sound container, its checksums right again
void Importance(Input input);  ///< binary or JSON, as profile and plan
void ImportancePart(Input input);
void LabelVectors(Input input);
void FrameStream(Input input);  ///< frames between stages, one after another
void Profile(Input input);
void Cluster(Input input);
void Plan(Input input);
void ProfileValues(Input input);  ///< edits of a sound profile, which is then planned with
void ImportanceValues(Input input);
void PlanValues(Input input);  ///< edits of sound plans, under which a model then runs
void Safetensors(Input input);
void Pickle(Input input);         ///< pytorch_model.bin; then the pickle of one
void Config(Input input);         ///< config.json
void Sentences(Input input);      ///< modules.json and what it names, with zero bytes between
void Vocab(Input input);          ///< vocab.txt
void TokenizerJson(Input input);  ///< tokenizer.json; behind a zero byte tokenizer_config.json
void Bpe(Input input);  ///< vocab.json, merges.txt, tokenizer_config.json; zero bytes between
void Tsv(Input input);
void Csv(Input input);
void JsonLines(Input input);
void Tagged(Input input);  ///< texts in CoNLL's columns
void Image(Input input);   ///< an image file: PNG, PPM or numbers
void Text(Input input);    ///< a text to tokenise; behind a tab its pair
void Api(Input input);     ///< calls of the C library

struct Target {
  const char* name;
  void (*run)(Input);
};

/// All of them; names are those of the folders in corpus/.
std::span<const Target> Targets();

/// Ends the process unless `promise` holds.
void Require(bool promise, const char* what);

/// Requires that a refusal is one: damaged data, in one line of reasonable length.
void RequireDataError(const Error& error);

inline std::string AsText(Input input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}

}  // namespace sti::fuzz
