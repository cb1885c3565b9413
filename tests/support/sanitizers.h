// Whether this is a build with a sanitizer, whose memory is not that of the product.
#pragma once

namespace sti {

/// Says whether AddressSanitizer or ThreadSanitizer is part of this program. They have an allocator
/// of their own, take memory beside what is allocated, let mlock do nothing, and are slow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace sti
