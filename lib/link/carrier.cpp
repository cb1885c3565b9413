#include "link/carrier.h"

#include <algorithm>
#include <utility>

namespace sti {
namespace {

// A step takes no more: pages are touched as bytes come, not as a header promises them.
constexpr uint64_t kStepBytes = uint64_t{64} << 10;

}  // namespace

ComingFrame::ComingFrame(const FrameTerms& terms, std::string name)
    : terms_(terms), name_(std::move(name)) {}

void ComingFrame::GoOn() {
  if (!whole_) return;
  bytes_.clear();
  there_ = 0;
  header_.reset();
  whole_ = false;
}

std::span<uint8_t> ComingFrame::Room(FrameSource::Pace pace) {
  const uint64_t all = kStreamHeaderBytes + (header_ ? header_->body_bytes : 0);
  const uint64_t lacks = std::min(all - there_, kStepBytes);
  bytes_.resize(there_ + (pace == FrameSource::Pace::kSign && in_pass() ? 1 : lacks));
  return std::span(bytes_).subspan(there_);
}

Result<FrameSource::Got> ComingFrame::Put(size_t count) {
  there_ += count;
  bytes_.resize(there_);
  if (count == 0) return FrameSource::Got::kNothing;
  if (!header_ && there_ == kStreamHeaderBytes) {
    STI_ASSIGN_OR_RETURN(header_, ParseFrameHeader(bytes_, terms_, name_));
    bytes_.reserve(kStreamHeaderBytes + header_->body_bytes);
  }
  whole_ = header_ && there_ == kStreamHeaderBytes + header_->body_bytes;
  return whole_ ? FrameSource::Got::kFrame : FrameSource::Got::kSome;
}

}  // namespace sti
