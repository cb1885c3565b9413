// A remedy says what would help after an error or beside a line of a log. The library names neither
// a tool nor an option, because it does not know which program it is part of; cmd/common/remedies.h
// has the sentences of the tools. A remedy is here if its sentence names a tool or an option, or if
// several errors share it; other advice stands in Error::what.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sti {

enum class Remedy : uint8_t {
  kNone,

  // A file that is not what it should be.
  kCopyFileAgain,      ///< this copy is too short; the original may be whole
  kCopyModelAgain,     ///< a container is damaged: copy it again, or make it again
  kMakeModel,          ///< the file is no container: make one
  kMakeModelAgain,     ///< the container was written wrong, so a copy would not help
  kMakeFileAgain,      ///< a plan, profile, importance or part of one is damaged
  kUpdateOrMakeModel,  ///< the container is newer than this program
  kUpdateOrMakeFile,   ///< a file other than a container is newer than this program
  kCorrectFile,        ///< JSON breaks a rule: correct it, or make the file again
  kUseBinaryForm,      ///< JSON takes too much memory: the same file in binary form takes less
  kCorrectPlan,        ///< a value of a plan breaks a rule: correct it, or plan again
  kPlanForModel,       ///< a plan is sound, but for another model: plan for this one
  kCorrectProfile,     ///< a value of a profile breaks a rule: correct it, or measure again
  kCorrectImportance,  ///< a value of an importance breaks a rule: correct it, or measure again
  kUseOwnVocabulary,   ///< make the container again with the vocabulary and merges of its model

  // A folder of a model.
  kFetchLargeFile,  ///< a pointer of git-lfs stands for the file, which was not fetched
  kGiveTokenizer,   ///< it lacks its tokenizer, which may lie in another folder
  kGivePooling,     ///< it has no classifier, and may be meant to embed: say how rows are pooled
  kDropPooling,     ///< it says itself how rows are pooled
  kGivePrefix,      ///< its texts begin with words that whoever asks it has to add

  // A container that lacks something.
  kStoreMoreBits,    ///< it has one bitwidth only
  kStoreTheseBits,   ///< it lacks the bitwidths that `what` names
  kUseWholeModel,    ///< it holds only what some plans read
  kGiveWholeLayers,  ///< it lacks two whole layers, or an end of the network
  kGiveItsPlan,      ///< it holds only what some plans read, and no plan is given

  // A plan that is sound, but not for this run.
  kPlanAgain,         ///< it lacks what newer plans say
  kComputeAsPlanned,  ///< it counts on other arithmetic; value: the type, "bf16"

  // A measurement that lacks what a plan needs, or is for another model.
  kMeasureAgain,             ///< a profile lacks times, or there is none
  kMeasureHere,              ///< a plan counts on another machine
  kMeasureLengths,           ///< no profiled length is as long
  kMeasureBatches,           ///< no pass of so many inputs is profiled
  kMeasureTheseWidths,       ///< the widths that `what` names were not profiled
  kMeasureOrEstimateWidths,  ///< as kMeasureTheseWidths, and neighbours of theirs were
  kMeasureSubmodels,         ///< an importance lacks A(n, m)
  kMeasureCascades,          ///< an importance lacks cascades
  kProfileForModel,          ///< a profile is for another model
  kImportanceForModel,       ///< an importance is for another model
  kEmbedExamples,            ///< label vectors are of another model or plan: embed here

  // A request to the planner. `value` is what the verb takes, with fields by their names in
  // PlanRequest: "turns and wake_us", "target_us, or preload_bytes to 4096 bytes".
  kGiveInRequest,
  kDropFromRequest,
  kRaiseInRequest,
  kLowerInRequest,

  // A data set, and evaluations on it.
  kNameColumns,     ///< which columns are text, pair and label cannot be told: choose them
  kGiveEvaluation,  ///< the file is no evaluation, or says nothing of its rows

  // Parts of an importance.
  kGiveParts,      ///< the file is no part
  kJoinParts,      ///< the file is a part, and the whole is needed
  kFinishPart,     ///< the part is unfinished
  kBeginPartAnew,  ///< the progress is that of other work

  // A machine.
  kTryOtherReads,     ///< another way to read may work
  kMoreMemory,        ///< the memory given is not enough; needed_bytes would be, if known
  kMoreThreads,       ///< the system gives no more threads
  kMoreLockedMemory,  ///< the system lets the process lock no more memory
  kMoreTime,          ///< a measurement is too short for its precision, or the machine too busy
  kMeasureWidths,     ///< some widths are not measured, for want of time
  kCoolCores,         ///< cores became hotter while measuring
};

/// Holds the words of one teller. What it cannot come to has no sentence.
struct AdviceWords {
  struct Sentence {
    Remedy remedy;
    std::string_view text;  ///< {} in it stands for the value of the remedy
  };
  struct Option {
    std::string_view field;  ///< of PlanRequest, as values of remedies name it
    std::string_view name;
  };
  std::span<const Sentence> sentences;
  std::span<const Option> options;
};

/// Returns "line; what would help", or `line` if there is no sentence for the remedy. In `value`
/// options stand in place of fields.
std::string WithAdvice(std::string line, Remedy remedy, std::string_view value,
                       const AdviceWords& words);

}  // namespace sti
