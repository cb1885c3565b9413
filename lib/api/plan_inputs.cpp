#include "api/plan_inputs.h"

#include <utility>

#include "link/stage_link.h"
#include "model/held_rows.h"
#include "model/memory.h"
#include "plan/device_model.h"
#include "text/model_tokenizer.h"
#include "text/vocabulary.h"

namespace sti {
namespace {

// The rows of more words are worth no place in a preload buffer.
constexpr size_t kMostCommonWords = 1024;

const Importance* PointerTo(const std::optional<Importance>& importance) {
  return importance ? &*importance : nullptr;
}

}  // namespace

// All resident parts, by what they are for.
ColdBytes ColdBytesOf(const ContainerFile& file) {
  ColdBytes bytes;
  bytes.index = ContainerFile::OpenReadBytes(file.index_bytes());
  bytes.layers.resize(file.index().info.shape.layers);
  for (const ResidentLocation& resident : file.index().resident) {
    const uint64_t part = resident.part.length == 0 ? 0 : BlocksAround(resident.part).bytes();
    if (IsText(resident.kind)) {
      bytes.vocabulary += part;
    } else if (resident.kind == ResidentKind::kEmbedding) {
      bytes.embedding += part;
    } else if (resident.kind == ResidentKind::kLayer) {
      bytes.layers[resident.layer] += part;
    } else {
      bytes.head += part;
    }
  }
  return bytes;
}

Result<double> OpeningLoadUs(const ColdBytes& bytes, const DeviceProfile& profile) {
  STI_ASSIGN_OR_RETURN(const DeviceModel device,
                       DeviceModel::Make(profile, LongestProfiledLength(profile), Risk::kMedian));
  return device.PartUs(bytes.index) + device.PartUs(bytes.vocabulary) +
         device.PartUs(bytes.embedding);
}

PlanInputs::PlanInputs(const ContainerFile& file, DeviceProfile profile,
                       std::optional<Importance> importance, const Vocabulary* vocabulary)
    : index_(file.index()),
      catalog_(CatalogOf(index_)),
      cold_(ColdBytesOf(file)),
      profile_(std::move(profile)),
      importance_(std::move(importance)) {
  if (vocabulary != nullptr && !CountsWords(PointerTo(importance_)))
    common_words_ = CommonWords(*vocabulary, kMostCommonWords);
}

PlanInput PlanInputs::View() const {
  const auto working = [this](const PlanExtent& extent) {
    return WorkingBytes(index_, {profile_.kernel, profile_.threads, extent}) +
           GatheredImageBytes(index_, extent.sequences);
  };
  const auto stage_resident = [this](const StageExtent& stage) {
    return ResidentBytes(index_, stage) + (stage.ends.text ? TokenizerBytes(index_) : 0);
  };
  const auto link = [this](const PlanExtent& extent) {
    const uint64_t row_bytes = uint64_t{extent.tokens} * index_.info.shape.hidden * sizeof(float);
    return LinkBytes(row_bytes, !extent.ends.text, !extent.ends.head);
  };
  const auto fallback_rows = [this](uint32_t tokens) { return FallbackRowBytes(index_, tokens); };
  std::optional<uint64_t> process;
  if (profile_.process_bytes != 0) process = profile_.process_bytes;
  return {.info = index_.info,
          .catalog = catalog_,
          .profile = profile_,
          .importance = PointerTo(importance_),
          .model = index_.model,
          .shape = ShapeDigest(index_.info),
          .memory = {.process = process,
                     .resident = ResidentBytes(index_) + TokenizerBytes(index_),
                     .row_bytes = index_.words.row_bytes,
                     .working = working,
                     .stage_resident = stage_resident,
                     .link = link,
                     .fallback_rows = fallback_rows},
          .cold = &cold_,
          .common_words = common_words_};
}

PlanInput PlanInputs::ViewOfOwnMemory() const {
  PlanInput view = View();
  view.memory.process = 0;
  return view;
}

ClusterInputs::ClusterInputs(const ContainerFile& file, const Cluster& cluster,
                             const std::optional<Importance>& importance)
    : cluster_(cluster), grouped_(*KindsOf(cluster)) {
  kinds_.reserve(grouped_.kinds.size());
  for (const ClusterKind& kind : grouped_.kinds)
    kinds_.emplace_back(file, cluster_.devices[kind.devices.front()].profile, importance);
}

ClusterInput ClusterInputs::View() const {
  ClusterInput view;
  const size_t count = grouped_.kinds.size();
  view.links.resize(count * count);
  for (const ClusterLink& link : grouped_.links)
    view.links[link.from * count + link.to] = {link.bits_per_s, link.delay_us};
  for (size_t i = 0; i < count; ++i) {
    const ClusterKind& kind = grouped_.kinds[i];
    const ClusterDevice& first = cluster_.devices[kind.devices.front()];
    DeviceKind device{kinds_[i].View(), first.memory_bytes, first.preload_bytes};
    for (const uint32_t index : kind.devices)
      device.devices.push_back(cluster_.devices[index].name);
    view.kinds.push_back(std::move(device));
  }
  return view;
}

Result<PlanInputs> ReadPlanInputs(ContainerFile& file, DeviceProfile profile,
                                  std::optional<Importance> importance,
                                  const PlanRequest& request) {
  std::optional<Vocabulary> vocabulary;
  // Which words are common is asked of the vocabulary where no importance has counted them.
  if (request.guarantee() && file.index().info.has_text() && !CountsWords(PointerTo(importance))) {
    STI_ASSIGN_OR_RETURN(vocabulary, LoadVocabulary(file));
  }
  return PlanInputs(file, std::move(profile), std::move(importance),
                    vocabulary ? &*vocabulary : nullptr);
}

}  // namespace sti
