// The most that files may hold, as `spec/container.md, "Limits"`, spec/plan.md and, for texts,
// spec/frame.md say. Whoever reads or writes a file, and whoever makes what goes into one, takes
// the numbers from here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sti {

// Models.
inline constexpr uint32_t kMaxLayers = 1024;          ///< N
inline constexpr uint32_t kMaxWidth = 256;            ///< M
inline constexpr uint32_t kMaxHidden = 16384;         ///< d
inline constexpr uint32_t kMaxFfn = 65536;            ///< f
inline constexpr uint32_t kMaxVocabulary = 1U << 22;  ///< V
inline constexpr uint32_t kMaxPositions = 65536;      ///< P
inline constexpr uint32_t kMaxTokenTypes = 16;        ///< T
inline constexpr uint32_t kMaxLabels = 65536;         ///< C
inline constexpr uint32_t kMaxMerges = 1U << 22;

// Containers.
inline constexpr uint64_t kMaxIndexBytes = uint64_t{256} << 20;
/// Bytes of one resident part, decompressed.
inline constexpr uint64_t kMaxResidentBytes = uint64_t{4} << 30;
/// Bytes of a vocabulary, or of the merges, decompressed.
inline constexpr uint64_t kMaxTextBytes = uint64_t{64} << 20;

// Texts of the small files: importance, profile and plan.
inline constexpr size_t kMaxFileTextBytes = 65536;
inline constexpr size_t kMaxShortTextBytes = 64;  ///< where a document says so

// Plans.
inline constexpr uint32_t kMinLength = 2;  ///< tokens of a model's shortest input: cls and sep
inline constexpr uint32_t kMaxLength = 1U << 20;  ///< tokens of an input
inline constexpr uint32_t kMaxThreads = 256;
inline constexpr size_t kMaxVariants = 64;
inline constexpr size_t kMaxTurns = 64;
inline constexpr size_t kMaxCascadeLevels = 3;  ///< of a plan, itself the last
inline constexpr size_t kMaxPlanWords = 65536;
inline constexpr uint64_t kMaxStagingBytes = uint64_t{1} << 40;

}  // namespace sti
