#include "format/resident_codec.h"

#include <zstd.h>

#include <algorithm>
#include <cassert>
#include <memory>
#include <new>

#include "base/little_endian.h"
#include "base/remedy.h"
#include "types/finite.h"

namespace sti {
namespace {

constexpr int kWindowLog = 23;  // 8 MiB, which a writer keeps to and any decoder has
constexpr uint64_t kPieceBytes = uint64_t{64} << 10;

using PieceVisit = FunctionRef<Status(std::span<const uint8_t> piece)>;

Error Bad(const std::string& problem, const std::string& name) {
  return DataError(problem).At(name).Fix(Remedy::kMakeModelAgain);
}

// One frame that says its size, the right one, and nothing behind it. What it says is checked
// before memory is taken for it.
Status CheckFrame(const ResidentLocation& location, std::span<const uint8_t> stored,
                  const std::string& name) {
  const bool is_frame =
      stored.size() >= sizeof(uint32_t) && LoadLittle<uint32_t>(stored.data()) == ZSTD_MAGICNUMBER;
  if (!is_frame || ZSTD_getFrameContentSize(stored.data(), stored.size()) != location.raw_length) {
    return Bad("a resident part claims another size", name);
  }
  const size_t frame = ZSTD_findFrameCompressedSize(stored.data(), stored.size());
  if (ZSTD_isError(frame) != 0) return Bad("a resident part does not decompress", name);
  if (frame != stored.size()) return Bad("a resident part has bytes behind its frame", name);
  return {};
}

// Unpacks a checked frame, 64 KiB at a time and the last piece shorter.
class FrameReader {
 public:
  FrameReader(std::span<const uint8_t> stored, uint64_t raw_length)
      : stream_(ZSTD_createDStream()),
        in_{stored.data(), stored.size(), 0},
        left_(raw_length),
        piece_(std::min(kPieceBytes, raw_length)) {
    if (stream_ == nullptr) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, kWindowLog);
  }

  Status ForEachPiece(const std::string& name, const PieceVisit& visit) {
    while (left_ > 0) {
      const uint64_t size = std::min<uint64_t>(left_, piece_.size());
      if (!Fill(size)) return Bad("a resident part does not decompress", name);
      STI_RETURN_IF_ERROR(visit(std::span(piece_).first(size)));
      left_ -= size;
    }
    return Ends() ? Status() : Bad("a resident part does not decompress", name);
  }

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };

  // Returns whether the frame has so many bytes more, which then are in the piece.
  bool Fill(uint64_t size) {
    ZSTD_outBuffer out{piece_.data(), size, 0};
    while (out.pos < size) {
      const size_t before = out.pos;
      const size_t more = ZSTD_decompressStream(stream_.get(), &out, &in_);
      const bool stuck = out.pos == before && in_.pos == in_.size;
      if (ZSTD_isError(more) != 0 || (out.pos < size && (more == 0 || stuck))) return false;
      ended_ = more == 0;
    }
    return true;
  }

  // Returns whether nothing is left but the frame's own end.
  bool Ends() {
    ZSTD_outBuffer none{piece_.data(), 0, 0};
    while (!ended_) {
      const size_t before = in_.pos;
      const size_t more = ZSTD_decompressStream(stream_.get(), &none, &in_);
      if (ZSTD_isError(more) != 0 || (more != 0 && in_.pos == before)) return false;
      ended_ = more == 0;
    }
    return true;
  }

  std::unique_ptr<ZSTD_DStream, Free> stream_;
  ZSTD_inBuffer in_;
  uint64_t left_;
  std::vector<uint8_t> piece_;
  bool ended_ = false;
};

// Cuts the bytes of a part, as they come, into those of its tensors.
class TensorCutter {
 public:
  TensorCutter(DataType type, Home home, const ModelShape& shape, const TensorVisit& visit)
      : type_(type), shape_(shape), tensors_(TensorsAt(home)), visit_(visit) {}

  // `bytes` are whole values, no more than are left.
  Status Take(std::span<const uint8_t> bytes, const std::string& name) {
    if (!AllFinite(type_, bytes)) return Bad("holds a number that is not finite", name);
    const uint64_t width = BytesOf(type_);
    while (!bytes.empty()) {
      const TensorSpec& tensor = tensors_.front();
      const uint64_t size = SizeOf(tensor, shape_).count();
      const uint64_t count = std::min(size - first_, bytes.size() / width);
      if (count > 0) STI_RETURN_IF_ERROR(visit_(tensor.role, first_, bytes.first(count * width)));
      bytes = bytes.subspan(count * width);
      first_ += count;
      if (first_ < size) continue;
      tensors_ = tensors_.subspan(1);
      first_ = 0;
    }
    return {};
  }

 private:
  DataType type_;
  const ModelShape& shape_;
  std::span<const TensorSpec> tensors_;  // that have values to come
  const TensorVisit& visit_;
  uint64_t first_ = 0;
};

}  // namespace

Result<std::string> UnpackText(const ResidentLocation& location, std::span<const uint8_t> stored,
                               const std::string& name) {
  if (location.compression == Compression::kNone) return std::string(stored.begin(), stored.end());
  STI_RETURN_IF_ERROR(CheckFrame(location, stored, name));
  std::string text(location.raw_length, '\0');
  const size_t size = ZSTD_decompress(text.data(), text.size(), stored.data(), stored.size());
  if (size != text.size()) return Bad("a resident part does not decompress", name);
  return text;
}

Home HomeOf(ResidentKind kind) {
  switch (kind) {
    case ResidentKind::kEmbedding:
      return Home::kEmbedding;
    case ResidentKind::kHead:
    case ResidentKind::kStatedHead:
      return Home::kHead;
    case ResidentKind::kLayer:
    case ResidentKind::kVocabulary:
    case ResidentKind::kStatedVocabulary:
    case ResidentKind::kMerges:
      break;
  }
  assert(kind == ResidentKind::kLayer);
  return Home::kLayer;
}

Status ReadTensors(const ResidentLocation& location, const ModelShape& shape,
                   std::span<const uint8_t> stored, const std::string& name,
                   const TensorVisit& visit) {
  const Home home = HomeOf(location.kind);
  const uint64_t values = ValuesAt(home, shape);
  const bool packed = location.compression == Compression::kZstd;
  if ((packed ? location.raw_length : stored.size()) != values * BytesOf(location.type)) {
    return Bad("a resident part has another size than the shape", name);
  }
  TensorCutter cutter(location.type, home, shape, visit);
  if (!packed) return cutter.Take(stored, name);
  STI_RETURN_IF_ERROR(CheckFrame(location, stored, name));
  return FrameReader(stored, location.raw_length)
      .ForEachPiece(name, [&](std::span<const uint8_t> piece) { return cutter.Take(piece, name); });
}

namespace {

constexpr int kZstdLevel = 19;

}  // namespace

StoredPart CompressPart(std::span<const uint8_t> raw) {
  StoredPart part;
  part.bytes.resize(ZSTD_compressBound(raw.size()));
  size_t size =
      ZSTD_compress(part.bytes.data(), part.bytes.size(), raw.data(), raw.size(), kZstdLevel);
  if (ZSTD_isError(size) == 0 && size < raw.size() - raw.size() / 4) {
    part.bytes.resize(size);
    part.compression = Compression::kZstd;
  } else {
    part.bytes.assign(raw.begin(), raw.end());
  }
  return part;
}

}  // namespace sti
