// Frames of a small plan, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "link/frame.h"
#include "support/expect.h"

namespace sti {

inline FrameTerms SmallTerms() {
  FrameTerms terms{.hidden = 4, .length = 8, .microbatch = 3, .stages = 4};
  for (size_t i = 0; i < terms.plan.bytes.size(); ++i) {
    terms.plan.bytes[i] = static_cast<uint8_t>(i + 1);
  }
  return terms;
}

/// A pass of three lines: one as most are, one whose tokens are labelled, and one with an error.
inline PassFrame SomePass(uint64_t number = 0) {
  PassFrame pass;
  pass.number = number;
  pass.lines.resize(3);
  pass.lines[0].text = std::string("a line\0of \x1B any bytes \xFF", 24);
  pass.lines[0].tokens = 2;
  pass.lines[0].truncated = true;
  pass.lines[1].text = "Ada in Bern";
  pass.lines[1].tokens = 5;
  pass.lines[1].text_tokens = {{1, {0, 3}, false}, {2, {4, 6}, false}, {3, {7, 11}, true}};
  pass.lines[2].error = DataError("a line over 1 MiB").In(Source::kInput).At("line 3");
  pass.took = {{.wait_us = 1.5, .compute_us = 20, .total_us = 30, .bytes_read = 4096},
               {.stall_us = 2, .send_us = 0.25}};
  for (int i = 0; i < 7 * 4; ++i) pass.rows.push_back(0.5F * static_cast<float>(i - 9));
  return pass;
}

/// Returns the bytes of a frame that can be sent.
inline std::vector<uint8_t> BytesOfFrame(const Frame& frame,
                                         const FrameTerms& terms = SmallTerms()) {
  auto bytes = EncodeFrame(frame, terms);
  EXPECT_TRUE(Succeeded(bytes));
  return bytes.ok() ? std::move(*bytes) : std::vector<uint8_t>();
}

inline bool SameFrame(const Frame& a, const Frame& b) { return BytesOfFrame(a) == BytesOfFrame(b); }

}  // namespace sti
