// Frames of zstd before 0.8, of 2016, in place of the decoders that libzstd has for them: no
// container holds such a frame, as lib/format reads frames of today's magic number alone, and they
// are 100 kB of each tool. Each says what libzstd says of a frame that it cannot read.
#include <cstddef>

namespace {

constexpr size_t kVersionUnsupported = static_cast<size_t>(-12);  // of ZSTD_ErrorCode

}  // namespace

// NOLINTBEGIN(cppcoreguidelines-macro-usage): the same names for each version.
#define STI_WITHOUT_LEGACY(version)                                                         \
  void* ZBUFF##version##_createDCtx() { return nullptr; }                                   \
  size_t ZBUFF##version##_freeDCtx(void*) { return 0; }                                     \
  size_t ZBUFF##version##_decompressInitDictionary(void*, const void*, size_t) {            \
    return kVersionUnsupported;                                                             \
  }                                                                                         \
  size_t ZBUFF##version##_decompressContinue(void*, void*, size_t*, const void*, size_t*) { \
    return kVersionUnsupported;                                                             \
  }                                                                                         \
  void* ZSTD##version##_createDCtx() { return nullptr; }                                    \
  size_t ZSTD##version##_freeDCtx(void*) { return 0; }                                      \
  size_t ZSTD##version##_decompress_usingDict(void*, void*, size_t, const void*, size_t,    \
                                              const void*, size_t) {                        \
    return kVersionUnsupported;                                                             \
  }                                                                                         \
  size_t ZSTD##version##_getFrameParams(void*, const void*, size_t) {                       \
    return kVersionUnsupported;                                                             \
  }                                                                                         \
  void ZSTD##version##_findFrameSizeInfoLegacy(const void*, size_t, size_t* bytes,          \
                                               unsigned long long* bound) {                 \
    *bytes = kVersionUnsupported;                                                           \
    *bound = static_cast<unsigned long long>(-2);                                           \
  }

extern "C" {
STI_WITHOUT_LEGACY(v05)
STI_WITHOUT_LEGACY(v06)
STI_WITHOUT_LEGACY(v07)
}
// NOLINTEND(cppcoreguidelines-macro-usage)
