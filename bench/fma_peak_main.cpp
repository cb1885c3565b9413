// fma-peak: the most fused multiply-adds that this machine does now, as one line of JSON.
//
//   fma-peak [THREADS]        {"threads":2,"gflops":512.3}
//
// All threads run the same rounds at the same time; the sum over them, about 20 ms.
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "fma_peak.h"

int main(int argc, char** argv) {
  const long threads = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 1;
  if (argc > 2 || threads < 1 || threads > 256) {
    std::fputs("fma-peak: takes a number of threads, 1 to 256\n", stderr);
    return 2;
  }
  constexpr uint64_t kWarmRounds = 200000;
  constexpr uint64_t kRounds = 4000000;
  std::vector<double> gflops(static_cast<size_t>(threads));
  std::vector<std::thread> others;
  const auto measure = [&gflops](size_t index) {
    sti::FmaPeakGflops(kWarmRounds);
    gflops[index] = sti::FmaPeakGflops(kRounds);
  };
  others.reserve(gflops.size());
  for (size_t i = 1; i < gflops.size(); ++i) others.emplace_back(measure, i);
  measure(0);
  for (std::thread& other : others) other.join();
  double sum = 0;
  for (const double each : gflops) sum += each;
  std::printf("{\"threads\":%ld,\"gflops\":%.1f}\n", threads, sum);
  return 0;
}
