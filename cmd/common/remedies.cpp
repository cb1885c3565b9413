#include "common/remedies.h"

#include "base/remedy.h"

namespace sti {
namespace {

// Returns what to do, as the end of a line: "run sti-shard again". Empty for no remedy.
const char* Advice(Remedy remedy) {
  switch (remedy) {
    case Remedy::kCopyFileAgain:
      return "copy the file again";
    case Remedy::kCopyModelAgain:
      return "copy the file again or run sti-shard";
    case Remedy::kMakeModel:
      return "make one with sti-shard";
    case Remedy::kMakeModelAgain:
      return "run sti-shard again";
    case Remedy::kMakeFileAgain:
      return "the file is damaged, make it again";
    case Remedy::kUpdateOrMakeModel:
      return "update the tools or run this version's sti-shard";
    case Remedy::kUpdateOrMakeFile:
      return "use a newer tool or make the file again with this one";
    case Remedy::kCorrectFile:
      return "correct it or make it again";
    case Remedy::kCorrectPlan:
      return "correct it or run sti-plan again";
    case Remedy::kPlanForModel:
      return "run sti-plan on this model";
    case Remedy::kCorrectProfile:
      return "correct it or run sti-profile again";
    case Remedy::kCorrectImportance:
      return "correct it or run sti-importance again";
    case Remedy::kUseOwnVocabulary:
      return "run sti-shard again with the model's own vocabulary and merges";
    case Remedy::kStoreMoreBits:
      return "run sti-shard with more --bits";
    case Remedy::kStoreTheseBits:
      return "run sti-shard with them";
    case Remedy::kUseWholeModel:
      return "use the container that they were made for, not one of sti-shard --for";
    case Remedy::kGiveParts:
      return "give files that --part wrote";
    case Remedy::kJoinParts:
      return "join the parts with sti-importance merge";
    case Remedy::kFinishPart:
      return "let it finish, with --resume";
    case Remedy::kBeginPartAnew:
      return "start again without --resume";
    case Remedy::kTryOtherReads:
      return "--io auto tries the other ways";
    case Remedy::kMoreMemory:
      return "raise --memory";
    case Remedy::kMoreTime:
      return "stop other work, or give --budget more time";
    case Remedy::kMeasureWidths:
      return "give --budget or --widths, or plan with --interpolate";
    case Remedy::kCoolCores:
      return "cool them or give --gap, and run again";
    case Remedy::kNone:
      break;
  }
  return "";
}

std::string WithAdvice(std::string line, Remedy remedy) {
  if (remedy != Remedy::kNone) (line += "; ") += Advice(remedy);
  return line;
}

}  // namespace

int ExitCode(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kMachine:
    case ErrorKind::kNoMemory:
    case ErrorKind::kReadFailed:
      return 1;
    case ErrorKind::kUsage:
    case ErrorKind::kCancelled:  // without a signal, whose number a tool would exit with
      return 2;
    case ErrorKind::kNoSuchFile:
    case ErrorKind::kDamaged:
    case ErrorKind::kForeign:
      return 3;
    case ErrorKind::kInfeasible:
      return 4;
  }
  return 1;
}

std::string LineFor(const Error& error) { return WithAdvice(error.Message(), error.remedy); }

std::string LineFor(const LogLine& line) { return WithAdvice(line.what, line.remedy); }

}  // namespace sti
