#include "measure/profile.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#include "io/load_schedule.h"
#include "measure/background_reads.h"
#include "measure/monotone.h"
#include "measure/samples.h"
#include "model/embedding_rows.h"
#include "model/loaded_model.h"
#include "types/plan.h"

namespace sti {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmUp = 3;
constexpr size_t kMinSamples = 15;
constexpr size_t kMaxSamples = 200;
constexpr double kSecondsEach = 0.15;  // spent on one number beyond the minimum of samples
constexpr uint32_t kDecodeBits = 6;    // STI 5.2: the slowest decoding bounds the others

struct LayerReads {
  std::vector<StagedRead> reads;
  uint64_t bytes = 0;
};

// Embedding activations stand in for a layer's input; their values do not change its time.
class Profiler {
 public:
  Profiler(LoadedModel model, const Tokenizer& tokenizer, const ProfileOptions& options,
           uint32_t decode_bits)
      : model_(std::move(model)),
        tokenizer_(tokenizer),
        options_(options),
        shape_(model_.index().info.shape),
        decode_bits_(decode_bits),
        pool_(options.threads) {}

  Result<DeviceProfile> Measure() {
    STI_ASSIGN_OR_RETURN(transformer_,
                         Transformer::Create(model_.index().info, pool_, Backend::kNative));
    steps_ = model_.index().bits.size() + options_.lengths.size() * (options_.widths.size() + 1);
    DeviceProfile profile;
    profile.shape = ShapeDigest(model_.index().info);
    profile.threads = options_.threads;
    profile.kernel = transformer_->kernel();
    profile.read_path = ReadPathName(model_.file().reader().path());
    for (uint32_t bits : model_.index().bits) STI_RETURN_IF_ERROR(MeasureIo(bits, profile));
    for (uint32_t length : options_.lengths) {
      STI_RETURN_IF_ERROR(MeasureFixed(length, profile));
      for (uint32_t width : options_.widths)
        STI_RETURN_IF_ERROR(MeasureLayer(length, width, profile));
    }
    SmoothProfile(profile);
    return profile;
  }

 private:
  // Repeats `once` (returning microseconds) until time and number suffice.
  template <typename Once>
  Result<Samples> Repeat(Once once) {
    for (int i = 0; i < kWarmUp; ++i) STI_RETURN_IF_ERROR(once());
    Samples samples;
    auto begin = Clock::now();
    while (samples.count() < kMaxSamples) {
      double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      if (samples.count() >= kMinSamples && seconds > kSecondsEach) break;
      if (options_.cancelled && options_.cancelled()) return UsageError("interrupted");
      if (options_.gap_us > 0) {
        std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(options_.gap_us));
      }
      STI_ASSIGN_OR_RETURN(double time_us, once());
      samples.Add(time_us);
    }
    return samples;
  }

  template <typename Body>
  static double TimeUs(Body body) {
    auto begin = Clock::now();
    body();
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  }

  void Step() {
    if (options_.progress) options_.progress(++done_, steps_);
  }

  // The time of reading a list of ranges with as many in flight as a run has.
  Result<double> TimeReads(std::span<const ReadRequest> requests) {
    Status status;
    double time_us = TimeUs([&] { status = model_.file().reader().ReadAll(requests); });
    if (!status.ok()) return status.error();
    return time_us;
  }

  // The reads of all shards of a layer, each shard on its own: neighbours at other bits do not
  // merge in a run either.
  Result<LayerReads> ReadsOfLayer(uint32_t layer, uint32_t bits) {
    LayerReads reads;
    for (uint32_t slice = 0; slice < shape_.width; ++slice) {
      const ShardRequest request{layer, slice, bits, 0};
      STI_ASSIGN_OR_RETURN(LoadSchedule schedule, BuildLoadSchedule(model_.index(), {&request, 1}));
      for (StagedRead read : schedule.reads) {
        read.place += reads.bytes;
        reads.reads.push_back(read);
      }
      reads.bytes += schedule.arena_bytes;
    }
    return reads;
  }

  // One shard's share of loading a whole layer, which is how a run loads (STI 3.1: a layer is one
  // IO job). Layers take turns, so that no device cache holds what comes next.
  Status MeasureIo(uint32_t bits, DeviceProfile& profile) {
    std::vector<LayerReads> layers;
    uint64_t largest = 0;
    uint64_t bytes = 0;
    for (uint32_t layer = 0; layer < shape_.layers; ++layer) {
      STI_ASSIGN_OR_RETURN(LayerReads reads, ReadsOfLayer(layer, bits));
      largest = std::max(largest, reads.bytes);
      bytes += reads.bytes;
      layers.push_back(std::move(reads));
    }
    AlignedBuffer arena(largest);
    std::vector<std::vector<ReadRequest>> requests;
    requests.reserve(layers.size());
    for (const LayerReads& layer : layers) {
      requests.push_back(RequestsFor(std::span<const StagedRead>(layer.reads), arena.span()));
    }
    uint32_t next = 0;
    auto once = [&]() -> Result<double> {
      STI_ASSIGN_OR_RETURN(double time_us, TimeReads(requests[next++ % shape_.layers]));
      return time_us / shape_.width;
    };
    STI_ASSIGN_OR_RETURN(Samples samples, Repeat(once));
    uint64_t shards = uint64_t{shape_.layers} * shape_.width;
    profile.io.push_back({bytes / shards, 0, samples.median(), samples.p99()});
    Step();
    return {};
  }

  // A layer while the next one's shards arrive, which is how it is computed in a run.
  Status MeasureLayer(uint32_t length, uint32_t width, DeviceProfile& profile) {
    transformer_->Reserve(length, width);
    STI_ASSIGN_OR_RETURN(LayerReads beside, ReadsOfLayer(0, decode_bits_));
    const BlockReader& reader = model_.file().reader();
    STI_ASSIGN_OR_RETURN(auto lane, BackgroundReads::Start(reader.name(), reader.path(),
                                                           std::move(beside.reads), beside.bytes));
    std::vector<uint32_t> slices(width);
    std::iota(slices.begin(), slices.end(), 0U);
    std::vector<std::vector<ShardView>> views(shape_.layers);
    for (uint32_t layer = 0; layer < shape_.layers; ++layer) {
      for (uint32_t slice : slices) views[layer].push_back(model_.View(layer, slice, decode_bits_));
    }
    const uint32_t offsets[2] = {0, length};
    uint32_t next = 0;
    std::vector<float> hidden = embedded_;
    auto once = [&]() -> Result<double> {
      uint32_t layer = next++ % shape_.layers;
      return TimeUs([&] {
        transformer_->RunLayer({offsets}, views[layer], slices, model_.resident().layers[layer],
                               hidden.data());
      });
    };
    STI_ASSIGN_OR_RETURN(Samples samples, Repeat(once));
    profile.compute.push_back({length, width, samples.median(), samples.p99(), 0});
    Step();
    return {};
  }

  // Text of about `length` tokens from all over the vocabulary, so that rows lie apart as they do
  // in real inputs.
  [[nodiscard]] std::string SampleText(uint32_t length) const {
    const Vocabulary& vocabulary = tokenizer_.vocabulary();
    std::string text;
    uint64_t id = 1;
    for (uint32_t i = 0; i < length; ++i) {
      id = (id * 2654435761U + 12345) % vocabulary.size();
      if (!text.empty()) text += ' ';
      text += vocabulary.Token(static_cast<uint32_t>(id));
    }
    return text;
  }

  Status MeasureFixed(uint32_t length, DeviceProfile& profile) {
    std::string text = SampleText(length);
    Encoding encoding;
    auto tokenize = [&]() -> Result<double> {
      return TimeUs([&] { encoding = tokenizer_.Encode(text, std::nullopt, length); });
    };
    STI_ASSIGN_OR_RETURN(Samples tokenizing, Repeat(tokenize));
    auto tokens = static_cast<uint32_t>(encoding.ids.size());
    EmbeddingReads reads = PlanEmbeddingReads(model_.index(), encoding.ids, tokens);
    AlignedBuffer blocks(reads.bytes);
    auto requests =
        RequestsFor(std::span<const EmbeddingReads::Range>(reads.ranges), blocks.span());
    auto read = [&]() -> Result<double> { return TimeReads(requests); };
    STI_ASSIGN_OR_RETURN(Samples reading, Repeat(read));
    embedded_.assign(size_t{length} * shape_.hidden, 0.0F);
    auto embed = [&]() -> Result<double> {
      Status status;
      double time_us = TimeUs([&] {
        status = SumEmbeddings(model_.index(), reads, blocks.span(), encoding.ids, encoding.types,
                               model_.resident().type_rows, model_.file().name(), embedded_.data());
        transformer_->FinishEmbeddings(embedded_.data(), tokens, model_.resident().embedding_norm);
      });
      if (!status.ok()) return status.error();
      return time_us;
    };
    STI_ASSIGN_OR_RETURN(Samples embedding, Repeat(embed));
    std::vector<float> logits(shape_.labels);
    const uint32_t offsets[2] = {0, length};
    auto head = [&]() -> Result<double> {
      return TimeUs([&] {
        transformer_->Head({offsets}, embedded_.data(), model_.resident().head, logits.data());
      });
    };
    STI_ASSIGN_OR_RETURN(Samples heading, Repeat(head));
    profile.fixed.push_back(
        {length, tokenizing.median() + embedding.median(), reading.median(), heading.median()});
    Step();
    return {};
  }

  LoadedModel model_;
  const Tokenizer& tokenizer_;
  const ProfileOptions& options_;
  ModelShape shape_;
  uint32_t decode_bits_;
  ThreadPool pool_;
  std::unique_ptr<Transformer> transformer_;
  std::vector<float> embedded_;
  uint64_t steps_ = 0;
  uint64_t done_ = 0;
};

}  // namespace

Result<DeviceProfile> MeasureProfile(ContainerFile file, const Tokenizer& tokenizer,
                                     const ProfileOptions& options) {
  const std::vector<uint32_t>& offered = file.index().bits;
  uint32_t decode = offered.front();
  for (uint32_t bits : offered) decode = bits <= kDecodeBits ? bits : decode;
  const uint32_t bits[1] = {decode};
  STI_ASSIGN_OR_RETURN(LoadedModel model, LoadedModel::Load(std::move(file), bits));
  return Profiler(std::move(model), tokenizer, options, decode).Measure();
}

}  // namespace sti
