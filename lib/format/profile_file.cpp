#include "format/profile_file.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "base/aligned_buffer.h"
#include "base/remedy.h"
#include "base/utf8.h"
#include "format/flatbuffer_values.h"
#include "format/framed_file.h"
#include "format/profile_file_parts.h"
#include "profile_generated.h"
#include "types/bits.h"
#include "types/limits.h"

namespace sti {
namespace {

bool Finite(std::initializer_list<double> numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double n) { return std::isfinite(n); });
}

std::string Item(const char* list, size_t i) {
  return std::string(list) + "[" + std::to_string(i) + "]";
}

/// Returns what is wrong with a list of series; empty if nothing is.
std::string SeriesProblem(const char* list, const std::vector<SeriesSample>& series) {
  if (series.size() > kMaxProfileSamples) return std::string(list) + " has more than 65536 entries";
  for (size_t i = 0; i < series.size(); ++i) {
    if (!Finite({series[i].median_us, series[i].p99_us}))
      return Item(list, i) + " holds a time that is not a finite number";
  }
  return "";
}

/// Returns what is wrong with the lists; empty if nothing is.
std::string ListProblem(const DeviceProfile& profile) {
  const char* const not_finite = " holds a time that is not a finite number";
  if (profile.io.size() > kMaxProfileSamples || profile.compute.size() > kMaxProfileSamples ||
      profile.decode.size() > kMaxProfileSamples || profile.fixed.size() > kMaxProfileSamples)
    return "io, compute, decode or fixed has more than 65536 entries";
  for (size_t i = 0; i < profile.io.size(); ++i) {
    const IoSample& s = profile.io[i];
    if ((s.bytes == 0) == (s.bits == 0))
      return Item("io", i) + " must have bytes or bits, and not both";
    if (!Finite({s.load_us, s.p99_us})) return Item("io", i) + not_finite;
  }
  for (size_t i = 0; i < profile.compute.size(); ++i) {
    const ComputeSample& s = profile.compute[i];
    if (!Finite({s.layer_us, s.p99_us, s.last_us, s.last_p99_us}))
      return Item("compute", i) + not_finite;
  }
  for (size_t i = 0; i < profile.decode.size(); ++i) {
    if (!IsBits(profile.decode[i].bits))
      return Item("decode", i) + " has bits that no shard is stored at";
    if (!Finite({profile.decode[i].extra_us})) return Item("decode", i) + not_finite;
  }
  for (size_t i = 0; i < profile.fixed.size(); ++i) {
    const FixedSample& s = profile.fixed[i];
    if (!Finite({s.embed_us, s.embed_io_us, s.head_us, s.embed_p99_us, s.embed_io_p99_us,
                 s.head_p99_us}))
      return Item("fixed", i) + not_finite;
  }
  const std::string problem = SeriesProblem("io_series", profile.io_series);
  return problem.empty() ? SeriesProblem("compute_series", profile.compute_series) : problem;
}

std::string ProblemOf(const DeviceProfile& profile) {
  for (const std::string* text :
       {&profile.cpus, &profile.kernel.name, &profile.read_path, &profile.machine}) {
    if (!IsPlainText(*text, kMaxFileTextBytes))
      return "cpus, kernel, read_path or machine is not at most 65536 bytes of printable ASCII";
  }
  if (profile.read_bytes > kMaxReadBytes || profile.read_bytes % kBlockBytes != 0)
    return "read_bytes is not a multiple of 4096 up to 67108864";
  if (profile.read_depth > kMaxReadDepth) return "read_depth is above 256";
  if (!Finite({profile.start_us, profile.noise, profile.thermal.celsius_before,
               profile.thermal.celsius_after}))
    return "start_us, noise or thermal holds a number that is not finite";
  return ListProblem(profile);
}

using SeriesList = flatbuffers::Vector<flatbuffers::Offset<fb::SeriesSample>>;

void ReadSeries(const SeriesList* list, std::vector<SeriesSample>* series) {
  if (list == nullptr) return;
  for (const fb::SeriesSample* sample : *list)
    series->push_back({sample->median_us(), sample->p99_us()});
}

void ReadSamples(const fb::Profile& table, DeviceProfile* profile) {
  if (const auto* list = table.io()) {
    for (const fb::IoSample* sample : *list) {
      profile->io.push_back({sample->bytes(), sample->bits(), sample->load_us(), sample->p99_us()});
    }
  }
  if (const auto* list = table.compute()) {
    for (const fb::ComputeSample* sample : *list) {
      profile->compute.push_back({sample->length(), sample->width(), sample->layer_us(),
                                  sample->p99_us(), sample->freq(), sample->last_us(),
                                  sample->last_p99_us()});
    }
  }
  if (const auto* list = table.decode()) {
    for (const fb::DecodeSample* sample : *list)
      profile->decode.push_back({sample->bits(), sample->extra_us(), sample->freq()});
  }
  if (const auto* list = table.fixed()) {
    for (const fb::FixedSample* sample : *list) {
      profile->fixed.push_back({sample->length(), sample->embed_us(), sample->embed_io_us(),
                                sample->head_us(),
                                P99Or(sample->embed_us(), sample->embed_p99_us()),
                                P99Or(sample->embed_io_us(), sample->embed_io_p99_us()),
                                P99Or(sample->head_us(), sample->head_p99_us())});
    }
  }
  ReadSeries(table.io_series(), &profile->io_series);
  ReadSeries(table.compute_series(), &profile->compute_series);
}

Result<DeviceProfile> FromBinary(std::span<const uint8_t> bytes, const std::string& name) {
  STI_ASSIGN_OR_RETURN(const std::vector<uint8_t> payload, UnwrapFrame(kProfileMagic, bytes, name));
  flatbuffers::Verifier verifier(payload.data(), payload.size());
  if (!fb::VerifyProfileBuffer(verifier))
    return DataError("the payload is not a valid table").At(name).Fix(Remedy::kMakeFileAgain);
  const fb::Profile* table = fb::GetProfile(payload.data());
  if (table->io() == nullptr || table->compute() == nullptr) {
    return DataError(table->io() == nullptr ? "io is missing" : "compute is missing")
        .At(name)
        .Fix(Remedy::kMakeFileAgain);
  }
  DeviceProfile profile;
  if (const auto* shape = table->shape()) {
    STI_ASSIGN_OR_RETURN(profile.shape,
                         DigestFromBytes(shape->data(), shape->size(), name + ": shape"));
  }
  ReadSamples(*table, &profile);
  profile.threads = table->threads();
  profile.cpus = TextOf(table->cpus());
  SetKernel(TextOf(table->kernel()), &profile);
  profile.read_path = TextOf(table->read_path());
  profile.machine = TextOf(table->machine());
  profile.process_bytes = table->process_bytes();
  profile.read_bytes = table->read_bytes();
  profile.read_depth = table->read_depth();
  profile.start_us = table->start_us();
  profile.noise = table->noise();
  if (const fb::Thermal* thermal = table->thermal()) {
    profile.thermal = {thermal->freq_min(), thermal->freq_max(), thermal->celsius_before(),
                       thermal->celsius_after()};
  }
  return profile;
}

double P99Or0(double median_us, double p99_us) { return p99_us == median_us ? 0 : p99_us; }

/// Absent where nothing is known, so that a profile that says no more than 1.0 did has its bytes.
flatbuffers::Offset<fb::Thermal> WriteThermal(const ThermalState& thermal,
                                              flatbuffers::FlatBufferBuilder* builder) {
  if (thermal.freq_min == 0 && thermal.freq_max == 0 && thermal.celsius_before == 0 &&
      thermal.celsius_after == 0)
    return {};
  return fb::CreateThermal(*builder, thermal.freq_min, thermal.freq_max, thermal.celsius_before,
                           thermal.celsius_after);
}

/// Absent where it is empty.
flatbuffers::Offset<SeriesList> WriteSeries(const std::vector<SeriesSample>& series,
                                            flatbuffers::FlatBufferBuilder* builder) {
  if (series.empty()) return {};
  std::vector<flatbuffers::Offset<fb::SeriesSample>> list;
  list.reserve(series.size());
  for (const SeriesSample& s : series)
    list.push_back(fb::CreateSeriesSample(*builder, s.median_us, s.p99_us));
  return builder->CreateVector(list);
}

/// Absent where it is empty.
flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::DecodeSample>>> WriteDecode(
    const std::vector<DecodeSample>& decode, flatbuffers::FlatBufferBuilder* builder) {
  if (decode.empty()) return {};
  std::vector<flatbuffers::Offset<fb::DecodeSample>> list;
  list.reserve(decode.size());
  for (const DecodeSample& s : decode)
    list.push_back(fb::CreateDecodeSample(*builder, s.bits, s.extra_us, s.freq));
  return builder->CreateVector(list);
}

}  // namespace

void SetKernel(std::string name, DeviceProfile* profile) {
  profile->provenance = name.empty() ? Provenance::kWritten : Provenance::kMeasured;
  profile->kernel = ParseKernel(std::move(name));
}

Result<DeviceProfile> ParseProfile(std::span<const uint8_t> bytes, const std::string& name) {
  STI_ASSIGN_OR_RETURN(DeviceProfile profile, LooksLikeJson(bytes) ? ProfileFromJson(bytes, name)
                                                                   : FromBinary(bytes, name));
  const std::string problem = ProblemOf(profile);
  if (!problem.empty()) return DataError(problem).At(name).Fix(Remedy::kCorrectProfile);
  return profile;
}

std::vector<uint8_t> EncodeProfile(const DeviceProfile& profile) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<fb::IoSample>> io;
  for (const IoSample& s : profile.io)
    io.push_back(fb::CreateIoSample(builder, s.bytes, s.bits, s.load_us, s.p99_us));
  std::vector<flatbuffers::Offset<fb::ComputeSample>> compute;
  for (const ComputeSample& s : profile.compute) {
    compute.push_back(fb::CreateComputeSample(builder, s.length, s.width, s.layer_us, s.p99_us,
                                              s.freq, s.last_us, s.last_p99_us));
  }
  std::vector<flatbuffers::Offset<fb::FixedSample>> fixed;
  for (const FixedSample& s : profile.fixed) {
    fixed.push_back(fb::CreateFixedSample(
        builder, s.length, s.embed_us, s.embed_io_us, s.head_us, P99Or0(s.embed_us, s.embed_p99_us),
        P99Or0(s.embed_io_us, s.embed_io_p99_us), P99Or0(s.head_us, s.head_p99_us)));
  }
  flatbuffers::Offset<flatbuffers::Vector<uint8_t>> shape;
  if (!profile.shape.empty())
    shape = builder.CreateVector(profile.shape.bytes.data(), profile.shape.bytes.size());
  const auto io_list = builder.CreateVector(io);
  const auto compute_list = builder.CreateVector(compute);
  const auto fixed_list = builder.CreateVector(fixed);
  const auto cpus = builder.CreateString(profile.cpus);
  const auto kernel = builder.CreateString(profile.kernel.name);
  const auto read_path = builder.CreateString(profile.read_path);
  const auto machine = builder.CreateString(profile.machine);
  const auto thermal = WriteThermal(profile.thermal, &builder);
  const auto io_series = WriteSeries(profile.io_series, &builder);
  const auto compute_series = WriteSeries(profile.compute_series, &builder);
  const auto decode = WriteDecode(profile.decode, &builder);
  builder.Finish(fb::CreateProfile(
      builder, shape, io_list, compute_list, fixed_list, profile.threads, cpus, kernel, read_path,
      machine, profile.process_bytes, profile.read_bytes, profile.read_depth, profile.start_us,
      profile.noise, thermal, io_series, compute_series, decode));
  return WrapFrame(kProfileMagic, {builder.GetBufferPointer(), builder.GetSize()});
}

}  // namespace sti
