// The small files that have two spellings, as targets read and write them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "format/framed_file.h"
#include "format/importance_file.h"
#include "format/plan_file.h"
#include "format/profile_file.h"
#include "fuzz/targets.h"

namespace sti::fuzz {

using Bin = std::vector<uint8_t>;

constexpr size_t kFrameHeaderBytes = 40;  ///< before the payload of a small file

template <typename Value>
struct Codec {
  std::string_view magic;
  Result<Value> (*parse)(std::span<const uint8_t>, const std::string&);
  Bin (*encode)(const Value&);
  std::string (*to_json)(const Value&);
};

inline constexpr Codec<DeviceProfile> kProfileCodec{kProfileMagic, ParseProfile, EncodeProfile,
                                                    ProfileToJson};
inline constexpr Codec<sti::Importance> kImportanceCodec{kImportanceMagic, ParseImportance,
                                                         EncodeImportance, ImportanceToJson};
inline constexpr Codec<sti::Plan> kPlanCodec{kPlanMagic, ParsePlan, EncodePlan, PlanToJson};

/// Requires that a value which was read is read from its JSON spelling too, and means the same.
template <typename Value>
void RequireJsonIsRead(const Codec<Value>& codec, const Value& value) {
  const std::string json = codec.to_json(value);
  const auto again = codec.parse(AsBytes(json), "f");
  if (!again.ok()) RequireDataError(again.error());
  Require(again.ok(), "the JSON spelling of a value is read");
  Require(codec.to_json(*again) == json, "the JSON spelling means the same");
}

}  // namespace sti::fuzz
