// Hostile files of FlatBuffers: with checksums that are right, and lists that are one list many
// times.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "format/framed_file.h"
#include "format/importance_part_file.h"
#include "importance_part_generated.h"

namespace sti::test {

using Builder = flatbuffers::FlatBufferBuilder;

template <typename Number>
auto Repeated(Builder& builder, size_t count, Number number) {
  return builder.CreateVector(std::vector<Number>(count, number));
}

/// Returns the file of what a builder has finished.
inline std::vector<uint8_t> Framed(std::string_view magic, const Builder& builder) {
  return WrapFrame(magic, {builder.GetBufferPointer(), builder.GetSize()});
}

/// Returns a part of an importance of `layers` x 256 shards, whose seven lists of tallies are two.
inline std::vector<uint8_t> PartOfTwoLists(uint32_t layers) {
  constexpr uint32_t kWidth = 256;
  const uint64_t cells = 1 + uint64_t{layers} * kWidth;
  Builder builder;
  const auto digest = Repeated<uint8_t>(builder, 16, 1);
  const auto metric = builder.CreateString("loss");
  const auto kernel = builder.CreateString("native");
  const auto bits = builder.CreateVector(std::vector<uint32_t>{6});
  const auto counts = Repeated<uint64_t>(builder, cells, 0);
  const auto sums = Repeated<uint64_t>(builder, 2 * cells, 0);
  builder.Finish(fb::CreateImportancePart(builder, digest, digest, metric, kernel, layers, kWidth,
                                          false, 1, 1, bits, 0, 1, 1, 0, 1, 1, counts, counts,
                                          counts, counts, sums, sums, sums, 2));
  return Framed(kImportancePartMagic, builder);
}

}  // namespace sti::test
