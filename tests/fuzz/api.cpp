// Calls of the C library, in the order and with the arguments that the input says: options, files
// whole and damaged, texts, ids, cancelling, closing, and a callback that fails, lies or calls back
// in. Whatever it was, the model then answers as a new one does.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "capi/sti.h"
#include "format/container_index.h"
#include "format/plan_file.h"
#include "fuzz/numbers.h"
#include "fuzz/targets.h"
#include "io/container_file.h"
#include "pipeline/whole_plan.h"
#include "support/memory_reader.h"
#include "support/temp_folder.h"
#include "support/test_container.h"

namespace sti::fuzz {
namespace {

constexpr int kMostCalls = 40;
constexpr char kText[] = "a b c";

/// The container of a tiny model, and plans for it.
struct Sound {
  Sound() {
    const TempFolder folder;
    const std::string path = folder.File("a.sti");
    Require(WriteTinyContainer(path).ok(), "a container is written");
    container = FileBytes(path);
    const auto file = ContainerFile::Open(path, ReadPath::kBuffered);
    Require(file.ok(), "and opened");
    for (const uint32_t bits : file->index().bits) {
      WholePlanOptions whole;
      whole.bits = bits;
      plans.push_back(PlanToJson(*MakeWholePlan(file->index(), whole)));
    }
  }
  static const Sound& Get() {
    static const Sound sound;
    return sound;
  }
  std::vector<uint8_t> container;
  std::vector<std::string> plans;
};

enum class Lie : uint8_t { kNone, kFails, kShort, kTooMuch, kWrongBytes, kCallsBack, kCount };

/// Open through a callback that does what the input says.
class Open {
 public:
  Open() {
    Require(sti_host_new(1, nullptr, nullptr, &host_, nullptr) == STI_OK, "a host");
    Reopen();
  }
  ~Open() {
    sti_close(model_);
    sti_host_free(host_);
  }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;

  void Reopen() {
    sti_close(model_);
    lie_ = Lie::kNone;
    Require(sti_open_read(host_, ReadAt, this, Sound::Get().container.size(), &model_, nullptr) ==
                STI_OK,
            "a sound container opens");
  }
  void Tell(Lie lie) { lie_ = lie; }
  [[nodiscard]] sti_model* model() { return model_; }

 private:
  static int64_t ReadAt(void* user, uint64_t offset, void* buffer, uint64_t bytes) {
    auto& self = *static_cast<Open*>(user);
    const Lie lie = self.lie_;
    const auto& container = Sound::Get().container;
    if (lie == Lie::kFails) return -5;
    if (lie == Lie::kTooMuch) return static_cast<int64_t>(bytes) + 1;
    if (lie == Lie::kCallsBack) {
      Require(sti_trim(self.model_, 0, nullptr) == STI_USAGE, "a callback is refused");
    }
    if (offset >= container.size()) return 0;
    uint64_t count = std::min(bytes, container.size() - offset);
    if (lie == Lie::kShort) count = (count + 1) / 2;
    std::memcpy(buffer, container.data() + offset, count);
    if (lie == Lie::kWrongBytes) static_cast<uint8_t*>(buffer)[count / 2] ^= 0x40;
    return static_cast<int64_t>(count);
  }

  sti_host* host_ = nullptr;
  sti_model* model_ = nullptr;
  std::atomic<Lie> lie_ = Lie::kNone;  ///< a lane may still read while the next is told
};

void RequireKnown(sti_code code, const sti_error& error) {
  Require(code >= STI_OK && code <= STI_BAD_INPUT, "a code of the list");
  Require(error.code == code, "the error has the code");
  Require(std::memchr(error.text, 0, sizeof(error.text)) != nullptr, "the text ends");
  Require((code == STI_OK) == (error.text[0] == 0), "an error has a text");
}

void Give(Numbers& numbers, sti_model* model, sti_error* error) {
  const auto& plans = Sound::Get().plans;
  std::string bytes = numbers.Below(4) == 0 ? numbers.Text() : plans[numbers.Below(plans.size())];
  for (uint64_t changes = numbers.Below(4); changes > 0 && !bytes.empty(); --changes)
    bytes[numbers.Below(bytes.size())] = numbers.Take<char>();
  const auto kind = static_cast<int32_t>(numbers.Below(5));
  RequireKnown(sti_give(model, kind, bytes.data(), bytes.size(), error), *error);
}

void Run(Numbers& numbers, sti_model* model, sti_error* error) {
  const std::string text = numbers.Text();
  const std::string pair = numbers.Text();
  const bool has_pair = numbers.Below(2) == 1;
  const sti_code code = sti_run(model, text.data(), text.size(), has_pair ? pair.data() : nullptr,
                                pair.size(), error);
  RequireKnown(code, *error);
  Require((code == STI_OK) == (sti_label(model, 0) >= 0), "an answer where there is one");
  if (code != STI_OK) return;
  double sum = 0;
  for (int32_t label = 0; label < sti_stat(model, STI_LABELS); ++label)
    sum += sti_score(model, label);
  Require(std::abs(sum - 1) < 1e-5, "probabilities add up to 1");
}

void RunIds(Numbers& numbers, sti_model* model, sti_error* error) {
  std::vector<uint32_t> ids(1 + numbers.Below(64));
  for (uint32_t& id : ids) id = static_cast<uint32_t>(numbers.Near(5));
  RequireKnown(sti_run_ids(model, ids.data(), ids.size(), error), *error);
}

void Set(Numbers& numbers, sti_model* model, sti_error* error) {
  const auto option = static_cast<int32_t>(numbers.Below(24));
  const auto value = static_cast<int64_t>(numbers.Near(numbers.Below(1 << 16)));
  RequireKnown(sti_set(model, option, value, error), *error);
}

void CallOne(Numbers& numbers, Open& open) {
  sti_error error;
  switch (numbers.Below(12)) {
    case 0:
      return Give(numbers, open.model(), &error);
    case 1:
      return Set(numbers, open.model(), &error);
    case 2:
      return RequireKnown(sti_plan(open.model(), &error), error);
    case 3:
      return RequireKnown(sti_wake(open.model(), &error), error);
    case 4:
      return RunIds(numbers, open.model(), &error);
    case 5:
      return RequireKnown(sti_end_turns(open.model(), &error), error);
    case 6:
      return RequireKnown(sti_trim(open.model(), numbers.Near(100'000), &error), error);
    case 7:
      return Require(sti_cancel(open.model()) == STI_OK, "nothing to cancel");
    case 8:
      return open.Reopen();
    case 9:
      return open.Tell(static_cast<Lie>(numbers.Below(static_cast<uint64_t>(Lie::kCount))));
    case 10:
      return (void)sti_stat(open.model(), static_cast<int32_t>(numbers.Near(STI_LABELS)));
    default:
      return Run(numbers, open.model(), &error);
  }
}

// The score of the first label, under a plan that every model of the target can have.
double ScoreOfNew(Open& open) {
  open.Tell(Lie::kNone);
  const std::string& plan = Sound::Get().plans.front();
  for (int32_t option = 0; option < 24; ++option) sti_set(open.model(), option, 0, nullptr);
  Require(sti_give(open.model(), STI_PLAN, plan.data(), plan.size(), nullptr) == STI_OK,
          "a sound plan is taken");
  Require(sti_run(open.model(), kText, sizeof(kText) - 1, nullptr, 0, nullptr) == STI_OK,
          "a model goes on");
  return sti_score(open.model(), 0);
}

}  // namespace

void Api(Input input) {
  static const double expected = [] {
    Open open;
    return ScoreOfNew(open);
  }();
  Numbers numbers(input);
  Open open;
  for (int call = 0; call < kMostCalls && !numbers.empty(); ++call) CallOne(numbers, open);
  Require(ScoreOfNew(open) == expected, "as a new one");
}

}  // namespace sti::fuzz
