// Part of every test binary. Where STI_TEST_NO_IO_URING is set, tests run without io_uring, as on a
// system that has none: valgrind does not see what the kernel writes on its behalf.
#include <sys/syscall.h>

#include <cerrno>
#include <cstdlib>

#include "support/in_child.h"

namespace sti {
namespace {

[[maybe_unused]] const bool kRefused = std::getenv("STI_TEST_NO_IO_URING") != nullptr &&
                                       ForbidSystemCalls({SYS_io_uring_setup}, ENOSYS);

}  // namespace
}  // namespace sti
