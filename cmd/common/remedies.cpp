#include "common/remedies.h"

#include <iterator>

#include "base/remedy.h"
#include "common/files.h"

namespace sti {
namespace {

constexpr AdviceWords::Sentence kSentences[] = {
    {Remedy::kCopyFileAgain, "copy the file again"},
    {Remedy::kCopyModelAgain, "copy the file again or run sti-shard"},
    {Remedy::kMakeModel, "make one with sti-shard"},
    {Remedy::kMakeModelAgain, "run sti-shard again"},
    {Remedy::kMakeFileAgain, "the file is damaged, make it again"},
    {Remedy::kUpdateOrMakeModel, "update the tools or run this version's sti-shard"},
    {Remedy::kUpdateOrMakeFile, "use a newer tool or make the file again with this one"},
    {Remedy::kCorrectFile, "correct it or make it again"},
    {Remedy::kUseBinaryForm,
     "make it in binary form, which takes less, under a name that does not end in .json"},
    {Remedy::kCorrectPlan, "correct it or run sti-plan again"},
    {Remedy::kPlanForModel, "run sti-plan on this model"},
    {Remedy::kCorrectProfile, "correct it or run sti-profile again"},
    {Remedy::kCorrectImportance, "correct it or run sti-importance again"},
    {Remedy::kUseOwnVocabulary, "run sti-shard again with the model's own vocabulary and merges"},
    {Remedy::kFetchLargeFile, "fetch the file with git lfs pull"},
    {Remedy::kGiveTokenizer, "add them, or give a folder that has them by --tokenizer"},
    {Remedy::kGivePooling,
     "fine-tune the encoder for labels first, give a model that was, or say how it embeds texts by "
     "--pooling"},
    {Remedy::kDropPooling, "leave --pooling out"},
    {Remedy::kGivePrefix, "give the one that fits to sti-run --prefix"},
    {Remedy::kStoreMoreBits, "run sti-shard with more --bits"},
    {Remedy::kStoreTheseBits, "run sti-shard with them"},
    {Remedy::kUseWholeModel,
     "use the container that they were made for, not one of sti-shard --for"},
    {Remedy::kGiveWholeLayers,
     "give the whole model, or what sti-shard --for makes for a plan of two layers or more, as "
     "wide "
     "as the model and at the same bits"},
    {Remedy::kGiveItsPlan, "give one of them by --plan"},
    {Remedy::kPlanAgain, "run sti-plan again"},
    {Remedy::kComputeAsPlanned,
     "run it with --compute {}, or plan with a profile of what this run has"},
    {Remedy::kMeasureAgain, "run sti-profile again"},
    {Remedy::kMeasureHere, "run sti-profile here"},
    {Remedy::kMeasureBatches, "run sti-profile --batches"},
    {Remedy::kMeasureLengths, "ask for one of these or run sti-profile --lengths"},
    {Remedy::kMeasureTheseWidths, "run sti-profile --widths"},
    {Remedy::kMeasureOrEstimateWidths, "measure it (sti-profile --widths), or --interpolate"},
    {Remedy::kMeasureSubmodels, "run sti-importance --submodels and give --importance"},
    {Remedy::kMeasureCascades, "run sti-importance --cascade and give --importance"},
    {Remedy::kProfileForModel, "run sti-profile on this model"},
    {Remedy::kImportanceForModel, "run sti-importance on this model"},
    {Remedy::kEmbedExamples,
     "embed the examples for this model and plan: sti-run --nearest EXAMPLES --keep NEW-FILE"},
    {Remedy::kGiveInRequest, "use {}"},
    {Remedy::kDropFromRequest, "drop {}"},
    {Remedy::kRaiseInRequest, "raise {}"},
    {Remedy::kLowerInRequest, "lower {}"},
    {Remedy::kNameColumns,
     "name the columns with --text-column, --pair-column and --label-column, or number them from 1 "
     "if there is no header"},
    {Remedy::kGiveEvaluation, "give what sti-run --eval --json printed"},
    {Remedy::kGiveParts, "give files that --part wrote"},
    {Remedy::kJoinParts, "join the parts with sti-importance merge"},
    {Remedy::kFinishPart, "let it finish, with --resume"},
    {Remedy::kBeginPartAnew, "start again without --resume"},
    {Remedy::kTryOtherReads, "--io auto tries the other ways"},
    {Remedy::kMoreMemory, "raise --memory"},
    {Remedy::kMoreThreads, "try --threads 1 or allow more memory and processes"},
    {Remedy::kMoreLockedMemory, "raise ulimit -l, or leave --lock-memory out"},
    {Remedy::kMoreTime, "stop other work, or give --budget more time"},
    {Remedy::kMeasureWidths, "give --budget or --widths, or plan with --interpolate"},
    {Remedy::kCoolCores, "cool them or give --gap, and run again"},
};

static_assert(std::size(kSentences) == static_cast<size_t>(Remedy::kCoolCores),
              "every remedy but kNone, the first, has one sentence; kCoolCores is the last");

constexpr AdviceWords::Option kRequestOptions[] = {
    {"agents", "--agents"},
    {"allow_untrained", "--allow-untrained"},
    {"cascade", "--cascade"},
    {"cold", "--cold"},
    {"full_accuracy", "--full-accuracy"},
    {"guarantee", "--guarantee"},
    {"io_budget_bytes", "--io-budget"},
    {"length", "--length"},
    {"context", "--context"},
    {"batches", "--batches"},
    {"max_levels", "--max-levels"},
    {"memory_bytes", "--memory"},
    {"min_accuracy", "--min-accuracy"},
    {"preload_bytes", "--preload"},
    {"risk", "--risk"},
    {"similar", "--similar"},
    {"strategy", "--strategy"},
    {"submodel", "--submodel"},
    {"target_us", "--target"},
    {"turn_bytes", "--turn-buffer"},
    {"turns", "--turns"},
    {"uniform_bits", "--bits"},
    {"wake_us", "--wake"},
};

constexpr AdviceWords kWords{kSentences, kRequestOptions};

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

std::string LineFor(const Error& error) {
  return WithAdvice(error.Message(), error.remedy, error.value, kWords);
}

std::string LineFor(const LogLine& line) { return WithAdvice(line.what, line.remedy, "", kWords); }

Error Named(Error error, const InputFiles& files) {
  const std::string* path = nullptr;
  if (error.source == Source::kModel) path = &files.model;
  if (error.source == Source::kPlan) path = &files.plan;
  if (error.source == Source::kProfile) path = &files.profile;
  if (error.source == Source::kImportance) path = &files.importance;
  if (path == nullptr || path->empty()) return error;
  error.source = Source::kNone;
  return std::move(error).At(InputName(*path));
}

}  // namespace sti
