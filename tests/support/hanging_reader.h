// A BlockReader whose reads hang until a test lets them go.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "door.h"
#include "io/block_reader.h"

namespace sti {

/// A reader whose reads complete behind `door`, which outlives it.
class HangingReader final : public BlockReader {
 public:
  HangingReader(std::unique_ptr<BlockReader> inner, Door& door)
      : inner_(std::move(inner)), door_(door) {
    DescribeAs(*inner_);
  }

  [[nodiscard]] Status Submit(const ReadRequest& request) override {
    const Status status = inner_->Submit(request);
    in_flight_ = inner_->in_flight();
    return status;
  }
  [[nodiscard]] Result<uint64_t> Wait() override {
    door_.Pass();
    Result<uint64_t> tag = inner_->Wait();
    in_flight_ = inner_->in_flight();
    return tag;
  }
  void ExpectReadsInto(std::span<uint8_t> memory) override { inner_->ExpectReadsInto(memory); }
  void HoldStreams(uint32_t wanted) override {
    inner_->HoldStreams(wanted);
    DescribeAs(*inner_);
  }
  [[nodiscard]] Result<std::unique_ptr<BlockReader>> Clone() const override {
    STI_ASSIGN_OR_RETURN(auto inner, inner_->Clone());
    return std::unique_ptr<BlockReader>(std::make_unique<HangingReader>(std::move(inner), door_));
  }

 private:
  std::unique_ptr<BlockReader> inner_;
  Door& door_;
};

}  // namespace sti
