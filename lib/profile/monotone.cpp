#include "profile/monotone.h"

#include <algorithm>

namespace sti {
namespace {

// Lowers the times of `less` to those of `more`, which does at least as much work.
void LowerTo(const ComputeSample& more, ComputeSample& less) {
  less.layer_us = std::min(less.layer_us, more.layer_us);
  less.p99_us = std::min(less.p99_us, more.p99_us);
  less.last_us = std::min(less.last_us, more.last_us);
  less.last_p99_us = std::min(less.last_p99_us, more.last_p99_us);
}

void SmoothIo(std::vector<IoSample>& io) {
  std::stable_sort(io.begin(), io.end(),
                   [](const IoSample& a, const IoSample& b) { return a.bytes < b.bytes; });
  for (size_t i = io.size(); i-- > 1;) {
    io[i - 1].load_us = std::min(io[i - 1].load_us, io[i].load_us);
    io[i - 1].p99_us = std::min(io[i - 1].p99_us, io[i].p99_us);
  }
}

void SmoothCompute(std::vector<ComputeSample>& compute) {
  std::stable_sort(compute.begin(), compute.end(),
                   [](const ComputeSample& a, const ComputeSample& b) {
                     return a.length != b.length ? a.length < b.length : a.width < b.width;
                   });
  // Backwards, so that what a sample is lowered to has been lowered itself.
  for (size_t i = compute.size(); i-- > 0;) {
    for (size_t j = i + 1; j < compute.size(); ++j) {
      if (compute[j].width >= compute[i].width) LowerTo(compute[j], compute[i]);
    }
  }
}

}  // namespace

void SmoothProfile(DeviceProfile& profile) {
  SmoothIo(profile.io);
  SmoothCompute(profile.compute);
}

}  // namespace sti
