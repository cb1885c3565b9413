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

// Returns a p99 of a binary file as it is used: 0, which stands for one that was not measured,
// becomes the median.
double P99Or(double median_us, double p99_us) { return p99_us == 0 ? median_us : p99_us; }

// Sets the kernel that a profile names. A profile that names none was written by hand.
void SetKernel(std::string name, DeviceProfile* profile);

// Reads a profile in JSON, without validating it; `name` is for messages. `unknown` may be null.
Result<DeviceProfile> ProfileFromJson(std::span<const uint8_t> bytes, const std::string& name,
                                      UnknownKeys* unknown);

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

void SetKernel(std::string name, DeviceProfile* profile) {
  profile->provenance = name.empty() ? Provenance::kWritten : Provenance::kMeasured;
  profile->kernel = ParseKernel(std::move(name));
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
  builder.Finish(fb::CreateProfile(
      builder, shape, io_list, compute_list, fixed_list, profile.threads, cpus, kernel, read_path,
      machine, profile.process_bytes, profile.read_bytes, profile.read_depth, profile.start_us,
      profile.noise, thermal, io_series, compute_series, decode, batches));
  return WrapFrame(kProfileMagic, {builder.GetBufferPointer(), builder.GetSize()});
}

namespace {

void ReadIo(JsonFields& fields, DeviceProfile* profile) {
  IoSample sample;
  fields.Get("bytes", Need::kOptional, &sample.bytes);
  fields.Get("bits", Need::kOptional, &sample.bits);
  fields.Get("load_us", Need::kRequired, &sample.load_us);
  sample.p99_us = sample.load_us;
  fields.Get("p99_us", Need::kOptional, &sample.p99_us);
  profile->io.push_back(sample);
}

void ReadCompute(JsonFields& fields, std::vector<ComputeSample>* compute) {
  ComputeSample sample;
  fields.Get("length", Need::kRequired, &sample.length);
  fields.Get("width", Need::kRequired, &sample.width);
  fields.Get("layer_us", Need::kRequired, &sample.layer_us);
  sample.p99_us = sample.layer_us;
  fields.Get("p99_us", Need::kOptional, &sample.p99_us);
  fields.Get("freq", Need::kOptional, &sample.freq);
  fields.Get("last_us", Need::kOptional, &sample.last_us);
  fields.Get("last_p99_us", Need::kOptional, &sample.last_p99_us);
  compute->push_back(sample);
}

void ReadDecode(JsonFields& fields, DeviceProfile* profile) {
  DecodeSample sample;
  fields.Get("bits", Need::kRequired, &sample.bits);
  fields.Get("extra_us", Need::kRequired, &sample.extra_us);
  fields.Get("freq", Need::kOptional, &sample.freq);
  profile->decode.push_back(sample);
}

void ReadFixed(JsonFields& fields, std::vector<FixedSample>* fixed) {
  FixedSample sample;
  fields.Get("length", Need::kRequired, &sample.length);
  fields.Get("embed_us", Need::kOptional, &sample.embed_us);
  fields.Get("embed_io_us", Need::kOptional, &sample.embed_io_us);
  fields.Get("head_us", Need::kOptional, &sample.head_us);
  sample.embed_p99_us = sample.embed_us;
  sample.embed_io_p99_us = sample.embed_io_us;
  sample.head_p99_us = sample.head_us;
  fields.Get("embed_p99_us", Need::kOptional, &sample.embed_p99_us);
  fields.Get("embed_io_p99_us", Need::kOptional, &sample.embed_io_p99_us);
  fields.Get("head_p99_us", Need::kOptional, &sample.head_p99_us);
  fixed->push_back(sample);
}

void ReadBatch(JsonFields& fields, DeviceProfile* profile) {
  BatchSamples& samples = profile->batches.emplace_back();
  fields.Get("batch", Need::kRequired, &samples.batch);
  fields.ForEach("compute", Need::kRequired,
                 [&](JsonFields& item) { ReadCompute(item, &samples.compute); });
  fields.ForEach("fixed", Need::kOptional,
                 [&](JsonFields& item) { ReadFixed(item, &samples.fixed); });
}

void ReadSeries(JsonFields& fields, const char* list, std::vector<SeriesSample>* series) {
  fields.ForEach(list, Need::kOptional, [&](JsonFields& item) {
    SeriesSample sample;
    item.Get("median_us", Need::kRequired, &sample.median_us);
    item.Get("p99_us", Need::kRequired, &sample.p99_us);
    series->push_back(sample);
  });
}

void ReadThermal(JsonFields& fields, ThermalState* thermal) {
  fields.Get("freq_min", Need::kOptional, &thermal->freq_min);
  fields.Get("freq_max", Need::kOptional, &thermal->freq_max);
  fields.Get("celsius_before", Need::kOptional, &thermal->celsius_before);
  fields.Get("celsius_after", Need::kOptional, &thermal->celsius_after);
}

nlohmann::ordered_json IoJson(const IoSample& sample) {
  nlohmann::ordered_json json;
  if (sample.bits != 0) json["bits"] = sample.bits;
  if (sample.bytes != 0) json["bytes"] = sample.bytes;
  json["load_us"] = sample.load_us;
  json["p99_us"] = sample.p99_us;
  return json;
}

nlohmann::ordered_json ComputeJson(const ComputeSample& sample) {
  nlohmann::ordered_json json = {{"length", sample.length},
                                 {"width", sample.width},
                                 {"layer_us", sample.layer_us},
                                 {"p99_us", sample.p99_us},
                                 {"freq", sample.freq}};
  if (sample.last_us != 0) json["last_us"] = sample.last_us;
  if (sample.last_p99_us != 0) json["last_p99_us"] = sample.last_p99_us;
  return json;
}

nlohmann::ordered_json DecodeJson(const std::vector<DecodeSample>& decode) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const DecodeSample& sample : decode)
    json.push_back({{"bits", sample.bits}, {"extra_us", sample.extra_us}, {"freq", sample.freq}});
  return json;
}

nlohmann::ordered_json FixedJson(const FixedSample& sample) {
  return {{"length", sample.length},
          {"embed_us", sample.embed_us},
          {"embed_io_us", sample.embed_io_us},
          {"head_us", sample.head_us},
          {"embed_p99_us", P99Or(sample.embed_us, sample.embed_p99_us)},
          {"embed_io_p99_us", P99Or(sample.embed_io_us, sample.embed_io_p99_us)},
          {"head_p99_us", P99Or(sample.head_us, sample.head_p99_us)}};
}

nlohmann::ordered_json BatchesJson(const std::vector<BatchSamples>& batches) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const BatchSamples& samples : batches) {
    nlohmann::ordered_json& entry = json.emplace_back();
    entry["batch"] = samples.batch;
    for (const char* list : {"compute", "fixed"}) entry[list] = nlohmann::ordered_json::array();
    for (const ComputeSample& sample : samples.compute)
      entry["compute"].push_back(ComputeJson(sample));
    for (const FixedSample& sample : samples.fixed) entry["fixed"].push_back(FixedJson(sample));
  }
  return json;
}

nlohmann::ordered_json SeriesJson(const std::vector<SeriesSample>& series) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const SeriesSample& sample : series)
    json.push_back({{"median_us", sample.median_us}, {"p99_us", sample.p99_us}});
  return json;
}

nlohmann::ordered_json ThermalJson(const ThermalState& thermal) {
  return {{"freq_min", thermal.freq_min},
          {"freq_max", thermal.freq_max},
          {"celsius_before", thermal.celsius_before},
          {"celsius_after", thermal.celsius_after}};
}

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

DeviceProfile ReadProfileFields(JsonFields& fields) {
  DeviceProfile profile;
  fields.Get("shape", Need::kOptional, &profile.shape);
  fields.ForEach("io", Need::kRequired, [&](JsonFields& item) { ReadIo(item, &profile); });
  fields.ForEach("compute", Need::kRequired,
                 [&](JsonFields& item) { ReadCompute(item, &profile.compute); });
  fields.ForEach("decode", Need::kOptional, [&](JsonFields& item) { ReadDecode(item, &profile); });
  fields.ForEach("fixed", Need::kOptional,
                 [&](JsonFields& item) { ReadFixed(item, &profile.fixed); });
  fields.ForEach("batches", Need::kOptional, [&](JsonFields& item) { ReadBatch(item, &profile); });
  ReadSeries(fields, "io_series", &profile.io_series);
  ReadSeries(fields, "compute_series", &profile.compute_series);
  fields.Get("threads", Need::kOptional, &profile.threads);
  fields.Get("cpus", Need::kOptional, &profile.cpus);
  std::string kernel;
  fields.Get("kernel", Need::kOptional, &kernel);
  SetKernel(std::move(kernel), &profile);
  fields.Get("read_path", Need::kOptional, &profile.read_path);
  fields.Get("machine", Need::kOptional, &profile.machine);
  fields.Get("process_bytes", Need::kOptional, &profile.process_bytes);
  fields.Get("read_bytes", Need::kOptional, &profile.read_bytes);
  fields.Get("read_depth", Need::kOptional, &profile.read_depth);
  fields.Get("start_us", Need::kOptional, &profile.start_us);
  fields.Get("noise", Need::kOptional, &profile.noise);
  fields.Within("thermal", Need::kOptional,
                [&](JsonFields& item) { ReadThermal(item, &profile.thermal); });
  return profile;
}

std::string ProfileToJson(const DeviceProfile& profile) {
  nlohmann::ordered_json json;
  if (!profile.shape.empty()) json["shape"] = profile.shape.Hex();
  for (const char* list : {"io", "compute", "fixed"}) json[list] = nlohmann::ordered_json::array();
  for (const IoSample& sample : profile.io) json["io"].push_back(IoJson(sample));
  for (const ComputeSample& sample : profile.compute)
    json["compute"].push_back(ComputeJson(sample));
  if (!profile.decode.empty()) json["decode"] = DecodeJson(profile.decode);
  for (const FixedSample& sample : profile.fixed) json["fixed"].push_back(FixedJson(sample));
  if (!profile.batches.empty()) json["batches"] = BatchesJson(profile.batches);
  if (!profile.io_series.empty()) json["io_series"] = SeriesJson(profile.io_series);
  if (!profile.compute_series.empty()) json["compute_series"] = SeriesJson(profile.compute_series);
  json["threads"] = profile.threads;
  json["cpus"] = profile.cpus;
  json["kernel"] = profile.kernel.name;
  json["read_path"] = profile.read_path;
  json["machine"] = profile.machine;
  json["process_bytes"] = profile.process_bytes;
  json["read_bytes"] = profile.read_bytes;
  json["read_depth"] = profile.read_depth;
  json["start_us"] = profile.start_us;
  json["noise"] = profile.noise;
  json["thermal"] = ThermalJson(profile.thermal);
  return PrintJson(std::move(json));
}

}  // namespace sti
