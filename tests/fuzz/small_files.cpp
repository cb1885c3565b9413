#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "format/cluster_file.h"
#include "format/framed_file.h"
#include "format/importance_file.h"
#include "format/importance_part_file.h"
#include "format/label_vectors_file.h"
#include "format/plan_file.h"
#include "format/profile_file.h"
#include "fuzz/codec.h"
#include "fuzz/targets.h"
#include "types/limits.h"
#include "types/plan_check.h"
#include "types/profile_check.h"

namespace sti::fuzz {
namespace {

// Requires that a value that is read can be written in both spellings, and that both read back as
// the same.
template <typename Value>
void Check(const Codec<Value>& codec, Input input) {
  const auto value = codec.parse(input, "f");
  if (!value.ok()) return RequireDataError(value.error());
  const std::string json = codec.to_json(*value);
  const auto from_binary = codec.parse(codec.encode(*value), "f");
  Require(from_binary.ok(), "the binary spelling of a value is read");
  Require(codec.to_json(*from_binary) == json, "the binary spelling means the same");
  RequireJsonIsRead(codec, *value);
}

// Checks the input as it is; then what follows the magic and 32 bytes in a frame whose checksums
// are right.
template <typename Value>
void CheckBoth(const Codec<Value>& codec, Input input) {
  Check(codec, input);
  if (input.size() < kFrameHeaderBytes ||
      !std::equal(codec.magic.begin(), codec.magic.end(), input.begin())) {
    return;
  }
  Check(codec, WrapFrame(codec.magic, input.subspan(kFrameHeaderBytes)));
}

}  // namespace

void Importance(Input input) { CheckBoth(kImportanceCodec, input); }

// Checks a part, which has one spelling, as it is; then with its checksums put right.
void ImportancePart(Input input) {
  const auto check = [](Input bytes) {
    const auto part = ParseImportancePart(bytes, "f");
    if (!part.ok()) return RequireDataError(part.error());
    const auto again = ParseImportancePart(EncodeImportancePart(*part), "f");
    Require(again.ok(), "a part that was read is read again");
    Require(again->job == part->job && again->tallies == part->tallies, "and means the same");
  };
  check(input);
  if (input.size() < kFrameHeaderBytes || !IsImportancePart(input)) return;
  check(WrapFrame(kImportancePartMagic, input.subspan(kFrameHeaderBytes)));
}

// Checks label vectors, which have one spelling, as they are; then with their checksums put right.
void LabelVectors(Input input) {
  const auto check = [](Input bytes) {
    const auto vectors = ParseLabelVectors(bytes, "f");
    if (!vectors.ok()) return RequireDataError(vectors.error());
    Require(ProblemOfLabelVectors(*vectors).empty(), "vectors that were read keep all rules");
    const auto encoded = EncodeLabelVectors(*vectors);
    Require(encoded.ok(), "and can be written");
    const auto again = ParseLabelVectors(*encoded, "f");
    Require(again.ok() && *EncodeLabelVectors(*again) == *encoded, "and mean the same");
  };
  check(input);
  if (input.size() < kFrameHeaderBytes || !IsLabelVectors(input)) return;
  check(WrapFrame(kLabelVectorsMagic, input.subspan(kFrameHeaderBytes)));
}

void Profile(Input input) { CheckBoth(kProfileCodec, input); }

// Requires that a cluster that was read keeps the rules of clusters, and has kinds.
void Cluster(Input input) {
  const auto cluster = ParseCluster(input, "f");
  if (!cluster.ok()) return RequireDataError(cluster.error());
  const size_t devices = cluster->devices.size();
  Require(devices >= 1 && devices <= kMaxClusterDevices, "a cluster has 1 to 64 devices");
  for (const ClusterDevice& device : cluster->devices) {
    Require(IsClusterName(device.name) && IsClusterName(device.kind), "names are printable");
    Require(!FindProfileFault(device.profile), "a profile that was read has no fault");
  }
  std::set<std::pair<uint32_t, uint32_t>> linked;
  for (const ClusterLink& link : cluster->links) {
    Require(link.from < devices && link.to < devices && link.from != link.to,
            "a link is from a device to another");
    Require(linked.emplace(link.from, link.to).second, "no two are linked twice");
    Require(link.bits_per_s >= 1 && link.bits_per_s <= kMaxLinkBitsPerS, "a link has a rate");
    Require(link.delay_us >= 0 && link.delay_us <= kMaxSampleUs, "a delay is no less than 0");
  }
  const auto kinds = KindsOf(*cluster);
  Require(kinds.ok(), "a cluster that was read has kinds");
  for (const ClusterLink& link : kinds->links) {
    Require(link.from < kinds->kinds.size() && link.to < kinds->kinds.size(),
            "a link between kinds is from a kind to one");
  }
}

// Requires that a plan that was read keeps the rules of plans. Asked whether it fits a small model,
// the check answers in one short line.
Result<sti::Plan> ParseAndCheckPlan(Input input, const std::string& name) {
  auto plan = ParsePlan(input, name);
  if (!plan.ok()) return plan;
  Require(!FindPlanFault(*plan, {}), "a plan that was read has no fault");
  PlanBounds small;
  small.layers = 4;
  small.width = 2;
  small.least_length = 2;
  small.most_length = 128;
  small.holds = [](const ShardAtBits& shard) { return shard.bits % 2 == 0; };
  const auto fault = FindPlanFault(*plan, small);
  if (fault) RequireDataError(DataError(fault->text()));
  return plan;
}

void Plan(Input input) {
  Codec<sti::Plan> codec = kPlanCodec;
  codec.parse = ParseAndCheckPlan;
  CheckBoth(codec, input);
}

}  // namespace sti::fuzz
