// The JSON spelling of a profile.
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "format/json_fields.h"
#include "format/json_writer.h"
#include "format/profile_file.h"
#include "types/device_profile.h"

namespace sti {
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

void ReadStream(JsonFields& fields, DeviceProfile* profile) {
  StreamRate& rate = profile->streams.emplace_back();
  fields.Get("streams", Need::kRequired, &rate.streams);
  fields.Get("bytes_per_us", Need::kRequired, &rate.bytes_per_us);
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

nlohmann::ordered_json StreamsJson(const std::vector<StreamRate>& streams) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const StreamRate& rate : streams)
    json.push_back({{"streams", rate.streams}, {"bytes_per_us", rate.bytes_per_us}});
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
  fields.ForEach("streams", Need::kOptional, [&](JsonFields& item) { ReadStream(item, &profile); });
  ReadSeries(fields, "io_series", &profile.io_series);
  ReadSeries(fields, "compute_series", &profile.compute_series);
  fields.Get("threads", Need::kOptional, &profile.threads);
  fields.Get("cpus", Need::kOptional, &profile.cpus);
  std::string kernel;
  fields.Get("kernel", Need::kOptional, &kernel);
  profile.SetKernel(std::move(kernel));
  fields.Get("read_path", Need::kOptional, &profile.read_path);
  fields.Get("machine", Need::kOptional, &profile.machine);
  fields.Get("process_bytes", Need::kOptional, &profile.process_bytes);
  fields.Get("read_bytes", Need::kOptional, &profile.read_bytes);
  fields.Get("read_depth", Need::kOptional, &profile.read_depth);
  fields.Get("read_streams", Need::kOptional, &profile.read_streams);
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
  if (!profile.streams.empty()) json["streams"] = StreamsJson(profile.streams);
  if (profile.read_streams != 0) json["read_streams"] = profile.read_streams;
  json["start_us"] = profile.start_us;
  json["noise"] = profile.noise;
  json["thermal"] = ThermalJson(profile.thermal);
  return PrintJson(std::move(json));
}

}  // namespace sti
