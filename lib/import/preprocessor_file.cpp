#include "import/preprocessor_file.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "import/folder_file.h"

namespace sti {
namespace {

using Json = nlohmann::json;

constexpr double kMostPixel = 255;

/// Returns the numbers at `key`, one a channel: a list of them, or one for all.
Result<std::vector<double>> ReadChannels(const ObjectReader& reader, const char* key,
                                         uint32_t channels) {
  const Json* numbers = reader.Find(key);
  if (numbers == nullptr) {
    return reader.Bad(std::string("no ") + key + ", by which pixels are scaled; get a sound copy");
  }
  if (numbers->is_number()) return std::vector<double>(channels, numbers->get<double>());
  std::vector<double> values;
  if (numbers->is_array() && numbers->size() == channels) {
    for (const Json& number : *numbers) {
      if (number.is_number()) values.push_back(number.get<double>());
    }
  }
  if (values.size() == channels) return values;
  return reader.Bad(std::string(key) + " is not a number for each of " + std::to_string(channels) +
                    " channels; mend the file");
}

}  // namespace

Result<PixelScale> ReadPreprocessorFile(const std::string& path, uint32_t channels) {
  STI_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
  const ObjectReader reader(path, json);
  STI_ASSIGN_OR_RETURN(const auto rescales, reader.Bool("do_rescale"));
  STI_ASSIGN_OR_RETURN(const auto normalizes, reader.Bool("do_normalize"));
  STI_ASSIGN_OR_RETURN(const auto offset, reader.Bool("offset"));
  if (offset.value_or(false)) return reader.Unsupported("offset is true; only false is supported");
  double factor = 1;
  if (rescales.value_or(true)) {
    STI_ASSIGN_OR_RETURN(factor, reader.Real("rescale_factor", 1 / kMostPixel));
  }
  std::vector<double> mean(channels, 0);
  std::vector<double> deviation(channels, 1);
  if (normalizes.value_or(true)) {
    STI_ASSIGN_OR_RETURN(mean, ReadChannels(reader, "image_mean", channels));
    STI_ASSIGN_OR_RETURN(deviation, ReadChannels(reader, "image_std", channels));
  }
  // (pixel * factor - mean) / deviation, in terms of pixel / 255.
  PixelScale pixels;
  for (uint32_t c = 0; c < channels; ++c) {
    pixels.mean.push_back(static_cast<float>(mean[c] / (kMostPixel * factor)));
    pixels.deviation.push_back(static_cast<float>(deviation[c] / (kMostPixel * factor)));
  }
  if (IsPixelScale(pixels, channels)) return pixels;
  return reader.Bad("image_mean, image_std or rescale_factor is no scale; mend the file");
}

std::string PreprocessorFileText(const PixelScale& pixels, uint32_t size) {
  nlohmann::ordered_json json;
  json["image_processor_type"] = "ViTImageProcessor";
  json["do_resize"] = true;
  json["size"] = {{"height", size}, {"width", size}};
  json["do_rescale"] = true;
  json["rescale_factor"] = 1 / kMostPixel;
  json["do_normalize"] = true;
  json["image_mean"] = pixels.mean;
  json["image_std"] = pixels.deviation;
  return json.dump(2) + "\n";
}

}  // namespace sti
