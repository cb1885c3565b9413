#include "format/profile_file.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/remedy.h"
#include "base/result.h"
#include "format/flatbuffer_values.h"
#include "format/framed_file.h"
#include "format/json_fields.h"
#include "format/unknown_keys.h"
#include "profile_generated.h"
#include "types/device_profile.h"
#include "types/file_text.h"
#include "types/limits.h"
#include "types/profile_check.h"

namespace sti {
namespace {

/// Refuses before it is copied what the check of rules would refuse as too long.
Status CheckSizes(const fb::Profile& table, const std::string& name) {
  const auto size = [](const auto* list) { return list == nullptr ? 0 : list->size(); };
  const std::pair<const char*, size_t> lists[] = {{"io", size(table.io())},
                                                  {"compute", size(table.compute())},
                                                  {"decode", size(table.decode())},
                                                  {"fixed", size(table.fixed())},
                                                  {"io_series", size(table.io_series())},
                                                  {"compute_series", size(table.compute_series())}};
  for (const auto& [list, entries] : lists) {
    if (entries > kMaxProfileSamples) return TableError(name, TooManyEntries(list));
  }
  if (size(table.batches()) > kMaxProfiledBatches)
    return TableError(name, "batches has more than 16 entries");
  if (size(table.streams()) > kMaxReadStreams)
    return TableError(name, "streams has more than 16 entries");
  if (table.batches() != nullptr) {
    for (const fb::BatchSamples* batch : *table.batches()) {
      for (const size_t entries : {size(batch->compute()), size(batch->fixed())}) {
        if (entries > kMaxProfileSamples) return TableError(name, TooManyEntries("batches"));
      }
    }
  }
  const std::optional<std::string> fault =
      FindProfileTextFault(ViewOf(table.cpus()), ViewOf(table.kernel()), ViewOf(table.read_path()),
                           ViewOf(table.machine()));
  if (fault) return TableError(name, *fault);
  return {};
}

using SeriesList = flatbuffers::Vector<flatbuffers::Offset<fb::SeriesSample>>;

void ReadSeries(const SeriesList* list, std::vector<SeriesSample>* series) {
  if (list == nullptr) return;
  for (const fb::SeriesSample* sample : *list)
    series->push_back({sample->median_us(), sample->p99_us()});
}

using ComputeList = flatbuffers::Vector<flatbuffers::Offset<fb::ComputeSample>>;
using FixedList = flatbuffers::Vector<flatbuffers::Offset<fb::FixedSample>>;

void ReadCompute(const ComputeList* list, std::vector<ComputeSample>* compute) {
  if (list == nullptr) return;
  for (const fb::ComputeSample* sample : *list) {
    compute->push_back({sample->length(), sample->width(), sample->layer_us(), sample->p99_us(),
                        sample->freq(), sample->last_us(), sample->last_p99_us()});
  }
}

void ReadFixed(const FixedList* list, std::vector<FixedSample>* fixed) {
  if (list == nullptr) return;
  for (const fb::FixedSample* sample : *list) {
    fixed->push_back({sample->length(), sample->embed_us(), sample->embed_io_us(),
                      sample->head_us(), P99Or(sample->embed_us(), sample->embed_p99_us()),
                      P99Or(sample->embed_io_us(), sample->embed_io_p99_us()),
                      P99Or(sample->head_us(), sample->head_p99_us())});
  }
}

void ReadSamples(const fb::Profile& table, DeviceProfile* profile) {
  if (const auto* list = table.io()) {
    for (const fb::IoSample* sample : *list) {
      profile->io.push_back({sample->bytes(), sample->bits(), sample->load_us(), sample->p99_us()});
    }
  }
  ReadCompute(table.compute(), &profile->compute);
  if (const auto* list = table.decode()) {
    for (const fb::DecodeSample* sample : *list)
      profile->decode.push_back({sample->bits(), sample->extra_us(), sample->freq()});
  }
  ReadFixed(table.fixed(), &profile->fixed);
  if (const auto* list = table.batches()) {
    for (const fb::BatchSamples* batch : *list) {
      BatchSamples& samples = profile->batches.emplace_back();
      samples.batch = batch->batch();
      ReadCompute(batch->compute(), &samples.compute);
      ReadFixed(batch->fixed(), &samples.fixed);
    }
  }
  ReadSeries(table.io_series(), &profile->io_series);
  ReadSeries(table.compute_series(), &profile->compute_series);
  if (const auto* list = table.streams()) {
    for (const fb::StreamSample* sample : *list)
      profile->streams.push_back({sample->streams(), sample->bytes_per_us()});
  }
}

Result<DeviceProfile> FromBinary(std::span<const uint8_t> bytes, const std::string& name) {
  STI_ASSIGN_OR_RETURN(const std::span<const uint8_t> framed,
                       FindPayload(kProfileMagic, bytes, name));
  const AlignedPayload payload(framed);
  flatbuffers::Verifier verifier(payload.data(), payload.size());
  if (!fb::VerifyProfileBuffer(verifier)) return TableError(name, kNoTable);
  const fb::Profile* table = fb::GetProfile(payload.data());
  STI_RETURN_IF_ERROR(CheckSizes(*table, name));
  DeviceProfile profile;
  if (const auto* shape = table->shape()) {
    STI_ASSIGN_OR_RETURN(profile.shape,
                         DigestFromBytes(shape->data(), shape->size(), name + ": shape"));
  }
  ReadSamples(*table, &profile);
  profile.threads = table->threads();
  profile.cpus = TextOf(table->cpus());
  profile.SetKernel(TextOf(table->kernel()));
  profile.read_path = TextOf(table->read_path());
  profile.machine = TextOf(table->machine());
  profile.process_bytes = table->process_bytes();
  profile.read_bytes = table->read_bytes();
  profile.read_depth = table->read_depth();
  profile.read_streams = table->read_streams();
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

/// Absent where it is empty.
flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::StreamSample>>> WriteStreams(
    const std::vector<StreamRate>& streams, flatbuffers::FlatBufferBuilder* builder) {
  if (streams.empty()) return {};
  std::vector<flatbuffers::Offset<fb::StreamSample>> list;
  list.reserve(streams.size());
  for (const StreamRate& s : streams)
    list.push_back(fb::CreateStreamSample(*builder, s.streams, s.bytes_per_us));
  return builder->CreateVector(list);
}

// Reads a profile in JSON, without validating it; `name` is for messages. `unknown` may be null.
Result<DeviceProfile> ProfileFromJson(std::span<const uint8_t> bytes, const std::string& name,
                                      UnknownKeys* unknown) {
  STI_ASSIGN_OR_RETURN(const nlohmann::json object, ParseJsonObject(bytes, name));
  JsonFields fields(object, name, unknown);
  DeviceProfile profile = ReadProfileFields(fields);
  STI_RETURN_IF_ERROR(fields.status());
  fields.NoteUnknown();
  return profile;
}

}  // namespace

Result<DeviceProfile> ParseProfile(std::span<const uint8_t> bytes, const std::string& name) {
  return ParseProfileNoting(bytes, name, nullptr);
}

Result<DeviceProfile> ParseProfileNoting(std::span<const uint8_t> bytes, const std::string& name,
                                         UnknownKeys* unknown) {
  STI_ASSIGN_OR_RETURN(DeviceProfile profile, LooksLikeJson(bytes)
                                                  ? ProfileFromJson(bytes, name, unknown)
                                                  : FromBinary(bytes, name));
  const std::optional<std::string> fault = FindProfileFault(profile);
  if (fault) return DataError(*fault).At(name).Fix(Remedy::kCorrectProfile);
  return profile;
}

namespace {

std::vector<flatbuffers::Offset<fb::ComputeSample>> WriteCompute(
    const std::vector<ComputeSample>& samples, flatbuffers::FlatBufferBuilder* builder) {
  std::vector<flatbuffers::Offset<fb::ComputeSample>> compute;
  compute.reserve(samples.size());
  for (const ComputeSample& s : samples) {
    compute.push_back(fb::CreateComputeSample(*builder, s.length, s.width, s.layer_us, s.p99_us,
                                              s.freq, s.last_us, s.last_p99_us));
  }
  return compute;
}

std::vector<flatbuffers::Offset<fb::FixedSample>> WriteFixed(
    const std::vector<FixedSample>& samples, flatbuffers::FlatBufferBuilder* builder) {
  std::vector<flatbuffers::Offset<fb::FixedSample>> fixed;
  fixed.reserve(samples.size());
  for (const FixedSample& s : samples) {
    fixed.push_back(fb::CreateFixedSample(*builder, s.length, s.embed_us, s.embed_io_us, s.head_us,
                                          P99Or0(s.embed_us, s.embed_p99_us),
                                          P99Or0(s.embed_io_us, s.embed_io_p99_us),
                                          P99Or0(s.head_us, s.head_p99_us)));
  }
  return fixed;
}

/// Absent where there are none.
flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::BatchSamples>>> WriteBatches(
    const std::vector<BatchSamples>& batches, flatbuffers::FlatBufferBuilder* builder) {
  if (batches.empty()) return {};
  std::vector<flatbuffers::Offset<fb::BatchSamples>> list;
  for (const BatchSamples& samples : batches) {
    const auto compute = builder->CreateVector(WriteCompute(samples.compute, builder));
    const auto fixed = builder->CreateVector(WriteFixed(samples.fixed, builder));
    list.push_back(fb::CreateBatchSamples(*builder, samples.batch, compute, fixed));
  }
  return builder->CreateVector(list);
}

}  // namespace

std::vector<uint8_t> EncodeProfile(const DeviceProfile& profile) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<fb::IoSample>> io;
  for (const IoSample& s : profile.io)
    io.push_back(fb::CreateIoSample(builder, s.bytes, s.bits, s.load_us, s.p99_us));
  const auto compute = WriteCompute(profile.compute, &builder);
  const auto fixed = WriteFixed(profile.fixed, &builder);
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
  const auto batches = WriteBatches(profile.batches, &builder);
  const auto streams = WriteStreams(profile.streams, &builder);
  builder.Finish(fb::CreateProfile(builder, shape, io_list, compute_list, fixed_list,
                                   profile.threads, cpus, kernel, read_path, machine,
                                   profile.process_bytes, profile.read_bytes, profile.read_depth,
                                   profile.start_us, profile.noise, thermal, io_series,
                                   compute_series, decode, batches, streams, profile.read_streams));
  return WrapFrame(kProfileMagic, {builder.GetBufferPointer(), builder.GetSize()});
}

}  // namespace sti
