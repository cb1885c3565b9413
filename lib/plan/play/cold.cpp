#include "plan/play/cold.h"

#include <utility>

#include "base/remedy.h"
#include "types/fields.h"
#include "types/plan.h"

namespace sti {
namespace {

/// Returns the reads of the rows of all words, of a model that continues texts.
WordReads WordReadsOf(const CheckedInput& input, const DeviceModel& device) {
  const uint32_t rows = input->info.shape.vocabulary;
  const uint32_t row_bytes = input->memory.row_bytes;
  const WordGroup group = WordGroupOf(UnlessZero(input->profile.read_bytes), rows, row_bytes);
  WordReads words;
  words.groups = (rows + group.rows - 1) / group.rows;
  words.bytes = group.bytes;
  if (words.groups > 0) words.load_us = device.PartUs(uint64_t{rows} * row_bytes) / words.groups;
  return words;
}

}  // namespace

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
                   std::span<const uint32_t> layers, uint32_t width, const RunKind& kind) {
  const NetworkEnds& ends = kind.ends;
  ComputeLane lane{device.fixed(), static_cast<uint32_t>(layers.size()),
                   device.LayerUs(width).value_or(0), device.LastLayerUs(width).value_or(0)};
  if (!ends.text) lane.fixed.embed_us = lane.fixed.embed_io_us = lane.fixed.embed_io_start_us = 0;
  if (!ends.head) {
    lane.fixed.head_us = 0;
    lane.last_us = lane.layer_us;
  }
  if (ends.head && input->info.continues_texts()) {
    lane.words = WordReadsOf(input, device);
    if (kind.keeps_vocabulary && !kind.cold) {
      lane.words.groups = 0;
      lane.fixed.embed_io_us = lane.fixed.embed_io_start_us = 0;
    }
  }
  if (!kind.cold) return lane;
  ColdTimes times = ColdTimesOf(input, device, layers);
  lane.fixed.embed_io_us += times.start_us + times.open_io_us + times.embedding_us;
  lane.resident_us = std::move(times.resident_us);
  lane.resident_bytes.reserve(layers.size() + 1);
  for (uint32_t layer : layers) lane.resident_bytes.push_back(input->cold->layers[layer]);
  lane.resident_bytes.push_back(input->cold->head);
  return lane;
}

}  // namespace sti
