#pragma once

namespace sti {

/// Returns freed memory to the system. It would stay with the allocator.
void GiveHeapBack();

}  // namespace sti
