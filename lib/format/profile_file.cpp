#include "format/profile_file.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "format/flatbuffer_values.h"
#include "format/framed_file.h"
#include "format/json_fields.h"
#include "profile_generated.h"

namespace sti {
namespace {

constexpr size_t kMaxSamples = 65536;

Status Validate(const DeviceProfile& profile, const std::string& name) {
  auto fail = [&](const std::string& problem) {
    return DataError(name + ": " + problem + "; correct it or run sti-profile again");
  };
  auto finite = [](std::initializer_list<double> numbers) {
    for (double number : numbers) {
      if (!std::isfinite(number)) return false;
    }
    return true;
  };
  auto item = [](const char* list, size_t i) {
    return std::string(list) + "[" + std::to_string(i) + "]";
  };
  if (profile.io.size() > kMaxSamples || profile.compute.size() > kMaxSamples ||
      profile.fixed.size() > kMaxSamples)
    return fail("io, compute or fixed has more than 65536 entries");
  for (size_t i = 0; i < profile.io.size(); ++i) {
    const IoSample& sample = profile.io[i];
    if ((sample.bytes == 0) == (sample.bits == 0))
      return fail(item("io", i) + " must have bytes or bits, and not both");
    if (!finite({sample.load_us, sample.p99_us}))
      return fail(item("io", i) + " holds a time that is not a finite number");
  }
  for (size_t i = 0; i < profile.compute.size(); ++i) {
    if (!finite({profile.compute[i].layer_us, profile.compute[i].p99_us}))
      return fail(item("compute", i) + " holds a time that is not a finite number");
  }
  for (size_t i = 0; i < profile.fixed.size(); ++i) {
    const FixedSample& sample = profile.fixed[i];
    if (!finite({sample.embed_us, sample.embed_io_us, sample.head_us}))
      return fail(item("fixed", i) + " holds a time that is not a finite number");
  }
  return {};
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
                                  sample->p99_us(), sample->freq()});
    }
  }
  if (const auto* list = table.fixed()) {
    for (const fb::FixedSample* sample : *list) {
      profile->fixed.push_back(
          {sample->length(), sample->embed_us(), sample->embed_io_us(), sample->head_us()});
    }
  }
}

Result<DeviceProfile> FromBinary(std::span<const uint8_t> bytes, const std::string& name) {
  STI_ASSIGN_OR_RETURN(const std::vector<uint8_t> payload, UnwrapFrame(kProfileMagic, bytes, name));
  flatbuffers::Verifier verifier(payload.data(), payload.size());
  if (!fb::VerifyProfileBuffer(verifier))
    return DataError(name + ": the payload is not a valid table; make the file again");
  const fb::Profile* table = fb::GetProfile(payload.data());
  DeviceProfile profile;
  if (const auto* shape = table->shape()) {
    STI_ASSIGN_OR_RETURN(profile.shape,
                         DigestFromBytes(shape->data(), shape->size(), name + ": shape"));
  }
  ReadSamples(*table, &profile);
  profile.threads = table->threads();
  profile.cpus = TextOf(table->cpus());
  profile.kernel = TextOf(table->kernel());
  profile.read_path = TextOf(table->read_path());
  profile.machine = TextOf(table->machine());
  profile.process_bytes = table->process_bytes();
  return profile;
}

void ReadIo(JsonFields& fields, DeviceProfile* profile) {
  IoSample sample;
  fields.Get("bytes", Need::kOptional, &sample.bytes);
  fields.Get("bits", Need::kOptional, &sample.bits);
  fields.Get("load_us", Need::kRequired, &sample.load_us);
  sample.p99_us = sample.load_us;
  fields.Get("p99_us", Need::kOptional, &sample.p99_us);
  profile->io.push_back(sample);
}

void ReadCompute(JsonFields& fields, DeviceProfile* profile) {
  ComputeSample sample;
  fields.Get("length", Need::kRequired, &sample.length);
  fields.Get("width", Need::kRequired, &sample.width);
  fields.Get("layer_us", Need::kRequired, &sample.layer_us);
  sample.p99_us = sample.layer_us;
  fields.Get("p99_us", Need::kOptional, &sample.p99_us);
  fields.Get("freq", Need::kOptional, &sample.freq);
  profile->compute.push_back(sample);
}

void ReadFixed(JsonFields& fields, DeviceProfile* profile) {
  FixedSample sample;
  fields.Get("length", Need::kRequired, &sample.length);
  fields.Get("embed_us", Need::kOptional, &sample.embed_us);
  fields.Get("embed_io_us", Need::kOptional, &sample.embed_io_us);
  fields.Get("head_us", Need::kOptional, &sample.head_us);
  profile->fixed.push_back(sample);
}

Result<DeviceProfile> FromJson(std::span<const uint8_t> bytes, const std::string& name) {
  STI_ASSIGN_OR_RETURN(const nlohmann::json object, ParseJsonObject(bytes, name));
  JsonFields fields(object, name);
  DeviceProfile profile;
  fields.Get("shape", Need::kOptional, &profile.shape);
  fields.ForEach("io", Need::kRequired, [&](JsonFields& item) { ReadIo(item, &profile); });
  fields.ForEach("compute", Need::kRequired,
                 [&](JsonFields& item) { ReadCompute(item, &profile); });
  fields.ForEach("fixed", Need::kOptional, [&](JsonFields& item) { ReadFixed(item, &profile); });
  fields.Get("threads", Need::kOptional, &profile.threads);
  fields.Get("cpus", Need::kOptional, &profile.cpus);
  fields.Get("kernel", Need::kOptional, &profile.kernel);
  fields.Get("read_path", Need::kOptional, &profile.read_path);
  fields.Get("machine", Need::kOptional, &profile.machine);
  fields.Get("process_bytes", Need::kOptional, &profile.process_bytes);
  STI_RETURN_IF_ERROR(fields.status());
  return profile;
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
  return {{"length", sample.length},
          {"width", sample.width},
          {"layer_us", sample.layer_us},
          {"p99_us", sample.p99_us},
          {"freq", sample.freq}};
}

nlohmann::ordered_json FixedJson(const FixedSample& sample) {
  return {{"length", sample.length},
          {"embed_us", sample.embed_us},
          {"embed_io_us", sample.embed_io_us},
          {"head_us", sample.head_us}};
}

}  // namespace

Result<DeviceProfile> ParseProfile(std::span<const uint8_t> bytes, const std::string& name) {
  STI_ASSIGN_OR_RETURN(DeviceProfile profile,
                       LooksLikeJson(bytes) ? FromJson(bytes, name) : FromBinary(bytes, name));
  STI_RETURN_IF_ERROR(Validate(profile, name));
  return profile;
}

std::vector<uint8_t> EncodeProfile(const DeviceProfile& profile) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<fb::IoSample>> io;
  for (const IoSample& s : profile.io)
    io.push_back(fb::CreateIoSample(builder, s.bytes, s.bits, s.load_us, s.p99_us));
  std::vector<flatbuffers::Offset<fb::ComputeSample>> compute;
  for (const ComputeSample& s : profile.compute) {
    compute.push_back(
        fb::CreateComputeSample(builder, s.length, s.width, s.layer_us, s.p99_us, s.freq));
  }
  std::vector<flatbuffers::Offset<fb::FixedSample>> fixed;
  for (const FixedSample& s : profile.fixed)
    fixed.push_back(fb::CreateFixedSample(builder, s.length, s.embed_us, s.embed_io_us, s.head_us));
  flatbuffers::Offset<flatbuffers::Vector<uint8_t>> shape;
  if (!profile.shape.empty())
    shape = builder.CreateVector(profile.shape.bytes.data(), profile.shape.bytes.size());
  const auto io_list = builder.CreateVector(io);
  const auto compute_list = builder.CreateVector(compute);
  const auto fixed_list = builder.CreateVector(fixed);
  const auto cpus = builder.CreateString(profile.cpus);
  const auto kernel = builder.CreateString(profile.kernel);
  const auto read_path = builder.CreateString(profile.read_path);
  const auto machine = builder.CreateString(profile.machine);
  builder.Finish(fb::CreateProfile(builder, shape, io_list, compute_list, fixed_list,
                                   profile.threads, cpus, kernel, read_path, machine,
                                   profile.process_bytes));
  return WrapFrame(kProfileMagic, {builder.GetBufferPointer(), builder.GetSize()});
}

std::string ProfileToJson(const DeviceProfile& profile) {
  nlohmann::ordered_json json;
  if (!profile.shape.empty()) json["shape"] = profile.shape.Hex();
  for (const char* list : {"io", "compute", "fixed"}) json[list] = nlohmann::ordered_json::array();
  for (const IoSample& sample : profile.io) json["io"].push_back(IoJson(sample));
  for (const ComputeSample& sample : profile.compute)
    json["compute"].push_back(ComputeJson(sample));
  for (const FixedSample& sample : profile.fixed) json["fixed"].push_back(FixedJson(sample));
  json["threads"] = profile.threads;
  json["cpus"] = profile.cpus;
  json["kernel"] = profile.kernel;
  json["read_path"] = profile.read_path;
  json["machine"] = profile.machine;
  json["process_bytes"] = profile.process_bytes;
  return PrintJson(json);
}

}  // namespace sti
