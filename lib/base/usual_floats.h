// The floating-point environment of a thread: how sums are rounded, what traps, whether tiny
// numbers become 0. An app may have set its own, and threads that it makes inherit it; what is
// computed here must not depend on that.
#pragma once

#include <cfenv>

namespace sti {

/// Has its thread round to nearest, trap nothing and keep tiny numbers while it lives; puts back
/// what was, flags too.
class UsualFloats {
 public:
  UsualFloats() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~UsualFloats() { std::fesetenv(&before_); }
  UsualFloats(const UsualFloats&) = delete;
  UsualFloats& operator=(const UsualFloats&) = delete;

 private:
  std::fenv_t before_{};
};

}  // namespace sti
