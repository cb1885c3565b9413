#include "link/frame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

#include "base/digest.h"
#include "base/little_endian.h"
#include "base/utf8.h"
#include "link/frames.h"
#include "support/expect.h"
#include "support/random.h"
#include "types/limits.h"

namespace sti {
namespace {

constexpr size_t kLinesAt = 8 + 2 * 48;  // in the body of SomePass

Result<Frame> ParseNext(const std::vector<uint8_t>& bytes, uint64_t passes = 0) {
  return ParseFrame(bytes, SmallTerms(), passes, "frames of b1");
}

// Returns a frame with its checksums right for what it holds.
std::vector<uint8_t> Sealed(std::vector<uint8_t> bytes) {
  const std::span<const uint8_t> all(bytes);
  StoreLittle<uint64_t>(&bytes[48], Checksum(all.subspan(kStreamHeaderBytes)));
  StoreLittle<uint64_t>(&bytes[56], Checksum(all.first(56)));
  return bytes;
}

// Returns SomePass with a number of its body, at an offset there, changed.
template <typename T>
std::vector<uint8_t> WithInBody(size_t offset, T value) {
  std::vector<uint8_t> bytes = BytesOfFrame(SomePass());
  std::memcpy(&bytes[kStreamHeaderBytes + offset], &value, sizeof(value));
  return Sealed(std::move(bytes));
}

template <typename Change>
Result<std::vector<uint8_t>> EncodeChanged(Change change) {
  PassFrame pass = SomePass();
  change(pass);
  return EncodeFrame(pass, SmallTerms());
}

TEST(FrameBytes, APassIsReadAsItWasWritten) {
  const auto frame = ParseNext(BytesOfFrame(SomePass(5)), 5);
  ASSERT_TRUE(Succeeded(frame));
  const auto* pass = std::get_if<PassFrame>(&*frame);
  ASSERT_NE(pass, nullptr);
  const PassFrame sent = SomePass(5);
  EXPECT_EQ(pass->number, 5U);
  EXPECT_EQ(pass->rows, sent.rows);
  EXPECT_EQ(pass->took, sent.took);
  ASSERT_EQ(pass->lines.size(), sent.lines.size());
  for (size_t i = 0; i < sent.lines.size(); ++i) {
    const FrameLine& line = pass->lines[i];
    EXPECT_EQ(line.text, sent.lines[i].text);
    EXPECT_EQ(line.tokens, sent.lines[i].tokens);
    EXPECT_EQ(line.truncated, sent.lines[i].truncated);
    EXPECT_EQ(line.error.has_value(), sent.lines[i].error.has_value());
    ASSERT_EQ(line.text_tokens.size(), sent.lines[i].text_tokens.size());
    for (size_t k = 0; k < line.text_tokens.size(); ++k) {
      EXPECT_EQ(line.text_tokens[k].row, sent.lines[i].text_tokens[k].row);
      EXPECT_EQ(line.text_tokens[k].bytes, sent.lines[i].text_tokens[k].bytes);
      EXPECT_EQ(line.text_tokens[k].continues_word, sent.lines[i].text_tokens[k].continues_word);
    }
  }
  const Error& error = *pass->lines[2].error;
  EXPECT_EQ(error.kind, ErrorKind::kDamaged);
  EXPECT_EQ(error.source, Source::kInput);
  EXPECT_EQ(error.Message(), "input: line 3: a line over 1 MiB");
}

TEST(FrameBytes, HeartbeatsAndEndsAreReadAsTheyWereWritten) {
  const auto beat = ParseNext(BytesOfFrame(Heartbeat{3, 17, true}), 3);
  ASSERT_TRUE(Succeeded(beat));
  EXPECT_EQ(std::get<Heartbeat>(*beat).layers_done, 17U);
  EXPECT_TRUE(std::get<Heartbeat>(*beat).has_work);
  using Reason = EndFrame::Reason;
  for (const EndFrame& end : {EndFrame{2, Reason::kDone}, EndFrame{2, Reason::kInterrupted, "b1"},
                              EndFrame{2, Reason::kFailed, "b1", "cannot read"}}) {
    const auto read = ParseNext(BytesOfFrame(end), 2);
    ASSERT_TRUE(Succeeded(read));
    EXPECT_EQ(std::get<EndFrame>(*read).reason, end.reason);
    EXPECT_EQ(std::get<EndFrame>(*read).device, end.device);
    EXPECT_EQ(std::get<EndFrame>(*read).what, end.what);
  }
}

TEST(FrameBytes, EveryKindOfErrorTravels) {
  for (int kind = 0; kind <= static_cast<int>(ErrorKind::kCancelled); ++kind) {
    for (int source = 0; source <= static_cast<int>(Source::kInput); ++source) {
      PassFrame pass = SomePass();
      pass.lines[2].error->kind = static_cast<ErrorKind>(kind);
      pass.lines[2].error->source = static_cast<Source>(source);
      const auto read = ParseNext(BytesOfFrame(pass));
      ASSERT_TRUE(Succeeded(read));
      EXPECT_EQ(std::get<PassFrame>(*read).lines[2].error->kind, static_cast<ErrorKind>(kind));
      EXPECT_EQ(std::get<PassFrame>(*read).lines[2].error->source, static_cast<Source>(source));
    }
  }
}

TEST(FrameBytes, TextsForATerminalAreMadePrintable) {
  PassFrame pass = SomePass();
  pass.lines[2].error->what = "\x1B[2J" + std::string(20000, 'x');
  const auto read = ParseNext(BytesOfFrame(pass));
  ASSERT_TRUE(Succeeded(read));
  EXPECT_TRUE(IsPrintable(std::get<PassFrame>(*read).lines[2].error->what));
  const EndFrame end{0, EndFrame::Reason::kFailed, "b\n1", "no\tmemory"};
  const auto ended = ParseNext(BytesOfFrame(end));
  ASSERT_TRUE(Succeeded(ended));
  EXPECT_EQ(std::get<EndFrame>(*ended).device, "b?1");
  EXPECT_EQ(std::get<EndFrame>(*ended).what, "no?memory");
}

TEST(FrameBytes, AChangedByteIsRefused) {
  for (const Frame& frame : {Frame(SomePass()), Frame(Heartbeat{0, 5, true}),
                             Frame(EndFrame{0, EndFrame::Reason::kInterrupted, "b1"})}) {
    const std::vector<uint8_t> whole = BytesOfFrame(frame);
    for (size_t i = 0; i < whole.size(); ++i) {
      for (const int flip : {1, 0x80, 0xFF}) {
        std::vector<uint8_t> bytes = whole;
        bytes[i] = static_cast<uint8_t>(bytes[i] ^ flip);
        EXPECT_TRUE(Refused(ParseNext(bytes))) << i;
      }
    }
  }
}

TEST(FrameBytes, ACutOrLongerFrameIsRefused) {
  std::vector<uint8_t> bytes = BytesOfFrame(SomePass());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_TRUE(Refused(ParseNext({bytes.begin(), bytes.begin() + static_cast<long>(size)})));
  }
  bytes.push_back(0);
  EXPECT_TRUE(Refused(ParseNext(bytes), "cut"));
}

// Bytes that a sound header stands in front of, so that nothing but the format's rules holds.
TEST(FrameBytes, ADamagedBodyIsReadOrRefusedWhateverItHolds) {
  TestRandom random(3);
  const std::vector<uint8_t> whole = BytesOfFrame(SomePass());
  for (int i = 0; i < 20000; ++i) {
    std::vector<uint8_t> bytes = whole;
    for (uint64_t changes = 1 + random.Below(4); changes > 0; --changes) {
      const size_t at = kStreamHeaderBytes + random.Below(bytes.size() - kStreamHeaderBytes);
      bytes[at] = static_cast<uint8_t>(random.Next());
    }
    if (random.Below(4) == 0) bytes.resize(kStreamHeaderBytes + random.Below(bytes.size() - 64));
    StoreLittle<uint64_t>(&bytes[16], bytes.size() - kStreamHeaderBytes);
    bytes = Sealed(std::move(bytes));
    const auto read = ParseNext(bytes);
    if (read.ok()) {
      EXPECT_EQ(BytesOfFrame(*read), bytes);
    } else {
      EXPECT_TRUE(Refused(read));
    }
  }
}

TEST(FrameBytes, EachRuleOfABodyIsHeld) {
  const auto refused = [](const std::vector<uint8_t>& bytes, const char* words) {
    EXPECT_TRUE(FailedWith(ParseNext(bytes), ErrorKind::kDamaged, words)) << words;
  };
  const size_t second_at = kLinesAt + 16 + 24;
  const size_t tokens_at = second_at + 16 + 11;
  refused(WithInBody<uint32_t>(0, 4), "format");                    // lines
  refused(WithInBody<uint32_t>(4, 5), "format");                    // stages
  refused(WithInBody<double>(8, -1), "time");                       // wait_us
  refused(WithInBody<double>(16, std::nan("")), "time");            // compute_us
  refused(WithInBody<double>(40, 2e15), "time");                    // total_us
  refused(WithInBody<uint32_t>(kLinesAt, 9), "length");             // tokens
  refused(WithInBody<uint32_t>(kLinesAt, 3), "as many rows");       // tokens
  refused(WithInBody<uint32_t>(kLinesAt, 0), "neither");            // tokens
  refused(WithInBody<uint32_t>(kLinesAt + 4, 4), "format");         // flags
  refused(WithInBody<uint32_t>(kLinesAt + 8, 1 << 20), "format");   // bytes of the text
  refused(WithInBody<uint32_t>(kLinesAt + 12, 1 << 30), "format");  // tokens of the text
  refused(WithInBody<uint32_t>(tokens_at, 5), "ascend");            // a row
  refused(WithInBody<uint32_t>(tokens_at + 16, 1), "ascend");       // the next one's
  refused(WithInBody<uint32_t>(tokens_at + 4, 4), "outside");       // begin
  refused(WithInBody<uint32_t>(tokens_at + 40, 12), "outside");     // end
  refused(WithInBody<uint32_t>(tokens_at + 12, 2), "format");       // whether it continues a word
  const size_t error_at = tokens_at + 3 * 16 + 16;
  refused(WithInBody<uint16_t>(error_at, 9), "format");         // kind
  refused(WithInBody<uint16_t>(error_at + 2, 7), "format");     // source
  refused(WithInBody<uint8_t>(error_at + 12, 0x1B), "format");  // what
  const size_t rows_at = error_at + 12 + 17 + 6;
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    refused(WithInBody<float>(rows_at, value), "not finite");
    refused(WithInBody<float>(rows_at + 27 * 4, value), "not finite");
  }
  ASSERT_TRUE(Succeeded(ParseNext(WithInBody<float>(rows_at, 1.25F))));
}

TEST(FrameBytes, WhatNoReaderTakesIsNotWritten) {
  const auto refused = [](const Result<std::vector<uint8_t>>& bytes) {
    EXPECT_TRUE(FailedWith(bytes, ErrorKind::kDamaged, "a pass cannot be sent"));
  };
  refused(EncodeChanged([](PassFrame& p) { p.lines.clear(); }));
  refused(EncodeChanged([](PassFrame& p) { p.lines.resize(4); }));
  refused(EncodeChanged([](PassFrame& p) { p.took.resize(5); }));
  refused(EncodeChanged([](PassFrame& p) { p.rows.pop_back(); }));
  refused(EncodeChanged([](PassFrame& p) { p.rows[3] = std::nanf(""); }));
  refused(EncodeChanged([](PassFrame& p) { p.lines[0].text.resize(kMaxLineBytes + 1); }));
  refused(EncodeChanged([](PassFrame& p) { p.lines[2].error.reset(); }));
  EXPECT_TRUE(
      Succeeded(EncodeChanged([](PassFrame& p) { p.lines[0].text.resize(kMaxLineBytes); })));
}

TEST(FrameBytes, AnotherPlanAndANewerVersionAreForeign) {
  const std::vector<uint8_t> bytes = BytesOfFrame(SomePass());
  FrameTerms other = SmallTerms();
  other.plan.bytes[15] = 0;
  EXPECT_TRUE(FailedWith(ParseFrame(bytes, other, 0, "frames of b1"), ErrorKind::kForeign,
                         "frames of b1: the stage runs another plan"));
  std::vector<uint8_t> newer = bytes;
  StoreLittle<uint16_t>(&newer[8], 2);
  EXPECT_TRUE(FailedWith(ParseNext(newer), ErrorKind::kForeign, "newer than this program"));
  newer[8] = 0;
  EXPECT_TRUE(FailedWith(ParseNext(Sealed(newer)), ErrorKind::kDamaged));
}

TEST(FrameBytes, TextIsNoFrame) {
  const std::string text = "a great film, and long enough for the header of a frame, one thinks\n";
  EXPECT_TRUE(FailedWith(ParseNext({text.begin(), text.end()}), ErrorKind::kDamaged,
                         "something that is no frame"));
}

TEST(FrameBytes, HeadersOfNoKindOrOfTooLargeABodyAreRefused) {
  const auto with = [](size_t offset, uint64_t value) {
    std::vector<uint8_t> bytes = BytesOfFrame(Heartbeat{});
    const auto byte = static_cast<uint8_t>(value);
    bytes[offset] = byte;
    return Sealed(std::move(bytes));
  };
  EXPECT_TRUE(FailedWith(ParseNext(with(10, 0)), ErrorKind::kDamaged, "no known kind"));
  EXPECT_TRUE(FailedWith(ParseNext(with(10, 4)), ErrorKind::kDamaged, "no known kind"));
  EXPECT_TRUE(FailedWith(ParseNext(with(12, 1)), ErrorKind::kDamaged, "no known kind"));
  EXPECT_TRUE(FailedWith(ParseNext(with(16, 13)), ErrorKind::kDamaged, "larger"));
  EXPECT_TRUE(FailedWith(ParseNext(with(16, 11)), ErrorKind::kDamaged, "cut"));
  EXPECT_TRUE(FailedWith(ParseNext(with(23, 1)), ErrorKind::kDamaged, "larger"));
}

TEST(FrameBytes, PassesComeOneByOne) {
  const std::vector<uint8_t> bytes = BytesOfFrame(SomePass(4));
  EXPECT_TRUE(FailedWith(ParseNext(bytes, 3), ErrorKind::kDamaged, "missing, or comes twice"));
  EXPECT_TRUE(FailedWith(ParseNext(bytes, 5), ErrorKind::kDamaged, "missing, or comes twice"));
  EXPECT_TRUE(Succeeded(ParseNext(bytes, 4)));
}

TEST(FrameBytes, MemoryIsBoundedByTheTerms) {
  const uint64_t line = 16 + 12 + (1 << 20) + 2 * 8192 + 8 * (16 + 4 * 4);
  EXPECT_EQ(MostBodyBytes(FrameKind::kPass, SmallTerms()), 8 + 4 * 48 + 3 * line);
  FrameTerms large = SmallTerms();
  large.hidden = large.length = large.microbatch = large.stages = UINT32_MAX;
  EXPECT_EQ(MostBodyBytes(FrameKind::kPass, large), (uint64_t{1} << 30) - 64);
  EXPECT_EQ(MostBodyBytes(FrameKind::kHeartbeat, large), 12U);
  EXPECT_EQ(MostBodyBytes(FrameKind::kEnd, large), 12U + 2 * 8192);
}

// Returns the bytes of the lines of spec/frame-stream.md that look like "00000000: 5354 4950 ...".
std::vector<uint8_t> BytesOfSpec() {
  std::ifstream file(std::string(STI_SOURCE_DIR) + "/spec/frame-stream.md");
  std::vector<uint8_t> bytes;
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, 4, "0000") != 0) continue;
    std::string digits;
    for (const char c : line.substr(10, 40)) {
      if (c != ' ') digits += c;
    }
    for (size_t i = 0; i + 1 < digits.size(); i += 2) {
      bytes.push_back(static_cast<uint8_t>(std::stoi(digits.substr(i, 2), nullptr, 16)));
    }
  }
  return bytes;
}

TEST(FrameBytes, AreThoseOfTheDocument) {
  FrameTerms terms{.hidden = 2, .length = 8, .microbatch = 2, .stages = 2};
  for (size_t i = 0; i < terms.plan.bytes.size(); ++i) {
    terms.plan.bytes[i] = static_cast<uint8_t>(0x10 + i);
  }
  PassFrame pass;
  pass.number = 7;
  pass.lines.resize(2);
  pass.lines[0].text = "Hi";
  pass.lines[0].tokens = 3;
  pass.lines[0].text_tokens = {{1, {0, 2}, false}};
  pass.lines[1].truncated = true;
  pass.lines[1].error = DataError("too long").In(Source::kInput);
  pass.took = {{.wait_us = 1,
                .compute_us = 2,
                .stall_us = 0,
                .send_us = 0.5,
                .total_us = 3.5,
                .bytes_read = 4096}};
  pass.rows = {0, 1, -1, 0.5, 2, -2};
  std::vector<uint8_t> bytes = BytesOfFrame(pass, terms);
  const auto end = BytesOfFrame(EndFrame{8, EndFrame::Reason::kDone}, terms);
  bytes.insert(bytes.end(), end.begin(), end.end());
  EXPECT_EQ(bytes, BytesOfSpec());
}

}  // namespace
}  // namespace sti
