// A pipeline over the tiny container whose reads go wrong where a test says so.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "pipeline_world.h"
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

  FaultReader* faults_ = nullptr;
  std::unique_ptr<Pipeline> pipeline_;
};

}  // namespace sti
