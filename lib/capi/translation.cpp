#include "capi/translation.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/remedy.h"
#include "base/utf8.h"
#include "capi/sti.h"

namespace sti {
namespace {

// An app cannot come to some remedies, which have no sentence.
constexpr AdviceWords::Sentence kSentences[] = {
    {Remedy::kCopyFileAgain, "copy the file again"},
    {Remedy::kCopyModelAgain, "copy the model again, or make it again"},
    {Remedy::kMakeModel, "make a container of the model first"},
    {Remedy::kMakeModelAgain, "make the container again"},
    {Remedy::kMakeFileAgain, "it is damaged, make it again"},
    {Remedy::kUpdateOrMakeModel, "update the library, or make the container with this version"},
    {Remedy::kUpdateOrMakeFile, "update the library, or make it again with this version"},
    {Remedy::kCorrectFile, "correct it, or make it again"},
    {Remedy::kUseBinaryForm, "give it in binary form, which takes less"},
    {Remedy::kCorrectPlan, "correct it, or plan again"},
    {Remedy::kPlanForModel, "plan for this model"},
    {Remedy::kCorrectProfile, "correct it, or measure the device again"},
    {Remedy::kCorrectImportance, "correct it, or measure the importance again"},
    {Remedy::kUseOwnVocabulary, "make the container again with the model's own vocabulary"},
    {Remedy::kStoreMoreBits, "make the container with more bitwidths"},
    {Remedy::kStoreTheseBits, "make the container with them"},
    {Remedy::kUseWholeModel, "use the whole container that they were made for"},
    {Remedy::kGiveItsPlan, "give the model one of them"},
    {Remedy::kPlanAgain, "plan again"},
    {Remedy::kComputeAsPlanned, "compute in {}, or plan with a profile of other arithmetic"},
    {Remedy::kMeasureAgain, "measure this device, or give its profile"},
    {Remedy::kMeasureHere, "measure this device"},
    {Remedy::kMeasureBatches, "measure these"},
    {Remedy::kMeasureLengths, "plan for one of these, or measure them"},
    {Remedy::kMeasureTheseWidths, "measure them"},
    {Remedy::kMeasureOrEstimateWidths, "measure it"},
    {Remedy::kMeasureSubmodels, "give an importance with the accuracy of submodels"},
    {Remedy::kMeasureCascades, "give an importance with cascades"},
    {Remedy::kProfileForModel, "measure with this model"},
    {Remedy::kImportanceForModel, "measure the importance of this model"},
    {Remedy::kEmbedExamples, "embed the examples with this model and plan"},
    {Remedy::kGiveInRequest, "set {}"},
    {Remedy::kDropFromRequest, "do not set {}"},
    {Remedy::kRaiseInRequest, "raise {}"},
    {Remedy::kLowerInRequest, "lower {}"},
    {Remedy::kTryOtherReads, "other ways to read may work"},
    {Remedy::kMoreMemory, "raise STI_MEMORY_BYTES"},
    {Remedy::kMoreThreads, "allow the process more threads and memory"},
    {Remedy::kMoreLockedMemory, "raise RLIMIT_MEMLOCK"},
    {Remedy::kMoreTime, "stop other work, or give more time"},
    {Remedy::kMeasureWidths, "give more time"},
    {Remedy::kCoolCores, "let the cores cool, and measure again"},
};

constexpr AdviceWords::Option kOptionNames[] = {
    {"target_us", "STI_TARGET_US"},
    {"preload_bytes", "STI_PRELOAD_BYTES"},
    {"memory_bytes", "STI_MEMORY_BYTES"},
    {"wake_us", "STI_LEAD_TIME_US"},
    {"length", "STI_LENGTH"},
    {"turns", "STI_TURNS"},
    {"min_accuracy", "STI_MIN_ACCURACY_PPM"},
    {"full_accuracy", "STI_FULL_ACCURACY_PPM"},
    {"guarantee", "STI_GUARANTEE"},
    {"context", "STI_CONTEXT"},
};

constexpr AdviceWords kWords{kSentences, kOptionNames};

int32_t KindOf(Source source) {
  switch (source) {
    case Source::kPlan:
      return STI_PLAN;
    case Source::kProfile:
      return STI_PROFILE;
    case Source::kImportance:
      return STI_IMPORTANCE;
    case Source::kExamples:
      return STI_EXAMPLES;
    case Source::kNone:
    case Source::kModel:
    case Source::kInput:
      return 0;
  }
  return 0;
}

// Copies what fits of a text, whole characters only, with a 0 behind it.
template <size_t kRoom>
void CopyCut(std::string_view text, char (&to)[kRoom]) noexcept {
  size_t size = std::min(text.size(), kRoom - 1);
  const auto continues = [&](size_t at) { return (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80; };
  while (size > 0 && size < text.size() && continues(size)) --size;
  std::memcpy(to, text.data(), size);
  to[size] = 0;
}

}  // namespace

sti_code CodeFor(const Error& error) {
  if (error.source == Source::kInput) return STI_BAD_INPUT;
  switch (error.kind) {
    case ErrorKind::kMachine:
      return STI_MACHINE;
    case ErrorKind::kNoMemory:
      return STI_NO_MEMORY;
    case ErrorKind::kReadFailed:
      return STI_READ_FAILED;
    case ErrorKind::kUsage:
      return STI_USAGE;
    case ErrorKind::kNoSuchFile:
      return STI_NO_SUCH_FILE;
    case ErrorKind::kDamaged:
      return STI_DAMAGED;
    case ErrorKind::kForeign:
      return STI_FOREIGN;
    case ErrorKind::kInfeasible:
      return STI_INFEASIBLE;
    case ErrorKind::kCancelled:
      return STI_CANCELLED;
  }
  return STI_MACHINE;
}

std::string TextFor(const Error& error) {
  return MakePrintable(WithAdvice(error.Message(), error.remedy, error.value, kWords));
}

std::string TextFor(const LogLine& line) {
  return MakePrintable(WithAdvice(line.what, line.remedy, "", kWords));
}

void ClearError(sti_error* to) noexcept { FillError(STI_OK, "", to); }

sti_code FillError(const Error& error, sti_error* to) {
  if (to == nullptr) return CodeFor(error);
  const std::string text = TextFor(error);
  to->code = CodeFor(error);
  to->about = KindOf(error.source);
  CopyCut(text, to->text);
  return to->code;
}

sti_code FillError(sti_code code, const char* text, sti_error* to) noexcept {
  if (to == nullptr) return code;
  to->code = code;
  to->about = 0;
  CopyCut(text, to->text);
  return code;
}

namespace {

constexpr int64_t kMost = int64_t{1} << 50;  // exact as a double
constexpr int64_t kMostCount = std::numeric_limits<int32_t>::max();
constexpr int64_t kMillion = 1'000'000;

template <typename T>
std::optional<T> Unless0(T value) {
  return value == 0 ? std::nullopt : std::optional<T>(value);
}

struct Option {
  int32_t number;
  int64_t most;
  void (*set)(ModelOptions&, int64_t);
};

constexpr Option kOptions[] = {
    {STI_TARGET_US, kMost,
     [](ModelOptions& o, int64_t v) { o.request.target_us = Unless0(static_cast<double>(v)); }},
    {STI_PRELOAD_BYTES, kMost,
     [](ModelOptions& o, int64_t v) { o.request.preload_bytes = static_cast<uint64_t>(v); }},
    {STI_MEMORY_BYTES, kMost,
     [](ModelOptions& o, int64_t v) {
       o.request.judging.memory_bytes = Unless0(static_cast<uint64_t>(v));
     }},
    {STI_LENGTH, kMostCount,
     [](ModelOptions& o, int64_t v) { o.request.length = static_cast<uint32_t>(v); }},
    {STI_LEAD_TIME_US, kMost,
     [](ModelOptions& o, int64_t v) { o.request.wake_us = Unless0(static_cast<double>(v)); }},
    {STI_TURNS, kMostCount,
     [](ModelOptions& o, int64_t v) { o.modes.turns = static_cast<uint32_t>(v); }},
    {STI_MIN_ACCURACY_PPM, kMillion,
     [](ModelOptions& o, int64_t v) {
       o.request.min_accuracy = Unless0(static_cast<double>(v) / kMillion);
     }},
    {STI_FULL_ACCURACY_PPM, kMillion,
     [](ModelOptions& o, int64_t v) {
       o.request.full_accuracy = Unless0(static_cast<double>(v) / kMillion);
     }},
    {STI_GUARANTEE, 1, [](ModelOptions& o, int64_t v) { o.modes.guarantee = v != 0; }},
    {STI_CONTEXT, kMostCount,
     [](ModelOptions& o, int64_t v) { o.request.context = static_cast<uint32_t>(v); }},
    {STI_LATE, STI_LATE_DEGRADE,
     [](ModelOptions& o, int64_t v) {
       o.late = v == STI_LATE_DEGRADE ? Late::kDegrade : Late::kWait;
     }},
    {STI_COMPUTE, STI_COMPUTE_INT8,
     [](ModelOptions& o, int64_t v) {
       constexpr ComputeType kTypes[] = {ComputeType::kFp32, ComputeType::kBf16,
                                         ComputeType::kInt8};
       o.compute.reset();
       if (v != STI_COMPUTE_AS_PLANNED) o.compute = kTypes[v - STI_COMPUTE_FP32];
     }},
    {STI_THRESHOLD_PPM, kMillion,
     [](ModelOptions& o, int64_t v) {
       o.threshold = v == 0 ? ModelOptions().threshold : static_cast<double>(v) / kMillion;
     }},
    {STI_CLOCK_KHZ, kMost,
     [](ModelOptions& o, int64_t v) { o.clock_khz = static_cast<uint64_t>(v); }},
    {STI_AGGREGATION, STI_AGGREGATION_NONE,
     [](ModelOptions& o, int64_t v) {
       constexpr Aggregation kWays[] = {Aggregation::kFirst, Aggregation::kAverage,
                                        Aggregation::kMax, Aggregation::kSimple,
                                        Aggregation::kNone};
       o.aggregation = kWays[v];
     }},
    {STI_WINDOW, kMostCount,
     [](ModelOptions& o, int64_t v) { o.window_tokens = static_cast<uint32_t>(v); }},
    {STI_STRIDE, kMostCount,
     [](ModelOptions& o, int64_t v) { o.window_stride = static_cast<uint32_t>(v); }},
    {STI_LOCK_MEMORY, 1, [](ModelOptions& o, int64_t v) { o.lock_memory = v != 0; }},
};

}  // namespace

Status SetOption(int32_t option, int64_t value, ModelOptions& options) {
  const auto* known = std::find_if(std::begin(kOptions), std::end(kOptions),
                                   [&](const Option& o) { return o.number == option; });
  if (known == std::end(kOptions)) {
    return UsageError("there is no option " + std::to_string(option) + "; sti.h lists them");
  }
  if (value < 0 || value > known->most) {
    return UsageError("option " + std::to_string(option) + " takes 0 to " +
                      std::to_string(known->most) + ", not " + std::to_string(value));
  }
  known->set(options, value);
  return {};
}

double FigureOf(const ModelAnswer& answer, int32_t figure) {
  switch (figure) {
    case STI_LATENCY_US:
      return answer.latency_us;
    case STI_IS_LATE:
      return answer.late ? 1 : 0;
    case STI_TRUNCATED:
      return answer.truncated ? 1 : 0;
    case STI_TOKENS:
      return answer.tokens;
    case STI_CHOSEN:
      return answer.chosen;
    case STI_TURN:
      return static_cast<double>(answer.turn);
    case STI_READ_BYTES:
      return static_cast<double>(answer.bytes_read);
    case STI_STALL_US:
      return answer.stall_us;
    case STI_DEGRADED_SHARDS:
      return answer.degraded_shards;
    case STI_DEPTH:
      return answer.depth;
    case STI_WIDTH:
      return answer.width;
    case STI_LEVEL:
      return answer.level ? *answer.level : kNoNumber;
    case STI_CONFIDENCE:
      return answer.confidence.value_or(kNoNumber);
    case STI_FELL_BACK:
      return answer.fell_back ? 1 : 0;
    case STI_ROWS_MISSING:
      return answer.rows_missing;
    case STI_SPANS:
      return static_cast<double>(answer.spans.size());
    case STI_WINDOWS:
      return answer.windows;
    case STI_MADE:
      return answer.continuation ? answer.continuation->tokens : kNoNumber;
    case STI_FIRST_US:
      return answer.continuation ? answer.continuation->first_us : kNoNumber;
    case STI_CONTEXT_LEFT:
      return answer.continuation ? answer.continuation->context_left : kNoNumber;
    default:
      return kNoNumber;
  }
}

double FigureOf(Model& model, int32_t figure) {
  const ModelFigures figures = model.figures();
  switch (figure) {
    case STI_LABELS:
      return model.info().labels_tokens() ? model.info().shape.labels : model.labels().count();
    case STI_OWN_BYTES:
      return static_cast<double>(figures.memory_bytes);
    case STI_PRELOADED_BYTES:
      return static_cast<double>(figures.preload_bytes);
    case STI_PREDICTED_US:
      return figures.predicted_us;
    case STI_PREDICTED_P99_US:
      return figures.predicted_p99_us;
    case STI_COMPUTE_DRIFT:
      return figures.drift.compute_ratio;
    case STI_READ_DRIFT:
      return figures.drift.io_ratio;
    case STI_LONGEST:
      return model.info().max_length();
    case STI_DIMENSIONS:
      return model.info().embeds() && model.labels().count() == 0 ? model.info().head_values() : 0;
    case STI_TOKEN_LABELS:
      return model.info().labels_tokens() ? 1 : 0;
    case STI_IMAGE_SIZE:
      return model.info().shape.image.value_or(ImageShape()).size;
    case STI_IMAGE_CHANNELS:
      return model.info().shape.image.value_or(ImageShape()).channels;
    case STI_CONTINUES:
      return model.info().continues_texts() ? 1 : 0;
    default:
      return kNoNumber;
  }
}

}  // namespace sti
