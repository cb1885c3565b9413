#include "format/cluster_file.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/remedy.h"
#include "base/utf8.h"
#include "format/json_fields.h"
#include "format/profile_file.h"
#include "types/limits.h"
#include "types/profile_check.h"

namespace sti {
namespace {

/// A device as the file has it: what is left out follows from others of its kind.
struct DeviceEntry {
  std::string name;
  std::string kind;
  std::optional<DeviceProfile> profile;
  std::optional<uint64_t> memory_bytes;
  std::optional<uint64_t> preload_bytes;
};

std::string PlaceOf(size_t device) { return "devices[" + std::to_string(device) + "]"; }

void ReadName(JsonFields& fields, const char* key, std::string* out) {
  fields.Get(key, Need::kRequired, out);
  if (!fields.status().ok() || IsClusterName(*out)) return;
  if (*out == "auto") return fields.Fail(std::string(key) + " is auto, which is no name");
  fields.Fail(std::string(key) +
              " is not 1 to 64 bytes of printable ASCII without spaces, slashes and quotes");
}

void ReadBytes(JsonFields& fields, const char* key, uint64_t least, std::optional<uint64_t>* out) {
  if (!fields.Has(key)) return;
  uint64_t bytes = least;
  fields.Get(key, Need::kRequired, &bytes);
  if (bytes < least) fields.Fail(std::string(key) + " is 0");
  if (bytes > kMaxDeviceBytes) fields.Fail(std::string(key) + " is above 2^50");
  *out = bytes;
}

DeviceEntry ReadDevice(JsonFields& fields) {
  DeviceEntry device;
  ReadName(fields, "name", &device.name);
  ReadName(fields, "kind", &device.kind);
  ReadBytes(fields, "memory_bytes", 1, &device.memory_bytes);
  ReadBytes(fields, "preload_bytes", 0, &device.preload_bytes);
  fields.Within("profile", Need::kOptional, [&](JsonFields& inner) {
    device.profile = ReadProfileFields(inner);
    if (!inner.status().ok()) return;
    if (const auto fault = FindProfileFault(*device.profile)) inner.Fail(*fault);
  });
  return device;
}

/// Reads the entries, each by itself, and refuses a name that another device has.
void ReadDevices(JsonFields& fields, std::vector<DeviceEntry>* devices) {
  fields.ForEach("devices", Need::kRequired, [&](JsonFields& item) {
    if (devices->size() == kMaxClusterDevices) return item.Fail("is one more than the most, 64");
    DeviceEntry device = ReadDevice(item);
    for (size_t i = 0; i < devices->size(); ++i) {
      if ((*devices)[i].name == device.name)
        item.Fail("name is that of " + PlaceOf(i) + " too, " + Clipped(device.name));
    }
    devices->push_back(std::move(device));
  });
  if (fields.status().ok() && devices->empty()) fields.Fail("devices is an empty list");
}

/// Refuses a name that means one device, and as a kind others.
void CheckKindNames(const std::vector<DeviceEntry>& devices, JsonFields* fields) {
  for (size_t i = 0; i < devices.size(); ++i) {
    for (size_t k = 0; k < devices.size(); ++k) {
      if (i == k || devices[i].name != devices[k].kind) continue;
      fields->Fail(PlaceOf(i) + ": name is also the kind of " + PlaceOf(k) + ", " +
                   devices[i].name);
    }
  }
}

uint64_t EntriesOf(const DeviceProfile& p) {
  uint64_t batched = 0;
  for (const BatchSamples& samples : p.batches)
    batched += samples.compute.size() + samples.fixed.size();
  return p.io.size() + p.compute.size() + p.decode.size() + p.fixed.size() + p.io_series.size() +
         p.compute_series.size() + batched;
}

/// Returns what a device says of itself, or else what the first of its kind does that says it; null
/// if none does.
template <typename T>
const T* SaidOf(const DeviceEntry& device, const std::vector<DeviceEntry>& all,
                std::optional<T> DeviceEntry::*field) {
  if (device.*field) return &*(device.*field);
  for (const DeviceEntry& other : all) {
    if (other.kind == device.kind && other.*field) return &*(other.*field);
  }
  return nullptr;
}

/// Makes devices of the entries: each says all that its kind says. Profiles are counted before they
/// are copied, as many devices may have that of one.
std::vector<ClusterDevice> MakeDevices(const std::vector<DeviceEntry>& entries,
                                       JsonFields* fields) {
  std::vector<ClusterDevice> devices;
  uint64_t samples = 0;
  for (const DeviceEntry& entry : entries) {
    if (!fields->status().ok()) break;
    const DeviceProfile* profile = SaidOf(entry, entries, &DeviceEntry::profile);
    if (profile == nullptr) {
      fields->Fail(PlaceOf(devices.size()) + ": profile is missing, and no device of the kind " +
                   entry.kind + " has one");
      break;
    }
    samples += EntriesOf(*profile);
    if (samples > kMaxClusterSamples) {
      fields->Fail("the profiles of all devices together have more than 1048576 entries");
      break;
    }
    ClusterDevice device;
    device.name = entry.name;
    device.kind = entry.kind;
    device.profile = *profile;
    if (const uint64_t* bytes = SaidOf(entry, entries, &DeviceEntry::memory_bytes))
      device.memory_bytes = *bytes;
    if (const uint64_t* bytes = SaidOf(entry, entries, &DeviceEntry::preload_bytes))
      device.preload_bytes = *bytes;
    devices.push_back(std::move(device));
  }
  return devices;
}

/// Reads links into a cluster that has its devices, each between all devices that its ends name.
class LinkReader {
 public:
  explicit LinkReader(Cluster* cluster)
      : cluster_(*cluster), linked_(cluster->devices.size() * cluster->devices.size()) {}

  void Read(JsonFields& fields) {
    const std::vector<uint32_t> from = DevicesOf(fields, "from");
    const std::vector<uint32_t> to = DevicesOf(fields, "to");
    ClusterLink link;
    fields.Get("bits_per_s", Need::kRequired, &link.bits_per_s);
    fields.Get("delay_us", Need::kRequired, &link.delay_us);
    if (!fields.status().ok()) return;
    // Comparisons with NaN are false.
    if (!(link.bits_per_s >= 1 && link.bits_per_s <= kMaxLinkBitsPerS))
      return fields.Fail("bits_per_s is not from 1 to 10^15");
    if (!(link.delay_us >= 0 && link.delay_us <= kMaxSampleUs))
      return fields.Fail("delay_us is not from 0 to 10^9");
    bool links_any = false;
    for (const uint32_t sender : from) {
      for (const uint32_t receiver : to) {
        if (sender == receiver) continue;
        links_any = true;
        link.from = sender;
        link.to = receiver;
        Add(fields, link);
      }
    }
    if (!links_any) fields.Fail("links " + NameOfDevice(from.front()) + " to itself");
  }

 private:
  /// Returns the device of a name, or those of a kind; at least one, or `fields` has failed.
  std::vector<uint32_t> DevicesOf(JsonFields& fields, const char* key) {
    std::string end;
    fields.Get(key, Need::kRequired, &end);
    std::vector<uint32_t> devices;
    for (uint32_t i = 0; i < cluster_.devices.size(); ++i) {
      if (cluster_.devices[i].name == end || cluster_.devices[i].kind == end) devices.push_back(i);
    }
    if (devices.empty()) {
      fields.Fail(std::string(key) +
                  " is no name of a device and no kind: " + Clipped(MakePrintable(end)));
    }
    return devices;
  }

  void Add(JsonFields& fields, const ClusterLink& link) {
    const size_t pair = link.from * cluster_.devices.size() + link.to;
    if (linked_[pair]) {
      return fields.Fail("links " + NameOfDevice(link.from) + " to " + NameOfDevice(link.to) +
                         ", as a link above does");
    }
    linked_[pair] = true;
    cluster_.links.push_back(link);
  }

  [[nodiscard]] const std::string& NameOfDevice(uint32_t device) const {
    return cluster_.devices[device].name;
  }

  Cluster& cluster_;
  std::vector<bool> linked_;  // [devices, devices] by sender, receiver
};

}  // namespace

Result<Cluster> ParseCluster(std::span<const uint8_t> bytes, const std::string& name,
                             UnknownKeys* unknown) {
  STI_ASSIGN_OR_RETURN(const nlohmann::json object, ParseJsonObject(bytes, name));
  JsonFields fields(object, name, unknown);
  std::vector<DeviceEntry> entries;
  ReadDevices(fields, &entries);
  CheckKindNames(entries, &fields);
  Cluster cluster;
  cluster.devices = MakeDevices(entries, &fields);
  LinkReader links(&cluster);
  fields.ForEach("links", Need::kOptional, [&](JsonFields& item) { links.Read(item); });
  STI_RETURN_IF_ERROR(fields.status());
  const Result<ClusterKinds> kinds = KindsOf(cluster);
  if (!kinds.ok()) return Error(kinds.error()).At(name);
  fields.NoteUnknown();
  return cluster;
}

}  // namespace sti
