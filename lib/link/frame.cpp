#include "link/frame.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/checked.h"
#include "base/little_endian.h"
#include "base/utf8.h"
#include "types/limits.h"

namespace sti {
namespace {

constexpr std::string_view kFrameMagic{"STISTRM\0", 8};
constexpr uint16_t kStreamVersion = 1;
constexpr uint64_t kMostFrameBytes = uint64_t{1} << 30;
constexpr uint64_t kMostWordsBytes = 8192;  // of an error's texts, and of a device's name

constexpr uint64_t kBytesOfTook = 48;
constexpr uint64_t kBytesOfLine = 16;  // what every line has
constexpr uint64_t kBytesOfToken = 16;
constexpr uint64_t kBytesOfError = 12;  // without its texts
constexpr uint64_t kBytesOfHeartbeat = 12;
constexpr uint64_t kBytesOfEnd = 12;  // without its texts

constexpr uint32_t kTruncated = 1;
constexpr uint32_t kHasError = 2;

// By their numbers in a frame, which are never changed.
constexpr std::array kKinds = {ErrorKind::kMachine, ErrorKind::kNoMemory,   ErrorKind::kReadFailed,
                               ErrorKind::kUsage,   ErrorKind::kNoSuchFile, ErrorKind::kDamaged,
                               ErrorKind::kForeign, ErrorKind::kInfeasible, ErrorKind::kCancelled};
constexpr std::array kSources = {Source::kNone,    Source::kModel,      Source::kPlan,
                                 Source::kProfile, Source::kImportance, Source::kExamples,
                                 Source::kInput};

template <typename Value, size_t kCount>
uint32_t NumberOf(const std::array<Value, kCount>& values, Value value) {
  return static_cast<uint32_t>(std::find(values.begin(), values.end(), value) - values.begin());
}

bool IsDuration(double time_us) { return time_us >= 0 && time_us <= kMaxTimeUs; }

bool AreWords(std::string_view text) {
  return text.size() <= kMostWordsBytes && IsPrintable(text) && !HasMovingText(text);
}

// Returns what breaks a rule in the tokens of a line's text, or nothing.
const char* ProblemOfTokens(const FrameLine& line) {
  const TextToken* before = nullptr;
  for (const TextToken& token : line.text_tokens) {
    if (token.row >= line.tokens || (before != nullptr && token.row <= before->row)) {
      return "tokens of a line's text do not ascend among its rows";
    }
    if (token.bytes.begin > token.bytes.end || token.bytes.end > line.text.size()) {
      return "a token of a line's text lies outside the text";
    }
    before = &token;
  }
  return nullptr;
}

const char* ProblemOfLine(const FrameLine& line, const FrameTerms& terms) {
  if (line.text.size() > kMaxLineBytes) return "a line has more than 1 MiB";
  if (line.tokens > terms.length) return "a line has more rows than the plan's length";
  if (line.error.has_value() != (line.tokens == 0)) {
    return "a line has rows and an error, or neither";
  }
  return ProblemOfTokens(line);
}

const char* ProblemOf(const PassFrame& pass, const FrameTerms& terms) {
  if (pass.lines.empty() || pass.lines.size() > terms.microbatch) {
    return "a pass has no line, or more than the plan's";
  }
  if (pass.took.size() > terms.stages) return "a pass has times of more stages than there are";
  uint64_t rows = 0;
  for (const FrameLine& line : pass.lines) {
    if (const char* problem = ProblemOfLine(line, terms)) return problem;
    rows += line.tokens;
  }
  if (CheckedMul(rows, terms.hidden) != pass.rows.size()) {
    return "a pass has not as many rows as its lines have tokens";
  }
  for (const StageTook& took : pass.took) {
    for (const double time_us :
         {took.wait_us, took.compute_us, took.stall_us, took.send_us, took.total_us}) {
      if (!IsDuration(time_us)) return "a time of a stage is none";
    }
  }
  if (!std::ranges::all_of(pass.rows, [](float x) { return std::isfinite(x); })) {
    return "a row has a number that is not finite";
  }
  return nullptr;
}

const char* ProblemOf(const Heartbeat& /*beat*/, const FrameTerms& /*terms*/) { return nullptr; }

const char* ProblemOf(const EndFrame& end, const FrameTerms& /*terms*/) {
  const bool done = end.reason == EndFrame::Reason::kDone;
  const bool failed = end.reason == EndFrame::Reason::kFailed;
  if (done != end.device.empty() || failed == end.what.empty()) {
    return "an end does not say where and why, as its reason asks";
  }
  return nullptr;
}

/// Bytes that a frame is written to.
class Writer {
 public:
  explicit Writer(uint64_t room) { bytes_.reserve(room); }

  template <typename T>
  void Add(T value) {
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    std::memcpy(&bytes_[at], &value, sizeof(T));
  }
  void AddBytes(const void* from, size_t size) {
    const auto* first = static_cast<const uint8_t*>(from);
    bytes_.insert(bytes_.end(), first, first + size);
  }
  void AddText(std::string_view text) { AddBytes(text.data(), text.size()); }
  std::vector<uint8_t>& bytes() { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

void Write(const FrameLine& line, Writer* to) {
  to->Add(line.tokens);
  to->Add((line.truncated ? kTruncated : 0) | (line.error ? kHasError : 0));
  to->Add(static_cast<uint32_t>(line.text.size()));
  to->Add(static_cast<uint32_t>(line.text_tokens.size()));
  to->AddText(line.text);
  for (const TextToken& token : line.text_tokens) {
    to->Add(token.row);
    to->Add(token.bytes.begin);
    to->Add(token.bytes.end);
    to->Add(uint32_t{token.continues_word});
  }
  if (!line.error) return;
  const std::string what = OneLine(line.error->what);
  const std::string place = OneLine(line.error->place);
  to->Add(static_cast<uint16_t>(NumberOf(kKinds, line.error->kind)));
  to->Add(static_cast<uint16_t>(NumberOf(kSources, line.error->source)));
  to->Add(static_cast<uint32_t>(what.size()));
  to->Add(static_cast<uint32_t>(place.size()));
  to->AddText(what);
  to->AddText(place);
}

void Write(const PassFrame& pass, Writer* to) {
  to->Add(static_cast<uint32_t>(pass.lines.size()));
  to->Add(static_cast<uint32_t>(pass.took.size()));
  for (const StageTook& took : pass.took) {
    for (const double time_us :
         {took.wait_us, took.compute_us, took.stall_us, took.send_us, took.total_us}) {
      to->Add(time_us);
    }
    to->Add(took.bytes_read);
  }
  for (const FrameLine& line : pass.lines) Write(line, to);
  to->AddBytes(pass.rows.data(), pass.rows.size() * sizeof(float));
}

void Write(const Heartbeat& beat, Writer* to) {
  to->Add(beat.layers_done);
  to->Add(uint32_t{beat.has_work});
}

void Write(const EndFrame& end, Writer* to) {
  const std::string device = OneLine(end.device);
  const std::string what = OneLine(end.what);
  to->Add(static_cast<uint32_t>(end.reason));
  to->Add(static_cast<uint32_t>(device.size()));
  to->Add(static_cast<uint32_t>(what.size()));
  to->AddText(device);
  to->AddText(what);
}

// Returns about how many bytes a frame takes, so that memory is taken once.
uint64_t BytesOf(const Frame& frame) {
  uint64_t bytes = kStreamHeaderBytes + kBytesOfEnd + 2 * kMostWordsBytes;
  const auto* pass = std::get_if<PassFrame>(&frame);
  if (pass == nullptr) return bytes;
  bytes += pass->took.size() * kBytesOfTook + pass->rows.size() * sizeof(float);
  for (const FrameLine& line : pass->lines) {
    bytes += kBytesOfLine + line.text.size() + line.text_tokens.size() * kBytesOfToken;
    if (line.error) bytes += kBytesOfError + line.error->what.size() + line.error->place.size();
  }
  return bytes;
}

/// The rest of a body that is read. A read beyond its end gives zeros, and fails it.
class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : rest_(bytes) {}

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] size_t size() const { return rest_.size(); }
  template <typename T>
  T Take() {
    T value{};
    CopyTo(&value, sizeof(T));
    return value;
  }
  std::string TakeText(uint64_t size) {
    if (size > rest_.size()) {
      failed_ = true;
      return {};
    }
    std::string text(reinterpret_cast<const char*>(rest_.data()), size);
    rest_ = rest_.subspan(size);
    return text;
  }
  void CopyTo(void* to, size_t size) {
    if (size > rest_.size()) {
      failed_ = true;
      rest_ = {};
      return;
    }
    if (size > 0) std::memcpy(to, rest_.data(), size);
    rest_ = rest_.subspan(size);
  }
  void Fail() { failed_ = true; }

 private:
  std::span<const uint8_t> rest_;
  bool failed_ = false;
};

bool TakeFlag(Reader* from) {
  const auto flag = from->Take<uint32_t>();
  if (flag > 1) from->Fail();
  return flag == 1;
}

std::string TakeWords(Reader* from, uint32_t size) {
  std::string words = from->TakeText(size);
  if (!AreWords(words)) from->Fail();
  return words;
}

Error TakeError(Reader* from) {
  Error error;
  const auto kind = from->Take<uint16_t>();
  const auto source = from->Take<uint16_t>();
  const auto what_bytes = from->Take<uint32_t>();
  const auto place_bytes = from->Take<uint32_t>();
  error.what = TakeWords(from, what_bytes);
  error.place = TakeWords(from, place_bytes);
  if (kind >= kKinds.size() || source >= kSources.size()) {
    from->Fail();
    return error;
  }
  error.kind = kKinds[kind];
  error.source = kSources[source];
  return error;
}

FrameLine TakeLine(Reader* from) {
  FrameLine line;
  line.tokens = from->Take<uint32_t>();
  const auto flags = from->Take<uint32_t>();
  const auto text_bytes = from->Take<uint32_t>();
  const auto text_tokens = from->Take<uint32_t>();
  if ((flags & ~(kTruncated | kHasError)) != 0) from->Fail();
  line.truncated = (flags & kTruncated) != 0;
  line.text = from->TakeText(text_bytes);
  if (text_tokens > from->size() / kBytesOfToken) from->Fail();
  for (uint32_t i = 0; i < text_tokens && !from->failed(); ++i) {
    TextToken token;
    token.row = from->Take<uint32_t>();
    token.bytes.begin = from->Take<uint32_t>();
    token.bytes.end = from->Take<uint32_t>();
    token.continues_word = TakeFlag(from);
    line.text_tokens.push_back(token);
  }
  if ((flags & kHasError) != 0) line.error = TakeError(from);
  return line;
}

PassFrame TakePass(Reader* from, const FrameTerms& terms) {
  PassFrame pass;
  const auto lines = from->Take<uint32_t>();
  const auto took_entries = from->Take<uint32_t>();
  if (lines > terms.microbatch || took_entries > terms.stages) from->Fail();
  for (uint32_t i = 0; i < took_entries && !from->failed(); ++i) {
    StageTook took;
    for (double* time_us :
         {&took.wait_us, &took.compute_us, &took.stall_us, &took.send_us, &took.total_us}) {
      *time_us = from->Take<double>();
    }
    took.bytes_read = from->Take<uint64_t>();
    pass.took.push_back(took);
  }
  for (uint32_t i = 0; i < lines && !from->failed(); ++i) pass.lines.push_back(TakeLine(from));
  if (from->failed()) return pass;
  // The rows are the rest, so that no number of theirs is trusted before memory is taken.
  if (from->size() % sizeof(float) != 0) from->Fail();
  pass.rows.resize(from->size() / sizeof(float));
  from->CopyTo(pass.rows.data(), pass.rows.size() * sizeof(float));
  return pass;
}

Heartbeat TakeHeartbeat(Reader* from) {
  Heartbeat beat;
  beat.layers_done = from->Take<uint64_t>();
  beat.has_work = TakeFlag(from);
  return beat;
}

EndFrame TakeEnd(Reader* from) {
  EndFrame end;
  const auto reason = from->Take<uint32_t>();
  if (reason > static_cast<uint32_t>(EndFrame::Reason::kFailed)) from->Fail();
  end.reason = static_cast<EndFrame::Reason>(reason);
  const auto device_bytes = from->Take<uint32_t>();
  const auto what_bytes = from->Take<uint32_t>();
  end.device = TakeWords(from, device_bytes);
  end.what = TakeWords(from, what_bytes);
  return end;
}

Frame TakeFrame(FrameKind kind, Reader* from, const FrameTerms& terms) {
  if (kind == FrameKind::kPass) return TakePass(from, terms);
  if (kind == FrameKind::kHeartbeat) return TakeHeartbeat(from);
  return TakeEnd(from);
}

Error Damaged(const char* what, const std::string& name) {
  return DataError(std::string(what) +
                   "; see whether what lies between the stages carries bytes "
                   "as they are, and run all stages again")
      .At(name);
}

Error OfAnotherPlan(const Digest& theirs, const Digest& ours, const std::string& name) {
  return ForeignError("the stage runs another plan (" + theirs.Prefix() + ", and " + ours.Prefix() +
                      " is this stage's); give all stages one plan")
      .At(name);
}

}  // namespace

uint64_t MostBodyBytes(FrameKind kind, const FrameTerms& terms) {
  if (kind == FrameKind::kHeartbeat) return kBytesOfHeartbeat;
  if (kind == FrameKind::kEnd) return kBytesOfEnd + 2 * kMostWordsBytes;
  // No factor has over 33 bits here, and no term over 38 before the last product.
  const uint64_t row_bytes = kBytesOfToken + uint64_t{terms.hidden} * sizeof(float);
  const uint64_t words = kBytesOfLine + kBytesOfError + kMaxLineBytes + 2 * kMostWordsBytes;
  const auto rows = CheckedMul(terms.length, row_bytes);
  const auto line = CheckedAdd(rows.value_or(kMostFrameBytes), words);
  const auto lines = CheckedMul(line.value_or(kMostFrameBytes), terms.microbatch);
  const uint64_t others = 8 + uint64_t{terms.stages} * kBytesOfTook;
  const auto all = CheckedAdd(lines.value_or(kMostFrameBytes), others);
  return std::min(all.value_or(kMostFrameBytes), kMostFrameBytes - kStreamHeaderBytes);
}

Result<std::vector<uint8_t>> EncodeFrame(const Frame& frame, const FrameTerms& terms) {
  const auto kind = static_cast<FrameKind>(frame.index() + 1);
  const char* problem = std::visit([&](const auto& it) { return ProblemOf(it, terms); }, frame);
  if (problem != nullptr) {
    return DataError(std::string(kind == FrameKind::kPass ? "a pass" : "an end") +
                     " cannot be sent: " + problem);
  }
  if (BytesOf(frame) > kMostFrameBytes + kBytesOfEnd + 2 * kMostWordsBytes) {
    return InfeasibleError("a pass takes more than the 1 GiB of a frame");
  }
  Writer to(BytesOf(frame));
  to.bytes().resize(kStreamHeaderBytes);
  std::visit([&](const auto& it) { Write(it, &to); }, frame);
  std::vector<uint8_t>& bytes = to.bytes();
  const uint64_t body_bytes = bytes.size() - kStreamHeaderBytes;
  if (body_bytes > MostBodyBytes(kind, terms)) {
    return InfeasibleError("a pass takes more than the 1 GiB of a frame");
  }
  std::memcpy(bytes.data(), kFrameMagic.data(), kFrameMagic.size());
  StoreLittle<uint16_t>(&bytes[8], kStreamVersion);
  StoreLittle<uint16_t>(&bytes[10], static_cast<uint16_t>(kind));
  StoreLittle<uint64_t>(&bytes[16], body_bytes);
  std::ranges::copy(terms.plan.bytes, &bytes[24]);
  StoreLittle<uint64_t>(&bytes[40], std::visit([](const auto& it) { return it.number; }, frame));
  const std::span<const uint8_t> all(bytes);
  StoreLittle<uint64_t>(&bytes[48], Checksum(all.subspan(kStreamHeaderBytes)));
  StoreLittle<uint64_t>(&bytes[56], Checksum(all.first(56)));
  return std::move(bytes);
}

Result<FrameHeader> ParseFrameHeader(std::span<const uint8_t> bytes, const FrameTerms& terms,
                                     const std::string& name) {
  if (bytes.size() < kStreamHeaderBytes) return Damaged("a frame is cut", name);
  if (std::memcmp(bytes.data(), kFrameMagic.data(), kFrameMagic.size()) != 0) {
    return Damaged("there is something that is no frame", name);
  }
  const auto version = LoadLittle<uint16_t>(&bytes[8]);
  if (version > kStreamVersion) {
    return ForeignError("frames are of version " + std::to_string(version) +
                        ", which is newer than this program; run all stages with one version")
        .At(name);
  }
  if (version == 0 || LoadLittle<uint64_t>(&bytes[56]) != Checksum(bytes.first(56))) {
    return Damaged("the header of a frame is damaged", name);
  }
  Digest plan;
  std::copy_n(&bytes[24], plan.bytes.size(), plan.bytes.begin());
  if (plan != terms.plan) return OfAnotherPlan(plan, terms.plan, name);
  const auto kind = LoadLittle<uint16_t>(&bytes[10]);
  if (kind < 1 || kind > 3 || LoadLittle<uint32_t>(&bytes[12]) != 0) {
    return Damaged("a frame is of no known kind", name);
  }
  FrameHeader header;
  header.kind = static_cast<FrameKind>(kind);
  header.body_bytes = LoadLittle<uint64_t>(&bytes[16]);
  header.number = LoadLittle<uint64_t>(&bytes[40]);
  header.checksum = LoadLittle<uint64_t>(&bytes[48]);
  if (header.body_bytes > MostBodyBytes(header.kind, terms)) {
    return Damaged("a frame is larger than frames of this plan are", name);
  }
  return header;
}

Result<Frame> ParseFrame(std::span<const uint8_t> bytes, const FrameTerms& terms, uint64_t passes,
                         const std::string& name) {
  STI_ASSIGN_OR_RETURN(const FrameHeader header, ParseFrameHeader(bytes, terms, name));
  const std::span<const uint8_t> body = bytes.subspan(kStreamHeaderBytes);
  if (body.size() != header.body_bytes) return Damaged("a frame is cut", name);
  if (Checksum(body) != header.checksum) return Damaged("the body of a frame is damaged", name);
  if (header.number != passes) return Damaged("a pass is missing, or comes twice", name);
  Reader from(body);
  Frame frame = TakeFrame(header.kind, &from, terms);
  if (from.failed() || from.size() != 0) {
    return Damaged("the body of a frame does not keep its format", name);
  }
  std::visit([&](auto& it) { it.number = header.number; }, frame);
  const char* problem = std::visit([&](const auto& it) { return ProblemOf(it, terms); }, frame);
  if (problem != nullptr) return Damaged(problem, name);
  return frame;
}

}  // namespace sti
