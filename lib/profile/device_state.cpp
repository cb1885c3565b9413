#include "profile/device_state.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

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
  ForEachBatch(*profile, [khz](std::vector<ComputeSample>& compute, const auto&) {
    for (ComputeSample& sample : compute) sample.freq = khz;
  });
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

namespace {

constexpr const char* kMin = "scaling_min_freq";
constexpr const char* kMax = "scaling_max_freq";

std::optional<uint64_t> ReadKhz(const std::string& path) {
  std::ifstream file(path);
  uint64_t khz = 0;
  if (!(file >> khz) || khz == 0) return std::nullopt;
  return khz;
}

Error Refused(const std::string& path, const char* why) {
  return InfeasibleError("the clock cannot be set (" + std::string(why) +
                         "); as root it may be, or set it by other means, measure at each clock "
                         "and join the profiles")
      .At(path);
}

// The file exists; one system call, since the kernel takes a whole number at a time.
Status WriteKhz(const std::string& path, uint64_t khz) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return Refused(path, std::strerror(errno));
  const std::string text = std::to_string(khz) + "\n";
  const bool written = ::write(file, text.data(), text.size()) >= 0;
  const int failed = errno;
  ::close(file);
  return written ? Status() : Status(Refused(path, std::strerror(failed)));
}

}  // namespace

Result<ClockSetting> ClockSetting::Make(std::span<const uint32_t> cores,
                                        const std::string& folder) {
  ClockSetting setting;
  for (const uint32_t number : cores) {
    Core core;
    core.folder = folder + "/cpu" + std::to_string(number) + "/cpufreq/";
    const auto min = ReadKhz(core.folder + kMin);
    const auto max = ReadKhz(core.folder + kMax);
    if (!min || !max) return Refused(core.folder + kMax, "this system does not scale it");
    core.found_min_khz = *min;
    core.found_max_khz = *max;
    core.least_khz = ReadKhz(core.folder + "cpuinfo_min_freq").value_or(*min);
    core.most_khz = ReadKhz(core.folder + "cpuinfo_max_freq").value_or(*max);
    for (const char* bound : {kMin, kMax}) {
      if (::access((core.folder + bound).c_str(), W_OK) != 0)
        return Refused(core.folder + bound, std::strerror(errno));
    }
    setting.cores_.push_back(std::move(core));
  }
  return setting;
}

ClockSetting::ClockSetting(ClockSetting&& other) noexcept
    : cores_(std::move(other.cores_)), changed_(std::exchange(other.changed_, false)) {}

ClockSetting::~ClockSetting() { (void)Restore(); }

// No bound may pass the other on the way.
Status ClockSetting::SetBounds(const Core& core, uint64_t min_khz, uint64_t max_khz) {
  const bool up = ReadKhz(core.folder + kMax).value_or(0) < min_khz;
  if (up) STI_RETURN_IF_ERROR(WriteKhz(core.folder + kMax, max_khz));
  STI_RETURN_IF_ERROR(WriteKhz(core.folder + kMin, min_khz));
  if (!up) STI_RETURN_IF_ERROR(WriteKhz(core.folder + kMax, max_khz));
  return {};
}

Status ClockSetting::Set(uint64_t khz) {
  for (const Core& core : cores_) {
    if (khz < core.least_khz || khz > core.most_khz) {
      return InfeasibleError("its clock goes from " + std::to_string(core.least_khz) + " to " +
                             std::to_string(core.most_khz) + " kHz, and not to " +
                             std::to_string(khz))
          .At(core.folder);
    }
  }
  changed_ = true;
  for (const Core& core : cores_) {
    STI_RETURN_IF_ERROR(SetBounds(core, khz, khz));
    const uint64_t set = ReadKhz(core.folder + kMax).value_or(0);
    if (set != khz) {
      return InfeasibleError("the system sets its clock to " + std::to_string(set) +
                             " kHz in place of " + std::to_string(khz) +
                             "; ask for a clock of its own")
          .At(core.folder);
    }
  }
  return {};
}

Status ClockSetting::Restore() {
  Status status;
  if (!changed_) return status;
  for (const Core& core : cores_) {
    Status restored = SetBounds(core, core.found_min_khz, core.found_max_khz);
    if (status.ok()) status = restored;
  }
  changed_ = false;
  return status;
}

}  // namespace sti
