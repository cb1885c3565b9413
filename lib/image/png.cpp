// Reads PNG files by libpng, which leaves a function by longjmp where a file is broken: what it
// calls from there holds nothing that would have to be destroyed.
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "image/pixels.h"

namespace sti {
namespace {

constexpr size_t kSignatureBytes = 8;
// The memory of one chunk, such as of text or colours, which is passed over.
constexpr png_alloc_size_t kMostChunkBytes = 8U << 20;

/// The bytes that libpng is given to read, and why it gave up.
struct PngInput {
  std::string_view bytes;
  size_t at = 0;
  char problem[96] = "";
};

void ReadBytes(png_structp png, png_bytep to, size_t count) {
  auto* input = static_cast<PngInput*>(png_get_io_ptr(png));
  if (count > input->bytes.size() - input->at) png_error(png, "it ends early");
  std::memcpy(to, input->bytes.data() + input->at, count);
  input->at += count;
}

[[noreturn]] void GiveUp(png_structp png, png_const_charp problem) {
  auto* input = static_cast<PngInput*>(png_get_error_ptr(png));
  std::strncpy(input->problem, problem, sizeof(input->problem) - 1);
  png_longjmp(png, 1);
}

void PassOver(png_structp /*png*/, png_const_charp /*warning*/) {}

// One PNG file under way. Its methods return false where libpng gave up.
class PngFile {
 public:
  explicit PngFile(std::string_view bytes) : input_{bytes} {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &input_, GiveUp, PassOver);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  ~PngFile() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngFile(const PngFile&) = delete;
  PngFile& operator=(const PngFile&) = delete;

  [[nodiscard]] bool ready() const { return info_ != nullptr; }
  [[nodiscard]] const char* problem() const { return input_.problem; }
  [[nodiscard]] const PixelFormat& format() const { return format_; }

  bool ReadHead() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;  // NOLINT: how libpng fails
    png_set_read_fn(png_, &input_, ReadBytes);
    png_set_user_limits(png_, kMaxImageSize, kMaxImageSize);
    png_set_chunk_malloc_max(png_, kMostChunkBytes);
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_read_info(png_, info_);
    format_ = {png_get_image_width(png_, info_), png_get_image_height(png_, info_),
               png_get_channels(png_, info_),
               std::max<uint32_t>(8, png_get_bit_depth(png_, info_))};
    if (png_get_color_type(png_, info_) == PNG_COLOR_TYPE_PALETTE) {
      format_.channels = 3;
      png_set_palette_to_rgb(png_);
      png_set_strip_alpha(png_);  // what a palette has of transparency
    } else if (png_get_bit_depth(png_, info_) < 8) {
      png_set_expand_gray_1_2_4_to_8(png_);
    }
    return true;
  }

  // Reads the rows, each to where its pointer is.
  bool ReadRows(png_bytepp rows) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;  // NOLINT: how libpng fails
    (void)png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    // No row is longer than its place.
    if (png_get_rowbytes(png_, info_) != size_t{format_.width} * format_.channels)
      png_error(png_, "its rows are of another length");
    png_read_image(png_, rows);
    png_read_end(png_, nullptr);
    return true;
  }

 private:
  PngInput input_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  PixelFormat format_;
};

}  // namespace

bool IsPng(std::string_view bytes) {
  return bytes.size() >= kSignatureBytes &&
         png_sig_cmp(reinterpret_cast<png_const_bytep>(bytes.data()), 0, kSignatureBytes) == 0;
}

Result<std::vector<uint8_t>> ReadPng(std::string_view bytes, const ImageShape& shape) {
  PngFile file(bytes);
  if (!file.ready()) return NoMemoryError();
  const auto broken = [&] {
    return DataError(std::string("a broken PNG: ") + file.problem() + "; write it anew");
  };
  if (!file.ReadHead()) return broken();
  STI_RETURN_IF_ERROR(CheckPixels(file.format(), shape));
  const size_t row_bytes = size_t{shape.size} * shape.channels;
  std::vector<uint8_t> pixels(row_bytes * shape.size);
  std::vector<png_bytep> rows(shape.size);
  for (size_t y = 0; y < rows.size(); ++y) rows[y] = pixels.data() + y * row_bytes;
  if (!file.ReadRows(rows.data())) return broken();
  return pixels;
}

}  // namespace sti
