// A cluster: devices that run one model together, each some of its layers, and the links over which
// they send on what their layers give (EdgePipe 3). Devices of a kind are alike, so that a planner
// need not try each of them at each place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "types/device_profile.h"

namespace sti {

/// One device of a cluster. Devices of a kind have equal values but for their names.
struct ClusterDevice {
  std::string name;                      ///< as IsClusterName wants it; no other device has it
  std::string kind;                      ///< likewise; perhaps the name of its only device
  DeviceProfile profile;                 ///< has no fault
  std::optional<uint64_t> memory_bytes;  ///< that its process may take; nothing: no bound
  uint64_t preload_bytes = 0;            ///< of its preload buffer
};

/// A link in one direction. n bytes take delay_us + 8 n / bits_per_s * 10^6 to arrive.
struct ClusterLink {
  uint32_t from = 0;      ///< index of a device, or of a kind
  uint32_t to = 0;        ///< likewise
  double bits_per_s = 0;  ///< 1 to kMaxLinkBitsPerS
  double delay_us = 0;    ///< until the first byte has arrived, 0 to kMaxSampleUs
};

/// The devices that run a model, in the order of their file. Plain data, safe to share between
/// threads while nobody writes.
struct Cluster {
  std::vector<ClusterDevice> devices;
  std::vector<ClusterLink> links;  ///< between different devices, at most one from one to another

  /// Returns the link from a device to another, by index; null if there is none. The link is part
  /// of the cluster.
  [[nodiscard]] const ClusterLink* Link(uint32_t from, uint32_t to) const;
};

/// Devices that are alike.
struct ClusterKind {
  std::string name;
  std::vector<uint32_t> devices;  ///< indexes into Cluster::devices, ascending
};

/// The kinds of a cluster, in the order of their first devices.
struct ClusterKinds {
  std::vector<ClusterKind> kinds;
  /// From each device of a kind to each of another, or to each other of its own: `from` and `to`
  /// are indexes of kinds. Ascending by them.
  std::vector<ClusterLink> links;

  /// Returns the link from devices of a kind to those of another or the same, by index; null if
  /// there is none. The link is part of this value.
  [[nodiscard]] const ClusterLink* Link(uint32_t from, uint32_t to) const;
};

/// Returns whether a text may be the name of a device or of a kind: 1 to 64 bytes of printable
/// ASCII without spaces, slashes and quotes, and not "auto". Thread-safe.
bool IsClusterName(std::string_view text);

/// Returns the kinds of a cluster's devices. kDamaged with the names of both devices where two of a
/// kind differ in more than their names, or are linked in different ways to another device. The
/// cluster has links as it says. Thread-safe.
Result<ClusterKinds> KindsOf(const Cluster& cluster);

}  // namespace sti
