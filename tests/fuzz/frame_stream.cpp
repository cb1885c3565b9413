// Frames between stages (spec/frame-stream.md), under the terms of a small plan.
#include <algorithm>
#include <vector>

#include "base/digest.h"
#include "base/little_endian.h"
#include "fuzz/targets.h"
#include "link/frame.h"

namespace sti::fuzz {
namespace {

FrameTerms Terms() {
  FrameTerms terms{.hidden = 4, .length = 8, .microbatch = 3, .stages = 4};
  terms.plan.bytes.fill(7);
  return terms;
}

uint64_t NumberOf(const Frame& frame) {
  return std::visit([](const auto& it) { return it.number; }, frame);
}

// Requires that a frame that is read is written as the same bytes.
void CheckFrame(Input bytes, uint64_t passes) {
  const auto frame = ParseFrame(bytes, Terms(), passes, "f");
  if (!frame.ok()) return RequireDataError(frame.error());
  Require(NumberOf(*frame) == passes, "a frame that was read is the next one");
  const auto again = EncodeFrame(*frame, Terms());
  Require(again.ok(), "a frame that was read can be sent");
  Require(std::ranges::equal(*again, bytes), "and is the same bytes");
}

// Returns the frame with its plan, size and checksums put right.
std::vector<uint8_t> PutRight(Input frame) {
  std::vector<uint8_t> bytes(frame.begin(), frame.end());
  const Input all(bytes);
  std::ranges::copy(Terms().plan.bytes, &bytes[24]);
  StoreLittle<uint64_t>(&bytes[16], bytes.size() - kStreamHeaderBytes);
  StoreLittle<uint64_t>(&bytes[48], Checksum(all.subspan(kStreamHeaderBytes)));
  StoreLittle<uint64_t>(&bytes[56], Checksum(all.first(56)));
  return bytes;
}

}  // namespace

// Checks frame after frame, as a stage takes them; then all that is left as one frame put right.
void FrameStream(Input input) {
  while (input.size() >= kStreamHeaderBytes) {
    const auto header = ParseFrameHeader(input, Terms(), "f");
    if (!header.ok()) {
      RequireDataError(header.error());
      break;
    }
    Require(header->body_bytes <= MostBodyBytes(header->kind, Terms()), "memory is bounded");
    if (header->body_bytes > input.size() - kStreamHeaderBytes) break;
    const uint64_t bytes = kStreamHeaderBytes + header->body_bytes;
    CheckFrame(input.first(bytes), header->number);
    CheckFrame(input.first(bytes), header->number + 1);
    input = input.subspan(bytes);
  }
  if (input.size() < kStreamHeaderBytes) return;
  const std::vector<uint8_t> right = PutRight(input);
  CheckFrame(right, LoadLittle<uint64_t>(&right[40]));
}

}  // namespace sti::fuzz
