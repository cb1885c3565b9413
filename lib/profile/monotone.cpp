#include "profile/monotone.h"

#include <algorithm>
#include <tuple>

namespace sti {
namespace {

// Lowers the times of `less` to those of `more`, which does at least as much work.
void LowerTo(const ComputeSample& more, ComputeSample& less) {
  less.layer_us = std::min(less.layer_us, more.layer_us);
  less.p99_us = std::min(less.p99_us, more.p99_us);
  less.last_us = std::min(less.last_us, more.last_us);
  less.last_p99_us = std::min(less.last_p99_us, more.last_p99_us);
}

// A shard of some bits and a read of some bytes are not compared.
void SmoothIo(std::vector<IoSample>& io) {
  std::stable_sort(io.begin(), io.end(), [](const IoSample& a, const IoSample& b) {
    return std::tie(a.bytes, a.bits) < std::tie(b.bytes, b.bits);
  });
  for (size_t i = io.size(); i-- > 1;) {
    if ((io[i - 1].bytes == 0) != (io[i].bytes == 0)) continue;
    io[i - 1].load_us = std::min(io[i - 1].load_us, io[i].load_us);
    io[i - 1].p99_us = std::min(io[i - 1].p99_us, io[i].p99_us);
  }
}

void SmoothCompute(std::vector<ComputeSample>& compute) {
  std::stable_sort(
      compute.begin(), compute.end(), [](const ComputeSample& a, const ComputeSample& b) {
        return std::tie(a.length, a.width, a.freq) < std::tie(b.length, b.width, b.freq);
      });
  // Backwards, so that what a sample is lowered to has been lowered itself.
  for (size_t i = compute.size(); i-- > 0;) {
    for (size_t j = i + 1; j < compute.size(); ++j) {
      const bool more = compute[j].width >= compute[i].width && compute[j].freq == compute[i].freq;
      if (more) LowerTo(compute[j], compute[i]);
    }
  }
}

}  // namespace

void SmoothProfile(DeviceProfile& profile) {
  SmoothIo(profile.io);
  SmoothCompute(profile.compute);
}

}  // namespace sti
