// How fast the library's own reader gets through a file, for bench/experiments/bench-io to hold
// against fio: all of it, in order, in reads of one size, as many in flight as asked for.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "base/aligned_buffer.h"
#include "common/cli.h"
#include "common/parse.h"
#include "common/tool.h"
#include "io/block_reader.h"

namespace sti {
namespace {

struct Options {
  std::string file;
  uint64_t read_bytes = uint64_t{128} << 10;
  uint64_t total_bytes = 0;
  uint32_t depth = BlockReader::kDefaultDepth;
  std::string way = "auto";
  bool plain = false;
};

void AddOptions(CLI::App& app, Options& o) {
  app.add_option("FILE", o.file, "file to read")->required();
  AddParsed(app, "--read", o.read_bytes, kSize, "bytes of one read [128KiB]");
  AddParsed(app, "--total", o.total_bytes, kSize, "bytes to read in all [the file]");
  app.add_option("--depth", o.depth, "reads in flight [8]")->check(CLI::Range(1, 64));
  app.add_option("--io", o.way, "auto, uring, threads or buffered [auto]");
  app.add_flag("--plain", o.plain, "do not tell the reader where reads will land");
}

Result<ReadPath> WayNamed(const std::string& name) {
  for (ReadPath way :
       {ReadPath::kAuto, ReadPath::kUring, ReadPath::kThreads, ReadPath::kBuffered}) {
    if (name == ReadPathName(way)) return way;
  }
  return UsageError("--io: " + name + ": no such way; use auto, uring, threads or buffered");
}

// Keeps reads in flight until `total` bytes have come, from the start again at the file's end.
Status ReadThrough(BlockReader& reader, std::span<uint8_t> arena, uint64_t read_bytes,
                   uint64_t total) {
  const uint64_t reads_in_file = reader.file_bytes() / read_bytes;
  const uint64_t reads = total / read_bytes;
  std::vector<uint64_t> free_places;
  free_places.reserve(reader.depth());
  for (uint64_t place = 0; place < reader.depth(); ++place) free_places.push_back(place);
  for (uint64_t next = 0; next < reads || reader.in_flight() > 0;) {
    if (next < reads && !free_places.empty()) {
      const uint64_t place = free_places.back();
      free_places.pop_back();
      const auto buffer = arena.subspan(place * read_bytes, read_bytes);
      STI_RETURN_IF_ERROR(reader.Submit({next++ % reads_in_file * read_bytes, buffer, place}));
      continue;
    }
    STI_ASSIGN_OR_RETURN(const uint64_t place, reader.Wait());
    free_places.push_back(place);
  }
  return {};
}

Result<int> Run(const Options& o) {
  STI_ASSIGN_OR_RETURN(const ReadPath way, WayNamed(o.way));
  STI_ASSIGN_OR_RETURN(auto reader, OpenBlockReader(o.file, way, o.depth));
  if (o.read_bytes == 0 || o.read_bytes % kBlockBytes != 0) {
    return UsageError("--read: a read is a multiple of 4096 bytes");
  }
  if (reader->file_bytes() < o.read_bytes) return DataError(o.file + ": shorter than one read");
  const uint64_t total = o.total_bytes == 0 ? reader->file_bytes() : o.total_bytes;
  AlignedBuffer arena(reader->depth() * o.read_bytes);
  std::fill(arena.span().begin(), arena.span().end(), uint8_t{0});
  if (!o.plain) reader->ExpectReadsInto(arena.span());
  // On another thread than the one that opened, as a pipeline reads.
  Status status;
  double seconds = 0;
  std::thread lane([&] {
    const auto begin = std::chrono::steady_clock::now();
    status = ReadThrough(*reader, arena.span(), o.read_bytes, total);
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  });
  lane.join();
  STI_RETURN_IF_ERROR(status);
  const uint64_t bytes = total / o.read_bytes * o.read_bytes;
  std::printf("%s\t%.1f\n", ReadPathName(reader->path()),
              static_cast<double>(bytes) / seconds / (1 << 20));
  return 0;
}

}  // namespace
}  // namespace sti

int main(int argc, char** argv) {
  sti::Tool tool("read-bandwidth",
                 "Reads a file with the library's reader; prints the way taken and MiB a second.",
                 "read-bandwidth --read 128KiB --depth 8 model.sti");
  sti::Options options;
  sti::AddOptions(tool.app(), options);
  return tool.Main(argc, argv, [&] { return sti::Run(options); });
}
