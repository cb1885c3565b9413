#include "importance/measure.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/remedy.h"
#include "format/framed_file.h"
#include "importance/chunk_meter.h"
#include "importance/importance_job.h"
#include "importance/importance_join.h"
#include "importance/work_list.h"

namespace sti {
namespace {

// Tokens a chunk: enough that decoding a shard is small beside multiplying with it, few enough that
// a chunk's unit takes seconds.
constexpr uint32_t kChunkTokens = 1024;
constexpr uint32_t kPaddedTokens = 128;
// The work of a step, which is all that a killed run loses: about a second of a core.
constexpr uint64_t kStepFlops = 100'000'000'000;

// A measurement under way: the work that is left, and the tallies of what is done.
class Measurement {
 public:
  Measurement(LayerRunner& runner, std::span<const ExampleBatch> chunks,
              std::optional<TagScheme> tags, const ImportanceOptions& options)
      : runner_(runner),
        tags_(std::move(tags)),
        chunks_(chunks),
        options_(options),
        list_(ShapeOf(runner.index(), options), SizesOf(chunks, 0)) {
    const UnitRange range = list_.Part(options.part, options.parts);
    part_.part = options.part;
    part_.parts = options.parts;
    part_.begin = part_.end = range.begin;
    part_.due = range.end;
    part_.job = JobOf(runner.index(), chunks, options, runner.kernel().name);
    part_.job.units = list_.units();
    part_.job.submodels = list_.shape().submodels.cells;
    part_.tallies.resize(CellsOf(part_.job));
  }

  Result<ImportancePart> Run() {
    STI_RETURN_IF_ERROR(CheckFitsAPart());
    if (options_.resume != nullptr) {
      const Status resumed = Resume(*options_.resume);
      if (!resumed.ok() && !options_.other_work) return resumed.error();
      if (!resumed.ok()) options_.other_work(resumed.error());
    }
    const UnitRange range{part_.end, part_.due};
    ActivationRoom room(runner_, chunks_, list_.shape().submodels.branches, options_.cache_bytes);
    work_.held_bytes = room.bytes();
    work_.least_bytes = room.least_bytes();
    work_.plain_flops = list_.PlainFlops(range, SizesOf(chunks_, 0));
    work_.padded_flops = list_.PlainFlops(range, SizesOf(chunks_, kPaddedTokens));
    ChunkJudge judge(options_.metric, runner_.index().info, runner_.name(), tags_);
    ChunkMeter meter(runner_, room, std::move(judge), options_.cancelled);
    const Status done = Measure(meter);
    work_.flops = runner_.flops();
    if (!done.ok()) {
      if (options_.checkpoint) STI_RETURN_IF_ERROR(options_.checkpoint(part_, true));
      return done.error();
    }
    return std::move(part_);
  }

  [[nodiscard]] const ImportanceWork& work() const { return work_; }

 private:
  static WorkShape ShapeOf(const ContainerIndex& index, const ImportanceOptions& options) {
    WorkShape shape;
    shape.head_rows = index.info.head.rows();
    shape.model = index.info.shape;
    shape.raised_bits = RaisedBits(index, options.gains);
    if (options.submodels) shape.submodels = PlanSubmodels(index);
    shape.reference = TraitsOf(options.metric).by_reference;
    return shape;
  }

  static std::vector<BatchSize> SizesOf(std::span<const ExampleBatch> chunks, uint32_t padded) {
    std::vector<BatchSize> sizes;
    sizes.reserve(chunks.size());
    for (const ExampleBatch& chunk : chunks) sizes.push_back(PaddedSize(chunk.batch(), padded));
    return sizes;
  }

  // Cosines are the one thing that a part has as many of as there are examples.
  [[nodiscard]] Status CheckFitsAPart() const {
    constexpr uint64_t kMostCosines = kMaxSmallFileBytes / sizeof(int32_t) * 15 / 16;
    const uint64_t pairs = part_.job.scores.size();
    if (pairs <= kMostCosines / part_.tallies.size()) return {};
    return UsageError("the cosines of " + std::to_string(pairs) + " pairs, one for each of " +
                      std::to_string(part_.tallies.size()) +
                      " things to measure, are more than a part holds; take fewer pairs, or "
                      "measure shards alone");
  }

  Status Resume(const ImportancePart& before) {
    std::string difference = DifferenceOf(before.job, part_.job);
    if (difference.empty() && (before.part != part_.part || before.parts != part_.parts ||
                               before.begin != part_.begin || before.due != part_.due)) {
      difference = "another part of the work";
    }
    if (!difference.empty()) {
      return ForeignError("is of " + difference + ", so it cannot be resumed")
          .At(options_.resume_name)
          .Fix(Remedy::kBeginPartAnew);
    }
    part_ = before;
    return {};
  }

  Status Measure(ChunkMeter& meter) {
    const uint64_t per_chunk = list_.units_per_chunk();
    const uint64_t total = list_.Flops({part_.end, part_.due});  // less what is resumed
    uint64_t done = 0;
    uint64_t chunk = UINT64_MAX;
    while (part_.end < part_.due) {
      if (options_.cancelled && options_.cancelled()) return CancelledError();
      if (part_.end / per_chunk != chunk) {
        chunk = part_.end / per_chunk;
        STI_RETURN_IF_ERROR(meter.Begin(chunks_[chunk]));
      }
      const uint64_t before = part_.end;
      STI_RETURN_IF_ERROR(Step(meter, part_.end % per_chunk));
      done += list_.Flops({before, part_.end});
      if (options_.progress) options_.progress(done / kProgressFlops, total / kProgressFlops);
      if (options_.checkpoint) STI_RETURN_IF_ERROR(options_.checkpoint(part_, false));
    }
    return {};
  }

  // How many shards of a layer from slice `slice` on are a step: one, or as many as stay below the
  // bound.
  [[nodiscard]] uint64_t ShardsOfStep(uint64_t slice) const {
    const uint64_t most = std::min(list_.shape().model.width - slice, part_.due - part_.end);
    uint64_t units = 1;
    while (units < most && list_.Flops({part_.end, part_.end + units + 1}) <= kStepFlops) ++units;
    return units;
  }

  // From `unit` of the chunk on: the base, shards of a layer, or a sweep. All of it is counted or
  // nothing.
  Status Step(ChunkMeter& meter, uint64_t unit) {
    const uint64_t width = list_.shape().model.width;
    const auto raised = list_.shape().raised_bits;
    std::vector<Tally> tallies;
    size_t first_cell = 0;
    uint64_t units = 1;
    if (unit == 0) {
      tallies.resize(1);
      meter.TallyBase(tallies.data());
    } else if (unit <= list_.shards()) {
      const uint64_t slice = (unit - 1) % width;
      units = ShardsOfStep(slice);
      tallies.resize(units * raised.size());
      first_cell = 1 + (unit - 1) * raised.size();
      STI_RETURN_IF_ERROR(
          meter.Raise(static_cast<uint32_t>((unit - 1) / width), static_cast<uint32_t>(slice),
                      static_cast<uint32_t>(slice + units), raised, tallies.data()));
    } else {
      tallies.resize(list_.shape().submodels.cells.size());
      first_cell = 1 + list_.shards() * raised.size();
      const auto& sweeps = list_.shape().submodels.sweeps;
      STI_RETURN_IF_ERROR(meter.RunSweep(sweeps[unit - 1 - list_.shards()], tallies.data()));
    }
    for (size_t i = 0; i < tallies.size(); ++i) AddTally(part_.tallies[first_cell + i], tallies[i]);
    part_.end += units;
    return {};
  }

  LayerRunner& runner_;
  std::optional<TagScheme> tags_;
  std::span<const ExampleBatch> chunks_;
  const ImportanceOptions& options_;
  WorkList list_;
  ImportancePart part_;
  ImportanceWork work_;
};

}  // namespace

Result<ImportancePart> MeasureImportancePart(ContainerFile file, const Tokenizer& tokenizer,
                                             std::span<const Example> examples,
                                             const ImportanceOptions& options,
                                             ImportanceWork* work) {
  STI_RETURN_IF_ERROR(CheckRequest(file, examples, options));
  const ContainerIndex& index = file.index();
  STI_ASSIGN_OR_RETURN(const std::optional<TagScheme> tags, TagsOf(index.info));
  const auto chunks = BatchExamples(tokenizer, examples, options.metric, index.info.max_length(),
                                    kChunkTokens, tags);
  const bool all = options.submodels || options.gains;
  const std::vector<uint32_t> bits =
      all ? index.bits : std::vector<uint32_t>{index.bits.front(), index.bits.back()};
  STI_ASSIGN_OR_RETURN(LoadedModel model, LoadedModel::Load(std::move(file), bits));
  STI_ASSIGN_OR_RETURN(std::unique_ptr<LayerRunner> runner,
                       LayerRunner::Create(std::move(model), options.compute, options.threads));
  Measurement measurement(*runner, chunks, tags, options);
  auto part = measurement.Run();
  if (work != nullptr) *work = measurement.work();
  return part;
}

Result<Importance> MeasureImportance(ContainerFile file, const Tokenizer& tokenizer,
                                     std::span<const Example> examples,
                                     const ImportanceOptions& options, ImportanceWork* work) {
  STI_ASSIGN_OR_RETURN(ImportancePart part,
                       MeasureImportancePart(std::move(file), tokenizer, examples, options, work));
  return JoinImportanceParts({{"the measurement", std::move(part)}});
}

}  // namespace sti
