// A pipeline over the tiny container whose reads go wrong where a test says so.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "pipeline_world.h"
#include "support/door.h"
#include "support/fault_reader.h"

namespace sti {

class FaultyPipelineTest : public PipelineTest {
 protected:
  /// Opens the pipeline and the reader below it, which stays the pipeline's; `reversed` as
  /// FaultReader has it.
  void Open(const Plan& plan, const PipelineOptions& options = {}, bool reversed = false) {
    auto inner = OpenBlockReader(path_);
    ASSERT_TRUE(Succeeded(inner));
    auto reader = std::make_unique<FaultReader>(std::move(*inner), std::vector<Fault>{}, reversed);
    faults_ = reader.get();
    auto pipeline = MakeOver(std::move(reader), plan, options);
    ASSERT_TRUE(Succeeded(pipeline));
    pipeline_ = std::move(*pipeline);
  }

  void TearDown() override {
    door_.Open();
    pipeline_.reset();
  }
  /// A fault that holds one read of the part back until the test opens `door_`, which it closes.
  Fault Hanging(const PartLocation& part) {
    door_.Close();
    Fault fault;
    fault.kind = FaultKind::kHang;
    fault.offset = part.offset;
    fault.length = part.length;
    fault.times = 1;
    fault.door = &door_;
    return fault;
  }

  Door door_;
  FaultReader* faults_ = nullptr;
  std::unique_ptr<Pipeline> pipeline_;
};

}  // namespace sti
