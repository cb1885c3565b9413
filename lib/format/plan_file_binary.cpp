#include <algorithm>
#include <optional>

#include "format/flatbuffer_values.h"
#include "format/framed_file.h"
#include "format/list_room.h"
#include "format/plan_file_parts.h"
#include "plan_generated.h"
#include "types/file_text.h"
#include "types/limits.h"

namespace sti {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;
template <typename T>
using Offsets = std::vector<flatbuffers::Offset<T>>;
template <typename T>
using List = flatbuffers::Vector<T>;

/// Refuses what validation would refuse before it is copied.
Status CheckSizes(const fb::Plan& table, const std::string& name) {
  const std::optional<std::string> fault =
      FindPlanTextFault(ViewOf(table.strategy()), ViewOf(table.kernel()), ViewOf(table.read_path()),
                        ViewOf(table.cpus()));
  if (fault) return PlanError(name, *fault);
  if (table.layers() != nullptr && table.layers()->size() > kMaxLayers)
    return PlanError(name, "layers has more than 1024 entries");
  if (table.aib_us() != nullptr &&
      (table.aib_us()->size() == 0 || table.aib_us()->size() > kMaxLayers))
    return PlanError(name, "aib_us does not have one entry a layer");
  const fb::PlanTimes* times = table.times();
  if (times != nullptr && times->layer_io_us() != nullptr &&
      times->layer_io_us()->size() > kMaxLayers)
    return PlanError(name, "times.layer_io_us does not have one entry a layer");
  if (table.preload() != nullptr && table.preload()->size() > kMaxLayers * kMaxWidth)
    return PlanError(name, "preload has more entries than a plan has shards");
  if (table.words() != nullptr && table.words()->size() > kMaxPlanWords)
    return PlanError(name, "words has more than 65536 entries");
  return {};
}

Status ReadLayerRows(const fb::Plan& table, const std::string& name, ListRoom* room, Plan* plan) {
  if (table.rows() == nullptr) return {};
  if (table.rows()->size() > kMaxLayers) return PlanError(name, "more than 1024 rows");
  std::vector<std::vector<uint32_t>> slices;
  std::vector<std::vector<uint32_t>> bits;
  slices.reserve(table.rows()->size());
  bits.reserve(table.rows()->size());
  for (const fb::PlanRow* row : *table.rows()) {
    if ((row->slices() != nullptr && row->slices()->size() > kMaxWidth) ||
        (row->bits() != nullptr && row->bits()->size() > kMaxWidth))
      return PlanError(name, "a row has more than 256 entries");
    STI_RETURN_IF_ERROR(room->Take(row->slices()));
    STI_RETURN_IF_ERROR(room->Take(row->bits()));
    slices.push_back(NumbersOf(row->slices()));
    bits.push_back(NumbersOf(row->bits()));
  }
  auto slice_grid = Grid<uint32_t>::FromRows(slices);
  auto bit_grid = Grid<uint32_t>::FromRows(bits);
  if (!slice_grid || !bit_grid) return PlanError(name, "rows differ in length");
  plan->slices = std::move(*slice_grid);
  plan->bits = std::move(*bit_grid);
  return {};
}

using PreloadList = List<flatbuffers::Offset<fb::PreloadEntry>>;

Status ReadPreload(const PreloadList* list, ListRoom* room, std::vector<ShardAtBits>* preload) {
  if (list == nullptr) return {};
  STI_RETURN_IF_ERROR(room->Take(list));
  preload->reserve(list->size());
  for (const fb::PreloadEntry* entry : *list)
    preload->push_back({{entry->layer(), entry->slice()}, entry->bits()});
  return {};
}

Result<PlanTurn> ReadTurn(const fb::PlanTurn& table, const std::string& name, const Plan& plan,
                          ListRoom* room) {
  PlanTurn turn;
  const auto rows = static_cast<uint32_t>(plan.layers.size());
  if (table.bits() == nullptr || table.bits()->size() != uint64_t{rows} * plan.width)
    return PlanError(name, "bits does not have one entry a shard");
  if (table.aib_us() != nullptr && table.aib_us()->size() != rows)
    return PlanError(name, "aib_us does not have one entry a layer");
  STI_RETURN_IF_ERROR(room->Take(table.bits()));
  STI_RETURN_IF_ERROR(room->Take(table.aib_us()));
  const std::vector<uint32_t> bits = NumbersOf(table.bits());
  turn.bits = Grid<uint32_t>(rows, plan.width);
  std::copy(bits.begin(), bits.end(), turn.bits.values().begin());
  STI_RETURN_IF_ERROR(ReadPreload(table.preload(), room, &turn.preload));
  turn.preload_bytes = table.preload_bytes();
  turn.read_bytes = table.read_bytes();
  turn.aib_us = NumbersOf(table.aib_us());
  turn.predicted_latency_us = table.predicted_latency_us();
  turn.predicted_p99_us = table.predicted_p99_us();
  turn.quality.loss = table.predicted_loss();
  turn.quality.accuracy = table.predicted_accuracy();
  turn.quality.agreement = table.predicted_agreement();
  return turn;
}

Status ReadTurns(const fb::Plan& table, const std::string& name, ListRoom* room, Plan* plan) {
  if (table.turns() == nullptr) return {};
  if (table.turns()->size() > kMaxTurns) return PlanError(name, "more than 64 turns");
  if (plan->width > kMaxWidth) return PlanError(name, "width is more than 256");
  plan->turns.reserve(table.turns()->size());
  for (const fb::PlanTurn* turn : *table.turns()) {
    const std::string where = name + ": turns[" + std::to_string(plan->turns.size()) + "]";
    STI_ASSIGN_OR_RETURN(PlanTurn read, ReadTurn(*turn, where, *plan, room));
    plan->turns.push_back(std::move(read));
  }
  return {};
}

Status ReadTimes(const fb::Plan& table, ListRoom* room, Plan* plan) {
  const fb::PlanTimes* times = table.times();
  if (times == nullptr) return {};
  STI_RETURN_IF_ERROR(room->Take(times->layer_io_us()));
  plan->times =
      PlanTimes{times->start_us(),      times->open_io_us(),       times->embed_io_us(),
                times->embed_us(),      times->layer_us(),         times->layer_p99_us(),
                times->head_us(),       times->stall_us(),         NumbersOf(times->layer_io_us()),
                times->last_layer_us(), times->last_layer_p99_us()};
  return {};
}

Status ReadFallback(const fb::Plan& table, const std::string& name, ListRoom* room, Plan* plan) {
  const fb::PlanFallback* stored = table.fallback();
  if (stored == nullptr) return {};
  if (stored->layers() != nullptr && stored->layers()->size() > kMaxLayers)
    return PlanError(name, "fallback.layers has more than 1024 entries");
  STI_RETURN_IF_ERROR(room->Take(stored->layers()));
  Fallback& fallback = plan->fallback.emplace();
  fallback.layers = NumbersOf(stored->layers());
  fallback.width = stored->width();
  fallback.bits = stored->bits();
  fallback.bytes = stored->bytes();
  fallback.embed_us = stored->embed_us();
  fallback.layer_us = stored->layer_us();
  fallback.last_layer_us = stored->last_layer_us();
  fallback.head_us = stored->head_us();
  fallback.margin_us = stored->margin_us();
  fallback.cost_bits = stored->cost_bits();
  fallback.quality = {stored->predicted_loss(), stored->predicted_accuracy(),
                      stored->predicted_agreement()};
  return {};
}

void ReadScalars(const fb::Plan& table, Plan* plan) {
  SetStrategy(TextOf(table.strategy()), plan);
  plan->length = table.length();
  plan->width = table.width();
  plan->preload_bytes = table.preload_bytes();
  plan->slack_us = table.slack_us();
  plan->target_us = table.target_us();
  plan->meets_target = table.meets_target();
  plan->predicted_latency_us = table.predicted_latency_us();
  plan->predicted_p99_us = table.predicted_p99_us();
  plan->predicted_peak_bytes = table.predicted_peak_bytes();
  plan->quality.accuracy = table.predicted_accuracy();
  plan->parameter_bytes = table.parameter_bytes();
  plan->kernel = ParseKernel(TextOf(table.kernel()));
  plan->read_path = TextOf(table.read_path());
  plan->wake_us = table.wake_us();
  plan->freq = table.freq();
  plan->quality.loss = table.predicted_loss();
  plan->turn_bytes = table.turn_bytes();
  plan->staging_bytes = table.staging_bytes();
  plan->read_bytes = table.read_bytes();
  plan->read_depth = table.read_depth();
  plan->cold = table.cold();
  plan->quality.agreement = table.predicted_agreement();
  plan->threads = table.threads();
  plan->cpus = TextOf(table.cpus());
  plan->row_share = table.row_share();
  plan->row_p99_share = table.row_p99_share();
}

/// All but its variants and its cascade.
Result<Plan> ReadOne(const fb::Plan& table, const std::string& name, ListRoom* room) {
  Plan plan;
  if (const auto* model = table.model()) {
    STI_ASSIGN_OR_RETURN(plan.model,
                         DigestFromBytes(model->data(), model->size(), name + ": model"));
  }
  if (const auto* shape = table.shape()) {
    STI_ASSIGN_OR_RETURN(plan.shape,
                         DigestFromBytes(shape->data(), shape->size(), name + ": shape"));
  }
  STI_RETURN_IF_ERROR(CheckSizes(table, name));
  ReadScalars(table, &plan);
  plan.layers = NumbersOf(table.layers());
  plan.aib_us = NumbersOf(table.aib_us());
  STI_RETURN_IF_ERROR(ReadLayerRows(table, name, room, &plan));
  STI_RETURN_IF_ERROR(ReadPreload(table.preload(), room, &plan.preload));
  STI_RETURN_IF_ERROR(room->Take(table.words()));
  plan.words = NumbersOf(table.words());
  STI_RETURN_IF_ERROR(ReadTurns(table, name, room, &plan));
  STI_RETURN_IF_ERROR(ReadTimes(table, room, &plan));
  STI_RETURN_IF_ERROR(ReadFallback(table, name, room, &plan));
  return plan;
}

/// Reads the levels before the last. They do not nest, so neither does this.
Status ReadCascadeLevels(const fb::PlanCascade& stored, const std::string& name, ListRoom* room,
                         PlanCascade* cascade) {
  if (stored.levels() == nullptr) return {};
  if (stored.levels()->size() >= kMaxCascadeLevels)
    return PlanError(name, "cascade.levels does not have 1 or 2 entries");
  for (const fb::PlanCascadeLevel* level : *stored.levels()) {
    const std::string where =
        name + ": cascade.levels[" + std::to_string(cascade->levels.size()) + "]";
    const fb::Plan* plan = level->plan();
    if (plan == nullptr) return PlanError(where, "plan is missing");
    const bool nests = (plan->variants() != nullptr && plan->variants()->size() > 0) ||
                       (plan->turns() != nullptr && plan->turns()->size() > 0);
    if (nests || plan->cascade() != nullptr)
      return PlanError(where, "a cascade level has variants, turns or a cascade of its own");
    CascadeLevel& read = cascade->levels.emplace_back();
    STI_ASSIGN_OR_RETURN(read.plan, ReadOne(*plan, where, room));
    read.temperature = level->temperature();
    read.rule = {level->cutoff(), level->slope(), level->prune_alpha(), level->ensemble_weight()};
    read.upgrade_bytes = level->upgrade_bytes();
  }
  return {};
}

Status ReadCascade(const fb::Plan& table, const std::string& name, ListRoom* room, Plan* plan) {
  const fb::PlanCascade* stored = table.cascade();
  if (stored == nullptr) return {};
  PlanCascade& cascade = plan->cascade.emplace();
  STI_RETURN_IF_ERROR(ReadCascadeLevels(*stored, name, room, &cascade));
  STI_RETURN_IF_ERROR(room->Take(stored->return_share()));
  STI_RETURN_IF_ERROR(room->Take(stored->path_us()));
  cascade.temperature = stored->temperature();
  cascade.return_share = NumbersOf(stored->return_share());
  cascade.path_us = NumbersOf(stored->path_us());
  cascade.mean_us = stored->mean_us();
  cascade.worst_path_us = stored->worst_path_us();
  cascade.quality = {stored->predicted_loss(), stored->predicted_accuracy(),
                     stored->predicted_agreement()};
  return {};
}

Result<Plan> FromTable(const fb::Plan& table, const std::string& name, size_t payload_bytes) {
  ListRoom room(payload_bytes, PlanError(name, kFullProblem));
  STI_ASSIGN_OR_RETURN(Plan plan, ReadOne(table, name, &room));
  STI_RETURN_IF_ERROR(ReadCascade(table, name, &room, &plan));
  if (table.variants() == nullptr) return plan;
  if (table.variants()->size() > kMaxVariants) return PlanError(name, "more than 64 variants");
  plan.variants.reserve(table.variants()->size());
  for (const fb::Plan* variant : *table.variants()) {
    if (variant->variants() != nullptr && variant->variants()->size() > 0)
      return PlanError(name, "a variant has variants of its own");
    if (variant->turns() != nullptr && variant->turns()->size() > 0)
      return PlanError(name, "a variant has turns");
    if (variant->cascade() != nullptr) return PlanError(name, "a variant has a cascade");
    STI_ASSIGN_OR_RETURN(Plan read, ReadOne(*variant, name + ": variants", &room));
    plan.variants.push_back(std::move(read));
  }
  return plan;
}

flatbuffers::Offset<List<uint8_t>> DigestBytes(Builder* builder, const Digest& digest) {
  if (digest.empty()) return 0;
  return builder->CreateVector(digest.bytes.data(), digest.bytes.size());
}

template <typename T>
flatbuffers::Offset<List<T>> ListOrAbsent(Builder* builder, const std::vector<T>& list) {
  if (list.empty()) return 0;
  return builder->CreateVector(list);
}

flatbuffers::Offset<List<uint32_t>> NumberVector(Builder* builder,
                                                 std::span<const uint32_t> numbers) {
  return builder->CreateVector(numbers.data(), numbers.size());
}

flatbuffers::Offset<PreloadList> PreloadTables(Builder* builder,
                                               const std::vector<ShardAtBits>& preload) {
  Offsets<fb::PreloadEntry> entries;
  entries.reserve(preload.size());
  for (const ShardAtBits& shard : preload)
    entries.push_back(fb::CreatePreloadEntry(*builder, shard.id.layer, shard.id.slice, shard.bits));
  return builder->CreateVector(entries);
}

Offsets<fb::PlanTurn> TurnTables(Builder* builder, const Plan& plan) {
  Offsets<fb::PlanTurn> turns;
  turns.reserve(plan.turns.size());
  for (const PlanTurn& turn : plan.turns) {
    const auto bits = NumberVector(builder, turn.bits.values());
    const auto preload = PreloadTables(builder, turn.preload);
    const auto aibs = ListOrAbsent(builder, turn.aib_us);
    turns.push_back(fb::CreatePlanTurn(*builder, bits, preload, turn.preload_bytes, turn.read_bytes,
                                       aibs, turn.predicted_latency_us, turn.predicted_p99_us,
                                       turn.quality.loss, turn.quality.accuracy,
                                       turn.quality.agreement));
  }
  return turns;
}

flatbuffers::Offset<fb::PlanTimes> TimesOrAbsent(Builder* builder, const Plan& plan) {
  if (!plan.times) return 0;
  const PlanTimes& times = *plan.times;
  const auto layer_io = ListOrAbsent(builder, times.layer_io_us);
  return fb::CreatePlanTimes(*builder, times.start_us, times.open_io_us, times.embed_io_us,
                             times.embed_us, times.layer_us, times.layer_p99_us, times.head_us,
                             times.stall_us, layer_io, times.last_layer_us,
                             times.last_layer_p99_us);
}

flatbuffers::Offset<fb::PlanFallback> FallbackOrAbsent(Builder* builder, const Plan& plan) {
  if (!plan.fallback) return 0;
  const Fallback& it = *plan.fallback;
  const auto layers = ListOrAbsent(builder, it.layers);
  return fb::CreatePlanFallback(*builder, layers, it.width, it.bits, it.bytes, it.embed_us,
                                it.layer_us, it.last_layer_us, it.head_us, it.margin_us,
                                it.cost_bits, it.quality.loss, it.quality.accuracy,
                                it.quality.agreement);
}

flatbuffers::Offset<fb::Plan> ToTable(Builder* builder, const Plan& plan);

flatbuffers::Offset<fb::PlanCascade> CascadeOrAbsent(Builder* builder, const Plan& plan) {
  if (!plan.cascade) return 0;
  const PlanCascade& it = *plan.cascade;
  Offsets<fb::PlanCascadeLevel> levels;
  for (const CascadeLevel& level : it.levels) {
    const auto one = ToTable(builder, level.plan);
    levels.push_back(fb::CreatePlanCascadeLevel(*builder, one, level.temperature, level.rule.cutoff,
                                                level.rule.slope, level.rule.prune_alpha,
                                                level.rule.ensemble_weight, level.upgrade_bytes));
  }
  const auto level_list = builder->CreateVector(levels);
  const auto shares = ListOrAbsent(builder, it.return_share);
  const auto paths = ListOrAbsent(builder, it.path_us);
  return fb::CreatePlanCascade(*builder, level_list, it.temperature, shares, paths, it.mean_us,
                               it.worst_path_us, it.quality.loss, it.quality.accuracy,
                               it.quality.agreement);
}

flatbuffers::Offset<fb::Plan> ToTable(Builder* builder, const Plan& plan) {
  Offsets<fb::Plan> variants;
  variants.reserve(plan.variants.size());
  for (const Plan& variant : plan.variants) variants.push_back(ToTable(builder, variant));
  const Offsets<fb::PlanTurn> turns = TurnTables(builder, plan);
  Offsets<fb::PlanRow> rows;
  const uint32_t count = std::min(plan.slices.rows(), plan.bits.rows());
  rows.reserve(count);
  for (uint32_t k = 0; k < count; ++k) {
    const auto slices = NumberVector(builder, plan.slices.Row(k));
    rows.push_back(fb::CreatePlanRow(*builder, slices, NumberVector(builder, plan.bits.Row(k))));
  }
  // In this order since 1.0: the same plan stays the same bytes.
  Offsets<fb::PreloadEntry> preload;
  preload.reserve(plan.preload.size());
  for (const ShardAtBits& shard : plan.preload)
    preload.push_back(fb::CreatePreloadEntry(*builder, shard.id.layer, shard.id.slice, shard.bits));
  const auto model = DigestBytes(builder, plan.model);
  const auto shape = DigestBytes(builder, plan.shape);
  const auto strategy = builder->CreateString(plan.strategy_name());
  const auto layers = builder->CreateVector(plan.layers);
  const auto row_list = builder->CreateVector(rows);
  const auto preload_list = builder->CreateVector(preload);
  const auto aibs = ListOrAbsent(builder, plan.aib_us);
  const auto kernel = builder->CreateString(plan.kernel.name);
  const auto read_path = builder->CreateString(plan.read_path);
  const auto cpus = plan.cpus.empty() ? flatbuffers::Offset<flatbuffers::String>()
                                      : builder->CreateString(plan.cpus);
  const auto variant_list = ListOrAbsent(builder, variants);
  const auto turn_list = ListOrAbsent(builder, turns);
  const auto times = TimesOrAbsent(builder, plan);
  const auto fallback = FallbackOrAbsent(builder, plan);
  const auto words = ListOrAbsent(builder, plan.words);
  const auto cascade = CascadeOrAbsent(builder, plan);
  return fb::CreatePlan(*builder, model, shape, strategy, plan.length, layers, plan.width, row_list,
                        preload_list, plan.preload_bytes, aibs, plan.slack_us, plan.target_us,
                        plan.meets_target, plan.predicted_latency_us, plan.predicted_p99_us,
                        plan.predicted_peak_bytes, plan.quality.accuracy, plan.parameter_bytes,
                        kernel, read_path, variant_list, plan.wake_us, plan.freq, plan.quality.loss,
                        plan.turn_bytes, turn_list, times, plan.staging_bytes, plan.read_bytes,
                        plan.read_depth, plan.cold, plan.quality.agreement, plan.threads, cpus,
                        fallback, words, plan.row_share, plan.row_p99_share, cascade);
}

}  // namespace

Result<Plan> PlanFromBinary(std::span<const uint8_t> bytes, const std::string& name) {
  STI_ASSIGN_OR_RETURN(const std::span<const uint8_t> framed, FindPayload(kPlanMagic, bytes, name));
  const AlignedPayload payload(framed);
  flatbuffers::Verifier verifier(payload.data(), payload.size());
  if (!fb::VerifyPlanBuffer(verifier)) return TableError(name, kNoTable);
  return FromTable(*fb::GetPlan(payload.data()), name, payload.size());
}

std::vector<uint8_t> PlanPayload(const Plan& plan) {
  Builder builder;
  builder.Finish(ToTable(&builder, plan));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

}  // namespace sti
