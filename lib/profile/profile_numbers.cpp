#include "profile/profile_numbers.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "model/batch.h"
#include "model/embedding_rows.h"
#include "network/tensors.h"
#include "profile/background_reads.h"
#include "profile/sample_inputs.h"
#include "types/bits.h"

namespace sti {
namespace {

// The time of reading a list of ranges with as many in flight as a run has.
Result<double> TimeReads(BlockReader& reader, std::span<const ReadRequest> requests) {
  Status status;
  const double time_us = TimeUs([&] { status = reader.ReadAll(requests); });
  if (!status.ok()) return status.error();
  return time_us;
}

// The reads that one number of T_io times: those of a layer, and then of the next.
struct LayerLoads {
  std::string what;
  std::optional<uint32_t> bits;  // nothing: one plane
  std::vector<LayerReads> layers;
};

uint64_t ShardBytes(const LayerLoads& loads, uint32_t width) {
  uint64_t bytes = 0;
  for (const LayerReads& layer : loads.layers) bytes += layer.bytes;
  return bytes / (uint64_t{width} * loads.layers.size());
}

// Times one shard's share of loading these planes.
std::function<Result<double>()> TimesPlanes(ProfileBench& bench, const LayerLoads& loads) {
  struct Work {
    std::vector<std::vector<ReadRequest>> requests;  // [layers]
    size_t next = 0;
  };
  auto work = std::make_shared<Work>();
  work->requests.reserve(loads.layers.size());
  for (const LayerReads& layer : loads.layers) {
    work->requests.push_back(
        RequestsFor(std::span<const ScheduledRead>(layer.reads), bench.arena.span()));
  }
  return [&bench, work]() -> Result<double> {
    const auto& requests = work->requests[work->next++ % work->requests.size()];
    STI_ASSIGN_OR_RETURN(const double time_us, TimeReads(bench.model.file().reader(), requests));
    return time_us / bench.model.index().info.shape.width;
  };
}

SampleInputs InputsOf(const ProfileBench& bench, const PassSize& pass) {
  if (bench.tokenizer != nullptr)
    return SampleInputs::OfTexts(*bench.tokenizer, pass.batch, pass.length);
  return SampleInputs::OfImages(bench.model.index().info, pass.batch);
}

// Times one shard's share of what runs load at these bits.
Result<std::function<Result<double>()>> TimesShards(ProfileBench& bench, uint32_t bits) {
  const PassSize one{1, std::min(kTokensOfRun, bench.longest)};
  const auto input = std::make_shared<SampleInputs>(InputsOf(bench, one));
  STI_RETURN_IF_ERROR(input->Encode());
  return std::function<Result<double>()>(
      [&bench, bits, input] { return bench.rehearsal->ShardUs(bits, input->pass()); });
}

Result<ProfileNumber> IoNumber(ProfileBench& bench, const LayerLoads& loads) {
  std::function<Result<double>()> times;
  if (loads.bits) {
    STI_ASSIGN_OR_RETURN(times, TimesShards(bench, *loads.bits));
  } else {
    times = TimesPlanes(bench, loads);
  }
  const uint32_t width = bench.model.index().info.shape.width;
  ProfileNumber io;
  io.series = &DeviceProfile::io_series;
  io.parts = loads.bits ? bench.rehearsal->shards_of_run() : width;
  io.number = {"reading " + loads.what, NumberKind::kIo, [&bench] { bench.lane->Pause(); },
               std::move(times)};
  io.store = [bytes = ShardBytes(loads, width)](DeviceProfile& profile, const Timing& m) {
    profile.io.push_back({bytes, 0, m.median_us, m.p99_us});
  };
  return io;
}

// The plane that is in all shards of whole layers, of the most bits; 0 where there is none.
uint32_t PlaneOffered(const ContainerIndex& index, const std::vector<uint32_t>& offered) {
  for (auto bits = offered.rbegin(); bits != offered.rend(); ++bits) {
    if (*bits > kMostBits || *bits <= kLeastBits) continue;
    const auto has_it = [&](uint32_t layer) {
      const size_t width = index.info.shape.width;
      const auto shards = std::span(index.shards).subspan(layer * width, width);
      return std::ranges::all_of(shards, [&](const ShardLocation& shard) {
        return shard.parts[PartAt(*bits)].length > 0;
      });
    };
    if (std::ranges::all_of(index.WholeLayersAt(*bits), has_it)) return *bits;
  }
  return 0;
}

// Loads by the mean size of a shard, each size once.
Result<std::map<uint64_t, LayerLoads>> LoadsBySize(const ProfileBench& bench) {
  const ContainerIndex& index = bench.model.index();
  const ModelShape& shape = index.info.shape;
  std::map<uint64_t, LayerLoads> by_size;
  const std::vector<uint32_t> offered = index.BitsOfWholeLayers();
  for (const uint32_t bits : offered) {
    LayerLoads loads{"shards of " + std::to_string(bits) + " bits", bits, {}};
    STI_ASSIGN_OR_RETURN(loads.layers, ReadsOfLayersAtBits(index, bits, bench.read_bytes));
    by_size.emplace(ShardBytes(loads, shape.width), std::move(loads));
  }
  if (const uint32_t plane = PlaneOffered(index, offered); plane != 0) {
    LayerLoads loads{"one plane of each shard", std::nullopt, {}};
    for (const uint32_t layer : index.WholeLayersAt(plane))
      loads.layers.push_back(ReadsOfPlane(index, layer, plane));
    by_size.emplace(ShardBytes(loads, shape.width), std::move(loads));
  }
  return by_size;
}

FixedSample& FixedAt(std::vector<FixedSample>& fixed, uint32_t length) {
  for (FixedSample& sample : fixed) {
    if (sample.length == length) return sample;
  }
  fixed.push_back({length});
  return fixed.back();
}

// Puts a median and its p99 into these fields of a length's sample.
std::function<void(DeviceProfile&, const Timing&)> StoresFixed(const PassSize& pass,
                                                               double FixedSample::*median_us,
                                                               double FixedSample::*p99_us) {
  return [=](DeviceProfile& profile, const Timing& m) {
    FixedSample& sample = FixedAt(TimesOfBatch(profile, pass.batch).fixed, pass.length);
    sample.*median_us = m.median_us;
    sample.*p99_us = m.p99_us;
  };
}

// The inputs of a pass, and of texts the rows that they want.
struct FixedWork {
  PassSize pass;
  SampleInputs inputs;
  EmbeddingReads reads;
  AlignedBuffer blocks;
};

Status SumRows(ProfileBench& bench, const FixedWork& work, const Pass& pass) {
  const auto& tokens = std::get<TokenInput>(pass.input);
  const auto count = static_cast<uint32_t>(tokens.ids.size());
  const size_t width = bench.model.index().info.shape.embedding_width();
  float* const sums = bench.transformer->EmbeddingSums(count, bench.hidden.data());
  for (size_t i = 0; i + 1 < pass.offsets.size(); ++i) {
    const size_t first = pass.offsets[i];
    const size_t of_text = pass.offsets[i + 1] - first;
    STI_RETURN_IF_ERROR(
        SumEmbeddings(bench.model.index(), work.reads, work.blocks.span(),
                      {tokens.ids.subspan(first, of_text), tokens.types.subspan(first, of_text),
                       bench.model.resident().embedding[TensorRole::kTypeEmbeddings]},
                      bench.model.file().name(), sums + first * width));
  }
  bench.transformer->FinishEmbeddings(bench.hidden.data(), count, bench.model.resident().embedding);
  return {};
}

// Goes from the inputs to hidden rows.
Status EmbedAll(ProfileBench& bench, FixedWork& work) {
  STI_RETURN_IF_ERROR(work.inputs.Encode());
  const Pass pass = work.inputs.pass();
  const auto* images = std::get_if<ImageInput>(&pass.input);
  if (images == nullptr) return SumRows(bench, work, pass);
  bench.transformer->EmbedImages(images->values, bench.model.resident().embedding,
                                 bench.hidden.data());
  return {};
}

Result<double> TimeEmbedding(ProfileBench& bench, FixedWork& work) {
  Status status;
  const double time_us = TimeUs([&] { status = EmbedAll(bench, work); });
  if (!status.ok()) return status.error();
  return time_us;
}

// Reads the embedding rows that texts want.
Status ReadRows(ProfileBench& bench, FixedWork& work) {
  STI_RETURN_IF_ERROR(work.inputs.Encode());
  const Pass pass = work.inputs.pass();
  const uint32_t longest = Batch{pass.offsets}.longest();
  work.reads =
      PlanEmbeddingReads(bench.model.index(), std::get<TokenInput>(pass.input).ids, longest);
  work.blocks = AlignedBuffer(work.reads.end);
  const std::vector<ReadRequest> requests =
      RequestsFor(std::span<const EmbeddingReads::Range>(work.reads.ranges), work.blocks.span());
  return bench.model.file().reader().ReadAll(requests);
}

Result<std::shared_ptr<FixedWork>> MakeFixedWork(ProfileBench& bench, const PassSize& pass) {
  auto work = std::make_shared<FixedWork>(FixedWork{pass, InputsOf(bench, pass), {}, {}});
  // The rows are there before they are summed for the first time.
  if (bench.tokenizer != nullptr) STI_RETURN_IF_ERROR(ReadRows(bench, *work));
  STI_RETURN_IF_ERROR(TimeEmbedding(bench, *work));
  // The words of a head come with the first run, and are there in all others.
  if (bench.model.index().info.continues_texts()) {
    const Result<double> first = bench.rehearsal->TailUs(work->inputs.pass());
    if (!first.ok()) return first.error();
  }
  return work;
}

}  // namespace

std::string PassSize::At() const {
  return " at " + (batch > 1 ? std::to_string(batch) + " x " : std::string()) +
         std::to_string(length) + " tokens";
}

void FillHidden(uint32_t tokens, ProfileBench& bench) {
  bench.hidden.resize(size_t{tokens} * bench.model.index().info.shape.hidden);
  uint32_t state = 1;
  for (float& value : bench.hidden) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(state >> 16) / 32768.0F - 1.0F;
  }
}

PassTimes TimesOfBatch(DeviceProfile& profile, uint32_t batch) {
  if (batch == 1) return {profile.compute, profile.fixed};
  const auto found = std::ranges::find(profile.batches, batch, &BatchSamples::batch);
  BatchSamples& samples = found != profile.batches.end()
                              ? *found
                              : profile.batches.emplace_back(BatchSamples{batch, {}, {}});
  return {samples.compute, samples.fixed};
}

Result<std::vector<ProfileNumber>> IoNumbers(ProfileBench& bench) {
  STI_ASSIGN_OR_RETURN(const auto by_size, LoadsBySize(bench));
  uint64_t largest = 0;
  for (const auto& [bytes, loads] : by_size)
    largest = std::max(largest, LargestLayer(loads.layers));
  bench.model.file().reader().ExpectReadsInto({});
  bench.arena = AlignedBuffer(largest);
  bench.model.file().reader().ExpectReadsInto(bench.arena.span());
  std::vector<ProfileNumber> numbers;
  numbers.reserve(by_size.size());
  for (const auto& [bytes, loads] : by_size) {
    STI_ASSIGN_OR_RETURN(ProfileNumber number, IoNumber(bench, loads));
    numbers.push_back(std::move(number));
  }
  return numbers;
}

Result<std::vector<ProfileNumber>> FixedNumbers(ProfileBench& bench, uint32_t batch,
                                                std::span<const uint32_t> lengths) {
  std::vector<ProfileNumber> numbers;
  numbers.reserve(kFixedNumbers * lengths.size());
  auto pause = [&bench] { bench.lane->Pause(); };
  for (const uint32_t length : lengths) {
    const PassSize pass{batch, length};
    STI_ASSIGN_OR_RETURN(const auto work, MakeFixedWork(bench, pass));
    const bool has_text = bench.tokenizer != nullptr;
    numbers.push_back(
        {{(has_text ? "text to embeddings" : "image to embeddings") + pass.At(), NumberKind::kText,
          pause, [&bench, work] { return TimeEmbedding(bench, *work); }},
         nullptr,
         StoresFixed(pass, &FixedSample::embed_us, &FixedSample::embed_p99_us)});
    if (has_text) {
      numbers.push_back(
          {{"reading embedding rows" + pass.At(), NumberKind::kRows, pause,
            [&bench, work] { return bench.rehearsal->RowsUs(work->inputs.pass()); }},
           nullptr,
           StoresFixed(pass, &FixedSample::embed_io_us, &FixedSample::embed_io_p99_us)});
    }
    numbers.push_back({{"the end of a run" + pass.At(), NumberKind::kTail, pause,
                        [&bench, work] { return bench.rehearsal->TailUs(work->inputs.pass()); }},
                       nullptr,
                       StoresFixed(pass, &FixedSample::head_us, &FixedSample::head_p99_us)});
  }
  return numbers;
}

uint32_t DecodeBits(const std::vector<uint32_t>& offered) {
  constexpr uint32_t kDecodeBits = 6;
  uint32_t decode = offered.front();
  for (const uint32_t bits : offered) decode = bits <= kDecodeBits ? bits : decode;
  return decode;
}

}  // namespace sti
