// Reads binary PPM and PGM files: a head of words and numbers, one blank, and the pixels.
#include <algorithm>
#include <charconv>
#include <optional>

#include "image/pixels.h"

namespace sti {
namespace {

constexpr uint32_t kMostOf8Bits = 255;

// Whatever the locale.
bool IsBlank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Reads the numbers of a head, which blanks and comments part.
class PpmHead {
 public:
  explicit PpmHead(std::string_view bytes) : bytes_(bytes) {}

  std::optional<uint32_t> Number() {
    SkipBlanks();
    uint32_t number = 0;
    const char* const begin = bytes_.data() + at_;
    const auto [end, error] = std::from_chars(begin, bytes_.data() + bytes_.size(), number);
    if (error != std::errc()) return std::nullopt;
    at_ += static_cast<size_t>(end - begin);
    return number;
  }

  /// Returns what stands behind one blank; nothing if there is none.
  std::optional<std::string_view> Rest() {
    if (at_ == bytes_.size() || !IsBlank(bytes_[at_])) return std::nullopt;
    return bytes_.substr(at_ + 1);
  }

 private:
  void SkipBlanks() {
    while (at_ < bytes_.size() && (IsBlank(bytes_[at_]) || bytes_[at_] == '#')) {
      if (bytes_[at_] == '#') at_ = std::min(bytes_.find('\n', at_), bytes_.size() - 1);
      ++at_;
    }
  }

  std::string_view bytes_;
  size_t at_ = 2;  // behind the magic bytes
};

}  // namespace

bool IsPpm(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == 'P' && (bytes[1] == '5' || bytes[1] == '6') &&
         (IsBlank(bytes[2]) || bytes[2] == '#');
}

Result<std::vector<uint8_t>> ReadPpm(std::string_view bytes, const ImageShape& shape) {
  PpmHead head(bytes);
  const auto width = head.Number();
  const auto height = head.Number();
  const auto most = head.Number();
  const auto rest = head.Rest();
  if (!width || !height || !most || *most == 0 || !rest)
    return DataError("a broken PPM: its head is not three numbers; write it anew");
  const uint32_t channels = bytes[1] == '6' ? 3 : 1;
  STI_RETURN_IF_ERROR(
      CheckPixels({*width, *height, channels, *most > kMostOf8Bits ? 16U : 8U}, shape));
  if (*most != kMostOf8Bits) {
    return DataError("a PPM whose most is " + std::to_string(*most) + ", not 255; " +
                     HowToConvert(shape));
  }
  const size_t wanted = size_t{shape.values()};
  if (rest->size() < wanted) return DataError("a broken PPM: it ends early; write it anew");
  return std::vector<uint8_t>(rest->begin(), rest->begin() + static_cast<ptrdiff_t>(wanted));
}

}  // namespace sti
