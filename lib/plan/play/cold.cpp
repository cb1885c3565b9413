#include "plan/play/cold.h"

#include <utility>

#include "base/remedy.h"

namespace sti {
Status CheckColdIsKnown(const CheckedInput& input, const DeviceModel& device) {
  if (input->cold == nullptr || input->cold->layers.size() != input->catalog.layers) {
    return UsageError("the sizes of the model's parts are not known")
        .Fix(Remedy::kDropFromRequest, "cold");
  }
  if (!device.LoadUs(0, 1)) {
    return UsageError("a cold start needs load times by bytes, this one has them by bits")
        .In(Source::kProfile)
        .Fix(Remedy::kMeasureAgain);
  }
  return {};
}

ColdTimes ColdTimesOf(const CheckedInput& input, const DeviceModel& device,
                      std::span<const uint32_t> layers) {
  const ColdBytes& bytes = *input->cold;
  ColdTimes times;
  times.start_us = input->profile.start_us;
  times.embedding_us = device.PartUs(bytes.embedding);
  times.open_io_us = device.PartUs(bytes.index) + device.PartUs(bytes.vocabulary);
  times.resident_us.reserve(layers.size() + 1);
  for (uint32_t layer : layers) times.resident_us.push_back(device.PartUs(bytes.layers[layer]));
  times.resident_us.push_back(device.PartUs(bytes.head));
  return times;
}

ComputeLane LaneOf(const CheckedInput& input, const DeviceModel& device,
                   std::span<const uint32_t> layers, uint32_t width, bool cold,
                   const NetworkEnds& ends) {
  ComputeLane lane{device.fixed(), static_cast<uint32_t>(layers.size()),
                   device.LayerUs(width).value_or(0), device.LastLayerUs(width).value_or(0)};
  if (!ends.text) lane.fixed.embed_us = lane.fixed.embed_io_us = lane.fixed.embed_io_start_us = 0;
  if (!ends.head) {
    lane.fixed.head_us = 0;
    lane.last_us = lane.layer_us;
  }
  if (!cold) return lane;
  ColdTimes times = ColdTimesOf(input, device, layers);
  lane.fixed.embed_io_us += times.start_us + times.open_io_us + times.embedding_us;
  lane.resident_us = std::move(times.resident_us);
  lane.resident_bytes.reserve(layers.size() + 1);
  for (uint32_t layer : layers) lane.resident_bytes.push_back(input->cold->layers[layer]);
  lane.resident_bytes.push_back(input->cold->head);
  return lane;
}

}  // namespace sti
