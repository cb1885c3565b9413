#include "base/result.h"

#include "base/remedy.h"
#include "base/utf8.h"

namespace sti {
namespace {

// Returns both with a colon between them, or the one that is not empty.
std::string Joined(std::string before, const std::string& after) {
  if (!before.empty() && !after.empty()) before += ": ";
  return before += after;
}

}  // namespace

Error Error::At(const std::string& name) && {
  place = OneLine(Joined(name, place));
  return std::move(*this);
}

Error Error::In(Source input) && {
  source = input;
  return std::move(*this);
}

Error Error::Fix(Remedy help, const std::string& taken) && {
  remedy = help;
  value = OneLine(taken);
  return std::move(*this);
}

Error Error::NeedingMemory(uint64_t bytes) && {
  remedy = Remedy::kMoreMemory;
  needed_bytes = bytes;
  return std::move(*this);
}

std::string Error::Message() const { return Joined(Joined(NameOf(source), place), what); }

const char* NameOf(Source source) {
  switch (source) {
    case Source::kModel:
      return "model";
    case Source::kPlan:
      return "plan";
    case Source::kProfile:
      return "profile";
    case Source::kImportance:
      return "importance";
    case Source::kExamples:
      return "examples";
    case Source::kInput:
      return "input";
    case Source::kNone:
      break;
  }
  return "";
}

std::string OneLine(std::string text) {
  constexpr size_t kHead = 4096;  // a path and what is wrong
  constexpr size_t kTail = 512;   // what to do
  if (text.size() > kHead + kTail) {
    text.replace(kHead, text.size() - kHead - kTail, " ... ");
  }
  return MakePrintable(text);
}

}  // namespace sti
