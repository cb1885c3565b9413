#include "plan/drifted_profile.h"

#include <cmath>

namespace sti {
namespace {

double Ratio(double ratio) { return std::isfinite(ratio) && ratio > 0 ? ratio : 1; }

}  // namespace

DeviceProfile DriftedProfile(const DeviceProfile& profile, double compute_ratio, double io_ratio) {
  const double compute = Ratio(compute_ratio);
  const double io = Ratio(io_ratio);
  DeviceProfile now = profile;
  for (IoSample& sample : now.io) {
    sample.load_us *= io;
    sample.p99_us *= io;
  }
  for (ComputeSample& sample : now.compute) {
    sample.layer_us *= compute;
    sample.p99_us *= compute;
    sample.last_us *= compute;
    sample.last_p99_us *= compute;
  }
  for (DecodeSample& sample : now.decode) sample.extra_us *= compute;
  for (FixedSample& sample : now.fixed) {
    sample.embed_us *= compute;
    sample.embed_p99_us *= compute;
    sample.head_us *= compute;
    sample.head_p99_us *= compute;
    sample.embed_io_us *= io;
    sample.embed_io_p99_us *= io;
  }
  return now;
}

}  // namespace sti
