// The C library: every function of sti.h, and nothing else. A call turns numbers and pointers into
// what lib/api takes, and its errors and exceptions into codes.
#include "capi/sti.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "api/model.h"
#include "base/control_group.h"
#include "base/process_memory.h"
#include "base/thread.h"
#include "capi/translation.h"
#include "format/importance_file.h"
#include "format/plan_file.h"
#include "format/profile_file.h"

struct sti_host {
  std::shared_ptr<sti::Host> shared;
  const pid_t process = getpid();  ///< that has the threads
};

struct sti_model {
  std::unique_ptr<sti::Model> model;
  const pid_t process = getpid();
};

namespace sti {
namespace {

constexpr uint32_t kMostThreads = 256;
constexpr size_t kMostTextBytes = size_t{1} << 30;

// Whether this thread is in a callback of the app, from which the library must not be called: the
// call that it belongs to may hold what the new one would wait for.
thread_local bool in_callback = false;

class InCallback {
 public:
  InCallback() : before_(std::exchange(in_callback, true)) {}
  ~InCallback() { in_callback = before_; }
  InCallback(const InCallback&) = delete;
  InCallback& operator=(const InCallback&) = delete;

 private:
  bool before_;
};

Status CheckGiven(bool given, const char* what) {
  if (given) return {};
  return UsageError(std::string(what) + " is NULL");
}

// Whether a handle is used in a forked child of the process that made it. Its threads are not
// there, and its locks may be held for ever.
template <typename Handle>
bool IsOfParent(const Handle* handle) {
  return handle != nullptr && handle->process != getpid();
}

template <typename Handle>
Status CheckOwn(const Handle* handle, const char* what) {
  STI_RETURN_IF_ERROR(CheckGiven(handle != nullptr, what));
  if (!IsOfParent(handle)) return {};
  return UsageError(std::string("the ") + what +
                    " is of the process that this one was forked from; make a host here, and open "
                    "models on it");
}

// Frees a handle, unless that must not be done here.
template <typename Handle>
void Free(Handle* handle) {
  if (in_callback || IsOfParent(handle)) return;
  const UsualFloats floats;
  delete handle;
  GiveBackFreeMemory();
}

// Runs the body of a call. What it returns or throws becomes a code.
template <typename Body>
sti_code Guarded(sti_error* error, const Body& body) noexcept {
  if (in_callback) return FillError(STI_USAGE, "a callback must not call the library", error);
  const UsualFloats floats;
  try {
    const Status status = body();
    if (!status.ok()) return FillError(status.error(), error);
    ClearError(error);
    return STI_OK;
  } catch (const std::bad_alloc&) {
    return FillError(STI_NO_MEMORY, "out of memory", error);
  } catch (const std::system_error&) {
    return FillError(STI_MACHINE, "the system gives no more threads; allow the process more",
                     error);
  } catch (...) {
    return FillError(STI_MACHINE, "an error that the library does not know", error);
  }
}

// Runs what reads a value; `otherwise` where it cannot be had.
template <typename T, typename Body>
T Value(const sti_model* model, T otherwise, const Body& body) noexcept {
  if (model == nullptr || in_callback || IsOfParent(model)) return otherwise;
  const UsualFloats floats;
  try {
    return body();
  } catch (...) {
    return otherwise;
  }
}

// Runs the body of a call for a model.
template <typename Body>
sti_code OnModel(sti_model* model, sti_error* error, const Body& body) noexcept {
  return Guarded(error, [&]() -> Status {
    STI_RETURN_IF_ERROR(CheckOwn(model, "model"));
    return body(*model->model);
  });
}

// Leaves no handle where a call fails.
template <typename Handle>
void Clear(Handle** handle) {
  if (handle != nullptr) *handle = nullptr;
}

Status OpenSource(sti_host* host, sti_model** model, FunctionRef<Result<BlockSourcePtr>()> open) {
  STI_RETURN_IF_ERROR(CheckGiven(model != nullptr, "model"));
  STI_RETURN_IF_ERROR(CheckOwn(host, "host"));
  STI_ASSIGN_OR_RETURN(BlockSourcePtr source, open());
  auto made = std::make_unique<sti_model>();
  STI_ASSIGN_OR_RETURN(made->model, Model::Open(host->shared, std::move(source)));
  *model = made.release();
  return {};
}

template <typename Value>
Status Take(Result<Value> parsed, Source source, FunctionRef<Status(Value)> take) {
  if (!parsed.ok()) return Error(parsed.error()).In(source);
  return take(std::move(parsed).value());
}

Status Give(Model& model, int32_t kind, std::span<const uint8_t> bytes) {
  switch (kind) {
    case STI_PLAN:
      return Take<Plan>(ParsePlan(bytes, ""), Source::kPlan,
                        [&](Plan plan) { return model.GivePlan(std::move(plan)); });
    case STI_PROFILE:
      return Take<DeviceProfile>(
          ParseProfile(bytes, ""), Source::kProfile,
          [&](DeviceProfile profile) { return model.GiveProfile(std::move(profile)); });
    case STI_IMPORTANCE:
      return Take<Importance>(
          ParseImportance(bytes, ""), Source::kImportance,
          [&](Importance importance) { return model.GiveImportance(std::move(importance)); });
    case STI_EXAMPLES:
      return model.GiveExamples({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    default:
      return UsageError("there is no kind " + std::to_string(kind) +
                        "; it is STI_PLAN, STI_PROFILE, STI_IMPORTANCE or STI_EXAMPLES");
  }
}

Status WriteProfile(Model& model, void* buffer, size_t room, size_t* size) {
  STI_ASSIGN_OR_RETURN(const DeviceProfile profile, model.profile());
  const std::vector<uint8_t> bytes = EncodeProfile(profile);
  *size = bytes.size();
  if (buffer == nullptr || room < bytes.size()) {
    return UsageError("the profile takes " + std::to_string(bytes.size()) + " bytes of room");
  }
  std::memcpy(buffer, bytes.data(), bytes.size());
  return {};
}

}  // namespace
}  // namespace sti

using namespace sti;  // NOLINT: the functions below are the library's outside

const char* sti_version(void) { return STI_VERSION; }

sti_code sti_host_new(uint32_t threads, sti_log log, void* user, sti_host** host,
                      sti_error* error) {
  Clear(host);
  return Guarded(error, [&]() -> Status {
    STI_RETURN_IF_ERROR(CheckGiven(host != nullptr, "host"));
    if (threads > kMostThreads) {
      return UsageError("a host has at most " + std::to_string(kMostThreads) + " threads");
    }
    LogSink sink;
    if (log != nullptr) {
      sink = [log, user](const LogLine& line) {
        const std::string text = TextFor(line);
        const InCallback callback;
        try {
          log(user, line.level == LogLevel::kWarning ? STI_LOG_WARNING : STI_LOG_INFO,
              text.c_str());
        } catch (...) {  // NOLINT: a line of a log that is lost ends nothing
        }
      };
    }
    auto made = std::make_unique<sti_host>();
    made->shared = std::make_shared<Host>(threads != 0 ? threads : UsableCpus(), std::move(sink));
    *host = made.release();
    return {};
  });
}

void sti_host_free(sti_host* host) { Free(host); }

sti_code sti_open(sti_host* host, const char* path, sti_model** model, sti_error* error) {
  Clear(model);
  return Guarded(error, [&] {
    return OpenSource(host, model, [&]() -> Result<BlockSourcePtr> {
      STI_RETURN_IF_ERROR(CheckGiven(path != nullptr, "path"));
      return FileSource(path);
    });
  });
}

sti_code sti_open_fd(sti_host* host, int fd, uint64_t offset, uint64_t length, sti_model** model,
                     sti_error* error) {
  Clear(model);
  return Guarded(error, [&] {
    return OpenSource(host, model, [&] { return DescriptorSource(fd, offset, length); });
  });
}

sti_code sti_open_read(sti_host* host, sti_read_at read_at, void* user, uint64_t length,
                       sti_model** model, sti_error* error) {
  Clear(model);
  return Guarded(error, [&] {
    return OpenSource(host, model, [&]() -> Result<BlockSourcePtr> {
      STI_RETURN_IF_ERROR(CheckGiven(read_at != nullptr, "read_at"));
      const auto read = [read_at, user](uint64_t offset, std::span<uint8_t> buffer) -> int64_t {
        const InCallback callback;
        try {
          return read_at(user, offset, buffer.data(), buffer.size());
        } catch (...) {
          return -1;
        }
      };
      return CallbackSource(read, length);
    });
  });
}

void sti_close(sti_model* model) { Free(model); }

sti_code sti_give(sti_model* model, int32_t kind, const void* bytes, size_t size,
                  sti_error* error) {
  return OnModel(model, error, [&](Model& on) -> Status {
    const bool takes_back = kind == STI_EXAMPLES && size == 0;
    STI_RETURN_IF_ERROR(CheckGiven(bytes != nullptr || takes_back, "bytes"));
    return Give(on, kind, {static_cast<const uint8_t*>(bytes), size});
  });
}

sti_code sti_profile(sti_model* model, uint64_t budget_us, void* buffer, size_t room, size_t* size,
                     sti_error* error) {
  return OnModel(model, error, [&](Model& on) -> Status {
    STI_RETURN_IF_ERROR(CheckGiven(size != nullptr, "size"));
    *size = 0;
    if (budget_us > 0) {
      STI_RETURN_IF_ERROR(on.MeasureProfile(static_cast<double>(budget_us)));
    }
    return WriteProfile(on, buffer, room, size);
  });
}

sti_code sti_set(sti_model* model, int32_t option, int64_t value, sti_error* error) {
  return OnModel(model, error, [&](Model& on) -> Status {
    return on.Change([&](ModelOptions& options) { return SetOption(option, value, options); });
  });
}

sti_code sti_plan(sti_model* model, sti_error* error) {
  return OnModel(model, error, [&](Model& on) { return on.MakePlan(); });
}

sti_code sti_wake(sti_model* model, sti_error* error) {
  return OnModel(model, error, [&](Model& on) { return on.Wake(); });
}

sti_code sti_run(sti_model* model, const char* text, size_t size, const char* pair,
                 size_t pair_size, sti_error* error) {
  return OnModel(model, error, [&](Model& on) -> Status {
    on.answers().Drop();
    STI_RETURN_IF_ERROR(CheckGiven(text != nullptr || size == 0, "text"));
    if (size > kMostTextBytes || pair_size > kMostTextBytes) return UsageError("text is too long");
    std::optional<std::string_view> second;
    if (pair != nullptr) second = std::string_view(pair, pair_size);
    return on.Run(size == 0 ? std::string_view() : std::string_view(text, size), second);
  });
}

sti_code sti_run_ids(sti_model* model, const uint32_t* ids, size_t count, sti_error* error) {
  return OnModel(model, error, [&](Model& on) -> Status {
    on.answers().Drop();
    STI_RETURN_IF_ERROR(CheckGiven(ids != nullptr, "ids"));
    if (count > kMostTextBytes) return UsageError("there are too many ids");
    return on.Run(std::span(ids, count));
  });
}

sti_code sti_generate(sti_model* model, const char* text, size_t size, uint32_t most,
                      sti_token token, void* user, sti_error* error) {
  return OnModel(model, error, [&](Model& on) -> Status {
    on.answers().Drop();
    STI_RETURN_IF_ERROR(CheckGiven(text != nullptr || size == 0, "text"));
    if (size > kMostTextBytes) return UsageError("text is too long");
    const auto take = [token, user](uint32_t id, std::string_view whole) {
      if (token == nullptr) return true;
      const InCallback callback;
      try {
        return token(user, id, whole.data(), whole.size()) == 0;
      } catch (...) {
        return false;
      }
    };
    return on.Generate(size == 0 ? std::string_view() : std::string_view(text, size), most, take);
  });
}

sti_code sti_run_image(sti_model* model, const void* bytes, size_t size, sti_error* error) {
  return OnModel(model, error, [&](Model& on) -> Status {
    on.answers().Drop();
    STI_RETURN_IF_ERROR(CheckGiven(bytes != nullptr || size == 0, "bytes"));
    const auto* first = static_cast<const char*>(bytes);
    return on.RunImage(size == 0 ? std::string_view() : std::string_view(first, size));
  });
}

sti_code sti_end_turns(sti_model* model, sti_error* error) {
  return OnModel(model, error, [&](Model& on) { return on.EndTurns(); });
}

sti_code sti_trim(sti_model* model, uint64_t bytes, sti_error* error) {
  return OnModel(model, error, [&](Model& on) -> Status {
    STI_RETURN_IF_ERROR(on.Trim(bytes));
    GiveBackFreeMemory();
    return {};
  });
}

sti_code sti_cancel(sti_model* model) {
  return OnModel(model, nullptr, [&](Model& on) -> Status {
    on.Cancel();
    return {};
  });
}

int32_t sti_label(sti_model* model, uint32_t rank) {
  return Value(model, -1, [&] {
    return model->model->answers().Get(-1, [&](const ModelAnswer& answer) {
      return rank < answer.ranked.size() ? static_cast<int32_t>(answer.ranked[rank]) : -1;
    });
  });
}

double sti_score(sti_model* model, int32_t label) {
  return Value(model, kNoNumber, [&] {
    return model->model->answers().Get(kNoNumber, [&](const ModelAnswer& answer) {
      const auto at = static_cast<uint32_t>(label);
      return at < answer.scores.size() ? double{answer.scores[at]} : kNoNumber;
    });
  });
}

uint32_t sti_vector(sti_model* model, float* values, uint32_t room) {
  return Value(model, uint32_t{0}, [&] {
    return model->model->answers().Get(uint32_t{0}, [&](const ModelAnswer& answer) {
      const std::vector<float>& vector = answer.embedding;
      if (values != nullptr && vector.size() <= room) std::ranges::copy(vector, values);
      return static_cast<uint32_t>(vector.size());
    });
  });
}

size_t sti_text(sti_model* model, char* text, size_t room) {
  return Value(model, size_t{0}, [&] {
    return model->model->answers().Get(size_t{0}, [&](const ModelAnswer& answer) {
      if (!answer.continuation) return size_t{0};
      const std::string& made = answer.continuation->text;
      if (text != nullptr && made.size() <= room) std::ranges::copy(made, text);
      return made.size();
    });
  });
}

uint32_t sti_spans(sti_model* model, sti_span* spans, uint32_t room) {
  return Value(model, uint32_t{0}, [&] {
    return model->model->answers().Get(uint32_t{0}, [&](const ModelAnswer& answer) {
      const std::vector<LabelledSpan>& found = answer.spans;
      if (spans != nullptr && found.size() <= room) {
        std::ranges::transform(found, spans, [](const LabelledSpan& span) {
          return sti_span{.begin = span.bytes.begin,
                          .end = span.bytes.end,
                          .name = static_cast<int32_t>(span.name),
                          .score = span.score};
        });
      }
      return static_cast<uint32_t>(found.size());
    });
  });
}

const char* sti_name(sti_model* model, int32_t label) {
  return Value<const char*>(model, nullptr, [&]() -> const char* {
    return model->model->labels().Of(static_cast<uint32_t>(label));
  });
}

double sti_stat(sti_model* model, int32_t figure) {
  return Value(model, kNoNumber, [&] {
    if (figure >= STI_LABELS) return FigureOf(*model->model, figure);
    return model->model->answers().Get(
        kNoNumber, [&](const ModelAnswer& answer) { return FigureOf(answer, figure); });
  });
}
