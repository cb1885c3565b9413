#include "profile/profile.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/remedy.h"
#include "profile/background_reads.h"
#include "profile/profile_numbers.h"
#include "profile/read_sweep.h"
#include "profile/statistics.h"
#include "text/model_tokenizer.h"

namespace sti {
namespace {

// Shards that the time of decoding is measured with, at every bitwidth: few, as they lie in memory.
constexpr LoadedExtent kDecoded = {2, 4, true};
constexpr LoadedExtent kHeld = {0, 0, true};
constexpr double kBudgetEachUs = 0.35e6;  // default
constexpr size_t kBudgetLengths = 3;      // further lengths share the time of so many
constexpr double kLastShare = 0.3;        // a last layer takes of a layer, about
constexpr size_t kFewWidths = 6;          // always measured, all of them
constexpr double kSamplesForAll = 12;     // of each width, for all widths to be worth measuring
constexpr double kShareOfLayers = 0.6;    // of the budget
constexpr double kRoughUs = 1e6;          // a budget below which a sweep of seconds is out of place

/// The file again, read as the device likes it.
Result<ContainerFile> Reopen(const ContainerFile& file, ReadPath way, const ReadShape& shape) {
  STI_ASSIGN_OR_RETURN(auto reader, OpenToRead(file.source(), way, shape));
  return ContainerFile::Open(std::move(reader));
}

/// Loads a few shards of the file at each bitwidth that it offers of whole layers.
Result<LoadedModel> LoadAtAllBits(const ContainerFile& file, ReadPath way, const ReadShape& shape) {
  STI_ASSIGN_OR_RETURN(ContainerFile again, Reopen(file, way, shape));
  const std::vector<uint32_t> bits = again.index().BitsOfWholeLayers();
  return LoadedModel::Load(std::move(again), bits, kDecoded);
}

std::string Percent(double share) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %%", 100 * share);
  return text;
}

std::string RateText(const ReadRate& rate) {
  char text[96];
  std::snprintf(text, sizeof(text), "reads of %u KiB, %2u at once: %.0f MB/s",
                rate.shape.bytes / 1024, rate.shape.depth, rate.bytes_per_us);
  return text;
}

std::string RateText(const StreamRate& rate, uint32_t bytes) {
  char text[96];
  std::snprintf(text, sizeof(text), "reads of %u KiB, one through each of %u open files: %.0f MB/s",
                bytes / 1024, rate.streams, rate.bytes_per_us);
  return text;
}

/// How the device likes to be read, and what it was measured by.
struct ReadChoice {
  ReadShape shape;
  std::vector<StreamRate> streams;
};

Result<ReadChoice> ChooseReads(const BlockSourcePtr& source, ReadPath way,
                               const ProfileOptions& options) {
  const bool is_rough = options.budget_us > 0 && options.budget_us < kRoughUs;
  const uint32_t rounds = is_rough ? kFewestSweepRounds : kSweepRounds;
  STI_ASSIGN_OR_RETURN(const auto rates, MeasureReadShapes(source, way, rounds, options.cancelled));
  ReadChoice choice{ChooseReadShape(rates), {}};
  STI_ASSIGN_OR_RETURN(StreamRates streams,
                       MeasureStreamRates(source, way, choice.shape, rounds, options.cancelled));
  if (options.log) {
    for (const ReadRate& rate : rates) options.log({LogLevel::kInfo, RateText(rate)});
    for (const StreamRate& rate : streams.rates)
      options.log({LogLevel::kInfo, RateText(rate, choice.shape.bytes)});
  }
  choice.shape.streams = ChooseStreams(streams);
  choice.streams = std::move(streams.rates);
  return choice;
}

class Profiler {
 public:
  Profiler(ProfileBench& bench, const LoadedModel& at_bits, const ProfileOptions& options)
      : bench_(bench), at_bits_(at_bits), options_(options), widths_(options.widths) {}

  Status Measure(DeviceProfile& profile) {
    STI_RETURN_IF_ERROR(SkipWidths());
    STI_RETURN_IF_ERROR(Collect());
    std::vector<TimedQuantity> numbers;
    numbers.reserve(numbers_.size());
    for (const ProfileNumber& number : numbers_) numbers.push_back(number.number);
    std::vector<std::pair<size_t, double>> samples;  // of numbers, in the order they were taken
    SamplingOptions sampling = Sampling();
    sampling.each_sample = [&](size_t i, double time_us) { samples.emplace_back(i, time_us); };
    STI_ASSIGN_OR_RETURN(const auto measured, MeasureAll(numbers, sampling));
    for (size_t i = 0; i < measured.size(); ++i) {
      numbers_[i].store(profile, measured[i]);
      profile.noise = std::max(profile.noise, measured[i].half_width);
    }
    Judge(measured);
    TakeLastLayersOff(profile);
    TakeUsualBitsOff(bench_.decode_bits, profile);
    SmoothProfile(profile);
    AddSeries(samples, measured, profile);
    return {};
  }

 private:
  /// Adds the series of both lanes, or of none where one has too few samples.
  void AddSeries(std::span<const std::pair<size_t, double>> samples,
                 std::span<const Timing> measured, DeviceProfile& profile) const {
    for (const auto lane : {&DeviceProfile::io_series, &DeviceProfile::compute_series}) {
      std::vector<SeriesItem> items;
      for (const auto& [i, time_us] : samples) {
        if (numbers_[i].series == lane && measured[i].median_us > 0)
          items.push_back({measured[i].median_us * numbers_[i].parts, time_us * numbers_[i].parts});
      }
      profile.*lane = MeasureSeries(items);
    }
    if (!profile.io_series.empty() && !profile.compute_series.empty()) return;
    profile.io_series.clear();
    profile.compute_series.clear();
  }

  [[nodiscard]] SamplingOptions Sampling() const {
    SamplingOptions sampling;
    sampling.precision = options_.precision;
    // Those of decoding share the time of the others.
    const size_t counted = options_.lengths.size() * NumbersOfLength() + decode_numbers_;
    sampling.budget_us = Budget(numbers_.size() - counted);
    sampling.gap_us = options_.gap_us;
    sampling.progress = options_.progress;
    sampling.cancelled = options_.cancelled;
    sampling.each_round = options_.each_round;
    return sampling;
  }

  // The numbers of one length, of all passes.
  [[nodiscard]] size_t NumbersOfLength() const {
    return options_.batches.size() * (2 * widths_.size() + kFixedNumbers);
  }

  // The time for all samples of the numbers of lengths, and of `others`.
  [[nodiscard]] double Budget(size_t others) const {
    if (options_.budget_us > 0) return options_.budget_us;
    const size_t lengths = std::min(options_.lengths.size(), kBudgetLengths);
    return kBudgetEachUs * static_cast<double>(others + lengths * NumbersOfLength());
  }

  Status Collect() {
    STI_ASSIGN_OR_RETURN(numbers_, IoNumbers(bench_));
    for (const uint32_t batch : options_.batches) {
      STI_ASSIGN_OR_RETURN(auto fixed, FixedNumbers(bench_, batch, options_.lengths));
      Add(std::move(fixed));
      Add(LayerNumbers(bench_, batch, options_.lengths, widths_));
    }
    auto decode = DecodeNumbers(bench_, at_bits_);
    decode_numbers_ = decode.size();
    Add(std::move(decode));
    return {};
  }

  void Add(std::vector<ProfileNumber> numbers) {
    std::move(numbers.begin(), numbers.end(), std::back_inserter(numbers_));
  }

  // Leaves the ends and the middle of many widths where the time is not enough for all. A layer's
  // time is about proportional to its width and to the tokens of its pass.
  Status SkipWidths() {
    if (!options_.may_skip_widths || widths_.size() <= kFewWidths) return {};
    const uint32_t widest[1] = {widths_.back()};
    const uint32_t longest[1] = {options_.lengths.back()};
    const TimedQuantity layer = LayerNumbers(bench_, 1, longest, widest).front().number;
    layer.begin();
    STI_ASSIGN_OR_RETURN(double time_us, layer.once());
    for (int i = 0; i < 3;
         ++i) {  // the best, so that a noisy machine does not look like a slow one
      STI_ASSIGN_OR_RETURN(const double again_us, layer.once());
      time_us = std::min(time_us, again_us);
    }
    double share = 0;
    for (const uint32_t length : options_.lengths) {
      for (const uint32_t width : widths_)
        share += double(width) * length / (double(widest[0]) * longest[0]);
    }
    share *= std::accumulate(options_.batches.begin(), options_.batches.end(), 0.0);
    const double budget_us = Budget(0);
    if (time_us * (1 + kLastShare) * share * kSamplesForAll <= kShareOfLayers * budget_us)
      return {};
    const uint32_t middle = widths_[widths_.size() / 2];
    widths_ = {widths_.front(), middle, widths_.back()};
    Warn("only widths " + std::to_string(widths_[0]) + ", " + std::to_string(middle) + " and " +
             std::to_string(widths_[2]) + " are measured, for want of time",
         Remedy::kMeasureWidths);
    return {};
  }

  void Warn(const std::string& what, Remedy remedy = Remedy::kNone) const {
    if (options_.log) options_.log({LogLevel::kWarning, what, remedy});
  }

  // Warns of what is not to be trusted in the profile.
  void Judge(const std::vector<Timing>& measured) const {
    size_t widest = 0;
    size_t unsure = 0;
    size_t drifting = 0;
    size_t drifts = 0;
    for (size_t i = 0; i < measured.size(); ++i) {
      if (measured[i].half_width > measured[widest].half_width) widest = i;
      if (std::abs(measured[i].drift) > std::abs(measured[drifting].drift)) drifting = i;
      if (measured[i].half_width > options_.precision) ++unsure;
      if (measured[i].drift != 0) ++drifts;
    }
    const std::string all = std::to_string(measured.size());
    if (unsure > 0) {
      Warn("this machine is too noisy: " + std::to_string(unsure) + " of " + all +
               " medians are not known to within " + Percent(options_.precision) + ", least " +
               numbers_[widest].number.name + " (" + Percent(measured[widest].half_width) + ")",
           Remedy::kMoreTime);
    }
    if (drifts > 0) {
      const double drift = measured[drifting].drift;
      Warn("times changed while they were measured: " + std::to_string(drifts) + " of " + all +
           " numbers, most " + numbers_[drifting].number.name + ", which became " +
           Percent(std::abs(drift)) + (drift > 0 ? " slower" : " faster") +
           "; let the device cool or settle, and run again");
    }
  }

  ProfileBench& bench_;
  const LoadedModel& at_bits_;
  const ProfileOptions& options_;
  std::vector<uint32_t> widths_;
  std::vector<ProfileNumber> numbers_;
  size_t decode_numbers_ = 0;
};

}  // namespace

std::vector<uint32_t> LengthsFor(std::vector<uint32_t> lengths, const ModelInfo& info) {
  for (uint32_t& length : lengths)
    length = std::clamp(length, info.min_length(), info.max_length());
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  return lengths;
}

std::vector<uint32_t> UsualLengths(const ModelInfo& info) {
  std::vector<uint32_t> lengths(std::begin(kUsualLengths), std::end(kUsualLengths));
  if (info.continues_texts()) lengths.push_back(1);
  return LengthsFor(std::move(lengths), info);
}

uint32_t LeastProfiledLength(const ModelInfo& info) {
  return info.has_text() && info.tokenizer.has_frame ? info.min_length() + 1 : 1;
}

std::vector<uint32_t> TrainedWidths(const ModelInfo& info) {
  const uint32_t narrowest = info.SmallestTrained().width;
  std::vector<uint32_t> widths(info.shape.width - narrowest + 1);
  std::iota(widths.begin(), widths.end(), narrowest);
  return widths;
}

Result<DeviceProfile> MeasureProfile(ContainerFile file, const ProfileOptions& options) {
  STI_RETURN_IF_ERROR(file.RequireWholeLayers());
  std::optional<Tokenizer> tokenizer;
  if (file.index().info.has_text()) {
    STI_ASSIGN_OR_RETURN(tokenizer, LoadTokenizer(file));
  }
  const ReadPath way = file.reader().path();
  STI_ASSIGN_OR_RETURN(ReadChoice reads, ChooseReads(file.source(), way, options));
  const ReadShape& shape = reads.shape;
  STI_ASSIGN_OR_RETURN(file, Reopen(file, way, shape));
  const uint32_t bits[1] = {DecodeBits(file.index().BitsOfWholeLayers())};
  STI_ASSIGN_OR_RETURN(LoadedModel model, LoadedModel::Load(std::move(file), bits, kHeld));
  ProfileBench bench(std::move(model), tokenizer ? &*tokenizer : nullptr, options.threads);
  const ContainerIndex& index = bench.model.index();
  STI_ASSIGN_OR_RETURN(bench.transformer, Transformer::Create(index.info, bench.pool,
                                                              {Backend::kNative, options.compute}));
  bench.decode_bits = bits[0];
  bench.read_bytes = shape.bytes;
  STI_ASSIGN_OR_RETURN(const auto beside, ReadsOfLayersAtBits(index, bits[0], shape.bytes));
  STI_ASSIGN_OR_RETURN(bench.lane,
                       BackgroundReads::Start(bench.model.file().source(), way, beside, shape));
  bench.longest = options.lengths.back();
  FillHidden(PassSize{options.batches.back(), bench.longest}.tokens(), bench);
  STI_ASSIGN_OR_RETURN(bench.rehearsal, Rehearsal::Open(bench.model.file().source(),
                                                        {way,
                                                         shape,
                                                         bench.longest,
                                                         options.widths.back(),
                                                         options.batches.back(),
                                                         &bench.pool,
                                                         {Backend::kNative, options.compute}}));
  DeviceProfile profile;
  profile.shape = ShapeDigest(index.info);
  profile.threads = options.threads;
  profile.kernel = bench.transformer->kernel();
  profile.provenance = Provenance::kMeasured;
  profile.read_path = ReadPathName(way);
  profile.read_bytes = shape.bytes;
  profile.read_depth = shape.depth;
  profile.read_streams = shape.streams;
  profile.streams = std::move(reads.streams);
  STI_ASSIGN_OR_RETURN(const LoadedModel at_bits, LoadAtAllBits(bench.model.file(), way, shape));
  STI_RETURN_IF_ERROR(Profiler(bench, at_bits, options).Measure(profile));
  return profile;
}

}  // namespace sti
