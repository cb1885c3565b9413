#include "types/cluster.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "base/remedy.h"
#include "base/utf8.h"
#include "types/limits.h"

namespace sti {
namespace {

const ClusterLink* FindLink(std::span<const ClusterLink> links, uint32_t from, uint32_t to) {
  const auto found = std::find_if(links.begin(), links.end(), [&](const ClusterLink& link) {
    return link.from == from && link.to == to;
  });
  return found == links.end() ? nullptr : &*found;
}

Error Differ(const std::string& what) { return DataError(what).Fix(Remedy::kCorrectFile); }

/// Returns the field in which two devices of a kind differ; null if they are alike.
const char* FieldThatDiffers(const ClusterDevice& a, const ClusterDevice& b) {
  if (a.memory_bytes != b.memory_bytes) return "memory_bytes";
  if (a.preload_bytes != b.preload_bytes) return "preload_bytes";
  return a.profile == b.profile ? nullptr : "profile";
}

/// Returns the kinds, without links.
Result<std::vector<ClusterKind>> GroupDevices(const std::vector<ClusterDevice>& devices) {
  std::vector<ClusterKind> kinds;
  for (uint32_t i = 0; i < devices.size(); ++i) {
    const ClusterDevice& device = devices[i];
    const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const ClusterKind& known) {
      return known.name == device.kind;
    });
    if (kind == kinds.end()) {
      kinds.push_back({device.kind, {i}});
      continue;
    }
    const ClusterDevice& first = devices[kind->devices.front()];
    if (const char* field = FieldThatDiffers(first, device)) {
      return Differ(first.name + " and " + device.name + " are of the kind " + device.kind +
                    " and differ in " + field);
    }
    kind->devices.push_back(i);
  }
  return kinds;
}

/// The links of a cluster by both ends, so that all pairs are soon looked at.
class LinkTable {
 public:
  explicit LinkTable(const Cluster& cluster)
      : devices_(cluster.devices.size()), links_(devices_ * devices_) {
    for (const ClusterLink& link : cluster.links) links_[link.from * devices_ + link.to] = &link;
  }
  [[nodiscard]] const ClusterLink* At(uint32_t from, uint32_t to) const {
    return links_[from * devices_ + to];
  }

 private:
  size_t devices_;
  std::vector<const ClusterLink*> links_;  // [devices, devices] by sender, receiver
};

/// Two devices, and what links the first to the second.
struct LinkedPair {
  uint32_t from;
  uint32_t to;
  const ClusterLink* link;  // null: nothing
};

bool AreLinkedAlike(const LinkedPair& a, const LinkedPair& b) {
  if (a.link == nullptr || b.link == nullptr) return a.link == b.link;
  return a.link->bits_per_s == b.link->bits_per_s && a.link->delay_us == b.link->delay_us;
}

/// Returns a pair that stands for all from a kind to another or the same; nothing if there is none,
/// as in a kind of one device.
Result<std::optional<LinkedPair>> PairOf(const Cluster& cluster, const LinkTable& links,
                                         const ClusterKind& from, const ClusterKind& to) {
  std::optional<LinkedPair> first;
  for (const uint32_t sender : from.devices) {
    for (const uint32_t receiver : to.devices) {
      if (sender == receiver) continue;
      const LinkedPair pair{sender, receiver, links.At(sender, receiver)};
      if (!first) first = pair;
      if (AreLinkedAlike(*first, pair)) continue;
      const auto named = [&](const LinkedPair& p) {
        return cluster.devices[p.from].name + " to " + cluster.devices[p.to].name;
      };
      return Differ(named(pair) + " is not linked as " + named(*first) +
                    ", and devices of a kind are linked alike");
    }
  }
  return first;
}

}  // namespace

const ClusterLink* Cluster::Link(uint32_t from, uint32_t to) const {
  return FindLink(links, from, to);
}

const ClusterLink* ClusterKinds::Link(uint32_t from, uint32_t to) const {
  return FindLink(links, from, to);
}

bool IsClusterName(std::string_view text) {
  return !text.empty() && IsPlainText(text, kMaxShortTextBytes) && text != "auto" &&
         text.find_first_of(" /'\"`") == std::string_view::npos;
}

Result<ClusterKinds> KindsOf(const Cluster& cluster) {
  ClusterKinds found;
  STI_ASSIGN_OR_RETURN(found.kinds, GroupDevices(cluster.devices));
  const LinkTable links(cluster);
  for (uint32_t from = 0; from < found.kinds.size(); ++from) {
    for (uint32_t to = 0; to < found.kinds.size(); ++to) {
      STI_ASSIGN_OR_RETURN(const std::optional<LinkedPair> pair,
                           PairOf(cluster, links, found.kinds[from], found.kinds[to]));
      if (!pair || pair->link == nullptr) continue;
      found.links.push_back({from, to, pair->link->bits_per_s, pair->link->delay_us});
    }
  }
  return found;
}

}  // namespace sti
