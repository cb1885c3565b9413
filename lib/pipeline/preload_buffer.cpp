#include "pipeline/preload_buffer.h"

#include <algorithm>
#include <vector>

namespace sti {

Result<PreloadBuffer> PreloadBuffer::Create(const ContainerIndex& index, const Plan& plan) {
  PreloadBuffer buffer;
  std::map<uint32_t, uint32_t> position;
  for (uint32_t k = 0; k < plan.layers.size(); ++k) position[plan.layers[k]] = k;
  buffer.groups_ = static_cast<uint32_t>(plan.layers.size());
  std::vector<ShardRequest> requests;
  requests.reserve(plan.preload.size());
  for (const PreloadedShard& shard : plan.preload)
    requests.push_back({shard.layer, shard.slice, shard.bits, position.at(shard.layer)});
  std::stable_sort(requests.begin(), requests.end(),
                   [](const ShardRequest& a, const ShardRequest& b) { return a.group < b.group; });
  for (size_t r = 0; r < requests.size(); ++r)
    buffer.requests_[{requests[r].layer, requests[r].slice}] = r;
  STI_ASSIGN_OR_RETURN(buffer.schedule_, BuildLoadSchedule(index, requests));
  buffer.buffer_ = AlignedBuffer(buffer.schedule_.arena_bytes);
  return buffer;
}

Status PreloadBuffer::Load(IoLane& lane) {
  lane.Start({nullptr, {}, &schedule_, buffer_.span(), groups_});
  Status status;
  for (uint32_t k = 0; k < groups_ && status.ok(); ++k) status = lane.WaitForGroup(k);
  lane.Finish();
  return status;
}

Result<ShardView> PreloadBuffer::View(const ContainerIndex& index, const PreloadedShard& shard,
                                      const std::string& file) const {
  const size_t request = requests_.at({shard.layer, shard.slice});
  return ViewStagedShard(index, schedule_, request, buffer_.span(), file);
}

}  // namespace sti
