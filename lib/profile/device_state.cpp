#include "profile/device_state.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <utility>

#include "base/remedy.h"

namespace sti {
namespace {

constexpr double kSteadyClock = 0.95;  // the lowest clock as a share of the highest
constexpr double kSteadyCelsius = 10;  // rise
constexpr int kMostZones = 256;

bool IsProcessor(std::string type) {
  std::transform(type.begin(), type.end(), type.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::array<const char*, 4> words = {"cpu", "soc", "x86_pkg", "package"};
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return type.find(word) != std::string::npos; });
}

}  // namespace

ClockRange ClocksOf(std::span<const uint32_t> cores, const std::string& folder) {
  ClockRange range;
  for (const uint32_t core : cores) {
    std::ifstream file(folder + "/cpu" + std::to_string(core) + "/cpufreq/scaling_cur_freq");
    uint64_t khz = 0;
    if (!(file >> khz) || khz == 0) continue;
    range.min_khz = range.min_khz == 0 ? khz : std::min(range.min_khz, khz);
    range.max_khz = std::max(range.max_khz, khz);
  }
  return range;
}

double HottestCelsius(const std::string& folder) {
  double hottest = 0;
  for (int zone = 0; zone < kMostZones; ++zone) {
    const std::string path = folder + "/thermal_zone" + std::to_string(zone);
    std::ifstream type_file(path + "/type");
    std::string type;
    if (!std::getline(type_file, type)) break;
    std::ifstream file(path + "/temp");
    double thousandths = 0;
    if (IsProcessor(type) && file >> thousandths) hottest = std::max(hottest, thousandths / 1000);
  }
  return hottest;
}

StateWatch::StateWatch(std::span<const uint32_t> cores, std::string cpu_folder,
                       std::string thermal_folder)
    : cores_(cores),
      cpu_folder_(std::move(cpu_folder)),
      thermal_folder_(std::move(thermal_folder)) {
  state_.celsius_before = HottestCelsius(thermal_folder_);
}

void StateWatch::Look() {
  const ClockRange now = ClocksOf(cores_, cpu_folder_);
  if (now.max_khz == 0) return;
  state_.freq_min = state_.freq_min == 0 ? now.max_khz : std::min(state_.freq_min, now.max_khz);
  state_.freq_max = std::max(state_.freq_max, now.max_khz);
}

ThermalState StateWatch::Finish() {
  state_.celsius_after = HottestCelsius(thermal_folder_);
  return state_;
}

void SetClock(uint64_t khz, DeviceProfile* profile) {
  for (ComputeSample& sample : profile->compute) sample.freq = khz;
  for (DecodeSample& sample : profile->decode) sample.freq = khz;
}

std::optional<LogLine> StateWarning(const ThermalState& state) {
  std::array<char, 160> line{};
  if (static_cast<double>(state.freq_min) < kSteadyClock * static_cast<double>(state.freq_max)) {
    std::snprintf(line.data(), line.size(),
                  "clocks were between %.0f and %.0f MHz while measuring; times hold for neither, "
                  "fix the clock and run again",
                  static_cast<double>(state.freq_min) / 1e3,
                  static_cast<double>(state.freq_max) / 1e3);
    return LogLine{LogLevel::kWarning, line.data()};
  }
  if (state.celsius_before > 0 && state.celsius_after - state.celsius_before > kSteadyCelsius) {
    std::snprintf(line.data(), line.size(),
                  "the cores went from %.0f to %.0f degrees Celsius while measuring",
                  state.celsius_before, state.celsius_after);
    return LogLine{LogLevel::kWarning, line.data(), Remedy::kCoolCores};
  }
  return std::nullopt;
}

}  // namespace sti
