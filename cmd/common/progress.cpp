#include "common/progress.h"

#include <chrono>
#include <cstdio>
#include <memory>

namespace sti {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBarWidth = 28;
constexpr auto kRedraw = std::chrono::milliseconds(100);

class Bar {
 public:
  Bar(std::string what, std::string unit, uint64_t steps)
      : what_(std::move(what)), unit_(std::move(unit)), steps_(static_cast<double>(steps)) {}

  void Update(uint64_t done, uint64_t total) {
    auto now = Clock::now();
    if (done >= total) {
      std::fputs("\r\033[K", stderr);
      return;
    }
    if (now - drawn_ < kRedraw) return;
    drawn_ = now;
    double seconds = std::chrono::duration<double>(now - begin_).count();
    double share = static_cast<double>(done) / static_cast<double>(total);
    double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
    double left = rate > 0 ? static_cast<double>(total - done) / rate : 0;
    auto filled = static_cast<int>(share * kBarWidth);
    std::string bar(static_cast<size_t>(filled), '#');
    bar.resize(kBarWidth, '.');
    std::fprintf(stderr, "\r%s [%s] %3.0f %%  %.1f%s/s  %.0f s left\033[K", what_.c_str(),
                 bar.c_str(), share * 100, rate / steps_, unit_.c_str(), left);
  }

 private:
  std::string what_;
  std::string unit_;
  double steps_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point drawn_{};
};

}  // namespace

ProgressSink MakeProgressBar(std::string what, std::string unit, uint64_t steps) {
  auto bar = std::make_shared<Bar>(std::move(what), std::move(unit), steps);
  return [bar](uint64_t done, uint64_t total) { bar->Update(done, total); };
}

}  // namespace sti
