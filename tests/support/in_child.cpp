#include "in_child.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace sti {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t kArchitecture = 0;
#endif

sock_filter Statement(unsigned code, uint32_t k) { return {static_cast<uint16_t>(code), 0, 0, k}; }
sock_filter JumpIfEqual(uint32_t k, uint8_t equal, uint8_t different) {
  return {static_cast<uint16_t>(BPF_JMP | BPF_JEQ | BPF_K), equal, different, k};
}

std::string ReadAllOf(int descriptor) {
  std::string text;
  char buffer[512];
  for (;;) {
    const ssize_t count = read(descriptor, buffer, sizeof buffer);
    if (count <= 0) return text;
    text.append(buffer, static_cast<size_t>(count));
  }
}

}  // namespace

std::string InChild(const std::function<std::string()>& body) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "died: no pipe";
  const pid_t child = fork();
  if (child < 0) return "died: no fork";
  if (child == 0) {
    close(ends[0]);
    const std::string text = body();
    const bool written = write(ends[1], text.data(), text.size()) >= 0;
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  const std::string text = ReadAllOf(ends[0]);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? text : "died: status " + std::to_string(status) + " after: " + text;
}

bool ForbidSystemCalls(const std::vector<long>& numbers, int error_number) {
  if (kArchitecture == 0) return false;
  const sock_filter refuse =
      Statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<uint32_t>(error_number));
  const sock_filter allow = Statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  // Calls of another architecture's numbering are let through.
  std::vector<sock_filter> program{
      Statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      JumpIfEqual(kArchitecture, 1, 0), allow,
      Statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  program.reserve(program.size() + 2 * numbers.size() + 1);
  for (const long number : numbers) {
    program.push_back(JumpIfEqual(static_cast<uint32_t>(number), 0, 1));
    program.push_back(refuse);
  }
  program.push_back(allow);
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

bool LeaveDescriptors(unsigned count) {
  // Descriptors are given out from the lowest free number; there may be holes below.
  int last = -1;
  std::vector<int> taken;
  taken.reserve(count);
  for (unsigned i = 0; i < count; ++i) {
    last = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (last < 0) return false;
    taken.push_back(last);
  }
  if (count == 0) {
    last = open("/dev/null", O_RDONLY | O_CLOEXEC);
    taken.push_back(last--);
  }
  for (const int descriptor : taken) close(descriptor);
  const rlimit limit{static_cast<rlim_t>(last + 1), static_cast<rlim_t>(last + 1)};
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

}  // namespace sti
