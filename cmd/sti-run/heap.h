// The C library's heap, which keeps what is freed unless it is told.
#pragma once

namespace sti {

/// Returns freed memory to the system. It would stay with the allocator.
void GiveHeapBack();

}  // namespace sti
