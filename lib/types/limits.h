// The most that files may hold, as `spec/container.md, "Limits"`, spec/plan.md, spec/profile.md,
// spec/label-vectors.md, spec/cluster.md and, for texts, spec/frame.md say, and streams, as
// spec/frame-stream.md says. Whoever reads or writes a file, and whoever makes what goes into one,
// takes the numbers from here.
#pragma once

#include <algorithm>
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
inline constexpr uint32_t kMaxImageSize = 4096;  ///< pixels of a side
inline constexpr uint32_t kMaxChannels = 16;     ///< values of a pixel

// Containers.
inline constexpr uint64_t kMaxIndexBytes = uint64_t{256} << 20;
/// Bytes of one resident part, decompressed.
inline constexpr uint64_t kMaxResidentBytes = uint64_t{4} << 30;
/// Bytes of a vocabulary, or of the merges, decompressed.
inline constexpr uint64_t kMaxTextBytes = uint64_t{64} << 20;

// Texts of the small files: importance, profile and plan; printable ASCII.
inline constexpr size_t kMaxShortTextBytes = 64;  ///< where the next two are not said
inline constexpr size_t kMaxMachineTextBytes = 1024;
/// Every other of the 8192 processors that Linux knows fits.
inline constexpr size_t kMaxCoresTextBytes = 32768;

/// Label vectors: words in front of texts, UTF-8.
inline constexpr size_t kMaxPrefixBytes = 4096;

/// A line of input, without its end; longer ones come cut.
inline constexpr size_t kMaxLineBytes = size_t{1} << 20;

/// Microseconds that plans and requests may hold: thirty years.
inline constexpr double kMaxTimeUs = 1e15;

/// Losses, scores and what else may be negative, either way.
inline constexpr double kMaxFigure = 1e15;

// Profiles.
inline constexpr size_t kMaxProfileSamples = 65536;  ///< entries of each list
/// Microseconds that one read, one layer or a series may take: seventeen minutes.
inline constexpr double kMaxSampleUs = 1e9;
inline constexpr uint64_t kMaxProfiledBytes = uint64_t{1}
                                              << 40;  ///< most bytes of a profiled read or process
inline constexpr uint32_t kMaxMergedReadBytes = 64U << 20;
/// Bytes up to which reads merge where no profile says how a device likes to be read.
inline constexpr uint64_t kUsualReadBytes = uint64_t{256} << 10;
inline constexpr uint32_t kMaxReadsInFlight = 256;
/// The most times that a container is open for one reader, and so the most agents of a plan.
inline constexpr uint32_t kMaxReadStreams = 16;
inline constexpr double kMaxBytesPerUs = 1e6;
/// The most reads in flight through several open files together.
inline constexpr uint32_t kMaxReadsThroughStreams = 16;
/// Returns the reads in flight where each of `streams` open files is to have `depth`; streams that
/// are not said are 0.
constexpr uint32_t ReadsInFlight(uint32_t depth, uint32_t streams) {
  return streams <= 1 ? depth : std::min(depth * streams, kMaxReadsThroughStreams);
}
inline constexpr size_t kMaxProfiledBatches = 16;
inline constexpr double kMaxNoise = 1e6;
inline constexpr double kMaxCelsius = 1e6;

// Clusters.
inline constexpr size_t kMaxClusterDevices = 64;
/// Entries of the lists of all devices' profiles together.
inline constexpr uint64_t kMaxClusterSamples = uint64_t{1} << 20;
inline constexpr uint64_t kMaxDeviceBytes = uint64_t{1} << 50;  ///< memory of a device
inline constexpr double kMaxLinkBitsPerS = 1e15;

// Plans.
inline constexpr uint32_t kMinLength = 2;         ///< tokens of the shortest text: cls and sep
inline constexpr uint32_t kMaxLength = 1U << 20;  ///< tokens of an input
inline constexpr uint32_t kMaxThreads = 256;
inline constexpr size_t kMaxVariants = 64;
inline constexpr size_t kMaxTurns = 64;
inline constexpr size_t kMaxCascadeLevels = 3;  ///< levels of a cascade, the plan itself the last
inline constexpr size_t kMaxPlanWords = 65536;
inline constexpr size_t kMaxStages = 64;
inline constexpr uint32_t kMaxMicrobatch = 256;  ///< sequences of a pass
inline constexpr uint64_t kMaxStagingBytes = uint64_t{1} << 40;

/// Returns whether a number from a file can be a share: 0 to 1, and a number at all.
constexpr bool IsShare(double x) { return x >= 0 && x <= 1; }

/// Returns whether a number from a file can be a figure, which may be negative: finite, and such
/// that sums of figures are finite and can be printed in a line.
constexpr bool IsFigure(double x) { return x >= -kMaxFigure && x <= kMaxFigure; }

/// The problem of a number that is no figure.
inline constexpr const char* kNoFigure = "not a finite number up to 10^15";

}  // namespace sti
