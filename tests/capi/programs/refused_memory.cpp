// Uses the C library from opening to closing, over and over, and each time the system refuses one
// more thing: the first allocation, the second, and so on, threads and mappings among them. What
// the library takes no memory for cannot be refused, so the last round is refused nothing. Each
// code must be one of memory or the machine, or the right answer; and once memory is back, the same
// model must give the right answer.
// With hang, reads hang as well once memory is back, and the call that waits for them is cancelled:
// it may be the index that it reads, which went with a session that had no memory to open.
// Usage: refused-memory FOLDER [one|all|hang]     (all: everything from there on is refused)
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "capi/sti.h"
#include "support/hanging_reader.h"
#include "support/test_container.h"

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

namespace {

// How many more are granted before one is refused, or all; negative: the one has been.
std::atomic<int64_t> granted{INT64_MAX};
bool refuses_all = false;

bool Refused() {
  const int64_t left = granted.fetch_sub(1);
  return left == 0 || (left < 0 && refuses_all);
}

template <typename Take>
void* UnlessRefused(const Take& take) {
  if (!Refused()) return take();
  errno = ENOMEM;
  return nullptr;
}

using CreateThread = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
using Map = void* (*)(void*, size_t, int, int, int, off_t);
CreateThread create_thread = nullptr;
Map map_memory = nullptr;

}  // namespace

extern "C" {

void* malloc(size_t size) noexcept {
  return UnlessRefused([&] { return __libc_malloc(size); });
}
void* calloc(size_t count, size_t size) noexcept {
  return UnlessRefused([&] { return __libc_calloc(count, size); });
}
void* realloc(void* memory, size_t size) noexcept {
  return UnlessRefused([&] { return __libc_realloc(memory, size); });
}
void* memalign(size_t alignment, size_t size) noexcept {
  return UnlessRefused([&] { return __libc_memalign(alignment, size); });
}
void* aligned_alloc(size_t alignment, size_t size) noexcept { return memalign(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) noexcept {
  *memory = memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  if (map_memory != nullptr && !Refused())
    return map_memory(at, size, protection, flags, fd, offset);
  errno = ENOMEM;
  return MAP_FAILED;
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) noexcept {
  if (Refused()) return EAGAIN;
  return create_thread(thread, attributes, run, argument);
}

}  // extern "C"

namespace {

constexpr char kText[] = "a b c";
constexpr int64_t kTargetUs = 2'000'000;  // enough for the whole model, on any machine

// The profile of this machine, measured before anything is refused.
std::vector<uint8_t> profile;

/// A model's file behind a door that reads hang before.
struct Storage {
  std::vector<uint8_t> bytes = {};
  sti::Door door = {};
  std::atomic<int64_t> last_read{-1};  // offset of the read that came last

  static int64_t ReadAt(void* user, uint64_t offset, void* buffer, uint64_t size) {
    auto& self = *static_cast<Storage*>(user);
    self.last_read = static_cast<int64_t>(offset);
    self.door.Pass();
    const uint64_t count = std::min<uint64_t>(size, self.bytes.size() - offset);
    std::memcpy(buffer, self.bytes.data() + offset, count);
    return static_cast<int64_t>(count);
  }
};

/// One use of the library. Each step needs the one before it.
class Use {
 public:
  /// Reads `path` itself, or through `storage` where there is one.
  explicit Use(const char* path, Storage* storage = nullptr) : path_(path), storage_(storage) {}
  ~Use() {
    sti_close(model_);
    sti_host_free(host_);
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

  sti_code All() {
    if (host_ == nullptr && sti_host_new(2, nullptr, nullptr, &host_, &error_) != STI_OK)
      return error_.code;
    if (model_ == nullptr && Open() != STI_OK) return error_.code;
    if (sti_give(model_, STI_PROFILE, profile.data(), profile.size(), &error_) != STI_OK ||
        sti_set(model_, STI_TARGET_US, kTargetUs, &error_) != STI_OK ||
        sti_plan(model_, &error_) != STI_OK || Run() != STI_OK) {
      return error_.code;
    }
    if (sti_trim(model_, 0, &error_) != STI_OK ||
        sti_set(model_, STI_LATE, STI_LATE_WAIT, &error_) != STI_OK ||
        sti_wake(model_, &error_) != STI_OK || Run() != STI_OK) {
      return error_.code;
    }
    return sti_end_turns(model_, &error_) == STI_OK ? STI_OK : error_.code;
  }
  // Measures the machine into `profile`.
  bool Measure() {
    if (sti_host_new(2, nullptr, nullptr, &host_, &error_) != STI_OK || Open() != STI_OK)
      return false;
    size_t size = 0;
    profile.resize(1 << 16);
    if (sti_profile(model_, 20'000, profile.data(), profile.size(), &size, &error_) != STI_OK)
      return false;
    profile.resize(size);
    return true;
  }
  // Wakes the model while reads hang, and cancels that once one does. Returns the code; sets
  // `*hung_at` to the offset of the read, or a negative number if there was none.
  sti_code CancelWake(int64_t* hung_at) {
    *hung_at = -1;
    if (model_ == nullptr) return STI_OK;
    storage_->last_read = -1;
    storage_->door.Close();
    std::atomic<bool> ended{false};
    sti_code code = STI_OK;
    std::thread waking([&] {
      code = sti_wake(model_, &error_);
      ended = true;
    });
    const auto pause = std::chrono::microseconds(100);
    while (!ended && storage_->last_read < 0) std::this_thread::sleep_for(pause);
    *hung_at = storage_->last_read;
    while (!ended) {
      sti_cancel(model_);
      std::this_thread::sleep_for(pause);
    }
    waking.join();
    storage_->door.Open();
    return code;
  }
  [[nodiscard]] double score() const { return model_ == nullptr ? NAN : sti_score(model_, 0); }
  [[nodiscard]] const char* text() const { return error_.text; }

 private:
  sti_code Open() {
    return storage_ == nullptr ? sti_open(host_, path_, &model_, &error_)
                               : sti_open_read(host_, Storage::ReadAt, storage_,
                                               storage_->bytes.size(), &model_, &error_);
  }
  sti_code Run() { return sti_run(model_, kText, sizeof(kText) - 1, nullptr, 0, &error_); }

  const char* path_;
  Storage* storage_;
  sti_host* host_ = nullptr;
  sti_model* model_ = nullptr;
  sti_error error_{};
};

struct Counts {
  int64_t rounds = 0;
  int64_t went_on = 0;
  int64_t hung_at_index = 0;  // of the calls that were cancelled
};

// One round with `grants` things granted. Returns whether anything was refused.
bool Round(const char* path, Storage* storage, int64_t grants, double expected, Counts* counts) {
  Use use(path, storage);
  granted = grants;
  const sti_code code = use.All();
  const bool refused = granted.exchange(INT64_MAX) < 0;
  const bool known = code == STI_OK || code == STI_NO_MEMORY || code == STI_MACHINE;
  if (!known || (code == STI_OK && use.score() != expected)) {
    std::printf("refused number %lld: code %d, %s\n", static_cast<long long>(grants), code,
                use.text());
    std::exit(1);
  }
  if (storage != nullptr) {
    int64_t hung_at = -1;
    const sti_code woken = use.CancelWake(&hung_at);
    // A session that is open may read ahead, which waking does not wait for.
    if (woken != STI_CANCELLED && (woken != STI_OK || hung_at == 0)) {
      std::printf("after number %lld, cancelled: code %d, %s\n", static_cast<long long>(grants),
                  woken, use.text());
      std::exit(1);
    }
    if (hung_at == 0)
      ++counts->hung_at_index;  // a container begins with what says where its index is
  }
  if (use.All() != STI_OK || use.score() != expected) {
    std::printf("after number %lld: %s\n", static_cast<long long>(grants), use.text());
    std::exit(1);
  }
  ++counts->rounds;
  if (code == STI_OK) ++counts->went_on;
  return refused;
}

}  // namespace

int main(int argc, char** argv) {
  create_thread = reinterpret_cast<CreateThread>(::dlsym(RTLD_NEXT, "pthread_create"));
  map_memory = reinterpret_cast<Map>(::dlsym(RTLD_NEXT, "mmap"));
  if (argc < 2 || create_thread == nullptr || map_memory == nullptr) return 2;
  refuses_all = argc > 2 && std::strcmp(argv[2], "all") == 0;
  const bool hangs = argc > 2 && std::strcmp(argv[2], "hang") == 0;
  const std::string path = std::string(argv[1]) + "/a.sti";
  if (!sti::WriteTinyContainer(path).ok()) return 2;
  Storage storage{.bytes = sti::FileBytes(path)};
  Use whole(path.c_str());
  if (!whole.Measure() || whole.All() != STI_OK) return 2;
  Counts counts;
  while (Round(path.c_str(), hangs ? &storage : nullptr, counts.rounds, whole.score(), &counts)) {
  }
  std::printf("%lld refused in turn: %lld went on, the others gave a code\n",
              static_cast<long long>(counts.rounds - 1),
              static_cast<long long>(counts.went_on - 1));
  if (hangs) {
    std::printf("%lld cancelled while the index was read again\n",
                static_cast<long long>(counts.hung_at_index));
  }
  return 0;
}
